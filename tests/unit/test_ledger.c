#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "harness/core/text.h"
#include "results/evidence/ledger.h"
#include "results/record/record.h"
#include "results/evidence/timestamp.h"
#include "tests/support/store_fixture.h"
#include "tests/support/timestamp_fixture.h"
#include "tests/support/unit.h"

static void fill(struct fixture *fixture, int64_t *ret_campaign, int64_t cells[FIXTURE_CELLS])
{
    struct error err = ERROR_INIT;

    assert_ok(fixture_add_campaign(fixture->store, 1, ret_campaign, cells, &err), err);
    assert_ok(fixture_run_trial(fixture->store, *ret_campaign, 1, "ok", 1500, NULL, &err), err);
}

static bool is_filled(const char *table)
{
    const char *sql;
    char insert[80];

    snprintf(insert, sizeof(insert), "INSERT INTO %s (", table);
    for (size_t i = 0; record_type_at(i); i++)
        for (size_t k = 0; (sql = record_projection(record_type_at(i), k)); k++)
            if (strstr(sql, insert))
                return true;
    return false;
}

/* A table follows from records, or is kept beside them: none can be forgotten. */
TEST_WITH(every_table_follows_from_records, fixture_open, fixture_remove)
{
    static const char *const evidence[] = {"log", "record", "about", "content", "series"};
    struct fixture *fixture = *state;
    sqlite3 *db = store_connection(fixture->store);
    int64_t campaign, cells[FIXTURE_CELLS];
    sqlite3_stmt *tables = NULL;
    int checked = 0;

    fill(fixture, &campaign, cells);
    assert_int_equal(sqlite3_prepare_v2(db,
                                        "SELECT name FROM sqlite_schema WHERE type = 'table'"
                                        " AND name NOT LIKE 'sqlite_%'",
                                        -1, &tables, NULL),
                     SQLITE_OK);
    while (sqlite3_step(tables) == SQLITE_ROW) {
        const char *table = (const char *)sqlite3_column_text(tables, 0);
        bool is_evidence = false;

        for (size_t i = 0; i < sizeof(evidence) / sizeof(evidence[0]); i++)
            is_evidence |= !strcmp(evidence[i], table);
        if (is_evidence == is_filled(table))
            fail_msg("%s: follows from no record, or is evidence and does", table);
        checked++;
    }
    sqlite3_finalize(tables);
    assert_true(checked >= 25);
    assert_int_equal(
        fixture_ask(fixture->store, "SELECT max(leaf) + 1 - count(*) FROM record WHERE log = 1"),
        0);
    assert_int_equal(fixture_ask(fixture->store, "SELECT count(*) FROM record WHERE log <> 1"), 0);
    assert_int_equal(
        fixture_ask(fixture->store, "SELECT count(*) FROM record WHERE type = 'log' AND leaf = 0"),
        1);
}

TEST_WITH(roots, fixture_open, fixture_remove)
{
    struct fixture *fixture = *state;
    struct error err = ERROR_INIT;
    int64_t campaign, cells[FIXTURE_CELLS];
    int64_t leaves = 0;
    struct digest root;

    fill(fixture, &campaign, cells);
    assert_ok(ledger_root(fixture->store, -1, &leaves, &root, &err), err);
    assert_ok(ledger_root(fixture->store, 0, NULL, &root, &err), err);
    assert_true(leaves > 10);
    assert_status(ledger_root(fixture->store, leaves + 1, NULL, &root, &err), STATUS_NOT_FOUND,
                  err);
}

TEST_WITH(checkpoints, fixture_open, fixture_remove)
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
    fixture_tamper(fixture->path, "UPDATE record SET digest = zeroblob(32) WHERE leaf = 3");
    assert_ok(store_open(fixture->path, STORE_WRITE, 1000000000, &fixture->store, &err), err);
    assert_status(ledger_add_signature(fixture->store, first.id, "witness", &witness, &err),
                  STATUS_CORRUPT, err);
    assert_status(ledger_root(fixture->store, -1, NULL, &root, &err), STATUS_CORRUPT, err);
    store_close(fixture->store);
    fixture->store = NULL;
    fixture_tamper(fixture->path, "DELETE FROM record WHERE leaf = 3");
    assert_ok(store_open(fixture->path, STORE_WRITE, 1000000000, &fixture->store, &err), err);
    assert_status(ledger_add_signature(fixture->store, first.id, "witness", &witness, &err),
                  STATUS_CORRUPT, err);
    assert_non_null(strstr(err.message, "record 3 of the log is missing"));
}

/* {"count": n} of a type in a manifest; 0: it has none. */
static int64_t count_of(const json_t *manifest, const char *type)
{
    return json_integer_value(json_object_get(json_object_get(manifest, type), "count"));
}

static json_t *manifest_of(struct fixture *fixture, int64_t campaign, int64_t size)
{
    struct error err = ERROR_INIT;
    json_t *manifest = NULL;

    assert_ok(ledger_manifest(fixture->store, campaign, size, &manifest, &err), err);
    return manifest;
}

static void compare(struct fixture *fixture, int64_t a, int64_t b)
{
    struct error err = ERROR_INIT;
    json_t *body = json_pack("{s:s}", "verdict", "equal");

    assert_ok(store_add_comparison(fixture->store, "compare", a, b, 1, "equal", body, &err), err);
    json_decref(body);
}

static json_t *newest_body(struct fixture *fixture)
{
    sqlite3_stmt *row = NULL;
    json_t *body;

    assert_int_equal(sqlite3_prepare_v2(store_connection(fixture->store),
                                        "SELECT body FROM record ORDER BY id DESC LIMIT 1", -1,
                                        &row, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(row), SQLITE_ROW);
    body = json_loads((const char *)sqlite3_column_text(row, 0), 0, NULL);
    sqlite3_finalize(row);
    assert_non_null(body);
    return body;
}

/* What there is of a campaign: what is about it alone, whatever else the log has. */
TEST_WITH(manifests, fixture_open, fixture_remove)
{
    struct fixture *fixture = *state;
    struct error err = ERROR_INIT;
    int64_t campaigns[3], cells[3][FIXTURE_CELLS], size = 0, all = 0, same = 0;
    struct ledger_checkpoint head;
    struct digest root;
    json_t *before, *after, *together, *body;

    for (unsigned i = 0; i < 3; i++)
        assert_ok(fixture_add_campaign(fixture->store, i + 1, &campaigns[i], cells[i], &err), err);
    assert_ok(fixture_run_trial(fixture->store, campaigns[0], 1, "ok", 1500, NULL, &err), err);
    assert_ok(ledger_root(fixture->store, -1, &size, &root, &err), err);
    before = manifest_of(fixture, campaigns[0], size);
    assert_int_equal(count_of(before, "campaign"), 1);
    assert_int_equal(count_of(before, "trial"), 1);
    assert_int_equal(count_of(before, "trial_begin"), 1);
    assert_int_equal(count_of(before, "amendment"), 0);
    assert_int_equal(count_of(before, "device"), 0); /* shared: of no campaign alone */

    /* What other campaigns get changes nothing, and what this one gets does, from then on. */
    assert_ok(fixture_run_trial(fixture->store, campaigns[1], 1, "ok", 1500, NULL, &err), err);
    compare(fixture, cells[0][0], cells[1][0]);
    assert_ok(ledger_root(fixture->store, -1, &size, &root, &err), err);
    after = manifest_of(fixture, campaigns[0], size);
    assert_true(json_equal(before, after));
    json_decref(after);
    compare(fixture, cells[0][0], cells[0][1]);
    after = manifest_of(fixture, campaigns[0], size);
    assert_true(json_equal(before, after));
    json_decref(after);
    after = manifest_of(fixture, campaigns[0], size + 1);
    assert_int_equal(count_of(after, "comparison"), 1);
    json_decref(after);

    /* What is about several together; the same campaign twice is one. */
    assert_ok(ledger_manifest_together(fixture->store, campaigns, 3, size, &together, &err), err);
    assert_int_equal(count_of(together, "comparison"), 1);
    assert_int_equal(json_object_size(together), 1);
    json_decref(together);
    assert_ok(ledger_manifest_together(fixture->store, campaigns + 1, 2, size, &together, &err),
              err);
    assert_int_equal(json_object_size(together), 0);
    json_decref(together);
    assert_ok(ledger_manifest_together(fixture->store, (int64_t[]){campaigns[0], campaigns[0]}, 2,
                                       size, &together, &err),
              err);
    assert_int_equal(json_object_size(together), 0);
    json_decref(together);

    /* A head has them. */
    assert_ok(ledger_add_head(fixture->store, "bundle", campaigns, 3, NULL, &head, &err), err);
    body = newest_body(fixture);
    assert_int_equal(json_object_size(json_object_get(body, "manifest")), 3);
    assert_int_equal(count_of(json_object_get(body, "together"), "comparison"), 1);
    assert_int_equal(json_integer_value(json_object_get(body, "campaigns_in_log")), 3);
    assert_int_equal(json_object_size(json_object_get(body, "same_cells_in_log")), 3);
    json_decref(body);
    assert_ok(ledger_count_campaigns(fixture->store, head.size, &all, &err), err);
    assert_int_equal(all, 3);
    assert_ok(ledger_count_same(fixture->store, campaigns[0], head.size, &same, &err), err);
    assert_int_equal(same, 3); /* the fixture's cells are always the same */
    json_decref(before);
}

TEST_WITH(time_stamps, fixture_open, fixture_remove)
{
    struct fixture *fixture = *state;
    struct error err = ERROR_INIT;
    struct ledger_checkpoint checkpoint;
    struct timestamp timestamp;
    uint8_t token[256];
    size_t length;

    assert_ok(ledger_add_checkpoint(fixture->store, "request", 0, NULL, &checkpoint, &err), err);
    length = timestamp_fixture(&checkpoint.root, token);
    assert_ok(timestamp_check(token, length, NULL, NULL, &timestamp, &err), err);
    assert_string_equal(timestamp.time, "20261120190000Z");
    assert_ok(ledger_add_timestamp(fixture->store, checkpoint.id, token, length, &err), err);
    for (size_t cut = 0; cut < length; cut++)
        assert_status(timestamp_check(token, cut, NULL, NULL, &timestamp, &err), STATUS_INVALID,
                      err);
    checkpoint.root.bytes[0] ^= 1;
    length = timestamp_fixture(&checkpoint.root, token);
    assert_status(ledger_add_timestamp(fixture->store, checkpoint.id, token, length, &err),
                  STATUS_INVALID, err);
    assert_non_null(strstr(err.message, "the checkpoint's root is"));
}
