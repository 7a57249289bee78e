#include <stdio.h>

#include "harness/core/member.h"
#include "results/store/store_internal.h"

/* Runs a SELECT with one integer parameter into an array of row objects. */
static enum status rows_of(struct store *store, const char *sql, int64_t key, json_t **ret,
                           struct error *err)
{
    struct statement statement;

    TRY(statement_begin(store, sql, &statement, err));
    statement_i64(&statement, key);
    return statement_rows_json(&statement, ret, err);
}

/* As rows_of, the first row alone; null without one. */
static enum status row_of(struct store *store, const char *sql, int64_t key, json_t **ret,
                          struct error *err)
{
    json_auto_t *rows = NULL;

    TRY(rows_of(store, sql, key, &rows, err));
    *ret = json_array_size(rows) ? json_incref(json_array_get(rows, 0)) : json_null();
    return STATUS_OK;
}

static enum status set_new(json_t *object, const char *key, json_t *value, struct error *err)
{
    if (json_object_set_new(object, key, value) == 0)
        return STATUS_OK;
    return error_no_memory(err);
}

/* object[key] = rows or row of the SELECT. */
static enum status set_rows(struct store *store, json_t *object, const char *key, const char *sql,
                            int64_t id, struct error *err)
{
    json_t *rows = NULL;

    TRY(rows_of(store, sql, id, &rows, err));
    return set_new(object, key, rows, err);
}

static enum status set_row(struct store *store, json_t *object, const char *key, const char *sql,
                           int64_t id, struct error *err)
{
    json_t *row = NULL;

    TRY(row_of(store, sql, id, &row, err));
    return set_new(object, key, row, err);
}

static int64_t take_id(json_t *object, const char *key)
{
    int64_t id = member_integer(object, key);

    json_object_del(object, key);
    return id;
}

static enum status read_set(struct store *store, int64_t set, json_t **ret, struct error *err)
{
    json_auto_t *readings = json_object(), *rows = NULL;

    TRY(rows_of(store,
                "SELECT r.name, r.body AS 'body:json' FROM reading_member m"
                " JOIN reading r ON r.id = m.reading WHERE m.reading_set = ?1"
                " ORDER BY r.name",
                set, &rows, err));
    EACH(row, rows)
        TRY(set_new(readings, member_string(row, "name"), json_incref(json_object_get(row, "body")),
                    err));
    *ret = json_incref(readings);
    return STATUS_OK;
}

/* The readings of a set as {"name": {...}}; trials that share a set share the object. */
static enum status set_readings(struct store *store, json_t *object, const char *key, int64_t set,
                                struct error *err)
{
    char number[32];
    json_t *readings;

    snprintf(number, sizeof(number), "%lld", (long long)set);
    readings = json_incref(json_object_get(store->sets, number));
    if (!readings) {
        TRY(read_set(store, set, &readings, err));
        json_object_set(store->sets, number, readings);
    }
    return set_new(object, key, readings, err);
}

/* {"before": readings, "after": readings}; an `at` that is not there has no member. */
static enum status set_environment(struct store *store, json_t *object, int64_t trial,
                                   struct error *err)
{
    json_t *environment = json_object();
    json_auto_t *rows = NULL;

    TRY(set_new(object, "environment", environment, err));
    TRY(rows_of(store, "SELECT at, readings FROM environment WHERE trial = ?1 ORDER BY at DESC",
                trial, &rows, err));
    EACH(row, rows)
        TRY(set_readings(store, environment, member_string(row, "at"),
                         member_integer(row, "readings"), err));
    return STATUS_OK;
}

/* The same row with its column reading_set as the member "readings". */
static enum status set_row_of_readings(struct store *store, json_t *object, const char *key,
                                       const char *sql, int64_t id, struct error *err)
{
    json_t *row;

    TRY(set_row(store, object, key, sql, id, err));
    row = json_object_get(object, key);
    return json_is_null(row)
               ? STATUS_OK
               : set_readings(store, row, "readings", take_id(row, "reading_set"), err);
}

/* Readings of a row's column `from` as its member `key`; null where there are none. */
static enum status set_optional_readings(struct store *store, json_t *object, const char *key,
                                         const char *from, struct error *err)
{
    bool known = json_is_integer(json_object_get(object, from));
    int64_t set = take_id(object, from);

    return known ? set_readings(store, object, key, set, err)
                 : set_new(object, key, json_null(), err);
}

enum status store_telemetry_json(struct store *store, int64_t id, json_t **ret, struct error *err)
{
    json_auto_t *rows = NULL;

    TRY(rows_of(
        store,
        STORED_SELECT(STORED_TELEMETRY) ", t.readings_begin, t.readings_end FROM telemetry t JOIN "
                                        "content c ON c.digest = t.channels WHERE t.trial = ?1"
                                        " ORDER BY t.part",
        id, &rows, err));
    EACH(row, rows) {
        TRY(set_optional_readings(store, row, "begin", "readings_begin", err));
        TRY(set_optional_readings(store, row, "end", "readings_end", err));
    }
    *ret = json_incref(rows);
    return STATUS_OK;
}

static enum status set_telemetry(struct store *store, json_t *trial, int64_t id, struct error *err)
{
    json_t *rows = NULL;

    TRY(store_telemetry_json(store, id, &rows, err));
    return set_new(trial, "telemetry", rows, err);
}

static enum status fill_trial(struct store *store, json_t *trial, struct error *err)
{
    int64_t id = member_integer(trial, "id");

    TRY(set_row(store, trial, "device",
                STORED_SELECT(STORED_TRIAL_DEVICE) " FROM trial_device t JOIN device d"
                                                   " ON d.id = t.device WHERE t.trial = ?1",
                id, err));
    TRY(set_rows(store, trial, "phases",
                 STORED_SELECT(STORED_PHASE) " FROM phase WHERE trial = ?1 ORDER BY id", id, err));
    TRY(set_rows(
        store, trial, "series",
        STORED_SELECT(
            STORED_SERIES) " FROM series WHERE trial = ?1 GROUP BY name ORDER BY min(rowid)",
        id, err));
    TRY(set_rows(store, trial, "checks",
                 STORED_SELECT(STORED_CHECK) " FROM verification WHERE trial = ?1 ORDER BY id", id,
                 err));
    TRY(set_environment(store, trial, id, err));
    TRY(set_rows(
        store, trial, "components",
        "SELECT DISTINCT " STORED_COLUMNS(
            STORED_COMPONENT) ", s.at FROM trial_stack s JOIN stack_member m"
                              " ON m.stack = s.stack JOIN component c ON c.id = m.component"
                              " WHERE s.trial = ?1 ORDER BY s.at = 'window_end', s.at, c.path, "
                              "c.id",
        id, err));
    TRY(set_telemetry(store, trial, id, err));
    return set_rows(
        store, trial, "artifacts",
        STORED_SELECT(STORED_ARTIFACT) " FROM artifact a"
                                       " JOIN content c ON c.digest = a.content WHERE a.trial = ?1"
                                       " ORDER BY a.id",
        id, err);
}

static enum status set_trials(struct store *store, json_t *object, int64_t cell, struct error *err)
{
    TRY(set_rows(
        store, object, "trials",
        STORED_SELECT(
            STORED_TRIAL) " FROM trial t LEFT JOIN trial_end e ON e.trial = t.id WHERE t.cell = ?1"
                          " ORDER BY t.sequence, t.attempt",
        cell, err));
    EACH(trial, json_object_get(object, "trials"))
        TRY(fill_trial(store, trial, err));
    return STATUS_OK;
}

/* Moves a column of a row to `object`; null without a row. */
static enum status move(json_t *row, const char *column, json_t *object, const char *key,
                        struct error *err)
{
    json_t *value = json_is_null(row) ? json_null() : json_incref(json_object_get(row, column));

    json_object_del(row, column);
    return set_new(object, key, value, err);
}

/* The newest estimate's object, and what is known of its row. */
static enum status set_estimate(struct store *store, json_t *object, int64_t cell,
                                struct error *err)
{
    json_auto_t *row = NULL;

    TRY(row_of(store,
               STORED_SELECT(STORED_ESTIMATE) ", body AS 'body:json' FROM estimate WHERE cell = ?1 "
                                              "ORDER BY id DESC LIMIT 1",
               cell, &row, err));
    TRY(move(row, "body", object, "estimate", err));
    return set_new(object, "estimate_row", json_incref(row), err);
}

/* What was chosen for all of its trials; null where they chose themselves. */
static enum status set_choices(struct store *store, json_t *object, int64_t cell, struct error *err)
{
    json_auto_t *row = NULL;

    TRY(row_of(store,
               "SELECT b.body AS 'choices:json' FROM choice x"
               " JOIN content b ON b.digest = x.content WHERE x.cell = ?1",
               cell, &row, err));
    return move(row, "choices", object, "choices", err);
}

/* {"origin": the file, "readings": reported and missing, "claim": its content}; null: measured
 * here. */
static enum status set_imported(struct store *store, json_t *object, int64_t cell,
                                struct error *err)
{
    json_t *imported;

    TRY(set_row_of_readings(store, object, "imported",
                            "SELECT k.readings AS reading_set, k.body AS 'claim:json'"
                            " FROM claim k WHERE k.cell = ?1",
                            cell, err));
    imported = json_object_get(object, "imported");
    return json_is_null(imported)
               ? STATUS_OK
               : set_row(store, imported, "origin",
                         STORED_SELECT(STORED_ORIGIN) " FROM import i JOIN campaign g"
                                                      " ON g.id = i.campaign JOIN cell c ON "
                                                      "c.campaign = g.id WHERE c.id = ?1",
                         cell, err);
}

static enum status fill_cell(struct store *store, int64_t cell, json_t *object, struct error *err)
{
    TRY(set_row(
        store, object, "campaign",
        STORED_SELECT(
            STORED_CAMPAIGN) " FROM cell c JOIN campaign g ON g.id = c.campaign WHERE c.id = ?1",
        cell, err));
    TRY(set_row(store, object, "identity",
                STORED_SELECT(STORED_IDENTITY) " FROM cell WHERE id = ?1", cell, err));
    TRY(set_row(
        store, object, "cost",
        STORED_SELECT(
            STORED_COST) " FROM cell c JOIN campaign g ON g.id = c.campaign WHERE c.id = ?1",
        cell, err));
    TRY(set_row_of_readings(
        store, object, "device",
        STORED_SELECT(STORED_DEVICE) ", d.readings AS reading_set FROM trial t JOIN trial_device l"
                                     " ON l.trial = t.id JOIN device d ON d.id = l.device"
                                     " WHERE t.cell = ?1 ORDER BY t.id DESC LIMIT 1",
        cell, err));
    TRY(set_choices(store, object, cell, err));
    TRY(set_trials(store, object, cell, err));
    TRY(set_estimate(store, object, cell, err));
    TRY(set_rows(store, object, "amendments",
                 STORED_SELECT(STORED_AMENDMENT) " FROM amendment WHERE cell = ?1 ORDER BY id",
                 cell, err));
    return set_imported(store, object, cell, err);
}

static enum status fill_campaign(struct store *store, int64_t campaign, json_t *object,
                                 struct error *err)
{
    TRY(set_rows(store, object, "events",
                 "SELECT utc_ns, utc_ns AS 'at:iso', event, detail FROM campaign_event"
                 " WHERE campaign = ?1 ORDER BY id",
                 campaign, err));
    TRY(set_rows(store, object, "doctor",
                 "SELECT d.utc_ns, d.utc_ns AS 'at:iso', c.body AS 'report:json'"
                 " FROM doctor d JOIN content c ON c.digest = d.body"
                 " WHERE d.campaign = ?1 ORDER BY d.id",
                 campaign, err));
    TRY(set_rows(store, object, "dumps",
                 "SELECT d.utc_ns, d.utc_ns AS 'at:iso', d.tool, d.command, d.status,"
                 " d.message, d.exit_code, length(CAST(c.body AS BLOB)) AS bytes,"
                 " d.output AS sha256"
                 " FROM dump d LEFT JOIN content c ON c.digest = d.output"
                 " WHERE d.campaign = ?1 ORDER BY d.id",
                 campaign, err));
    TRY(set_rows(
        store, object, "cells",
        "SELECT " RESULT_ID " AS id, c.id AS cell, c.ordinal, c.workload_name AS workload,"
        " c.precision, c.batch, c.scenario, c.implementation, c.protocol_name AS protocol,"
        " c.device_spec, c.trials AS trials_planned,"
        " (SELECT count(DISTINCT t.sequence) FROM trial t JOIN trial_end e ON e.trial = t.id"
        " WHERE t.cell = c.id AND e.status = 'ok') AS trials_ok,"
        " (SELECT verdict FROM estimate s WHERE s.cell = c.id ORDER BY s.id DESC LIMIT 1)"
        " AS verdict"
        " FROM cell c JOIN campaign g ON g.id = c.campaign WHERE c.campaign = ?1"
        " ORDER BY c.ordinal",
        campaign, err));
    return set_rows(store, object, "order",
                    "SELECT p.sequence, c.ordinal FROM planned_trial p JOIN cell c"
                    " ON c.id = p.cell WHERE p.campaign = ?1 ORDER BY p.sequence",
                    campaign, err);
}

/* The row that `sql` finds, and what `fill` adds to it. */
static enum status read_whole(struct store *store, int64_t row, const char *kind, const char *sql,
                              enum status (*fill)(struct store *store, int64_t row, json_t *object,
                                                  struct error *err),
                              json_t **ret, struct error *err)
{
    json_auto_t *object = NULL;

    TRY(row_of(store, sql, row, &object, err));
    if (json_is_null(object))
        return error_set(err, STATUS_NOT_FOUND, "%s: there is no %s %lld", store->path, kind,
                         (long long)row);
    TRY(fill(store, row, object, err));
    *ret = json_incref(object);
    return STATUS_OK;
}

/* The same; all SELECTs see one state of the database. */
static enum status read_record(struct store *store, int64_t row, const char *kind, const char *sql,
                               enum status (*fill)(struct store *store, int64_t row, json_t *object,
                                                   struct error *err),
                               json_t **ret, struct error *err)
{
    const bool own = sqlite3_get_autocommit(store->db);
    enum status status;

    if (own)
        TRY(store_snapshot_begin(store, err));
    store->sets = json_object();
    status = read_whole(store, row, kind, sql, fill, ret, err);
    json_decref(store->sets);
    store->sets = NULL;
    if (own)
        store_snapshot_end(store);
    return status;
}

enum status store_cell_json(struct store *store, int64_t cell, json_t **ret, struct error *err)
{
    return read_record(
        store, cell, "cell",
        STORED_SELECT(STORED_CELL) " FROM cell c JOIN campaign g ON g.id = c.campaign"
                                   " JOIN content w ON w.digest = c.workload"
                                   " JOIN content p ON p.digest = c.protocol WHERE c.id = ?1",
        fill_cell, ret, err);
}

const json_t *store_cell_metrics(const json_t *record)
{
    const json_t *estimate = json_object_get(record, "estimate");
    const json_t *metrics = json_object_get(
        json_is_object(estimate) ? estimate : member_in(record, "imported", "claim"), "metrics");

    return json_is_object(metrics) ? metrics : NULL;
}

enum status store_campaign_json(struct store *store, int64_t campaign, json_t **ret,
                                struct error *err)
{
    return read_record(store, campaign, "campaign",
                       "SELECT g.id AS campaign, substr(g.uid, 1, 8) AS id, g.uid,"
                       " g.created_utc_ns, g.created_utc_ns AS 'created:iso', g.command,"
                       " g.tool_version, g.tool_digest, g.order_seed,"
                       " g.protocol AS protocol_digest, g.plan AS plan_digest,"
                       " p.body AS 'plan:json' FROM campaign g"
                       " JOIN content p ON p.digest = g.plan WHERE g.id = ?1",
                       fill_campaign, ret, err);
}
