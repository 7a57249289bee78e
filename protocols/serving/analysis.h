/*
 * analysis - what trials under load at one rate say: load, queue, limits, percentiles; and over
 * rates, which of them the subject carries.
 *
 * Pure functions: the same input gives the same bytes under one SERVING_VERSION. Everything counts
 * from the scheduled time. How it is done and how often it errs: protocols/serving/README.md and
 * tests/calibration/SERVING.md.
 */
#ifndef ASSAY_PROTOCOLS_SERVING_ANALYSIS_H
#define ASSAY_PROTOCOLS_SERVING_ANALYSIS_H

#include "harness/core/type.h"
#include "protocols/serving/arrivals.h"
#include "protocols/serving/plan.h"
#include "protocols/serving/serving_metrics.h"

/*
 * 2: exact binomial intervals of shares, where few or nearly all requests miss as well; traces by
 * the same rule, a trial a batch.
 * 3: a time per token of output that came at once, or in pieces of several tokens, is unknown or
 * between two, and a limit on it undecided; findings on answers of other lengths than asked for,
 * and from what the client of an endpoint counted; the capacity of an endpoint is the declared one.
 * 4: the process of arrivals is tested by the schedule where the lag is within its limit, and with
 * the places of gaps within a ns drawn.
 * 5: gap_p99 is a metric.
 */
#define SERVING_VERSION 5
#define SERVING_TRIALS_MAX 1024

/* X(constant, id) of each verdict; ids are stored. */
#define LOAD_VERDICT_MAP(X)                                                                        \
    X(DELIVERED, "delivered")                                                                      \
    X(LATE, "late")                       /* sent later than the lag limit admits */               \
    X(NOT_AS_DECLARED, "not_as_declared") /* another schedule, early, or not the process */
#define QUEUE_VERDICT_MAP(X)                                                                       \
    X(UNDETERMINED, "undetermined")                                                                \
    X(STABLE, "stable")   /* departures keep up with arrivals within 1 % of them */                \
    X(GROWING, "growing") /* they do not: there is no steady state */
#define SLO_VERDICT_MAP(X)                                                                         \
    X(INCONCLUSIVE, "inconclusive")                                                                \
    X(MEETS, "meets")                                                                              \
    X(MISSES, "misses")
/* Why the limits are inconclusive, or missed other than by their share. */
#define SLO_REASON_MAP(X)                                                                          \
    X(NONE, "none")                                                                                \
    X(NO_LIMITS, "no_limits") /* none were declared */                                             \
    X(LOAD, "load")           /* the load was not delivered: the numbers are of another one */     \
    X(UNPLANNED, "unplanned") /* capacity unknown: what a window is worth cannot be said */        \
    X(SHORT, "short")         /* fewer requests than the plan needs: needed_requests */            \
    X(SHARE, "share")         /* the interval holds the limit: needed_requests */                  \
    X(UNDECIDED, "undecided") /* of too many requests it is not known whether they are inside */   \
    X(TRIALS, "trials")       /* a trace needs three trials at least */                            \
    X(GROWING, "growing")     /* the backlog grows: missed whatever the window's share */          \
    X(FAILURES, "failures")   /* more requests failed than declared */
#define PERCENTILE_STATE_MAP(X)                                                                    \
    X(REFUSED, "refused") /* by plan: needed_requests; or the backlog grows: no interval */        \
    X(GIVEN, "given")                                                                              \
    X(OPEN, "open") /* at least lo: no upper bound from so few excursions */                       \
    X(NONE, "none") /* the metric has no values, or of over a tenth of the answers none is known   \
                     */
#define CAPACITY_STATE_MAP(X)                                                                      \
    X(INCONCLUSIVE, "inconclusive")                                                                \
    X(WITHIN, "within")     /* [lo, hi] */                                                         \
    X(AT_LEAST, "at_least") /* lo: the limits are not missed at any rate */                        \
    X(AT_MOST, "at_most")   /* hi: they are not met at any */

enum load_verdict {
#define LOAD_ENUM(constant, id) LOAD_##constant,
    LOAD_VERDICT_MAP(LOAD_ENUM)
#undef LOAD_ENUM
        LOAD_COUNT
};

enum queue_verdict {
#define QUEUE_ENUM(constant, id) QUEUE_##constant,
    QUEUE_VERDICT_MAP(QUEUE_ENUM)
#undef QUEUE_ENUM
        QUEUE_COUNT
};

enum slo_verdict {
#define SLO_ENUM(constant, id) SLO_##constant,
    SLO_VERDICT_MAP(SLO_ENUM)
#undef SLO_ENUM
        SLO_COUNT
};

enum slo_reason {
#define SLO_REASON_ENUM(constant, id) SLO_REASON_##constant,
    SLO_REASON_MAP(SLO_REASON_ENUM)
#undef SLO_REASON_ENUM
        SLO_REASON_COUNT
};

enum percentile_state {
#define PERCENTILE_ENUM(constant, id) PERCENTILE_##constant,
    PERCENTILE_STATE_MAP(PERCENTILE_ENUM)
#undef PERCENTILE_ENUM
        PERCENTILE_COUNT
};

enum capacity_state {
#define CAPACITY_ENUM(constant, id) CAPACITY_##constant,
    CAPACITY_STATE_MAP(CAPACITY_ENUM)
#undef CAPACITY_ENUM
        CAPACITY_COUNT
};

/* ---- the load ---- */

struct load_result {
    enum load_verdict verdict;
    uint64_t requests;
    uint64_t not_sent, early; /* never sent; sent before their time */
    uint64_t mismatched; /* scheduled at another time, or with other prompt tokens (0: not told;
                            nor compared where the server tells them) */
    double lag_p999_ns;  /* of what was sent; NaN: nothing was */
    double late_share;   /* sent later than the limit admits, or never */
    /*
     * The sent times (the scheduled ones, where the lag is within its limit) as a realisation of
     * the process, in operational time (arrivals_rescale): p values of the mean rate, of the gaps
     * against Exp(1) (Kolmogorov-Smirnov), of their independence (Ljung and Box, 20 lags of their
     * normal scores) and of the index of dispersion of counts. NaN: not tested (deterministic,
     * trace, under 100 gaps).
     */
    double p_rate, p_gaps, p_independence, p_dispersion;
};

/* ---- the queue ---- */

struct queue_result {
    enum queue_verdict verdict;
    double growth, growth_lo, growth_hi; /* backlog gained per arrival in the second half; 99 % */
    double backlog;                      /* mean requests in the system over the windows */
    double backlog_end;                  /* at the windows' end, mean over the trials */
    uint64_t audit_failed;               /* trials whose integral and sum differ */
};

/* ---- the limits ---- */

struct slo_result {
    enum slo_verdict verdict;
    enum slo_reason reason;
    /* Share of the requests scheduled after the warmup that were inside all limits; `least` counts
     * the undecided as outside, `most` as inside; the interval covers both. */
    double attainment, least, most, lo, hi;
    double goodput;           /* requests/s inside the limits */
    double dispersion;        /* variance of the share by that of independent requests */
    double failures;          /* share that failed, was refused or timed out */
    uint64_t needed_requests; /* of all trials together; 0: enough, or unknown */
    /*
     * MLPerf's early stopping (Inference rules, "Early stopping"), 99 % confidence, which takes
     * requests for independent and so passes far too often under load: how many may miss.
     */
    int64_t mlperf_allowed; /* -1: too few requests for any verdict */
    bool mlperf_passes;
};

/* ---- percentiles ---- */

#define SERVING_PERCENTILES 4 /* p50, p90, p99, p99.9 */
extern const double serving_percentile[SERVING_PERCENTILES];

struct percentile_result {
    enum percentile_state state;
    double value, lo, hi;     /* ns; NaN where there is none */
    uint64_t needed_requests; /* where refused, of all trials together; 0: unknown */
};

/* ---- all of one rate ---- */

struct serving_result {
    uint64_t version;
    double rate;       /* declared; of a trace its own */
    double confidence; /* of limits and percentiles */
    uint64_t trials;
    struct serving_plan plan; /* for the share that may miss; else for p99 */
    double windows;           /* relaxation times in all trials together; NaN: unknown */
    struct serving_totals totals;
    double prompt_tokens_per_s, output_tokens_per_s;
    struct load_result load;
    struct queue_result queue;
    struct slo_result slo;
    struct percentile_result percentiles[SERVING_METRIC_COUNT][SERVING_PERCENTILES];
};

struct serving_options {
    const struct arrivals *arrivals;
    double rate; /* declared, requests/s; 0 of a trace */
    struct serving_subject subject;
    struct serving_limits limits; /* attain 0: none declared */
    int64_t lag_limit_ns;         /* for 99.9 % of the requests; 0: 1 ms */
    double confidence;            /* 0: 0.95 */
    bool prompts_told; /* prompt tokens are the server's count by its tokenizer, not the schedule's
                        */
};

/*
 * Analyses `count` trials (1 to SERVING_TRIALS_MAX) at one rate, independent of each other: a seed
 * each, a subject that begins empty. INVALID for no trials, a trial without a schedule or requests,
 * or limits out of range; NO_MEMORY. 40 bytes a request.
 */
enum status serving_analyze(const struct serving_trial *trials, size_t count,
                            const struct serving_options *options, struct serving_result *ret,
                            struct error *err);

/* What serving_analyze counts of a trial: its requests after the warmup. */
struct serving_totals serving_trial_totals(const struct serving_trial *trial,
                                           const struct serving_options *options);

/* The stored form, which owns nothing; NaN is null. */
extern const struct type serving_result_type;

/* ---- over rates ---- */

struct capacity_result {
    enum capacity_state state;
    double value, lo, hi; /* requests/s; NaN where there is none */
    double met, missed;   /* the highest declared rate that meets, the least that misses; or NaN */
};

/*
 * The highest rate at which the limits hold, from results at `count` rates (ascending, fixed
 * beforehand). The shares that miss and the ends of their intervals are each made monotone in the
 * rate (isotonic regression by pooling adjacent violators; Barlow et al., "Statistical Inference
 * under Order Restrictions" (1972)) and are log-linear between rates; where they cross the share
 * that may miss are value, hi and lo. Rates without an interval (refused, not delivered) are left
 * out; growing backlogs count as missing. INVALID for no rates or ones that do not ascend.
 */
enum status serving_capacity(const struct serving_result *results, size_t count,
                             const struct serving_limits *limits, struct capacity_result *ret,
                             struct error *err);

#endif
