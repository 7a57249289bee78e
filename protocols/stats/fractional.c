#include "protocols/stats/fractional.h"

void fractional_difference(const double *x, size_t count, double d, double *ret)
{
    double weight = 1;
    size_t k, t;

    for (t = 0; t < count; t++)
        ret[t] = x[t];
    for (k = 1; k < count; k++) {
        weight *= ((double)k - 1 - d) / (double)k;
        for (t = k; t < count; t++)
            ret[t] += weight * x[t - k];
    }
}
