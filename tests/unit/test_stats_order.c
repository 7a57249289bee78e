/* Order statistics: ranks of exact binomial intervals, the refusal table, selection. */
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <stdlib.h>

#include "harness/core/random.h"
#include "protocols/stats/order.h"
#include "tests/support/unit.h"

TEST(the_refusal_table)
{
    assert_int_equal(order_needed(0.5), 5);
    assert_int_equal(order_needed(0.9), 29);
    assert_int_equal(order_needed(0.95), 59);
    assert_int_equal(order_needed(0.99), 299);
    assert_int_equal(order_needed(0.999), 2995);
    assert_int_equal(order_needed(0.1), 29);
}

TEST(quantile_index)
{
    assert_int_equal(order_quantile_index(10, 0.9), 8);
    assert_int_equal(order_quantile_index(10, 0.5), 4);
    assert_int_equal(order_quantile_index(11, 0.5), 5);
    assert_int_equal(order_quantile_index(1000, 0.99), 989);
    assert_int_equal(order_quantile_index(1, 0.999), 0);
    assert_int_equal(order_quantile_index(1, 0.001), 0);
}

TEST(binomial_ranks)
{
    size_t lo, hi;

    /* Median of 20: ranks 6 and 15 (1-based) cover 95.86 % (David and Nagaraja, table 7.1). */
    assert_true(order_interval(20, 20, 0.5, 0.95, &lo, &hi));
    assert_int_equal(lo, 5);
    assert_int_equal(hi, 14);
    /* Median of 6: the extremes, 96.9 %; of 5 nothing reaches. */
    assert_true(order_interval(6, 6, 0.5, 0.95, &lo, &hi));
    assert_int_equal(lo, 0);
    assert_int_equal(hi, 5);
    assert_false(order_interval(5, 5, 0.5, 0.95, &lo, &hi));
    /* p99 of 1000: P(at most 3 above) = 1.0 %, P(at most 4) = 2.9 %. */
    assert_true(order_interval(1000, 1000, 0.99, 0.95, &lo, &hi));
    assert_int_equal(hi, 996);
    /* 0.99^368 = 2.48 %: the first n whose largest sample bounds p99 from above. */
    assert_false(order_interval(367, 367, 0.99, 0.95, &lo, &hi));
    assert_true(order_interval(368, 368, 0.99, 0.95, &lo, &hi));
    assert_int_equal(hi, 367);
}

/* A side that nothing reaches is bounded by the end, the other as always. */
TEST(ranks_of_one_side)
{
    size_t lo, hi, lo_two, hi_two;

    order_ranks(367, 367, 0.99, 0.95, &lo, &hi);
    assert_int_equal(hi, 366);
    assert_in_range(lo, 355, 360);
    order_ranks(5, 5, 0.5, 0.95, &lo, &hi);
    assert_int_equal(lo, 0);
    assert_int_equal(hi, 4);
    order_ranks(1000, 500, 0.9, 0.95, &lo, &hi);
    assert_true(order_interval(1000, 500, 0.9, 0.95, &lo_two, &hi_two));
    assert_true(lo == lo_two && hi == hi_two);
}

TEST(fewer_effective_samples_widen)
{
    size_t lo, hi, lo_all, hi_all;

    assert_true(order_interval(1000, 1000, 0.5, 0.95, &lo_all, &hi_all));
    assert_true(order_interval(1000, 50, 0.5, 0.95, &lo, &hi));
    assert_true(lo < lo_all && hi > hi_all);
    assert_true(hi - lo > 4 * (hi_all - lo_all) && hi - lo < 6 * (hi_all - lo_all));
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

TEST(select_is_sort_and_take)
{
    double x[101], y[101];
    struct random random;
    size_t round, i, rank;

    random_init(&random, 9, 0);
    for (round = 0; round < 200; round++) {
        size_t n = 1 + random_next_below(&random, 101);

        /* Few values, so that ties are common. */
        for (i = 0; i < n; i++)
            x[i] = y[i] = (double)random_next_below(&random, 1 + round % 40);
        qsort(y, n, sizeof(*y), compare);
        rank = random_next_below(&random, n);
        assert_true(order_select(x, n, rank) == y[rank]);
    }
}

/* More values than qsort is given: of both signs, of many magnitudes, with ties and infinities. */
TEST(sorting_many)
{
    enum { MANY = 50000 };
    double *x = malloc(MANY * sizeof(*x)), *y = malloc(MANY * sizeof(*y));
    int64_t *times = malloc(MANY * sizeof(*times));
    struct random random;

    assert_true(x && y && times);
    random_init(&random, 3, 0);
    for (int kind = 0; kind < 3; kind++) {
        for (size_t i = 0; i < MANY; i++) {
            x[i] = random_next_normal(&random) * exp(20 * random_next_normal(&random));
            if (kind == 1) /* whole numbers, whose low digits are all the same */
                x[i] = round(4 * random_next_normal(&random));
            if (i % 1000 == 7)
                x[i] = i % 2000 < 1000 ? INFINITY : -INFINITY;
            if (kind == 2)
                x[i] = 5;
            y[i] = x[i];
            times[i] = (int64_t)i - (i == MANY - 1 ? 3 : 0);
        }
        qsort(y, MANY, sizeof(*y), compare);
        order_sort_real(x, MANY);
        order_sort(times, MANY);
        for (size_t i = 0; i < MANY; i++)
            assert_true(x[i] == y[i] && (i == 0 || times[i] >= times[i - 1]));
    }
    free(x);
    free(y);
    free(times);
}
