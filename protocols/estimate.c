#include "protocols/estimate.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "protocols/compare.h"
#include "protocols/stats/autocovariance.h"
#include "protocols/stats/clock_step.h"
#include "protocols/stats/days.h"
#include "protocols/stats/distribution.h"
#include "protocols/stats/mean_interval.h"
#include "protocols/stats/order.h"
#include "protocols/stats/succession.h"
#include "protocols/steady_state.h"

/* A trial while it is analysed; `used` points into the caller's samples. */
struct estimate_part {
    struct steady_state state;
    const int64_t *used; /* what its mean is of: the steady part, or the window; NULL: none */
    size_t used_count;
    double log_mean;    /* of the used samples' mean; NAN without any */
    double log_error;   /* its relative standard error; NAN when unknown */
    double log_squares; /* squares of log times about their mean */
};

/* ---- findings ---- */

/* Outliers above this share of a trial are reported as a finding. */
#define OUTLIERS_WORTH_SAYING 0.01
#define TRIALS_FOR_EVIDENCE 5

static bool estimate_has_one_distribution(const struct estimate *e,
                                          const struct estimate_part *part);
static double estimate_between(const double *logs, size_t count, double confidence, double tick,
                               struct estimate_interval *ret);
static double estimate_tick(const struct estimate_part *parts, size_t trial_count);

/* Where steady state begins, if that is after the declared warmup. */
static void add_late_warmup(struct finding_list *list, const struct estimate_series *series,
                            const struct steady_state *state, const struct estimate_trial *trial)
{
    if (trial->steady_from > series->first)
        finding_add(list, FINDING_LATE_WARMUP, trial->number, NULL,
                    (double[]){(double)trial->steady_from, state->change});
}

static void add_levels(struct finding_list *list, const struct steady_state *state, int64_t number)
{
    const struct two_state *s = &state->states;
    const double low = exp(s->low), high = exp(s->high), changes = (double)s->transitions;

    if (s->levels > 2)
        finding_add(list, FINDING_SEVERAL_LEVELS, number, NULL,
                    (double[]){(double)s->levels, low, high, changes});
    else
        finding_add(list, FINDING_BIMODAL, number, NULL,
                    (double[]){low, high, s->high_share, changes});
}

static void add_of_verdict(struct finding_list *list, const struct estimate_series *series,
                           const struct estimate_part *part, const struct estimate_trial *trial)
{
    const struct steady_state *state = &part->state;
    const int64_t number = trial->number;

    switch (trial->verdict) {
    case ESTIMATE_WARMUP:
    case ESTIMATE_SLOWDOWN:
        add_late_warmup(list, series, state, trial);
        if (state->remainder > 0)
            finding_add(list, FINDING_WARMUP_REMAINDER, number, NULL, (double[]){state->remainder});
        break;
    case ESTIMATE_DRIFT:
        finding_add(list, FINDING_DRIFT, number, NULL, (double[]){state->change});
        break;
    case ESTIMATE_BIMODAL:
        if (!state->states.found)
            add_late_warmup(list, series, state, trial);
        add_levels(list, state, number);
        break;
    case ESTIMATE_NON_STATIONARY:
        finding_add(list, FINDING_CHANGE_POINT, number, NULL, (double[]){state->change});
        break;
    case ESTIMATE_INSUFFICIENT:
        if (part->used_count < STEADY_STATE_LEAST)
            finding_add(list, FINDING_FEW_SAMPLES, number, NULL,
                        (double[]){(double)part->used_count, STEADY_STATE_LEAST});
        else
            finding_add(list, FINDING_AUTOCORRELATED, number, NULL,
                        (double[]){trial->ess, (double)part->used_count});
        break;
    case ESTIMATE_UNDETERMINED:
        if (state->states.levels > 0)
            finding_add(list, FINDING_FEW_VALUES, number, NULL,
                        (double[]){(double)state->states.levels, exp(state->states.low),
                                   exp(state->states.high), (double)state->resolution_ns});
        if (state->root_distance > 0)
            finding_add(
                list, FINDING_UNIT_ROOT, number, NULL,
                (double[]){state->root_distance, STEADY_STATE_UNIT_ROOT, (double)part->used_count});
        break;
    default:
        break;
    }
    if (state->disturbed > 0 && trial->has_steady)
        finding_add(list, FINDING_DISTURBED, number, NULL,
                    (double[]){state->disturbed, state->disturbance});
    if (state->memory_order > 0)
        finding_add(list, FINDING_LONG_MEMORY, number, NULL, (double[]){state->memory_order});
}

static void add_of_samples(struct finding_list *list, const struct estimate_series *series,
                           const struct estimate_part *part, int64_t number,
                           const struct estimate_options *options)
{
    const struct steady_state *state = &part->state;
    double level, count = (double)series->count;

    if (series->count == 0)
        return;
    level = (double)series->sample_ns[series->count - 1];
    if (series->count >= STEADY_STATE_LEAST && state->resolution_ns == 0)
        finding_add(list, FINDING_CONSTANT_SAMPLES, number, NULL, (double[]){count, level});
    else if (series->count >= STEADY_STATE_LEAST &&
             (double)state->resolution_ns > options->steady_tolerance * level)
        finding_add(list, FINDING_COARSE_TIMER, number, NULL,
                    (double[]){(double)state->resolution_ns, (double)state->resolution_ns / level});
    if ((double)state->impulses > OUTLIERS_WORTH_SAYING * count)
        finding_add(list, FINDING_OUTLIERS, number, NULL,
                    (double[]){(double)state->impulses, count});
}

static void add_of_cell(struct finding_list *list, const struct estimate *e,
                        const struct estimate_part *parts, const struct estimate_options *options)
{
    const struct metric_value *mean = &e->metrics[METRIC_ITERATION_TIME];
    size_t fewest = SIZE_MAX, with = 0, only = 0, i;
    bool between;

    for (i = 0; i < e->trial_count; i++) {
        if (parts[i].used_count > 0 && parts[i].used_count < fewest)
            fewest = parts[i].used_count;
        with += parts[i].used_count > 0;
        only = parts[i].used_count > 0 ? i : only;
    }
    between = with > 1;
    if (mean->has_value && !mean->has_interval)
        finding_add(list, FINDING_NO_INTERVAL, 0, NULL, NULL);
    if (e->trial_count == 1)
        finding_add(list, FINDING_ONE_TRIAL, 0, NULL, (double[]){TRIALS_FOR_EVIDENCE});
    else if (e->trial_count < TRIALS_FOR_EVIDENCE)
        finding_add(list, FINDING_FEW_TRIALS, 0, NULL,
                    (double[]){(double)e->trial_count, TRIALS_FOR_EVIDENCE});
    /* All of them on one level of two: (1 - share)^trials = 5 %. */
    if (between)
        finding_add(list, FINDING_UNSEEN_LEVELS, 0, NULL,
                    (double[]){(double)with, 1 - pow(0.05, 1 / (double)with)});
    if (e->needed_trials > 0 && mean->has_interval)
        finding_add(list, FINDING_IMPRECISE, 0, NULL,
                    (double[]){metric_half_width(mean), (double)e->needed_trials, options->margin});
    for (i = 0; i < options->percentile_count; i++) {
        enum metric_id id = metric_of_quantile(options->percentiles[i]);
        const struct metric_value *p = &e->metrics[id];

        if (!p->has_value && between)
            finding_add(list, FINDING_PERCENTILE_TRIALS, 0, metrics[id].label,
                        (double[]){(double)p->needed, (double)fewest});
        else if (!p->has_value)
            finding_add(list, FINDING_PERCENTILE_NEEDS, 0, metrics[id].label,
                        (double[]){(double)order_needed(metrics[id].q), (double)p->needed,
                                   (double)parts[only].used_count});
        else if (!p->has_interval && (between || estimate_has_one_distribution(e, &parts[only])))
            finding_add(list,
                        between || parts[only].state.resolution_ns == 0 ? FINDING_PERCENTILE_ALIKE
                                                                        : FINDING_PERCENTILE_OPEN,
                        0, metrics[id].label, NULL);
    }
}

/* What a reader must know of the trials and the cell. NO_MEMORY. */
static enum status estimate_add_findings(const struct estimate_series *series,
                                         const struct estimate_part *parts,
                                         const struct estimate_options *options, struct estimate *e,
                                         struct error *err)
{
    size_t i;

    for (i = 0; i < e->trial_count; i++) {
        add_of_verdict(&e->findings, &series[i], &parts[i], &e->trials[i]);
        add_of_samples(&e->findings, &series[i], &parts[i], e->trials[i].number, options);
    }
    add_of_cell(&e->findings, e, parts, options);
    if (e->findings.failed)
        return error_no_memory(err);
    return STATUS_OK;
}

/* ---- percentiles within one trial ---- */

/*
 * Exceedances that it takes to see how they cluster. For a percentile with fewer, the less extreme
 * one that has this many is looked at, too, and the worse of both counts: otherwise the series
 * whose few exceedances happen to lie apart would pass, and their intervals be too short.
 */
#define EXCEEDANCES_LEAST 50

/* Samples that are the value itself count as above, too, from this share of the tail on. */
#define TIES_MOST 0.05

/* The number of independent samples that a percentile's samples are equivalent to. */
struct worth {
    double refusal;  /* by autocorrelation alone */
    double interval; /* with the uncertainty of its estimate */
};

/*
 * Takes what the indicator x > value (or x >= value) says of the share above into `ret`, which is
 * the least of all that were taken. With a coarse clock many samples are the value itself, and the
 * two are not one: where hardly any lie above it, x > value says nothing of the many below, which
 * may come in long runs.
 */
static enum status take_exceedance(const int64_t *used, size_t count, int64_t value, bool inclusive,
                                   double confidence, double *work, struct worth *ret,
                                   struct error *err)
{
    const double z = normal_quantile(0.5 + 0.5 * confidence), n = (double)count;
    struct mean_interval share;
    enum status status;

    for (size_t t = 0; t < count; t++)
        work[t] = used[t] > value || (inclusive && used[t] == value);
    status = mean_interval(work, count, confidence, &share, err);
    if (status)
        return status;
    if (share.lrv_geyer > 0)
        ret->refusal = fmin(ret->refusal, n * share.variance / share.lrv_geyer);
    if (!isfinite(share.half_width))
        ret->interval = 0;
    else if (share.half_width > 0)
        ret->interval = fmin(ret->interval, share.mean * (1 - share.mean) * (z / share.half_width) *
                                                (z / share.half_width));
    return STATUS_OK;
}

/* Samples of a sorted series that are less than `value`. */
static size_t count_below(const int64_t *sorted, size_t total, int64_t value)
{
    size_t lo = 0, hi = total;

    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;

        if (sorted[middle] < value)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo;
}

static enum status find_worth(const int64_t *used, const int64_t *sorted, size_t count, double q,
                              double confidence, double *work, struct worth *ret, struct error *err)
{
    const int64_t value = sorted[order_quantile_index(count, q)];
    const size_t below = count_below(sorted, count, value);
    const size_t up_to = value == INT64_MAX ? count : count_below(sorted, count, value + 1);
    const double ties = (double)(up_to - below), tail = fmin(q, 1 - q) * (double)count;

    if (up_to < count)
        TRY(take_exceedance(used, count, value, false, confidence, work, ret, err));
    if (below > 0 && (up_to == count || (ties > 1 && ties > TIES_MOST * tail)))
        TRY(take_exceedance(used, count, value, true, confidence, work, ret, err));
    return STATUS_OK;
}

/* A percentile while it is found. */
struct percentile {
    double q;
    struct estimate_interval interval;
    uint64_t needed; /* without a value: samples that it takes, of each trial */
    bool has_gap;
    double gap[2]; /* its ends, ns, where the samples of several trials have one there */
};

/* Of a trial's samples, as they came and sorted; `work` holds as many numbers. */
static enum status find_within(const int64_t *used, const int64_t *sorted, size_t count,
                               double confidence, double tick, double *work, struct percentile *ret,
                               struct error *err)
{
    double q = ret->q, n = (double)count, tail = fmin(q, 1 - q), wider;
    struct worth worth = {n, n};
    uint64_t needed = order_needed(q);
    enum status status;
    size_t lo, hi;

    ret->needed = needed;
    if (n < (double)needed)
        return STATUS_OK;
    status = find_worth(used, sorted, count, q, confidence, work, &worth, err);
    wider = fmin(EXCEEDANCES_LEAST / n, 0.5);
    if (!status && tail < wider)
        status = find_worth(used, sorted, count, q > 0.5 ? 1 - wider : wider, confidence, work,
                            &worth, err);
    if (status)
        return status;
    if (worth.refusal < (double)needed) {
        ret->needed = (uint64_t)ceil((double)needed * n / worth.refusal);
        return STATUS_OK;
    }
    ret->interval.value = (double)sorted[order_quantile_index(count, q)];
    ret->interval.has_value = true;
    if (!isnan(tick) && worth.interval > 0 &&
        order_interval(count, worth.interval, q, confidence, &lo, &hi)) {
        ret->interval.lo = fmin((double)sorted[lo], ret->interval.value - 0.5 * tick);
        ret->interval.hi = fmax((double)sorted[hi], ret->interval.value + 0.5 * tick);
        ret->interval.has_interval = true;
    }
    return STATUS_OK;
}

/* ---- percentiles between trials ---- */

/*
 * Standard deviations of a trial's own rank about a percentile that a gap is looked for within, and
 * how many times wider than all that lies on one side of it a gap is.
 */
#define GAP_REACH 2.0
#define GAP_TIMES 2.0
/* Of the half-width, that a gap is wider than: what is narrower is lost in it. */
#define GAP_LEAST 0.25

/* Ranks of a trial's sorted samples within GAP_REACH about the percentile. */
static void ranks_about(size_t count, double q, double share, size_t *ret_from, size_t *ret_to)
{
    const double n = (double)count, reach = GAP_REACH * sqrt(q * (1 - q) / (n * share));

    *ret_from = (size_t)fmax(floor(n * (q - reach)), 0);
    *ret_to = (size_t)fmin(ceil(n * (q + reach)), n - 1);
}

/* Several trials whose percentiles are found: their sorted samples. */
struct trials {
    const struct estimate_part *parts;
    size_t count;
    const size_t *days;           /* of the campaign; NULL: not known */
    const int64_t *const *sorted; /* NULL: a trial without samples */
    double share;                 /* of the samples that independent ones would be */
    double tick;                  /* of the clock; NAN: unknown */
    double *near;                 /* as many as `near_most` */
};

/* The most samples that find_gap keeps of all trials. */
static size_t near_most(const struct trials *trials)
{
    size_t sum = 0;

    if (!(trials->share > 0))
        return 0;

    for (size_t i = 0; i < trials->count; i++) {
        const double n = (double)trials->parts[i].used_count;

        sum += n > 0 ? (size_t)fmin(2 * GAP_REACH * sqrt(0.25 * n / trials->share) + 3, n) : 0;
    }
    return sum;
}

/*
 * Whether the samples of all trials, each over its median, have a gap about the percentile: one
 * that is GAP_TIMES as wide as all that lies on one of its sides, no step of the clock, and not
 * lost in the interval between trials, whose half-width is `half` on a log scale. On which side of
 * it a trial's percentile falls is chance then, and an average of them lies where no sample does.
 * `ret`: the ends of the gap, ns.
 */
static bool find_gap(const struct trials *trials, double q, double half, double ret[2])
{
    double *near = trials->near, level = 0, widest = 0, wide;
    size_t count = 0, with = 0, at = 0, from, to;

    for (size_t i = 0; i < trials->count; i++) {
        const size_t n = trials->parts[i].used_count;
        double middle;

        if (n == 0)
            continue;
        middle = log(order_quantile(trials->sorted[i], n, 0.5));
        level += middle;
        with++;
        ranks_about(n, q, trials->share, &from, &to);
        for (size_t k = from; k <= to; k++)
            near[count++] = log((double)trials->sorted[i][k]) - middle;
    }
    order_sort_real(near, count);
    for (size_t k = 1; k < count; k++)
        if (near[k] - near[k - 1] > widest) {
            widest = near[k] - near[k - 1];
            at = k;
        }
    level /= (double)with;
    wide = widest / GAP_TIMES;
    if (!(widest > fmax(log1p(2 * trials->tick / exp(level)), GAP_LEAST * half)) ||
        !((at >= with && wide > near[at - 1] - near[0]) ||
          (count - at >= with && wide > near[count - 1] - near[at])))
        return false;
    ret[0] = exp(level + near[at - 1]);
    ret[1] = exp(level + near[at]);
    return true;
}

/*
 * At a gap: the middle one of the percentiles that the trials observed, and an interval that
 * reaches over the ranks of each trial, too. `values`: as many as there are trials.
 */
static void span_gap(const struct trials *trials, double q, double confidence, double *values,
                     struct estimate_interval *ret)
{
    const double half = 0.5 * trials->tick;
    size_t with = 0, lo, hi;

    for (size_t i = 0; i < trials->count; i++) {
        const size_t n = trials->parts[i].used_count;
        const int64_t *x = trials->sorted[i];

        if (n == 0)
            continue;
        order_ranks(n, (double)n * trials->share, q, confidence, &lo, &hi);
        ret->lo = fmin(ret->lo, (double)x[lo] - half);
        ret->hi = fmax(ret->hi, (double)x[hi] + half);
        values[with++] = (double)x[order_quantile_index(n, q)];
    }
    ret->value = order_select(values, with, (with - 1) / 2);
}

/*
 * The geometric mean of the trials' own percentiles, with t on their logs. An average does not lose
 * a bias that all trials have, so each is the median-unbiased estimate (type 8 of Hyndman and Fan,
 * The American Statistician 50 (1996)), and is offered only where each trial is worth enough
 * independent samples: `share` of them, by the autocorrelation of all trials. Whether the trials
 * agree plays no part: an interval that depended on it would be given for those cells whose trials
 * happen to, and cover too seldom. At a gap of the samples it is an observed one.
 */
static void find_between(const struct trials *trials, double confidence, double *logs,
                         struct percentile *ret)
{
    size_t with;

    ret->needed = (uint64_t)ceil((double)order_needed(ret->q) / trials->share);
    for (size_t i = 0; i < trials->count; i++) {
        const size_t n = trials->parts[i].used_count;

        if (n > 0 && n < ret->needed)
            return;
        logs[i] = n > 0 ? log(order_quantile(trials->sorted[i], n, ret->q)) : NAN;
    }
    with = days_join(trials->days, logs, trials->count);
    estimate_between(logs, with, confidence, trials->tick, &ret->interval);
    ret->has_gap = ret->interval.has_interval &&
                   find_gap(trials, ret->q, log(ret->interval.hi / ret->interval.value), ret->gap);
    if (ret->has_gap)
        span_gap(trials, ret->q, confidence, logs, &ret->interval);
}

/*
 * Of a cell with this one trial: false where it moves or its correlation may not die out, so that
 * its percentiles describe the window, without an interval.
 */
static bool estimate_has_one_distribution(const struct estimate *e,
                                          const struct estimate_part *part)
{
    const struct steady_state *s = &part->state;
    const bool stays = e->verdict != ESTIMATE_UNDETERMINED ||
                       (s->states.levels > 0 && !(s->root_distance > 0)); /* levels, or ticks */

    return e->verdict != ESTIMATE_DRIFT && e->verdict != ESTIMATE_NON_STATIONARY && stays &&
           !(s->memory_order > 0);
}

/* Sorts the samples of each trial into `memory`; returns how many trials have some, and the last.
 */
static size_t sort_trials(const struct estimate_part *parts, size_t count, int64_t *memory,
                          const int64_t **sorted, size_t *ret_last)
{
    size_t with = 0;

    for (size_t i = 0; i < count; i++) {
        const size_t n = parts[i].used_count;

        if (n == 0)
            continue;
        memcpy(memory, parts[i].used, n * sizeof(*memory));
        order_sort(memory, n);
        sorted[i] = memory;
        memory += n;
        *ret_last = i;
        with++;
    }
    return with;
}

/*
 * Percentiles into the metrics: of one trial by order statistics, of several by the trials' own
 * percentiles. NO_MEMORY.
 */
static enum status estimate_find_percentiles(const struct estimate_part *parts,
                                             const struct estimate_options *options,
                                             struct estimate *e, struct error *err)
{
    struct trials trials = {.parts = parts,
                            .count = e->trial_count,
                            .days = e->trial_days,
                            .tick = estimate_tick(parts, e->trial_count)};
    size_t total = 0, most = 2 * e->trial_count, with, only = 0, i;
    enum status status = STATUS_OK;
    const int64_t **sorted;
    int64_t *memory;
    double *work;

    for (i = 0; i < e->trial_count; i++) {
        total += parts[i].used_count;
        most = parts[i].used_count > most ? parts[i].used_count : most;
    }
    trials.share = e->ess / (double)total;
    memory = malloc((total + 1) * sizeof(*memory));
    trials.sorted = sorted = calloc(e->trial_count, sizeof(*sorted));
    work = malloc((most + 1) * sizeof(*work));
    trials.near = malloc((near_most(&trials) + 1) * sizeof(*trials.near));
    if (!memory || !sorted || !work || !trials.near) {
        status = error_no_memory(err);
        goto out;
    }
    with = sort_trials(parts, e->trial_count, memory, sorted, &only);
    for (i = 0; i < options->percentile_count && !status; i++) {
        struct percentile found = {.q = options->percentiles[i]};
        enum metric_id id = metric_of_quantile(found.q);

        if (with == 1) {
            status = find_within(parts[only].used, sorted[only], parts[only].used_count,
                                 options->confidence, trials.tick, work, &found, err);
            found.interval.has_interval =
                found.interval.has_interval && estimate_has_one_distribution(e, &parts[only]);
        } else if (with > 1) {
            find_between(&trials, options->confidence, work, &found);
        }
        if (found.has_gap)
            finding_add(&e->findings, FINDING_PERCENTILE_GAP, 0, metrics[id].label, found.gap);
        estimate_set_metric(e, id, &found.interval, NULL, false);
        e->metrics[id].needed = found.interval.has_value ? 0 : found.needed;
    }
out:
    free(memory);
    free(sorted);
    free(work);
    free(trials.near);
    return status;
}

/* ---- the cell ---- */

#define VERDICT_SHARE 0.2 /* of the trials: so many may be worse than the cell's verdict */

bool estimate_is_steady(const struct estimate *estimate)
{
    return estimate_verdict_is_steady(estimate->verdict);
}

struct estimate_options estimate_options_default(void)
{
    return (struct estimate_options){
        .confidence = 0.95,
        .steady_tolerance = 0.01,
        .drift_tolerance = 0.02,
        .min_ess = 1.5,
        .margin = 0.01,
        .percentiles = {0.5, 0.9, 0.95, 0.99, 0.999},
        .percentile_count = 5,
    };
}

static enum status check_options(const struct estimate_options *o, struct error *err)
{
    size_t i;

    if (!(o->confidence > 0.5 && o->confidence < 1))
        return error_set(err, STATUS_INVALID,
                         "confidence is %g; it must lie between 0.5 and 1, 0.95 say",
                         o->confidence);
    if (!(o->steady_tolerance >= 0 && o->steady_tolerance < 1) ||
        !(o->drift_tolerance >= 0 && o->drift_tolerance < 1) || !(o->margin > 0 && o->margin < 1))
        return error_set(err, STATUS_INVALID,
                         "steady tolerance %g, drift tolerance %g, margin %g: each is a share "
                         "between 0 and 1, 0.01 for one percent",
                         o->steady_tolerance, o->drift_tolerance, o->margin);
    if (!(o->min_ess >= 0 && isfinite(o->min_ess)))
        return error_set(err, STATUS_INVALID,
                         "the least effective sample size is %g; it must be 0 or more", o->min_ess);
    if (o->percentile_count > ESTIMATE_PERCENTILES_MAX)
        return error_set(err, STATUS_INVALID, "%zu percentiles asked for; at most %d can be given",
                         o->percentile_count, ESTIMATE_PERCENTILES_MAX);
    for (i = 0; i < o->percentile_count; i++) {
        if (!(o->percentiles[i] > 0 && o->percentiles[i] < 1))
            return error_set(err, STATUS_INVALID, "percentile %g is asked for; write p99 as 0.99",
                             o->percentiles[i]);
        if (metric_of_quantile(o->percentiles[i]) == METRIC_COUNT)
            return error_set(
                err, STATUS_INVALID,
                "percentile %g is not one that assay reports: choose among 0.5, 0.75, 0.9, "
                "0.95, 0.99 and 0.999",
                o->percentiles[i]);
    }
    return STATUS_OK;
}

static double squares_about(const double *logs, size_t count, double mean)
{
    double squares = 0;
    size_t i;

    for (i = 0; i < count; i++)
        squares += (logs[i] - mean) * (logs[i] - mean);
    return squares;
}

/* Whether a trial of this verdict has an interval of its own. */
static bool has_own_interval(enum estimate_verdict verdict)
{
    return estimate_verdict_is_steady(verdict) || verdict == ESTIMATE_BIMODAL ||
           verdict == ESTIMATE_UNDETERMINED;
}

static enum status analyse_used(struct estimate_part *part, struct estimate_trial *trial,
                                const struct estimate_options *options, struct error *err)
{
    size_t n = part->used_count, i;
    struct mean_interval mean;
    enum status status;
    double *values, *logs;

    values = malloc(2 * n * sizeof(*values));
    if (!values)
        return error_no_memory(err);
    logs = values + n;
    for (i = 0; i < n; i++) {
        values[i] = (double)part->used[i];
        logs[i] = log(values[i]);
    }
    status = mean_interval(values, n, options->confidence, &mean, err);
    if (status) {
        free(values);
        return status;
    }
    if (part->state.states.found)
        mean.half_width =
            fmax(mean.half_width,
                 two_state_half_width(values, logs, n, &part->state.states, options->confidence));
    mean.half_width += part->state.remainder * mean.mean;
    part->log_squares = squares_about(logs, n, series_mean(logs, n));
    if (trial->verdict != ESTIMATE_BIMODAL) {
        trial->median_ns = order_select(values, n, n / 2);
        if (n % 2 == 0)
            trial->median_ns = (trial->median_ns + order_select(values, n, n / 2 - 1)) / 2;
    }
    free(values);

    trial->ess = mean.ess;
    trial->mean_ns.value = mean.mean;
    trial->mean_ns.has_value = true;
    part->log_mean = log(mean.mean);
    part->log_error = mean.lrv_ar > 0 && isfinite(mean.lrv_ar)
                          ? sqrt(fmax(mean.lrv_ar, mean.lrv_geyer) / (double)n) / mean.mean
                          : 0;
    if (!has_own_interval(trial->verdict))
        return STATUS_OK;
    /* An undetermined one has its interval however few samples it is worth: only those that look
       better than they are would be left. */
    if (trial->verdict != ESTIMATE_UNDETERMINED && mean.ess < options->min_ess) {
        if (trial->verdict != ESTIMATE_BIMODAL)
            trial->verdict = ESTIMATE_INSUFFICIENT;
        return STATUS_OK;
    }
    if (part->state.memory_order > 0 || !isfinite(mean.half_width))
        return STATUS_OK;
    /* Rounding to the clock's ticks moves a mean by up to half a tick. All samples alike do not
       show the tick, which may be as large as they are. */
    if (part->state.resolution_ns == 0)
        return STATUS_OK;
    mean.half_width = fmax(mean.half_width, 0.5 * (double)part->state.resolution_ns);
    /* Few samples that are far longer than the rest: no time is below 0, and nothing else is sure.
     */
    trial->mean_ns.lo = fmax(mean.mean - mean.half_width, 0);
    trial->mean_ns.hi = mean.mean + mean.half_width;
    trial->mean_ns.has_interval = true;
    return STATUS_OK;
}

static enum status analyse_trial(const struct estimate_series *series, struct estimate_part *part,
                                 struct estimate_trial *trial,
                                 const struct estimate_options *options, struct error *err)
{
    enum status status = steady_state_find(series->sample_ns, series->count, series->first, options,
                                           &part->state, err);
    size_t from;

    if (status)
        return status;
    trial->verdict = part->state.verdict;
    trial->median_ns = NAN;
    part->log_mean = NAN;
    part->log_error = NAN;
    from = part->state.from;
    trial->has_steady = from < series->count && has_own_interval(trial->verdict);
    trial->steady_from = from;
    if (from >= series->count) /* no steady state: the whole window, marked by the verdict */
        from = series->first;
    if (from >= series->count)
        return STATUS_OK;
    part->used = series->sample_ns + from;
    part->used_count = series->count - from;
    return analyse_used(part, trial, options, err);
}

/*
 * The tick of the clock: the least that a trial shows, since all were read from one clock. Where
 * the samples of each trial are alike, the longest that divides those of all; NAN where all are.
 */
static double estimate_tick(const struct estimate_part *parts, size_t trial_count)
{
    int64_t step = 0, divisor = 0, first = 0;
    bool differ = false;

    for (size_t i = 0; i < trial_count; i++) {
        const int64_t own = parts[i].state.resolution_ns;

        step = own > 0 && (step == 0 || own < step) ? own : step;
        if (parts[i].used_count == 0)
            continue;
        differ = differ || (first > 0 && parts[i].used[0] != first);
        first = parts[i].used[0];
        divisor = clock_step_common(divisor, first);
    }
    if (step == 0 && differ)
        step = divisor;
    return step > 0 ? (double)step : NAN;
}

/*
 * What `count` >= 2 trials have in common: exp of the mean of their `logs`, with Student's t on
 * count - 1, and at least `tick` ns wide (NAN: unknown). Without an interval where all are equal to
 * the last digit, and the tick is unknown or they are too few for the sign test (compare.h).
 * Returns the standard deviation of the logs.
 */
static double estimate_between(const double *logs, size_t count, double confidence, double tick,
                               struct estimate_interval *ret)
{
    const double r = (double)count, mean = series_mean(logs, count);
    const double sd = sqrt(squares_about(logs, count, mean) / (r - 1));
    const double half = student_quantile(0.5 + 0.5 * confidence, r - 1) * sd / sqrt(r);

    ret->value = exp(mean);
    ret->has_value = true;
    ret->lo = exp(mean - half);
    ret->hi = exp(mean + half);
    if (!isnan(tick)) {
        ret->lo = fmax(fmin(ret->lo, ret->value - 0.5 * tick), 0);
        ret->hi = fmax(ret->hi, ret->value + 0.5 * tick);
    }
    /*
     * Means that are alike to the last digit have no spread for t to go by: what was measured is
     * coarser than what varies, and it takes as many as the sign test does to say that it varies
     * by less than a tick.
     */
    ret->has_interval =
        isfinite(ret->hi) && !(sd < COMPARE_NO_SPREAD &&
                               (isnan(tick) || comparison_chance_of_signs(r) > 1 - confidence));
    return sd;
}

/*
 * What the order of the trials' `logs` adds to the interval between them: the trend or the likeness
 * of neighbours that is seen, as findings, and a verdict where the margin is exceeded by it.
 */
static void admit_succession(struct estimate *e, const double *logs, size_t count, double margin,
                             struct estimate_interval *ret)
{
    const struct succession s = succession_find(logs, count);
    const double half = log(ret->hi / ret->value), wider = succession_half_width(&s, half);

    e->unseen = s.tested && ret->has_interval ? expm1(succession_unseen(&s, half)) : 0;
    if (s.trend)
        finding_add(&e->findings, FINDING_TREND_OF_TRIALS, 0, NULL,
                    (double[]){expm1(s.change), s.p_trend});
    if (s.serial)
        finding_add(&e->findings, FINDING_SERIAL_TRIALS, 0, NULL,
                    (double[]){s.correlation, s.p_serial});
    if (!(s.trend || s.serial) || !ret->has_interval)
        return;
    ret->lo = fmin(ret->lo, ret->value * exp(-wider));
    ret->hi = fmax(ret->hi, ret->value * exp(wider));
    if (s.certain && expm1(wider) > margin && estimate_verdict_is_steady(e->verdict))
        e->verdict = ESTIMATE_UNDETERMINED;
}

/*
 * Whether a disturbance would come again nobody knows: the value is of everything, and a grade
 * takes for possible that it is off by what the disturbances move it, a share `moved` on a log
 * scale.
 */
static void admit_disturbance(struct estimate *e, double moved, const struct estimate_interval *ret)
{
    if (moved > 0 && ret->has_interval)
        e->unseen = expm1(log1p(fmax(e->unseen, ret->hi / ret->value - 1)) + moved);
}

/* Interval between trials; variance split; trials that would be enough. `logs`: twice trial_count.
 */
static void combine_trials(struct estimate *e, const struct estimate_part *parts,
                           const struct estimate_options *options, double *logs,
                           struct estimate_interval *ret)
{
    double *levels = logs + e->trial_count;
    double noise = 0, within = 0, remainder = 0, disturbed = 0, r, sd, between;
    size_t i, samples = 0, with = 0, last = 0, units;
    uint64_t needed;

    for (i = 0; i < e->trial_count; i++) {
        logs[i] = parts[i].log_mean;
        if (isnan(logs[i]))
            continue;
        with++;
        noise += parts[i].log_error * parts[i].log_error;
        within += parts[i].log_squares;
        remainder += parts[i].state.remainder;
        disturbed += parts[i].state.disturbed * log1p(parts[i].state.disturbance);
        samples += parts[i].used_count - 1;
        last = i;
        e->ess += e->trials[i].ess;
    }
    e->variance.iteration = samples > 0 ? within / (double)samples : NAN;
    e->variance.process = NAN;
    if (with == 1)
        *ret = e->trials[last].mean_ns;
    if (with < 2)
        return;
    r = (double)with;
    memcpy(levels, logs, e->trial_count * sizeof(*logs));
    days_join(NULL, levels, e->trial_count);
    between = squares_about(levels, with, series_mean(levels, with)) / (r - 1);
    units = days_join(e->trial_days, logs, e->trial_count);
    if (units < with) {
        e->days = units;
        finding_add(&e->findings, FINDING_DAYS_OF_TRIALS, 0, NULL,
                    (double[]){(double)with, (double)units, DAYS_LEAST});
    }
    sd = estimate_between(logs, units, options->confidence, estimate_tick(parts, e->trial_count),
                          ret);
    e->variance.process = fmax((units < with ? between : sd * sd) - noise / r, 0);
    admit_succession(e, logs, units, options->margin, ret);
    admit_disturbance(e, fabs(disturbed / r), ret);
    ret->lo *= exp(-remainder / r);
    ret->hi *= exp(remainder / r);
    needed = trials_needed(sd, (double)units - 1, log1p(options->margin), options->confidence,
                           compare_options_default().power);
    e->needed_trials = needed > units ? (needed * with + units - 1) / units : 0;
}

static void find_verdict(struct estimate *e)
{
    size_t counts[ESTIMATE_VERDICT_COUNT] = {0}, judged, worse = 0, i;

    for (i = 0; i < e->trial_count; i++)
        counts[e->trials[i].verdict]++;
    judged = e->trial_count - counts[ESTIMATE_INSUFFICIENT];
    if (2 * judged < e->trial_count || judged == 0) {
        e->verdict = ESTIMATE_INSUFFICIENT;
        return;
    }
    for (i = ESTIMATE_VERDICT_COUNT; i-- > 0;) {
        if (i == ESTIMATE_INSUFFICIENT || i == ESTIMATE_UNDETERMINED || i == ESTIMATE_SERVING)
            continue;
        worse += counts[i];
        if ((double)worse > VERDICT_SHARE * (double)judged)
            break;
    }
    /* Past the first: nearly all are undetermined. */
    e->verdict = i < ESTIMATE_VERDICT_COUNT ? (enum estimate_verdict)i : ESTIMATE_UNDETERMINED;
    if (2 * counts[ESTIMATE_UNDETERMINED] > judged && estimate_verdict_is_steady(e->verdict))
        e->verdict = ESTIMATE_UNDETERMINED;
}

/* Trials with samples after their warmup: those that the value and its interval are of; days. */
static size_t trials_that_count(const struct estimate *e)
{
    size_t count = 0;

    if (e->days > 0)
        return e->days;
    for (size_t i = 0; i < e->trial_count; i++)
        count += e->trials[i].mean_ns.has_value;
    return count;
}

void estimate_set_metric(struct estimate *e, enum metric_id id,
                         const struct estimate_interval *value, const char *item, bool integers)
{
    struct metric_value *v = &e->metrics[id];

    v->present = true;
    v->has_value = value->has_value && isfinite(value->value);
    v->has_interval =
        v->has_value && value->has_interval && isfinite(value->lo) && isfinite(value->hi);
    v->value = value->value;
    v->lo = value->lo;
    v->hi = value->hi;
    metric_unit(id, item, integers, v->unit);
    v->grade =
        metric_grade(v, estimate_is_steady(e),
                     e->verdict == ESTIMATE_INSUFFICIENT || e->verdict == ESTIMATE_UNDETERMINED,
                     trials_that_count(e), e->unseen);
    if (metric_is_counted(id) && v->has_value && v->grade < METRIC_GRADE_C)
        v->grade = METRIC_GRADE_C;
}

/* On which day of the campaign each trial was measured. */
static enum status find_days(const struct estimate_series *trials, struct estimate *e,
                             struct error *err)
{
    AUTO_FREE int64_t *times_ns = calloc(e->trial_count, sizeof(*times_ns));
    size_t days;

    e->trial_days = calloc(e->trial_count, sizeof(*e->trial_days));
    if (!times_ns || !e->trial_days)
        return error_no_memory(err);
    for (size_t i = 0; i < e->trial_count; i++)
        times_ns[i] = trials[i].started_utc_ns;
    return days_find(times_ns, e->trial_count, e->trial_days, &days, err);
}

enum status estimate_cell(const struct estimate_series *trials, size_t trial_count,
                          const struct estimate_options *options, struct estimate **ret,
                          struct error *err)
{
    struct estimate_part *parts = NULL;
    struct estimate_interval mean = {0};
    struct estimate *e = NULL;
    double *logs = NULL;
    enum status status;
    size_t i;

    if (trial_count == 0)
        return error_set(err, STATUS_INVALID, "a cell without trials cannot be analysed");
    status = check_options(options, err);
    if (status)
        return status;
    e = calloc(1, sizeof(*e));
    parts = calloc(trial_count, sizeof(*parts));
    logs = malloc(2 * trial_count * sizeof(*logs));
    if (e)
        e->trials = calloc(trial_count, sizeof(*e->trials));
    if (!e || !parts || !logs || !e->trials) {
        status = error_no_memory(err);
        goto out;
    }
    e->version = ESTIMATE_VERSION;
    e->iterations_per_sample = 1;
    e->compare_by = options->compare_by;
    e->headline = METRIC_ITERATION_TIME;
    e->trial_count = trial_count;
    e->confidence = options->confidence;
    status = find_days(trials, e, err);
    for (i = 0; i < trial_count && !status; i++) {
        e->sample_count += trials[i].count;
        e->trials[i].number = trials[i].number ? trials[i].number : (int64_t)i + 1;
        status = analyse_trial(&trials[i], &parts[i], &e->trials[i], options, err);
        if (status)
            error_prefix(err, "trial %lld", (long long)e->trials[i].number);
    }
    if (status)
        goto out;
    e->step_ns = estimate_tick(parts, trial_count);
    find_verdict(e);
    combine_trials(e, parts, options, logs, &mean);
    estimate_set_metric(e, METRIC_ITERATION_TIME, &mean, NULL, false);
    status = estimate_find_percentiles(parts, options, e, err);
    if (!status)
        status = estimate_add_findings(trials, parts, options, e, err);
out:
    free(parts);
    free(logs);
    if (status)
        estimate_destroy(e);
    else
        *ret = e;
    return status;
}
