/* dossier_internal - the sections of a dossier; each appends to a text. */
#ifndef ASSAY_REPORTS_DOSSIER_INTERNAL_H
#define ASSAY_REPORTS_DOSSIER_INTERNAL_H

#include "reports/html_internal.h"

/* ---- dossier_items.c ---- */

void dossier_method(struct text *out, const struct view *view);
void dossier_items(struct text *out, const struct view *view);
void dossier_conditions(struct text *out, const struct view *view);

/* ---- dossier_evidence.c: asks the store ---- */

/* What did not go as declared, each with where it was. */
enum status dossier_deviations(struct text *out, struct store *store, const struct view *view,
                               struct error *err);
/* Stored comparisons among the cells, with the rule they were decided by. */
enum status dossier_decisions(struct text *out, struct store *store, const struct view *view,
                              struct error *err);
/* Checkpoints, who signed them, time stamps, where imported campaigns came from. */
enum status dossier_signatures(struct text *out, struct store *store, const struct view *view,
                               struct error *err);

#endif
