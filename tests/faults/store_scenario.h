/*
 * store_scenario - one run of everything that a harness does with the store, for fault injection.
 *
 * The scenario counts what the store reported as done; afterwards all of that must be there, in a
 * sound database, whatever went wrong in between.
 */
#ifndef ASSAY_TESTS_STORE_SCENARIO_H
#define ASSAY_TESTS_STORE_SCENARIO_H

#include "harness/core/status.h"

/* Rows that the store said it had committed. */
struct scenario_progress {
    long campaigns, events, trials, devices, environments, stacks, phases, checks, samples, ends,
        estimates, checkpoints;
};

/* Called by scenario_run once the database is open; may be NULL. */
extern void (*scenario_opened)(void);

/* When >= 0, scenario_run writes its progress there, whole, after each committed step. */
extern int scenario_progress_fd;

/* sum += part */
void scenario_progress_add(struct scenario_progress *sum, const struct scenario_progress *part);

/*
 * Opens `path` (making it when absent), adds campaign `number`, runs two trials, reads back,
 * closes. Ends at the first failure and returns it.
 */
enum status scenario_run(const char *path, unsigned number, struct scenario_progress *progress,
                         struct error *err);

/* NULL when the database is sound, passes `verify` and holds at least `progress`; else what is
 * wrong (static). */
const char *scenario_check(const char *path, const struct scenario_progress *progress);

#endif
