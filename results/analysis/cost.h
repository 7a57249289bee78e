/*
 * cost - what a stored result's work costs by a price sheet, and what share of its uncertainty is
 * of the measurement (judgement_cost). Formulas: protocols/cost.h.
 *
 * Asked for by "a", a result; "prices": {"currency", "sha256", "rows"}
 * (results/formats/price_sheet.h), of which only the rows that count need be there; "assumptions":
 * {"as_of": "YYYY-MM-DD", "discount", "pue", "utilisation", "item": the item that this device is in
 * the sheet, or null for the one that has the device's name}.
 *
 * Each device or cloud row of the item is an option; of a bought device all rows of the other kinds
 * are parts. A missing price leaves its part out and says so in a note. INVALID: no row is of the
 * device, or the result has no numbers; CORRUPT: prices or assumptions are not of this form.
 */
#ifndef ASSAY_RESULTS_ANALYSIS_COST_H
#define ASSAY_RESULTS_ANALYSIS_COST_H

#include <jansson.h>

#include "protocols/cost.h"

extern const struct type price_rows_type; /* a sheet with the rows that count */

/* A row of a sheet; false: it is not of the form. */
bool cost_price_read(const json_t *row, struct price *ret);
/* {"value", "lo", "hi"} of a metric; NAN where a number is missing. */
struct cost_range cost_range_of(const json_t *metric);

#endif
