/*
 * counted - what a program counts of itself (`kind: program` with a metric): the estimate of a cell
 * by that number in place of its time.
 *
 * A trial's series `counted` has a number for each sample (harness/core/workload_cost.h). The
 * analysis is that of times: of what is better when lower, the number is taken for seconds (of a
 * unit of time, in that unit); of what is better when higher, its inverse is.
 */
#ifndef ASSAY_RESULTS_ANALYSIS_COUNTED_H
#define ASSAY_RESULTS_ANALYSIS_COUNTED_H

#include "protocols/estimate.h"
#include "results/store/store.h"

struct counted_trial {
    int64_t trial, number, sequence;
    size_t first, count; /* where its window begins, of how many samples */
    int64_t started_utc_ns;
};

/*
 * In place of `*estimate`, which is of the times and whose metrics it takes over: the verdict, the
 * trials and the findings are of the numbers. `metric` is the declaration's member of that name.
 * CORRUPT: the samples lack a number.
 */
enum status counted_estimate(struct store *store, const struct counted_trial *trials, size_t count,
                             const json_t *metric, const struct estimate_options *options,
                             struct estimate **estimate, struct error *err);

#endif
