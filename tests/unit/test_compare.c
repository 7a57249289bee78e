/* Comparisons worked out by hand, planning against published values, families. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "protocols/compare.h"

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

static void test_paired_by_hand(void **state)
{
    struct comparison c = paired(0.03, 0.01, 10);

    (void)state;
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

static void test_equivalence_wins_and_the_difference_still_shows(void **state)
{
    struct comparison c = paired(0.004, 0.002, 10);

    (void)state;
    assert_int_equal(c.verdict, COMPARE_EQUIVALENT);
    assert_true(c.differs && c.ratio.lo > 1);
    assert_true(c.p_difference < 0.05 && c.p_equivalence < 0.05);
}

static void test_inconclusive_says_how_many(void **state)
{
    struct comparison c = paired(0.004, 0.02, 10);

    (void)state;
    assert_int_equal(c.verdict, COMPARE_INCONCLUSIVE);
    /* sd 2 %, delta log(1.01): d = 0.4975; n = 34 for 80 % by any table of paired t (33.7). */
    assert_in_range(c.needed_pairs, 33, 35);
}

static void test_degenerate_pairs(void **state)
{
    double one[1] = {5}, two[1] = {6}, equal[5] = {3, 3, 3, 3, 3}, other[5] = {6, 6, 6, 6, 6};
    double bad[2] = {1, NAN};
    struct comparison c;
    struct error err;
    json_t *json;

    (void)state;
    assert_int_equal(paired_analyze(one, two, 1, &defaults, &c, NULL), STATUS_OK);
    assert_int_equal(c.verdict, COMPARE_INCONCLUSIVE);
    assert_true(c.ratio.has_value && !c.ratio.has_interval);
    json = comparison_to_json(&c);
    assert_true(json_is_null(json_object_get(json_object_get(json, "ratio"), "lo")));
    assert_true(json_is_null(json_object_get(json, "needed_pairs")));
    json_decref(json);
    assert_int_equal(paired_analyze(equal, equal, 5, &defaults, &c, NULL), STATUS_OK);
    assert_int_equal(c.verdict, COMPARE_EQUIVALENT);
    assert_true(c.ratio.lo == 1 && c.ratio.hi == 1);
    assert_int_equal(paired_analyze(equal, other, 5, &defaults, &c, NULL), STATUS_OK);
    assert_int_equal(c.verdict, COMPARE_SLOWER);
    assert_int_equal(paired_analyze(one, two, 0, &defaults, &c, &err), STATUS_INVALID);
    assert_int_equal(paired_analyze(bad, equal, 2, &defaults, &c, &err), STATUS_INVALID);
    assert_non_null(strstr(err.message, "value 1 of arm a"));
}

static void test_welch(void **state)
{
    /* Welch's statistic by hand on logs 0, 1, 2 and 10, 14: difference 11, variances 1 and 8. */
    double a[3] = {1, exp(1), exp(2)}, b[2] = {exp(10), exp(14)};
    struct comparison c;

    (void)state;
    assert_int_equal(unpaired_analyze(a, 3, b, 2, &defaults, &c, NULL), STATUS_OK);
    assert_true(fabs(log(c.ratio.value) - 11) < 1e-9);
    assert_true(fabs(c.df - (1.0 / 3 + 4) * (1.0 / 3 + 4) / (1.0 / 18 + 16)) < 1e-9);
    assert_false(c.paired);
    assert_int_equal(unpaired_analyze(a, 1, b, 2, &defaults, &c, NULL), STATUS_OK);
    assert_false(c.ratio.has_interval);
    assert_int_equal(c.verdict, COMPARE_INCONCLUSIVE);
}

static void test_power(void **state)
{
    (void)state;
    /* One-sample t, d = 0.5, n = 34: power 0.8078 (Cohen 1988, by noncentral t). */
    assert_true(fabs(paired_power(34, 1, 0.5, 0.95) - 0.8078) < 5e-4);
    assert_true(fabs(paired_power(10, 1, 0, 0.95) - 0.05) < 1e-9);
    assert_int_equal(paired_needed(1, 0.5, 0.95, 0.8), 34);
    assert_int_equal(paired_needed(0, 0.5, 0.95, 0.8), 2);
    assert_int_equal(paired_needed(1, 0, 0.95, 0.8), 0);
    assert_int_equal(paired_needed(NAN, 0.5, 0.95, 0.8), 0);
    assert_true(paired_power(paired_needed(1, 0.1, 0.95, 0.9), 1, 0.1, 0.95) >= 0.9);
    assert_true(paired_power(paired_needed(1, 0.1, 0.95, 0.9) - 1, 1, 0.1, 0.95) < 0.9);
    /* At the margin itself the two tests err at 5 %, far inside hardly ever. */
    assert_true(fabs(paired_equivalence_power(40, 0.01, 0.01, 0.01, 0.95) - 0.05) < 0.002);
    assert_true(paired_equivalence_power(40, 0.005, 0, 0.01, 0.95) > 0.999);
    assert_int_equal(trials_needed(0, 0.01, 0.95), 2);
    assert_int_equal(trials_needed(0.01, 0.01, 0.95), 7);
}

static void test_family(void **state)
{
    /* The example of Benjamini and Hochberg 1995, section 3.2: four are rejected at 0.05. */
    double p[15] = {0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
                    0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0};
    double adjusted[15], with_nan[2] = {NAN, 0.01};
    size_t i, rejected = 0;

    (void)state;
    assert_int_equal(family_adjust(p, 15, adjusted, NULL), STATUS_OK);
    for (i = 0; i < 15; i++)
        rejected += adjusted[i] <= 0.05;
    assert_int_equal(rejected, 4);
    assert_true(fabs(adjusted[3] - 0.0095 * 15 / 4) < 1e-12);
    assert_int_equal(family_adjust(with_nan, 2, with_nan, NULL), STATUS_OK);
    assert_true(with_nan[0] == 1 && fabs(with_nan[1] - 0.02) < 1e-12);
    assert_int_equal(family_adjust(NULL, 0, NULL, NULL), STATUS_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paired_by_hand),
        cmocka_unit_test(test_equivalence_wins_and_the_difference_still_shows),
        cmocka_unit_test(test_inconclusive_says_how_many),
        cmocka_unit_test(test_degenerate_pairs),
        cmocka_unit_test(test_welch),
        cmocka_unit_test(test_power),
        cmocka_unit_test(test_family),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
