/* dossier_internal - the sections of a dossier; each appends to a text. */
#ifndef ASSAY_REPORTS_DOSSIER_INTERNAL_H
#define ASSAY_REPORTS_DOSSIER_INTERNAL_H

#include <sqlite3.h>

#include "reports/html_internal.h"

/* ---- dossier_summary.c ---- */

/* Before the sections: results, their uncertainty, objections, and who signed. */
enum status dossier_summary(struct text *out, struct store *store, const struct view *view,
                            struct error *err);

/* ---- dossier_items.c ---- */

void dossier_method(struct text *out, const struct view *view);
void dossier_items(struct text *out, const struct view *view);
void dossier_conditions(struct text *out, const struct view *view);

/* ---- dossier_deviations.c ---- */

/* Deviations from the declaration, each with where it occurred. */
enum status dossier_deviations(struct text *out, struct store *store, const struct view *view,
                               struct error *err);

/* ---- dossier_evidence.c: asks the store ---- */

/*
 * Calls `append` for each row of a SELECT with one number as its parameter ?1, and counts the rows
 * on. A statement that fails is CORRUPT: the store was of our schema when it was opened.
 */
typedef void dossier_row_fn(struct text *out, sqlite3_stmt *row);
enum status dossier_each_row(struct text *out, struct store *store, const char *sql,
                             int64_t parameter, dossier_row_fn *append, size_t *ret_count,
                             struct error *err);
/* Text of a column, until the next step; NULL for NULL. */
const char *dossier_column(sqlite3_stmt *row, int i);

/* Checkpoints, who signed them, time stamps, where imported campaigns came from. */
enum status dossier_signatures(struct text *out, struct store *store, const struct view *view,
                               struct error *err);

/* ---- dossier_decisions.c ---- */

/* For the first page: what was asked, and the newest answers on record, or that there is none. */
enum status dossier_decided(struct text *out, struct store *store, const struct view *view,
                            struct error *err);

/* A table of the stored comparisons that a cell takes part in; nothing where `ret_rows` is 0. */
enum status dossier_comparisons(struct text *out, struct store *store, const struct view *view,
                                size_t *ret_rows, struct error *err);
/* Stored comparisons among the cells, with the rule they were decided by. */
enum status dossier_decisions(struct text *out, struct store *store, const struct view *view,
                              struct error *err);
#endif
