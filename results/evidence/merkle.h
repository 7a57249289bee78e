/*
 * merkle - the tree of RFC 6962, section 2.1, over SHA-256: a leaf is hashed with a prefix byte
 * 0x00, an inner node is the hash of 0x01, its left and its right child.
 */
#ifndef ASSAY_RESULTS_EVIDENCE_MERKLE_H
#define ASSAY_RESULTS_EVIDENCE_MERKLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/core/digest.h"

#define MERKLE_HEIGHT_MAX 63

/* A growing tree, kept as the roots of its perfect subtrees, largest first: one a bit of `size`. */
struct merkle {
    uint64_t size; /* leaves */
    struct digest nodes[MERKLE_HEIGHT_MAX];
};

struct digest merkle_node(const struct digest *left, const struct digest *right);

/* All zeros is the empty tree. */
void merkle_add(struct merkle *tree, const struct digest *leaf);
/* Nodes in use: the ones in `size`, written in binary. */
int merkle_node_count(uint64_t size);
/* The tree's hash; SHA-256 of nothing for the empty tree. */
struct digest merkle_root(const struct merkle *tree);

/*
 * Whether the path shows that the tree of `first` leaves with hash `first_root` is the beginning of
 * that of `size` leaves with hash `root` (RFC 9162, section 2.1.4.2). False for `first` 0.
 */
bool merkle_connects(uint64_t first, const struct digest *first_root, uint64_t size,
                     const struct digest *root, const struct digest *path, size_t path_length);

#endif
