/* gate_decision - what `gate` decides of a comparison, and the form in which that is stored. */
#ifndef ASSAY_CLI_GATE_DECISION_H
#define ASSAY_CLI_GATE_DECISION_H

#include <jansson.h>

#include "harness/cli/stored_comparison.h"

/* Their numbers are the command's exit statuses. */
#define GATE_MAP(X)                                                                                \
    X(PASSES, 0, "passes", "passes")                                                               \
    X(WORSE, 1, "worse", "fails: the candidate is worse")                                          \
    X(NOT_COMPARABLE, 2, "not_comparable", "refused: the two do not compare")                      \
    X(INCONCLUSIVE, 3, "inconclusive", "inconclusive: measure more")

enum gate_decision {
#define GATE_ENUM(code, value, name, meaning) GATE_##code = value,
    GATE_MAP(GATE_ENUM)
#undef GATE_ENUM
};

/* Stable name ("passes"), as it is stored; the text for people. */
const char *gate_decision_name(enum gate_decision decision);
const char *gate_decision_meaning(enum gate_decision decision);

/* `margin`: how much slower is still allowed. */
enum gate_decision gate_decide(const struct stored_comparison *comparison);

/*
 * stored_comparison_json with the member "gate": {decision, margin, paired}; paired: of a campaign
 * of `assay ab`, pair by pair. NULL: out of memory.
 */
json_t *gate_json(const struct stored_comparison *comparison, double margin);

#endif
