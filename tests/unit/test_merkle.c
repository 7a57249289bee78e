#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "results/merkle_levels.h"

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

static struct digest leaf_at(uint64_t index)
{
    return index < 8 ? merkle_leaf(inputs[index].bytes, inputs[index].length)
                     : merkle_leaf(&index, sizeof(index));
}

static void test_reference_roots(void **state)
{
    struct merkle tree = {0};

    (void)state;
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

static void test_proofs(void **state)
{
    struct merkle tree = {0};

    (void)state;
    for (uint64_t size = 1; size <= 40; size++) {
        struct digest *leaves = calloc(size, sizeof(*leaves)), leaf = leaf_at(size - 1), root;
        struct merkle_levels levels;
        struct error err = ERROR_INIT;

        assert_non_null(leaves);
        for (uint64_t index = 0; index < size; index++)
            leaves[index] = leaf_at(index);
        assert_int_equal(merkle_levels_init(&levels, leaves, size, &err), STATUS_OK);
        merkle_add(&tree, &leaf);
        root = merkle_root(&tree);
        for (uint64_t index = 0; index < size; index++) {
            struct digest path[MERKLE_HEIGHT_MAX], other;
            const size_t count = merkle_levels_prove(&levels, index, size, path);

            leaf = leaf_at(index);
            assert_true(merkle_proves(&leaf, index, size, path, count, &root));
            other = leaf_at(index + 1);
            assert_false(merkle_proves(&other, index, size, path, count, &root));
            assert_false(merkle_proves(&leaf, index, size, path, count, &other));
            assert_false(merkle_proves(&leaf, size, size, path, count, &root));
            if (count > 0) {
                assert_false(merkle_proves(&leaf, index, size, path, count - 1, &root));
                path[0].bytes[0] ^= 1;
                assert_false(merkle_proves(&leaf, index, size, path, count, &root));
            }
        }
        merkle_levels_finish(&levels);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reference_roots),
        cmocka_unit_test(test_proofs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
