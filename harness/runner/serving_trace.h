/*
 * serving_trace - recorded arrivals of a declared load: read when a campaign is planned, stored
 * with it, taken from there for its trials.
 */
#ifndef ASSAY_RUNNER_SERVING_TRACE_H
#define ASSAY_RUNNER_SERVING_TRACE_H

#include "harness/core/status.h"
#include "workloads/declared.h"

/*
 * workload_find, and where the arrivals are a trace, reads it: `ret->trace` has its stored form
 * (trace_to_json), and the declaration what follows from it (`load.arrivals.sha256` and
 * `requests`, and `load.rates` where it has a `scale`). INVALID, with FILE:LINE where the trace is
 * malformed: it is not the one that the declaration names, or there are both a scale and rates.
 */
enum status serving_trace_find(const char *name_or_path, struct workload *ret, struct error *err);

#endif
