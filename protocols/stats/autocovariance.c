#include "protocols/stats/autocovariance.h"

#include <math.h>
#include <stdlib.h>

#include "protocols/stats/fft.h"

#define DIRECT_LAGS 24

double series_mean(const double *x, size_t count)
{
    double sum = 0, mean;
    size_t i;

    if (count == 0)
        return NAN;
    for (i = 0; i < count; i++)
        sum += x[i];
    mean = sum / (double)count;
    /* A second pass takes away what rounding did to the first. */
    sum = 0;
    for (i = 0; i < count; i++)
        sum += x[i] - mean;
    return mean + sum / (double)count;
}

static void autocovariance_direct(const double *x, size_t count, size_t max_lag, double mean,
                                  double *ret)
{
    size_t lag, t;

    for (lag = 0; lag <= max_lag; lag++) {
        double sum = 0;

        for (t = 0; t + lag < count; t++)
            sum += (x[t] - mean) * (x[t + lag] - mean);
        ret[lag] = sum / (double)count;
    }
}

enum status autocovariance(const double *x, size_t count, size_t max_lag, double *ret,
                           struct error *err)
{
    double mean = series_mean(x, count), *work;
    size_t size = 1, i;

    if (max_lag <= DIRECT_LAGS) {
        autocovariance_direct(x, count, max_lag, mean, ret);
        return STATUS_OK;
    }
    while (size < count + max_lag + 1)
        size *= 2;
    work = calloc(3 * size, sizeof(*work));
    if (!work)
        return error_set(err, STATUS_NO_MEMORY, "no memory for the autocovariance of %zu samples",
                         count);
    fft_init_table(work + 2 * size, size);
    for (i = 0; i < count; i++)
        work[2 * i] = x[i] - mean;
    fft_transform(work, size, work + 2 * size);
    for (i = 0; i < size; i++) {
        work[2 * i] = work[2 * i] * work[2 * i] + work[2 * i + 1] * work[2 * i + 1];
        work[2 * i + 1] = 0;
    }
    /* The power spectrum is real and even, so forward and inverse agree. */
    fft_transform(work, size, work + 2 * size);
    for (i = 0; i <= max_lag; i++)
        ret[i] = work[2 * i] / ((double)size * (double)count);
    free(work);
    return STATUS_OK;
}

double geyer_long_run_variance(const double *gamma, size_t max_lag)
{
    double sum = 0, smallest = INFINITY;
    size_t k;

    for (k = 0; 2 * k + 1 <= max_lag; k++) {
        double pair = gamma[2 * k] + gamma[2 * k + 1];

        if (pair <= 0)
            break;
        smallest = fmin(smallest, pair);
        sum += smallest;
    }
    return fmax(2 * sum - gamma[0], 0);
}
