/* acceptance_document - what a contract came to (results/analysis/acceptance.h), for people. */
#ifndef ASSAY_REPORTS_ACCEPTANCE_DOCUMENT_H
#define ASSAY_REPORTS_ACCEPTANCE_DOCUMENT_H

#include <jansson.h>

#include "reports/doc.h"
#include "reports/view.h"

/* Opens a group with the verdict of `assay accept`; `at`: when, or NULL. doc_close ends it. */
void acceptance_answer(struct doc *doc, const json_t *body, const struct view_count *at);
/* A table of its items and their units; results are linked to where they stand in `view`, or NULL.
 */
void acceptance_items(struct doc *doc, const struct view *view, const json_t *body);

#endif
