#include "harness/runner/ab.h"

#include <stdlib.h>
#include <string.h>

#include "harness/core/text.h"
#include "protocols/comparability.h"
#include "results/analysis/fields.h"
#include "results/analysis/varied.h"

static enum status judge(struct store *store, const int64_t cells[2], const json_t *varied,
                         json_t **ret, struct error *err)
{
    json_t *a = NULL, *b = NULL;
    enum status status = fields_of_cell(store, cells[0], &a, err);

    if (status == STATUS_OK)
        status = fields_of_cell(store, cells[1], &b, err);
    if (status == STATUS_OK)
        status = comparability_judge(a, b, varied, ret, err);
    json_decref(a);
    json_decref(b);
    return status;
}

static enum status find_varied(struct store *store, int64_t campaign, size_t index, json_t **ret,
                               struct error *err)
{
    json_t *record = NULL;
    const json_t *cells;
    enum status status = store_campaign_json(store, campaign, &record, err);

    if (status != STATUS_OK)
        return status;
    cells = json_object_get(json_object_get(record, "plan"), "cells");
    status = varied_of_arms(json_array_get(cells, 2 * index), json_array_get(cells, 2 * index + 1),
                            ret, err);
    json_decref(record);
    return status;
}

enum status ab_evaluate(struct store *store, int64_t campaign, size_t index,
                        const struct compare_options *options, struct ab_result *ret,
                        struct error *err)
{
    struct ab_result result = {.campaign = campaign};
    json_t *varied = NULL;
    enum status status = pairs_of_campaign(store, campaign, index, &result.pairs, err);

    if (status == STATUS_OK)
        status = find_varied(store, campaign, index, &varied, err);
    if (status == STATUS_OK)
        status = judge(store, result.pairs.cells, varied, &result.judgement, err);
    if (status == STATUS_OK)
        status = varied_without_effect(varied, result.judgement, &result.ineffective, err);
    json_decref(varied);
    if (status != STATUS_OK) {
        ab_result_finish(&result);
        return status;
    }
    if (!comparability_is_evidence(result.judgement))
        error_set(&result.why, STATUS_INVALID, "the two arms do not compare");
    else if (result.pairs.count == 0)
        error_set(&result.why, STATUS_INVALID, "no pair has two steady trials: %s",
                  result.pairs.dropped);
    else
        result.has_numbers = paired_analyze(result.pairs.a, result.pairs.b, result.pairs.count,
                                            options, &result.numbers, &result.why) == STATUS_OK;
    result.numbers.centre = result.pairs.centre;
    *ret = result;
    return STATUS_OK;
}

char *ab_note(const struct ab_result *result)
{
    const char *ineffective = result->ineffective ? result->ineffective : "";

    if (!result->pairs.dropped[0])
        return result->ineffective ? strdup(ineffective) : NULL;
    return text_format("%zu of %zu pairs count; dropped: %s%s%s", result->pairs.count,
                       result->pairs.planned, result->pairs.dropped, *ineffective ? ". " : "",
                       ineffective);
}

void ab_result_finish(struct ab_result *result)
{
    if (!result)
        return;
    pairs_finish(&result->pairs);
    json_decref(result->judgement);
    free(result->ineffective);
    memset(result, 0, sizeof(*result));
}
