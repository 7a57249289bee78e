#include <stddef.h>
#include <math.h>
#include <string.h>

#include "harness/core/number.h"
#include "tests/support/unit.h"

static char buffer[NUMBER_SIZE];

TEST(four_significant_digits)
{
    assert_string_equal(number_format(12.3456, buffer), "12.35");
    assert_string_equal(number_format(1234.56, buffer), "1235");
    assert_string_equal(number_format(0.123456, buffer), "0.1235");
    assert_string_equal(number_format(9.99996, buffer), "10.00");
    assert_string_equal(number_format(99.996, buffer), "100.0");
    assert_string_equal(number_format(0, buffer), "0");
    assert_string_equal(number_format(-12.3456, buffer), "-12.35");
    assert_string_equal(number_format(123456, buffer), "123456");
    assert_string_equal(number_format(NAN, buffer), "-");
    assert_string_equal(number_format(INFINITY, buffer), "-");
    assert_string_equal(number_format(1e300, buffer), "1.000e+300");
}

TEST(durations_pick_their_unit)
{
    static const struct {
        double ns;
        const char *expected;
    } cases[] = {
        {0.5, "0.5000 ns"}, {999, "999.0 ns"}, {999.99, "1.000 µs"}, {8.118e6, "8.118 ms"},
        {1.5e9, "1.500 s"}, {90e9, "90.00 s"}, {900e9, "15.00 min"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); ++i) {
        struct number_unit unit = number_unit_duration(cases[i].ns);

        assert_string_equal(number_format_unit(cases[i].ns, &unit, buffer), cases[i].expected);
    }
}

static void assert_rate(double value, const char *base, const char *expected)
{
    struct number_unit unit = number_unit_rate(value, base);

    assert_string_equal(number_format_unit(value, &unit, buffer), expected);
}

TEST(rates_take_prefixes)
{
    assert_rate(24.8e9, "B/s", "24.80 GB/s");
    assert_rate(999.96e6, "B/s", "1.000 GB/s");
    assert_rate(12, "B/s", "12.00 B/s");
    assert_rate(4.133e12, "FLOP/s", "4.133 TFLOP/s");
    assert_rate(1586, "tokens/s", "1586 tokens/s");
    assert_rate(9999, "tokens/s", "9999 tokens/s");
    assert_rate(15860, "tokens/s", "15.86 k tokens/s");
    assert_rate(2.067e9, "elements/s", "2.067 G elements/s");
    assert_rate(0, "B/s", "0 B/s");
    assert_rate(1e40, "B/s", "1.000e+22 EB/s");
}

TEST(half_widths_take_the_larger_side)
{
    assert_string_equal(number_format_half_width(100, 99, 102, buffer), "±2.0 %");
    assert_string_equal(number_format_half_width(100, 96, 102, buffer), "±4.0 %");
    assert_string_equal(number_format_half_width(100, 80, 112, buffer), "-20/+12 %");
    assert_string_equal(number_format_half_width(100, 80, 121, buffer), "±21 %");
    assert_string_equal(number_format_half_width(100, 46, 215, buffer), "-54/+115 %");
    assert_string_equal(number_format_half_width(100, 1, 1100, buffer), "-99/+1000 %");
    assert_string_equal(number_format_half_width(100, 1, 1101, buffer), "over 1000 %");
    assert_string_equal(number_format_half_width(100, 99.996, 100.004, buffer), "±0.0040 %");
    assert_string_equal(number_format_half_width(0, -1, 1, buffer), "");
    assert_string_equal(number_format_half_width(1, NAN, 1, buffer), "");
}

TEST(counts_bytes_and_errors)
{
    assert_string_equal(number_format_count(1234567, buffer), "1\u202f234\u202f567");
    assert_string_equal(number_format_count(999, buffer), "999");
    assert_string_equal(number_format_count(-123456, buffer), "-123\u202f456");
    assert_string_equal(number_format_count(INT64_MIN, buffer),
                        "-9\u202f223\u202f372\u202f036\u202f854\u202f775\u202f808");
    assert_string_equal(number_format_bytes(512, buffer), "512 B");
    assert_string_equal(number_format_bytes(1536, buffer), "1.50 KiB");
    assert_string_equal(number_format_bytes(48.0 * 1024 * 1024, buffer), "48 MiB");
    assert_string_equal(number_format_bytes(16777216000.0, buffer), "15.6 GiB");
    assert_string_equal(number_format_scientific(2.4e-7, buffer), "2.4e-07");
    assert_string_equal(number_format_scientific(NAN, buffer), "not a number");
    assert_string_equal(number_format_percent(0.0042, buffer), "0.42 %");
    assert_string_equal(number_format_percent(0.6, buffer), "60 %");
    assert_string_equal(number_format_percent(1e-9, buffer), "<0.001 %");
}

/* A figure has no more digits than its interval supports. */
TEST(an_interval_limits_the_digits)
{
    struct number_unit unit = number_unit_rate(28.204e9, "B/s");

    assert_int_equal(number_digits(100, 99.9, 100.1), 4);
    assert_int_equal(number_digits(100, 97, 101), 3);
    assert_int_equal(number_digits(100, 99, 103), 3);
    assert_int_equal(number_digits(100, 99, 120), 2);
    assert_int_equal(number_digits(100, NAN, 120), 4);
    assert_int_equal(number_digits(100, NAN, NAN), 4);
    assert_int_equal(number_digits(0, 0, 0), 4);
    assert_string_equal(number_format_unit_digits(28.204e9, &unit, 2, buffer), "28 GB/s");
    assert_string_equal(number_format_unit_digits(28.204e9, &unit, 3, buffer), "28.2 GB/s");
    assert_string_equal(number_format_unit(28.204e9, &unit, buffer), "28.20 GB/s");
    assert_string_equal(number_format_rounded(2251, 2, buffer), "2300");
    assert_string_equal(number_format_rounded(-2249, 2, buffer), "-2200");
    assert_string_equal(number_format_rounded(9951, 2, buffer), "10000");
    assert_string_equal(number_format_rounded(2202, 4, buffer), "2202");
    assert_string_equal(number_format_rounded(22.02, 3, buffer), "22.0");
    assert_string_equal(number_format_rounded(0, 2, buffer), "0");
    assert_string_equal(number_format_rounded(NAN, 2, buffer), "-");
}

/* The figure's digits, and more only where the ends would look equal. */
TEST(ends_of_an_interval_are_distinct)
{
    struct number_unit unit = number_unit_duration(200100);

    assert_string_equal(number_format_ends(195e3, 210e3, &unit, 3, buffer), "195 to 210");
    assert_string_equal(number_format_ends(200.084e3, 200.131e3, &unit, 4, buffer),
                        "200.08 to 200.13");
    assert_string_equal(number_format_ends(200.1e3, 200.1e3, &unit, 4, buffer), "200.1 to 200.1");
    assert_string_equal(number_format_ends(1.0, nextafter(1.0, 2), &unit, 2, buffer),
                        "0.00100000000 to 0.00100000000");
}

/* As many digits as tell two numbers apart, and no more; equal ones are alike. */
TEST(two_numbers_are_told_apart)
{
    static const double pairs[][2] = {{200446.1, 200446.4},
                                      {1.0, 0x1.0000000000001p0},
                                      {1e300, 1.0000001e300},
                                      {-3.5, -3.5000001},
                                      {12.0, 13.0}};
    char a[NUMBER_SIZE], b[NUMBER_SIZE];

    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        number_format_apart(pairs[i][0], pairs[i][1], 6, a, b);
        assert_string_not_equal(a, b);
    }
    number_format_apart(200446.1, 200446.4, 6, a, b);
    assert_string_equal(a, "200446.1");
    assert_string_equal(b, "200446.4");
    number_format_apart(1.0 / 3, 1.0 / 3, 6, a, b);
    assert_string_equal(a, "0.333333");
    assert_string_equal(b, "0.333333");
}
