#include "results/store/store_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <sodium.h>

#include "harness/core/cleanup.h"
#include "harness/core/clock.h"
#include "harness/core/embed.h"
#include "harness/core/text.h"
#include "results/store/schema_model.h"

/* Read anew each time, so that changes by another process are seen. */
static enum status ask(struct store *store, const char *sql, int64_t *ret, struct error *err)
{
    sqlite3_stmt *handle = NULL;
    enum status status = STATUS_OK;
    int rc = sqlite3_prepare_v2(store->db, sql, -1, &handle, NULL);

    if (rc == SQLITE_OK) {
        rc = sqlite3_step(handle);
        if (rc == SQLITE_ROW)
            *ret = sqlite3_column_int64(handle, 0);
    }
    if (rc != SQLITE_ROW)
        status = store_error(store, rc, "opening", err);
    sqlite3_finalize(handle);
    return status;
}

/*
 * SQLite notices missing pages, but reads a truncated last page as if it ended in zeros. Where a
 * log is next to the file, pages may rightly be in the log alone.
 */
static enum status check_length(struct store *store, struct error *err)
{
    int64_t pages = 0, page_size = 0;
    struct stat file, log;
    AUTO_FREE char *log_path = NULL;
    bool has_log;

    TRY(ask(store, "PRAGMA page_count", &pages, err));
    TRY(ask(store, "PRAGMA page_size", &page_size, err));
    log_path = text_format("%s-wal", store->path);
    if (!log_path)
        return error_no_memory(err);
    has_log = stat(log_path, &log) == 0 && log.st_size > 0;
    if (!has_log && stat(store->path, &file) == 0 && file.st_size < pages * page_size)
        return error_set(err, STATUS_CORRUPT,
                         "%s: has been cut short (%" PRId64 " of %" PRId64 " bytes); take a copy "
                         "from before, or recover what is left with sqlite3 FILE .recover",
                         store->path, (int64_t)file.st_size, pages * page_size);
    return STATUS_OK;
}

static enum status run(struct store *store, const char *sql, const char *doing, struct error *err)
{
    int rc = sqlite3_exec(store->db, sql, NULL, NULL, NULL);

    return rc == SQLITE_OK ? STATUS_OK : store_error(store, rc, doing, err);
}

/* Checks the application id: `ret_version` is its schema version, 0 for an empty database. */
static enum status identify(struct store *store, int newest, int64_t *ret_version,
                            struct error *err)
{
    int64_t application = 0, version = 0, objects = 0;

    TRY(ask(store, "PRAGMA application_id", &application, err));
    TRY(ask(store, "PRAGMA user_version", &version, err));
    TRY(ask(store, "SELECT count(*) FROM sqlite_schema", &objects, err));
    if (objects == 0 && application == 0 && version == 0) {
        *ret_version = 0;
        return STATUS_OK;
    }
    if (application != STORE_APPLICATION_ID)
        return error_set(err, STATUS_CORRUPT,
                         "%s: is a SQLite database of another application (id %" PRId64
                         "), not of assay; nothing was changed, choose another file with --db",
                         store->path, application);
    if (version > newest)
        return error_set(err, STATUS_CORRUPT,
                         "%s: has schema version %" PRId64 ", this assay knows versions up to %d; "
                         "use the newer assay that wrote it",
                         store->path, version, newest);
    if (version < 1)
        return error_set(err, STATUS_CORRUPT, "%s: has the impossible schema version %" PRId64,
                         store->path, version);
    *ret_version = version;
    return STATUS_OK;
}

/* The log's name and secret, drawn at random, and its first record. */
static enum status begin_log(struct store *store, struct error *err)
{
    struct digest secret;
    struct record_body body;
    uint8_t id[16];
    char hex[33], secret_hex[DIGEST_HEX_SIZE];
    AUTO_FREE char *name = NULL, *sql = NULL;

    if (sodium_init() < 0)
        return error_set(err, STATUS_INTERNAL, "libsodium does not start");
    randombytes_buf(secret.bytes, sizeof(secret.bytes));
    randombytes_buf(id, sizeof(id));
    name = text_format("assay-log/%s", sodium_bin2hex(hex, sizeof(hex), id, sizeof(id)));
    sql = name ? text_format("INSERT INTO log (id, name, secret) VALUES (1, '%s', x'%s')", name,
                             digest_hex(&secret, secret_hex))
               : NULL;
    body = body_of(store, "log", err);
    BODY_TRY(&body, sql ? run(store, sql, "preparing the schema", err) : error_no_memory(err));
    body_text(&body, "name", name);
    body_i64(&body, "created_utc_ns", clock_utc_ns());
    sodium_memzero(&secret, sizeof(secret));
    sodium_memzero(secret_hex, sizeof(secret_hex));
    return body_end(&body);
}

static enum status stamp(struct store *store, int version, struct error *err)
{
    char settings[96];

    snprintf(settings, sizeof(settings), "PRAGMA application_id=%d; PRAGMA user_version=%d",
             STORE_APPLICATION_ID, version);
    return run(store, settings, "preparing the schema", err);
}

/* What migrate does within its transaction. */
static enum status run_migrations(struct store *store, const struct embed_file *migrations,
                                  int count, int64_t *ret_version, struct error *err)
{
    /* Another process may have done it while we waited. */
    TRY(identify(store, count, ret_version, err));
    for (int64_t i = *ret_version; i < count; i++)
        TRY(run(store, migrations[i].text, "preparing the schema", err));
    if (*ret_version < count)
        TRY(store_install_triggers(store->db, err));
    if (*ret_version == 0)
        TRY(begin_log(store, err));
    if (*ret_version < count)
        TRY(stamp(store, count, err));
    return run(store, "COMMIT", "preparing the schema", err);
}

static enum status migrate(struct store *store, const struct embed_file *migrations, int count,
                           struct error *err)
{
    int64_t version = 0;
    enum status status;

    TRY(run(store, "BEGIN IMMEDIATE", "waiting to prepare the schema", err));
    status = run_migrations(store, migrations, count, &version, err);
    if (status == STATUS_OK && version < count && store->mode != STORE_READ)
        store->carried_from = (int)version;
    if (status != STATUS_OK && !sqlite3_get_autocommit(store->db))
        sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
    return status;
}

static void finish_made(struct store *made)
{
    for (size_t i = 0; i < made->slot_count; i++)
        sqlite3_finalize(made->slots[i].handle);
    sqlite3_close(made->db);
}

/*
 * Copies the newest schema, with a log, into a file without a byte, where that still has none once
 * it is locked; else nothing is changed.
 */
static enum status fill(struct store *store, struct error *err)
{
    CLEANUP(finish_made) struct store made = {.path = store->path};
    sqlite3_backup *backup;
    struct stat st;
    int version, rc;

    store_migrations(&version);
    if (schema_image_open(&made.db) != SQLITE_OK)
        return error_no_memory(err);
    TRY(begin_log(&made, err));
    TRY(stamp(&made, version, err));
    backup = sqlite3_backup_init(store->db, "main", made.db, "main");
    rc = backup ? sqlite3_backup_step(backup, 0) : sqlite3_errcode(store->db);
    if (rc == SQLITE_OK && stat(store->path, &st) == 0 && st.st_size == 0)
        rc = sqlite3_backup_step(backup, -1);
    sqlite3_backup_finish(backup);
    return rc == SQLITE_OK || rc == SQLITE_DONE
               ? STATUS_OK
               : store_error(store, rc, "preparing the schema", err);
}

/*
 * An older file is read in the current form without being changed: through a copy in an unnamed
 * temporary file, which SQLite deletes with the connection.
 */
static enum status read_through_copy(struct store *store, const struct embed_file *migrations,
                                     int count, struct error *err)
{
    sqlite3 *file = store->db;
    sqlite3_backup *backup;
    int rc;

    store->db = NULL;
    rc = store_connect(store, "", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    backup = rc == SQLITE_OK ? sqlite3_backup_init(store->db, "main", file, "main") : NULL;
    if (backup) {
        sqlite3_backup_step(backup, -1);
        rc = sqlite3_backup_finish(backup);
    } else if (rc == SQLITE_OK) {
        rc = sqlite3_errcode(store->db);
    }
    sqlite3_close(file);
    if (rc != SQLITE_OK)
        return store_error(store, rc, "reading a file of an older schema through a copy", err);
    store_trust_schema(store->db);
    TRY(migrate(store, migrations, count, err));
    return run(store, "PRAGMA query_only=ON", "opening", err);
}

enum status store_schema_prepare(struct store *store, const struct embed_file *migrations,
                                 int count, struct error *err)
{
    int64_t version = 0;

    TRY(identify(store, count, &version, err));
    TRY(check_length(store, err));
    if (version > 0)
        TRY(schema_model_check(store->db, store->path, migrations, (int)version, err));
    store_trust_schema(store->db);
    if (version == count)
        return STATUS_OK;
    if (version == 0 && store->mode != STORE_CREATE)
        return error_set(err, STATUS_CORRUPT,
                         "%s: is empty, there are no results in it; `assay run first-look --db %s` "
                         "fills it",
                         store->path, store->path_word);
    if (store->mode == STORE_READ)
        return read_through_copy(store, migrations, count, err);
    if (version == 0)
        TRY(fill(store, err));
    return migrate(store, migrations, count, err);
}
