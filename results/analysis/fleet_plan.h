/*
 * fleet_plan - how many devices carry a demand, by what stored servers carry within their limits
 * (judgement_plan). Formulas: protocols/fleet.h; a server's capacity: protocols/serving/analysis.h.
 *
 * Asked for by "results": results of servers, each of one measured unit, at any of its rates; all
 * of one declaration; and "request": {"demand": requests/s at which the fleet must hold the limits,
 * "growth": factor on it, "confidence", "availability": share of the time that a unit works,
 * "risk": share of the time in which too few may}, and members of the caller's, which are kept.
 *
 * Of one unit the spread between units is not known: then its own lower bound counts, and a note
 * says so. INVALID: a result is of no server, of another declaration than the first, or its rates
 * show no capacity; CORRUPT: what is asked is not of this form.
 */
#ifndef ASSAY_RESULTS_ANALYSIS_FLEET_PLAN_H
#define ASSAY_RESULTS_ANALYSIS_FLEET_PLAN_H

#include <jansson.h>

#define FLEET_PLAN_UNITS_MAX 64

/* What tells units apart, of a result's record (store_cell_json): device, UUID, machine. New. */
json_t *fleet_plan_machine(const json_t *record);

#endif
