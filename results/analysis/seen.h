/*
 * seen - findings from what the harness saw of a cell's trials: clocks that do not agree, libraries
 * that were preloaded, files that belong to no package. Derived from stored rows alone. Paths are
 * left out, since they may be withheld and an estimate may not.
 */
#ifndef ASSAY_RESULTS_ANALYSIS_SEEN_H
#define ASSAY_RESULTS_ANALYSIS_SEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/core/status.h"
#include "protocols/conduct.h"
#include "protocols/finding.h"
#include "results/store/store.h"

/* A trial whose findings are wanted. */
struct seen_trial {
    int64_t trial;               /* row */
    int64_t number;              /* in its cell */
    int64_t wall_ns;             /* sum of the window's samples; 0: they are steps of a server */
    double iteration_ns;         /* half of them took so long an iteration, or less */
    bool is_cold;                /* caches are made cold between samples */
    struct conduct_spent *spent; /* what is known of the window's time is added to it; */
    size_t *known;               /* and its trials are counted here */
};

enum status seen_add_trial(struct store *store, const struct seen_trial *trial,
                           struct finding_list *findings, struct error *err);

/*
 * Adds how many files that workers of the cell had mapped, in trials up to a row, belong to no
 * package: neither a program's nor a kernel's that assay made. Nothing where no file has a package,
 * as where no package manager is known.
 */
enum status seen_add_files(struct store *store, int64_t cell, int64_t last_trial,
                           struct finding_list *findings, struct error *err);

#endif
