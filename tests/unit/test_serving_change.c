#include "protocols/serving/change.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "protocols/serving/exceedance.h"

static struct served_figure wilson(double share, double n)
{
    struct served_figure f = {.value = share};

    exceedance_interval(share, n, 1.959963984540054, &f.lo, &f.hi);
    return f;
}

static struct compare_options options_of(double margin)
{
    struct compare_options options = compare_options_default();

    options.margin = margin;
    return options;
}

/* Newcombe, Statistics in Medicine 17 (1998), table II, method 10: columns (a), (b), (h). */
static void test_difference_of_shares(void **state)
{
    static const struct {
        double a, m, b, n, lo, hi;
    } published[] = {{56, 70, 48, 80, 0.0524, 0.3339},
                     {9, 10, 3, 10, 0.1705, 0.8090},
                     {10, 10, 0, 10, 0.6075, 1.0000}};
    const struct compare_options options = options_of(0.01);

    (void)state;
    for (size_t i = 0; i < sizeof(published) / sizeof(published[0]); i++) {
        const struct served_figure a = wilson(published[i].b / published[i].n, published[i].n);
        const struct served_figure b = wilson(published[i].a / published[i].m, published[i].m);
        const struct served_change c = served_change_make(COMPARE_ATTAINMENT, &a, &b, &options);

        assert_true(fabs(c.change.lo - published[i].lo) < 5.1e-5);
        assert_true(fabs(fmin(c.change.hi, 1) - published[i].hi) < 5.1e-5);
    }
}

static void test_margin_decides(void **state)
{
    const struct served_figure a = {0.99, 0.985, 0.993}, same = {0.989, 0.984, 0.993},
                               lower = {0.90, 0.88, 0.915};
    const struct compare_options wide = options_of(0.02), narrow = options_of(0.001);
    struct served_change c;

    (void)state;
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

static void test_capacity_is_a_ratio(void **state)
{
    const struct served_figure a = {100, 95, 105}, b = {90, 86, 94}, least = {NAN, 200, NAN},
                               most = {NAN, NAN, 80};
    const struct compare_options options = options_of(0.01);
    struct served_change c = served_change_make(COMPARE_CAPACITY, &a, &b, &options);

    (void)state;
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

static void test_family_needs_more(void **state)
{
    const struct served_figure a = {0.99, 0.985, 0.993}, b = {0.97, 0.96, 0.978};
    const struct compare_options options = options_of(0.0085);
    struct served_change one = served_change_make(COMPARE_ATTAINMENT, &a, &b, &options);
    struct served_change equal = served_change_make(COMPARE_ATTAINMENT, &a, &a, &options);
    struct served_change *list[] = {&one, &equal, NULL};

    (void)state;
    assert_int_equal(served_change_verdict(COMPARE_ATTAINMENT, &one), -1);
    assert_int_equal(served_change_family(list, 3, NULL), 0);
    assert_true(fabs(one.p_worse_family - 3 * one.p_worse) < 1e-12);
    assert_int_equal(served_change_verdict(COMPARE_ATTAINMENT, &one), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_difference_of_shares),
        cmocka_unit_test(test_margin_decides),
        cmocka_unit_test(test_capacity_is_a_ratio),
        cmocka_unit_test(test_family_needs_more),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
