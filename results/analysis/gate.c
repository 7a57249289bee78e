#include "results/analysis/gate.h"

#include "protocols/comparability.h"

static const char *const decisions[] = {
#define GATE_NAME(code, name) name,
    GATE_MAP(GATE_NAME)
#undef GATE_NAME
};

const char *gate_decision_name(enum gate_decision decision)
{
    return decisions[decision];
}

/*
 * Slower beyond the margin is worse. A slowdown that is real but whose interval still reaches
 * inside the margin is not shown to be worse than allowed, and not shown to be fine: inconclusive.
 * In a family each must pass by itself, and to be worse takes the adjusted p. Of attainment and
 * capacity the whole interval must lie above what the margin allows, or below it.
 */
enum gate_decision gate_decide(const struct stored_comparison *comparison)
{
    const struct comparison *numbers = &comparison->numbers;
    enum compare_verdict verdict;
    bool worse;

    if (!comparability_is_evidence(comparison->judgement))
        return GATE_NOT_COMPARABLE;
    if (comparability_foreign_worker(comparison->judgement) && !comparison->allows_foreign_worker)
        return GATE_FOREIGN_WORKER;
    if (!comparison->has_numbers)
        return GATE_INCONCLUSIVE;
    if (comparison->figure != COMPARE_TIME) {
        const int served = served_change_verdict(comparison->figure, &comparison->change);

        return served > 0 ? GATE_PASSES : served < 0 ? GATE_WORSE : GATE_INCONCLUSIVE;
    }
    verdict = numbers->family > 1 ? numbers->verdict_alone : numbers->verdict;
    if (verdict == COMPARE_EQUIVALENT || verdict == COMPARE_FASTER)
        return GATE_PASSES;
    worse = numbers->family > 1 ? numbers->p_worse_family <= 0.5 * (1 - numbers->confidence)
                                : comparison_beyond_margin(numbers) > 0;
    return worse ? GATE_WORSE : GATE_INCONCLUSIVE;
}

struct gate {
    enum gate_decision decision;
    double margin;
    bool paired, allow_foreign_worker;
    enum compare_figure by;
};

#define M(...) MEMBER(struct gate, __VA_ARGS__)
static const struct member gate_members[] = {
    M(NAME, decision, .names = MEMBER_NAMES(decisions)),
    M(FINITE, margin),
    M(BOOLEAN, paired),
    M(BOOLEAN, allow_foreign_worker),
    M(NAME, by, .flags = MEMBER_OPTIONAL, .names = MEMBER_NAMES(compare_figure_names),
      .help = "attainment or capacity; else it is time"),
};
#undef M
const struct type gate_type = TYPE(struct gate, "a gate", gate_members);
const struct type gate_decision_type = {
    TYPE_OF_VALUE(MEMBER_NAME, .names = MEMBER_NAMES(decisions)), .def = "decision"};

json_t *gate_json(const struct stored_comparison *comparison, double margin)
{
    const struct gate gate = {gate_decide(comparison), margin, comparison->paired,
                              comparison->allows_foreign_worker, comparison->figure};
    json_t *object = stored_comparison_json(comparison);

    if (json_object_set_new(object, "gate", type_to_json(&gate_type, &gate)) != 0) {
        json_decref(object);
        return NULL;
    }
    return object;
}
