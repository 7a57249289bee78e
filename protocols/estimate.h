/*
 * estimate - what the samples of a cell say, with its interval and its verdict.
 *
 * Pure functions of samples and options: no clock, no randomness, no locale; the same input gives
 * the same bytes (estimate_to_json through core/canonical) under one ESTIMATE_VERSION.
 * The method is shared by every consumer: `assay run`, `assay analyze`, `assay verify`.
 */
#ifndef ASSAY_PROTOCOLS_ESTIMATE_H
#define ASSAY_PROTOCOLS_ESTIMATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "harness/core/status.h"

/*
 * Raised whenever any stored number could change. 2: a slow approach of many samples is no two-state
 * series, and what is left of it widens the interval. 3: percentiles of coarse clocks look at the
 * samples on both sides; no interval of few trials that are alike to the last digit; no median of two
 * states; blocks of iterations are told; a counter of energy that was set back gives none.
 */
#define ESTIMATE_VERSION 3

enum estimate_verdict {
    ESTIMATE_FLAT,            /* steady from the first sample */
    ESTIMATE_WARMUP,          /* settled after a slower start */
    ESTIMATE_SLOWDOWN,        /* settled after a faster start */
    ESTIMATE_DRIFT,           /* keeps moving: no steady state */
    ESTIMATE_TWO_STATE,       /* jumps between levels */
    ESTIMATE_NO_STEADY_STATE, /* never settled */
    ESTIMATE_INSUFFICIENT     /* too few (effective) samples to say */
};

#define ESTIMATE_PERCENTILES_MAX 8

/* Which one number of a trial's steady part a comparison rests on. */
enum estimate_centre {
    ESTIMATE_MEAN,  /* work / time, what a throughput is made of */
    ESTIMATE_MEDIAN /* the middle sample: unmoved by rare stolen time, blind to a rare slow path */
};

struct estimate_options {
    double confidence;         /* of intervals, e.g. 0.95 */
    double steady_tolerance;   /* relative change of level that still counts as the same, e.g. 0.01 */
    double drift_tolerance;    /* relative change over the window that counts as drift, e.g. 0.02 */
    double min_ess;            /* effective samples below which there is no interval */
    double margin;             /* delta of equivalence, e.g. 0.01 */
    enum estimate_centre compare_by;
    double percentiles[ESTIMATE_PERCENTILES_MAX]; /* e.g. 0.5 0.9 0.95 0.99 0.999 */
    size_t percentile_count;
};

/* The values that the declared protocols start from. */
struct estimate_options estimate_options_default(void);

/*
 * The samples of one trial in the order they came, warmup included. `first` is the index of the
 * first sample after the protocol's declared warmup: steady state may begin there or later.
 */
struct estimate_series {
    const int64_t *sample_ns;
    size_t count;
    size_t first;
};

struct estimate_interval {
    double value;
    bool has_value;    /* false: refused, see the warnings */
    double lo, hi;     /* when has_interval */
    bool has_interval;
};

struct estimate_percentile {
    double q; /* 0.99 */
    struct estimate_interval interval;
    uint64_t needed_n; /* when refused: samples that would carry it */
};

struct estimate_trial {
    enum estimate_verdict verdict;
    size_t steady_from;               /* count when there is no steady state */
    struct estimate_interval mean_ns; /* within the trial, autocorrelation honoured; no value under
                                         drift and no_steady_state, a value without interval when
                                         insufficient; under two_state it is the mean of the mix,
                                         and no headline */
    double ess;                       /* effective sample size of the steady part */
};

struct estimate {
    enum estimate_verdict verdict;    /* of the cell: the worst of its trials' */
    size_t trial_count;
    struct estimate_trial *trials;    /* heap */
    size_t sample_count;              /* all samples of all trials */
    struct estimate_interval mean_ns; /* one trial: within it; several: between them (log scale) */
    double confidence;
    double ess;
    struct estimate_percentile percentiles[ESTIMATE_PERCENTILES_MAX];
    size_t percentile_count;
    double variance_iteration;        /* of log time, within processes */
    double variance_process;          /* between processes; NAN with one trial */
    uint64_t needed_trials;           /* trials that would bring the interval within the margin; 0:
                                         unknown or already there */
    char **warnings;                  /* heap strings for people, each naming its remedy */
    size_t warning_count;
};

const char *estimate_centre_name(enum estimate_centre centre);

const char *estimate_verdict_name(enum estimate_verdict verdict);

/* True for verdicts that give a headline number (flat, warmup, slowdown). */
bool estimate_verdict_is_steady(enum estimate_verdict verdict);

/* The same by a verdict's name; false for NULL and for a name that no verdict has. */
bool estimate_verdict_named_is_steady(const char *name);

/*
 * Analyses one cell. `trials` holds `trial_count` >= 1 series. NO_MEMORY; INVALID for a series with
 * a sample <= 0 or for options out of range. Destroy the result with estimate_destroy.
 */
enum status estimate_cell(const struct estimate_series *trials, size_t trial_count,
                          const struct estimate_options *options, struct estimate **ret,
                          struct error *err);
void estimate_destroy(struct estimate *estimate);

/* New JSON object in the form that `assay analyze` prints (without "series"). */
json_t *estimate_to_json(const struct estimate *estimate);

#endif
