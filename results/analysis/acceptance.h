/*
 * acceptance - what a contract declares, judged by the results of campaigns (judgement_accept).
 * Rules: protocols/acceptance.h.
 *
 * Asked for by "contract", that of contract_load, and "campaigns": [{"campaign": id, "like":
 * optional: only the results of the device and arm of this one}].
 *
 * A result decides nothing (with its reason) that is not steady, is a first look or a claim, was
 * measured by a foreign worker, has fewer trials than declared, whose plan lacks the nonce, or that
 * was measured under a condition (protocols/condition.h) which the contract's `under` does not
 * name. An undecided unit counts as failed for acceptance and as good for rejection of a fleet.
 * INVALID, with the item's place: no result or several are of its cell, or its units are wrong;
 * CORRUPT: contract or campaigns are not of this form.
 */
#ifndef ASSAY_RESULTS_ANALYSIS_ACCEPTANCE_H
#define ASSAY_RESULTS_ANALYSIS_ACCEPTANCE_H

#include <jansson.h>

/* Why no decision may rest on a result's record (store_cell_json); NULL: it may. */
const char *acceptance_unfit(const json_t *record);

/* A stored reason for people: protocols without evidence that are no first look have one, too. */
const char *acceptance_reason_words(const char *reason);

#endif
