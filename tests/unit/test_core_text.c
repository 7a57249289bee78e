#include "harness/core/text.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/unit.h"

TEST(append)
{
    struct text text;
    char *stolen;

    text_init(&text);
    assert_string_equal(text.data, "");
    text_append(&text, "");
    assert_string_equal(text.data, "");
    text_append(&text, "abc");
    text_append_char(&text, 'd');
    text_append_bytes(&text, "e\0f", 3);
    text_append_format(&text, "%d-%s", 12, "x");
    memset(text_extend(&text, 2), 'y', 2);
    assert_int_equal(text.length, 13);
    assert_memory_equal(text.data, "abcde\0f12-xyy", 14);
    text_clear(&text);
    assert_string_equal(text.data, "");
    for (int i = 0; i < 10000; ++i)
        text_append_format(&text, "%d,", i);
    assert_int_equal(text.length, 48890);
    assert_true(text_ok(&text));
    assert_string_equal(text.data + text.length - 5, "9999,");
    stolen = text_steal(&text);
    assert_int_equal(strlen(stolen), 48890);
    assert_string_equal(text.data, "");
    free(stolen);
    stolen = text_steal(&text); /* empty is a string, not a failure */
    assert_string_equal(stolen, "");
    free(stolen);
    text_finish(&text);
    text_finish(&text);
    text_finish(NULL);
    stolen = text_format("%s=%d", "a", 1);
    assert_string_equal(stolen, "a=1");
    free(stolen);
}

TEST(failed)
{
    struct text text;

    text_init(&text);
    text_append(&text, "abc");
    text_append_bytes(&text, "x", SIZE_MAX / 2); /* more than there can be */
    assert_false(text_ok(&text));
    assert_null(text_extend(&text, 1));
    text_append(&text, "def");
    assert_string_equal(text.data, "abc");
    assert_null(text_steal(&text));
    assert_true(text_ok(&text));
    text_append(&text, "new");
    assert_string_equal(text.data, "new");
    text_finish(&text);
}

TEST(distance)
{
    char large[200];

    assert_int_equal(text_distance("", ""), 0);
    assert_int_equal(text_distance("", "abc"), 3);
    assert_int_equal(text_distance("abc", ""), 3);
    assert_int_equal(text_distance("abc", "abc"), 0);
    assert_int_equal(text_distance("abc", "acb"), 1); /* neighbours swapped */
    assert_int_equal(text_distance("kitten", "sitting"), 3);
    assert_int_equal(text_distance("heads", "haeds"), 1);
    assert_int_equal(text_distance("ca", "abc"), 3);
    memset(large, 'x', sizeof(large));
    large[sizeof(large) - 1] = '\0';
    assert_int_equal(text_distance(large, "x"), 199);
    assert_int_equal(text_distance(large, large), 0);
}

TEST(nearest)
{
    static const char *const names[] = {"quick", "standard", "soak", "x"};

    assert_string_equal(text_nearest("quik", names, 4), "quick");
    assert_string_equal(text_nearest("standrad", names, 4), "standard");
    assert_string_equal(text_nearest("soka", names, 4), "soak");
    assert_null(text_nearest("frobnicate", names, 4));
    assert_null(text_nearest("y", names, 4));
    assert_null(text_nearest("", names, 4));
    assert_null(text_nearest("quick", names, 0));
}
