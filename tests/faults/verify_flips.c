/*
 * Random byte flips in a database: found by verify, or shown not to affect evidence, by reading
 * schema and every row of every table once more and finding them the same to the last byte.
 *
 * ASSAY_TEST_FLIPS is the number of flips, one at a time (default 500); the target verify_flips_all
 * does 10 000.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "harness/core/file.h"
#include "harness/core/random.h"
#include "harness/core/text.h"
#include "results/evidence/ledger.h"
#include "results/evidence/verify.h"
#include "tests/support/store_fixture.h"
#include "tests/support/unit.h"

static void add_value(struct digest_state *state, sqlite3_stmt *row, int column)
{
    int type = sqlite3_column_type(row, column);
    int64_t number;
    double real;
    int length;

    digest_update(state, &type, sizeof(type));
    if (type == SQLITE_INTEGER) {
        number = sqlite3_column_int64(row, column);
        digest_update(state, &number, sizeof(number));
    } else if (type == SQLITE_FLOAT) {
        real = sqlite3_column_double(row, column);
        digest_update(state, &real, sizeof(real));
    } else if (type != SQLITE_NULL) {
        const void *bytes = sqlite3_column_blob(row, column);

        length = sqlite3_column_bytes(row, column);
        digest_update(state, &length, sizeof(length));
        digest_update(state, bytes, (size_t)length);
    }
}

/* False when the rows cannot be read to their end. */
static bool add_rows(sqlite3 *db, const char *sql, struct digest_state *state)
{
    sqlite3_stmt *row = NULL;
    int rc = sqlite3_prepare_v2(db, sql, -1, &row, NULL);

    while (rc == SQLITE_OK || rc == SQLITE_ROW) {
        rc = sqlite3_step(row);
        for (int i = 0; rc == SQLITE_ROW && i < sqlite3_column_count(row); i++)
            add_value(state, row, i);
    }
    sqlite3_finalize(row);
    return rc == SQLITE_DONE;
}

/* Digest of all that a reader sees: settings, schema, every row in the order of its table. */
static bool read_everything(const char *path, struct digest *ret)
{
    static const char *const settings[] = {"PRAGMA application_id", "PRAGMA user_version",
                                           "PRAGMA encoding",
                                           "SELECT type, name, tbl_name, sql FROM sqlite_schema"};
    sqlite3 *db = NULL;
    sqlite3_stmt *tables = NULL;
    struct digest_state state;
    char uri[1100];
    bool good;

    snprintf(uri, sizeof(uri), "file:%s?immutable=1", path);
    digest_init(&state);
    good = sqlite3_open_v2(uri, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL) == SQLITE_OK;
    for (size_t i = 0; good && i < sizeof(settings) / sizeof(settings[0]); i++)
        good = add_rows(db, settings[i], &state);
    good = good && sqlite3_prepare_v2(db,
                                      "SELECT name FROM sqlite_schema WHERE type = 'table'"
                                      " ORDER BY name",
                                      -1, &tables, NULL) == SQLITE_OK;
    while (good && sqlite3_step(tables) == SQLITE_ROW) {
        char *sql =
            sqlite3_mprintf("SELECT * FROM \"%w\" NOT INDEXED", sqlite3_column_text(tables, 0));

        good = sql && add_rows(db, sql, &state);
        sqlite3_free(sql);
    }
    sqlite3_finalize(tables);
    sqlite3_close(db);
    *ret = digest_final(&state);
    return good;
}

static void build(struct fixture *fixture)
{
    struct error err = ERROR_INIT;
    int64_t campaign, cells[FIXTURE_CELLS];
    struct key key;

    assert_ok(fixture_add_campaign(fixture->store, 1, &campaign, cells, &err), err);
    for (int64_t sequence = 1; sequence <= 6; sequence++)
        assert_ok(fixture_run_trial(fixture->store, campaign, sequence, "ok", 6000, NULL, &err),
                  err);
    assert_ok(store_add_campaign_event(fixture->store, campaign, "finished", NULL, &err), err);
    assert_ok(key_generate("lab", &key, &err), err);
    assert_ok(ledger_add_checkpoint(fixture->store, "end", campaign, &key, NULL, &err), err);
    store_close(fixture->store);
    fixture->store = NULL;
}

static void count_wrong(void *context, const struct verify_finding *finding)
{
    *(int64_t *)context += finding->level == VERIFY_WRONG && !fixture_explains(finding);
}

TEST_WITH(flips, fixture_open, fixture_remove)
{
    const char *asked = getenv("ASSAY_TEST_FLIPS"), *seeded = getenv("ASSAY_TEST_SEED");
    struct fixture *fixture = *state;
    int64_t wrong = 0;
    const struct verify_options options = {.threads = 1, .context = &wrong, .found = count_wrong};
    struct error err = ERROR_INIT;
    struct verify_summary summary;
    int64_t flips = 500, found = 0, outside = 0, seed = 1;
    struct digest before, after;
    size_t length;
    char *bytes;

    if (asked)
        assert_true(text_parse_i64(asked, &flips));
    if (seeded)
        assert_true(text_parse_i64(seeded, &seed));
    build(fixture);
    assert_ok(verify_file(fixture->path, &options, &summary, &err), err);
    assert_int_equal(wrong, 0);
    assert_true(read_everything(fixture->path, &before));
    assert_ok(file_read(fixture->path, 64 << 20, &bytes, &length, &err), err);
    for (int64_t i = 0; i < flips; i++) {
        size_t at = random_at((uint64_t)seed, 1, (uint64_t)i) % length;
        char bit = (char)(1 << random_at((uint64_t)seed, 2, (uint64_t)i) % 8);
        enum status status;

        bytes[at] ^= bit;
        assert_ok(file_write_atomic(fixture->path, bytes, length, 0600, &err), err);
        wrong = 0;
        status = verify_file(fixture->path, &options, &summary, &err);
        if (status != STATUS_OK || wrong > 0) {
            found++;
        } else if (read_everything(fixture->path, &after) && digest_equal(&before, &after)) {
            outside++;
        } else {
            fail_msg("flip %lld (bit %d of byte %zu) changes what is read and is not found",
                     (long long)i, bit, at);
        }
        bytes[at] ^= bit;
    }
    print_message("%lld flips in %zu bytes: %lld found, %lld outside of evidence\n",
                  (long long)flips, length, (long long)found, (long long)outside);
    assert_int_equal(found + outside, flips);
    assert_true(found > flips / 8);
    free(bytes);
}
