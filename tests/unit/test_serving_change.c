#include "protocols/serving/change.h"

#include <math.h>
#include <stddef.h>

#include "protocols/serving/exceedance.h"
#include "tests/support/unit.h"

/* JASA 22 (1927). */
static struct served_figure wilson(double share, double n)
{
    const double square = 1.959963984540054 * 1.959963984540054 / n;
    const double half = sqrt(share * (1 - share) * square + square * square / 4) / (1 + square);
    const double middle = (share + square / 2) / (1 + square);

    return (struct served_figure){share, middle - half, middle + half};
}

static struct compare_options options_of(double margin)
{
    struct compare_options options = compare_options_default();

    options.margin = margin;
    return options;
}

/* Newcombe, Statistics in Medicine 17 (1998), table II, method 10: columns (a), (b), (h). */
TEST(difference_of_shares)
{
    static const struct {
        double a, m, b, n, lo, hi;
    } published[] = {{56, 70, 48, 80, 0.0524, 0.3339},
                     {9, 10, 3, 10, 0.1705, 0.8090},
                     {10, 10, 0, 10, 0.6075, 1.0000}};
    const struct compare_options options = options_of(0.01);

    for (size_t i = 0; i < sizeof(published) / sizeof(published[0]); i++) {
        const struct served_figure a = wilson(published[i].b / published[i].n, published[i].n);
        const struct served_figure b = wilson(published[i].a / published[i].m, published[i].m);
        const struct served_change c = served_change_make(COMPARE_ATTAINMENT, &a, &b, &options);

        assert_true(fabs(c.change.lo - published[i].lo) < 5.1e-5);
        assert_true(fabs(fmin(c.change.hi, 1) - published[i].hi) < 5.1e-5);
    }
}

TEST(margin_decides)
{
    const struct served_figure a = {0.99, 0.985, 0.993}, same = {0.989, 0.984, 0.993},
                               lower = {0.90, 0.88, 0.915};
    const struct compare_options wide = options_of(0.02), narrow = options_of(0.001);
    struct served_change c;

    c = served_change_make(COMPARE_ATTAINMENT, &a, &same, &wide);
    assert_int_equal(served_change_verdict(COMPARE_ATTAINMENT, &c), 1);
    c = served_change_make(COMPARE_ATTAINMENT, &a, &same, &narrow);
    assert_int_equal(served_change_verdict(COMPARE_ATTAINMENT, &c), 0);
    c = served_change_make(COMPARE_ATTAINMENT, &a, &lower, &wide);
    assert_int_equal(served_change_verdict(COMPARE_ATTAINMENT, &c), -1);
    assert_true(c.p_worse < 1e-6);
    /* Where the interval ends at the margin, p is that of its level. */
    c = served_change_make(
        COMPARE_ATTAINMENT, &a, &lower,
        &(struct compare_options){.confidence = 0.95, .margin = -c.change.hi, .power = 0.8});
    assert_true(fabs(c.p_worse - 0.025) < 1e-9);
}

TEST(capacity_is_a_ratio)
{
    const struct served_figure a = {100, 95, 105}, b = {90, 86, 94}, least = {NAN, 200, NAN},
                               most = {NAN, NAN, 80};
    const struct compare_options options = options_of(0.01);
    struct served_change c = served_change_make(COMPARE_CAPACITY, &a, &b, &options);

    assert_true(fabs(c.change.value - 0.9) < 1e-12);
    assert_true(fabs(log(c.change.lo) - (log(0.9) - hypot(log(90. / 86), log(105. / 100)))) <
                1e-12);
    assert_true(fabs(log(c.change.hi) - (log(0.9) + hypot(log(94. / 90), log(100. / 95)))) < 1e-12);
    assert_int_equal(served_change_verdict(COMPARE_CAPACITY, &c), -1);

    c = served_change_make(COMPARE_CAPACITY, &a, &least, &options);
    assert_int_equal(served_change_verdict(COMPARE_CAPACITY, &c), 1);
    assert_true(fabs(c.change.lo - 200. / 105) < 1e-12);
    c = served_change_make(COMPARE_CAPACITY, &a, &most, &options);
    assert_int_equal(served_change_verdict(COMPARE_CAPACITY, &c), -1);
    c = served_change_make(COMPARE_CAPACITY, &least, &least, &options);
    assert_int_equal(served_change_verdict(COMPARE_CAPACITY, &c), 0);
}

static struct served_pair pair_of(double a_missed, double b_missed)
{
    return (struct served_pair){{1000, a_missed, 0}, {1000, b_missed, 0}};
}

static struct served_change change_of(const struct served_pair *pairs, size_t count,
                                      double dispersion, double margin)
{
    const struct served_figure unknown = {NAN, NAN, NAN};
    const struct compare_options options = options_of(margin);

    return served_change_paired(&unknown, &unknown, pairs, count, dispersion, &options);
}

/* Where many pairs differ, Student's t on the differences: here 80, -10, 60, -5, 65, 38 too many.
 */
TEST(pairs_are_students)
{
    const struct served_pair pairs[] = {pair_of(500, 580), pair_of(460, 450), pair_of(520, 580),
                                        pair_of(480, 475), pair_of(510, 575)};
    const double half = 2.776445 * sqrt(1782.5 / 5) / 1000;
    struct served_change c = change_of(pairs, 5, NAN, 0.01);

    assert_int_equal(c.pairs, 5);
    assert_true(fabs(c.change.value + 0.038) < 1e-12);
    assert_true(c.change.lo <= -0.038 - half + 1e-9 && c.change.lo > -0.038 - 2 * half);
    assert_true(c.change.hi >= -0.038 + half - 1e-9 && c.change.hi < -0.038 + 1.5 * half);
    assert_true(c.change.lo < 0 && c.change.hi > 0);
    /* With p of Student's t: 0.025 where the upper end is the margin. */
    c = change_of(pairs, 5, NAN, -c.change.hi);
    assert_true(fabs(c.p_worse - 0.025) < 1e-9);
}

/* Few that differ, or none, show no more than so many requests. */
TEST(pairs_with_few_misses)
{
    struct served_pair pairs[5];
    struct served_change c;
    double lo, hi, none, unused, n;

    for (int k = 0; k < 5; k++)
        pairs[k] = pair_of(0, 0);
    for (int size = 1; size <= 50; size += 49) { /* as if clusters of one, and of 50 */
        c = change_of(pairs, 5, size, 0.01);
        exceedance_interval(0, exceedance_effective(5000, size, EXCEEDANCE_BATCHES, 0.95), 0.95,
                            &unused, &none);
        assert_true(none > 3.6 * size / 5000);
        assert_true(c.change.value == 0 && fabs(c.change.hi - none) < 1e-12);
        assert_true(fabs(c.change.lo + none) < 1e-12);
        assert_int_equal(served_change_verdict(COMPARE_ATTAINMENT, &c), size == 1);
    }
    /* One excursion of 20 requests in 5000 is one event in 250. */
    pairs[2] = pair_of(0, 20);
    c = change_of(pairs, 5, 1, 0.01);
    n = 250 * (1 - 0.004);
    exceedance_interval(0.004, n, 0.95, &lo, &hi);
    exceedance_interval(0, n, 0.95, &unused, &none);
    assert_true(fabs(c.change.value + 0.004) < 1e-12);
    assert_true(fabs(c.change.lo - (-0.004 - (hi - 0.004))) < 1e-12 && hi > 5.5 / 250);
    assert_true(fabs(c.change.hi - (-0.004 + hypot(0.004 - lo, none))) < 1e-12);
    /* All differ by the same: there is no spread, but the requests are counted. */
    for (int k = 0; k < 5; k++)
        pairs[k] = pair_of(1, 0);
    c = change_of(pairs, 5, 1, 0.01);
    exceedance_interval(0.001, 5000, 0.95, &lo, &hi);
    exceedance_interval(0, 5000, 0.95, &unused, &none);
    assert_true(fabs(c.change.lo - (0.001 - hypot(0.001 - lo, none))) < 1e-12);
    assert_true(c.change.hi >= hi - 1e-12);
    for (int k = 0; k < 5; k++)
        pairs[k] = pair_of(1000, 0);
    c = change_of(pairs, 5, 1, 0.01);
    assert_true(c.change.value == 1 && c.change.hi == 1 && c.change.lo < 1 && c.change.lo > 0.99);
}

/* Undecided requests count against either end. */
TEST(undecided_requests_of_pairs)
{
    struct served_pair pairs[] = {pair_of(10, 11), pair_of(12, 10), pair_of(9, 10)};
    const struct served_change before = change_of(pairs, 3, 1, 0.01);
    struct served_change c;

    pairs[0].b.undecided = pairs[1].b.undecided = pairs[2].b.undecided = 30;
    c = change_of(pairs, 3, 1, 0.01);
    assert_true(fabs(c.change.hi - before.change.hi) < 1e-12);
    assert_true(c.change.lo < before.change.lo - 0.02);
    assert_true(fabs(c.change.value - (before.change.value - 0.015)) < 1e-12);
}

TEST(family_needs_more)
{
    const struct served_figure a = {0.99, 0.985, 0.993}, b = {0.97, 0.96, 0.978};
    const struct compare_options options = options_of(0.0085);
    struct served_change one = served_change_make(COMPARE_ATTAINMENT, &a, &b, &options);
    struct served_change equal = served_change_make(COMPARE_ATTAINMENT, &a, &a, &options);
    struct served_change *list[] = {&one, &equal, NULL};

    assert_int_equal(served_change_verdict(COMPARE_ATTAINMENT, &one), -1);
    assert_int_equal(served_change_family(list, 3, NULL), 0);
    assert_true(fabs(one.p_worse_family - 3 * one.p_worse) < 1e-12);
    assert_int_equal(served_change_verdict(COMPARE_ATTAINMENT, &one), 0);
}
