#include "protocols/serving/exceedance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "protocols/stats/distribution.h"
#include "protocols/stats/order.h"

/*
 * Between whole trials the levels with no more above. In those with more the level of a trial as a
 * whole shows, and few trials say little of each; that with 0.1 % alone knows too little of
 * clusters (tests/calibration/SERVING.md).
 */
#define WHOLE_TAIL 0.01

enum status exceedance_init(const double *values, const size_t *ends, size_t trials, bool whole,
                            struct exceedance *ret, struct error *err)
{
    const size_t each = trials && !whole ? (EXCEEDANCE_BATCHES + trials / 2) / trials : 1;
    size_t count = trials ? ends[trials - 1] : 0;
    double *sorted = malloc(count * sizeof(*sorted) + 1);

    if (!sorted)
        return error_no_memory(err);
    if (count > 0)
        memcpy(sorted, values, count * sizeof(*sorted));
    order_sort_real(sorted, count);
    *ret = (struct exceedance){values, ends, trials, count, whole, trials * (each > 0 ? each : 1),
                               sorted};
    return STATUS_OK;
}

void exceedance_finish(struct exceedance *e)
{
    free(e->sorted);
    e->sorted = NULL;
}

/* Index of the first sorted value above `level`. */
static size_t first_above(const struct exceedance *e, double level)
{
    size_t lo = 0, hi = e->count;

    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;

        if (e->sorted[middle] > level)
            hi = middle;
        else
            lo = middle + 1;
    }
    return lo;
}

/* Batch means at one level; 0 where all or none lie above. */
static double dispersion_at(const struct exceedance *e, double level, double share)
{
    size_t batches = e->batches / e->trials, from = 0, used = 0;
    double squares = 0;

    if (!(share > 0 && share < 1))
        return 0;
    for (size_t r = 0; r < e->trials; r++) {
        size_t length = e->ends[r] - from;

        for (size_t k = 0; k < batches; k++) {
            size_t begin = from + length * k / batches, end = from + length * (k + 1) / batches;
            size_t above = 0;

            for (size_t i = begin; i < end; i++)
                above += e->values[i] > level;
            if (end > begin) {
                double off = (double)above - share * (double)(end - begin);

                squares += off * off / (double)(end - begin);
                used++;
            }
        }
        from = e->ends[r];
    }
    return used > 1 ? squares / ((double)(used - 1) * share * (1 - share)) : 0;
}

double exceedance_dispersion(const struct exceedance *e, double level, double *ret_share)
{
    static const double tails[] = {0.5, 0.25, 0.1, 0.05, 0.01, 0.001};
    double share = e->count ? (double)(e->count - first_above(e, level)) / (double)e->count : 0;
    double largest = fmax(1, dispersion_at(e, level, share));

    *ret_share = share;
    for (size_t i = 0; i < sizeof(tails) / sizeof(*tails) && tails[i] > fmin(share, 1 - share);
         i++) {
        double above = share > 0.5 ? 1 - tails[i] : tails[i], other;
        size_t index = (size_t)((1 - above) * (double)e->count);

        if (index >= e->count || isinf(e->sorted[index]) || (e->whole && tails[i] > WHOLE_TAIL))
            continue;
        other = (double)(e->count - first_above(e, e->sorted[index])) / (double)e->count;
        largest = fmax(largest, dispersion_at(e, e->sorted[index], other));
    }
    return largest;
}

double exceedance_effective(double requests, double dispersion, size_t batches, double confidence)
{
    const double p = 0.5 + confidence / 2;
    const double few = normal_quantile(p) / student_quantile(p, (double)batches - 1);

    return batches > 1 ? fmax(requests / dispersion, 1) * few * few : NAN;
}

void exceedance_interval(double share, double effective, double confidence, double *ret_lo,
                         double *ret_hi)
{
    const double p = 0.5 + confidence / 2, above = share * effective;

    *ret_lo = *ret_hi = NAN;
    if (isnan(effective))
        return;
    *ret_lo = share > 0 ? beta_quantile(1 - p, above, effective - above + 1) : 0;
    *ret_hi = share < 1 ? beta_quantile(p, above + 1, effective - above) : 1;
}

void exceedance_quantile(const struct exceedance *e, double tail, double t, double *ret_value,
                         double *ret_lo, double *ret_hi)
{
    const double n = (double)e->count;
    double share, dispersion, half;
    size_t index;

    *ret_value = *ret_lo = *ret_hi = NAN;
    if (e->count == 0)
        return;
    index = (size_t)fmin(n * (1 - tail), n - 1);
    dispersion = exceedance_dispersion(e, e->sorted[index], &share);
    half = t * sqrt(tail * (1 - tail) * dispersion / n);
    *ret_value = e->sorted[index];
    *ret_lo = e->sorted[(size_t)fmax(n * (1 - tail - half), 0)];
    *ret_hi =
        n * (tail - half) >= 1 ? e->sorted[(size_t)ceil(n * (1 - tail + half)) - 1] : INFINITY;
}
