#include "results/store/store_import.h"

#include <stdlib.h>

#include "harness/core/cleanup.h"
#include "protocols/metric.h"
#include "harness/core/clock.h"
#include "harness/core/random.h"
#include "results/store/store_internal.h"

void store_claim_init(struct store_claim *claim)
{
    *claim = (struct store_claim){
        .kind = "imported", .scenario = STORE_UNKNOWN, .precision = STORE_UNKNOWN, .batch = -1};
    reading_list_init(&claim->readings);
}

void store_claim_finish(struct store_claim *claim)
{
    if (!claim)
        return;
    free(claim->workload);
    free(claim->device);
    free(claim->backend);
    free(claim->measured);
    json_decref(claim->declaration);
    json_decref(claim->fields);
    reading_list_finish(&claim->readings);
}

enum status store_find_import(struct store *store, const struct digest *digest,
                              int64_t *ret_campaign, struct error *err)
{
    struct statement statement;

    TRY(statement_begin(store, "SELECT campaign FROM import WHERE sha256 = ?1", &statement, err));
    statement_digest(&statement, digest);
    return statement_single(&statement, ret_campaign, err);
}

/* In the form that estimates have, without intervals and grades: nothing is known of them. */
static json_t *metrics_of(const struct store_claim *claim)
{
    struct metric_value values[METRIC_COUNT] = {0};
    struct metric_value *rate = &values[METRIC_ITEM_RATE], *time = &values[METRIC_ITERATION_TIME];

    rate->present = rate->has_value = claim->rate > 0;
    rate->value = claim->rate;
    metric_unit(METRIC_ITEM_RATE, claim->item_name, false, rate->unit);
    time->present = time->has_value = claim->mean_ns > 0;
    time->value = claim->mean_ns;
    metric_unit(METRIC_ITERATION_TIME, NULL, false, time->unit);
    return metrics_to_json(values);
}

static json_t *claim_body(const struct store_claim *claim)
{
    json_t *body = json_pack("{s:s*, s:s*, s:s*, s:O}", "device", claim->device, "backend",
                             claim->backend, "measured", claim->measured, "fields", claim->fields);
    const int headline = claim->rate > 0 ? METRIC_ITEM_RATE : METRIC_ITERATION_TIME;

    if (!body || json_object_set_new(body, "metrics", metrics_of(claim)) < 0 ||
        json_object_set_new(body, "headline", json_string(metrics[headline].id)) < 0) {
        json_decref(body);
        return NULL;
    }
    return body;
}

static enum status add_claim(struct store *store, int64_t cell, const struct store_claim *claim,
                             struct error *err)
{
    json_auto_t *readings = reading_list_to_json(&claim->readings);
    struct record_body body = body_of(store, "claim", err);

    body_cell(&body, cell);
    body_readings(&body, "readings", readings);
    body_json(&body, "body", claim_body(claim));
    return body_end(&body);
}

static enum status add_file(struct store *store, int64_t campaign,
                            const struct store_import *import, struct error *err)
{
    struct record_body body = body_of(store, "import", err);

    body_campaign(&body, campaign);
    body_digest(&body, "sha256", &import->digest);
    body_text(&body, "file", import->file);
    body_i64(&body, "size", import->size);
    body_text(&body, "format", import->format);
    body_text(&body, "program", import->program);
    body_text(&body, "program_version", import->program_version);
    return body_end(&body);
}

static enum status put(struct store *store, const char *kind, const char *name, json_t *json,
                       struct digest *ret, struct error *err)
{
    struct store_declaration declaration = {kind, name, 1, "imported", json};
    enum status status =
        json ? store_put_declaration(store, &declaration, ret, err) : error_no_memory(err);

    json_decref(json);
    return status;
}

static struct store_cell cell_of(const struct store_claim *claim, int64_t ordinal,
                                 const struct digest *workload, const struct digest *protocol,
                                 const char *program)
{
    const char *device = claim->backend ? claim->backend : STORE_UNKNOWN;

    return (struct store_cell){
        .ordinal = ordinal,
        .workload = *workload,
        .protocol = *protocol,
        .workload_name = claim->workload,
        .protocol_name = program,
        .kind = claim->kind,
        .work = {claim->precision, claim->batch, claim->scenario, "imported"},
        .is_imported = true,
        .backend = device,
        .device_spec = device,
        .cost = {.items = claim->items > 0 ? (uint64_t)claim->items : 0,
                 .item_name = claim->item_name,
                 .headline = claim->item_name ? "items" : NULL,
                 .is_claimed = true},
    };
}

/* Its plan is the file itself. `rows` is room for a row of each cell. */
static enum status add_campaign(struct store *store, const struct store_import *import,
                                const struct store_claim *claims, size_t count, int64_t *ret,
                                int64_t *rows, struct error *err)
{
    char hex[DIGEST_HEX_SIZE];
    struct store_campaign campaign = {.created_utc_ns = clock_utc_ns(),
                                      .command = import->command,
                                      .tool_version = import->tool_version,
                                      .tool_digest = import->tool_digest};
    AUTO_FREE struct store_cell *cells = calloc(count, sizeof(*cells));
    json_auto_t *plan = json_pack("{s:{s:s, s:s, s:s, s:I}}", "imported", "sha256",
                                  digest_hex(&import->digest, hex), "format", import->format,
                                  "program", import->program, "results", (json_int_t)count);

    if (!cells || !plan)
        return error_no_memory(err);
    TRY(put(store, "protocol", import->program,
            json_pack("{s:s, s:i, s:b, s:s}", "protocol", import->program, "version", 1, "evidence",
                      0, "description", "measured by another program, under its own rules"),
            &campaign.protocol, err));
    for (size_t i = 0; i < count; i++) {
        struct digest workload;

        TRY(put(store, "workload", claims[i].workload, json_incref(claims[i].declaration),
                &workload, err));
        cells[i] =
            cell_of(&claims[i], (int64_t)i + 1, &workload, &campaign.protocol, import->program);
    }
    random_identifier(campaign.uid);
    campaign.plan = plan;
    return store_add_campaign(store, &campaign, cells, count, NULL, 0, ret, rows, err);
}

/* All that is recorded of it, in the batch that is open. */
static enum status add_all(struct store *store, const struct store_import *import,
                           const struct store_claim *claims, size_t count, int64_t *ret_campaign,
                           struct error *err)
{
    AUTO_FREE int64_t *rows = calloc(count, sizeof(*rows));

    if (!rows)
        return error_no_memory(err);
    TRY(add_campaign(store, import, claims, count, ret_campaign, rows, err));
    TRY(add_file(store, *ret_campaign, import, err));
    for (size_t i = 0; i < count; i++)
        TRY(add_claim(store, rows[i], &claims[i], err));
    TRY(store_add_campaign_event(store, *ret_campaign, "imported", import->file, err));
    return store_add_campaign_event(store, *ret_campaign, "finished", NULL, err);
}

enum status store_add_import(struct store *store, const struct store_import *import,
                             const struct store_claim *claims, size_t count, int64_t *ret_campaign,
                             struct error *err)
{
    int64_t campaign = 0;
    enum status status;

    if (count == 0)
        return error_set(err, STATUS_INVALID, "%s: holds no results", import->file);
    TRY(store_batch_begin(store, err));
    status = add_all(store, import, claims, count, &campaign, err);
    if (status != STATUS_OK) {
        store_batch_end(store, false, NULL);
        return status;
    }
    TRY(store_batch_end(store, true, err));
    *ret_campaign = campaign;
    return STATUS_OK;
}
