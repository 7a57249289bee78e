#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/random.h"
#include "results/evidence/merkle_part.h"
#include "tests/support/unit.h"
#include "tests/unit/leaf.h"

/* The reference inputs and roots of Certificate Transparency's test suites (RFC 6962 hashing). */
static const struct {
    const char *bytes;
    size_t length;
} inputs[] = {{"", 0},
              {"\x00", 1},
              {"\x10", 1},
              {"\x20\x21", 2},
              {"\x30\x31", 2},
              {"\x40\x41\x42\x43", 4},
              {"\x50\x51\x52\x53\x54\x55\x56\x57", 8},
              {"\x60\x61\x62\x63\x64\x65\x66\x67\x68\x69\x6a\x6b\x6c\x6d\x6e\x6f", 16}};

static const char *const roots[] = {
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328"};

#define SIZE_MAX_TESTED 70

static struct digest leaf_at(uint64_t index)
{
    return index < 8 ? leaf_of(inputs[index].bytes, inputs[index].length)
                     : leaf_of(&index, sizeof(index));
}

TEST(reference_roots)
{
    struct merkle tree = {0};

    for (uint64_t size = 0; size <= 8; size++) {
        struct digest root = merkle_root(&tree);
        char hex[DIGEST_HEX_SIZE];

        assert_string_equal(digest_hex(&root, hex), roots[size]);
        if (size < 8) {
            struct digest leaf = leaf_at(size);

            merkle_add(&tree, &leaf);
        }
    }
}

/* Roots of all sizes, and the whole tree of the largest. */
struct whole {
    struct digest root[SIZE_MAX_TESTED + 1];
    struct merkle_levels levels;
};

static void make_whole(struct whole *whole)
{
    struct digest *leaves = calloc(SIZE_MAX_TESTED, sizeof(*leaves));
    struct error err = ERROR_INIT;
    struct merkle tree = {0};

    assert_non_null(leaves);
    for (uint64_t i = 0; i < SIZE_MAX_TESTED; i++) {
        leaves[i] = leaf_at(i);
        merkle_add(&tree, &leaves[i]);
        whole->root[i + 1] = merkle_root(&tree);
    }
    assert_int_equal(merkle_levels_init(&whole->levels, leaves, SIZE_MAX_TESTED, &err), STATUS_OK);
}

TEST(levels)
{
    struct whole whole;

    make_whole(&whole);
    for (uint64_t size = 1; size <= SIZE_MAX_TESTED; size++) {
        const struct digest root = merkle_levels_root(&whole.levels, size);

        assert_true(digest_equal(&root, &whole.root[size]));
    }
    merkle_levels_finish(&whole.levels);
}

/* Leaves that are shown, and sizes of trees, drawn at random; both ascending. */
struct choice {
    int64_t leaves[SIZE_MAX_TESTED], sizes[SIZE_MAX_TESTED];
    size_t leaf_count, size_count;
};

static uint64_t below(struct random *random, uint64_t limit)
{
    return random_next_below(random, limit);
}

static struct choice choose(struct random *random, uint64_t size)
{
    struct choice choice = {.leaf_count = 0};
    const uint64_t one_in = 1 + below(random, 12), earlier_one_in = 1 + below(random, 30);

    for (uint64_t i = 0; i < size; i++)
        if (below(random, one_in) == 0)
            choice.leaves[choice.leaf_count++] = (int64_t)i;
    for (uint64_t i = 1; i < size; i++)
        if (below(random, earlier_one_in) == 0)
            choice.sizes[choice.size_count++] = (int64_t)i;
    choice.sizes[choice.size_count++] = (int64_t)size;
    return choice;
}

static struct merkle_part part_of(const struct whole *whole, const struct choice *choice)
{
    struct merkle_part part = {0};

    assert_true(merkle_part_cover(&part, &whole->levels, choice->leaves, choice->leaf_count,
                                  choice->sizes, choice->size_count));
    return part;
}

static void add_leaves(struct merkle_part *part, const struct choice *choice)
{
    for (size_t i = 0; i < choice->leaf_count; i++) {
        const struct digest leaf = leaf_at((uint64_t)choice->leaves[i]);

        assert_true(merkle_part_add(part, 0, (uint64_t)choice->leaves[i], &leaf));
    }
}

static bool gives(struct merkle_part *part, uint64_t size, const struct digest *root)
{
    struct digest found;
    uint64_t missing = 0;

    return merkle_part_root(part, size, &found, &missing) && digest_equal(&found, root);
}

/* Whichever leaves are shown: they and the subtrees give the roots of all sizes that were asked. */
TEST(parts)
{
    struct whole whole;
    struct random random;

    make_whole(&whole);
    random_init(&random, 11, 1);
    for (uint64_t size = 1; size <= SIZE_MAX_TESTED; size++)
        for (int round = 0; round < 30; round++) {
            const struct choice choice = choose(&random, size);
            struct merkle_part part = part_of(&whole, &choice);
            uint64_t leaf;

            for (size_t i = 0; i < choice.leaf_count; i++)
                assert_false(merkle_part_holds(&part, (uint64_t)choice.leaves[i]));
            add_leaves(&part, &choice);
            assert_true(merkle_part_fits(&part, size, &leaf));
            assert_false(merkle_part_fits(&part, size - 1, &leaf));
            for (leaf = 0; leaf < size; leaf++)
                assert_true(merkle_part_holds(&part, leaf));
            assert_false(merkle_part_holds(&part, size));
            for (size_t i = 0; i < choice.size_count; i++)
                assert_true(gives(&part, (uint64_t)choice.sizes[i], &whole.root[choice.sizes[i]]));
            merkle_part_finish(&part);
        }
    merkle_levels_finish(&whole.levels);
}

/* Without one of the places, the leaf that is then missing is named. */
TEST(missing)
{
    struct whole whole;
    struct random random;

    make_whole(&whole);
    random_init(&random, 12, 1);
    for (uint64_t size = 1; size <= SIZE_MAX_TESTED; size++) {
        const struct choice choice = choose(&random, size);
        struct merkle_part part = part_of(&whole, &choice);
        struct merkle_place *places;
        uint64_t missing;
        struct digest root;

        add_leaves(&part, &choice);
        assert_true(merkle_part_fits(&part, size, &missing));
        places = calloc(part.count, sizeof(*places));
        memcpy(places, part.places, part.count * sizeof(*places));
        for (size_t i = 0; i < part.count; i++) {
            struct merkle_part less = {0};

            for (size_t k = 0; k < part.count; k++)
                if (k != i)
                    merkle_part_add(&less, places[k].level, places[k].index, &places[k].digest);
            assert_false(merkle_part_root(&less, size, &root, &missing));
            assert_int_equal(missing, places[i].index << places[i].level);
            merkle_part_finish(&less);
        }
        free(places);
        merkle_part_finish(&part);
    }
    merkle_levels_finish(&whole.levels);
}

/* A wrong hash, a place more, and the same place twice are found. */
TEST(wrong)
{
    struct whole whole;
    struct random random;

    make_whole(&whole);
    random_init(&random, 13, 1);
    for (uint64_t size = 1; size <= SIZE_MAX_TESTED; size++) {
        const struct choice choice = choose(&random, size);
        struct merkle_part part = part_of(&whole, &choice);
        uint64_t leaf;

        add_leaves(&part, &choice);
        assert_true(merkle_part_fits(&part, size, &leaf));
        for (size_t i = 0; i < part.count; i++) {
            part.places[i].digest.bytes[i % DIGEST_SIZE] ^= 1;
            assert_false(gives(&part, size, &whole.root[size]));
            part.places[i].digest.bytes[i % DIGEST_SIZE] ^= 1;
        }
        /* Any place more overlaps, or is beyond the end. */
        for (int level = 0; level < 4; level++)
            for (uint64_t index = 0; index <= size >> level; index++) {
                merkle_part_add(&part, level, index, &whole.root[1]);
                assert_false(merkle_part_fits(&part, size, &leaf));
                merkle_part_finish(&part);
                part = part_of(&whole, &choice);
                add_leaves(&part, &choice);
            }
        merkle_part_finish(&part);
    }
    merkle_levels_finish(&whole.levels);
}

/* Subtrees that give the root of an earlier size, and another one of the later, are no proof. */
TEST(two_histories)
{
    struct whole whole;
    struct merkle_part part = {0};
    struct digest forged[2] = {{{1}}, {{2}}}, root;
    uint64_t missing;

    make_whole(&whole);
    assert_true(merkle_part_add(&part, 3, 0, &whole.levels.level[3][0]));
    assert_true(gives(&part, 8, &whole.root[8]));
    assert_true(merkle_part_fits(&part, 8, &missing));
    assert_false(merkle_part_root(&part, 6, &root, &missing));
    assert_true(merkle_part_add(&part, 2, 0, &forged[0]));
    assert_true(merkle_part_add(&part, 1, 2, &forged[1]));
    assert_true(merkle_part_root(&part, 6, &root, &missing));
    assert_false(merkle_part_fits(&part, 8, &missing));
    merkle_part_finish(&part);
    merkle_levels_finish(&whole.levels);
}
