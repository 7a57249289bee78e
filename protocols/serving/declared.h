/*
 * declared - what a workload's declaration says of its load and limits, as schedules and analyses
 * take it: from the stored JSON, so that whoever has a record can make its schedules again.
 */
#ifndef ASSAY_PROTOCOLS_SERVING_DECLARED_H
#define ASSAY_PROTOCOLS_SERVING_DECLARED_H

#include <jansson.h>

#include "protocols/protocol.h"
#include "protocols/serving/analysis.h"
#include "protocols/serving/arrivals.h"
#include "protocols/serving/serving_metrics.h"

struct serving_declared {
    struct arrivals arrivals;
    struct lengths lengths;
    struct serving_limits limits;
    int64_t max_batch; /* 0: of an endpoint, whose batches nobody here sees */
    bool by_token;     /* continuous batching: a step makes one token of each request */
    double capacity;   /* requests/s offline; 0: not written */
};

/* INVALID: `workload` is no declaration of a server, or one that this program does not know. */
enum status serving_declared_read(const json_t *workload, struct serving_declared *ret,
                                  struct error *err);

/*
 * Recorded arrivals: the SHA-256 of their stored form (trace_to_json), which `workload` names.
 * False: its arrivals are no trace, or one that nobody has read.
 */
bool serving_trace_digest(const json_t *workload, struct digest *ret);

/* How many requests a trial has: those of a trace, else as many as the protocol says. */
int64_t serving_requests_of(const json_t *workload, const struct protocol *protocol);

/*
 * The rate of the scenario of a server's cell: 8 of "server@8", -0.5 of "server@0.5x", a share of
 * the capacity that its campaign measures, INFINITY of "server@saturated", which measures it
 * (saturation.h). False: it is of none.
 */
bool serving_rate_of(const char *scenario, double *ret);

/*
 * A stored result (serving_result_type); of recorded arrivals, whose result has no rate, with
 * the one of the cell's scenario, to which they were scaled. Errors are those of
 * type_from_json.
 */
enum status serving_result_of(const json_t *stored, const char *scenario,
                              struct serving_result *ret, struct error *err);

/* Of the schedule of a cell in round `round` of its campaign (from 0), under the cell's seed. */
uint64_t serving_schedule_seed(uint64_t seed, int64_t round);

/*
 * The schedule of that round. All rates of a round are one realisation, scaled, and so are both
 * arms of a pair. `trace` are the recorded arrivals, played so that they come at the cell's rate on
 * average; NULL: `workload` names none. At INFINITY all requests come at once, whatever the
 * declared process, and those are refused that find the queue full. INVALID: there is a trace but
 * not here, the protocol declares no requests, or what schedule_make and serving_declared_read say.
 */
enum status serving_schedule_make(const json_t *workload, const struct protocol *protocol,
                                  const struct trace *trace, double rate, uint64_t seed,
                                  int64_t round, struct schedule *ret, struct error *err);

#endif
