#include "results/analysis/reproduction.h"

#include "protocols/comparability.h"
#include "protocols/serving/change.h"

const char *reproduction_verdict_name(enum reproduction_verdict verdict)
{
    static const char *const names[] = {
#define REPRODUCTION_NAME(code, name) name,
        REPRODUCTION_MAP(REPRODUCTION_NAME)
#undef REPRODUCTION_NAME
    };

    return names[verdict];
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
        made.has_spread = made.repeatability.df > 0;
        if (made.has_spread)
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

json_t *reproduction_json(const struct reproduction *reproduction)
{
    const bool numbers =
        reproduction->comparison->has_numbers && reproduction->comparison->figure == COMPARE_TIME;
    json_t *object = stored_comparison_json(reproduction->comparison);

    if (object &&
        json_object_set_new(
            object, "reproduce",
            json_pack(
                "{s:s, s:f, s:s, s:o, s:o, s:o}", "verdict",
                reproduction_verdict_name(reproduction->verdict), "margin", reproduction->margin,
                "rests_on", reproduction->has_spread ? "repeatability" : "trials", "ratio",
                numbers ? type_to_json(&estimate_interval_type, &reproduction->numbers.ratio)
                        : json_null(),
                "equivalence_interval",
                numbers ? type_to_json(&estimate_interval_type, &reproduction->numbers.equivalence)
                        : json_null(),
                "repeatability", repeatability_json(&reproduction->repeatability))) != 0) {
        json_decref(object);
        return NULL;
    }
    return object;
}
