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
    /* A second pass removes what rounding did to the first. */
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

/*
 * |X[k]|^2 for k <= size / 2 of the real series whose even and odd values are the real and
 * imaginary parts that `z` is the transform of; `twiddle`: cos and sin of 2 pi k / size. (Press et
 * al., Numerical Recipes, "FFT of Real Functions".)
 */
static void power_spectrum(const double *z, size_t half, const double *twiddle, double *ret)
{
    size_t k;

    ret[0] = (z[0] + z[1]) * (z[0] + z[1]);
    ret[half] = (z[0] - z[1]) * (z[0] - z[1]);
    for (k = 1; k < half; k++) {
        const double *p = z + 2 * k, *q = z + 2 * (half - k);
        double c = twiddle[2 * k], s = -twiddle[2 * k + 1];
        double even_re = 0.5 * (p[0] + q[0]), even_im = 0.5 * (p[1] - q[1]);
        double odd_re = 0.5 * (p[1] + q[1]), odd_im = -0.5 * (p[0] - q[0]);
        double re = even_re + c * odd_re - s * odd_im, im = even_im + c * odd_im + s * odd_re;

        ret[k] = re * re + im * im;
    }
}

/* The conjugate of what a transform turns into the even (real) and odd (minus imaginary) values of
   the sums of power cos(2 pi k t / size). */
static void fold_spectrum(const double *power, size_t half, const double *twiddle, double *ret)
{
    size_t k;

    for (k = 0; k < half; k++) {
        double sum = power[k] + power[half - k], difference = power[k] - power[half - k];

        ret[2 * k] = sum - difference * twiddle[2 * k + 1];
        ret[2 * k + 1] = -difference * twiddle[2 * k];
    }
}

enum status autocovariance(const double *x, size_t count, size_t max_lag, double *ret,
                           struct error *err)
{
    double mean = series_mean(x, count), *data, *power, *twiddle, *table;
    size_t size = 2, half, i;

    if (max_lag <= DIRECT_LAGS) {
        autocovariance_direct(x, count, max_lag, mean, ret);
        return STATUS_OK;
    }
    while (size < count + max_lag + 1)
        size *= 2;
    half = size / 2;
    data = calloc(2 * size + size + 1, sizeof(*data));
    if (!data)
        return error_no_memory(err);
    twiddle = data + size;
    table = twiddle + size;
    power = table + half;
    fft_init_table(twiddle, size);
    for (i = 0; i < half; i++)
        table[i] = twiddle[2 * (i - i % 2) + i % 2];
    for (i = 0; i < count; i++)
        data[i] = x[i] - mean;
    fft_transform(data, half, table);
    power_spectrum(data, half, twiddle, power);
    fold_spectrum(power, half, twiddle, data);
    fft_transform(data, half, table);
    for (i = 0; i <= max_lag; i++)
        ret[i] = (i % 2 ? -data[i] : data[i]) / ((double)size * (double)count);
    free(data);
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
