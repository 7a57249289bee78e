/* decision_document - a decision (results/analysis/decision.c) for people: its parts. */
#ifndef ASSAY_REPORTS_DECISION_DOCUMENT_H
#define ASSAY_REPORTS_DECISION_DOCUMENT_H

#include <jansson.h>

#include "reports/doc.h"

/* All of it, as `assay decide` shows it. */
void decision_document(struct doc *doc, const json_t *body);

/* What the answer costs and how sure it is, a paragraph each. */
void decision_grounds(struct doc *doc, const json_t *body);
/* The options in a table, with figures, requirements and peaks. */
void decision_options(struct doc *doc, const json_t *body);
/* All single changes that would give another answer, and the notes; nothing where there are none.
 */
void decision_changes(struct doc *doc, const json_t *body);
void decision_notes(struct doc *doc, const json_t *body);

#endif
