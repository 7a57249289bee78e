/*
 * html - one self-contained page of any number of results.
 *
 * No scripts, nothing fetched, a Content-Security-Policy that says so; light, dark, phone and paper
 * from one style sheet (style.css). Each cell is loaded once, and memory holds the samples of one
 * at a time. Detail of the charts is scaled to the
 * number of trials, so that a page stays below a few MB; what is left out by that is stated under
 * the chart.
 */
#ifndef ASSAY_REPORTS_HTML_H
#define ASSAY_REPORTS_HTML_H

#include <stddef.h>
#include <stdint.h>

#include "harness/core/status.h"
#include "harness/core/text.h"
#include "results/store/store.h"

/*
 * Appends the page of the given cells (row ids, shown in this order, grouped by campaign and device
 * in the table). INVALID without a cell; NOT_FOUND for an unknown one; the store's own errors.
 * After a failure `ret` may hold a part of the page.
 */
enum status report_html_text(struct store *store, const int64_t *cells, size_t count,
                             struct text *ret, struct error *err);

/* Writes the page to a file: under a temporary name first, then renamed. */
enum status report_html_file(struct store *store, const int64_t *cells, size_t count,
                             const char *path, struct error *err);

#endif
