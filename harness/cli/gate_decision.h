/* gate_decision - what `gate` decides of a comparison, and the form in which that is stored. */
#ifndef ASSAY_CLI_GATE_DECISION_H
#define ASSAY_CLI_GATE_DECISION_H

#include <jansson.h>

#include "harness/cli/stored_comparison.h"

/* X(constant, the command's exit status, name, meaning) */
#define GATE_MAP(X)                                                                                \
    X(PASSES, 0, "passes", "passes")                                                               \
    X(WORSE, 1, "worse", "fails: the candidate is worse")                                          \
    X(NOT_COMPARABLE, 2, "not_comparable", "refused: the two do not compare")                      \
    X(FOREIGN_WORKER, 2, "foreign_worker",                                                         \
      "refused: another program than assay's own worker measured (--allow-foreign-worker)")        \
    X(INCONCLUSIVE, 3, "inconclusive", "inconclusive: measure more")

enum gate_decision {
#define GATE_ENUM(code, status, name, meaning) GATE_##code,
    GATE_MAP(GATE_ENUM)
#undef GATE_ENUM
};

/* Stable name ("passes"), as it is stored; the text for people; the exit status. */
const char *gate_decision_name(enum gate_decision decision);
const char *gate_decision_meaning(enum gate_decision decision);
int gate_decision_status(enum gate_decision decision);

/* By the comparison's `allows_foreign_worker`, too. */
enum gate_decision gate_decide(const struct stored_comparison *comparison);

/*
 * stored_comparison_json with the member "gate": {decision, margin, paired, allow_foreign_worker};
 * `margin`: how much slower is still allowed; paired: of a campaign of `assay ab`, pair by pair.
 * NULL: out of memory.
 */
json_t *gate_json(const struct stored_comparison *comparison, double margin);

#endif
