/* fractional - fractional differences of a series. */
#ifndef ASSAY_PROTOCOLS_STATS_FRACTIONAL_H
#define ASSAY_PROTOCOLS_STATS_FRACTIONAL_H

#include <stddef.h>

/*
 * (1 - B)^d x into ret (not x), with 0 in the place of what came before the first: d = 1 gives
 * first differences, 0 the series itself (Hosking, "Fractional Differencing", Biometrika 68
 * (1981)). count^2 / 2 products.
 */
void fractional_difference(const double *x, size_t count, double d, double *ret);

#endif
