/* The SQL that makes leaves of rows, from the tables of a database. */
#include "results/ledger_leaf.h"

#include <string.h>

static enum status no_memory(struct error *err)
{
    return error_set(err, STATUS_NO_MEMORY, "out of memory");
}

static enum status failed(sqlite3 *db, struct error *err)
{
    return error_set(err, sqlite3_errcode(db) == SQLITE_NOMEM ? STATUS_NO_MEMORY : STATUS_IO,
                     "reading the schema: %s", sqlite3_errmsg(db));
}

/* Calls `each` with every row of pragma_table_info(table), ordered as asked. */
static enum status each_column(sqlite3 *db, const char *sql, const char *table, sqlite3_stmt **ret,
                               struct error *err)
{
    if (sqlite3_prepare_v2(db, sql, -1, ret, NULL) != SQLITE_OK ||
        sqlite3_bind_text(*ret, 1, table, -1, SQLITE_STATIC) != SQLITE_OK) {
        sqlite3_finalize(*ret);
        *ret = NULL;
        return failed(db, err);
    }
    return STATUS_OK;
}

enum status ledger_leaf_call(sqlite3 *db, const char *function, const char *table, const char *leaf,
                             const char *prefix, struct text *out, struct error *err)
{
    sqlite3_stmt *columns;
    int rc;
    enum status status =
        each_column(db, "SELECT name FROM pragma_table_info(?1) ORDER BY name COLLATE BINARY",
                    table, &columns, err);

    if (status != STATUS_OK)
        return status;
    text_append_format(out, "%s(%s, '%s'", function, leaf, table);
    while ((rc = sqlite3_step(columns)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(columns, 0);

        text_append_format(out, ", '%s', %s%s", name ? name : "", prefix, name ? name : "");
    }
    text_append_char(out, ')');
    if (rc != SQLITE_DONE)
        status = failed(db, err);
    sqlite3_finalize(columns);
    return status == STATUS_OK && !text_ok(out) ? no_memory(err) : status;
}

enum status ledger_leaf_key(sqlite3 *db, const char *table, const char *prefix, struct text *out,
                            struct error *err)
{
    sqlite3_stmt *columns;
    int rc, count = 0;
    enum status status =
        each_column(db, "SELECT name, type FROM pragma_table_info(?1) WHERE pk > 0 ORDER BY pk",
                    table, &columns, err);

    if (status != STATUS_OK)
        return status;
    while ((rc = sqlite3_step(columns)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(columns, 0);
        const char *type = (const char *)sqlite3_column_text(columns, 1);
        bool blob = type && strcmp(type, "BLOB") == 0;

        text_append_format(out, "%s%s%s%s%s", count++ ? " || '/' || " : "",
                           blob ? "lower(hex(" : "", prefix, name ? name : "", blob ? "))" : "");
    }
    if (rc != SQLITE_DONE)
        status = failed(db, err);
    else if (count == 0)
        status = error_set(err, STATUS_INTERNAL, "table %s has no primary key", table);
    sqlite3_finalize(columns);
    return status == STATUS_OK && !text_ok(out) ? no_memory(err) : status;
}

enum status ledger_leaf_columns(sqlite3 *db, const char *table, struct text *out, struct error *err)
{
    sqlite3_stmt *columns;
    int rc, count = 0;
    enum status status =
        each_column(db, "SELECT name FROM pragma_table_info(?1) WHERE pk > 0 ORDER BY pk", table,
                    &columns, err);

    if (status != STATUS_OK)
        return status;
    while ((rc = sqlite3_step(columns)) == SQLITE_ROW)
        text_append_format(out, "%s%s", count++ ? ", " : "", sqlite3_column_text(columns, 0));
    if (rc != SQLITE_DONE)
        status = failed(db, err);
    sqlite3_finalize(columns);
    return status == STATUS_OK && !text_ok(out) ? no_memory(err) : status;
}
