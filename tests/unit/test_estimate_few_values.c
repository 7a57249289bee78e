/* What an estimate says of samples of few values: levels, a coarse clock, a single outlier. */
#include <stddef.h>
#include <stdint.h>

#include <math.h>

#include "harness/core/random.h"
#include "protocols/estimate.h"
#include "tests/support/unit.h"

static void fill(int64_t *x, size_t n, double level, double sd, uint64_t seed)
{
    struct random random;
    size_t i;

    random_init(&random, seed, 0);
    for (i = 0; i < n; i++)
        x[i] = (int64_t)fmax(level * (1 + sd * random_next_normal(&random)), 1);
}

static struct estimate *estimate(const struct estimate_series *trials, size_t count)
{
    struct estimate_options options = estimate_options_default();
    struct estimate *e = NULL;
    struct error err;

    assert_int_equal(estimate_cell(trials, count, &options, &e, &err), STATUS_OK);
    return e;
}

/* The first finding of this code; NULL: none. */
static const struct finding *found(const struct estimate *e, enum finding_code code)
{
    for (size_t i = 0; i < e->findings.count; i++)
        if (e->findings.items[i].code == code)
            return &e->findings.items[i];
    return NULL;
}

static const struct metric_value *mean_of(const struct estimate *e)
{
    return &e->metrics[METRIC_ITERATION_TIME];
}

/* 99 samples of 1 ms and one of 10 s: the mean's interval is wide, and of times. */
TEST(no_interval_reaches_below_zero)
{
    int64_t x[1000];
    struct estimate *e;

    for (size_t n = 100; n <= 1000; n += 900) {
        for (size_t i = 0; i < n; i++)
            x[i] = i == n / 2 ? INT64_C(10000000000) : 1000000;
        e = estimate(&(struct estimate_series){x, n, 0, 0}, 1);
        assert_true(mean_of(e)->has_interval && mean_of(e)->hi > 2 * mean_of(e)->value);
        for (int i = 0; i < METRIC_COUNT; i++)
            assert_true(!e->metrics[i].has_interval || e->metrics[i].lo >= 0);
        assert_true(e->metrics[METRIC_P50].lo == 0.5e6 && e->metrics[METRIC_P50].hi == 1.5e6);
        assert_null(found(e, FINDING_BIMODAL));
        estimate_destroy(e);
    }
}

/* Trials are read from one clock: one of them shows that its tick is no longer. */
TEST(the_tick_of_several_trials)
{
    int64_t x[6][40];
    struct estimate_series series[6];
    struct estimate *e;

    for (size_t t = 0; t < 6; t++) {
        for (size_t i = 0; i < 40; i++)
            x[t][i] = t < 5 ? 5000000 : 5000000 + 1000 * (int64_t)(i % 2);
        series[t] = (struct estimate_series){x[t], 40, 0, 0};
    }
    e = estimate(series, 6);
    assert_true(mean_of(e)->hi - mean_of(e)->lo < 2000);
    estimate_destroy(e);
    /* Each trial has one value: 5 ms or 6 ms. */
    for (size_t i = 0; i < 40; i++)
        x[5][i] = 6000000;
    e = estimate(series, 6);
    assert_true(mean_of(e)->lo <= mean_of(e)->value - 0.5e6);
    estimate_destroy(e);
}

/* What is counted is what the percentile would be of. */
TEST(samples_needed_are_those_after_warmup)
{
    int64_t x[200];
    const struct finding *finding;
    struct estimate *e;

    fill(x, 200, 1e6, 0.01, 4);
    for (size_t i = 0; i < 40; i++)
        x[i] += 300000;
    e = estimate(&(struct estimate_series){x, 200, 0, 0}, 1);
    assert_int_equal(e->trials[0].steady_from, 40);
    finding = found(e, FINDING_PERCENTILE_NEEDS);
    assert_non_null(finding);
    assert_true(finding->numbers[2] == 160);
    estimate_destroy(e);
}

/* Both say what they are of: steps that may be the clock's, and three levels. */
TEST(findings_of_levels)
{
    int64_t x[300];
    const struct finding *finding;
    struct estimate *e;

    for (size_t i = 0; i < 300; i++)
        x[i] = 10000000 + 2000000 * (int64_t)(random_at(1, 1, i) % 2);
    e = estimate(&(struct estimate_series){x, 300, 0, 0}, 1);
    finding = found(e, FINDING_FEW_VALUES);
    assert_non_null(finding);
    assert_true(finding->numbers[0] == 2 && finding->numbers[3] == 2e6);
    assert_true(mean_of(e)->hi - mean_of(e)->lo >= 2e6 - 1);
    assert_int_equal(e->verdict, ESTIMATE_UNDETERMINED);
    assert_true(e->metrics[METRIC_P50].has_interval);
    estimate_destroy(e);
    for (size_t i = 0; i < 300; i++)
        x[i] = 10100000 + 3000000 * (int64_t)(random_at(1, 2, i) % 3);
    e = estimate(&(struct estimate_series){x, 300, 0, 0}, 1);
    assert_int_equal(e->verdict, ESTIMATE_BIMODAL);
    finding = found(e, FINDING_SEVERAL_LEVELS);
    assert_non_null(finding);
    assert_true(finding->numbers[0] == 3 && fabs(finding->numbers[2] / 16.1e6 - 1) < 1e-9);
    assert_null(found(e, FINDING_BIMODAL));
    estimate_destroy(e);
}
