/*
 * fleet_plan - how many devices carry a demand, by what stored servers carry within their limits.
 * Formulas: protocols/fleet.h; a server's capacity: protocols/serving/analysis.h.
 */
#ifndef ASSAY_RESULTS_ANALYSIS_FLEET_PLAN_H
#define ASSAY_RESULTS_ANALYSIS_FLEET_PLAN_H

#include <jansson.h>

#include "harness/core/status.h"
#include "results/store/store.h"

#define FLEET_PLAN_UNITS_MAX 64

/*
 * `results`: ids of results of servers, each of one measured unit, at any of its rates; all of one
 * declaration. `request`: {"demand": requests/s at which the fleet must hold the limits, "growth":
 * factor on it, "confidence", "availability": share of the time that a unit works, "risk": share of
 * the time in which too few may}, and members of the caller's, which are kept.
 *
 * New object in `ret`, as fleet_plan_type describes it, which stored as a comparison of kind "plan"
 * gives itself again (recompute.h).
 * Of one unit the spread between units is not known: then its own lower bound counts, and a note
 * says so. INVALID: a result is of no server, of another declaration than the first, or its rates
 * show no capacity; CORRUPT: `request` is not of this form.
 */
enum status fleet_plan_make(struct store *store, const json_t *results, const json_t *request,
                            json_t **ret, struct error *err);
extern const struct type fleet_plan_type;

/* What tells units apart, of a result's record (store_cell_json): device, UUID, machine. New. */
json_t *fleet_plan_machine(const json_t *record);

#endif
