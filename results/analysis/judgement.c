#include "results/analysis/judgement.h"

#include <string.h>

#include "harness/core/member.h"
#include "protocols/comparability.h"
#include "results/analysis/judged.h"

static const struct judgement *const judgements[] = {
    &judgement_ab,      &judgement_accept, &judgement_baseline,  &judgement_calibration,
    &judgement_compare, &judgement_cost,   &judgement_decide,    &judgement_fleet,
    &judgement_gate,    &judgement_plan,   &judgement_reproduce,
};

const struct judgement *judgement_find(const char *name)
{
    for (size_t i = 0; name && i < sizeof(judgements) / sizeof(judgements[0]); i++)
        if (!strcmp(judgements[i]->name, name))
            return judgements[i];
    return NULL;
}

const char *judgement_own_verdict(const json_t *body)
{
    return member_string(body, "verdict");
}

bool judgement_says(const struct judgement *judgement, const json_t *body, const char *verdict)
{
    const char *said = judgement->verdict ? judgement->verdict(body) : judgement->name;

    return (said && !strcmp(said, verdict)) ||
           (judgement->allows && judgement->allows(body, verdict));
}

enum status judgement_record(struct store *store, const struct judgement *judgement,
                             const char *verdict, const json_t *body, struct error *err)
{
    int64_t cells[2] = {0, 0};

    for (unsigned i = 0; i < judgement->results; i++)
        TRY(store_find_cell(store, member_text(body, i ? "b" : "a"), &cells[i], err));
    if (!verdict)
        verdict = judgement->verdict ? judgement->verdict(body) : judgement->name;
    TRY(judged_renew(store, body, err));
    return store_record_comparison(store, judgement->name, cells[0], cells[1], COMPARISON_VERSION,
                                   verdict ? verdict : "none", body, err);
}
