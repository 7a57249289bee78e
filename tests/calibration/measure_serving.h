/* measure_serving - the error rates of the analysis of trials under load, row by row. */
#ifndef ASSAY_TESTS_CALIBRATION_MEASURE_SERVING_H
#define ASSAY_TESTS_CALIBRATION_MEASURE_SERVING_H

#include "tests/calibration/measure.h"

/* Percentiles, limits and backlog of every server at these loads; `series` cells of each. */
void measure_serving_loads(const struct settings *settings, const double *loads, size_t count,
                           struct table *table);

/*
 * Overloads and faults of the first `servers` servers; faults of the generator and of the process,
 * ten times as many cells.
 */
void measure_serving_faults(const struct settings *settings, size_t servers, struct table *table);

/* Capacity over a grid of rates. */
void measure_serving_capacity(const struct settings *settings, struct table *table);

#endif
