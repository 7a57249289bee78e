#include "results/merkle_part.h"

#include <stdlib.h>

bool merkle_part_add(struct merkle_part *part, int level, uint64_t index,
                     const struct digest *digest)
{
    if (part->count == part->capacity) {
        const size_t capacity = part->capacity ? 2 * part->capacity : 64;
        struct merkle_place *grown = realloc(part->places, capacity * sizeof(*grown));

        if (!grown)
            return false;
        part->places = grown;
        part->capacity = capacity;
    }
    part->places[part->count++] = (struct merkle_place){level, index, *digest};
    part->sorted = false;
    return true;
}

void merkle_part_finish(struct merkle_part *part)
{
    free(part->places);
    *part = (struct merkle_part){0};
}

static int compare_places(const void *a, const void *b)
{
    const struct merkle_place *x = a, *y = b;

    if (x->level != y->level)
        return x->level < y->level ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static const struct merkle_place *find(struct merkle_part *part, int level, uint64_t index)
{
    const struct merkle_place wanted = {.level = level, .index = index};

    if (!part->sorted && part->count > 0)
        qsort(part->places, part->count, sizeof(*part->places), compare_places);
    part->sorted = true;
    return part->count ? bsearch(&wanted, part->places, part->count, sizeof(wanted), compare_places)
                       : NULL;
}

static bool node(struct merkle_part *part, int level, uint64_t index, struct digest *ret,
                 uint64_t *ret_missing)
{
    const struct merkle_place *place = find(part, level, index);
    struct digest left, right;

    if (place) {
        *ret = place->digest;
        return true;
    }
    if (level == 0) {
        *ret_missing = index;
        return false;
    }
    if (!node(part, level - 1, 2 * index, &left, ret_missing) ||
        !node(part, level - 1, 2 * index + 1, &right, ret_missing))
        return false;
    *ret = merkle_node(&left, &right);
    return true;
}

/* The largest perfect subtree at `first` within `size` leaves, whose place it is. */
static int level_at(uint64_t first, uint64_t size)
{
    int level = 63 - __builtin_clzll(size - first);

    while (first & ((UINT64_C(1) << level) - 1))
        level--;
    return level;
}

bool merkle_part_root(struct merkle_part *part, uint64_t size, struct digest *ret,
                      uint64_t *ret_missing)
{
    struct digest roots[64];
    int count = 0;

    for (uint64_t first = 0; first < size; count++) {
        const int level = level_at(first, size);

        if (!node(part, level, first >> level, &roots[count], ret_missing))
            return false;
        first += UINT64_C(1) << level;
    }
    while (count > 1) {
        count--;
        roots[count - 1] = merkle_node(&roots[count - 1], &roots[count]);
    }
    *ret = roots[0];
    return true;
}

/* ---- what has to be handed over ---- */

/* How many of the ascending leaves are below `leaf`. */
static size_t below(const int64_t *shown, size_t count, uint64_t leaf)
{
    size_t low = 0, high = count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if ((uint64_t)shown[middle] < leaf)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool cover(struct merkle_part *part, const struct merkle_levels *levels,
                  const int64_t *shown, size_t count, int level, uint64_t index)
{
    const uint64_t first = index << level, end = (index + 1) << level;
    const size_t before = below(shown, count, first), inside = below(shown, count, end) - before;

    if (inside == 0)
        return merkle_part_add(part, level, index, &levels->level[level][index]);
    return level == 0 || (cover(part, levels, shown + before, inside, level - 1, 2 * index) &&
                          cover(part, levels, shown + before, inside, level - 1, 2 * index + 1));
}

bool merkle_part_cover(struct merkle_part *part, const struct merkle_levels *levels,
                       const int64_t *shown, size_t count, uint64_t size)
{
    for (uint64_t first = 0; first < size;) {
        const int level = level_at(first, size);

        if (!cover(part, levels, shown, count, level, first >> level))
            return false;
        first += UINT64_C(1) << level;
    }
    return true;
}

void merkle_part_unique(struct merkle_part *part)
{
    size_t kept = 0;

    if (part->count > 0)
        qsort(part->places, part->count, sizeof(*part->places), compare_places);
    for (size_t i = 0; i < part->count; i++)
        if (kept == 0 || compare_places(&part->places[kept - 1], &part->places[i]) != 0)
            part->places[kept++] = part->places[i];
    part->count = kept;
    part->sorted = true;
}
