/*
 * serving - the part of a declaration that says how a workload is served: the load that arrives,
 * how requests are put into batches, and the limits that they shall keep (`scenario: server`).
 */
#ifndef ASSAY_WORKLOADS_SERVING_H
#define ASSAY_WORKLOADS_SERVING_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/core/declaration.h"
#include "harness/core/status.h"

#define SERVING_RATE_MAX 1e6 /* requests/s */
#define SERVING_BATCH_MAX 65536
#define SERVING_QUEUE_DEFAULT 4096
#define SERVING_RATES_MAX 64

/* Names are those of protocols/serving/arrivals.h, which makes the schedule. */
enum serving_process {
    SERVING_POISSON,
    SERVING_DETERMINISTIC,
    SERVING_GAMMA,
    SERVING_ON_OFF,
    SERVING_TRACE
};
enum serving_law {
    SERVING_NONE,
    SERVING_FIXED,
    SERVING_UNIFORM,
    SERVING_LOGNORMAL,
    SERVING_GEOMETRIC
};
/*
 * DEADLINE: a batch begins when it is full or when its oldest request has waited for max_wait, and
 * all of it ends together. CONTINUOUS: requests join and leave between steps, each of which makes
 * one token of every request.
 */
enum serving_policy { SERVING_DEADLINE, SERVING_CONTINUOUS };

/* Their names in a trace's first line; NULL: it has no such tokens. */
struct serving_columns {
    char *time, *prompt, *output;
};

/* Of a trace's times, where they are numbers. */
enum serving_unit {
    SERVING_UNIT_NONE,
    SERVING_UNIT_S,
    SERVING_UNIT_MS,
    SERVING_UNIT_US,
    SERVING_UNIT_NS
};

struct serving_arrivals {
    enum serving_process process;
    double cv;             /* gamma */
    int64_t on_ns, off_ns; /* on_off: mean stays */
    double rate_ratio;     /* on_off; 0: no request comes in the second state */
    /* trace: recorded arrivals, which whoever plans a campaign reads
     * (harness/runner/serving_trace). */
    char *path; /* of a CSV file; relative to the declaration's folder */
    struct serving_columns columns;
    enum serving_unit unit; /* NONE: not declared */
    double scale;           /* how many times as fast it is played; 0: by the rates */
    int64_t requests;       /* its first so many; 0: all, filled in when it is read */
    char *sha256;           /* of what was read; NULL: it has not been read */
};

struct serving_length {
    enum serving_law law;
    double mean, cv;
    int64_t min, max;
};

struct serving_lengths {
    struct serving_length prompt, output;
};

struct serving_load {
    struct serving_arrivals arrivals;
    /*
     * requests/s, heap; each is a cell. Negative: "0.5x", a share of the capacity that the campaign
     * measures, where `capacity` is not written.
     */
    double *rates;
    double capacity; /* requests/s offline, of which shares are; 0: not written */
    uint32_t rates_count;
    struct serving_lengths lengths;
};

struct serving_batching {
    enum serving_policy policy;
    int64_t max_batch;
    int64_t max_wait_ns; /* deadline */
    int64_t queue;       /* requests that may wait; what comes beyond is refused */
    /* Of prompts: tokens of a step, and of a prompt in it, at most; 0 where there are none. */
    int64_t max_tokens, chunk;
};

/* Limits in ns from the scheduled time; 0: none. */
struct serving_slo {
    int64_t ttft_ns, tpot_ns, gap_ns, e2e_ns;
    double attain;   /* share of the scheduled requests that must keep all limits */
    double failures; /* share that may fail */
};

/* What is written; zeros where nothing is. */
struct serving_declaration {
    struct serving_load load;
    struct serving_batching batching;
    struct serving_slo slo;
};

extern const struct declaration_field serving_load_fields[], serving_batching_fields[],
    serving_slo_fields[];

/* Who forms the batches. BY_NONE: the declared scenario is not `server`. */
enum serving_by { SERVED_BY_NONE, SERVED_HERE, SERVED_ELSEWHERE };

/*
 * Checks what is written for the scenario, and fills defaults in. Sections are there that `by`
 * needs (all three, of an endpoint no `batching`), and no others. `steps`: the kind makes tokens
 * step by step, so that lengths, tpot and continuous batching have a meaning; of an endpoint the
 * lengths must be there. INVALID with FILE:LINE.
 */
enum status serving_check(const struct declaration *declaration, struct serving_declaration *data,
                          enum serving_by by, bool steps, struct error *err);

#endif
