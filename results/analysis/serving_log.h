/* serving_log - the requests and steps of a server's trial, out of its series. */
#ifndef ASSAY_RESULTS_ANALYSIS_SERVING_LOG_H
#define ASSAY_RESULTS_ANALYSIS_SERVING_LOG_H

#include "protocols/serving/request.h"
#include "results/store/store.h"

struct serving_log {
    struct request *requests; /* heap, in their order */
    size_t count;
    struct serving_step *steps; /* of the window; heap, in their order */
    size_t step_count;
    double warmup_step_ns; /* mean time of a full batch before the window; 0: there was none */
};

/*
 * The log of a trial, audited (request_log_audit). CORRUPT: a series is missing or holds what no
 * log does, or the log contradicts itself. Release it with serving_log_finish.
 */
enum status serving_log_load(struct store *store, int64_t trial, struct serving_log *ret,
                             struct error *err);
void serving_log_finish(struct serving_log *log);

#endif
