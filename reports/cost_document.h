/* cost_document - what the work of results costs (results/analysis/cost.h), for people. */
#ifndef ASSAY_REPORTS_COST_DOCUMENT_H
#define ASSAY_REPORTS_COST_DOCUMENT_H

#include <jansson.h>

#include "reports/doc.h"

/* An array of what `assay cost` makes of results, as a table; the block, where there is one, is its
 * caption. */
void cost_document(struct doc *doc, const json_t *costs);

/*
 * "0.28 to 0.41 EUR per million good tokens": the first figure of all options of all costs, as far
 * as it is of the same work. False: none is known.
 */
bool cost_answer_words(struct text *out, const json_t *costs);

#endif
