#include "results/store/store_internal.h"

#include <stdlib.h>
#include <string.h>

#include "harness/core/array.h"
#include "harness/core/cleanup.h"
#include "harness/core/clock.h"
#include "harness/core/member.h"

static bool is_hex(const char *string, size_t length)
{
    return strlen(string) == length && strspn(string, "0123456789abcdef") == length;
}

enum status store_put_declaration(struct store *store, const struct store_declaration *declaration,
                                  struct digest *ret, struct error *err)
{
    struct record_body body = body_begin(store, "declaration", err);
    struct digest digest;

    body_content(&body, "json", declaration->json, &digest);
    body_text(&body, "kind", declaration->kind);
    body_text(&body, "name", declaration->name);
    body_i64(&body, "version", declaration->version);
    body_text(&body, "origin", declaration->origin);
    TRY(body_end(&body));
    *ret = digest;
    return STATUS_OK;
}

#define STORED_STRUCT struct store_case
static const struct member case_members[] = {STORED_WRITE(STORED_CASE)};
#undef STORED_STRUCT
const struct type store_case_type = TYPE(struct store_case, "a case of a workload", case_members);

/* Its ordinal is its place in the array. */
static void put_cell(struct record_body *plan, const struct store_cell *cell)
{
    struct record_body body = body_part_of(plan);

    body_blob(&body, "workload", &cell->workload);
    body_blob(&body, "protocol", &cell->protocol);
    body_text(&body, "workload_name", cell->workload_name);
    body_text(&body, "protocol_name", cell->protocol_name);
    body_text(&body, "kind", cell->kind);
    body_struct(&body, &store_case_type, &cell->work);
    if (!cell->is_imported)
        body_u64_text(&body, "seed", cell->seed);
    body_text(&body, "backend", cell->backend);
    if (!cell->is_imported)
        body_i64(&body, "device_index", cell->device_index);
    body_text(&body, "device_spec", cell->device_spec);
    body_struct(&body, &workload_cost_type, &cell->cost);
    body_i64(&body, "trials", cell->trials);
    body_append(plan, "cells", &body);
}

/* Adds the newest declaration with this content, unless it is in the array. */
static enum status add_declaration(struct store *store, json_t *array, const struct digest *content,
                                   struct error *err)
{
    CLEANUP(statement_end) struct statement statement = {0};
    json_auto_t *reference = NULL;
    struct digest digest;
    bool row = false;

    TRY(statement_begin(store,
                        "SELECT r.digest FROM declaration d JOIN record r ON"
                        " r.id = d.record WHERE d.digest = ?1 AND r.log = 1"
                        " ORDER BY d.id DESC LIMIT 1",
                        &statement, err));
    statement_digest(&statement, content);
    TRY(statement_step(&statement, &row, err));
    if (!row)
        return STATUS_OK;
    TRY(statement_read_digest(&statement, 0, &digest, err));
    reference = record_reference(&digest);
    EACH(known, array)
        if (json_equal(known, reference))
            return STATUS_OK;
    return json_array_append(array, reference) == 0 ? STATUS_OK : error_no_memory(err);
}

static void put_declarations(struct record_body *body, const struct store_campaign *campaign,
                             const struct store_cell *cells, size_t count)
{
    json_t *array = json_array();

    BODY_TRY(body, add_declaration(body->store, array, &campaign->protocol, body->err));
    for (const struct store_cell *cell = cells; cell < cells + count; cell++) {
        BODY_TRY(body, add_declaration(body->store, array, &cell->workload, body->err));
        if (cell->has_trace)
            BODY_TRY(body, add_declaration(body->store, array, &cell->trace, body->err));
        BODY_TRY(body, add_declaration(body->store, array, &cell->protocol, body->err));
    }
    body_json(body, "declarations", array);
}

static void put_cells(struct record_body *body, const struct store_cell *cells, size_t cell_count,
                      const uint32_t *order, size_t order_count)
{
    json_t *sequence = json_array();

    body_json(body, "cells", json_array());
    for (size_t i = 0; i < cell_count; i++) {
        if (cells[i].ordinal != (int64_t)i + 1)
            BODY_TRY(body, error_set(body->err, STATUS_INVALID,
                                     "cell %zu of the plan has the ordinal %lld", i + 1,
                                     (long long)cells[i].ordinal));
        put_cell(body, &cells[i]);
    }
    for (size_t i = 0; i < order_count; i++) {
        if (order[i] >= cell_count)
            BODY_TRY(body, error_set(body->err, STATUS_INVALID,
                                     "the plan's trial %zu names cell %u of %zu", i + 1, order[i],
                                     cell_count));
        if (json_array_append_new(sequence, json_integer((json_int_t)order[i] + 1)) != 0)
            BODY_TRY(body, error_no_memory(body->err));
    }
    body_json(body, "order", sequence);
}

/* Rows of the campaign that was just recorded, and of its cells in their order. */
static enum status find_rows(struct store *store, int64_t record, int64_t *ret_campaign,
                             int64_t *ret_cells, struct error *err)
{
    CLEANUP(statement_end) struct statement statement = {0};
    enum status status;

    TRY(statement_begin(store,
                        "SELECT g.id, c.id, c.ordinal FROM campaign g LEFT JOIN cell c"
                        " ON c.campaign = g.id WHERE g.record = ?1",
                        &statement, err));
    statement_i64(&statement, record);
    while (statement_next(&statement, &status, err)) {
        *ret_campaign = sqlite3_column_int64(statement.handle, 0);
        if (sqlite3_column_type(statement.handle, 1) == SQLITE_INTEGER)
            ret_cells[sqlite3_column_int64(statement.handle, 2) - 1] =
                sqlite3_column_int64(statement.handle, 1);
    }
    return status;
}

enum status store_add_campaign(struct store *store, const struct store_campaign *campaign,
                               const struct store_cell *cells, size_t cell_count,
                               const uint32_t *order, size_t order_count, int64_t *ret_campaign,
                               int64_t *ret_cells, struct error *err)
{
    struct store_record record = {0};
    struct record_body body;

    if (!is_hex(campaign->uid, STORE_UID_SIZE - 1))
        return error_set(err, STATUS_INVALID, "a campaign's uid is 64 lower-case hex digits");
    body = body_begin(store, "campaign", err);
    body_content(&body, "plan", campaign->plan, NULL);
    body_text(&body, "uid", campaign->uid);
    body_i64(&body, "created_utc_ns", campaign->created_utc_ns);
    body_blob(&body, "protocol", &campaign->protocol);
    body_u64_text(&body, "order_seed", campaign->order_seed);
    body_text(&body, "command", campaign->command);
    body_text(&body, "tool_version", campaign->tool_version);
    body_digest(&body, "tool_digest", &campaign->tool_digest);
    put_declarations(&body, campaign, cells, cell_count);
    put_cells(&body, cells, cell_count, order, order_count);
    body_enter(&body, &record);
    BODY_TRY(&body, find_rows(store, record.id, ret_campaign, ret_cells, err));
    return body_close(&body);
}

enum status store_add_campaign_event(struct store *store, int64_t campaign, const char *event,
                                     const char *detail, struct error *err)
{
    struct record_body body = body_begin(store, "event", err);

    body_campaign(&body, campaign);
    body_i64(&body, "utc_ns", clock_utc_ns());
    body_text(&body, "event", event);
    body_text(&body, "detail", detail);
    return body_end(&body);
}

enum status store_count_archived(struct store *store, int64_t *ret, struct error *err)
{
    return store_ask(store,
                     "SELECT count(DISTINCT e.campaign) FROM campaign_event e"
                     " WHERE e.event = 'archived' AND " CAMPAIGN_ARCHIVED("e.campaign"),
                     0, ret, err);
}

enum status store_archive_campaign(struct store *store, int64_t campaign, bool archive,
                                   const char *reason, struct error *err)
{
    int64_t archived = 0;

    TRY(store_ask(store, "SELECT " CAMPAIGN_ARCHIVED("?1"), campaign, &archived, err));
    if (archived == archive)
        return error_set(err, STATUS_INVALID, "the campaign is %s archived",
                         archive ? "already" : "not");
    return store_add_campaign_event(store, campaign, archive ? "archived" : "restored", reason,
                                    err);
}

enum status store_add_doctor(struct store *store, int64_t campaign, const json_t *report,
                             struct error *err)
{
    const char *worst = member_string(report, "worst");
    struct record_body body = body_begin(store, "doctor", err);

    body_content(&body, "report", report, NULL);
    body_campaign(&body, campaign);
    body_i64(&body, "utc_ns", clock_utc_ns());
    body_text(&body, "worst", worst ? worst : "none");
    return body_end(&body);
}

enum status store_add_choice(struct store *store, int64_t cell, const json_t *choice,
                             struct error *err)
{
    struct record_body body = body_begin(store, "choice", err);

    body_content(&body, "choice", choice, NULL);
    body_cell(&body, cell);
    body_i64(&body, "created_utc_ns", clock_utc_ns());
    return body_end(&body);
}

enum status store_add_dump(struct store *store, int64_t campaign, const struct store_dump *dump,
                           struct error *err)
{
    struct record_body body = body_begin(store, "dump", err);
    struct digest output = {{0}};

    if (dump->output) {
        BODY_TRY(&body,
                 store_insert_content(store, dump->output, strlen(dump->output), &output, err));
        body_blob(&body, "output", &output);
    }
    body_campaign(&body, campaign);
    body_i64(&body, "utc_ns", dump->utc_ns);
    body_text(&body, "tool", dump->tool);
    body_text(&body, "command", dump->command);
    body_text(&body, "status", dump->status);
    body_text(&body, "message", dump->message);
    body_known(&body, "exit_code", dump->exit_code);
    return body_end(&body);
}

static enum status append_pending(struct statement *statement, struct store_pending **list,
                                  size_t *count, struct error *err)
{
    TRY(ARRAY_GROW(*list, *count, 1, err));
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
    CLEANUP(statement_end) struct statement statement = {0};
    AUTO_FREE struct store_pending *list = NULL;
    size_t count = 0;
    enum status status;

    TRY(statement_begin(
        store,
        "SELECT p.sequence, p.cell, c.ordinal FROM planned_trial p JOIN cell c ON c.id = p.cell"
        " LEFT JOIN trial t ON t.campaign = p.campaign AND t.sequence = p.sequence"
        " AND t.attempt = (SELECT max(l.attempt) FROM trial l"
        " WHERE l.campaign = p.campaign AND l.sequence = p.sequence)"
        " LEFT JOIN trial_end e ON e.trial = t.id"
        " WHERE p.campaign = ?1"
        " AND (e.trial IS NULL OR e.orphan = 1 OR e.status = 'interrupted')"
        " ORDER BY p.sequence",
        &statement, err));
    statement_i64(&statement, campaign);
    while (statement_next(&statement, &status, err))
        TRY(append_pending(&statement, &list, &count, err));
    TRY(status);
    *ret = list;
    *ret_count = count;
    list = NULL;
    return STATUS_OK;
}
