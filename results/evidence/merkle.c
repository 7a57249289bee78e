#include "results/evidence/merkle.h"

#include <string.h>

struct digest merkle_node(const struct digest *left, const struct digest *right)
{
    uint8_t bytes[1 + 2 * DIGEST_SIZE + DIGEST_PADDING];

    bytes[0] = 1;
    memcpy(bytes + 1, left->bytes, DIGEST_SIZE);
    memcpy(bytes + 1 + DIGEST_SIZE, right->bytes, DIGEST_SIZE);
    return digest_padded(bytes, 1 + 2 * DIGEST_SIZE);
}

int merkle_node_count(uint64_t size)
{
    return __builtin_popcountll(size);
}

void merkle_add(struct merkle *tree, const struct digest *leaf)
{
    int count = merkle_node_count(tree->size);
    struct digest node = *leaf;

    /* Every trailing one bit of the size is a perfect subtree that this leaf completes. */
    for (uint64_t rest = tree->size; rest & 1; rest >>= 1)
        node = merkle_node(&tree->nodes[--count], &node);
    tree->nodes[count] = node;
    tree->size++;
}

struct digest merkle_root(const struct merkle *tree)
{
    int count = merkle_node_count(tree->size);
    struct digest root;

    if (count == 0)
        return digest_bytes("", 0);
    root = tree->nodes[--count];
    while (count > 0)
        root = merkle_node(&tree->nodes[--count], &root);
    return root;
}

bool merkle_connects(uint64_t first, const struct digest *first_root, uint64_t size,
                     const struct digest *root, const struct digest *path, size_t path_length)
{
    const bool perfect = (first & (first - 1)) == 0;
    struct digest old, new;
    uint64_t index = first - 1, last = size - 1;

    if (first == 0 || first > size)
        return false;
    if (first == size)
        return path_length == 0 && digest_equal(first_root, root);
    if (path_length == 0)
        return false;
    for (; index & 1; last >>= 1)
        index >>= 1;
    old = new = perfect ? *first_root : path[0];
    for (size_t i = perfect ? 0 : 1; i < path_length; i++) {
        if (last == 0)
            return false;
        if ((index & 1) || index == last) {
            old = merkle_node(&path[i], &old);
            new = merkle_node(&path[i], &new);
            for (; !(index & 1) && index != 0; last >>= 1)
                index >>= 1;
        } else {
            new = merkle_node(&new, &path[i]);
        }
        index >>= 1;
        last >>= 1;
    }
    return last == 0 && digest_equal(&old, first_root) && digest_equal(&new, root);
}
