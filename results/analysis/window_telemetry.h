/*
 * window_telemetry - what the telemetry of a cell's trials adds to its estimate: energy per unit of
 * work, and events in the windows that weaken a result (throttling, steal time, other processes on
 * the device, a changed library). Derived from stored rows alone.
 */
#ifndef ASSAY_RESULTS_ANALYSIS_WINDOW_TELEMETRY_H
#define ASSAY_RESULTS_ANALYSIS_WINDOW_TELEMETRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "harness/core/status.h"
#include "protocols/estimate.h"
#include "results/store/store.h"

/* A trial that the estimate is of. */
struct window_telemetry_trial {
    int64_t trial;     /* row */
    int64_t number;    /* among the cell's planned trials, from 1 */
    double iterations; /* in its window */
    double good;       /* of a server: tokens or requests inside the limits; else 0 */
};

/* Of one iteration; 0: not counted. */
struct window_telemetry_work {
    int64_t ops, bytes, items;
    const char *item; /* "token"; NULL: no such unit */
    bool integers;    /* arithmetic is of integers */
    const char *good; /* of a server: "token" or "request"; NULL: none */
};

/*
 * Adds to an estimate, where telemetry has it:
 *   metrics        energy per iteration, item, operation, byte and good token of a server
 * (intervals between trials, by t on the log) and mean power, from the counter that `energy_source`
 * names: the device's own, else the sum of the host's packages when the device is a CPU energy
 * [{part, channel, source, joules_per_iteration: {value, lo, hi}, reason, trials: [{trial_number,
 * joules, joules_by_power, seconds, reason}]}], one for each energy counter; value is null and
 * reason given where it gave none findings       what happened in the windows, and files that
 * changed up to the row `last_trial`
 */
enum status window_telemetry_add(struct store *store, int64_t cell, int64_t last_trial,
                                 const struct window_telemetry_trial *trials, size_t count,
                                 const struct window_telemetry_work *work,
                                 struct estimate *estimate, struct error *err);

/* A trial's record, with its window. */
struct window_telemetry_view {
    struct store *store;
    int64_t trial;
    int64_t number; /* as findings count them: from 1 */
    double iterations, good;
    json_t *telemetry; /* store_telemetry_json */
    bool has_window;
    int64_t begin_ns, end_ns;
};

/* Growth of a counter over the window; -1: not known, 0 when it did not change. */
enum status window_telemetry_growth(const struct window_telemetry_view *view, const char *part,
                                    const char *name, double *ret, struct error *err);

/* Mean of logs of values of trials, as a value, with its interval by t on count - 1. */
struct estimate_interval window_telemetry_between_trials(const double *logs, size_t count,
                                                         double confidence);

#endif
