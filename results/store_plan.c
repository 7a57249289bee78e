#include "results/store_internal.h"

#include <stdlib.h>
#include <string.h>

#include "harness/core/clock.h"

static bool is_hex(const char *string, size_t length)
{
    return strlen(string) == length && strspn(string, "0123456789abcdef") == length;
}

static enum status insert_campaign(struct store *store, const struct store_campaign *campaign,
                                   int64_t *ret, struct error *err)
{
    struct statement statement;
    struct digest plan;
    enum status status = store_insert_json(store, "plan", campaign->plan, &plan, err);

    if (status == STATUS_OK)
        status = statement_begin(store,
                                 "INSERT INTO campaign (uid, created_utc_ns, plan, protocol,"
                                 " order_seed, command, tool_version, tool_digest)"
                                 " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
                                 &statement, err);
    if (status != STATUS_OK)
        return status;
    statement_text(&statement, campaign->uid);
    statement_i64(&statement, campaign->created_utc_ns);
    statement_digest(&statement, &plan);
    statement_digest(&statement, &campaign->protocol);
    statement_u64_text(&statement, campaign->order_seed);
    statement_text(&statement, campaign->command);
    statement_text(&statement, campaign->tool_version);
    statement_digest(&statement, &campaign->tool_digest);
    return statement_run(&statement, ret, err);
}

/* A count without its formula is "not counted". */
static void bind_counted(struct statement *statement, uint64_t count, const char *formula)
{
    if (formula)
        statement_u64(statement, count);
    else
        statement_null(statement);
    statement_text(statement, formula);
}

static enum status insert_cell(struct store *store, int64_t campaign, const struct store_cell *cell,
                               int64_t *ret, struct error *err)
{
    struct statement statement;
    enum status status = statement_begin(
        store,
        "INSERT INTO cell (campaign, ordinal, workload, protocol, workload_name, protocol_name,"
        " kind, precision, scenario, implementation, batch, seed, backend, device_index, "
        "device_spec, flops,"
        " flops_formula, bytes, bytes_formula, items, item_name, device_memory_bytes,"
        " working_set_bytes, headline, trials) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10,"
        " ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25)",
        &statement, err);

    if (status != STATUS_OK)
        return status;
    statement_i64(&statement, campaign);
    statement_i64(&statement, cell->ordinal);
    statement_digest(&statement, &cell->workload);
    statement_digest(&statement, &cell->protocol);
    statement_text(&statement, cell->workload_name);
    statement_text(&statement, cell->protocol_name);
    statement_text(&statement, cell->kind);
    statement_text(&statement, cell->precision);
    statement_text(&statement, cell->scenario);
    statement_text(&statement, cell->implementation);
    statement_i64(&statement, cell->batch);
    statement_u64_text(&statement, cell->seed);
    statement_text(&statement, cell->backend);
    statement_i64(&statement, cell->device_index);
    statement_text(&statement, cell->device_spec);
    bind_counted(&statement, cell->flops, cell->flops_formula);
    bind_counted(&statement, cell->bytes, cell->bytes_formula);
    bind_counted(&statement, cell->items, cell->item_name);
    statement_u64(&statement, cell->device_memory_bytes);
    statement_u64(&statement, cell->working_set_bytes);
    statement_text(&statement, cell->headline);
    statement_i64(&statement, cell->trials);
    return statement_run(&statement, ret, err);
}

static enum status insert_order(struct store *store, int64_t campaign, const int64_t *cells,
                                size_t cell_count, const uint32_t *order, size_t order_count,
                                struct error *err)
{
    enum status status = STATUS_OK;

    for (size_t i = 0; i < order_count && status == STATUS_OK; i++) {
        struct statement statement;

        if (order[i] >= cell_count)
            return error_set(err, STATUS_INVALID, "the plan's trial %zu names cell %u of %zu",
                             i + 1, order[i], cell_count);
        status = statement_begin(
            store, "INSERT INTO planned_trial (campaign, sequence, cell) VALUES (?1, ?2, ?3)",
            &statement, err);
        if (status != STATUS_OK)
            return status;
        statement_i64(&statement, campaign);
        statement_i64(&statement, (int64_t)i + 1);
        statement_i64(&statement, cells[order[i]]);
        status = statement_run(&statement, NULL, err);
    }
    return status;
}

enum status store_add_campaign(struct store *store, const struct store_campaign *campaign,
                               const struct store_cell *cells, size_t cell_count,
                               const uint32_t *order, size_t order_count, int64_t *ret_campaign,
                               int64_t *ret_cells, struct error *err)
{
    int64_t id = 0;
    int64_t *ids;
    enum status status;

    if (!is_hex(campaign->uid, STORE_UID_SIZE - 1))
        return error_set(err, STATUS_INVALID, "a campaign's uid is 64 lower-case hex digits");
    ids = calloc(cell_count ? cell_count : 1, sizeof(*ids));
    if (!ids)
        return error_set(err, STATUS_NO_MEMORY, "%s: out of memory", store->path);
    status = store_change_begin(store, err);
    if (status != STATUS_OK) {
        free(ids);
        return status;
    }
    status = insert_campaign(store, campaign, &id, err);
    for (size_t i = 0; i < cell_count && status == STATUS_OK; i++)
        status = insert_cell(store, id, &cells[i], &ids[i], err);
    if (status == STATUS_OK)
        status = insert_order(store, id, ids, cell_count, order, order_count, err);
    status = store_change_end(store, status, err);
    if (status == STATUS_OK) {
        *ret_campaign = id;
        if (cell_count > 0)
            memcpy(ret_cells, ids, cell_count * sizeof(*ids));
    }
    free(ids);
    return status;
}

enum status store_add_campaign_event(struct store *store, int64_t campaign, const char *event,
                                     const char *detail, struct error *err)
{
    struct statement statement;
    enum status status = store_change_begin(store, err);

    if (status != STATUS_OK)
        return status;
    status = statement_begin(store,
                             "INSERT INTO campaign_event (campaign, utc_ns, event, detail)"
                             " VALUES (?1, ?2, ?3, ?4)",
                             &statement, err);
    if (status == STATUS_OK) {
        statement_i64(&statement, campaign);
        statement_i64(&statement, clock_utc_ns());
        statement_text(&statement, event);
        statement_text(&statement, detail);
        status = statement_run(&statement, NULL, err);
    }
    return store_change_end(store, status, err);
}

enum status store_count_archived(struct store *store, int64_t *ret, struct error *err)
{
    struct statement statement;
    enum status status =
        statement_begin(store,
                        "SELECT count(DISTINCT e.campaign) FROM campaign_event e"
                        " WHERE e.event = 'archived' AND " CAMPAIGN_ARCHIVED("e.campaign"),
                        &statement, err);

    return status == STATUS_OK ? statement_single(&statement, ret, err) : status;
}

enum status store_archive_campaign(struct store *store, int64_t campaign, bool archive,
                                   const char *reason, struct error *err)
{
    struct statement statement;
    int64_t archived = 0;
    enum status status = statement_begin(store, "SELECT " CAMPAIGN_ARCHIVED("?1"), &statement, err);

    if (status != STATUS_OK)
        return status;
    statement_i64(&statement, campaign);
    status = statement_single(&statement, &archived, err);
    if (status == STATUS_OK && archived == archive)
        return error_set(err, STATUS_INVALID, "the campaign is %s archived",
                         archive ? "already" : "not");
    return status == STATUS_OK
               ? store_add_campaign_event(store, campaign, archive ? "archived" : "restored",
                                          reason, err)
               : status;
}

enum status store_add_doctor(struct store *store, int64_t campaign, const json_t *report,
                             struct error *err)
{
    const char *worst = json_string_value(json_object_get(report, "worst"));
    struct statement statement;
    struct digest digest;
    enum status status = store_change_begin(store, err);

    if (status != STATUS_OK)
        return status;
    status = store_insert_json(store, "doctor", report, &digest, err);
    if (status == STATUS_OK)
        status = statement_begin(
            store, "INSERT INTO doctor (campaign, utc_ns, worst, body) VALUES (?1, ?2, ?3, ?4)",
            &statement, err);
    if (status == STATUS_OK) {
        statement_i64(&statement, campaign);
        statement_i64(&statement, clock_utc_ns());
        statement_text(&statement, worst ? worst : "none");
        statement_digest(&statement, &digest);
        status = statement_run(&statement, NULL, err);
    }
    return store_change_end(store, status, err);
}
