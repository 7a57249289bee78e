/*
 * cell_document - one result as blocks of a document (doc.h): a function a section, which the page,
 * the dossier and the terminal call. A section that has nothing to say appends nothing.
 *
 * Cells are loaded with VIEW_FULL.
 */
#ifndef ASSAY_REPORTS_CELL_DOCUMENT_H
#define ASSAY_REPORTS_CELL_DOCUMENT_H

#include "reports/html_internal.h"

/* ---- cell_document.c ---- */

/* Where a section stands. */
enum {
    CELL_HEAD = 1,     /* on a page before the charts */
    CELL_BODY = 2,     /* after them */
    CELL_FULL = 4,     /* after those, and not on paper */
    CELL_TERMINAL = 8, /* in `show --all`, in the order of all of these */
    CELL_DOSSIER = 16, /* among the attempts of a dossier */
};
/* The sections of one of these places; a section is a row of the table in cell_document.c. */
void cell_sections(struct doc *doc, const struct view_cell *cell, unsigned where);

/*
 * All of one result but pictures; `in_full`: every attempt, check, file and reading, else what
 * comes first.
 */
void cell_document(struct doc *doc, const struct view_cell *cell,
                   const struct view_campaign *campaign, bool in_full);

void cell_title(struct doc *doc, const struct view_cell *cell);
void cell_citation(struct doc *doc, const struct view_cell *cell,
                   const struct view_campaign *campaign);

/* ---- cell_attempts.c ---- */

void cell_checks(struct doc *doc, const struct view_cell *cell);
void cell_attempts(struct doc *doc, const struct view_cell *cell);

/* ---- cell_context.c: what it was measured on, and how ---- */

/* `appendix`: where a page has all of it, for links; NULL: it follows in the same document. */
void cell_system(struct doc *doc, const struct view_cell *cell,
                 const struct html_appendix *appendix);
void cell_configuration(struct doc *doc, const struct view_cell *cell,
                        const struct view_campaign *campaign, const struct html_appendix *appendix);
void cell_environment(struct doc *doc, const struct view_cell *cell,
                      const struct view_campaign *campaign, const struct html_appendix *appendix);
/* The trial whose readings stand for the cell's; NULL: none has any. */
const struct view_trial *cell_shown_trial(const struct view_cell *cell);
/* What was sampled in a trial: the range of each channel, or why it has none. */
void cell_telemetry(struct doc *doc, const struct view_trial *trial);
/* A table of files that were mapped: the installed ones, or all others. */
void cell_files(struct doc *doc, const struct view_trial *trial, bool installed);
void cell_kernels(struct doc *doc, const struct view_trial *trial);
/* Every reading with its source, of the device and of a trial's surroundings. */
void cell_readings(struct doc *doc, const struct view_cell *cell);

#endif
