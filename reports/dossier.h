/*
 * dossier - the page that an auditor gets: what was asked, how it was measured, on which items,
 * under which conditions, what deviated, every attempt, the results with their decision rule,
 * limits, signatures, and how to check all of it oneself. In outline a test report of ISO/IEC
 * 17025:2017, clause 7.8.2.
 */
#ifndef ASSAY_REPORTS_DOSSIER_H
#define ASSAY_REPORTS_DOSSIER_H

#include <stddef.h>
#include <stdint.h>

#include "harness/core/status.h"
#include "harness/core/text.h"
#include "results/store/store.h"

/* Appends the page of the given cells (row ids). Errors as report_html. */
enum status report_dossier_text(struct store *store, const int64_t *cells, size_t count,
                                struct text *ret, struct error *err);

/* Writes it to a file: under a temporary name first, then renamed. */
enum status report_dossier_file(struct store *store, const int64_t *cells, size_t count,
                                const char *path, struct error *err);

#endif
