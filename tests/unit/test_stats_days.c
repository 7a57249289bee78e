/* Days of values by their times. */
#include <math.h>

#include "protocols/stats/days.h"
#include "tests/support/unit.h"

#define HOUR_NS INT64_C(3600000000000)
#define START_NS (500000 * HOUR_NS)
#define MOST 24

static size_t find(const double *hours, size_t count, size_t *ret)
{
    int64_t times_ns[MOST];
    struct error err = ERROR_INIT;
    size_t days;

    for (size_t i = 0; i < count; i++)
        times_ns[i] = START_NS + (int64_t)(hours[i] * (double)HOUR_NS);
    assert_int_equal(days_find(times_ns, count, ret, &days, &err), STATUS_OK);
    return days;
}

/* `count` values at equal distances over so many hours. */
static size_t spread(double hours, size_t count, size_t *ret)
{
    double at[MOST];

    for (size_t i = 0; i < count; i++)
        at[i] = hours * (double)i / (double)(count - 1);
    return find(at, count, ret);
}

static void assert_days(const size_t *days, const size_t *expected, size_t count)
{
    for (size_t i = 0; i < count; i++)
        assert_int_equal(days[i], expected[i]);
}

TEST(one_day)
{
    size_t of[MOST];

    assert_int_equal(spread(0.1, 10, of), 1);
    assert_int_equal(spread(12, 10, of), 1);
    assert_int_equal(spread(24, 10, of), 1);
    assert_int_equal(spread(35, 5, of), 1);
    assert_days(of, (size_t[5]){0}, 5);
    assert_int_equal(find((double[]){3}, 1, of), 1);
    /* A pause within the day. */
    assert_int_equal(find((double[]){0, 0.1, 0.2, 5, 5.1}, 5, of), 1);
}

TEST(stretches)
{
    size_t of[MOST];

    assert_int_equal(spread(120, 10, of), 5);
    assert_days(of, (size_t[]){0, 0, 1, 1, 2, 2, 3, 3, 4, 4}, 10);
    /* Fewer values than days: each is of its own. */
    assert_int_equal(spread(240, 4, of), 10);
    assert_true(of[0] < of[1] && of[1] < of[2] && of[2] < of[3]);
}

TEST(nights)
{
    size_t of[MOST];

    /* Less than a day apart by the clock, and two days. */
    assert_int_equal(find((double[]){0, 0.1, 0.2, 23, 23.1, 23.2}, 6, of), 2);
    assert_days(of, (size_t[]){0, 0, 0, 1, 1, 1}, 6);
    /* One that was measured again later stands where it was planned. */
    assert_int_equal(find((double[]){0, 48, 0.1, 0.2, 24, 24.1, 24.2}, 7, of), 3);
    assert_days(of, (size_t[]){0, 2, 0, 0, 1, 1, 1}, 7);
}

TEST(times_unknown)
{
    size_t of[2] = {7, 7}, days;
    struct error err = ERROR_INIT;

    assert_int_equal(days_find((int64_t[]){0, 400 * HOUR_NS}, 2, of, &days, &err), STATUS_OK);
    assert_int_equal(days, 1);
    assert_days(of, (size_t[]){0, 0}, 2);
}

TEST(joined)
{
    double values[8] = {1, 3, NAN, 5, 7, 0, 0, 0};

    assert_int_equal(days_join((size_t[]){0, 0, 1, 2}, values, 4), 2);
    assert_true(values[0] == 2 && values[1] == 5);
    /* All that is left is of one day, or nothing is known of days. */
    values[0] = NAN;
    values[1] = 3;
    values[2] = 4;
    assert_int_equal(days_join((size_t[]){0, 1, 1}, values, 3), 2);
    assert_true(values[0] == 3 && values[1] == 4);
    values[2] = NAN;
    values[3] = 9;
    assert_int_equal(days_join(NULL, values, 4), 3);
    assert_true(values[2] == 9);
}

TEST(days_of_a_span)
{
    assert_int_equal(days_in(0), 1);
    assert_int_equal(days_in(35 * HOUR_NS), 1);
    assert_int_equal(days_in(36 * HOUR_NS), 2);
    assert_int_equal(days_in(120 * HOUR_NS), 5);
    assert_int_equal(days_in(INT64_MAX), INT64_MAX / (24 * HOUR_NS) + 1);
}
