/* What samples show of the step of their clock. */
#include <stddef.h>
#include <stdint.h>

#include "harness/core/random.h"
#include "protocols/stats/clock_step.h"
#include "tests/support/unit.h"

enum { N = 200 };

/* Draws from `count` values. */
static struct clock_step of_values(const int64_t *values, size_t count, uint64_t seed)
{
    int64_t x[N];

    for (size_t i = 0; i < N; i++)
        x[i] = values[random_at(seed, 0, i) % count];
    return clock_step_find(x, N);
}

#define STEP_OF(seed, ...)                                                                         \
    of_values((int64_t[]){__VA_ARGS__}, sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t), seed)

TEST(a_step_divides_the_samples)
{
    /* The distance of two levels is no step of a clock that could have shown them. */
    assert_int_equal(STEP_OF(1, 13260000, 25000000).step_ns, 20000);
    assert_int_equal(STEP_OF(2, 12000, 17000).step_ns, 1000);
    assert_int_equal(STEP_OF(3, 7000000, 7300000, 8000000).step_ns, 100000);
    /* Ticks of a clock are. */
    assert_int_equal(STEP_OF(4, 1000000, 2000000).step_ns, 1000000);
    assert_int_equal(STEP_OF(5, 15625000, 31250000, 46875000).step_ns, 15625000);
    assert_int_equal(STEP_OF(6, 1, 2).step_ns, 1);
    assert_int_equal(STEP_OF(7, 5000000).step_ns, 0);
    assert_int_equal(clock_step_find(NULL, 0).step_ns, 0);
}

TEST(it_is_no_longer_than_the_shortest)
{
    int64_t x[100];

    for (size_t i = 0; i < 100; i++)
        x[i] = i == 60 ? INT64_C(10000000000) : 1000000;
    assert_int_equal(clock_step_find(x, 100).step_ns, 1000000);
    x[60] = INT64_C(10000700000);
    assert_int_equal(clock_step_find(x, 100).step_ns, 100000);
    /* Ten hours, and a nanosecond more or less. */
    for (size_t i = 0; i < 100; i++)
        x[i] = INT64_C(36000000000000) + (int64_t)(i % 3) - 1;
    assert_int_equal(clock_step_find(x, 100).step_ns, 1);
}

/* A clock of 24 MHz, whose times are rounded to nanoseconds, far from 0: one step or the other. */
TEST(a_step_that_is_no_whole_nanosecond)
{
    int64_t x[N];

    for (size_t i = 0; i < N; i++)
        x[i] = (int64_t)((double)(24000 + (int64_t)(random_at(8, 0, i) % 3)) * 1000 / 24 + 0.5);
    assert_in_range(clock_step_find(x, N).step_ns, 41, 42);
}

TEST(few_values_may_be_multiples_by_chance)
{
    assert_int_equal(STEP_OF(9, 10000000, 12000000).step_ns, 2000000);
    assert_int_equal(STEP_OF(9, 10000000, 12000000).sure_ns, 200000);
    assert_int_equal(STEP_OF(10, 10000000, 20000000).sure_ns, 1000000);
    assert_int_equal(STEP_OF(11, 10000000, 15000000, 20000000).sure_ns, 500000);
    /* One in 15625 is no chance, nor are five neighbours, nor what was stored as nanoseconds. */
    assert_int_equal(STEP_OF(12, 15625000, 31250000).sure_ns, 15625000);
    assert_int_equal(STEP_OF(13, 1000, 2000, 3000, 4000, 5000).sure_ns, 1000);
    assert_int_equal(STEP_OF(14, 100, 101).sure_ns, 1);
    /* Noise that a clock rounds is in the middle mostly. */
    assert_int_equal(STEP_OF(15, 9000000, 10000000, 10000000, 10000000, 11000000).sure_ns, 1000000);
}
