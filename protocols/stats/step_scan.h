/*
 * step_scan - where in an autocorrelated series a step fits best.
 *
 * Generalised least squares for one additive step in AR(p) noise: series and step are whitened by
 * the same filter, so the jump itself counts as well as the two levels (Tsay, "Outliers, Level
 * Shifts, and Variance Changes in Time Series", Journal of Forecasting 7 (1988), section 2).
 */
#ifndef ASSAY_PROTOCOLS_STATS_STEP_SCAN_H
#define ASSAY_PROTOCOLS_STATS_STEP_SCAN_H

#include <stddef.h>

#include "protocols/stats/autoregression.h"

/*
 * The place k, least <= k <= count - least, where a second level from x[k] on removes most of
 * the whitened squares; `ret_gain` is how much, over the model's sigma2 (a likelihood ratio:
 * chi-square with one degree of freedom at a place chosen beforehand). 0 when the series is too
 * short. `white` holds `count` doubles.
 */
size_t step_scan(const double *x, size_t count, size_t least, const struct autoregression *model,
                 double *white, double *ret_gain);

#endif
