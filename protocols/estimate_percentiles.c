#include "protocols/estimate_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "protocols/stats/distribution.h"
#include "protocols/stats/mean_interval.h"
#include "protocols/stats/order.h"

/* ---- within one trial ---- */

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

/* ---- between trials ---- */

/*
 * The geometric mean of the trials' own percentiles, with t on their logs. An average does not lose
 * a bias that all trials have, so each is the median-unbiased estimate (type 8 of Hyndman and Fan,
 * The American Statistician 50 (1996)), and is offered only where each trial is worth enough
 * independent samples: `share` of them, by the autocorrelation of all trials. Whether the trials
 * agree plays no part: an interval that depended on it would be given for those cells whose trials
 * happen to, and cover too seldom.
 */
static void find_between(const struct estimate_part *parts, size_t trial_count,
                         const int64_t *const *sorted, double share, double confidence, double tick,
                         double *logs, struct percentile *ret)
{
    size_t with = 0;

    ret->needed = (uint64_t)ceil((double)order_needed(ret->q) / share);
    for (size_t i = 0; i < trial_count; i++) {
        const size_t n = parts[i].used_count;

        if (n > 0 && n < ret->needed)
            return;
        if (n > 0)
            logs[with++] = log(order_quantile(sorted[i], n, ret->q));
    }
    estimate_between(logs, with, confidence, tick, &ret->interval);
}

bool estimate_has_one_distribution(const struct estimate *e, const struct estimate_part *part)
{
    const struct steady_state *s = &part->state;
    const bool stays = e->verdict != ESTIMATE_UNDETERMINED ||
                       (s->states.levels > 0 && !(s->root_distance > 0)); /* levels, or ticks */

    return e->verdict != ESTIMATE_DRIFT && e->verdict != ESTIMATE_NON_STATIONARY && stays &&
           !(s->memory_order > 0);
}

enum status estimate_find_percentiles(const struct estimate_part *parts,
                                      const struct estimate_options *options, struct estimate *e,
                                      struct error *err)
{
    size_t total = 0, most = e->trial_count, at = 0, with = 0, only = 0, i;
    enum status status = STATUS_OK;
    const double tick = estimate_tick(parts, e->trial_count);
    const int64_t **sorted;
    int64_t *memory;
    double *work;

    for (i = 0; i < e->trial_count; i++) {
        total += parts[i].used_count;
        most = parts[i].used_count > most ? parts[i].used_count : most;
    }
    memory = malloc((total + 1) * sizeof(*memory));
    sorted = calloc(e->trial_count, sizeof(*sorted));
    work = malloc((most + 1) * sizeof(*work));
    if (!memory || !sorted || !work) {
        status = error_no_memory(err);
        goto out;
    }
    for (i = 0; i < e->trial_count; i++) {
        const size_t n = parts[i].used_count;

        if (n == 0)
            continue;
        memcpy(memory + at, parts[i].used, n * sizeof(*memory));
        order_sort(memory + at, n);
        sorted[i] = memory + at;
        at += n;
        only = i;
        with++;
    }
    for (i = 0; i < options->percentile_count && !status; i++) {
        struct percentile found = {.q = options->percentiles[i]};
        enum metric_id id = metric_of_quantile(found.q);

        if (with == 1) {
            status = find_within(parts[only].used, sorted[only], parts[only].used_count,
                                 options->confidence, tick, work, &found, err);
            found.interval.has_interval =
                found.interval.has_interval && estimate_has_one_distribution(e, &parts[only]);
        } else if (with > 1) {
            find_between(parts, e->trial_count, sorted, e->ess / (double)total, options->confidence,
                         tick, work, &found);
        }
        estimate_set_metric(e, id, &found.interval, NULL, false);
        e->metrics[id].needed = found.interval.has_value ? 0 : found.needed;
    }
out:
    free(memory);
    free(sorted);
    free(work);
    return status;
}
