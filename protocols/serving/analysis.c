#include "protocols/serving/analysis.h"

#include <math.h>
#include <stdlib.h>

#include "harness/core/cleanup.h"
#include "protocols/serving/exceedance.h"
#include "protocols/stats/distribution.h"
#include "protocols/stats/order.h"
#include "protocols/stats/special.h"

/* ---- the load ---- */

#define GAPS_LEAST 100
#define GAPS_MAX 200000 /* of all trials together: what is beyond is not tested */
#define LAGS 20
#define BIN 50 /* arrivals expected in a bin of counts */
/* Of all four tests of a cell together, by Bonferroni. */
#define FALSE_ALARMS 0.005
#define LATE_SHARE 0.001

/* Upper tail of chi squared; Wilson and Hilferty's cube root (PNAS 17 (1931)) for many degrees. */
static double chi_squared_upper(double x, double df)
{
    double variance = 2 / (9 * df);

    if (df <= 1000)
        return exp(special_gamma_upper_log(df / 2, x / 2));
    return normal_upper((cbrt(x / df) - (1 - variance)) / sqrt(variance));
}

static double two_sided(double p)
{
    return fmin(1, 2 * fmin(p, 1 - p));
}

/* Kolmogorov's limiting distribution with Stephens' correction (JRSS B 32 (1970)). Sorts. */
static double p_of_gaps(double *gaps, size_t count)
{
    double n = (double)count, largest = 0, x, p = 0, sign = 1;

    order_sort_real(gaps, count);
    for (size_t i = 0; i < count; i++) {
        double cdf = -expm1(-gaps[i]);

        largest = fmax(largest, fmax(cdf - (double)i / n, (double)(i + 1) / n - cdf));
    }
    x = largest * (sqrt(n) + 0.12 + 0.11 / sqrt(n));
    if (x < 0.3)
        return 1;
    for (int k = 1; k <= 100; k++, sign = -sign)
        p += 2 * sign * exp(-2 * k * k * x * x);
    return fmin(fmax(p, 0), 1);
}

/* Ljung and Box (Biometrika 65 (1978)) of the gaps' normal scores, centred: another distribution of
 * the gaps is not another order. Overwrites the gaps. */
static double ljung_box(double *gaps, size_t count)
{
    double n = (double)count, mean = 0, variance = 0, sum = 0;

    for (size_t i = 0; i < count; i++) {
        gaps[i] = normal_quantile(fmin(fmax(-expm1(-gaps[i]), 1e-12), 1 - 1e-12));
        mean += gaps[i] / n;
    }
    for (size_t i = 0; i < count; i++) {
        gaps[i] -= mean;
        variance += gaps[i] * gaps[i];
    }
    for (size_t lag = 1; lag <= LAGS; lag++) {
        double product = 0;

        for (size_t i = lag; i < count; i++)
            product += gaps[i] * gaps[i - lag];
        product /= variance;
        sum += product * product / (n - (double)lag);
    }
    return n * (n + 2) * sum;
}

/* Sum of squared deviations of the counts in equal bins, by their mean; *ret_df is 0 for too few.
 */
static double count_dispersion(const double *gaps, size_t count, double *ret_df)
{
    size_t bins = count / BIN, bin = 0, in_bin = 0;
    double total = 0, at = 0, sum = 0, mean;

    *ret_df = 0;
    if (bins < 2)
        return 0;
    for (size_t i = 0; i < count; i++)
        total += gaps[i];
    mean = (double)count / (double)bins;
    for (size_t i = 0; i < count; i++) {
        at += gaps[i];
        while (at > total * (double)(bin + 1) / (double)bins && bin + 1 < bins) {
            sum += ((double)in_bin - mean) * ((double)in_bin - mean);
            in_bin = 0;
            bin++;
        }
        in_bin++;
    }
    sum += ((double)in_bin - mean) * ((double)in_bin - mean);
    *ret_df = (double)bins - 1;
    return sum / mean;
}

static int64_t lag_limit_ns(const struct serving_options *options)
{
    return options->lag_limit_ns > 0 ? options->lag_limit_ns : 1000000;
}

/*
 * Sent times of a trial, ascending, and their gaps in operational time; returns how many gaps. What
 * was sent no later than the limit admits was sent at its time: of a process with bursts a tenth of
 * the gaps is shorter than sending takes.
 */
static size_t rescaled_gaps(const struct serving_trial *trial,
                            const struct serving_options *options, int64_t *sent, double *gaps)
{
    size_t count = 0;

    for (size_t i = 0; i < trial->schedule->count; i++) {
        const struct request *r = &trial->requests[i];
        const int64_t lag = r->sent_ns == REQUEST_NEVER ? 0 : r->sent_ns - r->scheduled_ns;

        if (r->sent_ns != REQUEST_NEVER)
            sent[count++] = lag > 0 && lag <= lag_limit_ns(options) ? r->scheduled_ns : r->sent_ns;
    }
    order_sort(sent, count);
    if (count < GAPS_LEAST + 1 ||
        !arrivals_rescale(options->arrivals, options->rate, trial->seed, sent, count, gaps))
        return 0;
    return count - 1;
}

/* The four tests; of the gaps of the first trials, up to GAPS_MAX. */
static void test_process(const struct serving_trial *trials, size_t count,
                         const struct serving_options *options, int64_t *sent, double *gaps,
                         struct load_result *ret)
{
    double sum = 0, lags = 0, box = 0, dispersion = 0, degrees = 0, df;
    size_t all = 0;
    double *scratch = gaps + GAPS_MAX;

    for (size_t r = 0; r < count; r++) {
        size_t n = rescaled_gaps(&trials[r], options, sent, scratch);

        n = n < GAPS_MAX - all ? n : GAPS_MAX - all;
        if (n < GAPS_LEAST)
            continue;
        for (size_t i = 0; i < n; i++) {
            sum += scratch[i];
            gaps[all + i] = scratch[i];
        }
        all += n;
        dispersion += count_dispersion(scratch, n, &df);
        degrees += df;
        box += ljung_box(scratch, n);
        lags += LAGS;
    }
    if (all == 0)
        return;
    ret->p_rate = two_sided(normal_cdf((sum - (double)all) / sqrt((double)all)));
    ret->p_independence = chi_squared_upper(box, lags);
    if (degrees > 0)
        ret->p_dispersion = two_sided(chi_squared_upper(dispersion, degrees));
    ret->p_gaps = p_of_gaps(gaps, all);
}

static void count_requests(const struct serving_trial *trial, const struct serving_options *options,
                           int64_t limit_ns, uint64_t *late, double *lags, size_t *sent,
                           struct load_result *ret)
{
    for (size_t i = 0; i < trial->schedule->count; i++) {
        const struct scheduled_request *planned = &trial->schedule->requests[i];
        const struct request *r = &trial->requests[i];

        /* A refused request that was never sent met a full ring: that is the subject's doing. */
        ret->requests++;
        ret->mismatched +=
            r->scheduled_ns != planned->at_ns || (r->prompt_tokens != planned->prompt_tokens &&
                                                  r->prompt_tokens > 0 && !options->prompts_told);
        if (r->sent_ns == REQUEST_NEVER) {
            ret->not_sent++;
            *late += r->status != REQUEST_REFUSED;
            continue;
        }
        ret->early += r->sent_ns < r->scheduled_ns;
        *late += r->sent_ns - r->scheduled_ns > limit_ns;
        lags[(*sent)++] = (double)(r->sent_ns - r->scheduled_ns);
    }
}

static void judge_load(struct load_result *ret)
{
    const double least = fmin(fmin(ret->p_rate, ret->p_gaps),
                              fmin(ret->p_independence, ret->p_dispersion)); /* passes NaN over */

    if (ret->mismatched > 0 || ret->early > 0)
        ret->verdict = LOAD_NOT_AS_DECLARED;
    else if (ret->late_share > LATE_SHARE)
        ret->verdict = LOAD_LATE;
    else
        ret->verdict = 4 * least < FALSE_ALARMS ? LOAD_NOT_AS_DECLARED : LOAD_DELIVERED;
}

/* Was the declared load delivered? NO_MEMORY. */
static enum status serving_check_load(const struct serving_trial *trials, size_t count,
                                      const struct serving_options *options,
                                      struct load_result *ret, struct error *err)
{
    const int64_t limit_ns = lag_limit_ns(options);
    size_t all = 0, longest = 0, sent = 0;
    uint64_t late = 0;
    double *lags, *gaps;
    int64_t *times;

    for (size_t r = 0; r < count; r++) {
        all += trials[r].schedule->count;
        longest = trials[r].schedule->count > longest ? trials[r].schedule->count : longest;
    }
    lags = malloc(all * sizeof(*lags));
    times = malloc(longest * sizeof(*times));
    gaps = malloc((GAPS_MAX + longest) * sizeof(*gaps));
    *ret = (struct load_result){.lag_p999_ns = NAN,
                                .p_rate = NAN,
                                .p_gaps = NAN,
                                .p_independence = NAN,
                                .p_dispersion = NAN};
    if (lags && times && gaps) {
        for (size_t r = 0; r < count; r++)
            count_requests(&trials[r], options, limit_ns, &late, lags, &sent, ret);
        ret->late_share = (double)late / (double)all;
        if (sent > 0)
            ret->lag_p999_ns = order_select(lags, sent, order_quantile_index(sent, 0.999));
        test_process(trials, count, options, times, gaps, ret);
        judge_load(ret);
    }
    all = lags && times && gaps;
    free(lags);
    free(times);
    free(gaps);
    return all ? STATUS_OK : error_no_memory(err);
}

/* ---- the queue ---- */

#define PARTS 8         /* observations of growth, at least */
#define CONFIDENCE 0.99 /* of the interval of growth: 0.5 % on either side */
#define KEEPS_UP 0.01   /* growth below which departures keep up */
#define GROWS 0.005     /* growth that is more than the rest of a long relaxation */

/* Ends of the requests' times in the system, ascending; one that is still there never ends. */
static size_t collect_ends(const struct serving_trial *trial, int64_t *ends)
{
    size_t count = 0;

    for (size_t i = 0; i < trial->schedule->count; i++) {
        const struct request *r = &trial->requests[i];

        if (r->status != REQUEST_UNFINISHED)
            ends[count++] = r->done_ns == REQUEST_NEVER ? r->scheduled_ns : r->done_ns;
    }
    order_sort(ends, count);
    return count;
}

static size_t ended_by(const int64_t *ends, size_t count, int64_t at_ns)
{
    size_t lo = 0, hi = count;

    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;

        if (ends[middle] > at_ns)
            hi = middle;
        else
            lo = middle + 1;
    }
    return lo;
}

/* Growth of the backlog per arrival in `parts` pieces of the second half; returns the backlog. */
static double add_growth(const struct serving_trial *trial, size_t parts, int64_t *ends,
                         double *growth, double *ret_area)
{
    const struct schedule *s = trial->schedule;
    size_t count = collect_ends(trial, ends), first = s->count / 2;
    double before = 0, area = 0;

    for (size_t k = 0; k <= parts; k++) {
        /* Just before an arrival, which all later ones are compared with. */
        size_t arrived = first + (s->count - first) * k / parts;
        int64_t at_ns = arrived < s->count ? s->requests[arrived].at_ns : s->window_ns;
        double backlog = (double)arrived - (double)ended_by(ends, count, at_ns - 1);

        if (k > 0) {
            size_t arrivals = arrived - (first + (s->count - first) * (k - 1) / parts);

            growth[k - 1] = arrivals > 0 ? (backlog - before) / (double)arrivals : 0;
        }
        before = backlog;
    }
    for (size_t i = 0; i < s->count; i++)
        area += (double)(s->window_ns - s->requests[i].at_ns);
    for (size_t i = 0; i < count && ends[i] < s->window_ns; i++)
        area -= (double)(s->window_ns - ends[i]);
    *ret_area = s->window_ns > 0 ? area / (double)s->window_ns : 0;
    return before;
}

static void judge_growth(const double *growth, size_t count, struct queue_result *ret)
{
    double mean = 0, squares = 0, half;

    for (size_t i = 0; i < count; i++)
        mean += growth[i] / (double)count;
    for (size_t i = 0; i < count; i++)
        squares += (growth[i] - mean) * (growth[i] - mean);
    half = student_quantile(0.5 + CONFIDENCE / 2, (double)count - 1) *
           sqrt(squares / (double)(count - 1) / (double)count);
    ret->growth = mean;
    ret->growth_lo = mean - half;
    ret->growth_hi = mean + half;
    if (ret->growth_lo > 0 && mean >= GROWS)
        ret->verdict = QUEUE_GROWING;
    else if (ret->growth_lo <= 0 && ret->growth_hi < KEEPS_UP)
        ret->verdict = QUEUE_STABLE;
    else
        ret->verdict = QUEUE_UNDETERMINED;
}

/* Do departures keep up with arrivals? NO_MEMORY. */
static enum status serving_check_queue(const struct serving_trial *trials, size_t count,
                                       const struct serving_options *options,
                                       struct queue_result *ret, struct error *err)
{
    const size_t parts = count >= PARTS ? 1 : (PARTS + count - 1) / count;
    AUTO_FREE double *growth = calloc(parts * count, sizeof(*growth));
    struct queue_result result = {0};
    size_t longest = 0;
    AUTO_FREE int64_t *ends = NULL;

    for (size_t r = 0; r < count; r++)
        longest = trials[r].schedule->count > longest ? trials[r].schedule->count : longest;
    ends = malloc(longest * sizeof(*ends) + 1);
    if (!growth || !ends)
        return error_no_memory(err);
    for (size_t r = 0; r < count; r++) {
        double area, mean;
        bool equal = false;

        result.backlog_end +=
            add_growth(&trials[r], parts, ends, growth + r * parts, &area) / (double)count;
        result.backlog += area / (double)count;
        TRY(serving_audit(&trials[r], &equal, &mean, err));
        result.audit_failed += !equal;
    }
    judge_growth(growth, parts * count, &result);
    /* The arrivals of a trace are not stationary: its backlog says nothing of another hour. */
    if (options->arrivals->process == ARRIVAL_TRACE)
        result.verdict = QUEUE_UNDETERMINED;
    *ret = result;
    return STATUS_OK;
}

/* ---- all of one rate ---- */

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

    collect_scores(a, most);
    TRY(exceedance_init(a->values, a->ends, a->count, a->trace, &e, err));
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
    TRY(share_missed(a, false, &missed, &lo, &hi, err));
    most = missed;
    if (totals->undecided > 0)
        TRY(share_missed(a, true, &most, &unused, &hi, err));
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

    TRY(status);
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
