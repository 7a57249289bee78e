/*
 * merkle_part - a tree of which only some leaves are known, and hashes of subtrees in place of the
 * rest. The same leaves and subtrees give the root at several sizes, which shows that the tree of
 * the larger size has grown from that of the smaller: for that, no place may be within another.
 */
#ifndef ASSAY_RESULTS_EVIDENCE_MERKLE_PART_H
#define ASSAY_RESULTS_EVIDENCE_MERKLE_PART_H

#include "results/evidence/merkle_levels.h"

/* The perfect subtree of leaves index * 2^level to (index + 1) * 2^level; level 0: a leaf. */
struct merkle_place {
    int level;
    uint64_t index;
    struct digest digest;
};

struct merkle_part {
    struct merkle_place *places; /* heap */
    size_t count;
    bool sorted;
};

/* `level` at most 62, and the place below leaf 2^63. False: no memory. */
bool merkle_part_add(struct merkle_part *part, int level, uint64_t index,
                     const struct digest *digest);
void merkle_part_finish(struct merkle_part *part);

/*
 * Whether these are places of one tree of `size` leaves: none twice, none within another, none
 * beyond the end. False: `ret_leaf` is where not.
 */
bool merkle_part_fits(struct merkle_part *part, uint64_t size, uint64_t *ret_leaf);
/* Whether a place that is known holds this leaf; of a part that fits. */
bool merkle_part_holds(struct merkle_part *part, uint64_t leaf);

/*
 * The root of the tree of `size` >= 1 leaves, of a part that fits. False: `ret_missing` is a leaf
 * that is neither known nor in a known subtree of that tree.
 */
bool merkle_part_root(struct merkle_part *part, uint64_t size, struct digest *ret,
                      uint64_t *ret_missing);

/*
 * Adds to `part`, which is empty, the subtrees that are needed beside the leaves `shown`
 * (ascending) for the roots of trees of all these sizes (ascending, at least one). False: no
 * memory.
 */
bool merkle_part_cover(struct merkle_part *part, const struct merkle_levels *levels,
                       const int64_t *shown, size_t count, const int64_t *sizes, size_t size_count);

#endif
