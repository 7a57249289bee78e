/*
 * The SQLite database that llama-bench -o sql fills: table `llama_bench`, or `test` of older
 * versions. The file is read by SQLite with its defences on: read-only, untrusted schema, short
 * values, a bounded number of steps.
 */
#include "results/formats/claims.h"

#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "harness/core/cleanup.h"
#include "harness/core/text.h"
#include "results/formats/import.h"
#include "results/formats/llama_bench_place.h"

#define STEPS_MAX 20000 /* of a thousand instructions each */
#define COLUMNS_MAX 256

static int count_steps(void *context)
{
    int *steps = context;

    return ++*steps > STEPS_MAX;
}

static enum status failed(sqlite3 *db, const char *path, struct error *err)
{
    int code = db ? sqlite3_errcode(db) : SQLITE_NOMEM;

    if (code == SQLITE_NOMEM)
        return error_no_memory(err);
    if (code == SQLITE_INTERRUPT)
        return error_set(err, STATUS_INVALID, "%s: takes too long to read", path);
    return error_set(err, STATUS_INVALID, "%s: %s", path, sqlite3_errmsg(db));
}

/* The URI of a file that no one writes to; heap. */
static char *uri_of(const char *path)
{
    struct text uri = TEXT_INIT;

    text_append(&uri, *path == '/' ? "file://" : "file:");
    for (const char *c = path; *c; c++) {
        if (strchr("?#%", *c))
            text_append_format(&uri, "%%%02X", (unsigned char)*c);
        else
            text_append_char(&uri, *c);
    }
    text_append(&uri, "?immutable=1");
    return text_steal(&uri);
}

static enum status open_file(const char *path, int *steps, sqlite3 **ret, struct error *err)
{
    AUTO_FREE char *uri = uri_of(path);
    sqlite3 *db = NULL;
    enum status status = STATUS_OK;
    int rc;

    if (!uri)
        return error_no_memory(err);
    rc = sqlite3_open_v2(uri, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX,
                         NULL);
    if (rc == SQLITE_OK) {
        sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 1 << 20);
        sqlite3_limit(db, SQLITE_LIMIT_COLUMN, COLUMNS_MAX);
        sqlite3_limit(db, SQLITE_LIMIT_EXPR_DEPTH, 50);
        sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
        sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
        sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
        sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
        sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
        sqlite3_progress_handler(db, 1000, count_steps, steps);
        rc = sqlite3_exec(db, "PRAGMA cell_size_check=ON", NULL, NULL, NULL);
    }
    if (rc != SQLITE_OK) {
        status = failed(db, path, err);
        sqlite3_close(db);
        return status;
    }
    *ret = db;
    return STATUS_OK;
}

/* "llama_bench" or "test", whichever is a table there. */
static enum status find_table(sqlite3 *db, const char *path, const char **ret, struct error *err)
{
    sqlite3_stmt *select = NULL;
    enum status status = STATUS_OK;
    int rc = sqlite3_prepare_v2(db,
                                "SELECT name = 'test' FROM sqlite_schema WHERE type = 'table'"
                                " AND name IN ('llama_bench', 'test')"
                                " AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name LIMIT 1",
                                -1, &select, NULL);

    if (rc == SQLITE_OK)
        rc = sqlite3_step(select);
    if (rc == SQLITE_ROW)
        *ret = sqlite3_column_int(select, 0) ? "SELECT * FROM test" : "SELECT * FROM llama_bench";
    else if (rc == SQLITE_DONE)
        status =
            error_set(err, STATUS_INVALID,
                      "%s: has no table llama_bench or test, so it is not llama-bench's", path);
    else
        status = failed(db, path, err);
    sqlite3_finalize(select);
    return status;
}

/* A column as JSON; NULL with `err` set. */
static json_t *column_json(sqlite3_stmt *row, int column, const char *where, struct error *err)
{
    const char *name = sqlite3_column_name(row, column);
    const char *text;
    int length;
    json_t *json = NULL;

    switch (sqlite3_column_type(row, column)) {
    case SQLITE_NULL:
        return json_null();
    case SQLITE_INTEGER:
        json = json_integer(sqlite3_column_int64(row, column));
        break;
    case SQLITE_FLOAT:
        json = json_real(sqlite3_column_double(row, column));
        break;
    case SQLITE_TEXT:
        text = (const char *)sqlite3_column_text(row, column);
        length = sqlite3_column_bytes(row, column);
        json = text ? json_stringn(text, (size_t)length) : NULL;
        break;
    default:
        break;
    }
    if (!json)
        error_set(err, STATUS_INVALID, "%s: %s: must be a finite number or UTF-8 text", where,
                  name ? name : "?");
    return json;
}

static enum status read_row(sqlite3_stmt *row, const char *path, struct import_claims *claims,
                            struct error *err)
{
    json_auto_t *fields = json_object();
    const size_t number = claims->count + claims->left_out_count + 1;
    char where[256];
    struct error why = ERROR_INIT;
    enum status status = STATUS_OK;

    snprintf(where, sizeof(where), "%.200s: result %zu", path, number);
    if (!fields)
        return error_no_memory(err);
    for (int i = 0; i < sqlite3_column_count(row) && status == STATUS_OK; i++) {
        const char *name = sqlite3_column_name(row, i);
        json_t *value = column_json(row, i, where, &why);

        if (!value || !name || json_object_set_new(fields, name, value) < 0)
            status = value ? error_set(&why, STATUS_INVALID, "%s: a column's name is no UTF-8 text",
                                       where)
                           : STATUS_INVALID;
    }
    if (status != STATUS_OK)
        status = import_claims_entry(claims, claims->count, status, &why, err);
    else if ((status = llama_bench_type_fields(fields, err)) == STATUS_OK)
        status = llama_bench_add(claims, path, where, fields, err);
    return status;
}

enum status llama_bench_read_sqlite(const char *path, const char *bytes, size_t length,
                                    struct import_claims *ret, struct error *err)
{
    struct import_claims claims = {0};
    sqlite3_stmt *select = NULL;
    sqlite3 *db = NULL;
    const char *sql = NULL;
    int steps = 0, rc = SQLITE_OK;
    enum status status = open_file(path, &steps, &db, err);

    (void)bytes;
    (void)length;
    TRY(status);
    status = find_table(db, path, &sql, err);
    if (status == STATUS_OK && sqlite3_prepare_v2(db, sql, -1, &select, NULL) != SQLITE_OK)
        status = failed(db, path, err);
    while (status == STATUS_OK && (rc = sqlite3_step(select)) == SQLITE_ROW)
        status = read_row(select, path, &claims, err);
    if (status == STATUS_OK && rc != SQLITE_DONE)
        status = failed(db, path, err);
    sqlite3_finalize(select);
    sqlite3_close(db);
    return import_claims_settle(&claims, status, path, "its table has no row", ret, err);
}
