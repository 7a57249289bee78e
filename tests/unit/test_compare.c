/* Comparisons computed by hand, planning against published values, families. */
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/random.h"
#include "protocols/compare.h"
#include "protocols/stats/distribution.h"
#include "tests/support/unit.h"

static const struct compare_options defaults = {0.95, 0.01, 0.8};

/* b = a exp(d), d around `mean` with sd exactly `sd`. */
static struct comparison paired(double mean, double sd, size_t n)
{
    double a[64], b[64];
    struct comparison c;
    size_t i;

    for (i = 0; i < n; i++) {
        double z = (i % 2 ? 1 : -1) * sqrt((double)(n - 1) / (double)n);

        a[i] = 1000 + 10.0 * (double)i;
        b[i] = a[i] * exp(mean + sd * z);
    }
    assert_int_equal(paired_analyze(a, b, n, &defaults, &c, NULL), STATUS_OK);
    return c;
}

/* The interval of the ratio is that of the root of both squared half-widths, on the log scale. */
TEST(intervals_of_one_trial_each)
{
    const struct compare_options options = compare_options_default();
    const struct estimate_interval a = {100, true, 100 * exp(-0.03), 100 * exp(0.03), true};
    const struct estimate_interval b = {200, true, 200 * exp(-0.04), 200 * exp(0.04), true};
    const struct estimate_interval near = {100.01, true, 99.96, 100.06, true};
    const struct estimate_interval tight = {100, true, 99.95, 100.05, true};
    const struct estimate_interval none = {100, true, 0, 0, false};
    struct comparison r;

    assert_int_equal(intervals_analyze(&a, &b, &options, &r, NULL), STATUS_OK);
    assert_int_equal(r.verdict, COMPARE_SLOWER);
    assert_true(fabs(log(r.ratio.lo) - (log(2) - 0.05)) < 1e-6);
    assert_true(fabs(log(r.ratio.hi) - (log(2) + 0.05)) < 1e-6);
    assert_int_equal(intervals_analyze(&b, &a, &options, &r, NULL), STATUS_OK);
    assert_int_equal(r.verdict, COMPARE_FASTER);
    assert_int_equal(intervals_analyze(&a, &a, &options, &r, NULL), STATUS_OK);
    assert_int_equal(r.verdict, COMPARE_INCONCLUSIVE);
    assert_int_equal(intervals_analyze(&tight, &near, &options, &r, NULL), STATUS_OK);
    assert_int_equal(r.verdict, COMPARE_EQUIVALENT);
    assert_int_equal(intervals_analyze(&a, &none, &options, &r, NULL), STATUS_INVALID);
}

TEST(paired_by_hand)
{
    struct comparison c = paired(0.03, 0.01, 10);

    assert_int_equal(c.verdict, COMPARE_SLOWER);
    assert_true(fabs(c.ratio.value - exp(0.03)) < 1e-12);
    assert_true(fabs(c.sd - 0.01) < 1e-12);
    assert_true(fabs(log(c.ratio.hi) - 0.03 - 2.2621571627 * 0.01 / sqrt(10)) < 1e-9);
    assert_true(fabs(log(c.equivalence.hi) - 0.03 - 1.8331129326 * 0.01 / sqrt(10)) < 1e-9);
    assert_int_equal(c.needed_pairs, 0);
    c = paired(-0.03, 0.01, 10);
    assert_int_equal(c.verdict, COMPARE_FASTER);
    assert_true(c.ratio.value < 1);
}

TEST(equivalence_wins_and_the_difference_still_shows)
{
    struct comparison c = paired(0.004, 0.002, 10);

    assert_int_equal(c.verdict, COMPARE_EQUIVALENT);
    assert_true(c.differs && c.ratio.lo > 1);
    assert_true(c.p_difference < 0.05 && c.p_equivalence < 0.05);
}

TEST(inconclusive_says_how_many)
{
    struct comparison c = paired(0.004, 0.02, 10);

    assert_int_equal(c.verdict, COMPARE_INCONCLUSIVE);
    /* sd 2 %, delta log(1.01): d = 0.4975; n = 34 for 80 % by any table of paired t (33.7) where
     * the sd is known; on 9 degrees of freedom more, by simulation (tests/calibration, "needed").
     */
    assert_in_range(paired_needed(0.02, COMPARE_KNOWN, log(1.01), 0.95, 0.8), 33, 35);
    assert_in_range(c.needed_pairs, 40, 42);
}

/* As many pairs as find a difference of the margin were not enough: more are asked for. */
TEST(needed_is_more_than_there_are)
{
    for (int tenths = 0; tenths <= 12; tenths++) {
        for (size_t n = 8; n <= 64; n += 7) {
            const struct comparison c = paired(0.001 * tenths, 0.009 * sqrt((double)n / 10), n);

            if (c.verdict == COMPARE_INCONCLUSIVE)
                assert_true(c.needed_pairs > n);
            else
                assert_int_equal(c.needed_pairs, 0);
        }
    }
    assert_int_equal(paired(0.005, 0.009, 10).verdict, COMPARE_INCONCLUSIVE);
    assert_in_range(paired_needed(0.009, 9, log(1.01), 0.95, 0.8), 2, 10);
    /* Half a per cent of 0.9 %: d = 0.556, 28 by any table of paired t, had the sd been known. */
    assert_in_range(paired(0.005, 0.009, 10).needed_pairs, 30, 35);
}

TEST(beyond_the_margin)
{
    const struct comparison far = paired(0.03, 0.01, 10), near = paired(0.016, 0.01, 10);
    const struct comparison faster = paired(-0.03, 0.01, 10), same = paired(0, 0.001, 10);

    assert_int_equal(comparison_beyond_margin(&far), 1);
    /* Slower, and by more than the margin as estimated, but not certainly so. */
    assert_int_equal(near.verdict, COMPARE_SLOWER);
    assert_true(near.ratio.value > 1 + near.margin && near.ratio.lo < 1 + near.margin);
    assert_int_equal(comparison_beyond_margin(&near), 0);
    assert_int_equal(comparison_beyond_margin(&faster), -1);
    assert_int_equal(comparison_beyond_margin(&same), 0);
}

TEST(degenerate_pairs)
{
    double one[1] = {5}, two[1] = {6}, equal[5] = {3, 3, 3, 3, 3};
    double bad[2] = {1, NAN};
    struct comparison c;
    struct error err;
    json_t *json;

    assert_int_equal(paired_analyze(one, two, 1, &defaults, &c, NULL), STATUS_OK);
    assert_int_equal(c.verdict, COMPARE_INCONCLUSIVE);
    assert_true(c.ratio.has_value && !c.ratio.has_interval);
    json = type_to_json(&comparison_type, &c);
    assert_true(json_is_null(json_object_get(json_object_get(json, "ratio"), "lo")));
    assert_true(json_is_null(json_object_get(json, "needed_pairs")));
    json_decref(json);
    assert_int_equal(paired_analyze(equal, equal, 5, &defaults, &c, NULL), STATUS_OK);
    assert_int_equal(c.verdict, COMPARE_EQUIVALENT);
    assert_true(c.equivalence.lo == 1 && c.equivalence.hi == 1 && !c.ratio.has_interval);
    assert_int_equal(paired_analyze(one, two, 0, &defaults, &c, &err), STATUS_INVALID);
    assert_int_equal(paired_analyze(bad, equal, 2, &defaults, &c, &err), STATUS_INVALID);
    assert_non_null(strstr(err.message, "value 1 of arm a"));
}

/* Values that are equal to the last digit, `shift` apart. */
static struct comparison alike(double shift, size_t n, bool is_paired)
{
    double a[64], b[64];
    struct comparison c;

    for (size_t i = 0; i < n; i++) {
        /* Rounding errors of a shift by 0.1 % do not count as spread. */
        a[i] = is_paired ? 1e9 + 77.7 * (double)i : 1e9;
        b[i] = a[i] * exp(shift);
    }
    assert_int_equal((is_paired ? paired_analyze(a, b, n, &defaults, &c, NULL)
                                : unpaired_analyze(a, n, b, n, &defaults, &c, NULL)),
                     STATUS_OK);
    return c;
}

/* Values in steps of 1 %, 1.4 % apart: nearly all pairs say 1 %, and none of them knows better. */
TEST(rounded_values_are_known_to_their_step)
{
    double a[10], b[10];
    struct comparison c;

    for (size_t i = 0; i < 10; i++) {
        a[i] = 100;
        b[i] = i == 4 ? 102 : 101;
    }
    assert_int_equal(paired_analyze(a, b, 10, &defaults, &c, NULL), STATUS_OK);
    assert_true(c.rounding > 0.007 && c.rounding < 0.01);
    assert_true(c.ratio.lo < 1.005 && c.ratio.hi > 1.014);
    assert_int_not_equal(c.verdict, COMPARE_EQUIVALENT);
    assert_int_equal(unpaired_analyze(a, 10, b, 10, &defaults, &c, NULL), STATUS_OK);
    assert_true(c.ratio.hi > 1.014);
    assert_true(paired(0.02, 0.005, 10).rounding == 0);
}

/* The ratio grows from pair to pair: both ends are in the interval, and no difference is shown. */
TEST(a_trend_of_pairs_is_admitted)
{
    double a[8], b[8];
    struct comparison c;

    for (size_t i = 0; i < 8; i++) {
        a[i] = 1e6 + 137 * (double)i;
        b[i] = a[i] * exp(0.004 * (double)i + (i % 2 ? 1e-4 : -1e-4));
    }
    assert_int_equal(paired_analyze(a, b, 8, &defaults, &c, NULL), STATUS_OK);
    assert_true(fabs(c.order_change - expm1(0.028)) < 1e-3);
    assert_true(c.ratio.lo < 1 && c.ratio.hi > exp(0.028));
    assert_false(c.differs);
    assert_true(paired(0.02, 0.005, 10).order_change == 0);
}

/* b is 2 % faster where a ran just before it, and as fast as a elsewhere: no difference is shown.
 */
TEST(an_arm_that_profits_from_the_other)
{
    double a[10], b[10];
    bool b_first[10];
    struct comparison c;

    for (size_t i = 0; i < 10; i++) {
        const double noise = (i / 2) % 2 ? 0.001 : -0.001;

        b_first[i] = i % 2;
        a[i] = 1e6 + 137 * (double)i;
        b[i] = a[i] * exp(noise - (b_first[i] ? 0 : 0.02));
    }
    assert_int_equal(paired_analyze(a, b, 10, &defaults, &c, NULL), STATUS_OK);
    assert_true(c.differs && c.ratio_a_first == 0);
    assert_int_equal(crossover_analyze(a, b, b_first, 10, &defaults, &c, NULL), STATUS_OK);
    assert_false(c.differs);
    assert_int_equal(c.verdict, COMPARE_INCONCLUSIVE);
    assert_true(fabs(log(c.ratio_a_first) + 0.0202) < 1e-3 && fabs(log(c.ratio_b_first)) < 1e-3);
    assert_true(c.ratio.lo < c.ratio_a_first && c.ratio.hi > c.ratio_b_first);
}

/* Both arms warm up by 2 % while they are measured one after the other. */
TEST(a_trend_of_trials_decides_nothing)
{
    double a[10], b[10];
    struct comparison c;

    for (size_t i = 0; i < 10; i++) {
        a[i] = 1e6 * exp(0.002 * (double)i + (i % 2 ? 3e-4 : -3e-4));
        b[i] = a[i] * exp(0.02);
    }
    assert_int_equal(unpaired_analyze(a, 10, b, 10, &defaults, &c, NULL), STATUS_OK);
    assert_true(fabs(c.order_change - expm1(0.036)) < 3e-3);
    assert_int_equal(c.verdict, COMPARE_INCONCLUSIVE);
    for (size_t i = 0; i < 10; i++)
        b[i] = a[i] * exp(0.05);
    assert_int_equal(unpaired_analyze(a, 10, b, 10, &defaults, &c, NULL), STATUS_OK);
    assert_true(c.differs && c.undetermined);
    assert_int_equal(c.verdict, COMPARE_INCONCLUSIVE);
    assert_true(c.needed_pairs == 0 && c.holds_to == 0 && c.p_difference > 0.05);
    for (size_t i = 0; i < 10; i++)
        b[i] = a[i] * exp(0.5);
    assert_int_equal(unpaired_analyze(a, 10, b, 10, &defaults, &c, NULL), STATUS_OK);
    assert_int_equal(c.verdict, COMPARE_SLOWER);
}

/* The standard error may be stretched until the quantile of t takes all of the difference. */
TEST(up_to_which_correlation_it_stands)
{
    const struct comparison c = paired(0.03, 0.01, 10);
    const double stretch = 0.03 / (student_quantile(0.975, 9) * 0.01 / sqrt(10));

    assert_true(fabs((1 + c.holds_to) / (1 - c.holds_to) - stretch * stretch) < 1e-6);
    assert_true(paired(0.005, 0.01, 10).holds_to == 0);
}

/* p = 2^(1 - n) of n alike signs, 2 / C(2n, n) of two groups apart; at 5 %, 10 % for a margin. */
TEST(without_spread_few_decide_nothing)
{
    static const struct {
        bool is_paired;
        size_t difference, equivalence; /* smallest numbers that decide */
        double p[2];                    /* with two, and with as many as show a difference */
    } cases[] = {{true, 6, 5, {0.5, 1.0 / 32}}, {false, 4, 3, {2.0 / 6, 2.0 / 70}}};

    for (size_t k = 0; k < 2; k++) {
        const bool is_paired = cases[k].is_paired;

        for (size_t n = 2; n < 12; n++) {
            const struct comparison up = alike(0.05, n, is_paired),
                                    down = alike(-0.05, n, is_paired),
                                    near = alike(0.001, n, is_paired),
                                    same = alike(0, n, is_paired);
            const bool shown = n >= cases[k].difference, fits = n >= cases[k].equivalence;

            assert_true(up.no_spread && same.no_spread);
            assert_int_equal(up.verdict, shown ? COMPARE_SLOWER : COMPARE_INCONCLUSIVE);
            assert_int_equal(down.verdict, shown ? COMPARE_FASTER : COMPARE_INCONCLUSIVE);
            assert_int_equal(near.verdict, fits ? COMPARE_EQUIVALENT : COMPARE_INCONCLUSIVE);
            assert_int_equal(same.verdict, fits ? COMPARE_EQUIVALENT : COMPARE_INCONCLUSIVE);
            assert_int_equal(up.ratio.has_interval, shown);
            assert_int_equal(up.differs, shown);
            assert_false(same.differs);
            assert_int_equal(up.needed_pairs, shown ? 0 : cases[k].difference);
            assert_int_equal(near.needed_pairs, fits ? 0 : cases[k].equivalence);
            assert_true(same.p_difference == 1 && up.p_equivalence == 1);
        }
        assert_true(fabs(alike(0.05, 2, is_paired).p_difference - cases[k].p[0]) < 1e-12);
        assert_true(fabs(alike(0.05, cases[k].difference, is_paired).p_difference - cases[k].p[1]) <
                    1e-12);
    }
    /* The smallest possible spread of times is a spread, and t uses it. */
    assert_false(paired(0.05, 1e-9, 10).no_spread);
}

static struct comparison rounded(double a_ns, double b_ns, double step_ns, size_t n)
{
    struct comparison c = alike(log(b_ns / a_ns), n, false);

    comparison_round(&c, a_ns, step_ns, step_ns);
    return c;
}

/* Times that are alike are known to half a step of the clock, and no better. */
TEST(alike_is_within_a_step)
{
    struct comparison c;

    /* 50 and 51 steps may be the same time, 50 and 53 are not. */
    c = rounded(5e6, 5.1e6, 1e5, 5);
    assert_int_equal(c.verdict, COMPARE_INCONCLUSIVE);
    assert_true(c.p_difference == 1 && !c.differs);
    assert_true(fabs(c.ratio.lo - 1) < 1e-9 && fabs(c.ratio.hi - 5.15 / 4.95) < 1e-9);
    c = rounded(5e6, 5.3e6, 1e5, 5);
    assert_int_equal(c.verdict, COMPARE_SLOWER);
    assert_true(c.ratio.lo > 1.03 && c.p_difference < 0.05);
    /* A step of 100 ns leaves an equivalence, one of 100 us none. */
    assert_int_equal(rounded(5e6, 5e6, 100, 5).verdict, COMPARE_EQUIVALENT);
    c = rounded(5e6, 5e6, 1e5, 5);
    assert_int_equal(c.verdict, COMPARE_INCONCLUSIVE);
    assert_true(c.p_equivalence == 1 && c.ratio.hi > 1.019 && c.needed_pairs == 0);
    /* All samples alike: the step divides both times; where they are one, it may be anything. */
    assert_true(fabs(rounded(5e6, 5.3e6, NAN, 5).ratio.lo - 5.25 / 5.05) < 1e-9);
    c = rounded(5e6, 5e6, NAN, 5);
    assert_int_equal(c.verdict, COMPARE_INCONCLUSIVE);
    assert_false(c.ratio.has_interval || c.equivalence.has_interval);
    assert_true(comparison_step_of((double[]){5e6, 5e6}, (double[]){5.3e6, 5e6}, 2) == 1e5);
    assert_true(isnan(comparison_step_of((double[]){5e6, 5e6}, (double[]){5e6, 5e6}, 2)));
    /* Few agree by chance, whatever the clock; and one that is not known changes nothing. */
    assert_false(rounded(5e6, 5.3e6, 1e5, 2).ratio.has_interval);
    assert_int_equal(rounded(5e6, 5e6, 0, 5).verdict, COMPARE_EQUIVALENT);
}

TEST(welch)
{
    /* Welch's statistic by hand on logs 0, 1, 2 and 10, 14: difference 11, variances 1 and 8. */
    double a[3] = {1, exp(1), exp(2)}, b[2] = {exp(10), exp(14)};
    struct comparison c;

    assert_int_equal(unpaired_analyze(a, 3, b, 2, &defaults, &c, NULL), STATUS_OK);
    assert_true(fabs(log(c.ratio.value) - 11) < 1e-9);
    assert_true(fabs(c.df - (1.0 / 3 + 4) * (1.0 / 3 + 4) / (1.0 / 18 + 16)) < 1e-9);
    assert_false(c.paired);
    assert_int_equal(unpaired_analyze(a, 1, b, 2, &defaults, &c, NULL), STATUS_OK);
    assert_false(c.ratio.has_interval);
    assert_int_equal(c.verdict, COMPARE_INCONCLUSIVE);
}

/* Trials that hardly differ within a session, and sessions that do. */
TEST(widened_by_sessions)
{
    const double a[3] = {100, 100.01, 100.02}, b[3] = {103, 103.01, 103.02};
    struct comparison c, before;

    assert_int_equal(unpaired_analyze(a, 3, b, 3, &defaults, &c, NULL), STATUS_OK);
    assert_int_equal(c.verdict, COMPARE_SLOWER);
    before = c;
    comparison_widen(&c, NAN, 0);
    assert_memory_equal(&c.ratio, &before.ratio, sizeof(c.ratio));
    assert_int_equal(c.verdict, COMPARE_SLOWER);
    /* Less than the spread within the sessions: the wider one is used. */
    comparison_widen(&c, 1e-9, 2);
    assert_true(fabs(c.ratio.hi - before.ratio.hi) < 1e-12);
    assert_int_equal(c.verdict, COMPARE_SLOWER);
    /* t(0.975, 2) and t(0.95, 2) of R; sqrt(2) for two sessions. */
    comparison_widen(&c, 0.02, 2);
    assert_true(fabs(log(c.ratio.hi / c.ratio.value) - 4.3026527297 * sqrt(2) * 0.02) < 1e-9);
    assert_true(fabs(log(c.equivalence.value / c.equivalence.lo) - 2.9199855804 * sqrt(2) * 0.02) <
                1e-9);
    assert_int_equal(c.verdict, COMPARE_INCONCLUSIVE);
    assert_false(c.differs);
    assert_true(c.p_difference > 0.05 && c.p_equivalence > 0.05);
    c = before;
    comparison_widen(&c, 0.002, 9);
    assert_int_equal(c.verdict, COMPARE_SLOWER);
    assert_true(c.ratio.lo < before.ratio.lo);
    /* Equal within a session, but not known to be so between sessions. */
    assert_int_equal(unpaired_analyze(a, 3, a, 3, &defaults, &c, NULL), STATUS_OK);
    assert_int_equal(c.verdict, COMPARE_EQUIVALENT);
    comparison_widen(&c, 0.02, 9);
    assert_int_equal(c.verdict, COMPARE_INCONCLUSIVE);
}

/* The sd of `n` normal numbers. */
static double sd_of(struct random *random, size_t n, double sd)
{
    double sum = 0, squares = 0;

    for (size_t i = 0; i < n; i++) {
        const double x = sd * random_next_normal(random);

        sum += x;
        squares += x * x;
    }
    return sqrt((squares - sum * sum / (double)n) / ((double)n - 1));
}

TEST(power)
{
    /* One-sample t, d = 0.5, n = 34: power 0.8078 (Cohen 1988, by noncentral t). */
    assert_true(fabs(paired_power(34, 1, 0.5, 0.95) - 0.8078) < 5e-4);
    assert_true(fabs(paired_power(10, 1, 0, 0.95) - 0.05) < 1e-9);
    assert_int_equal(paired_needed(1, COMPARE_KNOWN, 0.5, 0.95, 0.8), 34);
    assert_int_equal(paired_needed(0, COMPARE_KNOWN, 0.5, 0.95, 0.8), 2);
    assert_int_equal(paired_needed(1, COMPARE_KNOWN, 0, 0.95, 0.8), 0);
    assert_int_equal(paired_needed(NAN, COMPARE_KNOWN, 0.5, 0.95, 0.8), 0);
    assert_true(paired_power(paired_needed(1, COMPARE_KNOWN, 0.1, 0.95, 0.9), 1, 0.1, 0.95) >= 0.9);
    assert_true(paired_power(paired_needed(1, COMPARE_KNOWN, 0.1, 0.95, 0.9) - 1, 1, 0.1, 0.95) <
                0.9);
    /* At the margin itself the two tests err at 5 %, far inside hardly ever. */
    assert_true(fabs(paired_equivalence_power(40, 0.01, 0.01, 0.01, 0.95) - 0.05) < 0.002);
    assert_true(paired_equivalence_power(40, 0.005, 0, 0.01, 0.95) > 0.999);
    assert_int_equal(trials_needed(0, 4, 0.01, 0.95, 0.8), 2);
    assert_int_equal(trials_needed(1, 4, 1e-9, 0.95, 0.8), 0);
}

/* Pilots of 3 to 30 trials, then as many as they ask for: within the margin as often as promised.
 */
TEST(assurance)
{
    static const size_t pilots[] = {3, 5, 10, 30, 0}; /* 0: the sd is given */
    enum { CAMPAIGNS = 4000, MOST = 2000 };
    const double sd = 0.01, half_width = 0.02, assurance = 0.8;
    struct random random;

    random_init(&random, 5, 0);
    for (size_t p = 0; p < sizeof(pilots) / sizeof(pilots[0]); p++) {
        size_t within = 0;

        for (size_t k = 0; k < CAMPAIGNS; k++) {
            const double df = pilots[p] ? (double)pilots[p] - 1 : COMPARE_KNOWN;
            double seen = pilots[p] ? sd_of(&random, pilots[p], sd) : sd;
            uint64_t n = trials_needed(seen, df, half_width, 0.95, assurance);

            assert_in_range(n, 2, MOST);
            within +=
                student_quantile(0.975, (double)n - 1) * sd_of(&random, n, sd) / sqrt((double)n) <=
                half_width;
        }
        /* Whole trials: it may be more, and in 4000 campaigns by chance 2 % less. */
        assert_true((double)within / CAMPAIGNS > assurance - 0.02);
    }
}

TEST(family)
{
    /* The example of Benjamini and Hochberg 1995, section 3.2: four are rejected at 0.05. */
    double p[15] = {0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
                    0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0};
    double adjusted[15], with_nan[2] = {NAN, 0.01};
    size_t i, rejected = 0;

    assert_int_equal(family_screen(p, 15, adjusted, NULL), STATUS_OK);
    for (i = 0; i < 15; i++)
        rejected += adjusted[i] <= 0.05;
    assert_int_equal(rejected, 4);
    assert_true(fabs(adjusted[3] - 0.0095 * 15 / 4) < 1e-12);
    assert_int_equal(family_screen(with_nan, 2, with_nan, NULL), STATUS_OK);
    assert_true(with_nan[0] == 1 && fabs(with_nan[1] - 0.02) < 1e-12);
    assert_int_equal(family_screen(NULL, 0, NULL, NULL), STATUS_OK);
    /* Holm 1979: p (n - rank + 1), never less than of a smaller p; three are rejected at 0.05. */
    assert_int_equal(family_holm(p, 15, adjusted, NULL), STATUS_OK);
    for (i = rejected = 0; i < 15; i++)
        rejected += adjusted[i] <= 0.05;
    assert_int_equal(rejected, 3);
    assert_true(fabs(adjusted[2] - 0.0019 * 13) < 1e-12 && adjusted[14] == 1);
    assert_int_equal(family_holm(NULL, 0, NULL, NULL), STATUS_OK);
}

/* Those without numbers count in the family: 0.016 holds for three, 0.02 for one alone. */
TEST(family_of_comparisons)
{
    static const struct {
        double difference, equivalence;
        enum compare_verdict alone, verdict;
        bool equivalence_shown;
    } cases[] = {
        {0.016, 0.9, COMPARE_SLOWER, COMPARE_SLOWER, false},
        {0.02, 0.9, COMPARE_SLOWER, COMPARE_INCONCLUSIVE, false},
        {0.9, 0.016, COMPARE_EQUIVALENT, COMPARE_EQUIVALENT, true},
        {0.9, 0.02, COMPARE_EQUIVALENT, COMPARE_INCONCLUSIVE, true},
        {0.016, 0.02, COMPARE_EQUIVALENT, COMPARE_SLOWER, false},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct comparison unknown = {
            .p_difference = NAN, .p_equivalence = NAN, .p_worse = NAN, .confidence = 0.95};
        struct comparison list[3] = {unknown, unknown, unknown}, *one = &list[1];

        one->p_difference = cases[i].difference;
        one->p_equivalence = cases[i].equivalence;
        one->verdict = cases[i].alone;
        one->ratio.value = 1.03;
        assert_int_equal(comparison_family(list, 3, NULL), STATUS_OK);
        assert_int_equal(one->family, 3);
        assert_int_equal(one->verdict_alone, cases[i].alone);
        assert_int_equal(one->verdict, cases[i].verdict);
        assert_int_equal(comparison_tests_equivalence(one), cases[i].equivalence_shown);
        assert_true(list[0].p_difference_family == 1 && list[2].p_equivalence_family == 1);
    }
}
