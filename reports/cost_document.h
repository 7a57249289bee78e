/* cost_document - what the work of results costs (results/analysis/cost.h), for people. */
#ifndef ASSAY_REPORTS_COST_DOCUMENT_H
#define ASSAY_REPORTS_COST_DOCUMENT_H

#include <jansson.h>

#include "reports/doc.h"

/* An array of what `assay cost` makes of results. */
void cost_document(struct doc *doc, const json_t *costs);

/* Its parts. Opens the table; the block, where there is one, is its caption. doc_close ends it. */
void cost_open(struct doc *doc);
/* The rows of one result, by its object of `assay cost`. */
void cost_append(struct doc *doc, const json_t *cost);

#endif
