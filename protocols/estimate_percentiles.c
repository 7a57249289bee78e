#include "protocols/estimate_parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "protocols/stats/distribution.h"
#include "protocols/stats/mean_interval.h"
#include "protocols/stats/order.h"

/* What the indicators (x > value) of all trials say of the pooled share above. */
struct exceedance {
    double effective;  /* independent samples that all are worth, for the refusal */
    double half_width; /* of the share above */
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
        size_t n = parts[i].steady_count;
        double weight = (double)n / (double)total;

        if (n == 0)
            continue;
        for (t = 0; t < n; t++)
            work[t] = parts[i].steady[t] > value || (inclusive && parts[i].steady[t] == value);
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
    ret->half_width = sqrt(within);
    if (trials < 2)
        return STATUS_OK;
    for (i = 0; i < trial_count; i++) {
        double weight = (double)parts[i].steady_count / (double)total;

        if (parts[i].steady_count > 0)
            between += weight * weight * (shares[i] - share) * (shares[i] - share);
    }
    between *= trials / (trials - 1);
    ret->half_width =
        fmax(ret->half_width, student_quantile(0.5 + 0.5 * confidence, trials - 1) * sqrt(between));
    return STATUS_OK;
}

static enum status find_one(const struct estimate_part *parts, size_t trial_count,
                            const int64_t *sorted, size_t total, double confidence, double *work,
                            struct estimate_percentile *ret, struct error *err)
{
    size_t index = order_quantile_index(total, ret->q), lo, hi;
    double z = normal_quantile(0.5 + 0.5 * confidence), worth, q = ret->q;
    uint64_t needed = order_needed(q);
    struct exceedance above;
    enum status status;
    int64_t value = sorted[index];

    if ((double)total < (double)needed) {
        ret->needed_n = needed;
        return STATUS_OK;
    }
    status = measure_exceedance(parts, trial_count, total, value, value == sorted[total - 1],
                                confidence, work, &above, err);
    if (status)
        return status;
    if (above.effective < (double)needed) {
        ret->needed_n = (uint64_t)ceil((double)needed * (double)total / above.effective);
        return STATUS_OK;
    }
    ret->interval.value = (double)value;
    ret->interval.has_value = true;
    if (sorted[0] == sorted[total - 1]) {
        ret->interval.lo = ret->interval.hi = (double)value;
        ret->interval.has_interval = true;
        return STATUS_OK;
    }
    if (!isfinite(above.half_width))
        return STATUS_OK;
    worth = (double)total;
    if (above.half_width > 0)
        worth = fmin(worth, q * (1 - q) * (z / above.half_width) * (z / above.half_width));
    if (order_interval(total, worth, q, confidence, &lo, &hi)) {
        ret->interval.lo = (double)sorted[lo];
        ret->interval.hi = (double)sorted[hi];
        ret->interval.has_interval = true;
    }
    return STATUS_OK;
}

enum status estimate_find_percentiles(const struct estimate_part *parts,
                                      const struct estimate_options *options, struct estimate *e,
                                      struct error *err)
{
    size_t total = 0, at = 0, i;
    enum status status = STATUS_OK;
    int64_t *sorted;
    double *work;

    e->percentile_count = options->percentile_count;
    for (i = 0; i < options->percentile_count; i++) {
        e->percentiles[i] = (struct estimate_percentile){.q = options->percentiles[i]};
        e->percentiles[i].needed_n = order_needed(options->percentiles[i]);
    }
    if (!e->mean_ns.has_value)
        return STATUS_OK; /* a trial never settled: the samples have no common distribution */
    for (i = 0; i < e->trial_count; i++)
        total += parts[i].steady_count;
    sorted = malloc(total * sizeof(*sorted));
    work = malloc((total + e->trial_count) * sizeof(*work));
    if (!sorted || !work) {
        status =
            error_set(err, STATUS_NO_MEMORY, "no memory for the percentiles of %zu samples", total);
        goto out;
    }
    for (i = 0; i < e->trial_count; i++) {
        memcpy(sorted + at, parts[i].steady, parts[i].steady_count * sizeof(*sorted));
        at += parts[i].steady_count;
    }
    order_sort(sorted, total);
    for (i = 0; i < e->percentile_count && !status; i++) {
        e->percentiles[i].needed_n = 0;
        status = find_one(parts, e->trial_count, sorted, total, options->confidence, work,
                          &e->percentiles[i], err);
    }
out:
    free(sorted);
    free(work);
    return status;
}
