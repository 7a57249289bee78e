/*
 * acceptance - what a contract declares, judged by the results of campaigns. Rules:
 * protocols/acceptance.h.
 */
#ifndef ASSAY_RESULTS_ANALYSIS_ACCEPTANCE_H
#define ASSAY_RESULTS_ANALYSIS_ACCEPTANCE_H

#include <jansson.h>

#include "harness/core/status.h"
#include "results/store/store.h"

/*
 * `contract`: that of contract_load. `campaigns`: [{"campaign": id, "like": optional: only the
 * results of the device and arm of this one}]; other members are not read.
 *
 * New object in `ret`, as acceptance_type describes it, which stored as a comparison of kind
 * "accept" gives itself again (recompute.h). A result decides nothing (with its reason) that is not
 * steady, is a first look or a claim, was measured by a foreign worker, has fewer trials than
 * declared, or whose plan lacks the nonce. An undecided unit counts as failed for acceptance and as
 * good for rejection of a fleet. INVALID, with the item's place: no result or several are of its
 * cell, or its units are wrong; CORRUPT: `contract` or `campaigns` are not of this form.
 */
enum status acceptance_make(struct store *store, const json_t *contract, const json_t *campaigns,
                            json_t **ret, struct error *err);
extern const struct type acceptance_type;

/* Why no decision may rest on a result's record (store_cell_json); NULL: it may. */
const char *acceptance_unfit(const json_t *record);

/* A stored reason for people: protocols without evidence that are no first look have one, too. */
const char *acceptance_reason_words(const char *reason);

#endif
