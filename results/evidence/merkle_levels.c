#include "results/evidence/merkle_levels.h"

#include <stdlib.h>
#include <string.h>

enum status merkle_levels_init(struct merkle_levels *levels, struct digest *leaves, uint64_t size,
                               struct error *err)
{
    memset(levels, 0, sizeof(*levels));
    levels->size = size;
    levels->level[0] = leaves;
    for (int k = 1; size >> k > 0; k++) {
        const uint64_t count = size >> k;

        levels->level[k] = malloc(count * sizeof(struct digest));
        if (!levels->level[k]) {
            merkle_levels_finish(levels);
            return error_no_memory(err);
        }
        for (uint64_t i = 0; i < count; i++)
            levels->level[k][i] =
                merkle_node(&levels->level[k - 1][2 * i], &levels->level[k - 1][2 * i + 1]);
    }
    return STATUS_OK;
}

void merkle_levels_finish(struct merkle_levels *levels)
{
    for (size_t k = 0; k < sizeof(levels->level) / sizeof(levels->level[0]); k++)
        free(levels->level[k]);
    memset(levels, 0, sizeof(*levels));
}

/* The largest power of two below `size` (2 or more). */
static uint64_t split(uint64_t size)
{
    return UINT64_C(1) << (63 - __builtin_clzll(size - 1));
}

/* Ranges come from splits, so `first` is a multiple of the perfect subtrees inside. */
static struct digest range_hash(const struct merkle_levels *levels, uint64_t first, uint64_t end)
{
    const uint64_t size = end - first;
    struct digest left, right;

    if ((size & (size - 1)) == 0) {
        const int k = __builtin_ctzll(size);

        return levels->level[k][first >> k];
    }
    left = range_hash(levels, first, first + split(size));
    right = range_hash(levels, first + split(size), end);
    return merkle_node(&left, &right);
}

struct digest merkle_levels_root(const struct merkle_levels *levels, uint64_t size)
{
    return range_hash(levels, 0, size);
}

size_t merkle_levels_connect(const struct merkle_levels *levels, uint64_t first, uint64_t size,
                             struct digest ret[MERKLE_HEIGHT_MAX + 1])
{
    uint64_t begin = 0, end = size;
    struct digest top_down[MERKLE_HEIGHT_MAX + 1];
    size_t count = 0;

    /* SUBPROOF of section 2.1.2; the verifier already knows the left part from the first tree while
     * `begin` is 0. */
    while (first != end) {
        const uint64_t middle = begin + split(end - begin);

        if (first <= middle) {
            top_down[count++] = range_hash(levels, middle, end);
            end = middle;
        } else {
            top_down[count++] = range_hash(levels, begin, middle);
            begin = middle;
        }
    }
    if (begin > 0)
        top_down[count++] = range_hash(levels, begin, end);
    for (size_t i = 0; i < count; i++)
        ret[i] = top_down[count - 1 - i];
    return count;
}
