/* run_start - planning and running a campaign for the commands that measure (`run`, `time`). */
#ifndef ASSAY_CLI_RUN_START_H
#define ASSAY_CLI_RUN_START_H

#include "harness/cli/command.h"
#include "harness/runner/plan.h"
#include "results/store/store.h"

/* Shows a campaign's results on standard output; returns an exit status. */
typedef int run_show_fn(struct store *store, int64_t campaign, struct error *err);

/*
 * Records the plan and runs it, with the options that `run` has too (--db, --json, --quiet); then
 * shows the results by `show`, or with --json as `run` does. Returns an exit status.
 */
int run_start(const struct command_line *line, struct plan *plan, run_show_fn *show);

#endif
