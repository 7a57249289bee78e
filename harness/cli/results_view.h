/* results_view - a campaign's results as several commands show them. */
#ifndef ASSAY_CLI_RESULTS_VIEW_H
#define ASSAY_CLI_RESULTS_VIEW_H

#include <stdint.h>

#include <jansson.h>

#include "results/store/store.h"

/* What a reader must know of an estimate, in words, into the envelope; `result`: its id. */
void results_view_findings(const json_t *findings, const char *result);

/* Moves the findings of store_list_results' rows into the envelope. */
void results_view_rows(json_t *rows);

/* Rows of store_list_results for one campaign (0: all), their findings in the envelope; new array.
 */
enum status results_view_json(struct store *store, int64_t campaign, json_t **ret,
                              struct error *err);

/* Writes the terminal table of a campaign to standard output; returns an exit status. */
int results_view_table(struct store *store, int64_t campaign, struct error *err);

/*
 * Says on standard error how many archived campaigns a list leaves out, where there are any, and
 * `how` they are shown ("--archived shows them").
 */
void say_archived(struct store *store, const char *how);

#endif
