/* Files that earlier versions of the schema made, and what becomes of them. */
#include "results/store_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "harness/core/embed.h"
#include "results/ledger.h"
#include "results/ledger_leaf.h"
#include "results/verify.h"
#include "tests/support/store_fixture.h"

#define SECOND INT64_C(1000000000)
#define LEDGER_VERSION 3

/* SHA-256 of the scripts that have written files: whoever edits one leaves those files behind. */
static const char *const written[] = {
    "425104fc940b4cc9e4dbf709c6021bbd36b1dd6def131742e8b3db29f333d63b",
    "b491afd60461e14a09773079244e9663d2d2abe58a46517732fdb155b84340b7",
    "fe0adede4491e849640a5090c1da5860337f95b34c13c9a2e08b3ee6eda2b630",
    "7d864315a31885aead2c9731c134a6162b7d995e476fb7c5f66b0572dbc33095",
    "e6b9f6bb0b4b39eda1fd1e90f86991c6a6a146cf009a77613a18a0586d312572",
    "c87658ffde15a039cdbef01d2ca529fb55da98923235878b33c1604c39820a9e",
    "3d7d64635e62d901d12d9e17a652ff7b91f46e59a4aa1a9c676cb26c3783df4c",
    "aeec0901cb90504d3811a4e341c9f25d6a853b8062417271089b46a312351fee",
};

static void test_written_scripts_stay(void **state)
{
    int count;
    const struct embed_file *scripts = store_migrations(&count);

    (void)state;
    assert_in_range(sizeof(written) / sizeof(written[0]), 1, count);
    for (size_t i = 0; i < sizeof(written) / sizeof(written[0]); i++) {
        struct digest digest = digest_bytes(scripts[i].text, strlen(scripts[i].text));
        char hex[DIGEST_HEX_SIZE];

        assert_string_equal(digest_hex(&digest, hex), written[i]);
    }
}

static void execute(sqlite3 *db, const char *sql)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
}

/*
 * Runs `sql` for each table of `schema` that a campaign fills, $T being its name and $C its
 * columns. A SELECT must give 0, other statements must change rows.
 */
static void each_table(sqlite3 *db, const char *schema, const char *sql)
{
    char *list = sqlite3_mprintf(
        "SELECT replace(replace(%Q, '$T', name), '$C',"
        " (SELECT group_concat(name, ', ') FROM pragma_table_info(m.name, %Q)))"
        " FROM %s.sqlite_schema m WHERE type = 'table' AND name NOT IN ('ledger', 'ledger_origin',"
        " 'checkpoint', 'signature', 'timestamp_token', 'bundle', 'withheld', 'import', 'claim', "
        "'leaf_form')"
        " ORDER BY rowid",
        sql, schema, schema);
    sqlite3_stmt *tables = NULL;
    int count = 0;

    assert_int_equal(sqlite3_prepare_v2(db, list, -1, &tables, NULL), SQLITE_OK);
    while (sqlite3_step(tables) == SQLITE_ROW) {
        const char *one = (const char *)sqlite3_column_text(tables, 0);
        sqlite3_stmt *act = NULL;

        if (sqlite3_prepare_v2(db, one, -1, &act, NULL) != SQLITE_OK)
            fail_msg("%s: %s", one, sqlite3_errmsg(db));
        if (sqlite3_step(act) == SQLITE_ROW ? sqlite3_column_int64(act, 0) != 0
                                            : sqlite3_changes(db) < 1)
            fail_msg("%s: %s", one, sqlite3_errmsg(db));
        assert_int_equal(sqlite3_finalize(act), SQLITE_OK);
        count++;
    }
    assert_true(count >= 20);
    sqlite3_finalize(tables);
    sqlite3_free(list);
}

static void attach(sqlite3 *db, const char *path, const char *name)
{
    char *sql = sqlite3_mprintf("ATTACH %Q AS %s", path, name);

    execute(db, sql);
    sqlite3_free(sql);
}

/* Something in every table that a campaign fills. */
static void fill(struct store *store)
{
    struct error err = ERROR_INIT;
    json_t *body = json_pack("{s:s}", "verdict", "steady");
    int64_t campaign, cells[FIXTURE_CELLS], trial;

    assert_ok(fixture_add_campaign(store, 1, &campaign, cells, &err), err);
    assert_ok(store_add_campaign_event(store, campaign, "started", "x", &err), err);
    for (int64_t i = 1; i <= FIXTURE_CELLS * FIXTURE_TRIALS; i++)
        assert_ok(fixture_run_trial(store, campaign, i, "ok", 10, &trial, &err), err);
    assert_ok(store_add_estimate(store, cells[0], 1, body, &err), err);
    assert_ok(store_add_comparison(store, "ab", cells[0], cells[1], 1, "equivalent", body, &err),
              err);
    assert_ok(ledger_add_amendment(store, cells[0], "somebody", "a reason", &err), err);
    json_decref(body);
}

/* A file of `version` at `path`, whose tables have the rows that they have in the file `whole`. */
static void make_old(const char *path, int version, const char *whole)
{
    struct error err = ERROR_INIT;
    int count;
    const struct embed_file *scripts = store_migrations(&count);
    sqlite3 *db = NULL;
    char settings[96];

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(ledger_leaf_register(db), SQLITE_OK);
    execute(db, "BEGIN");
    for (int i = 0; i < version; i++)
        execute(db, scripts[i].text);
    assert_ok(ledger_install(db, path, &err), err);
    execute(db, "COMMIT");
    attach(db, whole, "whole");
    execute(db, "BEGIN");
    each_table(db, "main", "INSERT INTO main.$T ($C) SELECT $C FROM whole.$T");
    snprintf(settings, sizeof(settings), "PRAGMA application_id=%d; PRAGMA user_version=%d",
             STORE_APPLICATION_ID, version);
    execute(db, settings);
    execute(db, "COMMIT");
    sqlite3_close(db);
}

/* Every row is there as it was, and the schema is that of a new file, word for word. */
static void check_taken(struct store *store, const char *before, const char *whole)
{
    static const char words[] = "SELECT type, name, tbl_name, sql FROM";
    sqlite3 *db = store_connection(store);
    char sql[256];

    attach(db, before, "before");
    attach(db, whole, "whole");
    each_table(db, "before",
               "SELECT count(*) FROM (SELECT $C FROM before.$T EXCEPT SELECT $C FROM main.$T)");
    each_table(db, "before",
               "SELECT (SELECT count(*) FROM before.$T) <> (SELECT count(*) FROM main.$T)");
    for (int i = 0; i < 2; i++) {
        snprintf(sql, sizeof(sql),
                 "SELECT count(*) FROM (%s %s.sqlite_schema EXCEPT %s %s.sqlite_schema)", words,
                 i ? "main" : "whole", words, i ? "whole" : "main");
        assert_int_equal(fixture_ask(store, sql), 0);
    }
    execute(db, "DETACH before; DETACH whole");
    assert_string_equal(fixture_soundness(store), "ok");
}

/* What is new works beside what is old. */
static void check_used(struct store *store)
{
    struct error err = ERROR_INIT;
    sqlite3 *db = store_connection(store);
    int64_t campaign, cells[FIXTURE_CELLS], leaves;

    assert_int_equal(sqlite3_exec(db, "UPDATE cell SET batch = 2", NULL, NULL, NULL),
                     SQLITE_CONSTRAINT_TRIGGER);
    assert_int_equal(sqlite3_exec(db, "DELETE FROM cell", NULL, NULL, NULL),
                     SQLITE_CONSTRAINT_TRIGGER);
    assert_int_equal(
        sqlite3_exec(db, "INSERT INTO amendment VALUES (99, 99, 1, 'a', 'b')", NULL, NULL, NULL),
        SQLITE_CONSTRAINT_FOREIGNKEY);
    leaves = fixture_ask(store, "SELECT count(*) FROM ledger WHERE table_name = 'cell'");
    assert_int_equal(leaves, FIXTURE_CELLS);
    assert_ok(fixture_add_campaign(store, 2, &campaign, cells, &err), err);
    assert_ok(fixture_add_import(store, 1, &campaign, &err), err);
    assert_int_equal(fixture_ask(store, "SELECT count(*) FROM ledger WHERE table_name = 'cell'"),
                     leaves + FIXTURE_CELLS + 1);
    assert_int_equal(fixture_ask(store, "SELECT count(*) FROM cell WHERE seed IS NULL AND"
                                        " device_index IS NULL AND device_memory_bytes IS NULL AND"
                                        " working_set_bytes IS NULL"),
                     1);
    assert_int_equal(fixture_ask(store, "SELECT count(*) FROM results WHERE imported IS NULL"),
                     2 * FIXTURE_CELLS);
    assert_int_equal(fixture_ask(store, "SELECT count(*) FROM results WHERE verdict = 'steady' AND"
                                        " trials_ok = 3 AND device IS NOT NULL"),
                     1);
    assert_int_equal(fixture_ask(store, "SELECT count(*) FROM results WHERE verdict = 'imported'"
                                        " AND imported = 'llama-bench' AND value = 118.5"
                                        " AND unit = 'tokens/s'"),
                     1);
    assert_int_equal(fixture_ask(store, "SELECT count(*) FROM imports"), 1);
    assert_true(fixture_ask(store, "SELECT count(*) FROM claims") > 0);
    assert_string_equal(fixture_soundness(store), "ok");
}

/* Rows of before the ledger are entered as they are found, and a checkpoint says so. */
static void check_entered(struct store *store)
{
    struct error err = ERROR_INIT;
    struct ledger_checkpoint checkpoint;
    struct digest root;
    int64_t leaves = fixture_ask(store, "SELECT count(*) FROM ledger");

    each_table(store_connection(store), "main",
               "SELECT (SELECT count(*) FROM $T) <> (SELECT count(*) FROM ledger WHERE table_name ="
               " '$T')");
    assert_ok(ledger_find_checkpoint(store, 0, &checkpoint, &err), err);
    assert_string_equal(checkpoint.kind, "migration");
    assert_int_equal(checkpoint.size, leaves - 1);
    assert_ok(ledger_root(store, checkpoint.size, NULL, &root, &err), err);
    assert_true(digest_equal(&root, &checkpoint.root));
    /* Owners first, so that a bundle can be taken in from its first line on. */
    assert_int_equal(fixture_ask(store, "SELECT (SELECT max(leaf) FROM ledger WHERE table_name ="
                                        " 'cell') < (SELECT min(leaf) FROM ledger WHERE table_name"
                                        " IN ('planned_trial', 'trial', 'estimate'))"),
                     1);
}

struct heard {
    bool older;
};

static void found(void *context, const struct verify_finding *finding)
{
    struct heard *heard = context;

    if (finding->level == VERIFY_WRONG)
        print_error("%s %s %s: %s\n", verify_check_name(finding->check),
                    finding->table ? finding->table : "", finding->key ? finding->key : "",
                    finding->message);
    heard->older |= strstr(finding->message, "older than the ledger") != NULL;
}

/* Read in today's form, and left as it was. */
static void check_read(const char *old, int version, int newest)
{
    struct digest digest, again;
    uint64_t size;
    struct error err = ERROR_INIT;
    struct store *store = NULL;
    sqlite3 *db = NULL;
    sqlite3_stmt *ask = NULL;

    assert_ok(digest_file(old, &digest, &size, &err), err);
    assert_ok(store_open(old, STORE_READ, SECOND, &store, &err), err);
    assert_int_equal(fixture_ask(store, "PRAGMA user_version"), newest);
    assert_true(fixture_ask(store, "SELECT count(*) FROM results") > 0);
    assert_int_not_equal(
        sqlite3_exec(store_connection(store), "DELETE FROM amendment", NULL, NULL, NULL),
        SQLITE_OK);
    store_close(store);
    assert_ok(digest_file(old, &again, &size, &err), err);
    assert_memory_equal(&digest, &again, sizeof(digest));
    assert_int_equal(sqlite3_open(old, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &ask, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(ask), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int(ask, 0), version);
    sqlite3_finalize(ask);
    sqlite3_close(db);
}

/* A file of every earlier version, full of rows, is taken forward when it is written to. */
static void test_takes_old_files(void **state)
{
    struct fixture *fixture = *state;
    struct error err = ERROR_INIT;
    char before[1024], old[1024];
    int newest;

    store_migrations(&newest);
    snprintf(before, sizeof(before), "%s", fixture_path(fixture, "before.db"));
    snprintf(old, sizeof(old), "%s", fixture_path(fixture, "old.db"));
    fill(fixture->store);
    for (int version = 1; version < newest; version++) {
        struct heard heard = {false};
        /* Their estimates are made up. */
        const struct verify_options options = {
            .context = &heard, .found = found, .skip_estimates = true};
        struct verify_summary summary;
        struct store *store = NULL;

        make_old(before, version, fixture->path);
        make_old(old, version, fixture->path);
        check_read(old, version, newest);
        assert_ok(store_open(old, STORE_WRITE, SECOND, &store, &err), err);
        assert_int_equal(fixture_ask(store, "PRAGMA user_version"), newest);
        check_taken(store, before, fixture->path);
        if (version < LEDGER_VERSION)
            check_entered(store);
        check_used(store);
        store_close(store);
        assert_ok(verify_file(old, &options, &summary, &err), err);
        assert_int_equal(summary.wrong, 0);
        assert_int_equal(summary.schema_version, newest);
        assert_int_equal(summary.rows, summary.leaves);
        assert_int_equal(heard.older, version < LEDGER_VERSION);
        assert_int_equal(remove(before), 0);
        assert_int_equal(remove(old), 0);
    }
}

/* A migration that fails half way leaves the file as it was, and the next one can take it. */
static void test_fails_without_a_trace(void **state)
{
    struct fixture *fixture = *state;
    struct error err = ERROR_INIT;
    const char *old = fixture_path(fixture, "old.db");
    struct store *store = NULL;
    sqlite3 *db = NULL;
    sqlite3_stmt *ask = NULL;

    fill(fixture->store);
    make_old(old, 1, fixture->path);
    assert_int_equal(sqlite3_open(old, &db), SQLITE_OK);
    execute(db, "CREATE TABLE claim (in_the_way ANY)");
    assert_int_not_equal(store_open(old, STORE_WRITE, SECOND, &store, &err), STATUS_OK);
    assert_null(store);
    assert_non_null(strstr(err.message, "claim"));
    assert_int_equal(
        sqlite3_prepare_v2(db,
                           "SELECT user_version = 1 AND instr((SELECT sql FROM sqlite_schema WHERE"
                           " name = 'cell'), 'seed                TEXT NOT NULL') > 0"
                           " AND NOT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = 'ledger')"
                           " FROM pragma_user_version",
                           -1, &ask, NULL),
        SQLITE_OK);
    assert_int_equal(sqlite3_step(ask), SQLITE_ROW);
    assert_int_equal(sqlite3_column_int(ask, 0), 1);
    sqlite3_finalize(ask);
    execute(db, "DROP TABLE claim");
    sqlite3_close(db);
    assert_ok(store_open(old, STORE_WRITE, SECOND, &store, &err), err);
    check_used(store);
    store_close(store);
}

/* Some files of before version 5 have its four indices. */
static void test_takes_early_indices(void **state)
{
    struct fixture *fixture = *state;
    struct error err = ERROR_INIT;
    const char *old = fixture_path(fixture, "old.db");
    struct store *store = NULL;
    sqlite3 *db = NULL;

    fill(fixture->store);
    make_old(old, 4, fixture->path);
    assert_int_equal(sqlite3_open(old, &db), SQLITE_OK);
    execute(db, "CREATE INDEX cell_by_precision ON cell (precision);"
                "CREATE INDEX cell_by_protocol ON cell (protocol_name);"
                "CREATE INDEX cell_by_device ON cell (device_spec);"
                "CREATE INDEX trial_by_device ON trial_device (device)");
    sqlite3_close(db);
    assert_ok(store_open(old, STORE_WRITE, SECOND, &store, &err), err);
    check_used(store);
    store_close(store);
}

/* What edits a table's text is allowed while scripts run, and never again. */
static void test_schema_stays_closed(void **state)
{
    struct fixture *fixture = *state;
    sqlite3 *db = store_connection(fixture->store);

    sqlite3_exec(db, "PRAGMA writable_schema=ON", NULL, NULL, NULL);
    assert_int_not_equal(sqlite3_exec(db, "UPDATE sqlite_schema SET sql = sql", NULL, NULL, NULL),
                         SQLITE_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_written_scripts_stay),
        cmocka_unit_test_setup_teardown(test_takes_old_files, fixture_open, fixture_remove),
        cmocka_unit_test_setup_teardown(test_fails_without_a_trace, fixture_open, fixture_remove),
        cmocka_unit_test_setup_teardown(test_takes_early_indices, fixture_open, fixture_remove),
        cmocka_unit_test_setup_teardown(test_schema_stays_closed, fixture_open, fixture_remove),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
