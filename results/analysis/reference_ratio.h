/*
 * reference_ratio - a cell's speed as a ratio to the reference loop that ran between its samples.
 *
 * Of a trial: the mean time of a pass of the loop / the mean wall time of an iteration, over the
 * declared window. Processor time taken by other processes lengthens both alike, so on a busy
 * machine the ratio varies less between trials than the rate does. It can be compared between
 * results of one workload on processors whose loops are alike, not between workloads.
 */
#ifndef ASSAY_RESULTS_ANALYSIS_REFERENCE_RATIO_H
#define ASSAY_RESULTS_ANALYSIS_REFERENCE_RATIO_H

#include <stddef.h>
#include <stdint.h>

#include "protocols/estimate.h"
#include "results/store/store.h"

struct reference_trial {
    int64_t trial; /* row */
    const int64_t *wall_ns;
    size_t count, first; /* the window's first sample */
    int64_t iterations;  /* of a sample */
};

/*
 * Sets the metric reference_ratio, with its interval between trials by t on the log, where every
 * trial has the series "reference_ns"; else there is none.
 */
enum status reference_ratio_add(struct store *store, const struct reference_trial *trials,
                                size_t count, struct estimate *estimate, struct error *err);

#endif
