/*
 * exceedance - which share of a queue's requests lies above a level, and how well it is known.
 *
 * Times in a queue are so correlated that n of them are worth n / D independent ones: D is the
 * dispersion, the variance of the share above the level divided by that of independent requests.
 * It is measured by batch means (Law, "Simulation Modeling and Analysis", 5th ed. (2015), 9.5.3) of
 * the exceedance over all trials, some 20 batches in all. Few excursions above a high level say
 * little about D, and those series that had few or short ones say too little of it; D hardly
 * depends on the level in the tail, so the largest at the level and at less extreme ones is taken.
 * The interval is Wilson's (JASA 22 (1927)) of n / D requests with Student's t on the number of
 * batches less one: its variance is that under the share in question, which corrects for the
 * skewness that makes the usual interval err on one side.
 */
#ifndef ASSAY_PROTOCOLS_SERVING_EXCEEDANCE_H
#define ASSAY_PROTOCOLS_SERVING_EXCEEDANCE_H

#include <stddef.h>

#include "harness/core/status.h"

/* Values of all trials, one after the other, in the order of the requests. */
struct exceedance {
    const double *values; /* INFINITY: above every level */
    const size_t *ends;   /* of each trial, the index after its last value; ascending */
    size_t trials, count;
    double *sorted; /* heap: all values, ascending */
};

/* Fills `ret`, which keeps `values` and `ends`; exceedance_finish releases it. NO_MEMORY. */
enum status exceedance_init(const double *values, const size_t *ends, size_t trials,
                            struct exceedance *ret, struct error *err);
void exceedance_finish(struct exceedance *e);

/* Batches that the dispersion rests on: about EXCEEDANCE_BATCHES, at least one a trial. */
#define EXCEEDANCE_BATCHES 20
size_t exceedance_batches(const struct exceedance *e);

/*
 * The largest dispersion at `level` and at those of the levels with 50, 25, 10, 5, 1 and 0.1 %
 * above that are less extreme; at least 1. `ret_share` is the share above `level`.
 */
double exceedance_dispersion(const struct exceedance *e, double level, double *ret_share);

/* Wilson's interval of a share seen in `effective` independent requests, at quantile `t`. */
void exceedance_interval(double share, double effective, double t, double *ret_lo, double *ret_hi);

/*
 * The value that a share of `tail` lies above, and its interval by inverting the score test: levels
 * with tail +- t sqrt(tail (1 - tail) D / n) above. NaN for values that are not there; *ret_hi is
 * INFINITY where no level has so little above.
 */
void exceedance_quantile(const struct exceedance *e, double tail, double t, double *ret_value,
                         double *ret_lo, double *ret_hi);

#endif
