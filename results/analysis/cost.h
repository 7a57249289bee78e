/*
 * cost - what a stored result's work costs by a price sheet, and what share of its uncertainty is
 * of the measurement. Formulas: protocols/cost.h.
 */
#ifndef ASSAY_RESULTS_ANALYSIS_COST_H
#define ASSAY_RESULTS_ANALYSIS_COST_H

#include <jansson.h>

#include "harness/core/status.h"
#include "protocols/cost.h"
#include "results/store/store.h"

/*
 * `sheet`: {"currency", "sha256", "rows"} (results/formats/price_sheet.h), of which only the rows
 * that count need be there. `assumptions`: {"as_of": "YYYY-MM-DD", "discount", "pue",
 * "utilisation", "item": the item that this device is in the sheet, or null for the one that has
 * the device's name}.
 *
 * New object in `ret`, as cost_type describes it, which stored as a comparison of kind "cost" gives
 * itself again (recompute.h).
 *
 * Each device or cloud row of the item is an option; of a bought device all rows of the other kinds
 * are parts. A missing price leaves its part out and says so in a note. INVALID: no row is of the
 * device, or the result has no numbers; CORRUPT: `sheet` or `assumptions` are not of this form.
 */
enum status cost_make(struct store *store, const char *result, const json_t *sheet,
                      const json_t *assumptions, json_t **ret, struct error *err);
extern const struct type cost_type;
extern const struct type price_rows_type; /* a sheet with the rows that count */

/* A row of a sheet; false: it is not of the form. */
bool cost_price_read(const json_t *row, struct price *ret);
/* {"value", "lo", "hi"} of a metric; NAN where a number is missing. */
struct cost_range cost_range_of(const json_t *metric);

#endif
