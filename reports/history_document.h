/* history_document - a series of results over time (results/analysis/history.h), for people. */
#ifndef ASSAY_REPORTS_HISTORY_DOCUMENT_H
#define ASSAY_REPORTS_HISTORY_DOCUMENT_H

#include <jansson.h>

#include "reports/doc.h"

/*
 * Details: what changed, and how the newest stands against baselines and the stack of today; with
 * commands for the `database` of this name unless it is NULL.
 */
void history_changes(struct doc *doc, const json_t *series, const char *database);

/* The last `most` of its results, the oldest first: when, what value, and what of the stack differs
 * from the one before; as a table. */
void history_results(struct doc *doc, const json_t *series, size_t most);

#endif
