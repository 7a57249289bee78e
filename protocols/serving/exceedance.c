#include "protocols/serving/exceedance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "protocols/stats/order.h"

enum status exceedance_init(const double *values, const size_t *ends, size_t trials,
                            struct exceedance *ret, struct error *err)
{
    size_t count = trials ? ends[trials - 1] : 0;
    double *sorted = malloc(count * sizeof(*sorted) + 1);

    if (!sorted)
        return error_set(err, STATUS_NO_MEMORY, "no memory for %zu requests", count);
    if (count > 0)
        memcpy(sorted, values, count * sizeof(*sorted));
    order_sort_real(sorted, count);
    *ret = (struct exceedance){values, ends, trials, count, sorted};
    return STATUS_OK;
}

void exceedance_finish(struct exceedance *e)
{
    free(e->sorted);
    e->sorted = NULL;
}

static size_t batches_of_trial(const struct exceedance *e)
{
    size_t batches = (EXCEEDANCE_BATCHES + e->trials / 2) / e->trials;

    return batches > 0 ? batches : 1;
}

size_t exceedance_batches(const struct exceedance *e)
{
    return batches_of_trial(e) * e->trials;
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
    size_t batches = batches_of_trial(e), from = 0, used = 0;
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
    for (size_t i = 0; i < sizeof(tails) / sizeof(*tails) && tails[i] > share; i++) {
        size_t index = (size_t)((1 - tails[i]) * (double)e->count);
        double other;

        if (index >= e->count || isinf(e->sorted[index]))
            continue;
        other = (double)(e->count - first_above(e, e->sorted[index])) / (double)e->count;
        largest = fmax(largest, dispersion_at(e, e->sorted[index], other));
    }
    return largest;
}

void exceedance_interval(double share, double effective, double t, double *ret_lo, double *ret_hi)
{
    double square = t * t / effective, middle = (share + square / 2) / (1 + square);
    double half = sqrt(share * (1 - share) * square + square * square / 4) / (1 + square);

    *ret_lo = share > 0 ? fmax(middle - half, 0) : 0;
    *ret_hi = share < 1 ? fmin(middle + half, 1) : 1;
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
