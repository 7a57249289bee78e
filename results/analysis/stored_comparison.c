#include "results/analysis/stored_comparison.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "harness/core/text.h"
#include "protocols/comparability.h"
#include "protocols/condition.h"
#include "protocols/serving/declared.h"
#include "results/analysis/fields.h"
#include "results/analysis/serving_change.h"
#include "results/analysis/varied.h"

/* `ret_served`: it is of a server at a rate. */
static enum status fields_and_id(struct store *store, int64_t cell, char id[80], bool *ret_served,
                                 json_t *conditions, json_t **ret, struct error *err)
{
    const char *text;
    json_auto_t *record = NULL;
    double rate;

    TRY(store_cell_json(store, cell, &record, err));
    if (!condition_add(record, conditions))
        return error_no_memory(err);
    text = member_string(record, "id");
    snprintf(id, 80, "%s", text ? text : "?");
    text = member_text(json_object_get(record, "identity"), "scenario");
    *ret_served = serving_rate_of(text, &rate) && isfinite(rate);
    return fields_from_record(record, ret, err);
}

static bool refused(const json_t *judgement)
{
    const char *verdict = member_string(judgement, "verdict");

    return !verdict || !strcmp(verdict, "not_comparable");
}

static void compare_served(struct store *store, const struct compare_options *asked,
                           struct stored_comparison *comparison)
{
    struct compare_options options = *asked;

    options.figure = comparison->figure;
    comparison->has_numbers =
        serving_change_of(store, comparison->cells, comparison->pairs.served,
                          comparison->pairs.served_count, &options, &comparison->change,
                          comparison->servers, &comparison->why) == STATUS_OK;
}

static void compare_numbers(struct store *store, const struct compare_options *options,
                            struct stored_comparison *comparison)
{
    double *times[2] = {NULL, NULL}, steps[2] = {0, 0};
    size_t counts[2] = {0, 0};
    enum estimate_centre centres[2] = {ESTIMATE_MEAN, ESTIMATE_MEAN};
    enum status status = STATUS_OK;

    if (refused(comparison->judgement)) {
        error_set(&comparison->why, STATUS_INVALID, "the two do not compare");
        return;
    }
    if (comparison->figure != COMPARE_TIME) {
        compare_served(store, options, comparison);
        return;
    }
    for (int i = 0; i < 2 && status == STATUS_OK; i++)
        status = pairs_trial_centres(store, comparison->cells[i], &times[i], &counts[i],
                                     &centres[i], &steps[i], &comparison->why);
    if (status == STATUS_OK && centres[0] != centres[1])
        status = error_set(&comparison->why, STATUS_INVALID,
                           "a's protocol compares by the %s of a trial and b's by the %s",
                           estimate_centre_name(centres[0]), estimate_centre_name(centres[1]));
    if (status == STATUS_OK)
        comparison->has_numbers =
            unpaired_analyze(times[0], counts[0], times[1], counts[1], options,
                             &comparison->numbers, &comparison->why) == STATUS_OK;
    if (comparison->has_numbers)
        comparison_round(&comparison->numbers, times[0][0], steps[0], steps[1]);
    comparison->numbers.centre = centres[0];
    free(times[0]);
    free(times[1]);
}

/* Judges the results of `cells`, whose ids become a and b, and settles by what they compare. */
static enum status judge(struct store *store, const json_t *varied,
                         struct stored_comparison *comparison, struct error *err)
{
    json_auto_t *a = NULL, *b = NULL;
    json_t **const found = comparison->found;
    bool served[2];

    found[0] = json_array();
    found[1] = json_array();
    TRY(fields_and_id(store, comparison->cells[0], comparison->a, &served[0], found[0], &a, err));
    TRY(fields_and_id(store, comparison->cells[1], comparison->b, &served[1], found[1], &b, err));
    if (json_array_size(found[0]) + json_array_size(found[1]) > 0) {
        json_auto_t *others = condition_beyond(found[1], found[0]);

        comparison->conditions = json_copy(found[0]);
        json_array_extend(comparison->conditions, others);
    }
    if (comparison->figure == COMPARE_TIME && served[0] && served[1])
        comparison->figure = COMPARE_ATTAINMENT;
    return comparability_judge(a, b, varied, &comparison->judgement, err);
}

static void compare_pairs(struct store *store, const struct compare_options *options,
                          struct stored_comparison *comparison)
{
    const struct pairs *pairs = &comparison->pairs;
    bool made = false;

    if (!comparability_is_evidence(comparison->judgement)) {
        error_set(&comparison->why, STATUS_INVALID, "the two arms do not compare");
        return;
    }
    if (comparison->figure != COMPARE_TIME)
        compare_served(store, options, comparison);
    else if (pairs->count == 0)
        error_set(&comparison->why, STATUS_INVALID, "no pair has two steady trials: %s",
                  pairs->dropped);
    if (pairs->count > 0)
        made = crossover_analyze(
                   pairs->a, pairs->b, pairs->b_first, pairs->count, options, &comparison->numbers,
                   comparison->figure == COMPARE_TIME ? &comparison->why : NULL) == STATUS_OK;
    if (made && comparison->figure == COMPARE_TIME)
        comparison_round(&comparison->numbers, pairs->a[0], pairs->step_ns[0], pairs->step_ns[1]);
    else if (made) /* nothing is known of the steps of mean latencies */
        comparison_round(&comparison->numbers, pairs->a[0], NAN, NAN);
    comparison->numbers.centre = pairs->centre;
    comparison->has_latency = made && comparison->figure != COMPARE_TIME;
    comparison->has_numbers |= made && comparison->figure == COMPARE_TIME;
}

/* What must be shown with the numbers of pairs; `ineffective` may be NULL. Heap; NULL: nothing. */
static char *note_of(const struct pairs *pairs, const char *ineffective)
{
    if (!pairs->dropped[0])
        return ineffective ? strdup(ineffective) : NULL;
    return text_format("%zu of %zu pairs count; dropped: %s%s%s", pairs->count, pairs->planned,
                       pairs->dropped, ineffective ? ". " : "", ineffective ? ineffective : "");
}

enum status stored_comparison_of_pairs(struct store *store, int64_t campaign, size_t index,
                                       const struct compare_options *options,
                                       struct stored_comparison *ret, struct error *err)
{
    CLEANUP(stored_comparison_finish)
    struct stored_comparison made = {.paired = true, .figure = options->figure, .why = ERROR_INIT};
    json_auto_t *record = NULL, *varied = NULL;
    const json_t *planned;
    AUTO_FREE char *ineffective = NULL;

    TRY(store_campaign_json(store, campaign, &record, err));
    TRY(pairs_of_campaign(store, campaign, index, &made.pairs, err));
    planned = member_in(record, "plan", "cells");
    TRY(varied_of_arms(json_array_get(planned, made.pairs.places[0]),
                       json_array_get(planned, made.pairs.places[1]), &varied, err));
    memcpy(made.cells, made.pairs.cells, sizeof(made.cells));
    TRY(judge(store, varied, &made, err));
    TRY(varied_without_effect(varied, made.judgement, &ineffective, err));
    compare_pairs(store, options, &made);
    made.note = note_of(&made.pairs, ineffective);
    *ret = made;
    made = (struct stored_comparison){0};
    return STATUS_OK;
}

static enum status make_paired(struct store *store, const char *id,
                               const struct compare_options *options, struct stored_comparison *ret,
                               struct error *err)
{
    int64_t campaign;

    TRY(store_find_campaign(store, id, &campaign, err));
    return stored_comparison_of_pairs(store, campaign, 0, options, ret, err);
}

static enum status make_unpaired(struct store *store, const char *a, const char *b,
                                 const struct compare_options *options,
                                 struct stored_comparison *comparison, struct error *err)
{
    TRY(store_find_cell(store, a, &comparison->cells[0], err));
    TRY(store_find_cell(store, b, &comparison->cells[1], err));
    TRY(judge(store, NULL, comparison, err));
    compare_numbers(store, options, comparison);
    return STATUS_OK;
}

enum status stored_comparison_make(struct store *store, const char *a, const char *b,
                                   const struct compare_options *options,
                                   struct stored_comparison *ret, struct error *err)
{
    struct stored_comparison comparison = {.figure = options->figure, .why = ERROR_INIT};
    enum status status = b ? make_unpaired(store, a, b, options, &comparison, err)
                           : make_paired(store, a, options, &comparison, err);

    if (status != STATUS_OK) {
        stored_comparison_finish(&comparison);
        return status;
    }
    *ret = comparison;
    return STATUS_OK;
}

void stored_comparison_finish(struct stored_comparison *comparison)
{
    if (!comparison)
        return;
    json_decref(comparison->judgement);
    json_decref(comparison->family_of);
    json_decref(comparison->conditions);
    json_decref(comparison->found[0]);
    json_decref(comparison->found[1]);
    json_decref(comparison->under);
    pairs_finish(&comparison->pairs);
    free(comparison->note);
    comparison->judgement = NULL;
    comparison->family_of = NULL;
    comparison->conditions = comparison->found[0] = comparison->found[1] = NULL;
    comparison->under = NULL;
    comparison->note = NULL;
}

/* What each factor's own comparison would need: everything of a, with this factor of b. */
static json_t *stored_comparison_separating_runs(const struct stored_comparison *comparison)
{
    const json_t *factors = json_object_get(comparison->judgement, "factors");
    json_t *runs = json_array();

    if (json_array_size(factors) < 2)
        return runs;
    EACH(factor, factors) {
        const char *name = member_string(factor, "factor");

        json_array_append_new(
            runs, json_sprintf("everything as in a, with the %s of b", name ? name : ""));
    }
    return runs;
}

enum status stored_comparison_capacity(struct store *store, int64_t cell, json_t **ret,
                                       struct error *err)
{
    struct capacity_result capacity = {.state = CAPACITY_INCONCLUSIVE};
    json_auto_t *record = NULL;
    enum status status;

    TRY(store_cell_json(store, cell, &record, err));
    status = serving_capacity_of(store, record, &capacity, NULL, err);
    if (status != STATUS_OK || capacity.state == CAPACITY_INCONCLUSIVE)
        return status == STATUS_INVALID ? STATUS_OK : status;
    *ret = type_to_json(&capacity_result_type, &capacity);
    return *ret ? STATUS_OK : error_no_memory(err);
}

const char *stored_comparison_verdict(const struct stored_comparison *comparison)
{
    if (!comparison->has_numbers)
        return NULL;
    return comparison->figure == COMPARE_TIME ? compare_verdict_name(comparison->numbers.verdict)
                                              : served_change_verdict_name(served_change_verdict(
                                                    comparison->figure, &comparison->change));
}

json_t *stored_comparison_json(const struct stored_comparison *comparison)
{
    const bool is_time = comparison->figure == COMPARE_TIME;
    const struct comparison *numbers =
        comparison->has_numbers && is_time ? &comparison->numbers : NULL;
    const char *verdict = stored_comparison_verdict(comparison);
    json_t *object = json_pack("{s:s, s:s, s:O, s:o}", "a", comparison->a, "b", comparison->b,
                               "comparability", comparison->judgement, "separating_runs",
                               stored_comparison_separating_runs(comparison));

    json_object_set(object, "attribution", json_object_get(comparison->judgement, "attribution"));
    json_object_set_new(object, "comparison",
                        numbers ? type_to_json(&comparison_type, numbers) : json_null());
    json_object_set_new(object, "verdict", verdict ? json_string(verdict) : json_null());
    if (!is_time)
        json_object_set_new(object, "by", json_string(compare_figure_name(comparison->figure)));
    if (comparison->has_numbers && !is_time)
        json_object_set_new(object, "served",
                            type_to_json(&served_change_type, &comparison->change));
    if (comparison->has_latency)
        json_object_set_new(object, "latency",
                            type_to_json(&comparison_type, &comparison->numbers));
    if (comparison->conditions)
        json_object_set(object, "conditions", comparison->conditions);
    if (!comparison->has_numbers)
        json_object_set_new(object, "reason", json_string(comparison->why.message));
    if (comparison->note)
        json_object_set_new(object, "note", json_string(comparison->note));
    if (comparison->family_of)
        json_object_set(object, "family_of", comparison->family_of);
    return object;
}
