/*
 * contention - how much processor time other processes used while a campaign measured, from the
 * telemetry of its trials: one number for all of its results.
 */
#ifndef ASSAY_RESULTS_ANALYSIS_CONTENTION_H
#define ASSAY_RESULTS_ANALYSIS_CONTENTION_H

#include <stddef.h>
#include <stdint.h>

#include "harness/core/status.h"
#include "results/store/store.h"

/*
 * Averages over the windows of all trials that ended ok, weighted by length. A window whose
 * telemetry lacks a counter does not count. Counters move in ticks (10 ms), so a single short
 * window is imprecise, and their sum is precise.
 */
struct contention {
    size_t windows;      /* that count; 0: nothing is known, and all else is 0 */
    double seconds;      /* of them together */
    double others_cores; /* processor time of other processes, the kernel's own work included */
    double worker_cores; /* of the workers */
    double steal_cores;  /* that the hypervisor gave to others while they were wanted */
    int64_t cores;       /* processors that the harness may use; 0: not known */
};

/* Of a campaign's row. */
enum status contention_of_campaign(struct store *store, int64_t campaign, struct contention *ret,
                                   struct error *err);

#endif
