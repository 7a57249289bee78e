/* estimate_parts - what the files of estimate share; no other file includes it. */
#ifndef ASSAY_PROTOCOLS_ESTIMATE_PARTS_H
#define ASSAY_PROTOCOLS_ESTIMATE_PARTS_H

#include <stdbool.h>
#include <stddef.h>

#include "protocols/estimate.h"
#include "protocols/steady_state.h"

/* A trial while it is analysed; `used` points into the caller's samples. */
struct estimate_part {
    struct steady_state state;
    const int64_t *used; /* what its mean is of: the steady part, or the window; NULL: none */
    size_t used_count;
    double log_mean;    /* of the used samples' mean; NAN without any */
    double log_error;   /* its relative standard error; NAN when unknown */
    double log_squares; /* squares of log times about their mean */
};

/*
 * What `count` >= 2 trials have in common: exp of the mean of their `logs`, with Student's t on
 * count - 1, and at least `tick` ns wide (NAN: unknown). Without an interval where all are equal to
 * the last digit, and the tick is unknown or they are too few for the sign test (compare.h).
 * Returns the standard deviation of the logs.
 */
double estimate_between(const double *logs, size_t count, double confidence, double tick,
                        struct estimate_interval *ret);

/*
 * The tick of the clock: the least that a trial shows, since all were read from one clock. Where
 * the samples of each trial are alike, the longest that divides those of all; NAN where all are.
 */
double estimate_tick(const struct estimate_part *parts, size_t trial_count);

/*
 * Percentiles into the metrics: of one trial by order statistics, of several by the trials' own
 * percentiles. NO_MEMORY.
 */
enum status estimate_find_percentiles(const struct estimate_part *parts,
                                      const struct estimate_options *options,
                                      struct estimate *estimate, struct error *err);

/*
 * Of a cell with this one trial: false where it moves or its correlation may not die out, so that
 * its percentiles describe the window, without an interval.
 */
bool estimate_has_one_distribution(const struct estimate *estimate,
                                   const struct estimate_part *part);

/* What a reader must know of the trials and the cell. NO_MEMORY. */
enum status estimate_add_findings(const struct estimate_series *series,
                                  const struct estimate_part *parts,
                                  const struct estimate_options *options, struct estimate *estimate,
                                  struct error *err);

#endif
