/*
 * serving_metrics - what each request of a trial took, and which were inside the limits.
 *
 *     lag  = sent - scheduled            wait = admitted - scheduled
 *     ttft = first - scheduled           e2e  = done - scheduled
 *     tpot = (done - first) / (n - k) with n output tokens, k of them there at first, n >= 2
 *     gap  = the longest time between two outputs of the request, n >= 2
 *
 * All in nanoseconds from when the request was scheduled; tpot rounded down.
 *
 * k is 1 where outputs come one by one. Where they come in pieces (the events of an endpoint's
 * stream) k is from the pieces that were there at first to n less those that came later, each being
 * a token at least; so tpot lies between two values. They are one where each piece is a token, and
 * the longer is taken where it is at most a fifth longer (the last token often has no text, and no
 * piece). Output that came all at once, or within SERVING_SPAN_LEAST_NS in pieces, which is what a
 * client can resolve, has no time per token and no gap: UNKNOWN, never 0.
 */
#ifndef ASSAY_PROTOCOLS_SERVING_SERVING_METRICS_H
#define ASSAY_PROTOCOLS_SERVING_SERVING_METRICS_H

#include <stdbool.h>

#include "harness/core/status.h"
#include "protocols/serving/request.h"

#define SERVING_SPAN_LEAST_NS 500000

#define SERVING_METRIC_MAP(X)                                                                      \
    X(LAG, "lag")                                                                                  \
    X(WAIT, "wait")                                                                                \
    X(TTFT, "ttft")                                                                                \
    X(E2E, "e2e")                                                                                  \
    X(TPOT, "tpot")                                                                                \
    X(GAP, "gap")

enum serving_metric {
#define SERVING_METRIC_ENUM(code, name) SERVING_##code,
    SERVING_METRIC_MAP(SERVING_METRIC_ENUM)
#undef SERVING_METRIC_ENUM
        SERVING_METRIC_COUNT
};

/* One trial under load, as it was planned and as it went. Nothing is owned. */
struct serving_trial {
    const struct schedule *schedule; /* made anew from what was declared, with the trial's seed */
    uint64_t seed;
    const struct request *requests; /* as many as scheduled, in their order */
    const struct serving_step *steps;
    size_t step_count; /* 0: unknown (an endpoint) */
    int64_t until_ns;  /* end of the drain: what was not seen by then is unfinished */
};

enum value_state {
    VALUE_KNOWN,
    VALUE_BETWEEN,  /* ns and most_ns: nobody saw where */
    VALUE_AT_LEAST, /* not over at the end of the drain: a lower bound */
    VALUE_NONE,     /* not applicable (fewer than two tokens), or the request failed */
    VALUE_UNKNOWN   /* nobody saw it */
};

struct serving_value {
    int64_t ns; /* 0 where NONE or UNKNOWN */
    enum value_state state;
    int64_t most_ns; /* of BETWEEN */
};

/* One metric of one request of a trial that was watched until `until_ns`. */
struct serving_value serving_value_of(const struct request *request, enum serving_metric metric,
                                      int64_t until_ns);

/* What was declared of latency. 0: no such limit. */
struct serving_limits {
    int64_t ns[SERVING_METRIC_COUNT]; /* of TTFT, E2E, TPOT and GAP */
    double attain;                    /* share of requests inside all limits, in (0, 1) */
    double failures;                  /* share that may fail, be refused or time out; 0 to 1 */
};

/*
 * How near to its limits a request was: the largest value / limit; at most 1 means that it met all.
 * INFINITY for one that failed, was refused or timed out. For an unfinished one, and where a
 * limited value is unknown, `ret_most` is INFINITY and the result what is certain already; where it
 * lies between two they are of these; otherwise both are the same.
 */
double serving_score(const struct request *request, const struct serving_limits *limits,
                     int64_t until_ns, double *ret_most);

/* Sums over the requests scheduled in [from_ns, window_ns) of a trial. */
struct serving_totals {
    uint64_t requests, ok, unfinished, failed, refused, timed_out;
    uint64_t met, undecided; /* inside all limits; neither inside nor outside for certain */
    /* Tokens taken in and put out within [from_ns, window_ns): by the steps that ended there, else
     * those of the requests that were over then. */
    uint64_t prompt_tokens, output_tokens;
    uint64_t good_tokens; /* output tokens of the requests that `met` counts */
    /* OK, with another number of output tokens than asked for; sums of what came and was asked. */
    uint64_t shorter, shorter_tokens, shorter_asked, longer, longer_tokens, longer_asked;
    /* OK, with two tokens or more whose time per token is not known: those whose output came at
     * once, and the others, with the sums of the least and the most that it can be. */
    uint64_t at_once, in_pieces;
    double in_pieces_least_ns, in_pieces_most_ns;
    uint64_t disordered; /* not scheduled <= sent <= admitted <= first <= done <= until */
    int64_t span_ns;     /* window_ns - from_ns */
};

/* Adds one trial's sums to `total`. */
void serving_totals_add(const struct serving_trial *trial, const struct serving_limits *limits,
                        int64_t from_ns, struct serving_totals *total);

/*
 * The audit of a trial: the integral over [0, until_ns) of the number of requests in the system
 * (scheduled and not over), from the sorted events, against the sum of the times that they were in
 * it, each clipped to the same span: equal to the nanosecond (Little's law without averages;
 * Stidham and El-Taha, "Sample-path analysis of queueing systems" (1999)). Unequal where a request
 * was over before it was scheduled. In request nanoseconds; `ret_mean` is the integral / until_ns.
 */
enum status serving_audit(const struct serving_trial *trial, bool *ret_equal, double *ret_mean,
                          struct error *err);

#endif
