#include "results/analysis/energy.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "tests/support/unit.h"

#define S INT64_C(1000000000)

static double grown(const int64_t *times, const int64_t *values, size_t count, int64_t wraps_at,
                    int64_t begin, int64_t end)
{
    struct energy_series series = {times, values, count};
    const char *reason = "";
    double ret = NAN;

    if (!energy_of_counter(&series, wraps_at, begin, end, &ret, &reason))
        fail_msg("%s", reason);
    return ret;
}

static const char *refused(const int64_t *times, const int64_t *values, size_t count,
                           int64_t wraps_at, int64_t begin, int64_t end)
{
    struct energy_series series = {times, values, count};
    const char *reason = "";
    double ret = 7;

    assert_false(energy_of_counter(&series, wraps_at, begin, end, &ret, &reason));
    assert_true(ret == 7);
    return reason;
}

TEST(counter)
{
    static const int64_t times[] = {0, S, 2 * S, 3 * S, 4 * S};
    static const int64_t steady[] = {100, 200, 300, 400, 500};
    static const int64_t gaps[] = {100, ENERGY_MISSING, 300, ENERGY_MISSING, 500};

    assert_float_equal(grown(times, steady, 5, 0, S, 3 * S), 200, 1e-9);
    assert_float_equal(grown(times, steady, 5, 0, S / 2, 7 * S / 2), 300, 1e-9);
    assert_float_equal(grown(times, gaps, 5, 0, S / 2, 7 * S / 2), 300, 1e-9);
    assert_float_equal(grown(times, steady, 5, 0, 0, 4 * S), 400, 1e-9);
    /* Within one step. */
    assert_float_equal(grown(times, steady, 5, 0, S + S / 4, S + S / 2), 25, 1e-9);
}

/*
 * A second of bf16 products on an H100 (driver 580.159.04), from 1040.8 to 2050.6 ms. The counter
 * moves in steps of 100 ms; `power_mw` is there a mean over the second before (so Yang et al. 2024
 * found, "Part-time power measurements", of boards of this generation), so only the other agrees
 * with the counter.
 */
TEST(recorded)
{
#define MS INT64_C(1000000)
    static const int64_t times[] = {968 * MS,  1044 * MS, 1068 * MS, 1168 * MS, 1269 * MS,
                                    1368 * MS, 1468 * MS, 1568 * MS, 1668 * MS, 1768 * MS,
                                    1868 * MS, 1968 * MS, 2053 * MS, 2072 * MS, 2169 * MS};
    static const int64_t counter[] = {27744726, 27825360, 27825360, 27903977, 27979144,
                                      28056872, 28129841, 28186842, 28238412, 28297493,
                                      28367303, 28443976, 28521449, 28521449, 28587823};
    static const int64_t instant[] = {769236, 801468, 801468, 760928, 710476,
                                      773926, 681399, 505395, 520292, 643684,
                                      732494, 791952, 778454, 778454, 198159};
    static const int64_t mean[] = {327857, 394411, 394411, 458910, 528483, 584658, 654541, 698720,
                                   713341, 711708, 698984, 700072, 697079, 697079, 678748};
    const struct energy_series power = {times, instant, 15}, averaged = {times, mean, 15};
    const int64_t begin = 1040800000, end = 2050600000;
    const double joules = grown(times, counter, 15, 0, begin, end) / 1e3;
    const char *reason;
    double by_power = 0, by_mean = 0;

    assert_true(energy_of_gauge(&power, begin, end, &by_power, &reason));
    assert_true(energy_of_gauge(&averaged, begin, end, &by_mean, &reason));
    assert_float_equal(joules, 698, 3);
    assert_float_equal(by_power / 1e3, joules, 0.02 * joules);
    assert_true(by_mean / 1e3 < 0.92 * joules);
}

TEST(wraps)
{
    static const int64_t times[] = {0, S, 2 * S, 3 * S};
    static const int64_t values[] = {900, 950, 40, 120};

    assert_float_equal(grown(times, values, 4, 1000, 0, 3 * S), 220, 1e-9);
    assert_string_equal(refused(times, values, 4, 0, 0, 3 * S), "the counter ran backwards");
    assert_string_equal(refused(times, values, 4, 100, 0, 3 * S), "the counter ran backwards");
}

/* A reloaded driver, a machine that slept: a small decrease is not a whole wrap of the counter. */
TEST(set_back)
{
    static const int64_t times[] = {0, S, 2 * S, 3 * S};
    static const int64_t values[] = {900, 950, 450, 500}, anew[] = {300, 310, 5, 15};

    assert_float_equal(grown(times, values, 4, 1000, 0, 3 * S), 600, 1e-9);
    assert_non_null(strstr(refused(times, anew, 4, 1000, 0, 3 * S), "set back"));
    assert_float_equal(grown(times, anew, 4, 1000, 0, S), 10, 1e-9);
}

/* A counter that does not change is unknown, not 0. */
TEST(refused)
{
    static const int64_t times[] = {0, S, 2 * S, 3 * S};
    static const int64_t stuck[] = {5, 5, 5, 5}, late[] = {5, 5, 5, 9};
    static const int64_t none[] = {ENERGY_MISSING, ENERGY_MISSING, ENERGY_MISSING, ENERGY_MISSING};
    static const int64_t wild[] = {INT64_MAX, -5, INT64_MAX, 0};

    assert_string_equal(refused(times, stuck, 4, 0, S, 2 * S), "the counter did not advance");
    assert_string_equal(refused(times, late, 4, 0, 0, 2 * S), "the counter did not advance");
    assert_non_null(strstr(refused(times, late, 4, 0, 0, 4 * S), "do not enclose"));
    assert_non_null(strstr(refused(times, late, 4, 0, -1, S), "do not enclose"));
    assert_non_null(strstr(refused(times, none, 4, 0, 0, S), "do not enclose"));
    assert_non_null(strstr(refused(times, late, 0, 0, 0, S), "do not enclose"));
    assert_non_null(strstr(refused(times, late, 4, 0, 2 * S, S), "do not enclose"));
    assert_string_equal(refused(times, wild, 4, INT64_MAX, 0, 3 * S), "the counter ran backwards");
}

TEST(gauge)
{
    static const int64_t times[] = {0, S, 2 * S, 4 * S};
    static const int64_t power[] = {100, 200, ENERGY_MISSING, 500};
    struct energy_series series = {times, power, 4};
    const char *reason;
    double ret = 0;

    /* A trapezoid from 100 to 200 over a second, one from 200 to 500 over three. */
    assert_true(energy_of_gauge(&series, 0, 4 * S, &ret, &reason));
    assert_float_equal(ret, 150 + 1050, 1e-9);
    assert_true(energy_of_gauge(&series, S / 2, 2 * S, &ret, &reason));
    assert_float_equal(ret, 87.5 + 250, 1e-9);
    assert_false(energy_of_gauge(&series, 0, 5 * S, &ret, &reason));
}
