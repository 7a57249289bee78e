/*
 * decision - which of several stored results to take: requirements, figures, prices, and what would
 * change the answer. Rules: protocols/decision.h.
 */
#ifndef ASSAY_RESULTS_ANALYSIS_DECISION_H
#define ASSAY_RESULTS_ANALYSIS_DECISION_H

#include <jansson.h>

#include "harness/core/status.h"
#include "results/store/store.h"

/*
 * `decision`: that of decision_load. `prices`: a price sheet (results/formats/price_sheet.h), or
 * NULL where none is declared; `peaks`: declared peaks (results/formats/peak_sheet.h), or NULL. Of
 * both only the rows that count need be there.
 *
 * New object in `ret`, as decision_type describes it, which stored as a comparison of kind "decide"
 * gives itself again (recompute.h); a range is {value, lo, hi}, with null for what is not known.
 * What rests on no evidence (acceptance_unfit) is shown without bounds, and so separates nothing.
 * INVALID, with the place in the declaration: results do not compare, have no such figure, or no
 * price; CORRUPT: `decision` or a sheet is not of this form.
 */
enum status decision_make(struct store *store, const json_t *decision, const json_t *prices,
                          const json_t *peaks, json_t **ret, struct error *err);
extern const struct type decision_type;

#endif
