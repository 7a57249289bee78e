/* measure_serving - the error rates of the analysis of trials under load, row by row. */
#ifndef ASSAY_TESTS_CALIBRATION_MEASURE_SERVING_H
#define ASSAY_TESTS_CALIBRATION_MEASURE_SERVING_H

#include "tests/calibration/measure.h"

/* Percentiles, limits and backlog of every server at these loads; `series` cells of each. */
void measure_serving_loads(const struct settings *settings, const double *loads, size_t count,
                           struct table *table);

/* The same of five trials as short as the plan for attain 0.9 allows, with limits that 10 % miss.
 */
void measure_serving_few(const struct settings *settings, const double *loads, size_t count,
                         struct table *table);

/*
 * Overloads and faults of the first `servers` servers; faults of the generator and of the process,
 * ten times as many cells.
 */
void measure_serving_faults(const struct settings *settings, size_t servers, struct table *table);

/* Arrivals that are as declared or not, and requests that are sent late. */
void measure_serving_arrivals(const struct settings *settings, struct table *table);

/*
 * Limits that 0, 0.01, 0.1, 99.9 or all % of the requests miss, in windows as planned for 1 %; at
 * the first of the loads in windows four times as long, too.
 */
void measure_serving_rare(const struct settings *settings, const double *loads, size_t count,
                          struct table *table);

/* Trials of one trace, whose truth is the share missed in a thousand other trials of it. */
void measure_serving_traces(const struct settings *settings, struct table *table);

/* Attainment of two servers that had the same arrivals, in ten pairs; at the first load in five. */
void measure_serving_pairs(const struct settings *settings, const double *loads, size_t count,
                           struct table *table);

/* Capacity over a grid of rates. */
void measure_serving_capacity(const struct settings *settings, struct table *table);

#endif
