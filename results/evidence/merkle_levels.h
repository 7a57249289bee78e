/*
 * merkle_levels - a whole tree in memory, to prove parts of a log: every perfect subtree's
 * hash, 64 bytes a leaf in all. merkle.h says which tree it is.
 */
#ifndef ASSAY_RESULTS_EVIDENCE_MERKLE_LEVELS_H
#define ASSAY_RESULTS_EVIDENCE_MERKLE_LEVELS_H

#include "harness/core/status.h"
#include "results/evidence/merkle.h"

struct merkle_levels {
    uint64_t size;                               /* leaves */
    struct digest *level[MERKLE_HEIGHT_MAX + 1]; /* level[k][i]: leaves i * 2^k to (i + 1) * 2^k */
};

/* Takes `leaves` (heap, `size` of them), also on failure. Finish with merkle_levels_finish. */
enum status merkle_levels_init(struct merkle_levels *levels, struct digest *leaves, uint64_t size,
                               struct error *err);
void merkle_levels_finish(struct merkle_levels *levels);

/* Tree hash of the first `size` leaves, at least 1 and at most levels->size. */
struct digest merkle_levels_root(const struct merkle_levels *levels, uint64_t size);

/*
 * The consistency proof from the tree of the first `first` leaves to that of the first `size` (RFC
 * 6962, section 2.1.2), lowest first; returns its length. 0 < `first` <= `size` <= levels->size.
 */
size_t merkle_levels_connect(const struct merkle_levels *levels, uint64_t first, uint64_t size,
                             struct digest ret[MERKLE_HEIGHT_MAX + 1]);

#endif
