/* serving_trace - recorded arrivals that a stored declaration names. */
#ifndef ASSAY_RESULTS_ANALYSIS_SERVING_TRACE_H
#define ASSAY_RESULTS_ANALYSIS_SERVING_TRACE_H

#include "protocols/serving/trace.h"
#include "results/store/store.h"

/*
 * The stored form of the trace of `workload`; NULL in `ret` where its arrivals are none. NOT_FOUND,
 * UNAVAILABLE, CORRUPT as store_get_json.
 */
enum status serving_trace_json(struct store *store, const json_t *workload, json_t **ret,
                               struct error *err);

/* The same as a trace, of count 0 where there is none; trace_finish releases it. */
enum status serving_trace_load(struct store *store, const json_t *workload, struct trace *ret,
                               struct error *err);

#endif
