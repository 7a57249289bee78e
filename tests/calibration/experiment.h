/*
 * experiment - one case of single series: a generator, the engine's outcome of each, and rows of
 * them.
 */
#ifndef ASSAY_TESTS_CALIBRATION_EXPERIMENT_H
#define ASSAY_TESTS_CALIBRATION_EXPERIMENT_H

#include "protocols/estimate.h"
#include "tests/calibration/generator.h"
#include "tests/calibration/measure.h"

#define EXPERIMENT_PERCENTILES 3

/* The engine's result for one series. */
struct outcome {
    enum estimate_verdict verdict;
    size_t from;
    bool given, covered;
    double width; /* half-width */
    bool percentile_given[EXPERIMENT_PERCENTILES], percentile_covered[EXPERIMENT_PERCENTILES];
};

/* One case: a generator, how many series of it, and what came out. */
struct experiment {
    struct generator generator;
    size_t series;
    struct outcome *outcomes;
    struct truth truth;
};

/* Runs the case, or loads its stored outcomes; `percentiles`: p50, p90 and p99, too. Free
 * experiment->outcomes. */
void experiment_run(const struct settings *settings, struct experiment *x, bool percentiles);

/* "phi 0.5, n 1000, ..." */
void experiment_describe(const struct generator *g, char *ret, size_t size);

/* A row with the case described and nothing counted. */
struct row experiment_row(const struct experiment *x, const char *what, double low, double high);

/* Of the intervals given, those that cover; of all series, steady ones whose interval misses. */
void experiment_add_coverage(const struct experiment *x, const char *what, double low, double high,
                             struct table *table);
void experiment_add_missed(const struct experiment *x, const char *what, double high,
                           struct table *table);
/* Of all series those that are said to change: after a warmup or slowdown, drift, change point. */
void experiment_add_changes(const struct experiment *x, const char *what, double high,
                            struct table *table);
/* Of all series those of this verdict, or with `other` of any other; those that are not steady. */
void experiment_add_verdict(const struct experiment *x, const char *what,
                            enum estimate_verdict verdict, bool other, double low, double high,
                            struct table *table);
void experiment_add_not_steady(const struct experiment *x, const char *what, double low,
                               double high, struct table *table);

#endif
