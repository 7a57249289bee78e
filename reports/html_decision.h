/* html_decision - decisions between results (results/analysis/decision.h), for page and dossier. */
#ifndef ASSAY_REPORTS_HTML_DECISION_H
#define ASSAY_REPORTS_HTML_DECISION_H

#include <jansson.h>

#include "reports/html_internal.h"

/*
 * The newest record of each decision that one of the cells is an option of, as an array, newest
 * first, each with "utc_ns"; new object in `ret`, also when it fails.
 */
enum status html_decisions_load(struct store *store, const struct view *view, json_t **ret,
                                struct error *err);

/* For the first screen: the answer and how sure it is; a picture. */
void html_decision_words(struct doc *doc, const json_t *body);
void html_decision_picture(struct text *out, const json_t *body, const char *id);

/* For the first page of a dossier: question, answer, how sure. */
void html_decision_in_short(struct doc *doc, const json_t *body);

/* Each in full. `first_drawn`: the first one has its picture elsewhere on the page. */
void html_decisions(struct doc *doc, const json_t *bodies, bool first_drawn);

#endif
