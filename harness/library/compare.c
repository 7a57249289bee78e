#include <assay/compare.h>

#include <math.h>
#include <stdlib.h>

#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "harness/library/inside.h"

static struct assay_difference difference_of(const struct stored_comparison *one)
{
    const bool timed = one->has_numbers && one->figure == COMPARE_TIME;
    const struct comparison *numbers = &one->numbers;

    return (struct assay_difference){
        .a = one->a,
        .b = one->b,
        .comparability = member_text(one->judgement, "verdict"),
        .verdict = stored_comparison_verdict(one),
        .decision = gate_decision_name(gate_decide(one)),
        .reason = one->has_numbers ? "" : one->why.message,
        .paired = one->paired,
        .ratio = timed && numbers->ratio.has_value ? numbers->ratio.value : NAN,
        .lo = timed && numbers->ratio.has_interval ? numbers->ratio.lo : NAN,
        .hi = timed && numbers->ratio.has_interval ? numbers->ratio.hi : NAN,
        .p_difference = timed ? numbers->p_difference : NAN,
        .p_equivalence = timed ? numbers->p_equivalence : NAN,
        .needed = timed ? numbers->needed_pairs : 0};
}

static enum status compare(const char *a, const char *b, const struct assay_compare_options *asked,
                           struct assay_comparison *ret, struct error *err)
{
    struct compare_options options = compare_options_default();
    json_auto_t *under = NULL;

    if (asked->margin != 0)
        options.margin = asked->margin;
    if (!(options.margin > 0 && options.margin < 1))
        return error_set(err, STATUS_INVALID,
                         "margin is %g; write a share between 0 and 1, such as 0.01, which is 1 %%",
                         options.margin);
    if (asked->by)
        options.figure = compare_figure_find(asked->by);
    if (options.figure == COMPARE_FIGURE_COUNT)
        return error_set(err, STATUS_INVALID,
                         "results compare by time, attainment or capacity, not by \"%s\"",
                         asked->by);
    if (asked->under)
        TRY(gate_read_under(asked->under, &under, err));
    TRY(campaign_comparison_of(ret->store, a, b, &options, &ret->made, err));
    if (asked->allow_foreign_worker)
        campaign_comparison_allow_foreign_worker(&ret->made);
    campaign_comparison_allow_under(&ret->made, under);
    ret->differences = calloc(ret->made.count + 1, sizeof(*ret->differences));
    for (size_t i = 0; ret->differences && i < ret->made.count; i++)
        ret->differences[i] = difference_of(&ret->made.list[i]);
    return ret->differences ? STATUS_OK : error_no_memory(err);
}

enum assay_status assay_compare(struct assay_store *store, const char *a, const char *b,
                                const struct assay_compare_options *options,
                                struct assay_comparison **ret)
{
    struct error *err = library_begin();
    struct assay_compare_options asked = ASSAY_COMPARE_OPTIONS_INIT;
    struct assay_comparison *comparison = calloc(1, sizeof(*comparison));
    enum status status;

    if (!comparison)
        return library_end(error_no_memory(err));
    LIBRARY_TAKE(asked, options);
    status = library_store(store, &comparison->store, err);
    if (status == STATUS_OK)
        status = compare(a, b, &asked, comparison, err);
    if (status == STATUS_OK)
        *ret = comparison;
    else
        assay_comparison_free(comparison);
    return library_end(status);
}

void assay_comparison_free(struct assay_comparison *comparison)
{
    if (!comparison)
        return;
    campaign_comparison_finish(&comparison->made);
    free(comparison->differences);
    free(comparison);
}

const struct assay_difference *assay_comparison_at(const struct assay_comparison *comparison,
                                                   size_t i)
{
    return i < comparison->made.count ? &comparison->differences[i] : NULL;
}

const char *assay_comparison_decision(const struct assay_comparison *comparison)
{
    return gate_decision_name(campaign_comparison_decide(&comparison->made));
}

enum assay_status assay_comparison_json(const struct assay_comparison *comparison, bool gated,
                                        char **ret)
{
    const struct campaign_comparison *made = &comparison->made;
    json_auto_t *bodies = made->is_single ? campaign_comparison_bodies(made, gated) : NULL;

    return library_end(library_text(bodies ? json_incref(json_array_get(bodies, 0))
                                           : campaign_comparison_json(made, gated),
                                    ret, library_begin()));
}

enum assay_status assay_comparison_record(struct assay_comparison *comparison, bool gated)
{
    return library_end(
        campaign_comparison_record(comparison->store, &comparison->made, gated, library_begin()));
}
