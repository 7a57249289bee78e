#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <stdbool.h>

#include "harness/core/random.h"
#include "protocols/history.h"
#include "tests/support/unit.h"

#define SERIES 200
#define MOST 64

/* Logs of `count` results that are off by `sd` each, the last `after` of them `ratio` times as
 * large. */
static void make(uint64_t seed, size_t count, size_t after, double ratio, double sd, double *ret)
{
    struct random random;

    random_init(&random, 20261127, seed);
    for (size_t i = 0; i < count; i++)
        ret[i] = log(1 + sd * random_next_normal(&random)) + (i >= count - after ? log(ratio) : 0);
}

/* How many of such series have one change, and it where it is. */
static int found(size_t count, size_t after, double ratio, double sd)
{
    int hits = 0;

    for (uint64_t seed = 0; seed < SERIES; seed++) {
        struct trend trend;
        double values[MOST];

        make(seed, count, after, ratio, sd, values);
        assert_int_equal(history_describe(values, count, &trend, NULL), STATUS_OK);
        hits += trend.kind == TREND_STEPS && trend.change_count == 1 &&
                trend.change[0] == count - after;
        trend_finish(&trend);
    }
    return hits;
}

/* Levels that overlap nowhere, upwards and downwards, also where few results are of one of them. */
TEST(levels_far_apart)
{
    assert_int_equal(found(18, 9, 20, 0.01), SERIES);
    assert_int_equal(found(18, 9, 0.05, 0.01), SERIES);
    assert_int_equal(found(18, 9, 0.05, 0.1), SERIES);
    assert_int_equal(found(16, 5, 1.5, 0.01), SERIES);
    assert_int_equal(found(16, 11, 0.7, 0.01), SERIES);
    assert_int_equal(found(60, 55, 1.2, 0.01), SERIES);
}

/* How many constant series of 16 are called anything else; result `odd` is far off, 16: none is. */
static int false_changes(size_t odd)
{
    int hits = 0;

    for (uint64_t seed = 0; seed < SERIES; seed++) {
        struct trend trend;
        double values[16];

        make(seed, 16, 0, 1, 0.01, values);
        if (odd < 16)
            values[odd] += log(20);
        assert_int_equal(history_describe(values, 16, &trend, NULL), STATUS_OK);
        hits += trend.kind != TREND_CONSTANT;
        trend_finish(&trend);
    }
    return hits;
}

/* However far off it is, an odd result is no change. */
TEST(odd_results)
{
    for (size_t odd = 0; odd <= 16; odd++)
        assert_in_range(false_changes(odd), 0, SERIES / 20);
}

#define HOUR_NS (INT64_C(3600) * 1000000000)

/* Results of which each follows the one before within an hour are one value, their mean. */
TEST(sittings)
{
    static const int64_t times_ns[] = {0,           HOUR_NS,         2 * HOUR_NS, 3 * HOUR_NS + 1,
                                       8 * HOUR_NS, 8 * HOUR_NS + 1, 20 * HOUR_NS};
    static const double values[] = {1, 2, 6, 4, 5, 8, 7};
    static const size_t expected_first[] = {0, 3, 4, 6};
    static const double expected[] = {3, 4, 6.5, 7};
    double found[7];
    size_t first[7];

    assert_int_equal(history_sittings(values, times_ns, 7, found, first), 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(first[i], expected_first[i]);
        assert_true(found[i] == expected[i]);
    }
    assert_int_equal(history_sittings(values, times_ns, 0, found, first), 0);
}

static bool changes(const double *values, size_t count)
{
    struct trend trend;
    bool found;

    assert_int_equal(history_describe(values, count, &trend, NULL), STATUS_OK);
    found = trend.kind != TREND_CONSTANT;
    trend_finish(&trend);
    return found;
}

/* Constant histories that are looked at after each result: few of them ever show a change. */
TEST(looked_at_again_and_again)
{
    int hits = 0;

    for (uint64_t seed = 0; seed < SERIES; seed++) {
        double values[MOST];
        bool found = false;

        make(seed, MOST, 0, 1, 0.01, values);
        for (size_t count = HISTORY_LEAST; count <= MOST && !found; count++)
            found = changes(values, count);
        hits += found;
    }
    assert_in_range(hits, 0, SERIES / 20);
}

/* A level of five results is reported where it is far off, and else once it has lasted. */
TEST(a_level_that_has_begun)
{
    double values[MOST];
    int begun = 0, clear = 0, settled = 0;

    for (uint64_t seed = 0; seed < SERIES; seed++) {
        make(seed, MOST, 5, 1.02, 0.01, values);
        begun += changes(values, MOST);
        make(seed, MOST, 5, 1.1, 0.01, values);
        clear += changes(values, MOST);
        make(seed, MOST, 20, 1.02, 0.01, values);
        settled += changes(values, MOST);
    }
    assert_in_range(begun, 0, SERIES / 5);
    assert_in_range(clear, SERIES * 19 / 20, SERIES);
    assert_in_range(settled, SERIES * 3 / 5, SERIES);
}
