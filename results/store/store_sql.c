#include "results/store/store_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "harness/core/cleanup.h"
#include "harness/core/text.h"

/* ---- errors ---- */

static enum status status_of(sqlite3 *db, int rc)
{
    int errnum = db ? sqlite3_system_errno(db) : 0;

    switch (rc & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return STATUS_BUSY;
    case SQLITE_FULL:
        return STATUS_NO_SPACE;
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return STATUS_DENIED;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return STATUS_CORRUPT;
    case SQLITE_NOMEM:
        return STATUS_NO_MEMORY;
    case SQLITE_CONSTRAINT:
    case SQLITE_MISMATCH:
    case SQLITE_TOOBIG:
    case SQLITE_RANGE:
        return STATUS_INVALID;
    case SQLITE_CANTOPEN:
        if (errnum == EACCES || errnum == EPERM || errnum == EROFS)
            return STATUS_DENIED;
        return errnum == ENOSPC || errnum == EDQUOT ? STATUS_NO_SPACE : STATUS_IO;
    case SQLITE_IOERR:
        if (rc == SQLITE_IOERR_NOMEM)
            return STATUS_NO_MEMORY;
        if (rc == SQLITE_IOERR_CORRUPTFS || rc == SQLITE_IOERR_DATA)
            return STATUS_CORRUPT;
        return errnum == ENOSPC || errnum == EDQUOT ? STATUS_NO_SPACE : STATUS_IO;
    default:
        return STATUS_INTERNAL;
    }
}

static const char *remedy(enum status code, bool made, int errnum)
{
    struct rlimit most;

    if (*error_remedy(errnum))
        return error_remedy(errnum);
    switch (code) {
    case STATUS_NO_SPACE:
        return made ? "; nothing was stored: free some space, then do it again"
                    : "; what was stored before is kept: free some space, then go on";
    case STATUS_NO_MEMORY:
        return error_remedy(ENOMEM);
    case STATUS_DENIED:
        return "; the file and its folder must be writable, or choose another file with --db";
    case STATUS_CORRUPT:
        return "; the file is damaged: take a copy from before, or recover what is left with "
               "sqlite3 FILE .recover";
    case STATUS_IO:
        if (getrlimit(RLIMIT_FSIZE, &most) == 0 && most.rlim_cur != RLIM_INFINITY)
            return "; what was stored before is kept: raise the limit on the size of files (ulimit "
                   "-f) "
                   "or check the disk (dmesg), then go on";
        return "; what was stored before is kept: check the disk (dmesg), then go on";
    default:
        return "";
    }
}

/* The file system refused the lock itself, which no waiting mends. */
static bool is_of_locks(int rc)
{
    return rc == SQLITE_IOERR_LOCK || rc == SQLITE_IOERR_RDLOCK || rc == SQLITE_IOERR_UNLOCK ||
           rc == SQLITE_IOERR_CHECKRESERVEDLOCK || rc == SQLITE_IOERR_SHMLOCK;
}

enum status store_error(struct store *store, int rc, const char *doing, struct error *err)
{
    enum status code = status_of(store->db, rc);
    const char *text = store->db ? sqlite3_errmsg(store->db) : sqlite3_errstr(rc);
    const bool of_system = (rc & 0xff) == SQLITE_CANTOPEN || (rc & 0xff) == SQLITE_IOERR;
    const int errnum = of_system && store->db ? sqlite3_system_errno(store->db) : 0;
    char reason[128];

    if (code == STATUS_BUSY)
        return store_busy(store, doing, err);
    if (is_of_locks(rc))
        return error_set(err, code,
                         "%s: %s: files cannot be locked there (%s); keep the database on a disk "
                         "of this machine (--db), and copy it when the campaign is over",
                         store->path, doing, store_without_locks(store));
    if ((rc & 0xff) == SQLITE_INTERRUPT) /* store_limit_work; nothing else interrupts */
        return error_set(err, STATUS_CORRUPT,
                         "%s: %s: was stopped, because it asks for more work than a file of this "
                         "size explains: the file is damaged or was made to do so; `assay verify "
                         "%s` tells more",
                         store->path, doing, store_word(store));
    if (code == STATUS_NO_SPACE)
        text = sqlite3_errstr(SQLITE_FULL);
    if (code == STATUS_NO_MEMORY || (rc & 0xff) == SQLITE_TOOBIG || (rc & 0xff) == SQLITE_RANGE)
        text = sqlite3_errstr(rc);
    if (*error_remedy(errnum))
        text = strerror_r(errnum, reason, sizeof(reason));
    return error_set(err, code, "%s: %s: %s%s", store->path, doing, text,
                     remedy(code, store->made, errnum));
}

/* ---- statements ---- */

int store_prepare(struct store *store, const char *sql, sqlite3_stmt **ret)
{
    sqlite3_stmt *handle = NULL;
    int rc;

    for (size_t i = 0; i < store->slot_count; i++) {
        if (store->slots[i].sql == sql) {
            *ret = store->slots[i].handle;
            return SQLITE_OK;
        }
    }
    if (store->slot_count == STORE_STATEMENTS_MAX)
        return SQLITE_MISUSE;
    rc = sqlite3_prepare_v3(store->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &handle, NULL);
    if (rc == SQLITE_OK) {
        store->slots[store->slot_count++] = (struct store_slot){sql, handle};
        *ret = handle;
    }
    return rc;
}

void store_release(sqlite3_stmt *statement)
{
    sqlite3_reset(statement);
    if (statement)
        sqlite3_clear_bindings(statement);
}

enum status statement_begin(struct store *store, const char *sql, struct statement *ret,
                            struct error *err)
{
    int rc;

    *ret = (struct statement){.store = store, .next = 1, .rc = SQLITE_OK};
    rc = store_prepare(store, sql, &ret->handle);
    if (rc == SQLITE_MISUSE)
        return error_set(err, STATUS_INTERNAL, "the store has no room for another statement");
    return rc == SQLITE_OK ? STATUS_OK : store_error(store, rc, "reading the schema", err);
}

static void bound(struct statement *statement, int rc)
{
    if (rc != SQLITE_OK && statement->rc == SQLITE_OK)
        statement->rc = rc;
    statement->next++;
}

void statement_i64(struct statement *statement, int64_t value)
{
    bound(statement, sqlite3_bind_int64(statement->handle, statement->next, value));
}

enum status statement_of(struct store *store, const char *sql, int64_t first, struct statement *ret,
                         struct error *err)
{
    TRY(statement_begin(store, sql, ret, err));
    statement_i64(ret, first);
    return STATUS_OK;
}

void statement_null(struct statement *statement)
{
    bound(statement, sqlite3_bind_null(statement->handle, statement->next));
}

char *store_clean_text(const char *value)
{
    struct text text = TEXT_INIT;

    if (text_is_utf8(value, strlen(value)))
        text_append(&text, value);
    else
        text_append_printable(&text, value, strlen(value));
    return text_steal(&text);
}

void statement_text(struct statement *statement, const char *value)
{
    char *clean;

    if (!value) {
        statement_null(statement);
    } else if (text_is_utf8(value, strlen(value))) {
        bound(statement,
              sqlite3_bind_text(statement->handle, statement->next, value, -1, SQLITE_STATIC));
    } else {
        clean = store_clean_text(value);
        bound(statement, clean ? sqlite3_bind_text(statement->handle, statement->next, clean, -1,
                                                   SQLITE_TRANSIENT)
                               : SQLITE_NOMEM);
        free(clean);
    }
}

void statement_blob(struct statement *statement, const void *bytes, size_t length)
{
    bound(statement,
          sqlite3_bind_blob64(statement->handle, statement->next, bytes, length, SQLITE_STATIC));
}

void statement_digest(struct statement *statement, const struct digest *digest)
{
    if (digest)
        bound(statement, sqlite3_bind_blob(statement->handle, statement->next, digest->bytes,
                                           DIGEST_SIZE, SQLITE_TRANSIENT));
    else
        statement_null(statement);
}

/* What a statement does, as a phrase for messages: its verb and the table it names. */
static const char *phrase(const struct statement *statement)
{
    return sqlite3_stmt_readonly(statement->handle) ? "reading" : "storing";
}

enum status statement_step(struct statement *statement, bool *ret_row, struct error *err)
{
    int rc = statement->rc;

    if (rc == SQLITE_OK)
        rc = sqlite3_step(statement->handle);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        return store_error(statement->store, rc, phrase(statement), err);
    *ret_row = rc == SQLITE_ROW;
    return STATUS_OK;
}

bool statement_next(struct statement *statement, enum status *ret_status, struct error *err)
{
    bool row = false;

    *ret_status = statement_step(statement, &row, err);
    return *ret_status == STATUS_OK && row;
}

enum status statement_run(struct statement *statement, int64_t *ret_id, struct error *err)
{
    bool row = false;
    enum status status = statement_step(statement, &row, err);

    if (status == STATUS_OK && ret_id)
        *ret_id = sqlite3_last_insert_rowid(statement->store->db);
    statement_end(statement);
    return status;
}

void statement_end(struct statement *statement)
{
    if (!statement->handle)
        return;
    sqlite3_reset(statement->handle);
    sqlite3_clear_bindings(statement->handle);
    statement->handle = NULL;
}

enum status statement_read_digest(struct statement *statement, int column, struct digest *ret,
                                  struct error *err)
{
    const void *bytes = sqlite3_column_blob(statement->handle, column);

    if (!bytes || sqlite3_column_bytes(statement->handle, column) != DIGEST_SIZE)
        return error_no_memory(err);
    memcpy(ret->bytes, bytes, DIGEST_SIZE);
    return STATUS_OK;
}

enum status statement_single(struct statement *statement, int64_t *ret, struct error *err)
{
    bool row = false;
    enum status status = statement_step(statement, &row, err);

    if (status == STATUS_OK && !row)
        status = STATUS_NOT_FOUND;
    if (status == STATUS_OK)
        *ret = sqlite3_column_int64(statement->handle, 0);
    statement_end(statement);
    return status;
}

enum status store_ask(struct store *store, const char *sql, int64_t parameter, int64_t *ret,
                      struct error *err)
{
    struct statement statement;

    TRY(statement_begin(store, sql, &statement, err));
    if (sqlite3_bind_parameter_count(statement.handle) > 0)
        statement_i64(&statement, parameter);
    return statement_single(&statement, ret, err);
}

/* ---- transactions ---- */

static enum status execute(struct store *store, const char *sql, const char *doing,
                           struct error *err)
{
    CLEANUP(statement_end) struct statement statement = {0};
    int rc;

    TRY(statement_begin(store, sql, &statement, err));

    rc = sqlite3_step(statement.handle);
    if (rc != SQLITE_DONE)
        TRY(store_error(store, rc, doing, err));
    return STATUS_OK;
}

static const char sql_begin[] = "BEGIN IMMEDIATE";
static const char sql_commit[] = "COMMIT";
static const char sql_rollback[] = "ROLLBACK";
static const char sql_savepoint[] = "SAVEPOINT change";
static const char sql_release[] = "RELEASE change";
static const char sql_undo[] = "ROLLBACK TO change";

static enum status begin(struct store *store, struct error *err)
{
    /* Left over only when an earlier rollback itself failed. */
    if (!sqlite3_get_autocommit(store->db))
        execute(store, sql_rollback, "", NULL);
    return execute(store, sql_begin, "waiting to write", err);
}

static enum status commit(struct store *store, struct error *err)
{
    enum status status = execute(store, sql_commit, "committing", err);

    if (status != STATUS_OK && !sqlite3_get_autocommit(store->db))
        execute(store, sql_rollback, "", NULL);
    return status;
}

enum status store_snapshot_begin(struct store *store, struct error *err)
{
    if (!sqlite3_get_autocommit(store->db))
        execute(store, sql_rollback, "", NULL);
    return execute(store, "BEGIN", "reading", err);
}

void store_snapshot_end(struct store *store)
{
    if (!sqlite3_get_autocommit(store->db))
        execute(store, sql_rollback, "", NULL);
}

enum status store_change_begin(struct store *store, struct error *err)
{
    if (!store->in_batch)
        return begin(store, err);
    if (store->batch_lost)
        return error_set(err, STATUS_IO,
                         "%s: an earlier failure rolled this batch back; end it and start again",
                         store->path);
    return execute(store, sql_savepoint, "storing", err);
}

enum status store_change_end(struct store *store, enum status result, struct error *err)
{
    if (result == STATUS_OK && !store->in_batch)
        return commit(store, err);
    if (result == STATUS_OK) {
        result = execute(store, sql_release, "storing", err);
        if (result == STATUS_OK)
            return STATUS_OK;
    }
    if (!store->in_batch) {
        if (!sqlite3_get_autocommit(store->db))
            execute(store, sql_rollback, "", NULL);
    } else if (sqlite3_get_autocommit(store->db) ||
               execute(store, sql_undo, "", NULL) != STATUS_OK ||
               execute(store, sql_release, "", NULL) != STATUS_OK) {
        store->batch_lost = true;
    }
    return result;
}

enum status store_batch_begin(struct store *store, struct error *err)
{
    if (store->in_batch)
        return error_set(err, STATUS_INTERNAL, "a batch is open already");
    TRY(begin(store, err));
    store->in_batch = true;
    store->batch_lost = false;
    return STATUS_OK;
}

enum status store_batch_end(struct store *store, bool commit_it, struct error *err)
{
    bool lost = store->batch_lost;

    if (!store->in_batch)
        return error_set(err, STATUS_INTERNAL, "no batch is open");
    store->in_batch = false;
    store->batch_lost = false;
    if (commit_it && !lost)
        return commit(store, err);
    if (!sqlite3_get_autocommit(store->db))
        execute(store, sql_rollback, "", NULL);
    if (commit_it)
        return error_set(err, STATUS_IO,
                         "%s: an earlier failure rolled this batch back; nothing of it is stored",
                         store->path);
    return STATUS_OK;
}
