#include "results/store/store.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sqlite3.h>

#include "harness/core/file.h"
#include "results/store/store_internal.h"
#include "results/evidence/ledger.h"
#include "tests/support/store_fixture.h"
#include "tests/support/timestamp_fixture.h"
#include "tests/support/unit.h"

#define SECOND INT64_C(1000000000)

/* Opening must fail like this, with a message that holds both pieces. */
static void refuse(const char *path, enum store_mode mode, enum status expected, const char *what,
                   const char *remedy)
{
    struct error err = ERROR_INIT;
    struct store *store = NULL;

    assert_status(store_open(path, mode, SECOND / 10, &store, &err), expected, err);
    assert_null(store);
    if (!strstr(err.message, what) || !strstr(err.message, remedy))
        fail_msg("message lacks \"%s\" or \"%s\": %s", what, remedy, err.message);
    if (*path)
        assert_non_null(strstr(err.message, path));
}

static void write_file(const char *path, const void *bytes, size_t length)
{
    assert_int_equal(file_write_atomic(path, bytes, length, 0600, NULL), STATUS_OK);
}

TEST_WITH(creates_and_opens_again, fixture_open, fixture_remove)
{
    struct fixture *fixture = *state;
    struct error err = ERROR_INIT;
    struct store *reader = NULL;
    int64_t campaign, cells[FIXTURE_CELLS];

    assert_string_equal(store_path(fixture->store), fixture->path);
    assert_int_equal(fixture_ask(fixture->store, "PRAGMA application_id"), STORE_APPLICATION_ID);
    assert_int_equal(fixture_ask(fixture->store, "PRAGMA foreign_keys"), 1);
    assert_int_equal(fixture_ask(fixture->store, "PRAGMA synchronous"), 2);
    assert_int_equal(
        fixture_ask(fixture->store, "SELECT journal_mode = 'wal' FROM pragma_journal_mode"), 1);
    assert_int_equal(fixture_ask(fixture->store,
                                 "SELECT count(*) FROM pragma_table_list WHERE schema = 'main' AND"
                                 " type = 'table' AND NOT strict AND name NOT LIKE 'sqlite_%'"),
                     0);
    assert_ok(fixture_add_campaign(fixture->store, 1, &campaign, cells, &err), err);
    /* A reader together with the writer, then a reader alone. */
    assert_ok(store_open(fixture->path, STORE_READ, SECOND, &reader, &err), err);
    assert_int_equal(fixture_ask(reader, "SELECT count(*) FROM campaign"), 1);
    assert_status(store_add_campaign_event(reader, campaign, "started", NULL, &err), STATUS_DENIED,
                  err);
    store_close(reader);
    store_close(fixture->store);
    fixture->store = NULL;
    assert_ok(store_open(fixture->path, STORE_READ, SECOND, &reader, &err), err);
    assert_int_equal(fixture_ask(reader, "SELECT count(*) FROM cell"), FIXTURE_CELLS);
    store_close(reader);
    assert_ok(store_open(fixture->path, STORE_WRITE, SECOND, &fixture->store, &err), err);
    store_close(NULL);
}

TEST_WITH(refuses_what_is_no_database, fixture_make, fixture_remove)
{
    struct fixture *fixture = *state;
    char text[4096];

    refuse("", STORE_CREATE, STATUS_INVALID, "empty", "");
    refuse(fixture->folder, STORE_CREATE, STATUS_INVALID, "is a folder", "results.db");
    refuse(fixture->path, STORE_READ, STATUS_NOT_FOUND, "no such database", "assay run");
    refuse(fixture->path, STORE_WRITE, STATUS_NOT_FOUND, "no such database", "assay run");
    refuse(fixture_path(fixture, "no/where/results.db"), STORE_CREATE, STATUS_NOT_FOUND,
           "no folder", "mkdir -p");
    memset(text, 'x', sizeof(text));
    write_file(fixture->path, text, sizeof(text));
    refuse(fixture->path, STORE_READ, STATUS_CORRUPT, "not a database", "");
    refuse(fixture->path, STORE_CREATE, STATUS_CORRUPT, "not a database", "");
    write_file(fixture->path, "", 0);
    refuse(fixture->path, STORE_READ, STATUS_CORRUPT, "empty", "assay run");
    refuse(fixture->path, STORE_WRITE, STATUS_CORRUPT, "empty", "assay run");
    assert_int_equal(unlink(fixture->path), 0);
    assert_int_equal(mkfifo(fixture->path, 0600), 0);
    refuse(fixture->path, STORE_CREATE, STATUS_INVALID, "regular file", "");
}

static void execute(const char *path, const char *sql)
{
    sqlite3 *db = NULL;

    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
}

TEST_WITH(refuses_other_schemas, fixture_make, fixture_remove)
{
    struct fixture *fixture = *state;
    struct error err = ERROR_INIT;
    const char *other = fixture_path(fixture, "other.db");
    struct stat before, after;
    char known[32];
    int newest;

    execute(other, "CREATE TABLE bookmarks (url TEXT)");
    assert_int_equal(stat(other, &before), 0);
    refuse(other, STORE_READ, STATUS_CORRUPT, "another application", "--db");
    refuse(other, STORE_CREATE, STATUS_CORRUPT, "another application", "--db");
    assert_int_equal(stat(other, &after), 0);
    assert_int_equal(before.st_size, after.st_size);
    assert_int_equal(before.st_mtim.tv_nsec, after.st_mtim.tv_nsec);

    assert_ok(store_open(fixture->path, STORE_CREATE, SECOND, &fixture->store, &err), err);
    store_close(fixture->store);
    fixture->store = NULL;
    execute(fixture->path, "PRAGMA user_version=901");
    store_migrations(&newest);
    snprintf(known, sizeof(known), "up to %d", newest);
    refuse(fixture->path, STORE_READ, STATUS_CORRUPT, "version 901", known);
    refuse(fixture->path, STORE_CREATE, STATUS_CORRUPT, "version 901", "newer assay");
}

TEST_WITH(refuses_a_truncated_file, fixture_open, fixture_remove)
{
    struct fixture *fixture = *state;
    struct error err = ERROR_INIT;
    struct stat whole;
    char *bytes;
    size_t length;

    store_close(fixture->store);
    fixture->store = NULL;
    assert_int_equal(stat(fixture->path, &whole), 0);
    assert_ok(file_read(fixture->path, (size_t)whole.st_size, &bytes, &length, &err), err);
    for (size_t i = 0; i < 24; i++) {
        /* From the first bytes to the last page's last byte. */
        size_t cut =
            i < 12 ? 16 + (i * i * i * 17) % 4096 : length - ((i - 11) * (i - 11) * 40 - 39);

        write_file(fixture->path, bytes, cut);
        refuse(fixture->path, STORE_READ, STATUS_CORRUPT, "", "");
        refuse(fixture->path, STORE_CREATE, STATUS_CORRUPT, "", "");
    }
    free(bytes);
}

TEST_WITH(odd_names_are_names, fixture_make, fixture_remove)
{
    struct fixture *fixture = *state;
    const char *const names[] = {":memory:", "file:x?mode=memory", "a#b%41?c.db"};
    char folder[4096];

    assert_non_null(getcwd(folder, sizeof(folder)));
    assert_int_equal(chdir(fixture->folder), 0);
    for (size_t i = 0; i < 3; i++) {
        struct error err = ERROR_INIT;
        struct store *store = NULL;

        assert_ok(store_open(names[i], STORE_CREATE, SECOND, &store, &err), err);
        store_close(store);
        assert_int_equal(access(names[i], F_OK), 0);
    }
    assert_int_equal(chdir(folder), 0);
}

/* Runs `body` where permissions count: as nobody when the tests run as root. 0: all well. */
static int as_ordinary_user(struct fixture *fixture, int (*body)(struct fixture *))
{
    pid_t child = fork();
    int how;

    assert_true(child >= 0);
    if (child == 0) {
        if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
            _exit(99);
        _exit(body(fixture));
    }
    assert_int_equal(waitpid(child, &how, 0), child);
    return WIFEXITED(how) ? WEXITSTATUS(how) : 128;
}

static int refused(const char *path, enum store_mode mode, const char *what)
{
    struct error err = ERROR_INIT;
    struct store *store = NULL;
    enum status status = store_open(path, mode, SECOND / 10, &store, &err);

    if (status == STATUS_DENIED && strstr(err.message, what) && strstr(err.message, path))
        return 0;
    fprintf(stderr, "%s: %s\n", status_name(status), err.message);
    return 1;
}

static int readable(const char *path)
{
    struct error err = ERROR_INIT;
    struct store *store = NULL;
    enum status status = store_open(path, STORE_READ, SECOND / 10, &store, &err);
    int64_t count = status == STATUS_OK ? fixture_ask(store, "SELECT count(*) FROM cell") : -1;

    store_close(store);
    if (count == FIXTURE_CELLS)
        return 0;
    fprintf(stderr, "%s: %s\n", status_name(status), err.message);
    return 1;
}

static int read_only_file(struct fixture *fixture)
{
    return refused(fixture->path, STORE_WRITE, "is not writable") +
           refused(fixture->path, STORE_CREATE, "--db") + readable(fixture->path);
}

static int read_only_folder(struct fixture *fixture)
{
    return refused(fixture->path, STORE_WRITE, "folder") +
           refused(fixture_path(fixture, "new.db"), STORE_CREATE, "not writable") +
           readable(fixture->path);
}

static int unreadable_file(struct fixture *fixture)
{
    return refused(fixture->path, STORE_READ, "not readable");
}

static int pending_log(struct fixture *fixture)
{
    return refused(fixture->path, STORE_READ, "copy both files");
}

TEST_WITH(permissions, fixture_open, fixture_remove)
{
    struct fixture *fixture = *state;
    struct error err = ERROR_INIT;
    int64_t campaign, cells[FIXTURE_CELLS];

    assert_ok(fixture_add_campaign(fixture->store, 1, &campaign, cells, &err), err);
    store_close(fixture->store);
    fixture->store = NULL;
    assert_int_equal(chmod(fixture->folder, 0777), 0);
    assert_int_equal(chmod(fixture->path, 0444), 0);
    assert_int_equal(as_ordinary_user(fixture, read_only_file), 0);
    assert_int_equal(chmod(fixture->folder, 0555), 0);
    assert_int_equal(chmod(fixture->path, 0666), 0);
    assert_int_equal(as_ordinary_user(fixture, read_only_folder), 0);
    assert_int_equal(chmod(fixture->folder, 0755), 0);
    /* A log that cannot be merged must not be left out in silence: none of an earlier reader's
     * index is there. */
    unlink(fixture_path(fixture, "results.db-shm"));
    write_file(fixture_path(fixture, "results.db-wal"), "log", 3);
    assert_int_equal(chmod(fixture->folder, 0555), 0);
    assert_int_equal(as_ordinary_user(fixture, pending_log), 0);
    assert_int_equal(chmod(fixture->path, 0), 0);
    assert_int_equal(as_ordinary_user(fixture, unreadable_file), 0);
    assert_int_equal(chmod(fixture->folder, 0755), 0);
}

TEST_WITH(busy_is_waited_for_and_reported, fixture_open, fixture_remove)
{
    struct fixture *fixture = *state;
    struct error err = ERROR_INIT;
    struct store *second = NULL;
    int64_t campaign, cells[FIXTURE_CELLS];

    assert_ok(store_open(fixture->path, STORE_WRITE, SECOND / 20, &second, &err), err);
    assert_ok(store_batch_begin(fixture->store, &err), err);
    assert_status(fixture_add_campaign(second, 2, &campaign, cells, &err), STATUS_BUSY, err);
    assert_non_null(strstr(err.message, "another process"));
    assert_ok(store_batch_end(fixture->store, true, &err), err);
    assert_ok(fixture_add_campaign(second, 2, &campaign, cells, &err), err);
    store_close(second);
}

TEST_WITH(batch_is_all_or_nothing, fixture_open, fixture_remove)
{
    struct fixture *fixture = *state;
    struct error err = ERROR_INIT;
    int64_t campaign, cells[FIXTURE_CELLS], trial;

    assert_status(store_batch_end(fixture->store, true, &err), STATUS_INTERNAL, err);
    assert_ok(store_batch_begin(fixture->store, &err), err);
    assert_status(store_batch_begin(fixture->store, &err), STATUS_INTERNAL, err);
    assert_ok(fixture_add_campaign(fixture->store, 1, &campaign, cells, &err), err);
    assert_ok(store_batch_end(fixture->store, false, &err), err);
    assert_int_equal(fixture_ask(fixture->store, "SELECT count(*) FROM content"), 0);

    /* Only the failed write is undone; the rest of the batch is kept. */
    assert_ok(store_batch_begin(fixture->store, &err), err);
    assert_ok(fixture_add_campaign(fixture->store, 1, &campaign, cells, &err), err);
    assert_status(store_begin_trial(fixture->store, campaign, 99, 0, &trial, &err),
                  STATUS_NOT_FOUND, err);
    assert_status(store_begin_trial(fixture->store, campaign + 1, 1, 0, &trial, &err),
                  STATUS_NOT_FOUND, err);
    assert_ok(fixture_run_trial(fixture->store, campaign, 1, "ok", 10, &trial, &err), err);
    assert_ok(store_batch_end(fixture->store, true, &err), err);
    assert_int_equal(fixture_ask(fixture->store, "SELECT count(*) FROM trial"), 1);
    assert_string_equal(fixture_soundness(fixture->store), "ok");
}

/* A row in each table that only signing fills. */
static void fill_ledger(struct store *store, int64_t cell)
{
    struct ledger_checkpoint checkpoint;
    struct error err = ERROR_INIT;
    struct key key;
    uint8_t token[256];
    size_t length;

    assert_ok(key_generate("test.example", &key, &err), err);
    assert_ok(ledger_add_amendment(store, cell, "somebody", "a reason", &err), err);
    assert_ok(ledger_add_checkpoint(store, "request", 0, &key, &checkpoint, &err), err);
    length = timestamp_fixture(&checkpoint.root, token);
    assert_ok(ledger_add_timestamp(store, checkpoint.id, token, length, &err), err);
}

/* Every table that has rows refuses both, and every table has rows. */
TEST_WITH(evidence_is_append_only, fixture_open, fixture_remove)
{
    struct fixture *fixture = *state;
    struct error err = ERROR_INIT;
    int64_t campaign, cells[FIXTURE_CELLS], trial;
    sqlite3 *db = store_connection(fixture->store);
    json_t *estimate = json_pack("{s:s}", "verdict", "flat");
    sqlite3_stmt *tables = NULL;
    int checked = 0;

    assert_ok(fixture_add_campaign(fixture->store, 1, &campaign, cells, &err), err);
    assert_ok(fixture_mark_bundled(fixture->store, campaign, &err), err);
    assert_ok(store_add_campaign_event(fixture->store, campaign, "started", "x", &err), err);
    assert_ok(fixture_run_trial(fixture->store, campaign, 1, "ok", 10, &trial, &err), err);
    assert_ok(store_add_estimate(fixture->store, cells[0], 1, estimate, &err), err);
    assert_ok(store_add_comparison(fixture->store, "ab", cells[0], cells[0], 1, "equivalent",
                                   estimate, &err),
              err);
    json_decref(estimate);
    fill_ledger(fixture->store, cells[0]);
    assert_ok(fixture_add_import(fixture->store, 1, &campaign, &err), err);
    assert_int_equal(
        sqlite3_prepare_v2(db,
                           "SELECT m.name, (SELECT name FROM pragma_table_info(m.name)"
                           " WHERE cid = 0) FROM sqlite_schema m WHERE m.type = 'table'"
                           " AND m.name NOT LIKE 'sqlite_%'",
                           -1, &tables, NULL),
        SQLITE_OK);
    while (sqlite3_step(tables) == SQLITE_ROW) {
        const char *table = (const char *)sqlite3_column_text(tables, 0);
        char sql[256];

        snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s", table);
        if (fixture_ask(fixture->store, sql) < 1)
            fail_msg("the fixture leaves %s empty", table);
        snprintf(sql, sizeof(sql), "UPDATE %s SET %s = %s", table, sqlite3_column_text(tables, 1),
                 sqlite3_column_text(tables, 1));
        assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_CONSTRAINT_TRIGGER);
        assert_non_null(strstr(sqlite3_errmsg(db), "is evidence"));
        assert_non_null(strstr(sqlite3_errmsg(db), table));
        snprintf(sql, sizeof(sql), "DELETE FROM %s", table);
        assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_CONSTRAINT_TRIGGER);
        snprintf(sql, sizeof(sql), "INSERT OR REPLACE INTO %s SELECT * FROM %s", table, table);
        assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_CONSTRAINT_TRIGGER);
        checked++;
    }
    sqlite3_finalize(tables);
    assert_true(checked >= 20);
    assert_string_equal(fixture_soundness(fixture->store), "ok");
}

TEST_WITH(migrates_forward, fixture_open, fixture_remove)
{
    struct fixture *fixture = *state;
    struct error err = ERROR_INIT;
    const struct embed_file *ours;
    struct embed_file scripts[16];
    struct store *store;
    int64_t campaign, cells[FIXTURE_CELLS];
    char known[32], next[32];
    int count;

    ours = store_migrations(&count);
    assert_in_range(count, 1, 14);
    memcpy(scripts, ours, (size_t)count * sizeof(scripts[0]));
    snprintf(known, sizeof(known), "up to %d", count);
    snprintf(next, sizeof(next), "version %d", count + 1);
    scripts[count] = (struct embed_file){
        .name = "next", .text = "CREATE TABLE later (id INTEGER PRIMARY KEY, x ANY) STRICT"};
    scripts[count + 1] = (struct embed_file){
        .name = "broken", .text = "ALTER TABLE cell ADD COLUMN hue TEXT; CREATE TABLE broken("};
    assert_ok(fixture_add_campaign(fixture->store, 1, &campaign, cells, &err), err);
    store_close(fixture->store);
    fixture->store = NULL;
    assert_ok(store_open(fixture->path, STORE_WRITE, SECOND, &store, &err), err);
    fixture->store = store;
    /* A step that fails changes nothing at all. */
    assert_int_not_equal(store_schema_prepare(store, scripts, count + 2, &err), STATUS_OK);
    assert_int_equal(fixture_ask(store, "PRAGMA user_version"), count);
    assert_int_equal(fixture_ask(store, "SELECT count(*) FROM sqlite_schema WHERE name = 'later'"),
                     0);
    assert_ok(store_schema_prepare(store, scripts, count + 1, &err), err);
    assert_int_equal(fixture_ask(store, "PRAGMA user_version"), count + 1);
    assert_int_equal(fixture_ask(store, "SELECT count(*) FROM later"), 0);
    assert_int_equal(fixture_ask(store, "SELECT count(*) FROM campaign"), 1);
    assert_ok(store_schema_prepare(store, scripts, count + 1, &err), err);
    /* Rows of a table that is added later are never changed, like the others. */
    assert_int_equal(sqlite3_exec(store_connection(store), "INSERT INTO later (x) VALUES ('x')",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    assert_int_not_equal(
        sqlite3_exec(store_connection(store), "DELETE FROM later", NULL, NULL, NULL), SQLITE_OK);
    /* The current assay does not know the next version. */
    refuse(fixture->path, STORE_READ, STATUS_CORRUPT, next, known);
}
