#include "results/analysis/recompute.h"

#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "results/analysis/acceptance.h"
#include "results/analysis/calibration.h"
#include "results/analysis/campaign_comparison.h"
#include "results/analysis/cost.h"
#include "results/analysis/decision.h"
#include "results/analysis/fleet_plan.h"
#include "results/analysis/gate.h"
#include "results/analysis/history.h"
#include "results/analysis/reproduction.h"
#include "results/analysis/stored_comparison.h"

/* `json` has the member "margin"; without one it made no difference. */
static struct compare_options options_of(const json_t *json)
{
    struct compare_options options = compare_options_default();
    const json_t *margin = json_object_get(json, "margin");

    if (json_is_number(margin))
        options.margin = json_number_value(margin);
    return options;
}

/* With the sessions that it was based on then, without later ones. */
static enum status reproduction_from_record(struct store *store,
                                            const struct stored_comparison *comparison,
                                            double margin, const json_t *stored, json_t **ret,
                                            struct error *err)
{
    json_auto_t *none = json_array();
    const json_t *ids = json_object_get(json_object_get(stored, "repeatability"), "results");
    struct reproduction reproduction;

    TRY(reproduction_make(store, comparison, margin, ids ? ids : none, &reproduction, err));
    *ret = reproduction_json(&reproduction);
    reproduction_finish(&reproduction);
    return STATUS_OK;
}

/* One of the cells of two campaigns, or of one of `assay ab`: its verdict rests on all of them. */
static enum status family_from_record(struct store *store, const char *kind, const json_t *body,
                                      const struct compare_options *options, json_t **ret,
                                      struct error *err)
{
    const json_t *of = json_object_get(body, "family_of");
    const char *arms = member_string(of, "campaign");
    const char *a = arms ? arms : member_string(of, "a");
    const char *b = arms ? NULL : member_string(of, "b");
    const struct stored_comparison *one;
    CLEANUP(campaign_comparison_finish) struct campaign_comparison family = {.count = 0};

    if (!a || (!arms && !b))
        return error_set(err, STATUS_CORRUPT, "it names no campaigns");
    TRY(campaign_comparison_make(store, a, b, options, &family, err));
    one = campaign_comparison_find(&family, member_string(body, "a"), member_string(body, "b"));
    if (json_is_true(json_object_get(json_object_get(body, "gate"), "allow_foreign_worker")))
        campaign_comparison_allow_foreign_worker(&family);
    if (!one)
        return error_set(err, STATUS_CORRUPT, "its family of %s has no such pair of results", a);
    *ret = !strcmp(kind, "gate") ? gate_json(one, options->margin) : stored_comparison_json(one);
    return *ret ? STATUS_OK : error_no_memory(err);
}

/* Two results, or, where they were paired, all that is said of the campaign of both. */
static enum status pair_again(struct store *store, const char *kind, const json_t *body,
                              json_t **ret, struct error *err)
{
    const json_t *gate = json_object_get(body, "gate");
    const json_t *reproduce = json_object_get(body, "reproduce");
    const json_t *family = json_object_get(body, "family_of"), *by;
    const json_t *served = json_object_get(body, "served");
    struct compare_options options = options_of(family      ? family
                                                : gate      ? gate
                                                : reproduce ? reproduce
                                                : served    ? served
                                                            : json_object_get(body, "comparison"));
    const bool paired = !strcmp(kind, "ab") || json_is_true(json_object_get(gate, "paired"));
    const char *a = member_string(body, "a");
    const char *b = member_string(body, "b");
    CLEANUP(stored_comparison_finish) struct stored_comparison comparison = {0};
    char campaign[16] = "";

    if (!a || !b || strlen(a) < 8)
        return error_set(err, STATUS_CORRUPT, "it names no two results");
    by = json_object_get(family ? family : body, "by");
    if (by)
        options.figure = compare_figure_find(json_string_value(by));
    if (options.figure == COMPARE_FIGURE_COUNT)
        return error_set(err, STATUS_UNSUPPORTED, "it compares by a figure that is not known here");
    if (family)
        return family_from_record(store, kind, body, &options, ret, err);
    memcpy(campaign, a, 8);
    TRY(paired ? stored_comparison_make(store, campaign, NULL, &options, &comparison, err)
               : stored_comparison_make(store, a, b, &options, &comparison, err));
    comparison.allows_foreign_worker = json_is_true(json_object_get(gate, "allow_foreign_worker"));
    if (!strcmp(kind, "reproduce"))
        TRY(reproduction_from_record(store, &comparison, options.margin, reproduce, ret, err));
    else
        *ret = !strcmp(kind, "gate") ? gate_json(&comparison, options.margin)
                                     : stored_comparison_json(&comparison);
    return *ret ? STATUS_OK : error_no_memory(err);
}

static enum status add_row(struct store *store, const json_t *row, struct calibration *calibration,
                           struct error *err)
{
    const struct compare_options options = options_of(row);
    const char *uid = member_string(row, "campaign");
    const char *workload = member_string(row, "workload");
    CLEANUP(stored_comparison_finish) struct stored_comparison comparison = {0};
    int64_t campaign;

    if (!uid || !workload)
        return error_set(err, STATUS_CORRUPT, "a row names no campaign or no workload");
    TRY(store_find_campaign(store, uid, &campaign, err));
    TRY(stored_comparison_of_pairs(store, campaign, 0, &options, &comparison, err));
    return calibration_add(calibration, workload, uid, &comparison, &options, err);
}

static void finish_calibration(struct calibration *calibration)
{
    type_finish(&calibration_type, calibration);
}

static enum status calibration_from_record(struct store *store, const json_t *body, json_t **ret,
                                           struct error *err)
{
    const json_t *rows = json_object_get(body, "rows");
    CLEANUP(finish_calibration) struct calibration stored = {0}, calibration = {0};

    if (type_read(&calibration_type, body, &stored) == type_no_memory)
        return error_no_memory(err);
    calibration.clock_resolution_ns = stored.clock_resolution_ns;
    calibration.clock_read_ns = stored.clock_read_ns;
    calibration.sample_overhead_ns = stored.sample_overhead_ns;
    for (size_t i = 0; i < json_array_size(rows); i++)
        TRY(add_row(store, json_array_get(rows, i), &calibration, err));
    *ret = type_to_json(&calibration_type, &calibration);
    return STATUS_OK;
}

static enum status cost_from_record(struct store *store, const json_t *body, json_t **ret,
                                    struct error *err)
{
    const char *result = member_string(body, "a");

    if (!result)
        return error_set(err, STATUS_CORRUPT, "it names no result");
    return cost_make(store, result, json_object_get(body, "prices"),
                     json_object_get(body, "assumptions"), ret, err);
}

static enum status baseline_from_record(struct store *store, const json_t *body, json_t **ret,
                                        struct error *err)
{
    const char *result = member_string(body, "a");
    const char *name = member_string(body, "name");

    if (!result || !name)
        return error_set(err, STATUS_CORRUPT, "it names no result, or has no name");
    return history_baseline(store, result, name, ret, err);
}

enum status recompute_comparison(struct store *store, const char *kind, const json_t *body,
                                 json_t **ret, struct error *err)
{
    if (!strcmp(kind, "calibration"))
        return calibration_from_record(store, body, ret, err);
    if (!strcmp(kind, "cost"))
        return cost_from_record(store, body, ret, err);
    if (!strcmp(kind, "accept"))
        return acceptance_make(store, json_object_get(body, "contract"),
                               json_object_get(body, "campaigns"), ret, err);
    if (!strcmp(kind, "decide"))
        return decision_make(store, json_object_get(body, "decision"),
                             json_object_get(body, "prices"), json_object_get(body, "peaks"), ret,
                             err);
    if (!strcmp(kind, "plan"))
        return fleet_plan_make(store, json_object_get(body, "results"),
                               json_object_get(body, "request"), ret, err);
    if (!strcmp(kind, "baseline"))
        return baseline_from_record(store, body, ret, err);
    return pair_again(store, kind, body, ret, err);
}
