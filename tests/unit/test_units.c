#include "protocols/units.h"

#include <math.h>
#include <stdbool.h>

#include "harness/core/random.h"
#include "tests/support/unit.h"

#define UNITS_MOST 1000
#define SITTINGS_MOST 4

/* Fleets of known truth: what units and sittings differ by; the first `slow` are at `by`. */
struct fleet {
    size_t count, sittings, slow;
    double unit_sd, sitting_sd, by;
    bool skewed; /* units by an exponential distribution of this spread, to the slow side */
    double truth[UNITS_MOST], logs[UNITS_MOST * SITTINGS_MOST];
    struct unit units[UNITS_MOST];
};

static void draw(struct fleet *fleet, struct random *random)
{
    for (size_t u = 0; u < fleet->count; u++) {
        const double unit =
            fleet->skewed ? 1 - random_next_exponential(random) : random_next_normal(random);

        fleet->truth[u] = u < fleet->slow ? fleet->by : fleet->unit_sd * unit;
        for (size_t s = 0; s < fleet->sittings; s++)
            fleet->logs[u * fleet->sittings + s] =
                5 + fleet->truth[u] + fleet->sitting_sd * random_next_normal(random);
        fleet->units[u] = (struct unit){&fleet->logs[u * fleet->sittings], fleet->sittings};
    }
}

/* Over many fleets: the slow ones found, of those called slow how many are not, and undecided. */
struct tally {
    double found, slow, false_alarms, called, undecided, units;
};

static struct tally judge_fleets(struct fleet *fleet, int fleets, double margin, uint64_t seed)
{
    struct tally tally = {0};
    struct units_levels levels;
    struct random random;

    random_init(&random, seed, 1);
    for (int i = 0; i < fleets; i++) {
        draw(fleet, &random);
        assert_int_equal(units_judge(fleet->units, fleet->count, margin, 0.05, &levels, NULL),
                         STATUS_OK);
        for (size_t u = 0; u < fleet->count; u++) {
            const bool is_slow = fleet->truth[u] < log1p(-margin);
            const bool called = fleet->units[u].verdict == UNIT_SLOW;

            tally.slow += u < fleet->slow;
            tally.found += u < fleet->slow && called;
            tally.called += called;
            tally.false_alarms += called && !is_slow;
            tally.undecided += fleet->units[u].verdict == UNIT_UNDECIDED;
            tally.units++;
        }
    }
    return tally;
}

TEST(slow_units_are_found_and_few_others)
{
    static struct fleet fleet;

    for (int skewed = 0; skewed < 2; skewed++)
        for (size_t sittings = 2; sittings <= 4; sittings += 2) {
            struct tally tally;

            fleet = (struct fleet){.count = 1000,
                                   .sittings = sittings,
                                   .slow = 5,
                                   .unit_sd = 0.01,
                                   .sitting_sd = 0.004,
                                   .by = -0.05,
                                   .skewed = skewed};
            tally = judge_fleets(&fleet, 40, 0.02, 20261128 + sittings);
            assert_true(tally.found >= 0.97 * tally.slow);
            assert_true(tally.undecided <= 0.1 * tally.units);
            assert_true(tally.false_alarms <= 0.05 * tally.called);
        }
}

/* A fifth of the units at the very limit: what is called slow is false, and rarely anything is. */
static int alarms_at_the_limit(size_t units, size_t sittings, double unit_sd)
{
    static struct fleet fleet;
    struct units_levels levels;
    struct random random;
    int alarms = 0;

    fleet = (struct fleet){
        .count = units, .sittings = sittings, .unit_sd = unit_sd, .sitting_sd = 0.01};
    random_init(&random, units, sittings);
    for (int i = 0; i < 400; i++) {
        bool alarm = false;

        draw(&fleet, &random);
        for (size_t u = 0; u < units / 5; u++)
            for (size_t s = 0; s < sittings; s++)
                fleet.logs[u * sittings + s] += log1p(-0.02) - fleet.truth[u];
        assert_int_equal(units_judge(fleet.units, units, 0.02, 0.05, &levels, NULL), STATUS_OK);
        for (size_t u = 0; u < units / 5; u++)
            alarm |= fleet.units[u].verdict == UNIT_SLOW;
        alarms += alarm;
    }
    return alarms;
}

TEST(at_the_limit_few_fleets_have_a_false_alarm)
{
    static const size_t counts[] = {5, 10, 40};

    for (size_t i = 0; i < 3; i++)
        for (size_t sittings = 2; sittings <= 4; sittings++)
            for (int differ = 0; differ < 2; differ++)
                /* 5 % of 400, and three standard deviations */
                assert_in_range(alarms_at_the_limit(counts[i], sittings, 0.01 * differ), 0, 33);
}

TEST(the_spread_between_units_is_covered)
{
    static struct fleet fleet = {.count = 8, .sittings = 3, .unit_sd = 0.01, .sitting_sd = 0.004};
    struct random random;
    struct units_levels levels;
    int covered = 0, sittings = 0;

    random_init(&random, 11, 1);
    for (int i = 0; i < 2000; i++) {
        draw(&fleet, &random);
        assert_int_equal(units_judge(fleet.units, fleet.count, 0.03, 0.05, &levels, NULL),
                         STATUS_OK);
        covered += levels.units.lo <= 0.01 && 0.01 <= levels.units.hi;
        sittings += levels.sittings.lo <= 0.004 && 0.004 <= levels.sittings.hi;
    }
    assert_in_range(covered, 1870, 1940); /* 95 % of 2000, and four standard deviations */
    assert_in_range(sittings, 1860, 1940);
}

TEST(one_sitting_decides_nothing)
{
    const double a[] = {1}, b[] = {1.01}, c[] = {0.5}, two[] = {0.5, 0.51};
    struct unit units[] = {{a, 1}, {b, 1}, {c, 1}};
    struct units_levels levels;

    assert_int_equal(units_judge(units, 3, 0.05, 0.05, &levels, NULL), STATUS_OK);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(units[i].verdict, UNIT_ONE_SITTING);
    assert_true(levels.df == 0 && isnan(levels.units.sd));
    units[2] = (struct unit){two, 2};
    assert_int_equal(units_judge(units, 3, 0.05, 0.05, &levels, NULL), STATUS_OK);
    assert_int_equal(units[0].verdict, UNIT_ONE_SITTING);
    assert_int_not_equal(units[2].verdict, UNIT_ONE_SITTING);
}

TEST(undecided_units_say_how_many_sittings_decide)
{
    static const double logs[][2] = {
        {0, 0.002}, {0.001, -0.002}, {0.002, -0.001}, {-0.001, 0.001}, {-0.022, -0.028}};
    struct unit units[5];
    struct units_levels levels;

    for (size_t u = 0; u < 5; u++)
        units[u] = (struct unit){logs[u], 2};
    assert_int_equal(units_judge(units, 5, 0.024, 0.05, &levels, NULL), STATUS_OK);
    assert_int_equal(units[4].verdict, UNIT_UNDECIDED);
    assert_in_range(units[4].needed, 3, 1000);
    assert_int_equal(units[0].verdict, UNIT_FINE);
    assert_int_equal(units[0].needed, 0);
}

/* Coarse clocks give equal values; then every distance but none at all decides. */
TEST(units_of_one_value_are_fine)
{
    static const double same[] = {1, 1}, below[] = {0.9, 0.9};
    struct unit units[] = {{same, 2}, {same, 2}, {same, 2}, {below, 2}};
    struct units_levels levels;

    assert_int_equal(units_judge(units, 3, 1e-300, 0.05, &levels, NULL), STATUS_OK);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(units[i].verdict, UNIT_FINE);
    assert_true(levels.units.sd == 0 && levels.sittings.sd == 0 && levels.units.hi == 0);
    assert_int_equal(units_judge(units, 4, 0.05, 0.05, &levels, NULL), STATUS_OK);
    assert_int_equal(units[0].verdict, UNIT_FINE);
    assert_int_equal(units[3].verdict, UNIT_SLOW);
}

TEST(what_is_out_of_range_is_refused)
{
    const double fine[] = {1}, odd[] = {NAN};
    struct unit units[] = {{fine, 1}, {fine, 1}, {odd, 1}};
    struct units_levels levels;
    struct error err = ERROR_INIT;

    assert_int_equal(units_judge(units, 3, 0.05, 0.05, &levels, &err), STATUS_INVALID);
    units[2].logs = fine;
    assert_int_equal(units_judge(units, 2, 0.05, 0.05, &levels, &err), STATUS_INVALID);
    assert_int_equal(units_judge(units, 3, 1, 0.05, &levels, &err), STATUS_INVALID);
    assert_int_equal(units_judge(units, 3, 0.05, 0.5, &levels, &err), STATUS_INVALID);
    units[1].count = 0;
    assert_int_equal(units_judge(units, 3, 0.05, 0.05, &levels, &err), STATUS_INVALID);
}
