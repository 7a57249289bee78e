#include "results/store_import.h"

#include <stdlib.h>
#include <string.h>

#include "harness/core/canonical.h"
#include "protocols/metric.h"
#include "harness/core/clock.h"
#include "harness/core/random.h"
#include "results/store_internal.h"

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
    enum status status =
        statement_begin(store, "SELECT campaign FROM import WHERE sha256 = ?1", &statement, err);

    if (status != STATUS_OK)
        return status;
    statement_digest(&statement, digest);
    return statement_single(&statement, ret_campaign, err);
}

static void bind_known(struct statement *statement, int64_t value, bool known)
{
    if (known)
        statement_i64(statement, value);
    else
        statement_null(statement);
}

static enum status insert_cell(struct store *store, int64_t campaign, int64_t ordinal,
                               const struct store_claim *claim, const struct digest *workload,
                               const struct digest *protocol, const char *program, int64_t *ret,
                               struct error *err)
{
    struct statement statement;
    const char *device = claim->backend ? claim->backend : STORE_UNKNOWN;
    enum status status = statement_begin(
        store,
        "INSERT INTO cell (campaign, ordinal, workload, protocol, workload_name, protocol_name,"
        " kind, precision, scenario, implementation, batch, seed, backend, device_index, "
        "device_spec, flops,"
        " flops_formula, bytes, bytes_formula, items, item_name, device_memory_bytes,"
        " working_set_bytes, headline, trials) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9,"
        " 'imported', ?10, NULL, ?11, NULL, ?11, NULL, NULL, NULL, NULL, ?12, ?13, NULL, NULL, ?14,"
        " 0)",
        &statement, err);

    if (status != STATUS_OK)
        return status;
    statement_i64(&statement, campaign);
    statement_i64(&statement, ordinal);
    statement_digest(&statement, workload);
    statement_digest(&statement, protocol);
    statement_text(&statement, claim->workload);
    statement_text(&statement, program);
    statement_text(&statement, claim->kind);
    statement_text(&statement, claim->precision);
    statement_text(&statement, claim->scenario);
    bind_known(&statement, claim->batch, claim->batch >= 0);
    statement_text(&statement, device);
    bind_known(&statement, claim->items, claim->items > 0);
    statement_text(&statement, claim->item_name);
    statement_text(&statement, claim->item_name ? "items" : NULL);
    return statement_run(&statement, ret, err);
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

static enum status body_of(const struct store_claim *claim, char **ret, struct error *err)
{
    json_t *body = json_pack("{s:s*, s:s*, s:s*, s:O}", "device", claim->device, "backend",
                             claim->backend, "measured", claim->measured, "fields", claim->fields);
    enum status status = STATUS_OK;

    if (!body || json_object_set_new(body, "metrics", metrics_of(claim)) < 0 ||
        json_object_set_new(
            body, "headline",
            json_string(metrics[claim->rate > 0 ? METRIC_ITEM_RATE : METRIC_ITERATION_TIME].id)) <
            0)
        status = error_set(err, STATUS_NO_MEMORY, "out of memory");
    if (status == STATUS_OK)
        status = canonical_dump(body, ret, err);
    json_decref(body);
    return status;
}

static enum status insert_claim(struct store *store, int64_t cell, const struct store_claim *claim,
                                struct error *err)
{
    struct statement statement;
    json_t *json = reading_list_to_json(&claim->readings);
    char *body = NULL;
    int64_t readings = 0;
    enum status status =
        json ? STATUS_OK : error_set(err, STATUS_NO_MEMORY, "%s: out of memory", store->path);

    if (status == STATUS_OK)
        status = store_insert_readings(store, json, &readings, err);
    json_decref(json);
    if (status == STATUS_OK)
        status = body_of(claim, &body, err);
    if (status == STATUS_OK)
        status = statement_begin(
            store, "INSERT INTO claim (cell, readings, body) VALUES (?1, ?2, ?3)", &statement, err);
    if (status == STATUS_OK) {
        statement_i64(&statement, cell);
        statement_i64(&statement, readings);
        statement_text(&statement, body);
        status = statement_run(&statement, NULL, err);
    }
    free(body);
    return status;
}

static enum status insert_import(struct store *store, int64_t campaign,
                                 const struct store_import *import, struct error *err)
{
    struct statement statement;
    enum status status =
        statement_begin(store,
                        "INSERT INTO import (campaign, sha256, file, size, format, program,"
                        " program_version) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                        &statement, err);

    if (status != STATUS_OK)
        return status;
    statement_i64(&statement, campaign);
    statement_digest(&statement, &import->digest);
    statement_text(&statement, import->file);
    statement_i64(&statement, import->size);
    statement_text(&statement, import->format);
    statement_text(&statement, import->program);
    statement_text(&statement, import->program_version);
    return statement_run(&statement, NULL, err);
}

static enum status put(struct store *store, const char *kind, const char *name, json_t *json,
                       struct digest *ret, struct error *err)
{
    struct store_declaration declaration = {kind, name, 1, "imported", json};
    enum status status = json ? store_put_declaration(store, &declaration, ret, err)
                              : error_set(err, STATUS_NO_MEMORY, "%s: out of memory", store->path);

    json_decref(json);
    return status;
}

/* The campaign: its plan is the file itself. */
static enum status add_campaign(struct store *store, const struct store_import *import,
                                size_t count, struct digest *ret_protocol, int64_t *ret,
                                struct error *err)
{
    char hex[DIGEST_HEX_SIZE];
    struct store_campaign campaign = {.created_utc_ns = clock_utc_ns(),
                                      .command = import->command,
                                      .tool_version = import->tool_version,
                                      .tool_digest = import->tool_digest};
    enum status status =
        put(store, "protocol", import->program,
            json_pack("{s:s, s:i, s:b, s:s}", "protocol", import->program, "version", 1, "evidence",
                      0, "description", "measured by another program, under its own rules"),
            &campaign.protocol, err);

    if (status != STATUS_OK)
        return status;
    random_identifier(campaign.uid);
    campaign.plan = json_pack("{s:{s:s, s:s, s:s, s:I}}", "imported", "sha256",
                              digest_hex(&import->digest, hex), "format", import->format, "program",
                              import->program, "results", (json_int_t)count);
    if (!campaign.plan)
        return error_set(err, STATUS_NO_MEMORY, "%s: out of memory", store->path);
    status = store_add_campaign(store, &campaign, NULL, 0, NULL, 0, ret, NULL, err);
    json_decref((json_t *)(uintptr_t)campaign.plan);
    *ret_protocol = campaign.protocol;
    return status;
}

enum status store_add_import(struct store *store, const struct store_import *import,
                             const struct store_claim *claims, size_t count, int64_t *ret_campaign,
                             struct error *err)
{
    int64_t campaign = 0, cell = 0;
    struct digest protocol, workload;
    enum status status;

    if (count == 0)
        return error_set(err, STATUS_INVALID, "%s: holds no results", import->file);
    status = store_batch_begin(store, err);
    if (status != STATUS_OK)
        return status;
    status = add_campaign(store, import, count, &protocol, &campaign, err);
    if (status == STATUS_OK)
        status = insert_import(store, campaign, import, err);
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        status = put(store, "workload", claims[i].workload, json_incref(claims[i].declaration),
                     &workload, err);
        if (status == STATUS_OK)
            status = insert_cell(store, campaign, (int64_t)i + 1, &claims[i], &workload, &protocol,
                                 import->program, &cell, err);
        if (status == STATUS_OK)
            status = insert_claim(store, cell, &claims[i], err);
    }
    if (status == STATUS_OK)
        status = store_add_campaign_event(store, campaign, "imported", import->file, err);
    if (status == STATUS_OK)
        status = store_add_campaign_event(store, campaign, "finished", NULL, err);
    if (status == STATUS_OK)
        status = store_batch_end(store, true, err);
    else
        store_batch_end(store, false, NULL);
    if (status == STATUS_OK)
        *ret_campaign = campaign;
    return status;
}
