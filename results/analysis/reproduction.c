#include "results/analysis/reproduction.h"

#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "protocols/comparability.h"
#include "protocols/serving/change.h"
#include "results/analysis/campaign_comparison.h"
#include "results/analysis/judgement.h"

static const char *const verdicts[] = {
#define REPRODUCTION_NAME(code, name) name,
    REPRODUCTION_MAP(REPRODUCTION_NAME)
#undef REPRODUCTION_NAME
};

const char *reproduction_verdict_name(enum reproduction_verdict verdict)
{
    return verdicts[verdict];
}

/* Of servers: the whole interval of the change within the margin, or beyond it. */
static enum reproduction_verdict judge_served(const struct served_change *change)
{
    const double lo = change->change.lo, hi = change->change.hi, margin = change->margin;

    if (lo >= -margin && hi <= margin)
        return REPRODUCTION_HELD;
    return lo > margin || hi < -margin ? REPRODUCTION_DIFFERS : REPRODUCTION_INCONCLUSIVE;
}

/*
 * A difference that is real but may be within the margin is neither agreement nor its opposite.
 */
static enum reproduction_verdict judge(const struct reproduction *reproduction)
{
    const struct stored_comparison *comparison = reproduction->comparison;

    if (!comparability_is_evidence(comparison->judgement))
        return REPRODUCTION_NOT_HERE;
    if (!comparison->has_numbers)
        return REPRODUCTION_INCONCLUSIVE;
    if (comparison->figure != COMPARE_TIME)
        return judge_served(&comparison->change);
    if (reproduction->numbers.verdict == COMPARE_EQUIVALENT)
        return REPRODUCTION_HELD;
    return comparison_beyond_margin(&reproduction->numbers) != 0 ? REPRODUCTION_DIFFERS
                                                                 : REPRODUCTION_INCONCLUSIVE;
}

enum status reproduction_make(struct store *store, const struct stored_comparison *comparison,
                              double margin, const json_t *ids, struct reproduction *ret,
                              struct error *err)
{
    struct reproduction made = {.comparison = comparison, .margin = margin};

    if (comparison->has_numbers && comparison->figure == COMPARE_TIME) {
        made.numbers = comparison->numbers;
        TRY(ids ? repeatability_from_record(store, comparison->cells, ids, &made.repeatability, err)
                : repeatability_find(store, comparison->cells, &made.repeatability, err));
        if (made.repeatability.df > 0)
            made.rests_on = REPRODUCTION_ON_REPEATABILITY;
        if (made.rests_on == REPRODUCTION_ON_REPEATABILITY)
            comparison_widen(&made.numbers, made.repeatability.sd_log, made.repeatability.df);
    }
    made.verdict = judge(&made);
    *ret = made;
    return STATUS_OK;
}

void reproduction_finish(struct reproduction *reproduction)
{
    if (reproduction)
        repeatability_finish(&reproduction->repeatability);
}

static bool no_numbers(const void *record)
{
    const struct stored_comparison *c = ((const struct reproduction *)record)->comparison;

    return !c->has_numbers || c->figure != COMPARE_TIME;
}

static bool no_sessions(const void *record)
{
    return ((const struct reproduction *)record)->repeatability.ids == NULL;
}

static const char *const grounds[] = {"trials", "repeatability"};

#define M(...) MEMBER(struct reproduction, __VA_ARGS__)
#define AS(...) MEMBER_AS(struct reproduction, __VA_ARGS__)
static const struct member members[] = {
    M(NAME, verdict, .names = MEMBER_NAMES(verdicts)),
    M(FINITE, margin),
    M(NAME, rests_on, .names = MEMBER_NAMES(grounds),
      .help = "what the interval's spread was taken from"),
    AS(RECORD, "ratio", numbers.ratio, .of = &estimate_interval_type, .flags = MEMBER_NULLABLE,
       .absent = no_numbers),
    AS(RECORD, "equivalence_interval", numbers.equivalence, .of = &estimate_interval_type,
       .flags = MEMBER_NULLABLE, .absent = no_numbers),
    M(RECORD, repeatability, .of = &repeatability_type, .flags = MEMBER_NULLABLE,
      .absent = no_sessions),
};
#undef AS
#undef M
const struct type reproduction_type = TYPE(struct reproduction, "a reproduction", members);

json_t *reproduction_json(const struct reproduction *reproduction)
{
    json_t *object = stored_comparison_json(reproduction->comparison);

    if (object && json_object_set_new(object, "reproduce",
                                      type_to_json(&reproduction_type, reproduction)) != 0) {
        json_decref(object);
        return NULL;
    }
    return object;
}

/* With the sessions that it was based on then, without later ones. */
static enum status make(struct store *store, const json_t *asked, json_t **ret, struct error *err)
{
    const json_t *ids = member_in(json_object_get(asked, "reproduce"), "repeatability", "results");
    json_auto_t *none = json_array();
    CLEANUP(campaign_comparison_finish) struct campaign_comparison compared = {.count = 0};
    CLEANUP(reproduction_finish) struct reproduction reproduction = {.margin = 0};
    const struct stored_comparison *one;

    TRY(campaign_comparison_again(store, asked, false, &compared, &one, err));
    TRY(reproduction_make(store, one, compared.options.margin, ids ? ids : none, &reproduction,
                          err));
    *ret = reproduction_json(&reproduction);
    return *ret ? STATUS_OK : error_no_memory(err);
}

static const char *verdict_of(const json_t *body)
{
    return member_string(json_object_get(body, "reproduce"), "verdict");
}

const struct judgement judgement_reproduce = {
    .name = "reproduce", .results = 2, .verdict = verdict_of, .make = make};
