#include "results/ledger.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "results/ledger_leaf.h"
#include "results/store_internal.h"

/* A read of consecutive leaves; asked for another place it starts anew. */
struct leaf_reader {
    struct store *store;
    struct statement statement;
    uint64_t next;
    struct error err;
};

static bool read_leaf(void *context, uint64_t index, struct digest *ret)
{
    struct leaf_reader *reader = context;
    const void *bytes;
    bool row = false;

    if (!reader->statement.handle || index != reader->next) {
        statement_end(&reader->statement);
        if (statement_begin(reader->store,
                            "SELECT leaf, digest FROM ledger WHERE leaf >= ?1 ORDER BY leaf",
                            &reader->statement, &reader->err) != STATUS_OK)
            return false;
        statement_i64(&reader->statement, (int64_t)index);
    }
    if (statement_step(&reader->statement, &row, &reader->err) != STATUS_OK || !row ||
        sqlite3_column_int64(reader->statement.handle, 0) != (int64_t)index)
        return false;
    bytes = sqlite3_column_blob(reader->statement.handle, 1);
    if (!bytes || sqlite3_column_bytes(reader->statement.handle, 1) != DIGEST_SIZE)
        return false;
    memcpy(ret->bytes, bytes, DIGEST_SIZE);
    reader->next = index + 1;
    return true;
}

enum status ledger_prove(struct store *store, int64_t leaf, int64_t size, struct digest *ret,
                         size_t *ret_count, struct error *err)
{
    struct leaf_reader reader = {.store = store, .err = ERROR_INIT};
    int count = leaf < 0 || size < 0
                    ? -1
                    : merkle_prove((uint64_t)leaf, (uint64_t)size, read_leaf, &reader, ret);

    statement_end(&reader.statement);
    if (count < 0)
        return error_set(err, STATUS_NOT_FOUND,
                         "%s: no proof of leaf %" PRId64 " in a ledger of %" PRId64 " leaves%s%s",
                         store->path, leaf, size, reader.err.message[0] ? ": " : "",
                         reader.err.message);
    *ret_count = (size_t)count;
    return STATUS_OK;
}

static enum status not_found(struct store *store, int64_t leaf, struct error *err)
{
    return error_set(err, STATUS_NOT_FOUND,
                     "%s: the ledger has no leaf %" PRId64 ", or its row is "
                     "gone",
                     store->path, leaf);
}

/* Steps a statement of one text value. */
static enum status single_text(struct store *store, const char *sql, int64_t leaf, char **ret,
                               struct error *err)
{
    sqlite3_stmt *select = NULL;
    const char *text;
    enum status status = STATUS_OK;
    int rc = sqlite3_prepare_v2(store->db, sql, -1, &select, NULL);

    if (rc == SQLITE_OK)
        rc = sqlite3_bind_int64(select, 1, leaf);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(select);
    text = rc == SQLITE_ROW ? (const char *)sqlite3_column_text(select, 0) : NULL;
    if (text)
        *ret = text_format("%s", text);
    if (text && !*ret)
        status = error_set(err, STATUS_NO_MEMORY, "out of memory");
    else if (!text)
        status = rc == SQLITE_DONE || rc == SQLITE_ROW ? not_found(store, leaf, err)
                                                       : store_error(store, rc, "reading", err);
    sqlite3_finalize(select);
    return status;
}

enum status ledger_leaf_data(struct store *store, int64_t leaf, char **ret, struct error *err)
{
    char *table = NULL;
    struct text sql;
    enum status status =
        single_text(store, "SELECT table_name FROM ledger WHERE leaf = ?1", leaf, &table, err);

    if (status != STATUS_OK)
        return status;
    text_init(&sql);
    text_append(&sql, "SELECT ");
    status = ledger_leaf_call(store->db, "assay_leaf_data", table, "?1", "t.", &sql, err);
    text_append_format(&sql, " FROM %s t WHERE ", table);
    if (status == STATUS_OK)
        status = ledger_leaf_key(store->db, table, "t.", &sql, err);
    text_append(&sql, " = (SELECT key FROM ledger WHERE leaf = ?1)");
    if (status == STATUS_OK && !text_ok(&sql))
        status = error_set(err, STATUS_NO_MEMORY, "out of memory");
    if (status == STATUS_OK)
        status = single_text(store, sql.data, leaf, ret, err);
    text_finish(&sql);
    free(table);
    return status;
}

enum status ledger_salt(struct store *store, int64_t leaf, const char *column, struct digest *ret,
                        struct error *err)
{
    struct statement statement;
    bool row = false;
    enum status status =
        statement_begin(store, "SELECT secret FROM ledger_origin WHERE id = 1", &statement, err);

    if (status != STATUS_OK)
        return status;
    status = statement_step(&statement, &row, err);
    if (status == STATUS_OK && (!row || sqlite3_column_bytes(statement.handle, 0) != 32))
        status = error_set(err, STATUS_CORRUPT, "%s: the ledger has no origin", store->path);
    if (status == STATUS_OK)
        *ret = ledger_leaf_salt(sqlite3_column_blob(statement.handle, 0), leaf, column);
    statement_end(&statement);
    return status;
}
