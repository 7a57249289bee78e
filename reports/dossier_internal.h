/* dossier_internal - the sections of a dossier; each appends to a text. */
#ifndef ASSAY_REPORTS_DOSSIER_INTERNAL_H
#define ASSAY_REPORTS_DOSSIER_INTERNAL_H

#include <sqlite3.h>

#include "reports/doc.h"
#include "reports/html_internal.h"
#include "results/analysis/judgement.h"

/* ---- dossier_parts.c ---- */

/*
 * The sections, in their order and numbered by it: that of ISO/IEC 17025:2017, 7.8 (reporting of
 * results), whose clauses each section names.
 */
enum dossier_section {
    DOSSIER_REPORT,
    DOSSIER_METHOD,
    DOSSIER_ITEMS,
    DOSSIER_CONDITIONS,
    DOSSIER_RESULTS,
    DOSSIER_DEVIATIONS,
    DOSSIER_ATTEMPTS,
    DOSSIER_CONFORMITY,
    DOSSIER_DECISIONS,
    DOSSIER_LIMITS,
    DOSSIER_SIGNATURES,
    DOSSIER_CHECK,
    DOSSIER_SECTIONS
};
/* The heading of a section, with its number and clauses. */
void dossier_section(struct doc *doc, enum dossier_section section);
/* Phrases: a link to it, "section 5". */
void dossier_see(struct text *out, enum dossier_section section);

/* A row of a SELECT, and the view that what it names is looked up in. */
struct dossier_row {
    sqlite3_stmt *stmt;
    const struct view *view;
};
/*
 * Calls `append` for each row of a SELECT with one number as its parameter ?1, and counts the rows
 * on. `view` may be NULL where `append` does without. A statement that fails is CORRUPT: the store
 * was of our schema when it was opened.
 */
typedef void dossier_row_fn(struct doc *doc, const struct dossier_row *row);
enum status dossier_each_row(struct doc *doc, struct store *store, const struct view *view,
                             const char *sql, int64_t parameter, dossier_row_fn *append,
                             size_t *ret_count, struct error *err);
/* Text of a column, until the next step; NULL for NULL. */
const char *dossier_column(const struct dossier_row *row, int i);
int64_t dossier_integer(const struct dossier_row *row, int i);
/* Phrases: a column of times, "2026-11-20 15:52:01 UTC". */
void dossier_time(struct text *out, const struct dossier_row *row, int i);
/* A column of JSON; NULL where it is none. New object. */
json_t *dossier_json(const struct dossier_row *row, int i);
/* The numbers of the view's cells for a list in SQL, "3,4,5"; heap, NULL: out of memory. */
char *dossier_cells(const struct view *view);
/*
 * Of a kind the newest body on record of each subject (judgement.h) that names one of the view's
 * cells as "a" or "result", newest first, each with "utc_ns"; new array.
 */
enum status dossier_newest(struct store *store, const struct view *view,
                           const struct judgement *judgement, json_t **ret, struct error *err);

/* ---- dossier_summary.c ---- */

/* Before the sections: results, their uncertainty, objections, and who signed. */
enum status dossier_summary(struct doc *doc, struct store *store, const struct view *view,
                            struct error *err);

/* ---- dossier_items.c ---- */

void dossier_method(struct doc *doc, const struct view *view);
void dossier_items(struct doc *doc, const struct view *view);
void dossier_conditions(struct doc *doc, const struct view *view);

/* ---- dossier_deviations.c ---- */

/* Deviations from the declaration, each with where it occurred. */
enum status dossier_deviations(struct doc *doc, struct store *store, const struct view *view,
                               struct error *err);

/* ---- dossier_evidence.c ---- */

/* Checkpoints, who signed them, time stamps, where imported campaigns came from. */
enum status dossier_signatures(struct doc *doc, struct store *store, const struct view *view,
                               struct error *err);

/* ---- dossier_decisions.c ---- */

/* For the first page: what was asked, and the newest answers on record, or that there is none. */
enum status dossier_decided(struct doc *doc, struct store *store, const struct view *view,
                            struct error *err);

/* A table of the stored comparisons that a cell takes part in; `ret_rows` 0: an empty one. */
enum status dossier_comparisons(struct doc *doc, struct store *store, const struct view *view,
                                size_t *ret_rows, struct error *err);
/* Stored comparisons among the cells, with the rule they were decided by. */
enum status dossier_decisions(struct doc *doc, struct store *store, const struct view *view,
                              struct error *err);

/* ---- dossier_acceptance.c ---- */

/* For the first page: a verdict on a contract. */
void dossier_accepted(struct doc *doc, const json_t *body);
/* The newest verdicts item by item, under a heading unless `heading` is NULL; false: there are
 * none. */
enum status dossier_acceptances(struct doc *doc, struct store *store, const struct view *view,
                                const char *heading, bool *ret_any, struct error *err);

/* ---- dossier_cost.c ---- */

/* The newest costs recorded of each cell, under a heading of this level; nothing where there are
 * none. */
enum status dossier_costs(struct doc *doc, struct store *store, const struct view *view, int level,
                          struct error *err);

#endif
