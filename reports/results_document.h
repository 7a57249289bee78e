/* results_document - the table of results, for pages, dossiers and Markdown. */
#ifndef ASSAY_REPORTS_RESULTS_DOCUMENT_H
#define ASSAY_REPORTS_RESULTS_DOCUMENT_H

#include "reports/doc.h"
#include "reports/view.h"

/*
 * A row a result, grouped by campaign and device, the servers' rates, and remarks by number.
 * `is_whole`: no part of a page, whose links lead to each result, so each row names its own, and
 * the end says what the protocols are good for. Summary depth is enough.
 */
void results_document(struct doc *doc, const struct view *view, bool is_whole);

#endif
