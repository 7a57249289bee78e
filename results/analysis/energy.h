/*
 * energy - energy over a window from telemetry: from a counter at the window's edges, and also from
 * power by the trapezoidal rule. Pure functions.
 *
 * A counter is the better source: power readings are often a running mean, or sampled only part of
 * the time. Where both exist and disagree, the result says so.
 */
#ifndef ASSAY_RESULTS_ANALYSIS_ENERGY_H
#define ASSAY_RESULTS_ANALYSIS_ENERGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ENERGY_MISSING INT64_MIN

/* A channel over time: `values[i]` at `times[i]` (ns, ascending), ENERGY_MISSING where unknown. */
struct energy_series {
    const int64_t *times, *values;
    size_t count;
};

/*
 * Growth of a counter between two moments, interpolated between the readings around each. A
 * decrease is a wrap when `wraps_at` > 0 (the counter's range) and at most half of it was counted
 * since. False with the reason: readings do not enclose the window, the counter did not advance (it
 * is not 0 then, but unknown), it ran backwards, or it was reset.
 */
bool energy_of_counter(const struct energy_series *series, int64_t wraps_at, int64_t begin_ns,
                       int64_t end_ns, double *ret, const char **ret_reason);

/* Time integral of a gauge between two moments, in its unit times seconds; likewise. */
bool energy_of_gauge(const struct energy_series *series, int64_t begin_ns, int64_t end_ns,
                     double *ret, const char **ret_reason);

#endif
