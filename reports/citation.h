/*
 * citation - the line by which somebody else can find a result.
 *
 * Plain text, one line: the result's id, the whole campaign identifier, the digests of protocol and
 * workload, and the program's version, so that a figure copied into a slide keeps its origin.
 * `assay show RESULT` on the same database resolves it.
 */
#ifndef ASSAY_REPORTS_CITATION_H
#define ASSAY_REPORTS_CITATION_H

#include "harness/core/text.h"
#include "reports/view.h"

/* Appends the line, printable but not escaped for HTML, without a newline. */
void citation_append(struct text *out, const struct view_campaign *campaign,
                     const struct view_cell *cell);

#endif
