#include "results/store/store_internal.h"

#include <stdlib.h>
#include <string.h>

#include "harness/core/clock.h"

static bool is_hex(const char *string, size_t length)
{
    return strlen(string) == length && strspn(string, "0123456789abcdef") == length;
}

enum status store_put_declaration(struct store *store, const struct store_declaration *declaration,
                                  struct digest *ret, struct error *err)
{
    struct record_body body;
    struct digest digest;
    enum status status = store_change_begin(store, err);

    if (status != STATUS_OK)
        return status;
    status = store_insert_json(store, declaration->json, &digest, err);
    body_init(&body, "declaration");
    body_text(&body, "kind", declaration->kind);
    body_text(&body, "name", declaration->name);
    body_i64(&body, "version", declaration->version);
    body_blob(&body, "json", &digest);
    body_text(&body, "origin", declaration->origin);
    status = store_add(store, &body, status, NULL, err);
    status = store_change_end(store, status, err);
    if (status == STATUS_OK)
        *ret = digest;
    return status;
}

/* A count without its formula is "not counted". */
static void put_counted(struct record_body *body, const char *name, uint64_t count,
                        const char *formula_name, const char *formula)
{
    if (formula)
        body_u64(body, name, count);
    body_text(body, formula_name, formula);
}

/* Its ordinal is its place in the array. */
static json_t *cell_body(const struct store_cell *cell, bool *too_large)
{
    struct record_body body = {.json = json_object()};

    body_blob(&body, "workload", &cell->workload);
    body_blob(&body, "protocol", &cell->protocol);
    body_text(&body, "workload_name", cell->workload_name);
    body_text(&body, "protocol_name", cell->protocol_name);
    body_text(&body, "kind", cell->kind);
    body_text(&body, "precision", cell->precision);
    body_text(&body, "scenario", cell->scenario);
    body_text(&body, "implementation", cell->implementation);
    body_known(&body, "batch", cell->batch);
    if (!cell->is_imported)
        body_u64_text(&body, "seed", cell->seed);
    body_text(&body, "backend", cell->backend);
    if (!cell->is_imported)
        body_i64(&body, "device_index", cell->device_index);
    body_text(&body, "device_spec", cell->device_spec);
    put_counted(&body, "flops", cell->flops, "flops_formula", cell->flops_formula);
    put_counted(&body, "bytes", cell->bytes, "bytes_formula", cell->bytes_formula);
    if (cell->is_imported && cell->items == 0)
        body_text(&body, "item_name", cell->item_name);
    else
        put_counted(&body, "items", cell->items, "item_name", cell->item_name);
    if (!cell->is_imported) {
        body_u64(&body, "device_memory_bytes", cell->device_memory_bytes);
        body_u64(&body, "working_set_bytes", cell->working_set_bytes);
    }
    body_text(&body, "headline", cell->headline);
    body_i64(&body, "trials", cell->trials);
    *too_large |= body.too_large;
    return body_take(&body);
}

/* Adds the newest declaration with this content, unless it is in the array. */
static enum status add_declaration(struct store *store, json_t *array, const struct digest *content,
                                   struct error *err)
{
    struct statement statement;
    struct digest digest;
    json_t *reference = NULL, *known;
    bool row = false;
    size_t i;
    enum status status = statement_begin(store,
                                         "SELECT r.digest FROM declaration d JOIN record r ON"
                                         " r.id = d.record WHERE d.digest = ?1 AND r.log = 1"
                                         " ORDER BY d.id DESC LIMIT 1",
                                         &statement, err);

    if (status != STATUS_OK)
        return status;
    statement_digest(&statement, content);
    status = statement_step(&statement, &row, err);
    if (status == STATUS_OK && row) {
        memcpy(digest.bytes, sqlite3_column_blob(statement.handle, 0), DIGEST_SIZE);
        reference = record_reference(&digest);
    }
    statement_end(&statement);
    if (status != STATUS_OK || !row)
        return status;
    json_array_foreach(array, i, known)
    {
        if (json_equal(known, reference)) {
            json_decref(reference);
            return STATUS_OK;
        }
    }
    return json_array_append_new(array, reference) == 0 ? STATUS_OK : error_no_memory(err);
}

static enum status put_declarations(struct store *store, struct record_body *body,
                                    const struct store_campaign *campaign,
                                    const struct store_cell *cells, size_t count, struct error *err)
{
    json_t *array = json_array();
    enum status status = add_declaration(store, array, &campaign->protocol, err);

    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        status = add_declaration(store, array, &cells[i].workload, err);
        if (status == STATUS_OK && cells[i].has_trace)
            status = add_declaration(store, array, &cells[i].trace, err);
        if (status == STATUS_OK)
            status = add_declaration(store, array, &cells[i].protocol, err);
    }
    body_json(body, "declarations", array);
    return status;
}

static enum status put_cells(struct record_body *body, const struct store_cell *cells,
                             size_t cell_count, const uint32_t *order, size_t order_count,
                             struct error *err)
{
    json_t *list = json_array(), *sequence = json_array();
    enum status status = STATUS_OK;

    for (size_t i = 0; i < cell_count && status == STATUS_OK; i++) {
        if (cells[i].ordinal != (int64_t)i + 1)
            status = error_set(err, STATUS_INVALID, "cell %zu of the plan has the ordinal %lld",
                               i + 1, (long long)cells[i].ordinal);
        else if (json_array_append_new(list, cell_body(&cells[i], &body->too_large)) != 0)
            body->failed = true;
    }
    for (size_t i = 0; i < order_count && status == STATUS_OK; i++) {
        if (order[i] >= cell_count)
            status = error_set(err, STATUS_INVALID, "the plan's trial %zu names cell %u of %zu",
                               i + 1, order[i], cell_count);
        else if (json_array_append_new(sequence, json_integer((json_int_t)order[i] + 1)) != 0)
            body->failed = true;
    }
    body_json(body, "cells", list);
    body_json(body, "order", sequence);
    return status;
}

/* Rows of the campaign that was just recorded, and of its cells in their order. */
static enum status find_rows(struct store *store, int64_t record, int64_t *ret_campaign,
                             int64_t *ret_cells, struct error *err)
{
    struct statement statement;
    bool row = false;
    enum status status =
        statement_begin(store,
                        "SELECT g.id, c.id, c.ordinal FROM campaign g LEFT JOIN cell c"
                        " ON c.campaign = g.id WHERE g.record = ?1",
                        &statement, err);

    if (status != STATUS_OK)
        return status;
    statement_i64(&statement, record);
    while ((status = statement_step(&statement, &row, err)) == STATUS_OK && row) {
        *ret_campaign = sqlite3_column_int64(statement.handle, 0);
        if (sqlite3_column_type(statement.handle, 1) == SQLITE_INTEGER)
            ret_cells[sqlite3_column_int64(statement.handle, 2) - 1] =
                sqlite3_column_int64(statement.handle, 1);
    }
    statement_end(&statement);
    return status;
}

enum status store_add_campaign(struct store *store, const struct store_campaign *campaign,
                               const struct store_cell *cells, size_t cell_count,
                               const uint32_t *order, size_t order_count, int64_t *ret_campaign,
                               int64_t *ret_cells, struct error *err)
{
    struct store_record record;
    struct record_body body;
    struct digest plan;
    enum status status;

    if (!is_hex(campaign->uid, STORE_UID_SIZE - 1))
        return error_set(err, STATUS_INVALID, "a campaign's uid is 64 lower-case hex digits");
    status = store_change_begin(store, err);
    if (status != STATUS_OK)
        return status;
    status = store_insert_json(store, campaign->plan, &plan, err);
    body_init(&body, "campaign");
    body_text(&body, "uid", campaign->uid);
    body_i64(&body, "created_utc_ns", campaign->created_utc_ns);
    body_blob(&body, "plan", &plan);
    body_blob(&body, "protocol", &campaign->protocol);
    body_u64_text(&body, "order_seed", campaign->order_seed);
    body_text(&body, "command", campaign->command);
    body_text(&body, "tool_version", campaign->tool_version);
    body_digest(&body, "tool_digest", &campaign->tool_digest);
    if (status == STATUS_OK)
        status = put_declarations(store, &body, campaign, cells, cell_count, err);
    if (status == STATUS_OK)
        status = put_cells(&body, cells, cell_count, order, order_count, err);
    status = store_add(store, &body, status, &record, err);
    if (status == STATUS_OK)
        status = find_rows(store, record.id, ret_campaign, ret_cells, err);
    return store_change_end(store, status, err);
}

enum status store_add_campaign_event(struct store *store, int64_t campaign, const char *event,
                                     const char *detail, struct error *err)
{
    struct record_body body;
    enum status status = store_change_begin(store, err);

    if (status != STATUS_OK)
        return status;
    body_init(&body, "event");
    status = body_campaign(store, &body, campaign, err);
    body_i64(&body, "utc_ns", clock_utc_ns());
    body_text(&body, "event", event);
    body_text(&body, "detail", detail);
    status = store_add(store, &body, status, NULL, err);
    return store_change_end(store, status, err);
}

enum status store_count_archived(struct store *store, int64_t *ret, struct error *err)
{
    struct statement statement;

    TRY(statement_begin(store,
                        "SELECT count(DISTINCT e.campaign) FROM campaign_event e"
                        " WHERE e.event = 'archived' AND " CAMPAIGN_ARCHIVED("e.campaign"),
                        &statement, err));
    return statement_single(&statement, ret, err);
}

enum status store_archive_campaign(struct store *store, int64_t campaign, bool archive,
                                   const char *reason, struct error *err)
{
    struct statement statement;
    int64_t archived = 0;

    TRY(statement_begin(store, "SELECT " CAMPAIGN_ARCHIVED("?1"), &statement, err));
    statement_i64(&statement, campaign);
    TRY(statement_single(&statement, &archived, err));
    if (archived == archive)
        return error_set(err, STATUS_INVALID, "the campaign is %s archived",
                         archive ? "already" : "not");
    return store_add_campaign_event(store, campaign, archive ? "archived" : "restored", reason,
                                    err);
}

enum status store_add_doctor(struct store *store, int64_t campaign, const json_t *report,
                             struct error *err)
{
    const char *worst = json_string_value(json_object_get(report, "worst"));
    struct record_body body;
    struct digest digest;
    enum status status = store_change_begin(store, err);

    if (status != STATUS_OK)
        return status;
    status = store_insert_json(store, report, &digest, err);
    body_init(&body, "doctor");
    if (status == STATUS_OK)
        status = body_campaign(store, &body, campaign, err);
    body_i64(&body, "utc_ns", clock_utc_ns());
    body_text(&body, "worst", worst ? worst : "none");
    body_blob(&body, "report", &digest);
    status = store_add(store, &body, status, NULL, err);
    return store_change_end(store, status, err);
}

enum status store_add_choice(struct store *store, int64_t cell, const json_t *choice,
                             struct error *err)
{
    struct record_body body;
    struct digest digest;
    enum status status = store_change_begin(store, err);

    if (status != STATUS_OK)
        return status;
    status = store_insert_json(store, choice, &digest, err);
    body_init(&body, "choice");
    if (status == STATUS_OK)
        status = body_cell(store, &body, cell, err);
    body_i64(&body, "created_utc_ns", clock_utc_ns());
    body_blob(&body, "choice", &digest);
    status = store_add(store, &body, status, NULL, err);
    return store_change_end(store, status, err);
}

enum status store_add_dump(struct store *store, int64_t campaign, const struct store_dump *dump,
                           struct error *err)
{
    struct record_body body;
    struct digest output;
    enum status status = store_change_begin(store, err);

    if (status != STATUS_OK)
        return status;
    if (dump->output)
        status = store_insert_content(store, dump->output, strlen(dump->output), &output, err);
    body_init(&body, "dump");
    if (status == STATUS_OK)
        status = body_campaign(store, &body, campaign, err);
    body_i64(&body, "utc_ns", dump->utc_ns);
    body_text(&body, "tool", dump->tool);
    body_text(&body, "command", dump->command);
    body_text(&body, "status", dump->status);
    body_text(&body, "message", dump->message);
    body_known(&body, "exit_code", dump->exit_code);
    if (dump->output)
        body_blob(&body, "output", &output);
    status = store_add(store, &body, status, NULL, err);
    return store_change_end(store, status, err);
}

static enum status append_pending(struct statement *statement, struct store_pending **list,
                                  size_t *count, size_t *capacity)
{
    struct store_pending *grown;

    if (*count == *capacity) {
        *capacity = *capacity ? *capacity * 2 : 64;
        grown = realloc(*list, *capacity * sizeof(**list));
        if (!grown)
            return STATUS_NO_MEMORY;
        *list = grown;
    }
    (*list)[(*count)++] = (struct store_pending){
        .sequence = sqlite3_column_int64(statement->handle, 0),
        .cell = sqlite3_column_int64(statement->handle, 1),
        .cell_ordinal = sqlite3_column_int64(statement->handle, 2),
    };
    return STATUS_OK;
}

enum status store_pending_trials(struct store *store, int64_t campaign, struct store_pending **ret,
                                 size_t *ret_count, struct error *err)
{
    struct statement statement;
    struct store_pending *list = NULL;
    size_t count = 0, capacity = 0;
    enum status status = statement_begin(
        store,
        "SELECT p.sequence, p.cell, c.ordinal FROM planned_trial p JOIN cell c ON c.id = p.cell"
        " LEFT JOIN trial t ON t.campaign = p.campaign AND t.sequence = p.sequence"
        " AND t.attempt = (SELECT max(l.attempt) FROM trial l"
        " WHERE l.campaign = p.campaign AND l.sequence = p.sequence)"
        " LEFT JOIN trial_end e ON e.trial = t.id"
        " WHERE p.campaign = ?1"
        " AND (e.trial IS NULL OR e.orphan = 1 OR e.status = 'interrupted')"
        " ORDER BY p.sequence",
        &statement, err);

    if (status != STATUS_OK)
        return status;
    statement_i64(&statement, campaign);
    for (;;) {
        bool row = false;

        status = statement_step(&statement, &row, err);
        if (status != STATUS_OK || !row)
            break;
        status = append_pending(&statement, &list, &count, &capacity);
        if (status != STATUS_OK) {
            error_set(err, status, "%s: out of memory", store->path);
            break;
        }
    }
    statement_end(&statement);
    if (status == STATUS_OK) {
        *ret = list;
        *ret_count = count;
    } else {
        free(list);
    }
    return status;
}
