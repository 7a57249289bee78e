/*
 * seen - findings from what the harness saw of a cell's trials: clocks that do not agree, libraries
 * that were preloaded, files that belong to no package. Derived from stored rows alone. Paths are
 * left out, since they may be withheld and an estimate may not.
 */
#ifndef ASSAY_RESULTS_ANALYSIS_SEEN_H
#define ASSAY_RESULTS_ANALYSIS_SEEN_H

#include <stdint.h>

#include "harness/core/status.h"
#include "protocols/finding.h"
#include "results/store/store.h"

/*
 * Adds those of the trial that is `number` in its cell, half of whose samples took `iteration_ns`
 * an iteration or less; 0: they are steps of a server.
 */
enum status seen_add_trial(struct store *store, int64_t trial, int64_t number, double iteration_ns,
                           struct finding_list *findings, struct error *err);

/*
 * Adds how many files that workers of the cell had mapped, in trials up to a row, belong to no
 * package: neither a program's nor a kernel's that assay made. Nothing where no file has a package,
 * as where no package manager is known.
 */
enum status seen_add_files(struct store *store, int64_t cell, int64_t last_trial,
                           struct finding_list *findings, struct error *err);

#endif
