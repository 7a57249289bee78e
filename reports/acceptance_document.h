/* acceptance_document - what a contract came to (results/analysis/acceptance.h), for people. */
#ifndef ASSAY_REPORTS_ACCEPTANCE_DOCUMENT_H
#define ASSAY_REPORTS_ACCEPTANCE_DOCUMENT_H

#include <jansson.h>

#include "reports/doc.h"

/* The verdict of `assay accept`, and a table of the contract's items and their units. */
void acceptance_document(struct doc *doc, const json_t *body);

#endif
