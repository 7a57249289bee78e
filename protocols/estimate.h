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

#include "harness/core/status.h"
#include "harness/core/type.h"
#include "protocols/finding.h"
#include "protocols/metric.h"

/*
 * Raised whenever any stored number could change. 4: metrics and findings as data; a value for
 * every trial with samples, graded; between trials all of them count. 5: percentiles between
 * trials; intervals at least a tick wide; trials needed with assurance; families of comparisons. 6:
 * ramps, power laws and long memory among the descriptions; `undetermined`; heavy tails by rank.
 * 7: findings of clocks, of preloaded libraries and of files without a package; numbers as in 6.
 * 8: good tokens, intervals of good requests and tokens, energy of good work of servers. What is
 * said of servers alone has a version of its own since (SERVING_VERSION, `serving.version`).
 * 10: the clock's step divides the samples; a level that more than a tenth of the samples have is
 * no impulse; levels in any order; the tick of several trials is the least that one shows. 11: the
 * order of the trials widens, and decides whether the cell is steady. 12: a disturbance that passes
 * is no warmup; percentiles at gaps. 13: checked iterations are judged by the shortest, by kind; of
 * campaigns over several days, days are independent and not the trials of one.
 */
#define ESTIMATE_VERSION 13

/*
 * X(constant, id, label, steady, help): one name of a verdict everywhere; the label differs in
 * blanks and hyphens only. In the order of rank, the best first.
 */
/* clang-format off */
#define ESTIMATE_VERDICT_MAP(X)                                                                    \
    X(STEADY, "steady", "steady", true, "steady from the first sample")                            \
    X(WARMUP, "after_warmup", "after warmup", true, "steady after a slower start")                 \
    X(SLOWDOWN, "after_slowdown", "after slowdown", true, "steady after a faster start")           \
    X(SERVING, "serving", "serving", true, "a server under load, which has no steady state: "      \
      "findings say what is wrong with its load or queue")                                         \
    X(INSUFFICIENT, "insufficient", "insufficient", false,                                         \
      "too few (effective) samples within trials to tell")                                         \
    X(UNDETERMINED, "undetermined", "undetermined", false,                                         \
      "a random walk or long memory cannot be told from a steady state")                           \
    X(BIMODAL, "bimodal", "bimodal", false, "alternates between two levels")                       \
    X(DRIFT, "drift", "drift", false, "moves over the whole window")                               \
    X(NON_STATIONARY, "non_stationary", "non-stationary", false, "the level changed near the end")
/* clang-format on */

enum estimate_verdict {
#define ESTIMATE_VERDICT_ENUM(constant, ...) ESTIMATE_##constant,
    ESTIMATE_VERDICT_MAP(ESTIMATE_VERDICT_ENUM)
#undef ESTIMATE_VERDICT_ENUM
        ESTIMATE_VERDICT_COUNT
};

#define ESTIMATE_PERCENTILES_MAX 8

/* Which one number of a trial's steady part a comparison rests on. */
enum estimate_centre {
    ESTIMATE_MEAN,  /* work / time, what a throughput is made of */
    ESTIMATE_MEDIAN /* the middle sample: unmoved by rare stolen time, blind to a rare slow path */
};

struct estimate_options {
    double confidence;       /* of intervals, e.g. 0.95 */
    double steady_tolerance; /* relative change of level that still counts as the same, e.g. 0.01 */
    double drift_tolerance;  /* relative change over the window that counts as drift, e.g. 0.02 */
    double min_ess;          /* effective samples below which there is no interval */
    double margin;           /* delta of equivalence, e.g. 0.01 */
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
    int64_t
        number; /* of the trial in its cell, as people count; 0: its place in the array, from 1 */
    int64_t started_utc_ns; /* of the trial; 0: not known */
};

struct estimate_interval {
    double value;
    bool has_value;
    double lo, hi; /* when has_interval */
    bool has_interval;
};

struct estimate_trial {
    int64_t sequence; /* place in the campaign's order; 0: none */
    int64_t number;   /* as in estimate_series */
    enum estimate_verdict verdict;
    bool has_steady;    /* steady_from is known */
    size_t steady_from; /* first sample of the part that the mean is of, where it is steady or
                           bimodal */
    /*
     * Of the steady part; of all samples after the declared warmup where there is none. Its
     * interval is within the trial and honours autocorrelation; none when the trial is not steady
     * (bimodal has one, of the mixture; undetermined one that is right if the series is
     * stationary), its effective sample size is below the protocol's min_ess, or long memory is
     * possible.
     */
    struct estimate_interval mean_ns;
    double median_ns; /* of the same part; NAN: unknown, or bimodal (one of the two levels) */
    double ess;       /* effective sample size of that part */
    /*
     * Of a server with limits: requests after the warmup; those outside the limits; those of which
     * nobody can tell. `requests` 0: not known.
     */
    int64_t requests, missed, undecided;
};

struct estimate_variance {
    double iteration; /* of log time, within processes; NAN: unknown */
    double process;   /* between processes; NAN with one trial */
};

struct estimate {
    int64_t version;
    enum estimate_verdict verdict; /* of the cell, see estimate_cell */
    size_t trial_count;
    struct estimate_trial *trials; /* heap */
    size_t sample_count;           /* all samples of all trials */
    int64_t iterations_per_sample; /* of the blocks analysed */
    double confidence;             /* of intervals; 0: unknown */
    enum estimate_centre compare_by;
    double ess;     /* sum over trials */
    double step_ns; /* of the clock, per iteration; NAN: all samples of all trials are alike; 0: not
                       known. Not stored. */
    double unseen;  /* how far the value may be off where the order of its trials matters but is not
                       seen (succession_unseen), and without the disturbances within them, as a
                       share; 0: not known. Not stored. */
    size_t days;    /* that the interval takes for independent; 0: it takes trials. Not
                       stored. */
    size_t *trial_days;      /* heap: the day of each trial (stats/days.h); NULL: not known. Not
                                stored. */
    enum metric_id headline; /* what the cell is shown by */
    /* iteration_time: one trial: within it; several: between them (log scale). */
    struct metric_value metrics[METRIC_COUNT];
    struct estimate_variance variance;
    uint64_t needed_trials; /* trials that bring the interval within the margin with a chance of
                               80 % (trials_needed); 0: unknown, or already there */
    struct finding_list findings;
    char *energy_source; /* heap: "device.energy_uj"; NULL: no energy is known */
    json_t *serving;     /* of a server's cell (serving_result_type); NULL: it is none */
    json_t *energy;      /* array, one entry for each counter (window telemetry); NULL: none */
};

#define ESTIMATE_CENTRE_COUNT 2
extern const char *const estimate_centre_names[ESTIMATE_CENTRE_COUNT];
const char *estimate_centre_name(enum estimate_centre centre);

/* "after_warmup" and "after warmup". */
const char *estimate_verdict_name(enum estimate_verdict verdict);
const char *estimate_verdict_label(enum estimate_verdict verdict);
const char *estimate_verdict_help(enum estimate_verdict verdict); /* what it means */
/* ESTIMATE_VERDICT_COUNT for NULL and for a name that no verdict has. */
enum estimate_verdict estimate_verdict_find(const char *name);

/* True for verdicts whose value is a headline (steady, after warmup, after slowdown). */
bool estimate_verdict_is_steady(enum estimate_verdict verdict);

/*
 * Analyses one cell. `trials` holds `trial_count` >= 1 series. NO_MEMORY; INVALID for a series with
 * a sample <= 0 or for options out of range. Destroy the result with estimate_destroy.
 *
 * Every trial with samples after its warmup counts, whatever its verdict. The cell's verdict:
 * insufficient where that is the verdict of more than half of the trials; else the worst of drift,
 * non-stationary and bimodal that more than a fifth of the other trials have or exceed, so that one
 * odd trial in five or more is a finding and not the verdict; else undetermined where more than
 * half of them are; else a steady one by the same rule.
 *
 * The trials are in the order in which they were measured. Where their levels follow a trend, or
 * neighbours are more alike than chance explains (stats/succession.h), the interval admits that,
 * and a cell whose half-width exceeds the margin by it is undetermined and not steady. Where they
 * were measured on several days (stats/days.h), the means of the days take their place.
 */
enum status estimate_cell(const struct estimate_series *trials, size_t trial_count,
                          const struct estimate_options *options, struct estimate **ret,
                          struct error *err);
void estimate_destroy(struct estimate *estimate);
static inline void estimate_cleanup(struct estimate **estimate)
{
    estimate_destroy(*estimate);
}

/* Whether the cell's value is a headline, and whether trials are too short to tell. */
bool estimate_is_steady(const struct estimate *estimate);

/* Sets a metric: marks it present, resolves its unit and grades it by the cell's verdict. */
void estimate_set_metric(struct estimate *estimate, enum metric_id id,
                         const struct estimate_interval *value, const char *item, bool integers);

/* The stored form: a new object, NULL without memory. */
json_t *estimate_to_json(const struct estimate *estimate);
/*
 * The inverse; members that are missing or of another type read as unknown, never as 0. CORRUPT
 * when it is no object; NO_MEMORY.
 */
enum status estimate_from_json(const json_t *json, struct estimate **ret, struct error *err);

/* Its members; and {value, lo, hi} of an interval. */
extern const struct type estimate_type, estimate_interval_type;

#endif
