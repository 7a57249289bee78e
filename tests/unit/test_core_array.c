#include "harness/core/array.h"

#include <stdint.h>
#include <stdlib.h>

#include "tests/support/unit.h"

/* Room doubles, so that most items need no memory, and what is in the array stays. */
TEST(an_array_grows)
{
    uint64_t *items = NULL;
    size_t moves = 0;

    assert_true(ARRAY_ROOM(items, 0, 0));
    assert_null(items);
    for (size_t i = 0; i < 5000; i++) {
        const uint64_t *before = items;

        assert_int_equal(ARRAY_GROW(items, i, 1, NULL), STATUS_OK);
        moves += items != before;
        items[i] = i;
    }
    assert_in_range(moves, 1, 10);
    for (size_t i = 0; i < 5000; i++)
        assert_int_equal(items[i], i);
    /* Several at once, and the last of them can be written. */
    assert_true(ARRAY_ROOM(items, 5000, 70000));
    items[74999] = 1;
    assert_int_equal(items[4999], 4999);
    free(items);
}

TEST(what_cannot_be_leaves_the_array)
{
    uint64_t *items = NULL, *before;
    struct error err = ERROR_INIT;

    assert_true(ARRAY_ROOM(items, 0, 1));
    items[0] = 7;
    before = items;
    assert_int_equal(ARRAY_GROW(items, 1, SIZE_MAX, &err), STATUS_NO_MEMORY);
    assert_int_equal(ARRAY_GROW(items, 1, SIZE_MAX / 2, &err), STATUS_NO_MEMORY);
    assert_int_equal(ARRAY_GROW(items, 1, SIZE_MAX / 16, &err), STATUS_NO_MEMORY);
    assert_ptr_equal(items, before);
    assert_int_equal(items[0], 7);
    free(items);
}
