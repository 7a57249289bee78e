/*
 * Weights in few bits: the numbers of OCP MX 1.0 to the code, rounding to nearest even, the rules
 * that pick scales by examples worked by hand.
 */
#include "workloads/data/format.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "tests/support/unit.h"

static const struct format *find(const char *name)
{
    for (size_t i = 0; i < FORMAT_COUNT; i++)
        if (!strcmp(formats[i].name, name))
            return &formats[i];
    fail_msg("there is no format %s", name);
    return NULL;
}

static void assert_number(const struct format *format, float number, uint8_t code, float back)
{
    if (format_encode(format, number) != code || format_decode(format, code) != back)
        fail_msg("%s: %g is %u, which is %g", format->name, (double)number,
                 format_encode(format, number), (double)format_decode(format, code));
}

/* Of every two neighbours the nearer one, halfway between the one with the even code. */
static void assert_rounds(const struct format *format, uint8_t largest, bool offset)
{
    for (uint8_t code = offset ? 8 : 0; code < largest; code++) {
        const float low = format_decode(format, code);
        const float high = format_decode(format, (uint8_t)(code + 1));
        const float middle = low + (high - low) / 2;

        assert_true(high > low);
        assert_int_equal(format_encode(format, low), code);
        assert_int_equal(format_encode(format, middle), code + code % 2);
        assert_int_equal(format_encode(format, nextafterf(middle, low)), code);
        assert_int_equal(format_encode(format, nextafterf(middle, high)), code + 1);
    }
    assert_int_equal(format_encode(format, 2 * format_decode(format, largest)), largest);
    assert_true(format_decode(format, largest) == format_largest(format));
}

/* MX 1.0, tables 2 (e4m3) and 5 (e2m1): all of e2m1, the limits of e4m3. */
TEST(numbers)
{
    static const float e2m1[] = {0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f};
    const struct format *mxfp4 = find("mxfp4"), *mxfp8 = find("mxfp8");

    for (uint8_t i = 0; i < 8; i++) {
        assert_number(mxfp4, e2m1[i], i, e2m1[i]);
        assert_number(mxfp4, -e2m1[i], i | 8, -e2m1[i]);
    }
    assert_number(mxfp8, 448.0f, 0x7e, 448.0f);
    assert_number(mxfp8, -500.0f, 0xfe, -448.0f);
    assert_number(mxfp8, 0x1p-6f, 0x08, 0x1p-6f);
    assert_number(mxfp8, 0x1p-9f, 0x01, 0x1p-9f);
    assert_number(find("int4"), -7.6f, 1, -7.0f);
    assert_number(find("int4"), 2.5f, 10, 2.0f);
    assert_number(find("int8"), -127.7f, 129, -127.0f);
}

TEST(rounding)
{
    assert_rounds(find("mxfp4"), 7, false);
    assert_rounds(find("mxfp8"), 0x7e, false);
    assert_rounds(find("int4"), 15, true);
    assert_rounds(find("int8"), 127, false);
}

/* The scale of a block whose largest magnitude is given, as bits and as what multiplies codes. */
static void assert_scale(const char *name, float largest, float bound, uint32_t bits, float scale)
{
    const struct format *format = find(name);
    const float matrix = format_matrix_scale(format, bound);
    const uint32_t got = format_scale_encode(format, largest, matrix);

    if (got != bits || format_scale_decode(format, got, matrix) != scale)
        fail_msg("%s: the scale of %g is 0x%x, %a", name, (double)largest, got,
                 (double)format_scale_decode(format, got, matrix));
}

/* MX 1.0, 6.3: 2^(floor(log2(largest)) - exponent of the largest number), in e8m0 plus 127. */
TEST(scales)
{
    assert_scale("mxfp8", 448.0f, 0.0f, 127, 1.0f);
    assert_scale("mxfp8", 511.0f, 0.0f, 127, 1.0f); /* clamps */
    assert_scale("mxfp8", 512.0f, 0.0f, 128, 2.0f);
    assert_scale("mxfp4", 0.99f, 0.0f, 124, 0.125f);
    assert_scale("mxfp4", 1.0f, 0.0f, 125, 0.25f);
    assert_scale("mxfp4", 0.0f, 0.0f, 1, 0x1p-126f);
    assert_scale("int4", 7.0f, 0.0f, 0x3c00, 1.0f);
    assert_scale("int4", 0.7f, 0.0f, 0x2e66, 0x1.998p-4f); /* f16 next to 0.1 */
    assert_scale("int8", 127.0f, 0.0f, 0x3f800000, 1.0f);
    assert_scale("fp8_block", 224.0f, 0.0f, 0x3f000000, 0.5f);
    assert_scale("fp8", 0.1f, 896.0f, 0, 2.0f);
    assert_scale("nvfp4", 6.0f * 448.0f, 6.0f * 448.0f, 0x7e, 448.0f);
    assert_scale("nvfp4", 6.0f, 6.0f * 448.0f, 0x38, 1.0f);
    assert_scale("nvfp4", 0.0f, 6.0f * 448.0f, 0, 0.0f);
    assert_true(format_inverse(4.0f) == 0.25f && format_inverse(0.0f) == 0.0f);
}

/* Bits of an element with its share of the scales, as the formats are known by. */
TEST(bits)
{
    static const struct {
        const char *name;
        double bits; /* of 4096 inputs */
    } rows[] = {{"int8", 8.0078125}, {"int4", 4.125}, {"fp8", 8.0},  {"fp8_block", 8.001953125},
                {"mxfp8", 8.25},     {"mxfp4", 4.25}, {"nvfp4", 4.5}};

    for (size_t i = 0; i < FORMAT_COUNT; i++) {
        const struct format *format = find(rows[i].name);
        const double elements =
            (double)((format->rows ? format->rows : 4096) * (format->cols ? format->cols : 4096));

        assert_true(format_bits(format) + format_scale_bits(format) / elements == rows[i].bits);
    }
}
