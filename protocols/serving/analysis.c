#include "protocols/serving/analysis.h"

#include <math.h>
#include <stdlib.h>

#include "protocols/serving/analysis_parts.h"
#include "protocols/serving/exceedance.h"
#include "protocols/stats/distribution.h"

const double serving_percentile[SERVING_PERCENTILES] = {0.5, 0.9, 0.99, 0.999};

/* What the parts share. */
struct analysis {
    const struct serving_trial *trials;
    size_t count;
    const struct serving_options *options;
    struct serving_result *result;
    double confidence, relaxation_s;
    bool trace;
    double *values; /* of every request after the warmup, trial by trial */
    size_t *ends;
};

static double t_quantile(const struct analysis *a, size_t observations)
{
    return student_quantile(0.5 + a->confidence / 2, (double)observations - 1);
}

/* Requests scheduled before this are the warmup. All of a trace counts. */
static int64_t warmup_ns(const struct analysis *a, const struct serving_trial *trial)
{
    double share = (double)trial->schedule->window_ns / 10;

    if (a->trace)
        return 0;
    if (!isfinite(a->relaxation_s))
        return (int64_t)share;
    /* Of a window that is too short for its warmup half is left: the plan refuses it anyway. */
    return (int64_t)fmin(SERVING_WARMUP * a->relaxation_s * 1e9, share * 5);
}

/* Whether the window is as long as a share of `tail` needs; false as well where nobody can say. */
static bool long_enough(const struct analysis *a, double tail, uint64_t *ret_needed)
{
    const struct serving_options *o = a->options;
    struct serving_plan plan = serving_plan(o->arrivals, o->rate, &o->subject, tail, 0, a->count);
    double shortest = INFINITY;

    *ret_needed = plan.requests * a->count;
    for (size_t r = 0; r < a->count; r++)
        shortest = fmin(shortest,
                        (double)(a->trials[r].schedule->window_ns - warmup_ns(a, &a->trials[r])));
    /* A window that holds the requests of the plan may be a little shorter than on average. */
    return plan.known && a->result->windows >= 0.9 * SERVING_WINDOW / tail &&
           shortest * 1e-9 >= 0.8 * SERVING_WINDOW_TRIAL * a->relaxation_s;
}

/* ---- percentiles ---- */

/* `ret_unknown`: answers whose value is not known, or only between two. */
static size_t collect_values(const struct analysis *a, enum serving_metric metric,
                             size_t *ret_unknown)
{
    size_t n = 0;

    *ret_unknown = 0;

    for (size_t r = 0; r < a->count; r++) {
        const struct serving_trial *trial = &a->trials[r];
        const int64_t from = warmup_ns(a, trial);

        for (size_t i = 0; i < trial->schedule->count; i++) {
            struct serving_value v;

            if (trial->requests[i].scheduled_ns < from)
                continue;
            v = serving_value_of(&trial->requests[i], metric, trial->until_ns);
            if (v.state == VALUE_KNOWN)
                a->values[n++] = (double)v.ns;
            else if (v.state == VALUE_AT_LEAST) /* above every level that matters: it is not over */
                a->values[n++] = INFINITY;
            *ret_unknown += trial->requests[i].status == REQUEST_OK &&
                            (v.state == VALUE_UNKNOWN || v.state == VALUE_BETWEEN);
        }
        a->ends[r] = n;
    }
    return n;
}

static double or_nan(double x)
{
    return isfinite(x) ? x : NAN;
}

static enum status find_percentiles(const struct analysis *a, enum serving_metric metric,
                                    struct error *err)
{
    size_t unknown, count = collect_values(a, metric, &unknown);
    struct exceedance e;

    TRY(exceedance_init(a->values, a->ends, a->count, a->trace, &e, err));
    for (size_t q = 0; q < SERVING_PERCENTILES; q++) {
        struct percentile_result *p = &a->result->percentiles[metric][q];
        double tail = 1 - serving_percentile[q];

        *p = (struct percentile_result){PERCENTILE_NONE, NAN, NAN, NAN, 0};
        if (count == 0 || unknown > count / 9)
            continue;
        exceedance_quantile(&e, tail, t_quantile(a, e.batches), &p->value, &p->lo, &p->hi);
        p->value = or_nan(p->value);
        p->state = isfinite(p->hi) ? PERCENTILE_GIVEN : PERCENTILE_OPEN;
        p->hi = or_nan(p->hi);
        p->lo = or_nan(p->lo);
        if (!long_enough(a, tail, &p->needed_requests) ||
            a->result->queue.verdict == QUEUE_GROWING) {
            p->state = PERCENTILE_REFUSED;
            p->lo = p->hi = NAN;
        } else {
            p->needed_requests = 0;
        }
    }
    exceedance_finish(&e);
    return STATUS_OK;
}

/* ---- the limits ---- */

/* Requests outside of the limits: `most` counts the undecided. */
static void collect_scores(const struct analysis *a, bool most)
{
    size_t n = 0;

    for (size_t r = 0; r < a->count; r++) {
        const struct serving_trial *trial = &a->trials[r];
        const int64_t from = warmup_ns(a, trial);

        for (size_t i = 0; i < trial->schedule->count; i++) {
            double upper, score;

            if (trial->requests[i].scheduled_ns < from)
                continue;
            score =
                serving_score(&trial->requests[i], &a->options->limits, trial->until_ns, &upper);
            a->values[n++] = most ? upper : score;
        }
        a->ends[r] = n;
    }
}

/* Share that misses and its interval, from the scores. */
static enum status share_missed(const struct analysis *a, bool most, double *ret_share,
                                double *ret_lo, double *ret_hi, struct error *err)
{
    struct slo_result *slo = &a->result->slo;
    struct exceedance e;
    double dispersion;
    enum status status;

    collect_scores(a, most);
    status = exceedance_init(a->values, a->ends, a->count, a->trace, &e, err);
    if (status != STATUS_OK)
        return status;
    dispersion = exceedance_dispersion(&e, 1, ret_share);
    slo->dispersion = fmax(slo->dispersion, dispersion);
    if (e.count > 0)
        exceedance_interval(
            *ret_share, exceedance_effective((double)e.count, dispersion, e.batches, a->confidence),
            a->confidence, ret_lo, ret_hi);
    exceedance_finish(&e);
    return STATUS_OK;
}

/* The largest number of misses with which a share below `tail` would be claimed. */
static int64_t early_stopping(double count, double tail)
{
    int64_t lo = -1, hi = (int64_t)(count * tail) + 1;

    while (hi - lo > 1) {
        int64_t middle = lo + (hi - lo) / 2;

        if (binomial_cdf((double)middle, count, tail) <= 0.01)
            lo = middle;
        else
            hi = middle;
    }
    return lo;
}

/* More requests than so far, that the interval excludes the limit if the share stays as it is. */
static uint64_t requests_to_decide(const struct analysis *a, double missed, double tail)
{
    double apart = fmax(fabs(missed - tail), tail / 10), t = t_quantile(a, EXCEEDANCE_BATCHES);

    return (uint64_t)fmin(t * t * a->result->slo.dispersion * tail * (1 - tail) / (apart * apart),
                          1e15);
}

static void judge_limits(const struct analysis *a, double tail)
{
    const struct serving_result *result = a->result;
    struct slo_result *slo = &a->result->slo;
    const double n = (double)result->totals.requests;
    uint64_t needed = 0;
    double lo, hi;

    slo->verdict = SLO_INCONCLUSIVE;
    exceedance_interval(slo->failures,
                        exceedance_effective(n, 1, EXCEEDANCE_BATCHES, a->confidence),
                        a->confidence, &lo, &hi);
    if (result->load.verdict != LOAD_DELIVERED) {
        slo->reason = SLO_REASON_LOAD;
    } else if (result->queue.verdict == QUEUE_GROWING) {
        slo->verdict = SLO_MISSES;
        slo->reason = SLO_REASON_GROWING;
    } else if (lo > a->options->limits.failures) {
        slo->verdict = SLO_MISSES;
        slo->reason = SLO_REASON_FAILURES;
    } else if (a->trace && a->count < 3) {
        slo->reason = SLO_REASON_TRIALS;
    } else if (!a->trace && !isfinite(a->relaxation_s)) {
        slo->reason = SLO_REASON_UNPLANNED;
    } else if (!a->trace && !long_enough(a, tail, &needed)) {
        slo->reason = SLO_REASON_SHORT;
        slo->needed_requests = needed;
    } else if (1 - slo->lo <= tail && slo->failures <= a->options->limits.failures) {
        slo->verdict = SLO_MEETS;
    } else if (1 - slo->hi > tail) {
        slo->verdict = SLO_MISSES;
    } else if (1 - slo->least > tail && 1 - slo->most <= tail) {
        slo->reason = SLO_REASON_UNDECIDED;
    } else {
        slo->reason = SLO_REASON_SHARE;
        slo->needed_requests = requests_to_decide(a, 1 - slo->attainment, tail);
    }
}

static enum status find_limits(const struct analysis *a, struct error *err)
{
    const struct serving_totals *totals = &a->result->totals;
    struct slo_result *slo = &a->result->slo;
    const double n = (double)totals->requests, tail = 1 - a->options->limits.attain;
    double missed = 0, most, lo = 0, hi = 1, unused;
    enum status status;

    *slo = (struct slo_result){.reason = SLO_REASON_NO_LIMITS,
                               .attainment = NAN,
                               .least = NAN,
                               .most = NAN,
                               .lo = NAN,
                               .hi = NAN,
                               .goodput = NAN,
                               .dispersion = NAN,
                               .mlperf_allowed = -1};
    slo->failures = (double)(totals->failed + totals->refused + totals->timed_out) / n;
    if (!(a->options->limits.attain > 0))
        return STATUS_OK;
    slo->reason = SLO_REASON_NONE;
    status = share_missed(a, false, &missed, &lo, &hi, err);
    most = missed;
    if (status == STATUS_OK && totals->undecided > 0)
        status = share_missed(a, true, &most, &unused, &hi, err);
    if (status != STATUS_OK)
        return status;
    slo->most = 1 - missed;
    slo->least = 1 - most;
    slo->lo = 1 - hi;
    slo->hi = 1 - lo;
    slo->attainment = (slo->least + slo->most) / 2;
    slo->goodput = (double)totals->met / ((double)totals->span_ns * 1e-9);
    slo->mlperf_allowed = early_stopping(n, tail);
    slo->mlperf_passes = n - (double)totals->met <= (double)slo->mlperf_allowed;
    judge_limits(a, tail);
    return STATUS_OK;
}

/* ---- all of it ---- */

static enum status check(const struct serving_trial *trials, size_t count,
                         const struct serving_options *o, struct error *err)
{
    bool limited = false;

    if (count == 0 || count > SERVING_TRIALS_MAX)
        return error_set(err, STATUS_INVALID, "%zu trials under load; 1 to %d can be analysed",
                         count, SERVING_TRIALS_MAX);
    for (size_t r = 0; r < count; r++)
        if (!trials[r].schedule || trials[r].schedule->count < 2 || !trials[r].requests)
            return error_set(err, STATUS_INVALID, "trial %zu has no requests", r + 1);
    for (int m = 0; m < SERVING_METRIC_COUNT; m++)
        limited = limited || o->limits.ns[m] > 0;
    if (o->limits.attain != 0 && !(o->limits.attain > 0 && o->limits.attain < 1 && limited))
        return error_set(err, STATUS_INVALID,
                         "limits: attain must be between 0 and 1, of at least one limit");
    if (!(o->limits.failures >= 0 && o->limits.failures <= 1))
        return error_set(err, STATUS_INVALID, "limits: failures must be from 0 to 1");
    if (o->confidence != 0 && !(o->confidence > 0 && o->confidence < 1))
        return error_set(err, STATUS_INVALID, "confidence must be between 0 and 1");
    return STATUS_OK;
}

static void sum_up(struct analysis *a)
{
    struct serving_result *result = a->result;
    double seconds;

    for (size_t r = 0; r < a->count; r++)
        serving_totals_add(&a->trials[r], &a->options->limits, warmup_ns(a, &a->trials[r]),
                           &result->totals);
    seconds = (double)result->totals.span_ns * 1e-9;
    result->prompt_tokens_per_s = (double)result->totals.prompt_tokens / seconds;
    result->output_tokens_per_s = (double)result->totals.output_tokens / seconds;
    result->windows = or_nan(seconds / a->relaxation_s);
}

static enum status run(struct analysis *a, struct error *err)
{
    const struct serving_options *o = a->options;
    double tail = o->limits.attain > 0 ? 1 - o->limits.attain : 0.01;

    a->result->plan = serving_plan(o->arrivals, o->rate, &o->subject, tail, 0, a->count);
    sum_up(a);
    TRY(serving_check_load(a->trials, a->count, o, &a->result->load, err));
    TRY(serving_check_queue(a->trials, a->count, o, &a->result->queue, err));
    TRY(find_limits(a, err));
    for (int m = 0; m < SERVING_METRIC_COUNT; m++)
        TRY(find_percentiles(a, (enum serving_metric)m, err));
    return STATUS_OK;
}

/* Without the memory for values. */
static struct analysis begin(const struct serving_trial *trials, size_t count,
                             const struct serving_options *options, struct serving_result *result)
{
    const bool trace = options->arrivals->process == ARRIVAL_TRACE;

    return (struct analysis){
        trials,
        count,
        options,
        result,
        options->confidence > 0 ? options->confidence : 0.95,
        trace ? NAN : serving_relaxation_s(options->arrivals, options->rate, &options->subject),
        trace,
        NULL,
        NULL};
}

struct serving_totals serving_trial_totals(const struct serving_trial *trial,
                                           const struct serving_options *options)
{
    const struct analysis a = begin(trial, 1, options, NULL);
    struct serving_totals totals = {0};

    serving_totals_add(trial, &options->limits, warmup_ns(&a, trial), &totals);
    return totals;
}

enum status serving_analyze(const struct serving_trial *trials, size_t count,
                            const struct serving_options *options, struct serving_result *ret,
                            struct error *err)
{
    struct serving_result result = {.version = SERVING_VERSION, .trials = count};
    struct analysis a = begin(trials, count, options, &result);
    enum status status = check(trials, count, options, err);
    size_t all = 0;

    if (status != STATUS_OK)
        return status;
    for (size_t r = 0; r < count; r++)
        all += trials[r].schedule->count;
    result.rate = arrivals_mean_rate(options->arrivals, options->rate);
    result.confidence = a.confidence;
    a.values = malloc(all * sizeof(*a.values));
    a.ends = malloc(count * sizeof(*a.ends));
    status = a.values && a.ends ? run(&a, err) : error_no_memory(err);
    free(a.values);
    free(a.ends);
    if (status == STATUS_OK)
        *ret = result;
    return status;
}
