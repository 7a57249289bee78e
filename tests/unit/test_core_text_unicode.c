/* The UTF-8 parts of text.h. */
#include "harness/core/text.h"

#include <locale.h>
#include <stddef.h>
#include <string.h>

#include "tests/support/unit.h"

static const char *const well_formed[] = {"",
                                          "a",
                                          "\xc2\x80",
                                          "\xdf\xbf",
                                          "\xe0\xa0\x80",
                                          "\xed\x9f\xbf",
                                          "\xee\x80\x80",
                                          "\xef\xbf\xbf",
                                          "\xf0\x90\x80\x80",
                                          "\xf4\x8f\xbf\xbf",
                                          "x\xe2\x82\xacy"};
static const char *const malformed[] = {"\x80",
                                        "\xbf",
                                        "\xc0\x80", /* overlong NUL */
                                        "\xc1\xbf",
                                        "\xc2",
                                        "\xc2\x61",
                                        "\xe0\x80\x80", /* overlong */
                                        "\xe0\x9f\xbf",
                                        "\xed\xa0\x80",
                                        /* surrogate */ "\xed\xbf\xbf",
                                        "\xe2\x82",
                                        "\xf0\x80\x80\x80",
                                        "\xf0\x8f\xbf\xbf",
                                        "\xf4\x90\x80\x80",
                                        "\xf5\x80\x80\x80",
                                        "\xff",
                                        "\xfe",
                                        "\xf0\x90\x80",
                                        "a\x80"};

TEST(is_utf8)
{
    for (size_t i = 0; i < sizeof(well_formed) / sizeof(*well_formed); ++i)
        assert_true(text_is_utf8(well_formed[i], strlen(well_formed[i])));
    for (size_t i = 0; i < sizeof(malformed) / sizeof(*malformed); ++i)
        assert_false(text_is_utf8(malformed[i], strlen(malformed[i])));
    assert_false(text_is_utf8("a\0b", 3));
}

static void expect_printable(const char *bytes, size_t length, const char *shown)
{
    struct text text;

    text_init(&text);
    text_append_printable(&text, bytes, length);
    assert_string_equal(text.data, shown);
    text_finish(&text);
}

TEST(printable)
{
    expect_printable("plain", 5, "plain");
    expect_printable("a\0b", 3, "a\\x00b");
    expect_printable("\x1b[31m\x7f\r\n\t", 9, "\\x1B[31m\\x7F\\x0D\\x0A\\x09");
    expect_printable("\xc2\x9b"
                     "1m",
                     4, "\\xC2\\x9B1m");                      /* a control character in two bytes */
    expect_printable("\xe2\x80\xae", 3, "\\xE2\\x80\\xAE");   /* turns the text around */
    expect_printable("\xd8\x9c", 2, "\\xD8\\x9C");            /* so does the Arabic mark */
    expect_printable("a\xe2\x80\x8b", 4, "a\\xE2\\x80\\x8B"); /* an invisible space */
    expect_printable("\xf3\xa0\x81\x81", 4, "\\xF3\\xA0\\x81\\x81");
    expect_printable("\xe2\x82\xac", 3, "\xe2\x82\xac");
    expect_printable("\xe2\x82", 2, "\\xE2\\x82");
    expect_printable("\xff\xc3\xa4", 3, "\\xFF\xc3\xa4");
    /* Whatever the input, the output is UTF-8 without control characters. */
    for (size_t i = 0; i < sizeof(malformed) / sizeof(*malformed); ++i) {
        struct text text;

        text_init(&text);
        text_append_printable(&text, malformed[i], strlen(malformed[i]));
        assert_true(text_is_utf8(text.data, text.length));
        text_finish(&text);
    }
}

TEST(columns)
{
    assert_int_equal(text_columns(""), 0);
    assert_int_equal(text_columns("abc"), 3);
    assert_int_equal(text_columns("\xff\xff"), 2);
    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        skip();
    assert_int_equal(text_columns("\xc3\xa4"), 1);
    assert_int_equal(text_columns("\xe4\xbd\xa0"), 2); /* a wide character */
    assert_int_equal(text_columns("e\xcc\x81"), 1);    /* a combining accent */
}

TEST(shown)
{
    static const char page[] = "a\tb\n\x1b[1mc\x1b[2J\r\x7f\xc2\x9b";
    struct text text;

    text_init(&text);
    text_append_shown(&text, page, sizeof(page) - 1, false);
    assert_string_equal(text.data, "a\tb\n\\x1B[1mc\\x1B[2J\\x0D\\x7F\\xC2\\x9B");
    text_clear(&text);
    text_append_shown(&text, page, sizeof(page) - 1, true);
    assert_string_equal(text.data, "a\tb\n\x1b[1mc\\x1B[2J\\x0D\\x7F\\xC2\\x9B");
    text_finish(&text);
}

TEST(json)
{
    static const char json[] = "{\n \"\xc3\xa9\": \"\x7f\xc2\x9b\xe2\x80\xae\xf3\xa0\x81\x81\"\n}";
    struct text text;

    text_init(&text);
    text_append_json(&text, json, sizeof(json) - 1);
    assert_string_equal(text.data, "{\n \"\xc3\xa9\": \"\\u007F\\u009B\\u202E\\uDB40\\uDC41\"\n}");
    text_finish(&text);
}
