/*
 * serving - the estimate of a server's cell: what its requests say (protocols/serving), and nothing
 * of steady states, which are of closed loops.
 */
#ifndef ASSAY_RESULTS_ANALYSIS_SERVING_H
#define ASSAY_RESULTS_ANALYSIS_SERVING_H

#include <jansson.h>

#include "protocols/estimate.h"
#include "protocols/protocol.h"
#include "results/store/store.h"

struct served_trial {
    int64_t trial, sequence, number; /* as in estimate_trial */
    double
        good; /* set by serving_estimate: tokens of its requests inside the limits, or requests */
};

struct served_cell {
    const json_t *workload; /* the stored declaration */
    const struct protocol *protocol;
    double rate; /* requests/s (serving_rate_find); INFINITY: saturated */
    uint64_t seed;
    int64_t cells;     /* of its campaign: so many trials are a round */
    bool makes_tokens; /* set by serving_estimate: its requests ask for tokens */
};

/*
 * The estimate's verdict, and that of each trial, is ESTIMATE_SERVING; `serving` holds the result
 * of serving_analyze, whose verdicts are findings, too. The capacity that the plan of its windows
 * rests on is that of the warmup's full batches. A trial's time, which comparisons use, is the mean
 * (or the median) from the scheduled time to the last output of the requests that ended well.
 * Of a saturated server the estimate is its item_rate, requests/s (saturation_rate), t over the
 * logarithms of the trials', and nothing of limits. CORRUPT: a log that is none, or contradicts
 * itself.
 */
enum status serving_estimate(struct store *store, struct served_trial *trials, size_t count,
                             struct served_cell *cell, struct estimate **ret, struct error *err);

#endif
