/* cost_document - what the work of results costs (results/analysis/cost.h), for people. */
#ifndef ASSAY_REPORTS_COST_DOCUMENT_H
#define ASSAY_REPORTS_COST_DOCUMENT_H

#include <jansson.h>

#include "reports/doc.h"

/* An array of what `assay cost` makes of results, as a table; the block, where there is one, is its
 * caption. */
void cost_document(struct doc *doc, const json_t *costs);

#endif
