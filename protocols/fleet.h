/*
 * fleet - how many devices carry a demand, from what few of them were measured to carry.
 */
#ifndef ASSAY_PROTOCOLS_FLEET_H
#define ASSAY_PROTOCOLS_FLEET_H

#include <stddef.h>
#include <stdint.h>

/* Larger fleets are not planned. */
#define FLEET_MAX 1000000

/*
 * The smallest n whose n units carry `demand` together with the confidence (one-sided, e.g. 0.95):
 *   n (m - t s sqrt(1/n + 1/R)) >= demand
 * m and s: mean and standard deviation of `rates`, what each of R >= 2 units carries; t: Student's
 * quantile with R - 1 degrees of freedom. It is the prediction bound of the mean of n further units
 * of one normal population (Hahn and Meeker, "Statistical Intervals", section 4.7). 0: no fleet of
 * up to FLEET_MAX does, or a number is out of range.
 */
uint64_t fleet_units(const double *rates, size_t count, double demand, double confidence);

/*
 * The smallest f for which of n + f units at most f are out at a time, but for a share `risk` of
 * the time: P(Bin(n + f, 1 - availability) > f) <= risk. Failures are taken for independent of each
 * other. UINT64_MAX: none up to FLEET_MAX.
 */
uint64_t fleet_spares(uint64_t n, double availability, double risk);

#endif
