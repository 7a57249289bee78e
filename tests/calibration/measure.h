/* measure - the error rates of the engine, row by row of protocol promises. */
#ifndef ASSAY_TESTS_CALIBRATION_MEASURE_H
#define ASSAY_TESTS_CALIBRATION_MEASURE_H

#include <stddef.h>
#include <stdint.h>

#include "tests/calibration/parts.h"
#include "tests/calibration/table.h"

struct settings {
    uint64_t seed;
    size_t series;    /* made for each case */
    size_t pairs;     /* comparisons made for each case; they are much cheaper */
    const char *only; /* cases whose `what` contains this; "" is all */
    struct parts *parts;
};

/* Intervals of the mean, their width, percentiles, verdicts and places (estimate_cell). */
void measure_engine(const struct settings *settings, struct table *table);

/* Ramps, slow warmups, random walks, long memory, oscillations, heavy tails. */
void measure_hard(const struct settings *settings, struct table *table);

/* Disturbances that pass, and bursts: the verdict, the interval, the grade. */
void measure_disturbed(const struct settings *settings, struct table *table);

/* Intervals between trials, their coverage by grade, marked values, the verdict of cells. */
void measure_cells(const struct settings *settings, struct table *table);

/* False differences, power, equivalence (paired_analyze, unpaired_analyze), and families. */
void measure_comparisons(const struct settings *settings, struct table *table);

/*
 * Families of 50 comparisons (comparison_family): any false one, power, the share of false
 * discoveries. A family for each ten of `pairs`, at least 400.
 */
void measure_families(const struct settings *settings, struct table *table);

/*
 * Comparisons whose trials or pairs are not independent, or depend on the arm that ran first
 * (unpaired_analyze, crossover_analyze).
 */
void measure_dependence(const struct settings *settings, struct table *table);

/* Decisions of other tools' rules on such series; nothing is promised of them. */
void measure_rivals(const struct settings *settings, struct table *table);

/* Histories of results (history_describe): false changes, steps found; and other rules on them. */
void measure_history(const struct settings *settings, struct table *table);

/* Verdicts on a contract's items (acceptance_judge): both parties' risks. */
void measure_acceptance(const struct settings *settings, struct table *table);

#endif
