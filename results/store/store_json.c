#include "results/store/store_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "harness/core/canonical.h"
#include "harness/core/cleanup.h"
#include "harness/core/clock.h"
#include "harness/core/text.h"

static enum status blob_to_json(sqlite3_stmt *handle, int column, json_t **ret)
{
    size_t length = (size_t)sqlite3_column_bytes(handle, column);
    const uint8_t *bytes = sqlite3_column_blob(handle, column);
    AUTO_FREE char *hex = malloc(2 * length + 1);

    if (!hex || (length > 0 && !bytes))
        return STATUS_NO_MEMORY;
    sodium_bin2hex(hex, 2 * length + 1, bytes, length);
    *ret = json_string(hex);
    return *ret ? STATUS_OK : STATUS_NO_MEMORY;
}

static enum status text_to_json(struct store *store, sqlite3_stmt *handle, int column,
                                const char *form, json_t **ret, struct error *err)
{
    const char *text = (const char *)sqlite3_column_text(handle, column);
    size_t length = (size_t)sqlite3_column_bytes(handle, column);

    if (!text)
        return STATUS_NO_MEMORY;
    if (strcmp(form, "json") == 0)
        return canonical_parse(text, length, store->path, ret, err);
    *ret = json_stringn(text, length);
    if (*ret)
        return STATUS_OK;
    /* jansson does not distinguish these two. */
    if (text_is_utf8(text, length))
        return STATUS_NO_MEMORY;
    return error_set(err, STATUS_CORRUPT, "%s: column %s holds text that is not UTF-8", store->path,
                     sqlite3_column_name(handle, column));
}

/*
 * Where the infinity of a column of that name is stored, ", table T, row R"; "" where no table has
 * it: it was computed from others.
 */
static char *find_infinity(sqlite3 *db, const char *column)
{
    sqlite3_stmt *tables = NULL, *rows = NULL;
    char *found = NULL, *sql;

    if (sqlite3_prepare_v2(db,
                           "SELECT m.name FROM sqlite_schema m JOIN pragma_table_info(m.name) c"
                           " WHERE m.type = 'table' AND c.type = 'REAL' AND c.name = ?1",
                           -1, &tables, NULL) == SQLITE_OK)
        sqlite3_bind_text(tables, 1, column, -1, SQLITE_STATIC);
    while (!found && sqlite3_step(tables) == SQLITE_ROW) {
        const char *table = (const char *)sqlite3_column_text(tables, 0);

        sql = sqlite3_mprintf("SELECT rowid FROM \"%w\" WHERE abs(\"%w\") = 9e999", table, column);
        if (sql && sqlite3_prepare_v2(db, sql, -1, &rows, NULL) == SQLITE_OK &&
            sqlite3_step(rows) == SQLITE_ROW)
            found = text_format(", table %s, row %lld", table,
                                (long long)sqlite3_column_int64(rows, 0));
        sqlite3_finalize(rows);
        sqlite3_free(sql);
    }
    sqlite3_finalize(tables);
    return found ? found : strdup("");
}

/* JSON has no infinity, and no record can have put one there; SQLite has no NaN. */
static enum status real_to_json(struct statement *statement, int column, json_t **ret,
                                struct error *err)
{
    const char *path = statement->store->path;
    const char *name = sqlite3_column_name(statement->handle, column);
    const double value = sqlite3_column_double(statement->handle, column);
    AUTO_FREE char *where = NULL;

    if (isfinite(value)) {
        *ret = json_real(value);
        return *ret ? STATUS_OK : STATUS_NO_MEMORY;
    }
    where = find_infinity(statement->store->db, name);
    error_set(err, STATUS_CORRUPT,
              "%s: column %s%s holds %sinfinity, which is no measurement: another program changed "
              "the file; `assay verify %s` tells more",
              path, name, where ? where : "", value < 0 ? "-" : "", store_word(statement->store));
    return STATUS_CORRUPT;
}

static enum status column_to_json(struct statement *statement, int column, const char *form,
                                  json_t **ret, struct error *err)
{
    sqlite3_stmt *handle = statement->handle;
    char iso[CLOCK_ISO_SIZE];

    switch (sqlite3_column_type(handle, column)) {
    case SQLITE_INTEGER:
        if (strcmp(form, "bool") == 0) {
            *ret = json_boolean(sqlite3_column_int64(handle, column) != 0);
        } else if (strcmp(form, "iso") == 0) {
            clock_format_iso(sqlite3_column_int64(handle, column), iso);
            *ret = json_string(iso);
        } else {
            *ret = json_integer(sqlite3_column_int64(handle, column));
        }
        break;
    case SQLITE_FLOAT:
        return real_to_json(statement, column, ret, err);
    case SQLITE_TEXT:
        return text_to_json(statement->store, handle, column, form, ret, err);
    case SQLITE_BLOB:
        return blob_to_json(handle, column, ret);
    default:
        *ret = json_null();
    }
    return *ret ? STATUS_OK : STATUS_NO_MEMORY;
}

static enum status row_json(struct statement *statement, json_t **ret, struct error *err)
{
    json_auto_t *row = json_object();
    const int count = sqlite3_column_count(statement->handle);

    for (int i = 0; row && i < count; i++) {
        const char *name = sqlite3_column_name(statement->handle, i);
        const size_t length = name ? strcspn(name, ":") : 0;
        json_t *value = NULL;
        char key[64];

        if (!name)
            return STATUS_NO_MEMORY;
        if (length >= sizeof(key))
            return error_set(err, STATUS_INTERNAL, "column name %s is too long", name);
        memcpy(key, name, length);
        key[length] = '\0';
        TRY(column_to_json(statement, i, name[length] ? name + length + 1 : "", &value, err));
        if (json_object_set_new(row, key, value) != 0)
            return STATUS_NO_MEMORY;
    }
    *ret = json_incref(row);
    return row ? STATUS_OK : STATUS_NO_MEMORY;
}

static enum status rows_json(struct statement *statement, json_t *rows, struct error *err)
{
    enum status status;

    while (statement_next(statement, &status, err)) {
        json_t *row = NULL;

        TRY(row_json(statement, &row, err));
        if (json_array_append_new(rows, row) != 0)
            return STATUS_NO_MEMORY;
    }
    return status;
}

enum status statement_rows_json(struct statement *statement, json_t **ret, struct error *err)
{
    json_auto_t *rows = json_array();
    const enum status status = rows ? rows_json(statement, rows, err) : STATUS_NO_MEMORY;

    if (status == STATUS_NO_MEMORY)
        error_set(err, status, "%s: out of memory", statement->store->path);
    statement_end(statement);
    if (status == STATUS_OK)
        *ret = json_incref(rows);
    return status;
}
