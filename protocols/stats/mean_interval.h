/*
 * mean_interval - the mean of an autocorrelated series and how well it is known.
 *
 * The half-width is the largest of three: Geyer's initial monotone sequence and an AR spectral
 * estimate (both with t on ESS - 1, at least 1), and equally weighted cosines with t on their
 * number. Each errs in another place: the first two follow strong short memory but trust their own
 * estimate of it, the cosines assume nothing about its shape but smooth over a band.
 */
#ifndef ASSAY_PROTOCOLS_STATS_MEAN_INTERVAL_H
#define ASSAY_PROTOCOLS_STATS_MEAN_INTERVAL_H

#include <stddef.h>

#include "harness/core/status.h"

struct mean_interval {
    double mean;
    double variance;  /* of one sample, divisor n */
    double lrv_geyer; /* long-run variances: n var(mean) in the limit */
    double lrv_ar;
    double lrv_cosines;
    size_t cosines;    /* B */
    double ess;        /* n variance / the larger of the first two, within [1, n] */
    double half_width; /* at the confidence asked for; INFINITY when it cannot be given */
};

/*
 * Analyses `count` >= 1 samples at a two-sided `confidence` in (0, 1). Series longer than 2^14 are
 * averaged in equal blocks first, which keeps the long-run variance and bounds the work. NO_MEMORY.
 */
enum status mean_interval(const double *x, size_t count, double confidence,
                          struct mean_interval *ret, struct error *err);

/*
 * Long-run variance by the mean square of `terms` type-II cosine transforms of x (Lazarus, Lewis,
 * Stock, Watson, "HAR Inference", JBES 36 (2018), equation 5): the mean is then t on `terms`.
 */
double cosine_long_run_variance(const double *x, size_t count, double mean, size_t terms);

#endif
