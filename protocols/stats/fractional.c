#include "protocols/stats/fractional.h"

#include "harness/core/vector.h"

#define LAGS 4

VECTOR_CLONES
void fractional_difference(const double *restrict x, size_t count, double d, double *restrict ret)
{
    double weight = 1;
    size_t k, t, i, lags;

    for (t = 0; t < count; t++)
        ret[t] = x[t];
    /* Four lags in one pass, added up in their order; the last few one by one. */
    for (k = 1; k < count; k += lags) {
        double weights[LAGS];

        lags = k + LAGS <= count ? LAGS : 1;
        for (i = 0; i < lags; i++) {
            weight *= ((double)(k + i) - 1 - d) / (double)(k + i);
            weights[i] = weight;
        }
        for (t = k; t < k + lags - 1; t++)
            for (i = 0; i <= t - k; i++)
                ret[t] += weights[i] * x[t - k - i];
        for (; lags == LAGS && t < count; t++)
            ret[t] = ret[t] + weights[0] * x[t - k] + weights[1] * x[t - k - 1] +
                     weights[2] * x[t - k - 2] + weights[3] * x[t - k - 3];
        for (; t < count; t++)
            ret[t] += weights[0] * x[t - k];
    }
}
