/*
 * pairs - the two arms of a paired campaign, side by side.
 *
 * Cells 2i - 1 and 2i of a paired campaign are the arms a and b of its comparison i; where its plan
 * has `arms` = n, each n cells are a block, and every other of it is compared with the first. The
 * trials of a block follow one another; two of them are a pair. A pair counts when both trials
 * ended "ok" and gave a time; trials that drift or never settle, and medians of bimodal trials, do
 * not count.
 */
#ifndef ASSAY_RESULTS_ANALYSIS_PAIRS_H
#define ASSAY_RESULTS_ANALYSIS_PAIRS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/core/status.h"
#include "protocols/estimate.h"
#include "protocols/serving/change.h"
#include "results/store/store.h"

struct pairs {
    int64_t cells[2]; /* rows: a, b */
    size_t places[2]; /* of both among the plan's cells */
    double *a, *b;    /* heap: time per iteration in ns, pair by pair in the order of running */
    bool *b_first;    /* heap: of each, whether b ran before a */
    enum estimate_centre centre; /* mean or median of a trial's steady part: the protocol's clause
                                    analysis.compare_by */
    double step_ns[2];           /* of the clock in a and in b (struct estimate) */
    size_t count;
    struct served_pair *served; /* heap: of servers with limits, the requests of both trials; those
                                   pairs count whose trials both ended "ok" */
    size_t served_count;
    size_t planned; /* pairs planned; those that do not count are planned - count */
    char *dropped;  /* heap: why, "pair 3: a drift; pair 7: b crashed", "" when none is */
};

/* How many comparisons the plan of the campaign declares. INVALID when it is not a paired one. */
enum status pairs_count(struct store *store, int64_t campaign, size_t *ret, struct error *err);

/*
 * Pairs of comparison `index` (from 0) of the campaign, from its stored samples
 * (analysis_estimate). INVALID when it is not a paired one, or has no such comparison. Finish with
 * pairs_finish.
 */
enum status pairs_of_campaign(struct store *store, int64_t campaign, size_t index,
                              struct pairs *ret, struct error *err);
void pairs_finish(struct pairs *pairs);

/*
 * What a comparison uses of a trial: its mean, or its median where the protocol says so, in ns.
 * NAN where the trial drifts or has a change point near its end, and for the median of a bimodal
 * one.
 */
double pairs_trial_time(const struct estimate *estimate, size_t index);

/*
 * Means (or medians, as the protocol says) of the trials of one result that gave one, for comparing
 * without pairs, or of its days (stats/days.h); heap. `ret_step_ns` (may be NULL): of their clock
 * (struct estimate). NOT_FOUND when no trial did.
 */
enum status pairs_trial_centres(struct store *store, int64_t cell, double **ret, size_t *ret_count,
                                enum estimate_centre *ret_centre, double *ret_step_ns,
                                struct error *err);

#endif
