/* serving_table - servers under load: latency over rate, with the declared limits. */
#ifndef ASSAY_REPORTS_SERVING_TABLE_H
#define ASSAY_REPORTS_SERVING_TABLE_H

#include "harness/core/text.h"
#include "protocols/serving/analysis.h"
#include "reports/doc.h"
#include "reports/view.h"

/* True for a server's cell; `ret_rate` (may be NULL): "8/s". */
#define SERVING_RATE_SIZE 40
bool serving_is_cell(const struct view_cell *cell, char ret_rate[SERVING_RATE_SIZE]);

/*
 * "It serves 93 to 110 requests/s within the limits."; where one side is open, what is known and
 * what of the rates `lowest` to `highest` leaves it open. Nothing where the rates tell nothing.
 */
void serving_capacity_words(struct text *out, const struct capacity_result *capacity, double lowest,
                            double highest);

/* Appends that sentence on the server whose first cell is `index` of the view; false: its rates
 * tell nothing. */
bool serving_carried_words(const struct view *view, size_t index, struct text *ret);

/* "at least", "at most", "less than" what is known where one side is open; NULL: none is. */
const char *serving_bound_words(const struct capacity_result *capacity, double lowest);

/* Appends " fp32 on opencl:0, NVIDIA H100, arm a", as far as it is known. */
void serving_where(struct text *out, const struct view_cell *cell);

/* A table of each server; nothing where the view has none. `is_brief`: with short heads. */
void serving_table(struct doc *doc, const struct view *view, bool is_brief);

/* Cells of one campaign, workload, device, precision and arm are one server. */
bool serving_same_server(const struct view_cell *a, const struct view_cell *b);
/* Whether the cell is the first of its server in the view. */
bool serving_is_first(const struct view *view, size_t index);

#endif
