/* gate - what `gate` decides of a comparison, and the form in which that is stored. */
#ifndef ASSAY_RESULTS_ANALYSIS_GATE_H
#define ASSAY_RESULTS_ANALYSIS_GATE_H

#include <jansson.h>

#include "results/analysis/stored_comparison.h"

/* X(constant, name, what it means) */
#define GATE_MAP(X)                                                                                \
    X(PASSES, "passes", "passes")                                                                  \
    X(WORSE, "worse", "fails: the candidate is worse")                                             \
    X(NOT_COMPARABLE, "not_comparable", "refused: the two do not compare")                         \
    X(FOREIGN_WORKER, "foreign_worker",                                                            \
      "refused: another program than assay's own worker measured")                                 \
    X(INCONCLUSIVE, "inconclusive", "inconclusive: neither shown to hold nor to fail")

enum gate_decision {
#define GATE_ENUM(code, name, words) GATE_##code,
    GATE_MAP(GATE_ENUM)
#undef GATE_ENUM
};

/* Stable name ("passes"), as it is stored. */
const char *gate_decision_name(enum gate_decision decision);
/* What it means, for people ("refused: the two do not compare"). Static. */
const char *gate_decision_words(enum gate_decision decision);

/*
 * By the comparison's `allows_foreign_worker` and `under`, too: where a condition (condition.h) was
 * found on either result that `under` does not have, what compares is inconclusive.
 */
enum gate_decision gate_decide(const struct stored_comparison *comparison);

/*
 * stored_comparison_json with the member "gate": {decision, margin, paired, allow_foreign_worker};
 * `margin`: how much slower is still allowed; paired: of a campaign of `assay ab`, pair by pair. Of
 * another figure than time with its name: {by}; where they were allowed, {under}; where others were
 * found, {undecided_by}, gate_undecided_by's array.
 * NULL: out of memory.
 */
json_t *gate_json(const struct stored_comparison *comparison, double margin);
/*
 * "contention", or several codes of protocols/condition.h with commas between, into a new array,
 * for campaign_comparison_allow_under. INVALID: another word, or one twice.
 */
enum status gate_read_under(const char *list, json_t **ret, struct error *err);

/*
 * [{result, conditions}]: the conditions of each result under which the gate may not decide. New
 * array, empty: none; NULL: out of memory.
 */
json_t *gate_undecided_by(const struct stored_comparison *comparison);
extern const struct type gate_type, gate_decision_type; /* that member, and its decision */

#endif
