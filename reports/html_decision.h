/* html_decision - decisions between results (results/analysis/decision.c), for page and dossier. */
#ifndef ASSAY_REPORTS_HTML_DECISION_H
#define ASSAY_REPORTS_HTML_DECISION_H

#include <jansson.h>

#include "reports/html_internal.h"

/* For the first screen: the answer and how sure it is; a picture. */
void html_decision_words(struct doc *doc, const json_t *body);
void html_decision_picture(struct text *out, const json_t *body, const char *id);

/* For the first page of a dossier: question, answer, how sure. */
void html_decision_in_short(struct doc *doc, const json_t *body);

/* Each in full. `first_drawn`: the first one has its picture elsewhere on the page. */
void html_decisions(struct doc *doc, const json_t *bodies, bool first_drawn);

#endif
