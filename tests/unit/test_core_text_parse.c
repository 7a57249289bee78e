/* The parses and human forms of text.h. */
#include "harness/core/text.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "comma_locale.h"
#include "tests/support/unit.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

TEST(i64)
{
    static const char *const bad[] = {"",
                                      " 1",
                                      "1 ",
                                      "+1",
                                      "-",
                                      "1a",
                                      "0x1",
                                      "1.0",
                                      "--1",
                                      "1e3",
                                      "1\n",
                                      "9223372036854775808",
                                      "-9223372036854775809",
                                      "99999999999999999999999"};
    int64_t value = 77;

    for (size_t i = 0; i < COUNT(bad); ++i) {
        assert_false(text_parse_i64(bad[i], &value));
        assert_int_equal(value, 77);
    }
    assert_false(text_parse_i64(NULL, &value));
    assert_true(text_parse_i64("0", &value) && value == 0);
    assert_true(text_parse_i64("-12", &value) && value == -12);
    assert_true(text_parse_i64("9223372036854775807", &value) && value == INT64_MAX);
    assert_true(text_parse_i64("-9223372036854775808", &value) && value == INT64_MIN);
}

TEST(u64)
{
    uint64_t value = 77;

    assert_false(text_parse_u64("-1", &value));
    assert_false(text_parse_u64("18446744073709551616", &value));
    assert_false(text_parse_u64("", &value));
    assert_false(text_parse_u64(NULL, &value));
    assert_int_equal(value, 77);
    assert_true(text_parse_u64("18446744073709551615", &value) && value == UINT64_MAX);
}

TEST(double)
{
    static const char *const bad[] = {"",   ".",  "-",   "1e",    "e1", "0x1p3", "inf", "nan",
                                      " 1", "1 ", "1,5", "1e999", "+1", "1..2",  "1e+", "-.e1"};
    static const struct {
        const char *string;
        double value;
    } good[] = {{"1", 1},      {"-1.5", -1.5}, {".5", 0.5},           {"5.", 5},
                {"1e3", 1000}, {"1E-2", 0.01}, {"5e-324", 0x1p-1074}, {"-0", 0}};
    double value = 77;

    for (size_t i = 0; i < COUNT(bad); ++i)
        assert_false(text_parse_double(bad[i], &value));
    assert_false(text_parse_double(NULL, &value));
    assert_true(value == 77);
    for (size_t i = 0; i < COUNT(good); ++i) {
        assert_true(text_parse_double(good[i].string, &value));
        assert_true(value == good[i].value);
    }
}

TEST(bytes)
{
    static const char *const bad[] = {"",     "-1",          "1 KiB", "KiB", "1kib", "1X",
                                      "1e30", "20000000TiB", "1.5.5", "1b",  "0x10"};
    static const struct {
        const char *string;
        uint64_t value;
    } good[] = {
        {"0", 0},
        {"10", 10},
        {"10B", 10},
        {"512KiB", 524288},
        {"1.5GiB", UINT64_C(1610612736)},
        {"2MB", 2000000},
        {"1kB", 1000},
        {"1KB", 1000},
        {"3TiB", UINT64_C(3) << 40},
        {"1TB", UINT64_C(1000000000000)},
        {"0.1kB", 100},
        {"000000000000000000000000000000000000000000000000000000000000000000000001kB", 1000},
        {"18446744073709551615", UINT64_MAX}};
    uint64_t value = 77;

    for (size_t i = 0; i < COUNT(bad); ++i)
        assert_false(text_parse_bytes(bad[i], &value));
    assert_false(text_parse_bytes(NULL, &value));
    assert_true(value == 77);
    for (size_t i = 0; i < COUNT(good); ++i) {
        assert_true(text_parse_bytes(good[i].string, &value));
        assert_true(value == good[i].value);
    }
}

TEST(duration)
{
    static const char *const bad[] = {"", "1", "s", "-1s", "1 s", "1d", "1S", "1m", "3000000h"};
    static const struct {
        const char *string;
        int64_t value;
    } good[] = {{"0s", 0},
                {"40ns", 40},
                {"800us", 800000},
                {"250ms", 250000000},
                {"2s", 2000000000},
                {"1.5min", INT64_C(90000000000)},
                {"1h", INT64_C(3600000000000)},
                {"0.1s", 100000000},
                {"9223372036s", INT64_C(9223372036000000000)}};
    int64_t value = 77;

    for (size_t i = 0; i < COUNT(bad); ++i)
        assert_false(text_parse_duration_ns(bad[i], &value));
    assert_false(text_parse_duration_ns(NULL, &value));
    assert_int_equal(value, 77);
    for (size_t i = 0; i < COUNT(good); ++i) {
        assert_true(text_parse_duration_ns(good[i].string, &value));
        assert_int_equal(value, good[i].value);
    }
}

TEST(moment)
{
    static const char *const bad[] = {"",
                                      "2026",
                                      "2026-1-2",
                                      "2026-02-30",
                                      "2026-13-01",
                                      "1969-12-31",
                                      "2262-01-01",
                                      " 2026-01-01",
                                      "2026-01-01T",
                                      "2026-01-01T25:00",
                                      "2026-01-01T10:00+01",
                                      "yesterday",
                                      "7",
                                      "-7d",
                                      "2m",
                                      "500000d"};
    const int64_t now = INT64_C(1795219200000000000); /* 2026-11-21 */
    static const struct {
        const char *string;
        int64_t value;
    } good[] = {{"1970-01-01", 0},
                {"2026-11-21", INT64_C(1795219200000000000)},
                {"2026-11-21T00:00:01Z", INT64_C(1795219201000000000)},
                {"2026-11-21 01:00", INT64_C(1795222800000000000)},
                {"2024-02-29", INT64_C(1709164800000000000)},
                {"7d", INT64_C(1794614400000000000)},
                {"1.5h", INT64_C(1795213800000000000)},
                {"0s", INT64_C(1795219200000000000)}};
    int64_t value = 77;

    for (size_t i = 0; i < COUNT(bad); ++i)
        assert_false(text_parse_moment_ns(bad[i], now, &value));
    assert_false(text_parse_moment_ns(NULL, now, &value));
    assert_int_equal(value, 77);
    for (size_t i = 0; i < COUNT(good); ++i) {
        assert_true(text_parse_moment_ns(good[i].string, now, &value));
        assert_int_equal(value, good[i].value);
    }
}

TEST(locale)
{
    double value;

    if (!comma_locale_enter())
        skip(); /* localedef is not here */
    assert_true(text_parse_double("1.5", &value) && value == 1.5);
    assert_false(text_parse_double("1,5", &value));
    comma_locale_leave();
}

TEST(human)
{
    static const struct {
        double value;
        const char *bytes, *duration, *si;
    } cases[] = {
        {0, "0 B", "0.00 ns", "0.00"},
        {1, "1 B", "1.00 ns", "1.00"},
        {999, "999 B", "999 ns", "999"},
        {1000, "1000 B", "1.00 us", "1.00 k"},
        {1023, "1023 B", "1.02 us", "1.02 k"},
        {1024, "1.00 KiB", "1.02 us", "1.02 k"},
        {1610612736, "1.50 GiB", "1.61 s", "1.61 G"},
        {12.34e6, "11.8 MiB", "12.3 ms", "12.3 M"},
        {999.6e6, "953 MiB", "1.00 s", "1.00 G"},
        {5e9, "4.66 GiB", "5.00 s", "5.00 G"},
        {90e9, "83.8 GiB", "90.0 s", "90.0 G"},
        {150e9, "140 GiB", "2.50 min", "150 G"},
        {3600e9, "3.27 TiB", "1.00 h", "3.60 T"},
        {4.56e9, "4.25 GiB", "4.56 s", "4.56 G"},
        {-4.56e9, "-4.25 GiB", "-4.56 s", "-4.56 G"},
        {1e300, "8.7e+281 EiB", "2.8e+287 h", "1.0e+282 E"},
    };
    char text[TEXT_HUMAN_SIZE];

    for (size_t i = 0; i < COUNT(cases); ++i) {
        assert_string_equal(text_human_bytes(cases[i].value, text), cases[i].bytes);
        assert_string_equal(text_human_duration(cases[i].value, text), cases[i].duration);
        assert_string_equal(text_human_si(cases[i].value, text), cases[i].si);
    }
    assert_string_equal(text_human_si(0.123456, text), "0.12");
    assert_string_equal(text_human_si(NAN, text), "nan");
    assert_string_equal(text_human_bytes(INFINITY, text), "inf");
    assert_string_equal(text_human_duration(-INFINITY, text), "-inf");
}
