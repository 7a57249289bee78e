#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "harness/core/text.h"
#include "results/ledger.h"
#include "results/timestamp.h"
#include "tests/support/store_fixture.h"
#include "tests/support/timestamp_fixture.h"

static void fill(struct fixture *fixture, int64_t *ret_campaign, int64_t cells[FIXTURE_CELLS])
{
    struct error err = ERROR_INIT;

    assert_ok(fixture_add_campaign(fixture->store, 1, ret_campaign, cells, &err), err);
    assert_ok(fixture_run_trial(fixture->store, *ret_campaign, 1, "ok", 1500, NULL, &err), err);
}

/* A row of any table is a leaf: no table can be forgotten. */
static void test_every_table_is_in_the_log(void **state)
{
    struct fixture *fixture = *state;
    sqlite3 *db = store_connection(fixture->store);
    int64_t campaign, cells[FIXTURE_CELLS];
    sqlite3_stmt *tables = NULL;
    int checked = 0;

    fill(fixture, &campaign, cells);
    assert_int_equal(sqlite3_prepare_v2(db,
                                        "SELECT name FROM sqlite_schema WHERE type = 'table'"
                                        " AND name NOT LIKE 'sqlite_%' AND name <> 'ledger'",
                                        -1, &tables, NULL),
                     SQLITE_OK);
    while (sqlite3_step(tables) == SQLITE_ROW) {
        const char *table = (const char *)sqlite3_column_text(tables, 0);
        sqlite3_stmt *columns = NULL;
        char sql[256], *trigger = NULL;

        snprintf(sql, sizeof(sql),
                 "SELECT (SELECT count(*) FROM %s) - count(*) FROM ledger"
                 " WHERE table_name = '%s'",
                 table, table);
        assert_int_equal(fixture_ask(fixture->store, sql), 0);
        snprintf(sql, sizeof(sql), "SELECT sql FROM sqlite_schema WHERE name = '%s_ledger'", table);
        assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &columns, NULL), SQLITE_OK);
        if (sqlite3_step(columns) != SQLITE_ROW)
            fail_msg("%s has no trigger", table);
        trigger = text_format("%s", sqlite3_column_text(columns, 0));
        sqlite3_finalize(columns);
        snprintf(sql, sizeof(sql), "SELECT name FROM pragma_table_info('%s')", table);
        assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &columns, NULL), SQLITE_OK);
        while (sqlite3_step(columns) == SQLITE_ROW) {
            snprintf(sql, sizeof(sql), ", '%s', NEW.%s", sqlite3_column_text(columns, 0),
                     sqlite3_column_text(columns, 0));
            if (!strstr(trigger, sql))
                fail_msg("%s.%s is not in its leaf", table, sqlite3_column_text(columns, 0));
        }
        sqlite3_finalize(columns);
        free(trigger);
        checked++;
    }
    sqlite3_finalize(tables);
    assert_true(checked >= 25);
    assert_int_equal(fixture_ask(fixture->store, "SELECT max(leaf) + 1 - count(*) FROM ledger"), 0);
}

static void test_roots(void **state)
{
    struct fixture *fixture = *state;
    struct error err = ERROR_INIT;
    int64_t campaign, cells[FIXTURE_CELLS];
    int64_t leaves = 0;
    struct digest root;

    fill(fixture, &campaign, cells);
    assert_ok(ledger_root(fixture->store, -1, &leaves, &root, &err), err);
    assert_ok(ledger_root(fixture->store, 0, NULL, &root, &err), err);
    assert_true(leaves > 40);
    assert_status(ledger_root(fixture->store, leaves + 1, NULL, &root, &err), STATUS_NOT_FOUND,
                  err);
}

/* Numbers of every length, as SQLite writes them. */
static void test_leaf_numbers(void **state)
{
    struct fixture *fixture = *state;
    sqlite3 *db = store_connection(fixture->store);
    sqlite3_stmt *data = NULL;
    int checked = 0;

    assert_int_equal(
        sqlite3_prepare_v2(db,
                           "WITH RECURSIVE power (p) AS (SELECT 1 UNION ALL SELECT p * 10 FROM"
                           " power WHERE p < 1000000000000000000), number (n) AS (SELECT p * f + d"
                           " FROM power, (SELECT 1 AS f UNION SELECT -1 UNION SELECT 7), (SELECT 0"
                           " AS d UNION SELECT -1 UNION SELECT 1) UNION SELECT 0 UNION SELECT"
                           " 9223372036854775807 UNION SELECT -9223372036854775807 - 1)"
                           " SELECT assay_leaf_data(0, 't', 'n', n), '{\"row\":{\"n\":' || n ||"
                           " '},\"table\":\"t\"}' FROM number",
                           -1, &data, NULL),
        SQLITE_OK);
    for (; sqlite3_step(data) == SQLITE_ROW; checked++)
        assert_string_equal((const char *)sqlite3_column_text(data, 0),
                            (const char *)sqlite3_column_text(data, 1));
    assert_true(checked > 150);
    sqlite3_finalize(data);
}

static void test_checkpoints(void **state)
{
    struct fixture *fixture = *state;
    struct error err = ERROR_INIT;
    struct ledger_checkpoint first, second, found;
    int64_t campaign, cells[FIXTURE_CELLS];
    struct key key, witness;
    struct digest root;
    char *note;

    fill(fixture, &campaign, cells);
    assert_status(ledger_find_checkpoint(fixture->store, 0, &found, &err), STATUS_NOT_FOUND, err);
    assert_ok(key_generate("lab", &key, &err), err);
    assert_ok(key_generate("witness", &witness, &err), err);
    assert_ok(ledger_add_checkpoint(fixture->store, "plan", campaign, &key, &first, &err), err);
    assert_ok(ledger_root(fixture->store, first.size, NULL, &root, &err), err);
    assert_true(digest_equal(&root, &first.root));
    assert_ok(fixture_run_trial(fixture->store, campaign, 2, "ok", 10, NULL, &err), err);
    /* The second starts from what the first kept, and gives the same root. */
    assert_ok(ledger_add_checkpoint(fixture->store, "end", campaign, NULL, &second, &err), err);
    assert_ok(ledger_root(fixture->store, second.size, NULL, &root, &err), err);
    assert_true(digest_equal(&root, &second.root));
    assert_true(second.size > first.size + 2);
    assert_ok(ledger_find_checkpoint(fixture->store, 0, &found, &err), err);
    assert_int_equal(found.id, second.id);
    assert_ok(ledger_find_checkpoint(fixture->store, first.id, &found, &err), err);
    assert_string_equal(found.kind, "plan");
    assert_int_equal(strlen(found.uid), 64);

    assert_ok(ledger_add_signature(fixture->store, second.id, "witness", &witness, &err), err);
    assert_status(ledger_add_signature(fixture->store, second.id, "witness", &witness, &err),
                  STATUS_INVALID, err);
    assert_ok(ledger_note(fixture->store, &second, &note, &err), err);
    assert_memory_equal(note, "assay-log/", 10);
    assert_non_null(strstr(note, "\n\n\xe2\x80\x94 witness "));
    free(note);
    /* A checkpoint with a wrong root cannot be signed. */
    store_close(fixture->store);
    fixture->store = NULL;
    fixture_tamper(fixture->path, "UPDATE ledger SET digest = zeroblob(32) WHERE leaf = 3");
    assert_ok(store_open(fixture->path, STORE_WRITE, 1000000000, &fixture->store, &err), err);
    assert_status(ledger_add_signature(fixture->store, first.id, "witness", &witness, &err),
                  STATUS_CORRUPT, err);
}

static void test_time_stamps(void **state)
{
    struct fixture *fixture = *state;
    struct error err = ERROR_INIT;
    struct ledger_checkpoint checkpoint;
    struct timestamp timestamp;
    uint8_t token[256];
    size_t length;

    assert_ok(ledger_add_checkpoint(fixture->store, "request", 0, NULL, &checkpoint, &err), err);
    length = timestamp_fixture(&checkpoint.root, token);
    assert_ok(timestamp_read(token, length, &timestamp, &err), err);
    assert_string_equal(timestamp.time, "20261120190000Z");
    assert_ok(ledger_add_timestamp(fixture->store, checkpoint.id, token, length, &err), err);
    for (size_t cut = 0; cut < length; cut++)
        assert_status(timestamp_read(token, cut, &timestamp, &err), STATUS_INVALID, err);
    checkpoint.root.bytes[0] ^= 1;
    length = timestamp_fixture(&checkpoint.root, token);
    assert_status(ledger_add_timestamp(fixture->store, checkpoint.id, token, length, &err),
                  STATUS_INVALID, err);
    assert_non_null(strstr(err.message, "the checkpoint's root is"));
}

/* A foreign program cannot add a row by mistake: it lacks the function that makes the leaf. */
static void test_foreign_insert(void **state)
{
    struct fixture *fixture = *state;
    int64_t campaign, cells[FIXTURE_CELLS];
    sqlite3 *db = NULL;

    fill(fixture, &campaign, cells);
    assert_int_equal(sqlite3_open(fixture->path, &db), SQLITE_OK);
    assert_int_not_equal(sqlite3_exec(db,
                                      "INSERT INTO phase (trial, name, begin_ns, end_ns)"
                                      " VALUES (1, 'x', 0, 1)",
                                      NULL, NULL, NULL),
                         SQLITE_OK);
    assert_non_null(strstr(sqlite3_errmsg(db), "assay_leaf"));
    sqlite3_close(db);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_every_table_is_in_the_log, fixture_open,
                                        fixture_remove),
        cmocka_unit_test_setup_teardown(test_roots, fixture_open, fixture_remove),
        cmocka_unit_test_setup_teardown(test_leaf_numbers, fixture_open, fixture_remove),
        cmocka_unit_test_setup_teardown(test_checkpoints, fixture_open, fixture_remove),
        cmocka_unit_test_setup_teardown(test_time_stamps, fixture_open, fixture_remove),
        cmocka_unit_test_setup_teardown(test_foreign_insert, fixture_open, fixture_remove),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
