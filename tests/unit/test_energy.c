#include "results/analysis/energy.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

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

static void test_counter(void **state)
{
    static const int64_t times[] = {0, S, 2 * S, 3 * S, 4 * S};
    static const int64_t steady[] = {100, 200, 300, 400, 500};
    static const int64_t gaps[] = {100, ENERGY_MISSING, 300, ENERGY_MISSING, 500};

    (void)state;
    assert_float_equal(grown(times, steady, 5, 0, S, 3 * S), 200, 1e-9);
    assert_float_equal(grown(times, steady, 5, 0, S / 2, 7 * S / 2), 300, 1e-9);
    assert_float_equal(grown(times, gaps, 5, 0, S / 2, 7 * S / 2), 300, 1e-9);
    assert_float_equal(grown(times, steady, 5, 0, 0, 4 * S), 400, 1e-9);
    /* Within one step. */
    assert_float_equal(grown(times, steady, 5, 0, S + S / 4, S + S / 2), 25, 1e-9);
}

static void test_wraps(void **state)
{
    static const int64_t times[] = {0, S, 2 * S, 3 * S};
    static const int64_t values[] = {900, 950, 40, 120};

    (void)state;
    assert_float_equal(grown(times, values, 4, 1000, 0, 3 * S), 220, 1e-9);
    assert_string_equal(refused(times, values, 4, 0, 0, 3 * S), "the counter ran backwards");
    assert_string_equal(refused(times, values, 4, 100, 0, 3 * S), "the counter ran backwards");
}

/* A reloaded driver, a machine that slept: a small decrease is not a whole wrap of the counter. */
static void test_set_back(void **state)
{
    static const int64_t times[] = {0, S, 2 * S, 3 * S};
    static const int64_t values[] = {900, 950, 450, 500}, anew[] = {300, 310, 5, 15};

    (void)state;
    assert_float_equal(grown(times, values, 4, 1000, 0, 3 * S), 600, 1e-9);
    assert_non_null(strstr(refused(times, anew, 4, 1000, 0, 3 * S), "set back"));
    assert_float_equal(grown(times, anew, 4, 1000, 0, S), 10, 1e-9);
}

/* A counter that does not change is unknown, not 0. */
static void test_refused(void **state)
{
    static const int64_t times[] = {0, S, 2 * S, 3 * S};
    static const int64_t stuck[] = {5, 5, 5, 5}, late[] = {5, 5, 5, 9};
    static const int64_t none[] = {ENERGY_MISSING, ENERGY_MISSING, ENERGY_MISSING, ENERGY_MISSING};
    static const int64_t wild[] = {INT64_MAX, -5, INT64_MAX, 0};

    (void)state;
    assert_string_equal(refused(times, stuck, 4, 0, S, 2 * S), "the counter did not advance");
    assert_string_equal(refused(times, late, 4, 0, 0, 2 * S), "the counter did not advance");
    assert_non_null(strstr(refused(times, late, 4, 0, 0, 4 * S), "do not enclose"));
    assert_non_null(strstr(refused(times, late, 4, 0, -1, S), "do not enclose"));
    assert_non_null(strstr(refused(times, none, 4, 0, 0, S), "do not enclose"));
    assert_non_null(strstr(refused(times, late, 0, 0, 0, S), "do not enclose"));
    assert_non_null(strstr(refused(times, late, 4, 0, 2 * S, S), "do not enclose"));
    assert_string_equal(refused(times, wild, 4, INT64_MAX, 0, 3 * S), "the counter ran backwards");
}

static void test_gauge(void **state)
{
    static const int64_t times[] = {0, S, 2 * S, 4 * S};
    static const int64_t power[] = {100, 200, ENERGY_MISSING, 500};
    struct energy_series series = {times, power, 4};
    const char *reason;
    double ret = 0;

    (void)state;
    /* A trapezoid from 100 to 200 over a second, one from 200 to 500 over three. */
    assert_true(energy_of_gauge(&series, 0, 4 * S, &ret, &reason));
    assert_float_equal(ret, 150 + 1050, 1e-9);
    assert_true(energy_of_gauge(&series, S / 2, 2 * S, &ret, &reason));
    assert_float_equal(ret, 87.5 + 250, 1e-9);
    assert_false(energy_of_gauge(&series, 0, 5 * S, &ret, &reason));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_counter),  cmocka_unit_test(test_wraps),
        cmocka_unit_test(test_set_back), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_gauge),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
