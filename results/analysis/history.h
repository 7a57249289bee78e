/*
 * history - stored results over time, where they changed, and which the stack has left behind.
 *
 * Results are of one series where workload, precision, batch, scenario, implementation, arm,
 * protocol, device and host are the same; the stack may differ, which is what a history is about.
 * What has no value, is not steady, was imported or is of a simulated device beside real ones is
 * left out by its own marks in `assay results`. Changes: protocols/history.h; they lie between
 * sittings, results of which each was measured within an hour of the one before.
 *
 * A baseline (judgement_baseline) is asked for by "a", a result, and "name", which from then on
 * means it for its series. INVALID: a name of other letters than a-z, A-Z, 0-9, '.', '_', '-', of
 * more than 64, or a result without a value.
 */
#ifndef ASSAY_RESULTS_ANALYSIS_HISTORY_H
#define ASSAY_RESULTS_ANALYSIS_HISTORY_H

#include <jansson.h>

#include "harness/core/status.h"
#include "results/store/store.h"

/* Changes are looked for from so many sittings on. */
#define HISTORY_SITTINGS_LEAST 16

/* Which series; `sort` and `limit` of the filter do not count. */
struct history_query {
    struct store_filter filter; /* store_list_results */
    /* NULL: all; else whether one with these rows of store_list_results, the oldest first. What is
     * not wanted is not read. */
    bool (*wants)(void *context, const json_t *rows);
    void *context;
};
/* The series, as a new array of what history_type describes; results are the oldest first. */
enum status history_make(struct store *store, const struct history_query *query, json_t **ret,
                         struct error *err);
extern const struct type history_type;

#endif
