/*
 * metric - what is measured of a cell, as one table.
 *
 * Terminal, page, JSON, CSV, OpenMetrics, dossier, SQL and the JSON Schemas iterate over this
 * table: a new metric is one row here and the code that computes it. Values keep their base unit;
 * only a view scales them (ns to ms, B/s to GB/s).
 */
#ifndef ASSAY_PROTOCOLS_METRIC_H
#define ASSAY_PROTOCOLS_METRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/core/type.h"

/* How a value is written for people. */
enum metric_kind {
    METRIC_KIND_TIME,    /* ns: "1.23 ms" */
    METRIC_KIND_RATE,    /* per second, SI prefixes: "12.3 GB/s" */
    METRIC_KIND_ENERGY,  /* J per unit of work: "1.2 mJ/token" */
    METRIC_KIND_POWER,   /* W */
    METRIC_KIND_COUNTED, /* in the unit that a program declares, as it is */
    METRIC_KIND_RATIO    /* without unit: "0.93" */
};

enum metric_better { METRIC_LOWER, METRIC_HIGHER, METRIC_NEITHER };

/*
 * X(constant, id, label, kind, unit, better, q, exported, help)
 *   id        member in JSON and SQL, column in CSV
 *   unit      base unit; {item} is the workload's item ("token"), {op} "FLOP", or "OP" for integers
 *   q         of a percentile, else 0
 *   exported  name in OpenMetrics, base unit last, "assay_" is prepended; {item} metrics have a
 * label help      definition, for schemas and documentation
 *
 * In the order that people read them.
 */
/* clang-format off */
#define METRIC_MAP(X)                                                                              \
    X(ATTAINMENT, "attainment", "attainment", RATIO, "1", HIGHER, 0,                               \
      "attainment_ratio", "requests that kept all limits / requests scheduled")                    \
    X(GOODPUT, "goodput", "goodput", RATE, "requests/s", HIGHER, 0,                                \
      "good_requests_per_second", "requests that kept all limits / time that was scheduled")       \
    X(REQUEST_RATE, "request_rate", "arrivals", RATE, "requests/s", NEITHER, 0,                    \
      "requests_per_second", "requests scheduled / time that was scheduled")                       \
    X(TTFT_P50, "ttft_p50", "first output p50", TIME, "ns", LOWER, 0,                              \
      "first_output_p50_seconds", "median time from a request's scheduled time to its first output")\
    X(TTFT_P99, "ttft_p99", "first output p99", TIME, "ns", LOWER, 0,                              \
      "first_output_p99_seconds", "99th percentile of the same")                                   \
    X(TPOT_P50, "tpot_p50", "per output p50", TIME, "ns", LOWER, 0,                                \
      "per_output_p50_seconds", "median of (last - first output) / (outputs after the first)")       \
    X(TPOT_P99, "tpot_p99", "per output p99", TIME, "ns", LOWER, 0,                                \
      "per_output_p99_seconds", "99th percentile of the same")                                     \
    X(GAP_P99, "gap_p99", "longest gap p99", TIME, "ns", LOWER, 0,                                 \
      "longest_gap_p99_seconds",                                                                   \
      "99th percentile of the longest time between two outputs of a request, which a stall after " \
      "the first one shows in")                                                                    \
    X(E2E_P50, "e2e_p50", "latency p50", TIME, "ns", LOWER, 0,                                     \
      "latency_p50_seconds", "median time from a request's scheduled time to its last output")     \
    X(E2E_P99, "e2e_p99", "latency p99", TIME, "ns", LOWER, 0,                                     \
      "latency_p99_seconds", "99th percentile of the same")                                        \
    X(LAG_P999, "lag_p99.9", "lag p99.9", TIME, "ns", LOWER, 0,                                    \
      "lag_p99_9_seconds", "99.9th percentile of how late a request was sent")                     \
    X(TOKEN_RATE, "token_rate", "tokens", RATE, "tokens/s", HIGHER, 0,                             \
      "output_tokens_per_second", "outputs that were made while requests were scheduled (of an "     \
      "endpoint: of requests that ended then), also of requests from before / that time")          \
    X(GOOD_TOKEN_RATE, "good_token_rate", "good tokens", RATE, "tokens/s", HIGHER, 0,              \
      "good_output_tokens_per_second", "outputs of the requests that were scheduled then and kept "  \
      "all limits, also those made later / that time, so that it can be more than token_rate where " \
      "the window is short")                                                                        \
    X(ITERATION_TIME, "iteration_time", "time per iteration", TIME, "ns", LOWER, 0,                \
      "iteration_seconds", "mean wall time of one iteration")                                      \
    X(BYTE_RATE, "byte_rate", "bytes", RATE, "B/s", HIGHER, 0,                                     \
      "bytes_per_second", "bytes moved by the declared formula / iteration_time")                  \
    X(OP_RATE, "op_rate", "arithmetic", RATE, "{op}/s", HIGHER, 0,                                 \
      "operations_per_second", "arithmetic operations by the declared formula / iteration_time")   \
    X(ITEM_RATE, "item_rate", "work", RATE, "{item}s/s", HIGHER, 0,                                \
      "items_per_second", "items of work of an iteration / iteration_time")                        \
    X(COUNTED_RATE, "counted_rate", "counted", COUNTED, "{item}", HIGHER, 0,                       \
      "counted_rate", "what a program counts itself, where higher is better: harmonic mean")       \
    X(COUNTED_COST, "counted_cost", "counted", COUNTED, "{item}", LOWER, 0,                        \
      "counted_cost", "what a program counts itself, where lower is better: mean")                 \
    X(REFERENCE_RATIO, "reference_ratio", "rate over reference loop", RATIO, "1", HIGHER, 0,        \
      "reference_ratio", "time of the reference loop / iteration_time, both from the same trial")  \
    X(SAMPLE_SHARE, "sample_share", "window in samples", RATIO, "1", NEITHER, 0,                    \
      "sample_ratio", "sum of the samples / length of the windows, of all trials")                 \
    X(CHECK_SHARE, "check_share", "window in checks", RATIO, "1", NEITHER, 0,                      \
      "check_ratio", "time of the spot checks within the windows / their length")                  \
    X(GAP_SHARE, "gap_share", "window in gaps", RATIO, "1", NEITHER, 0,                            \
      "gap_ratio",                                                                                 \
      "time in no sample, spot check, reference loop or read-back / length of the windows")        \
    X(P50, "p50", "p50", TIME, "ns", LOWER, 0.5,                                                   \
      "iteration_p50_seconds", "median of the samples, per iteration")                             \
    X(P75, "p75", "p75", TIME, "ns", LOWER, 0.75,                                                  \
      "iteration_p75_seconds", "75th percentile of the samples, per iteration")                    \
    X(P90, "p90", "p90", TIME, "ns", LOWER, 0.9,                                                   \
      "iteration_p90_seconds", "90th percentile of the samples, per iteration")                    \
    X(P95, "p95", "p95", TIME, "ns", LOWER, 0.95,                                                  \
      "iteration_p95_seconds", "95th percentile of the samples, per iteration")                    \
    X(P99, "p99", "p99", TIME, "ns", LOWER, 0.99,                                                  \
      "iteration_p99_seconds", "99th percentile of the samples, per iteration")                    \
    X(P999, "p99.9", "p99.9", TIME, "ns", LOWER, 0.999,                                            \
      "iteration_p99_9_seconds", "99.9th percentile of the samples, per iteration")                \
    X(ENERGY_ITERATION, "energy_per_iteration", "energy", ENERGY, "J/iteration", LOWER, 0,         \
      "iteration_joules", "growth of the energy counter over the window / iterations")             \
    X(ENERGY_ITEM, "energy_per_item", "energy of work", ENERGY, "J/{item}", LOWER, 0,              \
      "item_joules", "energy_per_iteration / items of an iteration")                               \
    X(ENERGY_OP, "energy_per_op", "energy of arithmetic", ENERGY, "J/{op}", LOWER, 0,              \
      "operation_joules", "energy_per_iteration / operations of an iteration")                     \
    X(ENERGY_BYTE, "energy_per_byte", "energy of traffic", ENERGY, "J/B", LOWER, 0,                \
      "byte_joules", "energy_per_iteration / bytes of an iteration")                               \
    X(ENERGY_GOOD, "energy_per_good", "energy of good work", ENERGY, "J/{item}", LOWER, 0,         \
      "good_joules",                                                                               \
      "growth of the energy counter over the window / tokens (requests, where they have none) of " \
      "requests inside the limits")                                                                \
    X(POWER, "mean_power", "mean power", POWER, "W", LOWER, 0,                                     \
      "power_watts", "growth of the energy counter over all windows / their time")
/* clang-format on */

enum metric_id {
#define METRIC_ENUM(constant, ...) METRIC_##constant,
    METRIC_MAP(METRIC_ENUM)
#undef METRIC_ENUM
        METRIC_COUNT
};

struct metric {
    const char *id, *label;
    enum metric_kind kind;
    const char *unit;
    enum metric_better better;
    double q;
    const char *exported, *help;
};

extern const struct metric metrics[METRIC_COUNT];

/* How well a value is known; `protocols/README.md` has the rule, metric_grade computes it. */
enum metric_grade {
    METRIC_GRADE_NONE,
    METRIC_GRADE_A,
    METRIC_GRADE_B,
    METRIC_GRADE_C,
    METRIC_GRADE_D
};

#define METRIC_UNIT_SIZE 48

/* A value of the metric at the same index of an array of METRIC_COUNT. */
struct metric_value {
    bool present; /* the cell has this metric, with a value or with the reason for none */
    bool has_value;
    bool has_interval; /* lo and hi are known */
    double value, lo, hi;
    enum metric_grade grade; /* NONE without a value */
    uint64_t needed;         /* a percentile without a value: samples that it takes; 0: not known */
    char unit[METRIC_UNIT_SIZE]; /* resolved: "tokens/s" */
};

/* Index of an id; METRIC_COUNT: there is none. */
enum metric_id metric_find(const char *id);
/* Index of the percentile q (0.99); METRIC_COUNT: the table has none. */
enum metric_id metric_of_quantile(double q);

/*
 * The unit of a metric with {item} and {op} filled in. `item` may be NULL ("item"); `integers` says
 * that arithmetic is of integers.
 */
void metric_unit(enum metric_id id, const char *item, bool integers, char ret[METRIC_UNIT_SIZE]);

/* Whether it is a program's own number, which assay cannot vouch for. */
static inline bool metric_is_counted(enum metric_id id)
{
    return id == METRIC_COUNTED_RATE || id == METRIC_COUNTED_COST;
}

/*
 * The grade of an estimate:
 *   A  steady, at least 5 trials, half-width of the interval at most 1 % of the value
 *   B  steady, at least 5 trials, at most 5 %
 *   C  steady or too few samples within trials to tell, at least 2 trials, at most 20 %
 *   D  not steady, wider, one trial, or without an interval: an indication, no result
 * A program's own number has C at best (estimate_set_metric): assay has not measured it.
 * `unseen` is how far the value may be off where the order of its trials matters but is not seen,
 * as a share (succession_unseen; 0: not known): a grade takes that to be a half-width, too.
 */
enum metric_grade metric_grade(const struct metric_value *value, bool steady, bool undecided,
                               size_t trials, double unseen);
/* "A"; "" for NONE. */
const char *metric_grade_name(enum metric_grade grade);
/* "precise", "good", "rough", "indicative". */
const char *metric_grade_label(enum metric_grade grade);

/* The larger side of the interval relative to the value; NAN without an interval. */
double metric_half_width(const struct metric_value *value);

/* {"iteration_time": {"value", "lo", "hi", "unit", "grade", "needed"}, ...}: what is present. */
json_t *metrics_to_json(const struct metric_value values[METRIC_COUNT]);
/* The entry of one metric in that; NULL: it is not present, or the id is METRIC_COUNT. */
json_t *metric_member(const json_t *values, enum metric_id id);
/* The same as a type, of an array of METRIC_COUNT values; what is missing or of another type when
 * it is read is not present. */
extern const struct type metrics_type;

#endif
