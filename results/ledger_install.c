#include "results/ledger_leaf.h"

#include <stdio.h>
#include <stdlib.h>

#include <sodium.h>

#include "harness/core/clock.h"

#define NEXT_LEAF "(SELECT coalesce(max(leaf) + 1, 0) AS n FROM ledger)"

static enum status failed(sqlite3 *db, struct error *err)
{
    return error_set(err, sqlite3_errcode(db) == SQLITE_NOMEM ? STATUS_NO_MEMORY : STATUS_IO,
                     "preparing the ledger: %s", sqlite3_errmsg(db));
}

static enum status run_text(sqlite3 *db, struct text *sql, struct error *err)
{
    enum status status = STATUS_OK;

    if (!text_ok(sql))
        status = error_set(err, STATUS_NO_MEMORY, "out of memory");
    else if (sqlite3_exec(db, sql->data, NULL, NULL, NULL) != SQLITE_OK)
        status = failed(db, err);
    text_clear(sql);
    return status;
}

static enum status has_rows(sqlite3 *db, const char *sql, bool *ret, struct error *err)
{
    sqlite3_stmt *select = NULL;
    int rc = sqlite3_prepare_v2(db, sql, -1, &select, NULL);

    if (rc == SQLITE_OK)
        rc = sqlite3_step(select);
    sqlite3_finalize(select);
    *ret = rc == SQLITE_ROW;
    return rc == SQLITE_ROW || rc == SQLITE_DONE ? STATUS_OK : failed(db, err);
}

static enum status has_table(sqlite3 *db, const char *table, bool *ret, struct error *err)
{
    char sql[96];

    snprintf(sql, sizeof(sql), "SELECT 1 FROM main.sqlite_schema WHERE name = '%s'", table);
    return has_rows(db, sql, ret, err);
}

static enum status append_trigger(sqlite3 *db, const char *table, struct text *sql,
                                  struct error *err)
{
    bool forms = false; /* since schema version 7 */
    enum status status = has_table(db, "leaf_form", &forms, err);

    text_append_format(sql,
                       "CREATE TRIGGER %s_ledger AFTER INSERT ON %s BEGIN\n"
                       "    INSERT INTO ledger (leaf, table_name, key, digest)\n"
                       "    SELECT n, '%s', ",
                       table, table, table);
    if (status == STATUS_OK)
        status = ledger_leaf_key(db, table, "NEW.", sql, err);
    text_append(sql, ",\n        ");
    if (status == STATUS_OK)
        status = ledger_leaf_call(db, forms ? "assay_leaf_2" : "assay_leaf", table, "n", "NEW.",
                                  sql, err);
    text_append(sql, "\n    FROM " NEXT_LEAF ";\nEND");
    return status;
}

static enum status install_trigger(sqlite3 *db, const char *table, struct error *err)
{
    struct text sql;
    enum status status;

    text_init(&sql);
    text_append_format(&sql, "DROP TRIGGER IF EXISTS %s_ledger", table);
    status = run_text(db, &sql, err);
    if (status == STATUS_OK)
        status = append_trigger(db, table, &sql, err);
    if (status == STATUS_OK)
        status = run_text(db, &sql, err);
    text_finish(&sql);
    return status;
}

/*
 * Enters the rows that a table has, in the order of its key. Only keys are numbered and sorted, so
 * that large rows are read one at a time.
 */
static enum status enter_rows(sqlite3 *db, const char *table, struct error *err)
{
    struct text sql, columns;
    enum status status;

    text_init(&sql);
    text_init(&columns);
    status = ledger_leaf_columns(db, table, &columns, err);
    if (status != STATUS_OK)
        goto done;
    text_append_format(&sql,
                       "INSERT INTO ledger (leaf, table_name, key, digest)"
                       " SELECT q.entry_leaf, '%s', ",
                       table);
    status = ledger_leaf_key(db, table, "t.", &sql, err);
    text_append(&sql, ", ");
    if (status == STATUS_OK)
        status = ledger_leaf_call(db, "assay_leaf", table, "q.entry_leaf", "t.", &sql, err);
    text_append_format(&sql,
                       " FROM (SELECT %s, (SELECT n FROM " NEXT_LEAF
                       ") + row_number() OVER (ORDER BY %s) - 1 AS entry_leaf FROM %s) q"
                       " JOIN %s t USING (%s) ORDER BY q.entry_leaf",
                       columns.data, columns.data, table, table, columns.data);
    if (status == STATUS_OK)
        status = run_text(db, &sql, err);
done:
    text_finish(&sql);
    text_finish(&columns);
    return status;
}

static enum status each_table(sqlite3 *db,
                              enum status (*act)(sqlite3 *, const char *, struct error *),
                              struct error *err)
{
    sqlite3_stmt *tables = NULL;
    enum status status = STATUS_OK;
    char **names = NULL;
    size_t count = 0;
    int rc =
        sqlite3_prepare_v2(db, "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY rowid",
                           -1, &tables, NULL);

    while (rc == SQLITE_OK && (rc = sqlite3_step(tables)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(tables, 0);
        char **grown = realloc(names, (count + 1) * sizeof(*names));

        rc = SQLITE_NOMEM;
        if (!grown)
            break;
        names = grown;
        names[count] = name ? text_format("%s", name) : NULL;
        if (!names[count])
            break;
        count++;
        rc = SQLITE_OK;
    }
    sqlite3_finalize(tables);
    if (rc != SQLITE_DONE)
        status = rc == SQLITE_NOMEM ? error_set(err, STATUS_NO_MEMORY, "out of memory")
                                    : failed(db, err);
    for (size_t i = 0; i < count; i++) {
        if (status == STATUS_OK && !ledger_is_outside(names[i]))
            status = act(db, names[i], err);
        free(names[i]);
    }
    free(names);
    return status;
}

static enum status insert_origin(sqlite3 *db, struct error *err)
{
    uint8_t secret[32], id[16];
    char hex[33];
    struct text sql;
    char secret_hex[65];
    enum status status;

    if (sodium_init() < 0)
        return error_set(err, STATUS_INTERNAL, "libsodium does not start");
    randombytes_buf(secret, sizeof(secret));
    randombytes_buf(id, sizeof(id));
    sodium_bin2hex(hex, sizeof(hex), id, sizeof(id));
    sodium_bin2hex(secret_hex, sizeof(secret_hex), secret, sizeof(secret));
    text_init(&sql);
    text_append_format(&sql,
                       "INSERT INTO ledger_origin (id, name, secret, created_utc_ns)"
                       " VALUES (1, 'assay-log/%s', x'%s', %lld)",
                       hex, secret_hex, (long long)clock_utc_ns());
    status = run_text(db, &sql, err);
    text_finish(&sql);
    sodium_memzero(secret, sizeof(secret));
    sodium_memzero(secret_hex, sizeof(secret_hex));
    return status;
}

static enum status enter_old_rows(sqlite3 *db, const char *table, struct error *err)
{
    /* The origin and the form have been entered by their triggers. */
    if (!sqlite3_stricmp(table, "ledger_origin") || !sqlite3_stricmp(table, "leaf_form"))
        return STATUS_OK;
    return enter_rows(db, table, err);
}

/* Form 2 begins with this very leaf; before all others in a ledger that begins. */
static enum status begin_form(sqlite3 *db, struct error *err)
{
    bool forms = false, begun = false;
    enum status status = has_table(db, "leaf_form", &forms, err);

    if (status == STATUS_OK && forms)
        status = has_rows(db, "SELECT 1 FROM main.leaf_form", &begun, err);
    if (status != STATUS_OK || !forms || begun)
        return status;
    return sqlite3_exec(db, "INSERT INTO leaf_form (form, first_leaf) SELECT 2, n FROM " NEXT_LEAF,
                        NULL, NULL, NULL) == SQLITE_OK
               ? STATUS_OK
               : failed(db, err);
}

enum status ledger_install(sqlite3 *db, const char *path, struct error *err)
{
    bool has_ledger = false, has_origin = false;
    enum status status = has_table(db, "ledger_origin", &has_ledger, err);

    if (status != STATUS_OK || !has_ledger)
        return status;
    status = each_table(db, install_trigger, err);
    if (status == STATUS_OK)
        status = begin_form(db, err);
    if (status == STATUS_OK)
        status = has_rows(db, "SELECT 1 FROM main.ledger_origin", &has_origin, err);
    if (status == STATUS_OK && !has_origin) {
        status = insert_origin(db, err);
        if (status == STATUS_OK)
            status = each_table(db, enter_old_rows, err);
    }
    if (status != STATUS_OK)
        error_prefix(err, "%s", path);
    return status;
}
