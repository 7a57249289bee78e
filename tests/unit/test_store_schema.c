/* The schema's scripts, and files of an earlier version than the newest of them. */
#include "results/store/store_internal.h"

#include <stdio.h>
#include <string.h>

#include <sqlite3.h>

#include "harness/core/embed.h"
#include "results/store/schema_model.h"
#include "tests/support/store_fixture.h"
#include "tests/support/unit.h"

#define SECOND INT64_C(1000000000)

/*
 * SHA-256 of the scripts, in their order. Once a release has written files with a script it never
 * changes again: editing it would make those files inconsistent.
 */
static const char *const written[] = {
    "09ae3a5a364fc8233b998e5c74dc6429dad9cbbb7ee1932077bcd54314edbf66",
    "8936b67f3862d78ba93dc2bdb086d3fbfe375ab97aa613d8fdc4fa72280a2cfe",
};

TEST(written_scripts_stay)
{
    int count;
    const struct embed_file *scripts = store_migrations(&count);

    assert_int_equal(sizeof(written) / sizeof(written[0]), count);
    for (int i = 0; i < count; i++) {
        struct digest digest = digest_bytes(scripts[i].text, strlen(scripts[i].text));
        char hex[DIGEST_HEX_SIZE];

        assert_string_equal(digest_hex(&digest, hex), written[i]);
    }
}

/* The digest that saves making a model whenever a file is opened is that of the model. */
TEST(knows_its_schema)
{
    int count;
    const struct embed_file *scripts = store_migrations(&count);

    for (int version = 1; version <= count; version++) {
        struct error err = ERROR_INIT;
        sqlite3 *model = NULL;
        struct digest digest;
        char hex[DIGEST_HEX_SIZE];

        assert_ok(schema_model_create(scripts, version, &model, &err), err);
        assert_int_equal(schema_model_digest(model, &digest), SQLITE_OK);
        if (!schema_model_is_known(&digest, version))
            fail_msg("results/store/schema_model.c must know version %d as %s", version,
                     digest_hex(&digest, hex));
        sqlite3_close(model);
    }
}

/* Opened for reading, an older file is shown in the newest form, and not changed. */
TEST_WITH(reads_older_files, fixture_open, fixture_remove)
{
    struct fixture *fixture = *state;
    struct error err = ERROR_INIT;
    const struct embed_file *ours;
    struct embed_file scripts[16];
    struct digest digest, again;
    struct store *store = NULL;
    uint64_t size;
    int64_t campaign, cells[FIXTURE_CELLS];
    int count;

    ours = store_migrations(&count);
    assert_in_range(count, 1, 15);
    memcpy(scripts, ours, (size_t)count * sizeof(scripts[0]));
    scripts[count] =
        (struct embed_file){.name = "next", .text = "ALTER TABLE cell ADD COLUMN hue TEXT"};
    assert_ok(fixture_add_campaign(fixture->store, 1, &campaign, cells, &err), err);
    store_close(fixture->store);
    fixture->store = NULL;
    assert_ok(digest_file(fixture->path, &digest, &size, &err), err);
    assert_ok(store_open(fixture->path, STORE_READ, SECOND, &store, &err), err);
    fixture->store = store;
    assert_ok(store_schema_prepare(store, scripts, count + 1, &err), err);
    assert_int_equal(store_carried_from(store), 0);
    assert_int_equal(fixture_ask(store, "PRAGMA user_version"), count + 1);
    assert_int_equal(fixture_ask(store, "SELECT count(*) FROM cell WHERE hue IS NULL"),
                     FIXTURE_CELLS);
    assert_int_not_equal(
        sqlite3_exec(store_connection(store), "DELETE FROM amendment", NULL, NULL, NULL),
        SQLITE_OK);
    store_close(store);
    assert_ok(digest_file(fixture->path, &again, &size, &err), err);
    assert_memory_equal(&digest, &again, sizeof(digest));
    assert_ok(store_open(fixture->path, STORE_WRITE, SECOND, &fixture->store, &err), err);
    assert_int_equal(fixture_ask(fixture->store, "PRAGMA user_version"), count);
    assert_int_equal(store_carried_from(fixture->store), 0);
    assert_ok(store_schema_prepare(fixture->store, scripts, count + 1, &err), err);
    assert_int_equal(store_carried_from(fixture->store), count);
}

/* The text of the schema cannot be edited through a connection of a store. */
TEST_WITH(schema_stays_closed, fixture_open, fixture_remove)
{
    struct fixture *fixture = *state;
    sqlite3 *db = store_connection(fixture->store);

    sqlite3_exec(db, "PRAGMA writable_schema=ON", NULL, NULL, NULL);
    assert_int_not_equal(sqlite3_exec(db, "UPDATE sqlite_schema SET sql = sql", NULL, NULL, NULL),
                         SQLITE_OK);
}
