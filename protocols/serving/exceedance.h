/*
 * exceedance - which share of a queue's requests lies above a level, and how well it is known.
 *
 * Times in a queue are so correlated that n of them are worth n / D independent ones: D is the
 * dispersion, the variance of the share above the level divided by that of independent requests.
 * It is measured by batch means (Law, "Simulation Modeling and Analysis", 5th ed. (2015), 9.5.3) of
 * the exceedance over all trials, some 20 batches in all; of recorded arrivals, which have no
 * steady state, each trial is one batch. Few excursions above a high level say little about D, and
 * those series that had few or short ones say too little of it; D hardly depends on the level in
 * the tail, so the largest at the level and at less extreme ones is taken. So it is of a share near
 * 1, where excursions below the level are rare.
 *
 * The interval is the exact binomial one (Clopper and Pearson, Biometrika 26 (1934)) of n / D
 * requests, fewer by (z / t)^2 for the batches that D rests on: Korn and Graubard, "Confidence
 * intervals for proportions with small expected number of positive counts estimated from survey
 * data", Survey Methodology 24 (1998). Of m such requests without a miss it ends at 1 -
 * (0.025)^(1/m), about 3.7 / m, the two-sided rule of three; and as far below 1 where all miss.
 */
#ifndef ASSAY_PROTOCOLS_SERVING_EXCEEDANCE_H
#define ASSAY_PROTOCOLS_SERVING_EXCEEDANCE_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/core/status.h"

/* Values of all trials, one after the other, in the order of the requests. */
struct exceedance {
    const double *values; /* INFINITY: above every level */
    const size_t *ends;   /* of each trial, the index after its last value; ascending */
    size_t trials, count;
    bool whole;     /* each trial is one batch */
    size_t batches; /* of all trials together, at least one each: what the dispersion rests on */
    double *sorted; /* heap: all values, ascending */
};

/* Batches of all trials together, about. */
#define EXCEEDANCE_BATCHES 20

/*
 * Fills `ret`, which keeps `values` and `ends`; exceedance_finish releases it. `whole`: each trial
 * is one batch. NO_MEMORY.
 */
enum status exceedance_init(const double *values, const size_t *ends, size_t trials, bool whole,
                            struct exceedance *ret, struct error *err);
void exceedance_finish(struct exceedance *e);

/*
 * The largest dispersion at `level` and at those of the levels with 50, 25, 10, 5, 1 and 0.1 %
 * above that are less extreme (of a share above a half: with so many not above); where whole trials
 * are the batches, at those with 1 and 0.1 %; at least 1.
 * `ret_share` is the share above `level`.
 */
double exceedance_dispersion(const struct exceedance *e, double level, double *ret_share);

/*
 * The independent requests that `requests` of dispersion D are worth, which rests on `batches`:
 * n / D, at least 1, times (z / t)^2. NaN where it rests on less than two.
 */
double exceedance_effective(double requests, double dispersion, size_t batches, double confidence);

/* The interval of a share seen in so many independent requests; NaN where that is. */
void exceedance_interval(double share, double effective, double confidence, double *ret_lo,
                         double *ret_hi);

/*
 * The value that a share of `tail` lies above, and its interval by inverting the score test: levels
 * with tail +- t sqrt(tail (1 - tail) D / n) above. NaN for values that are not there; *ret_hi is
 * INFINITY where no level has so little above.
 */
void exceedance_quantile(const struct exceedance *e, double tail, double t, double *ret_value,
                         double *ret_lo, double *ret_hi);

#endif
