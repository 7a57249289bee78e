/*
 * window_telemetry - what the telemetry beside a cell's trials adds to its estimate: energy per
 * unit of work, and what happened in the windows that makes a number less than it seems
 * (throttling, steal time, strangers on the device, a library that changed). Derived from stored
 * rows alone.
 */
#ifndef ASSAY_RESULTS_WINDOW_TELEMETRY_H
#define ASSAY_RESULTS_WINDOW_TELEMETRY_H

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "harness/core/status.h"
#include "results/store.h"

/* A trial that the estimate stands on. */
struct window_telemetry_trial {
    int64_t trial;     /* row */
    double iterations; /* in its window */
};

/* Per iteration; 0: not counted. */
struct window_telemetry_work {
    int64_t flops, bytes, items;
};

/*
 * Adds to an estimate's object, where there is something to say:
 *     "energy"                    [{part, channel, source, joules_per_iteration: {value, lo, hi},
 *                                 reason, trials: [{trial, joules, joules_by_power, seconds,
 *                                 reason}]}], one for each energy counter; value is null and reason
 *                                 told where it gave nothing
 *     "energy_source"             "device.energy_uj": the counter of the members below: the
 * device's own, else the sum of the host's packages when the device is a CPU
 *     "energy_per_iteration_j", "energy_per_item_j", "energy_per_flop_j", "energy_per_byte_j"
 *                                 {value, lo, hi}: intervals between trials, by t on the log
 *     "mean_power_w"              over the windows
 *     "warnings"                  one more for each thing that happened
 * `confidence` is of the intervals.
 */
enum status window_telemetry_add(struct store *store, int64_t cell,
                                 const struct window_telemetry_trial *trials, size_t count,
                                 const struct window_telemetry_work *work, double confidence,
                                 json_t *estimate, struct error *err);

#endif
