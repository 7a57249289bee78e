#include "harness/cli/stored_comparison.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/cli/command.h"
#include "harness/cli/comparison_view.h"
#include "harness/cli/output.h"
#include "harness/core/text.h"
#include "harness/runner/ab.h"
#include "protocols/comparability.h"
#include "results/analysis/fields.h"

static enum status fields_and_id(struct store *store, int64_t cell, char id[80], json_t **ret,
                                 struct error *err)
{
    const char *text;
    json_t *record;
    enum status status = store_cell_json(store, cell, &record, err);

    if (status != STATUS_OK)
        return status;
    text = json_string_value(json_object_get(record, "id"));
    snprintf(id, 80, "%s", text ? text : "?");
    status = fields_from_record(record, ret, err);
    json_decref(record);
    return status;
}

static bool refused(const json_t *judgement)
{
    const char *verdict = json_string_value(json_object_get(judgement, "verdict"));

    return !verdict || !strcmp(verdict, "not_comparable");
}

static void compare_numbers(struct store *store, const struct compare_options *options,
                            struct stored_comparison *comparison)
{
    double *times[2] = {NULL, NULL};
    size_t counts[2] = {0, 0};
    enum estimate_centre centres[2] = {ESTIMATE_MEAN, ESTIMATE_MEAN};
    enum status status = STATUS_OK;

    if (refused(comparison->judgement)) {
        error_set(&comparison->why, STATUS_INVALID, "the two do not compare");
        return;
    }
    for (int i = 0; i < 2 && status == STATUS_OK; i++)
        status = pairs_trial_centres(store, comparison->cells[i], &times[i], &counts[i],
                                     &centres[i], &comparison->why);
    if (status == STATUS_OK && centres[0] != centres[1])
        status = error_set(&comparison->why, STATUS_INVALID,
                           "a's protocol compares by the %s of a trial and b's by the %s",
                           estimate_centre_name(centres[0]), estimate_centre_name(centres[1]));
    if (status == STATUS_OK)
        comparison->has_numbers =
            unpaired_analyze(times[0], counts[0], times[1], counts[1], options,
                             &comparison->numbers, &comparison->why) == STATUS_OK;
    comparison->numbers.centre = centres[0];
    free(times[0]);
    free(times[1]);
}

enum status stored_comparison_of_pairs(struct store *store, int64_t campaign, size_t index,
                                       const struct compare_options *options,
                                       struct stored_comparison *ret, struct error *err)
{
    struct ab_result result;
    json_t *record = NULL;
    const char *uid;
    enum status status = store_campaign_json(store, campaign, &record, err);

    if (status == STATUS_OK)
        status = ab_evaluate(store, campaign, index, options, &result, err);
    if (status != STATUS_OK) {
        json_decref(record);
        return status;
    }
    uid = json_string_value(json_object_get(record, "uid"));
    *ret = (struct stored_comparison){
        .judgement = json_incref(result.judgement),
        .paired = true,
        .has_numbers = result.has_numbers,
        .numbers = result.numbers,
        .why = result.why,
        .note = ab_note(&result),
    };
    snprintf(ret->a, sizeof(ret->a), "%.8s/%zu", uid ? uid : "?", 2 * index + 1);
    snprintf(ret->b, sizeof(ret->b), "%.8s/%zu", uid ? uid : "?", 2 * index + 2);
    memcpy(ret->cells, result.pairs.cells, sizeof(ret->cells));
    ab_result_finish(&result);
    json_decref(record);
    return STATUS_OK;
}

static enum status make_paired(struct store *store, const char *id,
                               const struct compare_options *options, struct stored_comparison *ret,
                               struct error *err)
{
    int64_t campaign;
    enum status status = store_find_campaign(store, id, &campaign, err);

    return status == STATUS_OK ? stored_comparison_of_pairs(store, campaign, 0, options, ret, err)
                               : status;
}

static enum status make_unpaired(struct store *store, const char *a, const char *b,
                                 const struct compare_options *options,
                                 struct stored_comparison *comparison, struct error *err)
{
    json_t *fields[2] = {NULL, NULL};
    enum status status = store_find_cell(store, a, &comparison->cells[0], err);

    if (status == STATUS_OK)
        status = store_find_cell(store, b, &comparison->cells[1], err);
    if (status == STATUS_OK)
        status = fields_and_id(store, comparison->cells[0], comparison->a, &fields[0], err);
    if (status == STATUS_OK)
        status = fields_and_id(store, comparison->cells[1], comparison->b, &fields[1], err);
    if (status == STATUS_OK)
        status = comparability_judge(fields[0], fields[1], NULL, &comparison->judgement, err);
    if (status == STATUS_OK)
        compare_numbers(store, options, comparison);
    json_decref(fields[0]);
    json_decref(fields[1]);
    return status;
}

enum status stored_comparison_make(struct store *store, const char *a, const char *b,
                                   const struct compare_options *options,
                                   struct stored_comparison *ret, struct error *err)
{
    struct stored_comparison comparison = {.why = ERROR_INIT};
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
    free(comparison->note);
    comparison_arms_finish(&comparison->arms);
    comparison->judgement = NULL;
    comparison->family_of = NULL;
    comparison->note = NULL;
}

enum status stored_comparison_load_arms(struct store *store, struct stored_comparison *comparison,
                                        struct error *err)
{
    return comparison_arms_load(store, comparison->cells, &comparison->arms, err);
}

static struct comparison_view view_of(const struct stored_comparison *comparison)
{
    return (struct comparison_view){
        .a = comparison->a,
        .b = comparison->b,
        .arms = comparison->arms.json ? &comparison->arms : NULL,
        .judgement = comparison->judgement,
        .numbers = comparison->has_numbers ? &comparison->numbers : NULL,
        .why_no_numbers = comparison->why.message,
        .note = comparison->note,
    };
}

json_t *stored_comparison_json(const struct stored_comparison *comparison)
{
    const struct comparison_view view = view_of(comparison);
    json_t *object = comparison_view_json(&view);

    if (object && comparison->family_of)
        json_object_set(object, "family_of", comparison->family_of);
    return object;
}

void stored_comparison_append(struct text *out, const struct stored_comparison *comparison,
                              bool explain)
{
    const struct comparison_view view = view_of(comparison);

    comparison_view_append(out, &view, explain);
}

enum status stored_comparison_record(struct store *store, const char *kind, const char *verdict,
                                     const struct stored_comparison *comparison,
                                     const json_t *object, struct error *err)
{
    if (!verdict)
        verdict = comparison->has_numbers
                      ? compare_verdict_name(comparison->numbers.verdict)
                      : json_string_value(json_object_get(comparison->judgement, "verdict"));
    return store_record_comparison(store, kind, comparison->cells[0], comparison->cells[1],
                                   COMPARISON_VERSION, verdict ? verdict : "none", object, err);
}

int stored_comparison_show(const struct stored_comparison *comparison, json_t *object, bool json,
                           bool explain)
{
    const struct comparison_view view = view_of(comparison);
    struct text out;

    if (json) {
        json_t *shown = comparison_view_shown(&view, object);

        json_decref(object);
        return output_json(shown);
    }
    json_decref(object);
    text_init(&out);
    stored_comparison_append(&out, comparison, explain);
    return output_text(&out);
}

enum status stored_comparison_margin(const char *word, struct compare_options *ret,
                                     struct error *err)
{
    *ret = compare_options_default();
    if (word && (!text_parse_double(word, &ret->margin) || ret->margin <= 0 || ret->margin >= 1))
        return error_set(err, STATUS_INVALID,
                         "--margin %s: write a number between 0 and 1, such as 0.01", word);
    return STATUS_OK;
}
