/*
 * estimate - what samples say: a verdict, values with their intervals and grades, and findings; of
 * a stored result (result.h), or of numbers of the caller's.
 */
#ifndef ASSAY_ESTIMATE_H
#define ASSAY_ESTIMATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <assay/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A value in its base unit. */
struct assay_metric {
    const char *id;    /* "iteration_time" */
    const char *label; /* "time per iteration" */
    const char *unit;  /* "ns", "B/s", "tokens/s" */
    const char *grade; /* "A" to "D" (protocols/README.md has the rule); "": there is no value */
    double value;
    double lo, hi;   /* its interval at the estimate's confidence */
    uint64_t needed; /* samples that a percentile without a value takes; 0: not known */
};

/* What a reader must know with the values. */
struct assay_finding {
    const char *code;     /* "drift" */
    const char *severity; /* "info", "warning": less certain than it looks, "critical" */
    const char *message;  /* a sentence */
    const char *remedy;   /* what to do; "": nothing */
    int64_t trial;        /* its number in the cell, from 1; 0: of the cell */
};

struct assay_estimate {
    const char *verdict;  /* "steady", "after_warmup", "insufficient", "drift" ...; NULL: another
                             program's claim, which has values alone */
    const char *headline; /* id of the metric that the result is shown by */
    bool steady;          /* the verdict makes its value a result, not an indication */
    double confidence;    /* of the intervals, as 0.95; 0: not known */
    double effective;     /* samples that as many independent ones would be worth */
    uint64_t trials, samples;
    uint64_t needed_trials; /* that narrow the interval to the protocol's margin, with a chance of
                               80 %; 0: enough, or not known */
};

/* The i-th of its metrics, in the order that people read them; NULL past the last. */
const struct assay_metric *assay_estimate_metric(const struct assay_estimate *estimate, size_t i);
/* The one with this id ("p99"); NULL: it has none. */
const struct assay_metric *assay_estimate_find(const struct assay_estimate *estimate,
                                               const char *id);
/* The i-th of its findings; NULL past the last. */
const struct assay_finding *assay_estimate_finding(const struct assay_estimate *estimate, size_t i);

/* The samples of one trial (one run of a process), in the order in which they came. */
struct assay_series {
    const double *values; /* durations, above 0 */
    size_t count;
    size_t warmup; /* of these the first so many are declared warmup */
};

struct assay_analyze_options {
    size_t size;
    double unit_ns;    /* nanoseconds of one unit of the values, as 1e9 for seconds; 0: 1 */
    double confidence; /* of intervals; 0: 0.95 */
    double margin;     /* half-width of equivalence, as a share; 0: 0.01 */
};
#define ASSAY_ANALYZE_OPTIONS_INIT                                                                 \
    {                                                                                              \
        sizeof(struct assay_analyze_options), 0, 0, 0                                              \
    }

/*
 * Analyses trials of one thing as `assay analyze` does; values are rounded to whole nanoseconds.
 * `options` may be NULL. INVALID: no trial, a value of less than half a nanosecond or more than
 * 2^53, options out of range. Free with assay_estimate_free.
 */
enum assay_status assay_analyze(const struct assay_series *trials, size_t count,
                                const struct assay_analyze_options *options,
                                struct assay_estimate **ret);
/* Of assay_analyze alone: that of a result is the result's. */
void assay_estimate_free(struct assay_estimate *estimate);

#ifdef __cplusplus
}
#endif

#endif
