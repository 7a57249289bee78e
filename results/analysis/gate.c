#include "results/analysis/gate.h"

#include <string.h>

#include "harness/core/shape.h"
#include "protocols/comparability.h"
#include "protocols/condition.h"

static const char *const decisions[] = {
#define GATE_NAME(code, name, words) name,
    GATE_MAP(GATE_NAME)
#undef GATE_NAME
};

const char *gate_decision_name(enum gate_decision decision)
{
    return decisions[decision];
}

const char *gate_decision_words(enum gate_decision decision)
{
    static const char *const words[] = {
#define GATE_WORDS(code, name, words) words,
        GATE_MAP(GATE_WORDS)
#undef GATE_WORDS
    };

    return words[decision];
}

enum status gate_read_under(const char *list, json_t **ret, struct error *err)
{
    json_auto_t *words = json_array(), *known = NULL;

    for (const char *word = list; word;) {
        const size_t length = strcspn(word, ",");

        json_array_append_new(words, json_stringn(word, length));
        word = word[length] ? word + length + 1 : NULL;
    }
    known = condition_known(words);
    if (json_array_size(known) < json_array_size(words) || json_array_size(known) == 0)
        return error_set(err, STATUS_INVALID,
                         "--under %s: write contention, steal, cgroup_throttled, device_throttled "
                         "or device_shared, several with commas between, each once",
                         list);
    *ret = json_incref(known);
    return STATUS_OK;
}

json_t *gate_undecided_by(const struct stored_comparison *comparison)
{
    const char *const results[] = {comparison->a, comparison->b};
    json_t *list = json_array();

    for (size_t i = 0; i < 2; i++) {
        json_auto_t *beyond = condition_beyond(comparison->found[i], comparison->under);

        if (json_array_size(beyond) > 0)
            json_array_append_new(
                list, json_pack("{s:s, s:O}", "result", results[i], "conditions", beyond));
    }
    return list;
}

/*
 * Slower beyond the margin is worse. A slowdown that is real but whose interval still reaches
 * inside the margin is not shown to be worse than allowed, and not shown to be fine: inconclusive.
 * In a family each must pass by itself, and to be worse takes the adjusted p. What the order of
 * measuring may explain is neither (`undetermined`: its p admits that). Of attainment and
 * capacity the whole interval must lie above what the margin allows, or below it.
 */
enum gate_decision gate_decide(const struct stored_comparison *comparison)
{
    const struct comparison *numbers = &comparison->numbers;
    json_auto_t *undecided_by = gate_undecided_by(comparison);
    enum compare_verdict verdict;
    double p_worse;

    if (!comparability_is_evidence(comparison->judgement))
        return GATE_NOT_COMPARABLE;
    if (comparability_foreign_worker(comparison->judgement) && !comparison->allows_foreign_worker)
        return GATE_FOREIGN_WORKER;
    if (!comparison->has_numbers || json_array_size(undecided_by) > 0)
        return GATE_INCONCLUSIVE;
    if (comparison->figure != COMPARE_TIME) {
        const int served = served_change_verdict(comparison->figure, &comparison->change);

        return served > 0 ? GATE_PASSES : served < 0 ? GATE_WORSE : GATE_INCONCLUSIVE;
    }
    verdict = numbers->family > 1 ? numbers->verdict_alone : numbers->verdict;
    if (verdict == COMPARE_EQUIVALENT || verdict == COMPARE_FASTER)
        return GATE_PASSES;
    p_worse = numbers->family > 1 ? numbers->p_worse_family : numbers->p_worse;
    return p_worse <= 0.5 * (1 - numbers->confidence) ? GATE_WORSE : GATE_INCONCLUSIVE;
}

struct gate {
    enum gate_decision decision;
    double margin;
    bool paired, allow_foreign_worker;
    enum compare_figure by;
    json_t *under, *undecided_by;
};

static const struct type undecided_shape = TYPE_OF({
    SHOWN("result", TEXT),
    SHOWN("conditions", LIST, .of = &type_of_text),
});

#define M(...) MEMBER(struct gate, __VA_ARGS__)
static const struct member gate_members[] = {
    M(NAME, decision, .names = MEMBER_NAMES(decisions)),
    M(FINITE, margin),
    M(BOOLEAN, paired),
    M(BOOLEAN, allow_foreign_worker),
    M(NAME, by, .flags = MEMBER_OPTIONAL, .names = MEMBER_NAMES(compare_figure_names),
      .help = "attainment or capacity; else it is time"),
    M(JSON, under, .flags = MEMBER_OPTIONAL | MEMBER_BORROWED, .json = JSON_ARRAY,
      .of = &type_of_text, .help = "conditions under which it was allowed to decide"),
    M(JSON, undecided_by, .flags = MEMBER_OPTIONAL | MEMBER_BORROWED, .json = JSON_ARRAY,
      .of = &undecided_shape, .help = "conditions under which it may not decide"),
};
#undef M
const struct type gate_type = TYPE(struct gate, "a gate", gate_members);
const struct type gate_decision_type = {
    TYPE_OF_VALUE(MEMBER_NAME, .names = MEMBER_NAMES(decisions)), .def = "decision"};

json_t *gate_json(const struct stored_comparison *comparison, double margin)
{
    json_auto_t *undecided_by = gate_undecided_by(comparison);
    const struct gate gate = {gate_decide(comparison),
                              margin,
                              comparison->paired,
                              comparison->allows_foreign_worker,
                              comparison->figure,
                              json_array_size(comparison->under) ? comparison->under : NULL,
                              json_array_size(undecided_by) ? undecided_by : NULL};
    json_t *object = stored_comparison_json(comparison);

    if (json_object_set_new(object, "gate", type_to_json(&gate_type, &gate)) != 0) {
        json_decref(object);
        return NULL;
    }
    return object;
}
