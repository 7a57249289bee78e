/*
 * autocovariance - of a series, and what follows from it: the long-run variance by Geyer's initial
 * monotone sequence.
 */
#ifndef ASSAY_PROTOCOLS_STATS_AUTOCOVARIANCE_H
#define ASSAY_PROTOCOLS_STATS_AUTOCOVARIANCE_H

#include <stddef.h>

#include "harness/core/status.h"

double series_mean(const double *x, size_t count);

/*
 * gamma(k) = 1/n sum (x_t - mean)(x_{t+k} - mean) for k <= max_lag < count, into `ret`
 * (max_lag + 1 values). The divisor n keeps the sequence positive definite (Brockwell and Davis,
 * "Time Series: Theory and Methods", 7.2). Direct sums for few lags, an FFT otherwise. NO_MEMORY.
 */
enum status autocovariance(const double *x, size_t count, size_t max_lag, double *ret,
                           struct error *err);

/*
 * Sum of gamma(k) over all integers k, from gamma(0..max_lag), by the initial monotone sequence
 * estimator: sums of adjacent pairs, kept while positive, made non-increasing (Geyer, "Practical
 * Markov Chain Monte Carlo", Statistical Science 7 (1992), section 3.3). Not below 0.
 */
double geyer_long_run_variance(const double *gamma, size_t max_lag);

#endif
