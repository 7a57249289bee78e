/* estimate_cell end to end: shapes, refusals, determinism, JSON without holes. */
#include <stddef.h>
#include <stdint.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/random.h"
#include "protocols/estimate.h"
#include "tests/support/unit.h"

enum { N = 800 };

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

TEST(one_trial)
{
    int64_t x[N];
    struct estimate_series series = {x, N, 20, 0};
    struct estimate *e;

    fill(x, N, 1e6, 0.01, 1);
    e = estimate(&series, 1);
    assert_int_equal(e->verdict, ESTIMATE_STEADY);
    assert_int_equal(e->trials[0].steady_from, 20);
    assert_int_equal(e->sample_count, N);
    assert_true(mean_of(e)->has_interval && mean_of(e)->lo < 1e6 && mean_of(e)->hi > 1e6);
    assert_true(mean_of(e)->hi - mean_of(e)->lo < 4000);
    assert_true(isnan(e->variance.process));
    assert_true(fabs(e->variance.iteration - 1e-4) < 2e-5);
    assert_non_null(found(e, FINDING_ONE_TRIAL));
    assert_int_equal(mean_of(e)->grade, METRIC_GRADE_D);
    /* p99.9 takes 2995 samples, p99 299. */
    assert_true(e->metrics[METRIC_P99].has_interval);
    assert_false(e->metrics[METRIC_P999].has_value);
    assert_int_equal(e->metrics[METRIC_P999].needed, 2995);
    assert_string_equal(found(e, FINDING_PERCENTILE_NEEDS)->subject, "p99.9");
    estimate_destroy(e);
}

/* Five trials, each of its own process, at 1 + step * place of a millisecond. */
static struct estimate *of_levels(const double places[5], double step, double noise)
{
    int64_t x[5][N];
    struct estimate_series series[5];

    for (size_t i = 0; i < 5; i++) {
        fill(x[i], N, 1e6 * (1 + step * places[i]), noise, 50 + i);
        series[i] = (struct estimate_series){x[i], N, 0, 0};
    }
    return estimate(series, 5);
}

static const double one_by_one[] = {0, 1, 2, 3, 4};

TEST(interval_lies_between_trials)
{
    /* Processes at 1.00, 1.01 ... 1.04 with no noise to speak of, in an order that shows neither a
       trend nor likeness of neighbours: t on 4 degrees of freedom. */
    static const double places[] = {2, 0, 4, 1, 3};
    struct estimate *e;
    double mean = 0, squares = 0, half;
    size_t i;

    for (i = 0; i < 5; i++)
        mean += log1p(0.01 * places[i]) / 5;
    for (i = 0; i < 5; i++)
        squares += (log1p(0.01 * (double)i) - mean) * (log1p(0.01 * (double)i) - mean);
    half = 2.7764451 * sqrt(squares / 4 / 5);
    e = of_levels(places, 0.01, 1e-4);
    assert_true(fabs(log(mean_of(e)->value / 1e6) - mean) < 1e-4);
    assert_true(fabs(log(mean_of(e)->hi / mean_of(e)->value) - half) < 2e-4);
    assert_true(fabs(e->variance.process - squares / 4) < 1e-6);
    assert_true(fabs(e->variance.iteration - 1e-8) < 2e-9);
    /* t(R-1) s / sqrt(R) <= log(1.01) from 12 on, were this spread known; five trials know it so
       poorly that it takes more to be 80 % sure (trials_needed). */
    assert_int_equal(e->needed_trials, 26);
    assert_true(found(e, FINDING_IMPRECISE)->numbers[1] == 26);
    assert_int_equal(mean_of(e)->grade, METRIC_GRADE_B);
    assert_null(found(e, FINDING_TREND_OF_TRIALS));
    assert_null(found(e, FINDING_SERIAL_TRIALS));
    estimate_destroy(e);
}

/* The same levels one after the other: the machine moved, and both ends are as true as the mean. */
TEST(a_trend_of_trials_is_no_spread)
{
    struct estimate *e = of_levels(one_by_one, 0.01, 1e-4);

    assert_int_equal(e->verdict, ESTIMATE_UNDETERMINED);
    assert_true(mean_of(e)->lo < 1.0e6 && mean_of(e)->hi > 1.04e6);
    assert_int_equal(mean_of(e)->grade, METRIC_GRADE_C);
    assert_true(fabs(found(e, FINDING_TREND_OF_TRIALS)->numbers[0] - 0.04) < 1e-3);
    estimate_destroy(e);
}

#define DAY_NS INT64_C(86400000000000)

/* Two trials a day at each of the levels 1.00, 1.01 ... 1.04, on so many days. */
static struct estimate *of_days(size_t days)
{
    static const double places[] = {2, 0, 4, 1, 3};
    static int64_t x[10][N];
    struct estimate_series series[10];

    for (size_t i = 0; i < 2 * days; i++) {
        fill(x[i], N, 1e6 * (1 + 0.01 * places[i / 2]), 1e-4, 70 + i);
        series[i] = (struct estimate_series){
            x[i], N, 0, 0, 1 + (int64_t)(i / 2) * DAY_NS + (int64_t)(i % 2) * DAY_NS / 100};
    }
    return estimate(series, 2 * days);
}

/* The trials of a day are one unit: the interval is that of the five days, as of five trials. */
TEST(days_are_units)
{
    static const double places[] = {2, 0, 4, 1, 3};
    struct estimate *e = of_days(5), *trials = of_levels(places, 0.01, 1e-4);

    assert_true(fabs(mean_of(e)->lo / mean_of(trials)->lo - 1) < 1e-4);
    assert_true(fabs(mean_of(e)->hi / mean_of(trials)->hi - 1) < 1e-4);
    assert_true(fabs(e->metrics[METRIC_P50].hi / trials->metrics[METRIC_P50].hi - 1) < 1e-4);
    assert_int_equal(found(e, FINDING_DAYS_OF_TRIALS)->numbers[1], 5);
    assert_int_equal(e->needed_trials, 2 * trials->needed_trials);
    assert_int_equal(mean_of(e)->grade, METRIC_GRADE_B);
    assert_null(found(trials, FINDING_DAYS_OF_TRIALS));
    estimate_destroy(trials);
    estimate_destroy(e);
}

/* Four days are too few for a good grade, however many trials each has. */
TEST(few_days)
{
    struct estimate *e = of_days(4);

    assert_int_equal(found(e, FINDING_DAYS_OF_TRIALS)->numbers[1], 4);
    assert_int_equal(mean_of(e)->grade, METRIC_GRADE_C);
    estimate_destroy(e);
}

/* So little that it is within the margin: the interval admits it, and the cell stays steady. */
TEST(a_small_trend_of_trials_is_admitted)
{
    struct estimate *e = of_levels(one_by_one, 0.0005, 1e-5);

    assert_int_equal(e->verdict, ESTIMATE_STEADY);
    assert_int_equal(mean_of(e)->grade, METRIC_GRADE_A);
    assert_true(mean_of(e)->lo < 1.0e6 && mean_of(e)->hi > 1.002e6);
    assert_non_null(found(e, FINDING_TREND_OF_TRIALS));
    estimate_destroy(e);
}

/*
 * Slower by 5 % from a fifth to two thirds of every window: the value is of everything. It is 2.4 %
 * off the level without it, so it gets no A however well the trials agree.
 */
TEST(a_disturbance_counts_and_costs_the_best_grade)
{
    int64_t x[5][N];
    struct estimate_series trials[5];
    struct estimate *e;

    for (size_t k = 0; k < 5; k++) {
        fill(x[k], N, 1e6, 0.01, 40 + k);
        for (size_t i = N / 5; i < 2 * N / 3; i++)
            x[k][i] += 50000;
        trials[k] = (struct estimate_series){x[k], N, 0, 0};
    }
    e = estimate(trials, 5);
    assert_int_equal(e->verdict, ESTIMATE_STEADY);
    assert_true(fabs(mean_of(e)->value / 1e6 - 1 - 0.05 * (2.0 / 3 - 0.2)) < 1e-3);
    assert_true(metric_half_width(mean_of(e)) < 0.01);
    assert_int_equal(mean_of(e)->grade, METRIC_GRADE_B);
    assert_true(fabs(found(e, FINDING_DISTURBED)->numbers[0] - 2.0 / 3 + 0.2) < 0.01);
    assert_true(fabs(found(e, FINDING_DISTURBED)->numbers[1] - 0.05) < 0.005);
    assert_null(found(e, FINDING_LATE_WARMUP));
    estimate_destroy(e);
}

static void add_ramp(int64_t *x)
{
    for (size_t i = 0; i < N; i++)
        x[i] += (int64_t)(100000 * i / N);
}

/* Every trial counts; drift is marked by verdict and grade, and not hidden. */
TEST(a_drifting_trial_counts_and_is_marked)
{
    int64_t good[N], bad[N];
    struct estimate_series series[2] = {{good, N, 0, 0}, {bad, N, 0, 0}};
    struct estimate *e;

    fill(good, N, 1e6, 0.01, 3);
    fill(bad, N, 1e6, 0.01, 4);
    add_ramp(bad);
    e = estimate(series, 2);
    assert_int_equal(e->verdict, ESTIMATE_DRIFT);
    assert_int_equal(e->trials[0].verdict, ESTIMATE_STEADY);
    assert_false(estimate_is_steady(e));
    assert_true(mean_of(e)->has_value && mean_of(e)->has_interval);
    assert_true(fabs(log(mean_of(e)->value / 1e6) - log(1.05) / 2) < 1e-3);
    assert_int_equal(mean_of(e)->grade, METRIC_GRADE_D);
    assert_true(e->trials[1].mean_ns.has_value);
    assert_false(e->trials[1].mean_ns.has_interval);
    assert_false(e->trials[1].has_steady);
    assert_int_equal(found(e, FINDING_DRIFT)->trial, 2);
    assert_true(fabs(found(e, FINDING_DRIFT)->numbers[0] - 0.1) < 0.02);
    /* Of the window, as the mean is, and marked like it. */
    assert_true(e->metrics[METRIC_P50].has_interval);
    assert_int_equal(e->metrics[METRIC_P50].grade, METRIC_GRADE_D);
    estimate_destroy(e);
    e = estimate(series + 1, 1);
    assert_false(e->metrics[METRIC_P50].has_interval);
    estimate_destroy(e);
}

/* One odd trial in five is a finding; two are the verdict. */
TEST(a_fifth_of_the_trials_may_be_odd)
{
    int64_t x[5][N];
    struct estimate_series series[5];
    struct estimate *e;

    for (size_t i = 0; i < 5; i++) {
        fill(x[i], N, 1e6, 0.01, 20 + i);
        series[i] = (struct estimate_series){x[i], N, 0, 0};
    }
    add_ramp(x[3]);
    e = estimate(series, 5);
    assert_int_equal(e->verdict, ESTIMATE_STEADY);
    assert_int_equal(found(e, FINDING_DRIFT)->trial, 4);
    estimate_destroy(e);
    add_ramp(x[1]);
    e = estimate(series, 5);
    assert_int_equal(e->verdict, ESTIMATE_DRIFT);
    estimate_destroy(e);
}

/* Trials without samples after their warmup do not make a grade better. */
TEST(the_grade_is_of_trials_with_samples)
{
    int64_t x[5][N];
    struct estimate_series series[5];
    struct estimate *e;

    for (size_t i = 0; i < 5; i++) {
        fill(x[i], N, 1e6, 0.001, 90 + i);
        series[i] = (struct estimate_series){x[i], N, 0, 0};
    }
    e = estimate(series, 5);
    assert_int_equal(mean_of(e)->grade, METRIC_GRADE_A);
    estimate_destroy(e);
    series[0].first = series[1].first = N;
    e = estimate(series, 5);
    assert_true(estimate_is_steady(e));
    assert_int_equal(mean_of(e)->grade, METRIC_GRADE_C);
    estimate_destroy(e);
}

/*
 * Trials whose effective sample size is too small for an interval of their own still give one
 * between them: that rule guards intervals within a trial.
 */
TEST(short_trials_have_an_interval_between_them)
{
    int64_t x[8][6];
    struct estimate_series series[8];
    struct estimate *e;

    for (size_t i = 0; i < 8; i++) {
        fill(x[i], 6, 1e6, 0.01, 70 + i);
        series[i] = (struct estimate_series){x[i], 6, 0, 0};
    }
    e = estimate(series, 8);
    assert_int_equal(e->verdict, ESTIMATE_INSUFFICIENT);
    assert_false(e->trials[0].mean_ns.has_interval);
    assert_true(mean_of(e)->has_interval);
    assert_int_equal(mean_of(e)->grade, METRIC_GRADE_C);
    estimate_destroy(e);
    e = estimate(series, 1);
    assert_true(mean_of(e)->has_value && !mean_of(e)->has_interval);
    assert_int_equal(mean_of(e)->grade, METRIC_GRADE_D);
    assert_non_null(found(e, FINDING_NO_INTERVAL));
    estimate_destroy(e);
}

/* A random walk from the same level in each trial. */
static void fill_walk(int64_t *x, size_t n, double sd, uint64_t seed)
{
    struct random random;
    double walk = 0;

    random_init(&random, seed, 0);
    for (size_t i = 0; i < n; i++) {
        walk += sd * random_next_normal(&random);
        x[i] = (int64_t)fmax(1e6 * (1 + walk), 1);
    }
}

TEST(undetermined_trials)
{
    int64_t x[5][N];
    struct estimate_series series[5];
    const struct finding *finding;
    struct estimate *e;

    for (size_t i = 0; i < 5; i++) {
        fill_walk(x[i], N, 0.0005, 20 + i);
        series[i] = (struct estimate_series){x[i], N, 0, 0};
    }
    e = estimate(series, 5);
    assert_int_equal(e->verdict, ESTIMATE_UNDETERMINED);
    assert_false(estimate_is_steady(e));
    /* All of them count, and nothing is assumed of them but that they are independent. */
    assert_true(mean_of(e)->has_interval);
    assert_int_equal(mean_of(e)->grade, METRIC_GRADE_C);
    finding = found(e, FINDING_UNIT_ROOT);
    assert_non_null(finding);
    assert_true(finding->numbers[0] < finding->numbers[1]);
    estimate_destroy(e);
    /* Two that drift are evidence, whatever cannot be told of the others. */
    for (size_t i = 0; i < 2; i++) {
        fill(x[i], N, 1e6, 0.01, 40 + i);
        for (size_t k = 0; k < N; k++)
            x[i][k] += (int64_t)(50000 * k / N);
    }
    e = estimate(series, 5);
    assert_int_equal(e->verdict, ESTIMATE_DRIFT);
    estimate_destroy(e);
    for (size_t i = 0; i < 2; i++)
        fill(x[i], N, 1e6, 0.01, 40 + i);
    e = estimate(series, 5);
    assert_int_equal(e->verdict, ESTIMATE_UNDETERMINED);
    estimate_destroy(e);
    fill_walk(x[0], N, 0.0005, 20);
    /* Alone: an interval that is right if the series is stationary, and wide. */
    e = estimate(series, 1);
    assert_int_equal(e->verdict, ESTIMATE_UNDETERMINED);
    assert_int_equal(mean_of(e)->grade, METRIC_GRADE_D);
    assert_false(e->metrics[METRIC_P50].has_interval);
    assert_null(found(e, FINDING_PERCENTILE_OPEN)); /* more samples would not give it one */
    estimate_destroy(e);
}

TEST(equal_samples)
{
    int64_t x[300];
    struct estimate_series series = {x, 300, 0, 0};
    struct estimate *e;
    size_t i;

    for (i = 0; i < 300; i++)
        x[i] = 42;
    e = estimate(&series, 1);
    assert_int_equal(e->verdict, ESTIMATE_STEADY);
    /* The tick may be as large as 42: nothing is known of how far off it is. */
    assert_true(mean_of(e)->has_value && !mean_of(e)->has_interval);
    assert_true(e->metrics[METRIC_P99].value == 42 && !e->metrics[METRIC_P99].has_interval);
    assert_non_null(found(e, FINDING_CONSTANT_SAMPLES));
    estimate_destroy(e);
    /* Ticks of 10, whose noise is far less: an interval of one tick, not of none. */
    for (i = 0; i < 300; i++)
        x[i] = i == 150 || i == 170 ? 1010 : 1000;
    e = estimate(&series, 1);
    assert_true(mean_of(e)->has_interval && mean_of(e)->hi - mean_of(e)->lo >= 10 - 1e-9);
    assert_true(e->metrics[METRIC_P50].lo <= 995 && e->metrics[METRIC_P50].hi >= 1005);
    estimate_destroy(e);
}

/*
 * Percentiles of several trials lie between them, by t on their own percentiles; whether they are
 * given depends on the number of samples alone.
 */
TEST(percentiles_between_trials)
{
    static int64_t x[5][N];
    struct estimate_series series[5];
    struct estimate *e;
    double squares = 0, half;

    for (int i = 0; i < 5; i++) {
        const double level = 1e6 * exp(0.01 * (i - 2));

        /* Samples of a trial in order of rank are its percentiles: a hundredth of 1 % each. */
        for (size_t k = 0; k < N; k++)
            x[i][k] = (int64_t)(level * (1 + 1e-4 * (double)(k * 7919 % N)));
        series[i] = (struct estimate_series){x[i], N, 0, 0};
        squares += 1e-4 * (i - 2) * (i - 2);
    }
    half = 2.7764451 * sqrt(squares / 4 / 5);
    e = estimate(series, 5);
    for (int q = 0; q < 3; q++) {
        static const enum metric_id ids[] = {METRIC_P50, METRIC_P90, METRIC_P99};
        static const double levels[] = {0.5, 0.9, 0.99};
        const struct metric_value *p = &e->metrics[ids[q]];
        const double value = 1e6 * (1 + 1e-4 * ((N + 1.0 / 3) * levels[q] + 1.0 / 3 - 1));

        assert_true(p->has_interval);
        assert_true(fabs(p->value / value - 1) < 1e-5);
        assert_true(fabs(log(p->hi / p->value) - half) < 1e-5);
        assert_true(fabs(log(p->value / p->lo) - half) < 1e-5);
    }
    estimate_destroy(e);
    series[3].count = 298; /* p99 takes 299 of each */
    e = estimate(series, 5);
    assert_true(e->metrics[METRIC_P90].has_interval);
    assert_true(!e->metrics[METRIC_P99].has_value && e->metrics[METRIC_P99].needed >= 299);
    assert_non_null(found(e, FINDING_PERCENTILE_TRIALS));
    estimate_destroy(e);
}

/*
 * Of ten trials each has five to eleven of 800 samples that take twice as long, so that p99 lies on
 * either side: it is an observed value, and the interval has both sides. The median has no gap.
 */
TEST(a_percentile_at_a_gap)
{
    static int64_t x[10][N];
    struct estimate_series series[10];
    const struct finding *gap;
    struct estimate *e;
    bool observed = false;

    for (size_t i = 0; i < 10; i++) {
        fill(x[i], N, 1e6, 0.01, 70 + i);
        for (size_t k = 0; k < 5 + 2 * (i % 4); k++)
            x[i][(k * 7919 + i) % N] = 2000000;
        series[i] = (struct estimate_series){x[i], N, 0, 0};
    }
    e = estimate(series, 10);
    gap = found(e, FINDING_PERCENTILE_GAP);
    for (size_t i = 0; i < 10; i++)
        for (size_t k = 0; k < N; k++)
            observed |= (double)x[i][k] == e->metrics[METRIC_P99].value;
    assert_true(observed);
    assert_true(e->metrics[METRIC_P99].lo < 1.05e6 && e->metrics[METRIC_P99].hi >= 2e6);
    assert_string_equal(gap->subject, "p99");
    assert_true(gap->numbers[0] > 1.01e6 && gap->numbers[0] < 1.06e6);
    assert_true(fabs(gap->numbers[1] / 2e6 - 1) < 0.01);
    assert_true(metric_half_width(&e->metrics[METRIC_P50]) < 0.002);
    estimate_destroy(e);
}

/* Trials equal to the last digit: t would divide 0 by 0, and five of them prove nothing at 95 %. */
TEST(equal_trials)
{
    int64_t x[N];
    struct estimate_series series[6];
    struct estimate *e;

    fill(x, N, 1e6, 0.01, 2);
    for (size_t i = 0; i < 6; i++)
        series[i] = (struct estimate_series){x, N, 0, 0};
    for (size_t count = 2; count <= 6; count++) {
        e = estimate(series, count);
        assert_true(mean_of(e)->has_value);
        assert_int_equal(mean_of(e)->has_interval, count == 6);
        assert_int_equal(found(e, FINDING_NO_INTERVAL) != NULL, count < 6);
        estimate_destroy(e);
    }
}

/*
 * A clock so coarse that nearly all samples are one of two ticks, the lower one in runs of 25 and
 * 44 % of the time: that the median is the upper one is far from sure, though the few samples above
 * it are isolated.
 */
TEST(percentiles_of_a_coarse_clock)
{
    int64_t x[1000];
    struct estimate_series series = {x, 1000, 0, 0};
    struct estimate *e;
    size_t i;
    struct random random;
    bool low = false;

    random_init(&random, 12, 0);
    for (i = 0; i < 1000; i++) {
        x[i] = low ? 1000 : i % 199 == 100 ? 1002 : 1001;
        if (random_next_unit(&random) < (low ? 0.045 : 0.035))
            low = !low;
    }
    e = estimate(&series, 1);
    assert_true(e->metrics[METRIC_P50].has_interval);
    assert_true(e->metrics[METRIC_P50].value == 1001);
    assert_true(e->metrics[METRIC_P50].lo == 1000);
    assert_true(e->metrics[METRIC_P50].hi <= 1002);
    estimate_destroy(e);
}

/* No number in the JSON may be NaN or infinite: jansson would refuse to write it. */
static void check_json(const struct estimate *e)
{
    json_t *json = estimate_to_json(e), *again;
    char *text = json_dumps(json, JSON_COMPACT);
    struct estimate *read = NULL;

    assert_non_null(text);
    assert_null(strstr(text, "nan"));
    assert_null(strstr(text, "inf\""));
    free(text);
    /* What is read back is what was written. */
    assert_int_equal(estimate_from_json(json, &read, NULL), STATUS_OK);
    again = estimate_to_json(read);
    assert_true(json_equal(json, again));
    estimate_destroy(read);
    json_decref(again);
    json_decref(json);
}

TEST(hostile_series)
{
    static const int64_t levels[] = {1, 2, 1000, (int64_t)1 << 62};
    int64_t x[64];
    size_t n, first, kind, level, i;

    for (level = 0; level < 4; level++) {
        for (kind = 0; kind < 5; kind++) {
            for (n = 0; n <= 64; n += n < 12 ? 1 : 13) {
                for (first = 0; first <= n + 1; first += 1 + n / 3) {
                    struct estimate_series two[2] = {{x, n, first, 0}, {x, n, 0, 0}};
                    struct estimate *e;

                    for (i = 0; i < 64; i++)
                        x[i] = kind == 0   ? levels[level]
                               : kind == 1 ? levels[i % 4]
                               : kind == 2 ? (int64_t)(random_at(3, 4, i) >> 2) + 1
                               : kind == 3 ? levels[level] + (int64_t)i
                                           : levels[level] + (int64_t)(i == 5);
                    e = estimate(two, 1);
                    check_json(e);
                    assert_true(!mean_of(e)->has_interval || mean_of(e)->lo <= mean_of(e)->hi);
                    estimate_destroy(e);
                    e = estimate(two, 2);
                    check_json(e);
                    estimate_destroy(e);
                }
            }
        }
    }
}

TEST(invalid_input)
{
    struct estimate_options options = estimate_options_default();
    int64_t x[3] = {5, -1, 5};
    struct estimate_series series[2] = {{x, 1, 0, 0}, {x, 3, 0, 0}};
    struct estimate *e = NULL;
    struct error err;

    assert_int_equal(estimate_cell(series, 2, &options, &e, &err), STATUS_INVALID);
    assert_non_null(strstr(err.message, "trial 2"));
    assert_non_null(strstr(err.message, "sample 1"));
    assert_null(e);
    assert_int_equal(estimate_cell(series, 0, &options, &e, NULL), STATUS_INVALID);
    options.confidence = 95;
    assert_int_equal(estimate_cell(series, 1, &options, &e, &err), STATUS_INVALID);
    options = estimate_options_default();
    options.percentiles[1] = 99;
    assert_int_equal(estimate_cell(series, 1, &options, &e, &err), STATUS_INVALID);
    options.percentiles[1] = 0.123; /* no row of the table of metrics */
    assert_int_equal(estimate_cell(series, 1, &options, &e, &err), STATUS_INVALID);
    options = estimate_options_default();
    options.min_ess = NAN;
    assert_int_equal(estimate_cell(series, 1, &options, &e, &err), STATUS_INVALID);
    estimate_destroy(NULL);
}

TEST(same_bytes_again)
{
    int64_t x[2][N];
    struct estimate_series series[2] = {{x[0], N, 10, 0}, {x[1], N, 10, 0}};
    struct estimate *a, *b;
    json_t *ja, *jb;
    char *ta, *tb;

    fill(x[0], N, 12345, 0.2, 8);
    fill(x[1], N, 12345, 0.2, 9);
    a = estimate(series, 2);
    b = estimate(series, 2);
    ja = estimate_to_json(a);
    jb = estimate_to_json(b);
    ta = json_dumps(ja, 0);
    tb = json_dumps(jb, 0);
    assert_string_equal(ta, tb);
    free(ta);
    free(tb);
    json_decref(ja);
    json_decref(jb);
    estimate_destroy(a);
    estimate_destroy(b);
}

TEST(json_form)
{
    static const char *const keys[] = {"version", "verdict", "headline", "samples",  "ess",
                                       "metrics", "trials",  "variance", "findings", "confidence"};
    int64_t x[N];
    struct estimate_series series = {x, N, 0, 0};
    struct estimate *e;
    json_t *json, *p999;
    size_t i;

    fill(x, N, 1e6, 0.01, 1);
    e = estimate(&series, 1);
    json = estimate_to_json(e);
    for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        assert_non_null(json_object_get(json, keys[i]));
    assert_string_equal(json_string_value(json_object_get(json, "verdict")), "steady");
    assert_true(json_is_null(json_object_get(json_object_get(json, "variance"), "process")));
    p999 = json_object_get(json_object_get(json, "metrics"), "p99.9");
    assert_true(json_is_null(json_object_get(p999, "value")));
    assert_int_equal(json_integer_value(json_object_get(p999, "needed")), 2995);
    json_decref(json);
    estimate_destroy(e);
}

TEST(verdict_names)
{
    assert_string_equal(estimate_verdict_name(ESTIMATE_NON_STATIONARY), "non_stationary");
    assert_string_equal(estimate_verdict_label(ESTIMATE_NON_STATIONARY), "non-stationary");
    assert_string_equal(estimate_verdict_name(ESTIMATE_VERDICT_COUNT), "unknown");
    assert_true(estimate_verdict_is_steady(ESTIMATE_SLOWDOWN));
    assert_false(estimate_verdict_is_steady(ESTIMATE_INSUFFICIENT));
    assert_false(estimate_verdict_is_steady(ESTIMATE_VERDICT_COUNT));
    assert_int_equal(estimate_verdict_find("unknown"), ESTIMATE_VERDICT_COUNT);
    assert_int_equal(estimate_verdict_find(NULL), ESTIMATE_VERDICT_COUNT);
    /* A label is the name in readable form. */
    for (int i = 0; i < ESTIMATE_VERDICT_COUNT; i++) {
        const char *name = estimate_verdict_name((enum estimate_verdict)i);
        const char *label = estimate_verdict_label((enum estimate_verdict)i);

        assert_int_equal(estimate_verdict_find(name), i);
        assert_int_equal(strlen(name), strlen(label));
        for (size_t k = 0; name[k]; k++)
            assert_true(name[k] == label[k] || (name[k] == '_' && strchr(" -", label[k])));
    }
}
