#include "protocols/serving/analysis.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/random.h"
#include "protocols/serving/change.h"
#include "protocols/serving/exceedance.h"
#include "protocols/serving/saturation.h"
#include "tests/support/unit.h"

#define TRIALS 4

/* Trials of a single server with exponential service of 1 ms. */
struct fixture {
    struct arrivals arrivals;
    struct serving_options options;
    struct schedule schedules[TRIALS];
    struct serving_trial trials[TRIALS];
    struct request *requests[TRIALS];
    struct serving_result result;
};

static void simulate(struct fixture *f, double rate, size_t count, double service_s)
{
    f->options.arrivals = &f->arrivals;
    f->options.rate = rate;
    f->options.subject.capacity = 1000;
    for (uint64_t r = 0; r < TRIALS; r++) {
        struct random random;
        double free_at = 0;

        assert_int_equal(schedule_make(&f->arrivals, &(struct lengths){0}, rate,
                                       (struct schedule_extent){count, 0}, 40 + r, &f->schedules[r],
                                       NULL),
                         STATUS_OK);
        f->requests[r] = calloc(count, sizeof(**f->requests));
        assert_non_null(f->requests[r]);
        random_init(&random, 190 + r, 1);
        for (size_t i = 0; i < count; i++) {
            int64_t at = f->schedules[r].requests[i].at_ns;

            free_at =
                fmax(free_at, (double)at * 1e-9) + service_s * random_next_exponential(&random);
            f->requests[r][i] = (struct request){.scheduled_ns = at,
                                                 .sent_ns = at + 1000,
                                                 .admitted_ns = at + 2000,
                                                 .first_ns = REQUEST_NEVER,
                                                 .done_ns = (int64_t)(free_at * 1e9) + 3000,
                                                 .worst_gap_ns = REQUEST_NEVER};
        }
        f->trials[r] = (struct serving_trial){.schedule = &f->schedules[r],
                                              .seed = 40 + r,
                                              .requests = f->requests[r],
                                              .until_ns = f->schedules[r].window_ns + 1000000000};
    }
}

static void analyze(struct fixture *f)
{
    struct error err = ERROR_INIT;

    if (serving_analyze(f->trials, TRIALS, &f->options, &f->result, &err) != STATUS_OK)
        fail_msg("%s", err.message);
}

/* Poisson arrivals; 99 % within 100 ms. */
static void init(struct fixture *f, double rate, size_t count)
{
    *f = (struct fixture){.arrivals = {.process = ARRIVAL_POISSON}};
    f->options.limits.attain = 0.99;
    f->options.limits.ns[SERVING_E2E] = 100000000;
    simulate(f, rate, count, 1e-3);
}

static void finish(struct fixture *f)
{
    for (int r = 0; r < TRIALS; r++) {
        schedule_finish(&f->schedules[r]);
        free(f->requests[r]);
    }
}

TEST(good)
{
    struct fixture f;
    const struct percentile_result *p;

    init(&f, 500, 4000);
    analyze(&f);
    assert_int_equal(f.result.load.verdict, LOAD_DELIVERED);
    assert_true(f.result.load.lag_p999_ns == 1000);
    assert_int_equal(f.result.load.requests, 4 * 4000);
    assert_true(f.result.load.p_gaps > 0.001 && f.result.load.p_rate > 0.001);
    assert_int_equal(f.result.queue.verdict, QUEUE_STABLE);
    assert_int_equal(f.result.queue.audit_failed, 0);
    assert_true(fabs(f.result.queue.backlog - 1) < 0.25); /* load / (1 - load) */
    assert_int_equal(f.result.slo.verdict, SLO_MEETS);
    assert_true(f.result.slo.attainment == 1 && f.result.slo.hi == 1 && f.result.slo.lo > 0.99);
    assert_true(fabs(f.result.slo.goodput / 500 - 1) < 0.05);
    assert_true(f.result.slo.mlperf_passes && f.result.slo.mlperf_allowed > 100);
    /* Median ln 2 / (mu - lambda) = 1.386 ms, p99 9.21 ms; p99.9 takes ten times the window. */
    p = f.result.percentiles[SERVING_E2E];
    assert_int_equal(p[0].state, PERCENTILE_GIVEN);
    assert_true(p[0].lo < 1.389e6 && p[0].hi > 1.389e6 && p[0].hi - p[0].lo < 0.4e6);
    assert_true(p[2].lo < 9.21e6 && p[2].hi > 9.21e6 && p[2].state == PERCENTILE_GIVEN);
    assert_int_equal(p[3].state, PERCENTILE_REFUSED);
    assert_true(isnan(p[3].lo) && p[3].value > 9e6 && p[3].needed_requests > 4 * 4000);
    assert_int_equal(f.result.percentiles[SERVING_TTFT][0].state, PERCENTILE_NONE);
    assert_true(f.result.percentiles[SERVING_WAIT][0].value == 2000);
    finish(&f);
}

TEST(load)
{
    struct fixture f;

    init(&f, 500, 4000);
    f.requests[1][77].sent_ns = f.requests[1][77].scheduled_ns - 1;
    analyze(&f);
    assert_int_equal(f.result.load.early, 1);
    assert_int_equal(f.result.load.verdict, LOAD_NOT_AS_DECLARED);
    assert_int_equal(f.result.slo.verdict, SLO_INCONCLUSIVE);
    assert_int_equal(f.result.slo.reason, SLO_REASON_LOAD);
    f.requests[1][77].sent_ns = f.requests[1][77].scheduled_ns;
    f.schedules[1].requests[77].at_ns++;
    analyze(&f);
    assert_int_equal(f.result.load.mismatched, 1);
    assert_int_equal(f.result.load.verdict, LOAD_NOT_AS_DECLARED);
    f.schedules[1].requests[77].at_ns--;
    f.schedules[1].requests[77].prompt_tokens = 31;
    f.requests[1][77].prompt_tokens = 32; /* with a token for the start, by the server's usage */
    analyze(&f);
    assert_int_equal(f.result.load.verdict, LOAD_NOT_AS_DECLARED);
    f.options.prompts_told = true;
    analyze(&f);
    assert_int_equal(f.result.load.mismatched, 0);
    assert_int_equal(f.result.load.verdict, LOAD_DELIVERED);
    f.options.prompts_told = false;
    f.requests[1][77].prompt_tokens = 31;
    for (int i = 0; i < 16; i++) /* one in a thousand may be late */
        f.requests[2][i].sent_ns += 1000000;
    analyze(&f);
    assert_int_equal(f.result.load.verdict, LOAD_DELIVERED);
    f.requests[2][2016].sent_ns = REQUEST_NEVER;
    analyze(&f);
    assert_int_equal(f.result.load.not_sent, 1);
    assert_int_equal(f.result.load.verdict, LOAD_LATE);
    f.requests[2][2016].status = REQUEST_REFUSED; /* that was the subject's full ring */
    f.requests[2][2016].done_ns = REQUEST_NEVER;
    analyze(&f);
    assert_int_equal(f.result.load.verdict, LOAD_DELIVERED);
    assert_true(f.result.slo.failures > 0);
    finish(&f);
}

/* A schedule that is no Poisson process, sent as it says: the tests see it. */
TEST(process)
{
    struct fixture f = {.arrivals = {.process = ARRIVAL_GAMMA, .cv = 1.5}};
    const struct arrivals poisson = {.process = ARRIVAL_POISSON};

    simulate(&f, 500, 4000, 1e-3);
    analyze(&f);
    assert_int_equal(f.result.load.verdict, LOAD_DELIVERED);
    f.options.arrivals = &poisson;
    analyze(&f);
    assert_int_equal(f.result.load.verdict, LOAD_NOT_AS_DECLARED);
    assert_true(f.result.load.p_gaps < 1e-9 && f.result.load.p_dispersion < 1e-6);
    assert_true(f.result.load.p_independence > 1e-4);
    f.options.arrivals = &f.arrivals;
    f.options.rate = 550;
    analyze(&f);
    assert_true(f.result.load.p_rate < 1e-6);
    finish(&f);
}

TEST(overload)
{
    struct fixture f;

    init(&f, 1100, 8000);
    f.options.limits.ns[SERVING_E2E] = INT64_C(1) << 60;
    analyze(&f);
    assert_int_equal(f.result.queue.verdict, QUEUE_GROWING);
    assert_true(fabs(f.result.queue.growth - 1.0 / 11) < 0.04);
    assert_true(f.result.queue.backlog_end > 500);
    assert_int_equal(f.result.slo.verdict, SLO_MISSES);
    assert_int_equal(f.result.slo.reason, SLO_REASON_GROWING);
    assert_false(f.result.plan.known);
    assert_int_equal(f.result.percentiles[SERVING_E2E][0].state, PERCENTILE_REFUSED);
    finish(&f);
}

TEST(reasons)
{
    struct fixture f;

    init(&f, 800, 4000);
    analyze(&f);
    assert_int_equal(f.result.slo.reason, SLO_REASON_SHORT);
    assert_true(f.result.slo.needed_requests > 4 * 4000);
    f.options.subject.capacity = NAN;
    analyze(&f);
    assert_int_equal(f.result.slo.reason, SLO_REASON_UNPLANNED);
    assert_true(isnan(f.result.windows));
    f.options.limits.attain = 0;
    analyze(&f);
    assert_int_equal(f.result.slo.reason, SLO_REASON_NO_LIMITS);
    f.options.subject.capacity = 1000;
    f.options.limits.attain = 0.9; /* at exactly what 10 % exceed: neither for certain */
    f.options.limits.ns[SERVING_E2E] = (int64_t)f.result.percentiles[SERVING_E2E][1].value;
    analyze(&f);
    assert_int_equal(f.result.slo.verdict, SLO_INCONCLUSIVE);
    assert_int_equal(f.result.slo.reason, SLO_REASON_SHARE);
    assert_true(f.result.slo.lo < 0.9 && f.result.slo.hi > 0.9 && f.result.slo.needed_requests > 0);
    f.options.limits.ns[SERVING_E2E] = 2000000;
    analyze(&f);
    assert_int_equal(f.result.slo.verdict, SLO_MISSES);
    f.options.limits.ns[SERVING_E2E] = 60000000;
    analyze(&f);
    assert_int_equal(f.result.slo.verdict, SLO_MEETS);
    for (int i = 2000; i < 2100; i++)
        f.requests[0][i].status = REQUEST_TIMED_OUT;
    analyze(&f);
    assert_int_equal(f.result.slo.verdict, SLO_MISSES);
    assert_int_equal(f.result.slo.reason, SLO_REASON_FAILURES);
    f.options.limits.failures = 0.05;
    analyze(&f);
    assert_int_equal(f.result.slo.verdict, SLO_MEETS);
    finish(&f);
}

/* Of a trace the share itself counts, with the spread between trials; a trial is one batch. */
TEST(trace)
{
    struct fixture f;
    struct trace trace = {NULL, 2000, {{0}}};
    const struct arrivals arrivals = {.process = ARRIVAL_TRACE, .trace = &trace, .scale = 1};
    double missed, lo, hi;

    init(&f, 500, 2000);
    trace.requests = f.schedules[0].requests;
    for (int r = 1; r < TRIALS; r++) {
        memcpy(f.schedules[r].requests, f.schedules[0].requests,
               2000 * sizeof(*f.schedules[0].requests));
        memcpy(f.requests[r], f.requests[0], 2000 * sizeof(**f.requests));
    }
    f.options.arrivals = &arrivals;
    f.options.rate = 0;
    f.options.limits.ns[SERVING_E2E] = 8000000;
    analyze(&f);
    assert_int_equal(f.result.load.verdict, LOAD_DELIVERED);
    assert_true(isnan(f.result.load.p_gaps));
    assert_int_equal(f.result.queue.verdict, QUEUE_UNDETERMINED);
    assert_int_equal(f.result.totals.requests, 4 * 2000);
    /* Trials that are all alike tell no less than independent requests, and no more. */
    missed = 1 - f.result.slo.attainment;
    exceedance_interval(missed, exceedance_effective(4 * 2000, 1, TRIALS, 0.95), 0.95, &lo, &hi);
    assert_true(missed > 0 && f.result.slo.dispersion == 1);
    assert_true(f.result.slo.lo == 1 - hi && f.result.slo.hi == 1 - lo);
    assert_int_equal(f.result.slo.verdict, lo > 0.01 ? SLO_MISSES : SLO_INCONCLUSIVE);
    /* None missed, or all: no end is known to be there. */
    f.options.limits.ns[SERVING_E2E] = 10000000000;
    analyze(&f);
    exceedance_interval(0, exceedance_effective(4 * 2000, 1, TRIALS, 0.95), 0.95, &lo, &hi);
    assert_true(f.result.slo.attainment == 1 && f.result.slo.hi == 1);
    assert_true(f.result.slo.lo == 1 - hi && hi > 3.7 / (4 * 2000) && hi < 0.01);
    assert_int_equal(f.result.slo.verdict, SLO_MEETS);
    f.options.limits.ns[SERVING_E2E] = 1;
    analyze(&f);
    assert_true(f.result.slo.attainment == 0 && f.result.slo.lo == 0);
    assert_true(fabs(f.result.slo.hi - hi) < 1e-12);
    assert_int_equal(f.result.slo.verdict, SLO_MISSES);
    assert_int_equal(serving_analyze(f.trials, 2, &f.options, &f.result, NULL), STATUS_OK);
    assert_int_equal(f.result.slo.reason, SLO_REASON_TRIALS);
    finish(&f);
}

TEST(undecided)
{
    struct fixture f;

    init(&f, 500, 4000);
    for (int i = 3000; i < 3200; i++) {
        f.requests[3][i].status = REQUEST_UNFINISHED;
        f.requests[3][i].done_ns = REQUEST_NEVER;
        f.requests[3][i].first_ns = f.requests[3][i].scheduled_ns + 1;
    }
    f.options.limits.ns[SERVING_E2E] = 0;
    f.options.limits.ns[SERVING_TTFT] = 5;
    for (int r = 0; r < TRIALS; r++)
        for (int i = 0; i < 4000; i++)
            f.requests[r][i].first_ns = f.requests[r][i].scheduled_ns + 1;
    analyze(&f);
    assert_int_equal(f.result.totals.undecided, 200);
    assert_true(f.result.slo.most == 1 && f.result.slo.least < 0.99);
    assert_true(f.result.slo.hi == 1 && f.result.slo.lo < f.result.slo.least);
    assert_int_equal(f.result.slo.verdict, SLO_INCONCLUSIVE);
    finish(&f);
}

TEST(refusals)
{
    struct fixture f;
    struct serving_result result = {.version = 99};
    struct error err;

    init(&f, 500, 4000);
    assert_int_equal(serving_analyze(f.trials, 0, &f.options, &result, &err), STATUS_INVALID);
    f.options.limits.attain = 1;
    assert_int_equal(serving_analyze(f.trials, 1, &f.options, &result, &err), STATUS_INVALID);
    f.options.limits.attain = 0.9;
    f.options.limits.ns[SERVING_E2E] = 0;
    assert_int_equal(serving_analyze(f.trials, 1, &f.options, &result, &err), STATUS_INVALID);
    f.options.limits.attain = 0;
    f.options.confidence = 1;
    assert_int_equal(serving_analyze(f.trials, 1, &f.options, &result, &err), STATUS_INVALID);
    f.options.confidence = 0;
    f.trials[0].requests = NULL;
    assert_int_equal(serving_analyze(f.trials, 1, &f.options, &result, &err), STATUS_INVALID);
    assert_int_equal(result.version, 99);
    finish(&f);
}

TEST(codec)
{
    struct fixture f;
    json_t *json, *again, *schema = type_schema(&serving_result_type, NULL);
    struct serving_result read;
    struct capacity_result capacity = {CAPACITY_AT_LEAST, NAN, 700, NAN, 700, NAN}, back;
    struct error err = ERROR_INIT;

    init(&f, 500, 4000);
    analyze(&f);
    json = type_to_json(&serving_result_type, &f.result);
    assert_non_null(json);
    assert_int_equal(type_from_json(&serving_result_type, json, &read, &err), STATUS_OK);
    again = type_to_json(&serving_result_type, &read);
    assert_true(json_equal(json, again));
    assert_int_equal(json_object_size(json_object_get(schema, "properties")),
                     json_object_size(json));
    assert_string_equal(json_string_value(json_object_get(json_object_get(json, "slo"), "verdict")),
                        "meets");
    json_object_del(json_object_get(json, "slo"), "verdict");
    assert_int_equal(type_from_json(&serving_result_type, json, &read, &err), STATUS_CORRUPT);
    assert_non_null(strstr(err.message, "slo.verdict"));
    json_object_set_new(json_object_get(again, "totals"), "ok", json_integer(-1));
    assert_int_equal(type_from_json(&serving_result_type, again, &read, &err), STATUS_CORRUPT);
    json_decref(json);
    json_decref(again);
    json_decref(schema);
    json = type_to_json(&capacity_result_type, &capacity);
    assert_int_equal(type_from_json(&capacity_result_type, json, &back, &err), STATUS_OK);
    assert_true(back.state == CAPACITY_AT_LEAST && back.lo == 700 && isnan(back.hi));
    json_decref(json);
    finish(&f);
}

/* ---- the parts ---- */

TEST(exceedance)
{
    enum { COUNT = 4000 };
    static double values[COUNT];
    const size_t ends[] = {COUNT / 2, COUNT};
    struct exceedance e;
    double lo, hi, share, value;

    /* Clopper and Pearson's of 10 in 100: 4.90 to 17.62 % (Fisher and Yates, table VIII1). */
    exceedance_interval(0.1, 100, 0.95, &lo, &hi);
    assert_true(fabs(lo - 0.049005) < 1e-5 && fabs(hi - 0.176223) < 1e-5);
    exceedance_interval(0, 100, 0.95, &lo, &hi);
    assert_true(lo == 0 && fabs(hi - (1 - pow(0.025, 0.01))) < 1e-12);
    exceedance_interval(1, 100, 0.95, &lo, &hi);
    assert_true(fabs(lo - pow(0.025, 0.01)) < 1e-12 && hi == 1);
    /* Less than one miss: not much below it is excluded. */
    exceedance_interval(0.0001, 50, 0.95, &lo, &hi);
    assert_true(lo >= 0 && lo < 1e-9 && hi > 0.07 && hi < 0.1);
    /* Of five batches fewer by t = 2.776; of one batch nothing is known. */
    assert_true(fabs(exceedance_effective(1000, 10, 5, 0.95) - 100 * pow(1.959964 / 2.776445, 2)) <
                1e-4);
    exceedance_interval(0.5, exceedance_effective(1000, 10, 1, 0.95), 0.95, &lo, &hi);
    assert_true(isnan(lo) && isnan(hi));
    /* Blocks of 200 above, 200 below: in 20 batches of 200 each share is 0 or 1, so that
     * D = 200 * 20 / 19. */
    for (int i = 0; i < COUNT; i++)
        values[i] = i / 200 % 2 ? 2 + i * 1e-6 : i * 1e-6;
    assert_int_equal(exceedance_init(values, ends, 2, false, &e, NULL), STATUS_OK);
    assert_int_equal(e.batches, 20);
    assert_true(fabs(exceedance_dispersion(&e, 1, &share) - 200 * 20.0 / 19) < 1e-6);
    assert_true(share == 0.5);
    /* A level that none exceeds takes the dispersion of those below. */
    assert_true(exceedance_dispersion(&e, 9, &share) >= 200 && share == 0);
    /* And one that all exceed that of those above. */
    assert_true(exceedance_dispersion(&e, -1, &share) >= 200 && share == 1);
    exceedance_finish(&e);
    /* Whole trials are alike. */
    assert_int_equal(exceedance_init(values, ends, 2, true, &e, NULL), STATUS_OK);
    assert_int_equal(e.batches, 2);
    assert_true(exceedance_dispersion(&e, 1, &share) == 1);
    exceedance_finish(&e);
    /* Independent values: D is about 1, and ranks are those of the binomial. */
    for (int i = 0; i < COUNT; i++)
        values[i] = random_unit(random_at(4, 4, (uint64_t)i));
    assert_int_equal(exceedance_init(values, ends, 2, false, &e, NULL), STATUS_OK);
    assert_true(exceedance_dispersion(&e, 0.5, &share) < 2.2);
    exceedance_quantile(&e, 0.1, 1.959964, &value, &lo, &hi);
    assert_true(fabs(value - 0.9) < 0.02 && lo < 0.9 && hi > 0.9 && hi - lo < 0.03);
    exceedance_quantile(&e, 0.0001, 1.959964, &value, &lo, &hi);
    assert_true(isinf(hi) && isfinite(lo));
    exceedance_finish(&e);
}

TEST(early_stopping)
{
    static const size_t counts[] = {459, 460};
    struct fixture f;

    init(&f, 500, 460);
    /* 0.99^459 < 0.01 < 0.99^458: that many must be inside before any claim. */
    f.options.subject.capacity = 1e6; /* no warmup to speak of: 0.005 ms */
    for (int k = 0; k < 2; k++) {
        f.schedules[0].count = counts[k];
        assert_int_equal(serving_analyze(f.trials, 1, &f.options, &f.result, NULL), STATUS_OK);
        assert_int_equal(f.result.totals.requests, counts[k] - 1); /* the first, at 0 */
        assert_int_equal(f.result.slo.mlperf_allowed, k == 0 ? -1 : 0);
        assert_int_equal(f.result.slo.mlperf_passes, k == 1);
    }
    finish(&f);
}

TEST(plan)
{
    const struct arrivals poisson = {.process = ARRIVAL_POISSON},
                          gamma = {.process = ARRIVAL_GAMMA, .cv = 3},
                          bursts = {.process = ARRIVAL_ON_OFF,
                                    .on_s = 1,
                                    .off_s = 3,
                                    .rate_ratio = INFINITY};
    const struct serving_subject subject = {.capacity = 100};
    const double alone = 1 / (100 * pow(1 - sqrt(0.8), 2)); /* M/M/1 */
    struct serving_plan plan = serving_plan(&poisson, 80, &subject, 0.01, 0, 5), precise;

    assert_true(plan.known && plan.load == 0.8);
    assert_true(fabs(plan.relaxation_s - alone - 0.01) < 1e-12);
    assert_int_equal(plan.requests, (uint64_t)ceil(200 * plan.relaxation_s * 80));
    assert_true(fabs(plan.total_s - 5 * 205 * plan.relaxation_s) < 1e-6);
    precise = serving_plan(&poisson, 80, &subject, 0.01, 0.1, 5);
    /* Student's t with 19 degrees of freedom at 97.5 %, and 0.99 / 0.01 by 0.1 squared. */
    assert_true(fabs((double)precise.requests /
                         (2.09302405 * 2.09302405 * 9900 / 5 * plan.relaxation_s * 80) -
                     1) < 1e-5);
    assert_true(fabs(serving_relaxation_s(&gamma, 80, &subject) - 5 * alone - 0.01) < 1e-9);
    /* 1 + 2 rate 16 (3/16) (3/4) = 1 + 4.5 rate */
    assert_true(fabs(serving_relaxation_s(&bursts, 80, &subject) - 181 * alone - 0.01) < 1e-8);
    /* P(T > x) = exp(-(1 - load) mu x), so that ln P changes by ln(100) load / (1 - load) per
       relative change of the rate. */
    assert_true(
        fabs(serving_capacity_precision(80, &subject, 0.01, 0.03) * 1.4 / (0.03 * log(100) * 4) -
             1) < 1e-9);
    assert_true(
        fabs(serving_capacity_precision(
                 80, &(struct serving_subject){.capacity = 100, .service_cv = 2}, 0.01, 0.03) *
                 1.4 * 2.5 / (0.03 * log(100) * 4) -
             1) < 1e-9);
    assert_true(serving_capacity_precision(100, &subject, 0.01, 0.03) == 0);
    assert_false(serving_plan(&poisson, 100, &subject, 0.01, 0, 5).known);
    assert_false(serving_plan(&poisson, 80, &(struct serving_subject){0}, 0.01, 0, 5).known);
    assert_true(
        isnan(serving_relaxation_s(&(struct arrivals){.process = ARRIVAL_TRACE}, 80, &subject)));
}

static struct serving_result at_rate(double rate, double lo, double share, double hi)
{
    struct serving_result r = {.rate = rate};

    r.slo.hi = 1 - lo;
    r.slo.attainment = 1 - share;
    r.slo.lo = 1 - hi;
    r.slo.verdict = hi <= 0.01 ? SLO_MEETS : lo > 0.01 ? SLO_MISSES : SLO_INCONCLUSIVE;
    r.slo.reason = r.slo.verdict == SLO_INCONCLUSIVE ? SLO_REASON_SHARE : SLO_REASON_NONE;
    return r;
}

TEST(capacity)
{
    const struct serving_limits limits = {.attain = 0.99};
    struct serving_result results[] = {
        at_rate(10, 0.0001, 0.0002, 0.0004), at_rate(20, 0.0005, 0.001, 0.004),
        at_rate(30, 0.008, 0.01, 0.04), at_rate(40, 0.032, 0.1, 0.2)};
    struct capacity_result c;

    assert_int_equal(serving_capacity(results, 4, &limits, &c, NULL), STATUS_OK);
    assert_int_equal(c.state, CAPACITY_WITHIN);
    /* Log-linear: 0.004 to 0.04 crosses 0.01 after log 2.5 / log 10; 0.008 to 0.032 after
     * log 1.25 / log 4. */
    assert_true(fabs(c.lo - (20 + 10 * log10(2.5))) < 1e-9);
    assert_true(fabs(c.value - 30) < 1e-9);
    assert_true(fabs(c.hi - (30 + 10 * log(1.25) / log(4))) < 1e-9);
    assert_true(c.met == 20 && c.missed == 40);
    assert_int_equal(serving_capacity(results, 2, &limits, &c, NULL), STATUS_OK);
    assert_true(c.state == CAPACITY_AT_LEAST && c.lo == 20 && isnan(c.hi) && isnan(c.missed));
    assert_int_equal(serving_capacity(results + 3, 1, &limits, &c, NULL), STATUS_OK);
    assert_true(c.state == CAPACITY_AT_MOST && c.hi == 40 && isnan(c.lo));
    assert_int_equal(serving_capacity(results + 2, 1, &limits, &c, NULL), STATUS_OK);
    assert_int_equal(c.state, CAPACITY_INCONCLUSIVE);
    /* A violator is pooled: 0.02 and 0.006 become 0.013 twice, above the limit from rate 20 on. */
    results[1] = at_rate(20, 0.019, 0.02, 0.021);
    results[2] = at_rate(30, 0.005, 0.006, 0.007);
    assert_int_equal(serving_capacity(results, 4, &limits, &c, NULL), STATUS_OK);
    assert_true(c.state == CAPACITY_WITHIN && c.lo > 10 && c.hi < 20);
    /* Refused rates are left out. */
    results[1].slo.verdict = results[2].slo.verdict = SLO_INCONCLUSIVE;
    results[1].slo.reason = results[2].slo.reason = SLO_REASON_SHORT;
    assert_int_equal(serving_capacity(results, 4, &limits, &c, NULL), STATUS_OK);
    assert_true(c.state == CAPACITY_WITHIN && c.value > 20);
    results[1].rate = 10;
    assert_int_equal(serving_capacity(results, 4, &limits, &c, NULL), STATUS_INVALID);
    assert_int_equal(serving_capacity(results, 0, &limits, &c, NULL), STATUS_INVALID);
}

/* Batches of 4 each 10 ms, begun by one alone: 400 requests/s, whatever the start and the end. */
TEST(saturated_server)
{
    struct request requests[4 * 20 + 1];
    const size_t count = sizeof(requests) / sizeof(*requests);

    for (size_t i = 0; i < count; i++)
        requests[i] =
            (struct request){.admitted_ns = i == 0 ? 0 : 1000 + (int64_t)((i - 1) / 4) * 10000000};
    assert_true(fabs(saturation_rate(requests, count) - 400) < 1e-9);
    requests[7].admitted_ns = REQUEST_NEVER; /* refused: it took no place */
    assert_true(fabs(saturation_rate(requests, count) - 400) < 1e-9);
    assert_true(isnan(saturation_rate(requests, 4)));
    assert_true(isnan(saturation_rate(requests, 0)));
    assert_true(saturation_share(0.3, 1234567.89) == 370370);
}
