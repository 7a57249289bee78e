/* estimate_cell end to end: shapes, refusals, determinism, JSON without holes. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/random.h"
#include "protocols/estimate.h"

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

static bool warns(const struct estimate *e, const char *words)
{
    size_t i;

    for (i = 0; i < e->warning_count; i++) {
        if (strstr(e->warnings[i], words))
            return true;
    }
    return false;
}

static void test_one_trial(void **state)
{
    int64_t x[N];
    struct estimate_series series = {x, N, 20};
    struct estimate *e;

    (void)state;
    fill(x, N, 1e6, 0.01, 1);
    e = estimate(&series, 1);
    assert_int_equal(e->verdict, ESTIMATE_FLAT);
    assert_int_equal(e->trials[0].steady_from, 20);
    assert_int_equal(e->sample_count, N);
    assert_true(e->mean_ns.has_interval && e->mean_ns.lo < 1e6 && e->mean_ns.hi > 1e6);
    assert_true(e->mean_ns.hi - e->mean_ns.lo < 4000);
    assert_true(isnan(e->variance_process));
    assert_true(fabs(e->variance_iteration - 1e-4) < 2e-5);
    assert_true(warns(e, "one trial"));
    /* p99.9 takes 2995 samples, p99 299. */
    assert_true(e->percentiles[3].interval.has_interval);
    assert_false(e->percentiles[4].interval.has_value);
    assert_int_equal(e->percentiles[4].needed_n, 2995);
    assert_true(warns(e, "p99.9 is refused"));
    estimate_destroy(e);
}

static void test_interval_lies_between_trials(void **state)
{
    /* Processes at 1.00, 1.01 ... 1.04 with no noise to speak of: t on 4 degrees of freedom. */
    int64_t x[5][N];
    struct estimate_series series[5];
    struct estimate *e;
    double mean = 0, squares = 0, half;
    size_t i;

    (void)state;
    for (i = 0; i < 5; i++) {
        fill(x[i], N, 1e6 * (1 + 0.01 * (double)i), 1e-4, 50 + i);
        series[i] = (struct estimate_series){x[i], N, 0};
        mean += log1p(0.01 * (double)i) / 5;
    }
    for (i = 0; i < 5; i++)
        squares += (log1p(0.01 * (double)i) - mean) * (log1p(0.01 * (double)i) - mean);
    half = 2.7764451 * sqrt(squares / 4 / 5);
    e = estimate(series, 5);
    assert_true(fabs(log(e->mean_ns.value / 1e6) - mean) < 1e-4);
    assert_true(fabs(log(e->mean_ns.hi / e->mean_ns.value) - half) < 2e-4);
    assert_true(fabs(e->variance_process - squares / 4) < 1e-6);
    assert_true(fabs(e->variance_iteration - 1e-8) < 2e-9);
    /* t(R-1) s / sqrt(R) <= log(1.01) : R = 11 gives 1.04 %, R = 12 gives 0.99 %. */
    assert_int_equal(e->needed_trials, 12);
    assert_true(warns(e, "about 12 trials"));
    estimate_destroy(e);
}

static void test_a_trial_without_steady_state_gives_no_number(void **state)
{
    int64_t good[N], bad[N];
    struct estimate_series series[2] = {{good, N, 0}, {bad, N, 0}};
    struct estimate *e;
    size_t i;

    (void)state;
    fill(good, N, 1e6, 0.01, 3);
    fill(bad, N, 1e6, 0.01, 4);
    for (i = 0; i < N; i++)
        bad[i] += (int64_t)(100000 * i / N);
    e = estimate(series, 2);
    assert_int_equal(e->verdict, ESTIMATE_DRIFT);
    assert_int_equal(e->trials[0].verdict, ESTIMATE_FLAT);
    assert_false(estimate_verdict_is_steady(e->verdict));
    assert_false(e->mean_ns.has_value);
    assert_false(e->trials[1].mean_ns.has_value);
    assert_int_equal(e->trials[1].steady_from, N);
    assert_true(warns(e, "drifts"));
    estimate_destroy(e);
}

static void test_equal_samples(void **state)
{
    int64_t x[300];
    struct estimate_series series = {x, 300, 0};
    struct estimate *e;
    size_t i;

    (void)state;
    for (i = 0; i < 300; i++)
        x[i] = 42;
    e = estimate(&series, 1);
    assert_int_equal(e->verdict, ESTIMATE_FLAT);
    assert_true(e->mean_ns.has_interval && e->mean_ns.lo == 42 && e->mean_ns.hi == 42);
    assert_true(e->percentiles[3].interval.lo == 42 && e->percentiles[3].interval.hi == 42);
    assert_true(warns(e, "timer"));
    estimate_destroy(e);
}

/* Trials alike to the last digit: t would divide 0 by 0, and five such say nothing at 95 %. */
static void test_equal_trials(void **state)
{
    int64_t x[N];
    struct estimate_series series[6];
    struct estimate *e;

    (void)state;
    fill(x, N, 1e6, 0.01, 2);
    for (size_t i = 0; i < 6; i++)
        series[i] = (struct estimate_series){x, N, 0};
    for (size_t count = 2; count <= 6; count++) {
        e = estimate(series, count);
        assert_true(e->mean_ns.has_value);
        assert_int_equal(e->mean_ns.has_interval, count == 6);
        assert_int_equal(warns(e, "no interval is given"), count < 6);
        estimate_destroy(e);
    }
}

/*
 * A clock so coarse that nearly all samples are one of two ticks, the lower one in runs of 25 and
 * 44 % of the time: that the median is the upper one is far from sure, though the few samples above
 * it come one by one.
 */
static void test_percentiles_of_a_coarse_clock(void **state)
{
    int64_t x[1000];
    struct estimate_series series = {x, 1000, 0};
    struct estimate *e;
    size_t i;
    struct random random;
    bool low = false;

    (void)state;
    random_init(&random, 12, 0);
    for (i = 0; i < 1000; i++) {
        x[i] = low ? 1000 : i % 199 == 100 ? 1002 : 1001;
        if (random_next_unit(&random) < (low ? 0.045 : 0.035))
            low = !low;
    }
    e = estimate(&series, 1);
    assert_true(e->percentiles[0].interval.has_interval);
    assert_true(e->percentiles[0].interval.value == 1001);
    assert_true(e->percentiles[0].interval.lo == 1000);
    assert_true(e->percentiles[0].interval.hi <= 1002);
    estimate_destroy(e);
}

/* No number in the JSON may be NaN or infinite: jansson would refuse to write it. */
static void check_json(const struct estimate *e)
{
    json_t *json = estimate_to_json(e);
    char *text = json_dumps(json, JSON_COMPACT);

    assert_non_null(text);
    assert_null(strstr(text, "nan"));
    assert_null(strstr(text, "inf\""));
    free(text);
    json_decref(json);
}

static void test_hostile_series(void **state)
{
    static const int64_t levels[] = {1, 2, 1000, (int64_t)1 << 62};
    int64_t x[64];
    size_t n, first, kind, level, i;

    (void)state;
    for (level = 0; level < 4; level++) {
        for (kind = 0; kind < 5; kind++) {
            for (n = 0; n <= 64; n += n < 12 ? 1 : 13) {
                for (first = 0; first <= n + 1; first += 1 + n / 3) {
                    struct estimate_series two[2] = {{x, n, first}, {x, n, 0}};
                    struct estimate *e;

                    for (i = 0; i < 64; i++)
                        x[i] = kind == 0   ? levels[level]
                               : kind == 1 ? levels[i % 4]
                               : kind == 2 ? (int64_t)(random_at(3, 4, i) >> 2) + 1
                               : kind == 3 ? levels[level] + (int64_t)i
                                           : levels[level] + (int64_t)(i == 5);
                    e = estimate(two, 1);
                    check_json(e);
                    assert_true(!e->mean_ns.has_interval || e->mean_ns.lo <= e->mean_ns.hi);
                    estimate_destroy(e);
                    e = estimate(two, 2);
                    check_json(e);
                    estimate_destroy(e);
                }
            }
        }
    }
}

static void test_invalid_input(void **state)
{
    struct estimate_options options = estimate_options_default();
    int64_t x[3] = {5, -1, 5};
    struct estimate_series series[2] = {{x, 1, 0}, {x, 3, 0}};
    struct estimate *e = NULL;
    struct error err;

    (void)state;
    assert_int_equal(estimate_cell(series, 2, &options, &e, &err), STATUS_INVALID);
    assert_non_null(strstr(err.message, "trial 1"));
    assert_non_null(strstr(err.message, "sample 1"));
    assert_null(e);
    assert_int_equal(estimate_cell(series, 0, &options, &e, NULL), STATUS_INVALID);
    options.confidence = 95;
    assert_int_equal(estimate_cell(series, 1, &options, &e, &err), STATUS_INVALID);
    options = estimate_options_default();
    options.percentiles[1] = 99;
    assert_int_equal(estimate_cell(series, 1, &options, &e, &err), STATUS_INVALID);
    options = estimate_options_default();
    options.min_ess = NAN;
    assert_int_equal(estimate_cell(series, 1, &options, &e, &err), STATUS_INVALID);
    estimate_destroy(NULL);
}

static void test_same_bytes_again(void **state)
{
    int64_t x[2][N];
    struct estimate_series series[2] = {{x[0], N, 10}, {x[1], N, 10}};
    struct estimate *a, *b;
    json_t *ja, *jb;
    char *ta, *tb;

    (void)state;
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

static void test_json_form(void **state)
{
    static const char *const keys[] = {"n",   "trials",      "verdict",  "steady_from", "mean_ns",
                                       "ess", "percentiles", "variance", "warnings"};
    int64_t x[N];
    struct estimate_series series = {x, N, 0};
    struct estimate *e;
    json_t *json;
    size_t i;

    (void)state;
    fill(x, N, 1e6, 0.01, 1);
    e = estimate(&series, 1);
    json = estimate_to_json(e);
    for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        assert_non_null(json_object_get(json, keys[i]));
    assert_string_equal(json_string_value(json_object_get(json, "verdict")), "flat");
    assert_true(json_is_null(json_object_get(json_object_get(json, "variance"), "process")));
    assert_non_null(
        json_object_get(json_object_get(json_object_get(json, "percentiles"), "p99.9"), "refused"));
    assert_int_equal(
        json_integer_value(json_object_get(
            json_object_get(json_object_get(json, "percentiles"), "p99.9"), "needed_n")),
        2995);
    json_decref(json);
    estimate_destroy(e);
}

static void test_verdict_names(void **state)
{
    (void)state;
    assert_string_equal(estimate_verdict_name(ESTIMATE_NO_STEADY_STATE), "no_steady_state");
    assert_string_equal(estimate_verdict_name(ESTIMATE_TWO_STATE), "two_state");
    assert_string_equal(estimate_verdict_name((enum estimate_verdict)99), "unknown");
    assert_true(estimate_verdict_is_steady(ESTIMATE_SLOWDOWN));
    assert_false(estimate_verdict_is_steady(ESTIMATE_INSUFFICIENT));
    assert_true(estimate_verdict_named_is_steady("flat"));
    assert_true(estimate_verdict_named_is_steady("slowdown"));
    assert_false(estimate_verdict_named_is_steady("two_state"));
    assert_false(estimate_verdict_named_is_steady("unknown"));
    assert_false(estimate_verdict_named_is_steady(NULL));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_trial),
        cmocka_unit_test(test_interval_lies_between_trials),
        cmocka_unit_test(test_a_trial_without_steady_state_gives_no_number),
        cmocka_unit_test(test_equal_samples),
        cmocka_unit_test(test_equal_trials),
        cmocka_unit_test(test_percentiles_of_a_coarse_clock),
        cmocka_unit_test(test_hostile_series),
        cmocka_unit_test(test_invalid_input),
        cmocka_unit_test(test_same_bytes_again),
        cmocka_unit_test(test_json_form),
        cmocka_unit_test(test_verdict_names),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
