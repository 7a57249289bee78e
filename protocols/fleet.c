#include "protocols/fleet.h"

#include <math.h>

#include "protocols/stats/distribution.h"

/* Whether n units carry the demand, by the prediction bound of their mean. */
static double carried(double n, double mean, double allowance, double units)
{
    return n * (mean - allowance * sqrt(1 / n + 1 / units));
}

uint64_t fleet_units(const double *rates, size_t count, double demand, double confidence)
{
    const double units = (double)count;
    double mean = 0, sum = 0, allowance;
    uint64_t low = 1, high = FLEET_MAX;

    if (count < 2 || !(demand > 0) || !(confidence > 0.5 && confidence < 1))
        return 0;
    for (size_t i = 0; i < count; i++)
        mean += rates[i] / units;
    for (size_t i = 0; i < count; i++)
        sum += (rates[i] - mean) * (rates[i] - mean);
    allowance = student_quantile(confidence, units - 1) * sqrt(sum / (units - 1));
    /* Grows with n from where it is positive; where it never gets there no fleet does. */
    if (!(carried(FLEET_MAX, mean, allowance, units) >= demand))
        return 0;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;

        if (carried((double)middle, mean, allowance, units) >= demand)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

uint64_t fleet_spares(uint64_t n, double availability, double risk)
{
    uint64_t low = 0, high = FLEET_MAX;

    if (n == 0 || !(availability > 0 && availability <= 1) || !(risk > 0 && risk < 1))
        return UINT64_MAX;
    /* P(Bin(n + f, q) > f) = I_q(f + 1, n), which falls as f grows (DLMF 8.17.5). */
    if (availability >= 1 || beta_cdf(1 - availability, 1, (double)n) <= risk)
        return 0;
    if (!(beta_cdf(1 - availability, (double)high + 1, (double)n) <= risk))
        return UINT64_MAX;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;

        if (beta_cdf(1 - availability, (double)middle + 1, (double)n) <= risk)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}
