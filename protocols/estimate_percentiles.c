#include "protocols/estimate_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "protocols/stats/distribution.h"
#include "protocols/stats/mean_interval.h"
#include "protocols/stats/order.h"

/*
 * Exceedances that it takes to see how they cluster. For a percentile with fewer, the less extreme
 * one that has this many is evaluated, too, and the worse of both counts: otherwise series whose
 * few exceedances happen to be separated would pass, with intervals that are too short.
 */
#define EXCEEDANCES_LEAST 50

/*
 * What the indicators of all trials, x > value or x >= value, say of the pooled share above. With a
 * coarse clock many samples are the value itself, and the two are not one: where hardly any lie
 * above it, x > value says nothing of the many below, which may come in long runs.
 */
struct exceedance {
    double share;
    double effective;  /* independent samples equivalent to all, for the refusal */
    double half_width; /* of the share above */
};

/* Samples that are the value itself count as above, too, from this share of the tail on. */
#define TIES_MOST 0.05

/* The number of independent samples that a percentile's samples are equivalent to. */
struct worth {
    double refusal;  /* by autocorrelation alone */
    double interval; /* with the uncertainty of its estimate and the differences between trials */
};

static enum status measure_exceedance(const struct estimate_part *parts, size_t trial_count,
                                      size_t total, int64_t value, bool inclusive,
                                      double confidence, double *work, struct exceedance *ret,
                                      struct error *err)
{
    double within = 0, between = 0, share = 0, trials = 0;
    struct mean_interval mean;
    enum status status;
    size_t i, t;
    double *shares = work + total;

    ret->effective = 0;
    for (i = 0; i < trial_count; i++) {
        size_t n = parts[i].used_count;
        double weight = (double)n / (double)total;

        if (n == 0)
            continue;
        for (t = 0; t < n; t++)
            work[t] = parts[i].used[t] > value || (inclusive && parts[i].used[t] == value);
        status = mean_interval(work, n, confidence, &mean, err);
        if (status)
            return status;
        ret->effective += mean.lrv_geyer > 0
                              ? fmin((double)n * mean.variance / mean.lrv_geyer, (double)n)
                              : (double)n;
        within += weight * weight * mean.half_width * mean.half_width;
        share += weight * mean.mean;
        shares[i] = mean.mean;
        trials++;
    }
    ret->share = share;
    ret->half_width = sqrt(within);
    if (trials < 2)
        return STATUS_OK;
    for (i = 0; i < trial_count; i++) {
        double weight = (double)parts[i].used_count / (double)total;

        if (parts[i].used_count > 0)
            between += weight * weight * (shares[i] - share) * (shares[i] - share);
    }
    between *= trials / (trials - 1);
    ret->half_width =
        fmax(ret->half_width, student_quantile(0.5 + 0.5 * confidence, trials - 1) * sqrt(between));
    return STATUS_OK;
}

/* Takes what one of the two indicators says into `ret`, which is the least of all that were taken.
 */
static enum status take_exceedance(const struct estimate_part *parts, size_t trial_count,
                                   size_t total, int64_t value, bool inclusive, double confidence,
                                   double *work, struct worth *ret, struct error *err)
{
    double z = normal_quantile(0.5 + 0.5 * confidence), n = (double)total;
    struct exceedance above;
    enum status status = measure_exceedance(parts, trial_count, total, value, inclusive, confidence,
                                            work, &above, err);

    if (status)
        return status;
    ret->refusal = fmin(ret->refusal, above.effective);
    if (!isfinite(above.half_width))
        ret->interval = 0;
    else if (above.half_width > 0)
        ret->interval = fmin(ret->interval, above.share * (1 - above.share) *
                                                (z / above.half_width) * (z / above.half_width));
    ret->interval = fmin(ret->interval, n);
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

static enum status find_worth(const struct estimate_part *parts, size_t trial_count,
                              const int64_t *sorted, size_t total, double q, double confidence,
                              double *work, struct worth *ret, struct error *err)
{
    const int64_t value = sorted[order_quantile_index(total, q)];
    const size_t below = count_below(sorted, total, value);
    const size_t up_to = value == INT64_MAX ? total : count_below(sorted, total, value + 1);
    const double ties = (double)(up_to - below), tail = fmin(q, 1 - q) * (double)total;
    enum status status = STATUS_OK;

    if (up_to < total)
        status =
            take_exceedance(parts, trial_count, total, value, false, confidence, work, ret, err);
    if (status == STATUS_OK && below > 0 &&
        (up_to == total || (ties > 1 && ties > TIES_MOST * tail)))
        status =
            take_exceedance(parts, trial_count, total, value, true, confidence, work, ret, err);
    return status;
}

/* A percentile while it is found. */
struct percentile {
    double q;
    struct estimate_interval interval;
    uint64_t needed; /* without a value: samples that it takes */
};

static enum status find_one(const struct estimate_part *parts, size_t trial_count,
                            const int64_t *sorted, size_t total, double confidence, double *work,
                            struct percentile *ret, struct error *err)
{
    double q = ret->q, n = (double)total, tail = fmin(q, 1 - q), wider;
    struct worth worth = {n, n};
    uint64_t needed = order_needed(q);
    enum status status;
    size_t lo, hi;

    ret->needed = needed;
    if (n < (double)needed)
        return STATUS_OK;
    status = find_worth(parts, trial_count, sorted, total, q, confidence, work, &worth, err);
    wider = fmin(EXCEEDANCES_LEAST / n, 0.5);
    if (!status && tail < wider)
        status = find_worth(parts, trial_count, sorted, total, q > 0.5 ? 1 - wider : wider,
                            confidence, work, &worth, err);
    if (status)
        return status;
    if (worth.refusal < (double)needed) {
        ret->needed = (uint64_t)ceil((double)needed * n / worth.refusal);
        return STATUS_OK;
    }
    ret->interval.value = (double)sorted[order_quantile_index(total, q)];
    ret->interval.has_value = true;
    if (sorted[0] == sorted[total - 1]) {
        ret->interval.lo = ret->interval.hi = ret->interval.value;
        ret->interval.has_interval = true;
    } else if (worth.interval > 0 &&
               order_interval(total, worth.interval, q, confidence, &lo, &hi)) {
        ret->interval.lo = (double)sorted[lo];
        ret->interval.hi = (double)sorted[hi];
        ret->interval.has_interval = true;
    }
    return STATUS_OK;
}

/* Trials that drift have no common distribution: their percentiles describe, without an interval.
 */
static bool have_common_distribution(const struct estimate *e)
{
    return e->verdict != ESTIMATE_DRIFT && e->verdict != ESTIMATE_NON_STATIONARY;
}

enum status estimate_find_percentiles(const struct estimate_part *parts,
                                      const struct estimate_options *options, struct estimate *e,
                                      struct error *err)
{
    size_t total = 0, at = 0, i;
    enum status status = STATUS_OK;
    int64_t *sorted;
    double *work;

    for (i = 0; i < e->trial_count; i++)
        total += parts[i].used_count;
    sorted = malloc((total + 1) * sizeof(*sorted));
    work = malloc((total + e->trial_count + 1) * sizeof(*work));
    if (!sorted || !work) {
        status =
            error_set(err, STATUS_NO_MEMORY, "no memory for the percentiles of %zu samples", total);
        goto out;
    }
    for (i = 0; i < e->trial_count; i++) {
        if (parts[i].used_count > 0)
            memcpy(sorted + at, parts[i].used, parts[i].used_count * sizeof(*sorted));
        at += parts[i].used_count;
    }
    order_sort(sorted, total);
    for (i = 0; i < options->percentile_count && !status; i++) {
        struct percentile found = {.q = options->percentiles[i]};
        enum metric_id id = metric_of_quantile(found.q);

        status =
            find_one(parts, e->trial_count, sorted, total, options->confidence, work, &found, err);
        found.interval.has_interval = found.interval.has_interval && have_common_distribution(e);
        estimate_set_metric(e, id, &found.interval, NULL, false);
        e->metrics[id].needed = found.interval.has_value ? 0 : found.needed;
    }
out:
    free(sorted);
    free(work);
    return status;
}
