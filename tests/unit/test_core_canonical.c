#include "harness/core/canonical.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comma_locale.h"
#include "harness/core/random.h"
#include "harness/core/text.h"
#include "tests/support/unit.h"

static double from_bits(uint64_t bits)
{
    double value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* RFC 8785, appendix B, but for the rows beyond 2^63, where canonical.h writes an exponent. */
TEST(rfc_reals)
{
    static const struct {
        uint64_t bits;
        const char *text;
    } rows[] = {
        {0x0000000000000000, "0"},
        {0x8000000000000000, "0"},
        {0x0000000000000001, "5e-324"},
        {0x8000000000000001, "-5e-324"},
        {0x7fefffffffffffff, "1.7976931348623157e+308"},
        {0xffefffffffffffff, "-1.7976931348623157e+308"},
        {0x4340000000000000, "9007199254740992"},
        {0xc340000000000000, "-9007199254740992"},
        {0x4430000000000000, "2.9514790517935283e+20"}, /* narrowed, see canonical.h */
        {0x44b52d02c7e14af5, "9.999999999999997e+22"},
        {0x44b52d02c7e14af6, "1e+23"},
        {0x44b52d02c7e14af7, "1.0000000000000001e+23"},
        {0x444b1ae4d6e2ef4e, "9.999999999999997e+20"}, /* narrowed */
        {0x444b1ae4d6e2ef4f, "9.999999999999999e+20"}, /* narrowed */
        {0x444b1ae4d6e2ef50, "1e+21"},
        {0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"},
        {0x3eb0c6f7a0b5ed8d, "0.000001"},
        {0x41b3de4355555553, "333333333.3333332"},
        {0x41b3de4355555554, "333333333.33333325"},
        {0x41b3de4355555555, "333333333.3333333"},
        {0x41b3de4355555556, "333333333.3333334"},
        {0x41b3de4355555557, "333333333.33333343"},
        {0xbecbf647612f3696, "-0.0000033333333333333333"},
        {0x43143ff3c1cb0959, "1424953923781206.2"},
    };
    char text[CANONICAL_REAL_SIZE];

    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); ++i)
        assert_string_equal(canonical_real(from_bits(rows[i].bits), text), rows[i].text);
    assert_string_equal(canonical_real(0x1p-44, text), "5.684341886080802e-14");
    assert_string_equal(canonical_real(0.1, text), "0.1");
    assert_string_equal(canonical_real(100, text), "100");
    assert_string_equal(canonical_real(1234.5, text), "1234.5");
    assert_string_equal(canonical_real(0x1.fffffffffffffp+62, text), "9223372036854775000");
    assert_string_equal(canonical_real(0x1p63, text), "9.223372036854776e+18");
}

/* The digits of a number as it is written, without zeros at either end. */
static void digits_of(const char *text, char ret[CANONICAL_REAL_SIZE])
{
    size_t count = 0;

    for (; *text && *text != 'e'; text++)
        if (*text >= '0' && *text <= '9' && (count > 0 || *text != '0'))
            ret[count++] = *text;
    while (count > 1 && ret[count - 1] == '0')
        count--;
    ret[count] = '\0';
}

/* Of each size that measurements have: the C library's first precision that reads back. */
TEST(reals_are_shortest)
{
    struct random random;
    char text[CANONICAL_REAL_SIZE], printed[64], ours[CANONICAL_REAL_SIZE],
        theirs[CANONICAL_REAL_SIZE];

    random_init(&random, 2, 0);
    for (int i = 0; i < 20000; ++i) {
        const uint64_t bits = random_next(&random);
        /* Whole numbers and thousandths of all sizes, of which many have 15 digits or fewer; then
         * doubles with all their bits. */
        const double value = i % 4 == 0   ? (double)(bits >> (bits & 63) >> 11)
                             : i % 4 == 1 ? (double)(bits >> (bits & 63) >> 11) / 1000
                                          : ldexp((double)(bits >> 11), (int)(bits & 127) - 120);
        double back = -1;

        if (value == 0)
            continue;
        for (int precision = 1; back != value; ++precision) {
            snprintf(printed, sizeof(printed), "%.*e", precision - 1, value);
            back = strtod(printed, NULL);
        }
        digits_of(canonical_real(value, text), ours);
        digits_of(printed, theirs);
        assert_string_equal(ours, theirs);
    }
}

TEST(reals_read_back)
{
    struct random random;
    char text[CANONICAL_REAL_SIZE];

    random_init(&random, 1, 0);
    for (int i = 0; i < 20000; ++i) {
        double value = from_bits(random_next(&random)), back;

        if (!isfinite(value))
            continue;
        canonical_real(value, text);
        assert_true(strlen(text) < CANONICAL_REAL_SIZE);
        assert_true(text_parse_double(text, &back));
        assert_true(back == value);
    }
}

static void expect_canonical(const char *json, const char *expected)
{
    struct error err = ERROR_INIT;
    json_t *value, *again;
    char *text;

    if (canonical_parse(json, strlen(json), "test", &value, &err) != STATUS_OK)
        fail_msg("%s", err.message);
    assert_int_equal(canonical_dump(value, &text, &err), STATUS_OK);
    assert_string_equal(text, expected);
    json_decref(value);
    /* The canonical form is a fixed point. */
    assert_int_equal(canonical_parse(text, strlen(text), "test", &again, &err), STATUS_OK);
    free(text);
    assert_int_equal(canonical_dump(again, &text, &err), STATUS_OK);
    assert_string_equal(text, expected);
    json_decref(again);
    free(text);
}

TEST(dump)
{
    expect_canonical(" { \"b\" : [ 1 , 2.50 , true , false , null ] , \"a\" : { } } ",
                     "{\"a\":{},\"b\":[1,2.5,true,false,null]}");
    expect_canonical("[]", "[]");
    expect_canonical("\"x\"", "\"x\"");
    expect_canonical("[9223372036854775807,-9223372036854775808,1e2,-0.0,1e20]",
                     "[9223372036854775807,-9223372036854775808,100,0,1e+20]");
    expect_canonical(
        "\"\\u20ac$\\u000F\\u000aA'\\u0042\\u0022\\u005c\\\\\\\"\\/\\b\\f\\r\\t\\u007f\"",
        "\"\xe2\x82\xac$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\\b\\f\\r\\t\x7f\"");
    expect_canonical("{\"B\":1,\"a\":2,\"A\":3,\"aa\":4,\"\":5}",
                     "{\"\":5,\"A\":3,\"B\":1,\"a\":2,\"aa\":4}");
}

/* Each byte in every position of strings that are processed in several ways. */
TEST(every_byte_is_escaped)
{
    static const size_t lengths[] = {1, 7, 8, 9, 16, 255, 256, 257, 600};
    char string[600];
    struct text written, expected;

    text_init(&written);
    text_init(&expected);
    for (size_t k = 0; k < sizeof(lengths) / sizeof(lengths[0]); k++) {
        for (size_t i = 0; i < 256 * lengths[k]; i++) {
            const unsigned char byte = (unsigned char)(i % 256);
            static const char shorts[] = "\b\f\n\r\t\"\\", letters[] = "bfnrt\"\\";
            const char *place = byte ? strchr(shorts, byte) : NULL;

            memset(string, 'a' + (int)(i % 7), sizeof(string));
            string[i / 256] = (char)byte;
            text_clear(&written);
            text_clear(&expected);
            canonical_append_string(&written, string, lengths[k]);
            text_append_char(&expected, '"');
            text_append_bytes(&expected, string, i / 256);
            if (place)
                text_append_format(&expected, "\\%c", letters[place - shorts]);
            else if (byte < 0x20)
                text_append_format(&expected, "\\u%04x", byte);
            else
                text_append_bytes(&expected, &byte, 1);
            text_append_bytes(&expected, string + i / 256 + 1, lengths[k] - i / 256 - 1);
            text_append_char(&expected, '"');
            assert_string_equal(written.data, expected.data);
            assert_int_equal(written.length, expected.length);
        }
    }
    for (size_t i = 0; i < sizeof(string); i++)
        string[i] = i % 3 ? '"' : '\x1f';
    text_clear(&written);
    canonical_append_string(&written, string, sizeof(string));
    assert_int_equal(written.length, 2 + 200 * 6 + 400 * 2);
    text_clear(&written);
    canonical_append_string(&written, string, 0);
    assert_string_equal(written.data, "\"\"");
    text_finish(&written);
    text_finish(&expected);
}

TEST(digest)
{
    struct digest digest, expected = digest_bytes("{\"a\":1,\"b\":2}", 13);
    struct error err = ERROR_INIT;
    json_t *value;

    assert_int_equal(canonical_parse("{\"b\":2, \"a\":1.0}", 16, "x", &value, &err), STATUS_OK);
    assert_int_equal(canonical_digest(value, &digest, &err), STATUS_OK);
    assert_true(digest_equal(&digest, &expected));
    json_decref(value);
}

/* The message is jansson's; the place before it is what matters. */
static void expect_refused(const char *json, size_t length, const char *place)
{
    struct error err = ERROR_INIT;
    json_t *value = NULL;

    assert_int_equal(canonical_parse(json, length, "in.json", &value, &err), STATUS_CORRUPT);
    assert_null(value);
    assert_memory_equal(err.message, place, strlen(place));
    assert_true(strlen(err.message) > strlen(place) + 10);
    for (const char *c = err.message; *c; ++c)
        assert_true(*c >= ' ');
}

TEST(refused)
{
    struct error err = ERROR_INIT;
    struct text deep;
    json_t *value = json_array(), *inner = value;
    char *text = NULL;

    expect_refused("{\"a\":1,\n\"a\":2}", 14, "in.json:2:3: duplicate object key");
    expect_refused("[1,]", 4, "in.json:1:4: ");
    expect_refused("", 0, "in.json:1:0: ");
    expect_refused("[1]x", 4, "in.json:1:4: ");
    expect_refused("[\"\x1b\"]", 5, "in.json:1:");
    expect_refused("[99999999999999999999]", 22, "in.json:1:");
    expect_refused("[\"\\u0000\"]", 10, "in.json:1:");
    text_init(&deep);
    for (int i = 0; i < 100000; ++i)
        text_append_char(&deep, '[');
    assert_int_equal(canonical_parse(deep.data, deep.length, "x", &value, &err), STATUS_CORRUPT);
    text_finish(&deep);
    for (int i = 0; i < 5000; ++i) {
        json_t *next = json_array();

        json_array_append_new(inner, next);
        inner = next;
    }
    assert_int_equal(canonical_dump(value, &text, &err), STATUS_INVALID);
    assert_null(text);
    json_decref(value);
    assert_int_equal(canonical_dump(NULL, &text, &err), STATUS_INTERNAL);
}

TEST(locale)
{
    char text[CANONICAL_REAL_SIZE];

    if (!comma_locale_enter())
        skip(); /* localedef is not here */
    assert_string_equal(canonical_real(1.5, text), "1.5");
    expect_canonical("[1.5,1e-7]", "[1.5,1e-7]");
    comma_locale_leave();
}
