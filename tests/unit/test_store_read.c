#include "results/store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "harness/core/file.h"
#include "results/formats/csv_export.h"
#include "results/evidence/ledger.h"
#include "tests/support/store_fixture.h"
#include "tests/support/unit.h"

static json_t *estimate(const char *verdict, double rate)
{
    return json_pack("{s:s, s:s, s:{s:{s:s, s:f, s:f, s:n, s:s}, s:{s:s, s:f, s:n, s:n, s:s}}, "
                     "s:[{s:s, s:{s:f}}]}",
                     "verdict", verdict, "headline", "byte_rate", "metrics", "iteration_time",
                     "unit", "ns", "value", 1e6, "lo", 0.9e6, "hi", "grade", "D", "byte_rate",
                     "unit", "B/s", "value", rate, "lo", "hi", "grade", "D", "findings", "code",
                     "one_trial", "numbers", "needed", 5.0);
}

static void add_estimate(struct fixture *fixture, int64_t cell, const char *verdict, double rate)
{
    struct error err = ERROR_INIT;
    json_t *json = estimate(verdict, rate);

    assert_ok(store_add_estimate(fixture->store, cell, 1, json, &err), err);
    json_decref(json);
}

/* Two campaigns; the first has run trials of all sorts, and two estimates of its first cell. */
static void fill(struct fixture *fixture, int64_t campaigns[2], int64_t cells[2][FIXTURE_CELLS])
{
    struct error err = ERROR_INIT;
    int64_t trial;

    for (unsigned i = 0; i < 2; i++)
        assert_ok(fixture_add_campaign(fixture->store, i, &campaigns[i], cells[i], &err), err);
    assert_ok(store_add_campaign_event(fixture->store, campaigns[0], "started", "now", &err), err);
    assert_ok(fixture_run_trial(fixture->store, campaigns[0], 1, "ok", 50, &trial, &err), err);
    assert_ok(fixture_run_trial(fixture->store, campaigns[0], 3, "interrupted", 20, &trial, &err),
              err);
    assert_ok(fixture_run_trial(fixture->store, campaigns[0], 3, "ok", 50, &trial, &err), err);
    assert_ok(fixture_run_trial(fixture->store, campaigns[0], 5, "timeout", 0, &trial, &err), err);
    assert_ok(store_begin_trial(fixture->store, campaigns[0], 2, 0, &trial, &err), err);
    add_estimate(fixture, cells[0][0], "drift", 1e9);
    add_estimate(fixture, cells[0][0], "steady", 3e9);
}

static const json_t *at(const json_t *json, const char *path)
{
    char key[32];

    while (json && *path) {
        size_t length = strcspn(path, ".");

        snprintf(key, sizeof(key), "%.*s", (int)length, path);
        json = json_is_array(json) ? json_array_get(json, (size_t)atoi(key))
                                   : json_object_get(json, key);
        path += length + (path[length] == '.');
    }
    if (!json)
        fail_msg("no %s in the record", path);
    return json;
}

static const char *text_at(const json_t *json, const char *path)
{
    const char *text = json_string_value(at(json, path));

    return text ? text : "(no text)";
}

TEST_WITH(cell_as_json, fixture_open, fixture_remove)
{
    struct fixture *fixture = *state;
    struct error err = ERROR_INIT;
    int64_t campaigns[2], cells[2][FIXTURE_CELLS];
    json_t *cell = NULL;
    char id[16], uid[STORE_UID_SIZE];

    fill(fixture, campaigns, cells);
    assert_ok(store_cell_json(fixture->store, cells[0][0], &cell, &err), err);
    fixture_uid(0, uid);
    snprintf(id, sizeof(id), "%.8s/1", uid);
    assert_string_equal(text_at(cell, "id"), id);
    assert_string_equal(text_at(cell, "campaign.uid"), uid);
    assert_string_equal(text_at(cell, "identity.workload"), "triad");
    assert_string_equal(text_at(cell, "identity.seed"), "18446744073709551615");
    assert_string_equal(text_at(cell, "workload.name"), "triad");
    assert_string_equal(text_at(cell, "protocol.name"), "quick");
    assert_true(json_is_null(at(cell, "cost.flops")));
    assert_int_equal(json_integer_value(at(cell, "cost.bytes")), 3145728);
    assert_string_equal(text_at(cell, "device.name"), "Null \\xFF device");
    assert_true(json_is_true(at(cell, "device.simulated")));
    assert_string_equal(text_at(cell, "device.readings"), "(no text)");
    assert_int_equal(json_object_size(at(cell, "device.readings")), 2);
    assert_int_equal(json_array_size(at(cell, "trials")), 4);
    assert_string_equal(text_at(cell, "trials.0.status"), "ok");
    assert_int_equal(json_array_size(at(cell, "trials.0.components")), 3);
    assert_string_equal(text_at(cell, "trials.0.components.0.at"), "window_start");
    assert_string_equal(text_at(cell, "trials.0.components.2.at"), "window_end");
    assert_string_equal(text_at(cell, "trials.0.artifacts.0.artifact.file"), "triad.c");
    assert_int_equal(json_object_size(at(cell, "trials.0.environment.before")), 2);
    assert_true(json_is_true(at(cell, "trials.0.checks.0.passed")));
    assert_string_equal(text_at(cell, "trials.0.series.0.name"), "wall_ns");
    assert_int_equal(json_integer_value(at(cell, "trials.0.series.0.samples")), 50);
    assert_string_equal(text_at(cell, "trials.1.status"), "interrupted");
    assert_int_equal(json_integer_value(at(cell, "trials.2.attempt")), 2);
    assert_string_equal(text_at(cell, "trials.3.message"), "it did not go well");
    assert_string_equal(text_at(cell, "estimate.verdict"), "steady");
    assert_int_equal(json_integer_value(at(cell, "estimate_row.version")), 1);
    json_decref(cell);
    /* A cell that never ran. */
    assert_ok(store_cell_json(fixture->store, cells[1][1], &cell, &err), err);
    assert_true(json_is_null(at(cell, "device")));
    assert_true(json_is_null(at(cell, "estimate")));
    assert_int_equal(json_array_size(at(cell, "trials")), 0);
    json_decref(cell);
    assert_ok(store_cell_json(fixture->store, cells[0][1], &cell, &err), err);
    assert_string_equal(text_at(cell, "trials.0.status"), "no_end");
    json_decref(cell);
    assert_status(store_cell_json(fixture->store, 99, &cell, &err), STATUS_NOT_FOUND, err);
}

TEST_WITH(campaign_as_json, fixture_open, fixture_remove)
{
    struct fixture *fixture = *state;
    struct error err = ERROR_INIT;
    int64_t campaigns[2], cells[2][FIXTURE_CELLS];
    json_t *campaign = NULL;

    fill(fixture, campaigns, cells);
    assert_ok(store_campaign_json(fixture->store, campaigns[0], &campaign, &err), err);
    assert_string_equal(text_at(campaign, "command"), "assay run first-look");
    assert_string_equal(text_at(campaign, "order_seed"), "18364758544493064720");
    assert_string_equal(text_at(campaign, "created"), "2025-11-20T16:00:00.000Z");
    assert_string_equal(text_at(campaign, "events.0.event"), "started");
    assert_string_equal(text_at(campaign, "plan.cells.1"), "softmax");
    assert_int_equal(json_array_size(at(campaign, "cells")), 2);
    assert_int_equal(json_integer_value(at(campaign, "cells.0.trials_ok")), 2);
    assert_string_equal(text_at(campaign, "cells.0.verdict"), "steady");
    assert_true(json_is_null(at(campaign, "cells.1.verdict")));
    assert_int_equal(json_array_size(at(campaign, "order")), 6);
    assert_int_equal(json_integer_value(at(campaign, "order.1.ordinal")), 2);
    json_decref(campaign);
    assert_status(store_campaign_json(fixture->store, 99, &campaign, &err), STATUS_NOT_FOUND, err);
}

static size_t list(struct fixture *fixture, const struct store_filter *filter, json_t **ret)
{
    struct error err = ERROR_INIT;
    json_t *rows = NULL;
    size_t count;

    assert_ok(store_list_results(fixture->store, filter, &rows, &err), err);
    count = json_array_size(rows);
    if (ret)
        *ret = rows;
    else
        json_decref(rows);
    return count;
}

TEST_WITH(results_are_listed, fixture_open, fixture_remove)
{
    struct fixture *fixture = *state;
    int64_t campaigns[2], cells[2][FIXTURE_CELLS];
    json_t *rows = NULL;

    fill(fixture, campaigns, cells);
    assert_int_equal(list(fixture, &(struct store_filter){0}, &rows), 4);
    /* Newest campaign first, cells in their order. */
    assert_int_equal(json_integer_value(at(rows, "0.cell")), cells[1][0]);
    assert_int_equal(json_integer_value(at(rows, "1.cell")), cells[1][1]);
    assert_int_equal(json_integer_value(at(rows, "2.cell")), cells[0][0]);
    assert_string_equal(text_at(rows, "2.verdict"), "steady");
    assert_string_equal(text_at(rows, "2.device"), "Null \\xFF device");
    assert_int_equal(json_number_value(at(rows, "2.value")), 3000000000);
    assert_string_equal(text_at(rows, "2.metric"), "byte_rate");
    assert_string_equal(text_at(rows, "2.grade"), "D");
    assert_string_equal(text_at(rows, "2.unit"), "B/s");
    assert_int_equal(json_number_value(at(rows, "2.metrics.iteration_time.lo")), 900000);
    assert_true(json_is_null(at(rows, "2.metrics.iteration_time.hi")));
    assert_int_equal(json_integer_value(at(rows, "2.trials_ok")), 2);
    assert_int_equal(json_integer_value(at(rows, "2.trials_ended")), 3);
    assert_int_equal(json_integer_value(at(rows, "2.trials_planned")), 3);
    assert_true(json_is_null(at(rows, "0.device")));
    json_decref(rows);
    assert_int_equal(list(fixture, &(struct store_filter){.workload = "triad"}, NULL), 2);
    assert_int_equal(list(fixture, &(struct store_filter){.workload = "tri"}, NULL), 0);
    assert_int_equal(list(fixture, &(struct store_filter){.campaign = campaigns[1]}, NULL), 2);
    assert_int_equal(list(fixture, &(struct store_filter){.precision = "fp16"}, NULL), 0);
    assert_int_equal(list(fixture, &(struct store_filter){.protocol = "quick"}, NULL), 4);
    assert_int_equal(list(fixture, &(struct store_filter){.verdict = "steady"}, NULL), 1);
    assert_int_equal(list(fixture, &(struct store_filter){.verdict = "drift"}, NULL), 0);
    assert_int_equal(list(fixture, &(struct store_filter){.device = "null:0"}, NULL), 4);
    assert_int_equal(list(fixture, &(struct store_filter){.device = "NULL"}, NULL), 1);
    assert_int_equal(list(fixture, &(struct store_filter){.limit = 3}, NULL), 3);
    assert_int_equal(list(fixture, &(struct store_filter){.limit = 3, .offset = 2}, &rows), 2);
    assert_int_equal(json_integer_value(at(rows, "0.cell")), cells[0][0]);
    json_decref(rows);
}

/* Every view can be read, in a plain connection as in the shell. */
TEST_WITH(views_answer, fixture_open, fixture_remove)
{
    struct fixture *fixture = *state;
    int64_t imported, campaigns[2], cells[2][FIXTURE_CELLS];
    struct error err = ERROR_INIT;
    sqlite3 *db = NULL;
    sqlite3_stmt *views = NULL;
    int checked = 0;

    fill(fixture, campaigns, cells);
    assert_ok(fixture_add_import(fixture->store, 1, &imported, &err), err);
    assert_ok(ledger_add_amendment(fixture->store, cells[0][0], "me", "a reason", &err), err);
    assert_ok(fixture_mark_bundled(fixture->store, campaigns[0], &err), err);
    assert_ok(ledger_add_checkpoint(fixture->store, "request", 0, NULL, NULL, &err), err);
    assert_int_equal(sqlite3_open(fixture->path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "SELECT name FROM sqlite_schema WHERE type = 'view'",
                                        -1, &views, NULL),
                     SQLITE_OK);
    while (sqlite3_step(views) == SQLITE_ROW) {
        sqlite3_stmt *rows = NULL;
        char sql[128];

        snprintf(sql, sizeof(sql), "SELECT * FROM %s", sqlite3_column_text(views, 0));
        assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &rows, NULL), SQLITE_OK);
        if (sqlite3_step(rows) != SQLITE_ROW)
            fail_msg("%s: %s", sql, sqlite3_errmsg(db));
        sqlite3_finalize(rows);
        checked++;
    }
    sqlite3_finalize(views);
    sqlite3_close(db);
    assert_true(checked >= 15);
    assert_int_equal(fixture_ask(fixture->store, "SELECT count(*) FROM results"), 5);
    assert_int_equal(fixture_ask(fixture->store,
                                 "SELECT count(*) FROM results WHERE verdict = 'imported'"
                                 " AND device = 'Example GPU' AND value = 118.5"
                                 " AND imported = 'llama-bench'"),
                     1);
    assert_int_equal(
        fixture_ask(fixture->store, "SELECT value FROM results WHERE verdict = 'steady'"),
        3000000000);
    assert_int_equal(fixture_ask(fixture->store, "SELECT created FROM results LIMIT 1"),
                     1763654400);
    assert_int_equal(
        fixture_ask(fixture->store, "SELECT count(*) FROM planned WHERE state = 'timeout'"), 1);
    assert_int_equal(
        fixture_ask(fixture->store, "SELECT count(*) FROM trials WHERE status = 'no end'"), 1);
    assert_int_equal(fixture_ask(fixture->store,
                                 "SELECT count(*) FROM conditions WHERE name = 'host.governor' AND"
                                 " status = 'unavailable' AND value IS NULL"),
                     4);
}

static char *export(struct fixture *fixture, int64_t cell, const json_t *rows, int form)
{
    struct error err = ERROR_INIT;
    char *bytes = NULL;
    size_t length;
    FILE *file = open_memstream(&bytes, &length);

    assert_non_null(file);
    if (form == 0)
        assert_ok(csv_export_samples(fixture->store, cell, file, &err), err);
    else if (form == 1) {
        csv_export_series_header(file);
        assert_ok(csv_export_series_rows(fixture->store, cell, file, &err), err);
    } else
        assert_ok(csv_export_results(rows, file, &err), err);
    fclose(file);
    return bytes;
}

static size_t lines(const char *text)
{
    size_t count = 0;

    for (; *text; text++)
        count += *text == '\n';
    return count;
}

static const char *text_of(const json_t *row, const char *key)
{
    return json_string_value(json_object_get(row, key));
}

TEST_WITH(csv, fixture_open, fixture_remove)
{
    struct fixture *fixture = *state;
    struct error err = ERROR_INIT;
    int64_t campaigns[2], cells[2][FIXTURE_CELLS], *values;
    size_t count;
    json_t *rows, *row;
    char expected[400], uid[STORE_UID_SIZE];
    char *csv;
    FILE *full;

    fill(fixture, campaigns, cells);
    fixture_uid(0, uid);
    assert_ok(store_load_samples(fixture->store, 1, "wall_ns", &values, &count, &err), err);
    csv = export(fixture, cells[0][0], NULL, 0);
    snprintf(expected, sizeof(expected), "series,trial,sample_ns\n\"%.8s/1\",1,%lld\n", uid,
             (long long)values[0]);
    assert_memory_equal(csv, expected, strlen(expected));
    assert_int_equal(lines(csv), 1 + 100); /* the interrupted attempt does not count */
    free(csv);
    csv = export(fixture, cells[0][0], NULL, 1);
    assert_int_equal(lines(csv), 1 + 120 + 4 * 10); /* and four trials' telemetry */
    list(fixture, &(struct store_filter){.cell = cells[0][0]}, &rows);
    row = json_array_get(rows, 0);
    assert_string_equal(text_of(row, "tool_version"), "0.1.0");
    assert_int_equal(strlen(text_of(row, "workload_digest")), 64);
    assert_int_equal(strlen(text_of(row, "protocol_digest")), 64);
    assert_true(json_is_null(json_object_get(row, "driver_version")));
    assert_true(json_is_null(json_object_get(row, "host")));
    snprintf(expected, sizeof(expected),
             "\n\"%.8s/1\",\"triad\",\"fp32\",1,\"single_stream\",\"portable\",\"quick\","
             "\"null:0\",\"Null \\xFF device\",1,,,,\"%s\",\"%s\",\"0.1.0\",%lld,3,1,"
             "\"interrupted\",2,0,\"wall_ns\",0,",
             uid, text_of(row, "workload_digest"), text_of(row, "protocol_digest"),
             (long long)json_integer_value(json_object_get(row, "created_utc_ns")));
    assert_non_null(strstr(csv, expected));
    json_decref(rows);
    free(csv);
    free(values);
    list(fixture, &(struct store_filter){0}, &rows);
    json_object_set_new(json_array_get(rows, 0), "device", json_string("A \"quoted\", name"));
    csv = export(fixture, 0, rows, 2);
    assert_int_equal(lines(csv), 5);
    assert_non_null(strstr(csv, ",\"A \"\"quoted\"\", name\","));
    assert_non_null(strstr(csv, ",\"steady\",\"D\",\"byte_rate\",3000000000,,,\"B/s\",,"));
    /* Value and interval of each metric follow, in the order of the table. */
    assert_non_null(strstr(csv, ",iteration_time,iteration_time_lo,iteration_time_hi,byte_rate,"));
    assert_non_null(strstr(csv, ",1000000,900000,,3000000000,,,"));
    free(csv);
    full = fopen("/dev/full", "w");
    if (full) {
        assert_status(csv_export_samples(fixture->store, cells[0][0], full, &err), STATUS_NO_SPACE,
                      err);
        fclose(full);
    }
    json_decref(rows);
}
