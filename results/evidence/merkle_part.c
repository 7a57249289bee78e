#include "results/evidence/merkle_part.h"

#include <stdlib.h>

#include "harness/core/array.h"
#include "harness/core/shortage.h"

bool merkle_part_add(struct merkle_part *part, int level, uint64_t index,
                     const struct digest *digest)
{
    if (!ARRAY_ROOM(part->places, part->count, 1)) {
        shortage_note();
        return false;
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

static uint64_t first_of(const struct merkle_place *place)
{
    return place->index << place->level;
}

/* By their first leaves. */
static int compare_places(const void *a, const void *b)
{
    const struct merkle_place *x = a, *y = b;
    const uint64_t first = first_of(x), other = first_of(y);

    if (first != other)
        return first < other ? -1 : 1;
    return x->level < y->level ? -1 : x->level > y->level;
}

static void sort(struct merkle_part *part)
{
    if (!part->sorted && part->count > 0)
        qsort(part->places, part->count, sizeof(*part->places), compare_places);
    part->sorted = true;
}

static const struct merkle_place *find(struct merkle_part *part, int level, uint64_t index)
{
    const struct merkle_place wanted = {.level = level, .index = index};

    sort(part);
    return part->count ? bsearch(&wanted, part->places, part->count, sizeof(wanted), compare_places)
                       : NULL;
}

bool merkle_part_fits(struct merkle_part *part, uint64_t size, uint64_t *ret_leaf)
{
    uint64_t end = 0;

    sort(part);
    for (size_t i = 0; i < part->count; i++) {
        const struct merkle_place *place = &part->places[i];

        *ret_leaf = first_of(place);
        if (first_of(place) < end)
            return false;
        end = first_of(place) + (UINT64_C(1) << place->level);
        if (end > size)
            return false;
    }
    return true;
}

bool merkle_part_holds(struct merkle_part *part, uint64_t leaf)
{
    size_t low = 0, high = part->count;

    sort(part);
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const struct merkle_place *place = &part->places[middle];

        if (leaf >= first_of(place) && (leaf - first_of(place)) >> place->level == 0)
            return true;
        if (first_of(place) < leaf)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
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

struct covering {
    struct merkle_part *part;
    const struct merkle_levels *levels;
    const int64_t *shown, *sizes;
    size_t shown_count, size_count;
};

/* How many of the ascending numbers are below `limit`. */
static size_t below(const int64_t *numbers, size_t count, uint64_t limit)
{
    size_t low = 0, high = count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if ((uint64_t)numbers[middle] < limit)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Whether the subtree is needed as a whole: no leaf in it is shown, and no tree ends within. */
static bool is_whole(const struct covering *covering, uint64_t first, uint64_t end)
{
    return below(covering->shown, covering->shown_count, first) ==
               below(covering->shown, covering->shown_count, end) &&
           below(covering->sizes, covering->size_count, first + 1) ==
               below(covering->sizes, covering->size_count, end);
}

static bool cover(const struct covering *covering, int level, uint64_t index)
{
    if (is_whole(covering, index << level, (index + 1) << level))
        return merkle_part_add(covering->part, level, index,
                               &covering->levels->level[level][index]);
    return level == 0 ||
           (cover(covering, level - 1, 2 * index) && cover(covering, level - 1, 2 * index + 1));
}

bool merkle_part_cover(struct merkle_part *part, const struct merkle_levels *levels,
                       const int64_t *shown, size_t count, const int64_t *sizes, size_t size_count)
{
    const struct covering covering = {part, levels, shown, sizes, count, size_count};
    const uint64_t size = (uint64_t)sizes[size_count - 1];

    for (uint64_t first = 0; first < size;) {
        const int level = level_at(first, size);

        if (!cover(&covering, level, first >> level))
            return false;
        first += UINT64_C(1) << level;
    }
    return true;
}
