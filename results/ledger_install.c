#include "results/ledger_leaf.h"

#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "harness/core/clock.h"

static enum status failed(sqlite3 *db, struct error *err)
{
    return error_set(err, sqlite3_errcode(db) == SQLITE_NOMEM ? STATUS_NO_MEMORY : STATUS_IO,
                     "preparing the ledger: %s", sqlite3_errmsg(db));
}

static enum status run_text(sqlite3 *db, const struct text *sql, struct error *err)
{
    if (!text_ok(sql))
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    return sqlite3_exec(db, sql->data, NULL, NULL, NULL) == SQLITE_OK ? STATUS_OK : failed(db, err);
}

/* `end` of the messages: "changed" or "deleted". */
static void append_refusal(struct text *sql, const char *table, const char *suffix,
                           const char *event, const char *end)
{
    text_append_format(sql,
                       "DROP TRIGGER IF EXISTS %s%s;\n"
                       "CREATE TRIGGER %s%s BEFORE %s ON %s BEGIN\n"
                       "    SELECT RAISE(ABORT, '%s is evidence: rows are added, never %s');\n"
                       "END;\n",
                       table, suffix, table, suffix, event, table, table, end);
}

static enum status append_entry(sqlite3 *db, const char *table, struct text *sql, struct error *err)
{
    enum status status;

    text_append_format(sql,
                       "DROP TRIGGER IF EXISTS %s_ledger;\n"
                       "CREATE TRIGGER %s_ledger AFTER INSERT ON %s BEGIN\n"
                       "    INSERT INTO ledger (leaf, table_name, key, digest)\n"
                       "    SELECT n, '%s', ",
                       table, table, table, table);
    status = ledger_leaf_key(db, table, "NEW.", sql, err);
    text_append(sql, ",\n        ");
    if (status == STATUS_OK)
        status = ledger_leaf_call(db, "assay_leaf", table, "n", "NEW.", sql, err);
    text_append(sql, "\n    FROM (SELECT coalesce(max(leaf) + 1, 0) AS n FROM ledger);\nEND;\n");
    return status;
}

static enum status install_triggers(sqlite3 *db, const char *table, struct error *err)
{
    enum status status = STATUS_OK;
    struct text sql;

    text_init(&sql);
    append_refusal(&sql, table, "_no_update", "UPDATE", "changed");
    append_refusal(&sql, table, "_no_delete", "DELETE", "deleted");
    if (!ledger_is_outside(table))
        status = append_entry(db, table, &sql, err);
    if (status == STATUS_OK)
        status = run_text(db, &sql, err);
    text_finish(&sql);
    return status;
}

/* The tables' names with blanks between, heap: triggers cannot be made while they are being read.
 */
static enum status list_tables(sqlite3 *db, char **ret, struct error *err)
{
    sqlite3_stmt *tables = NULL;
    const char *names = NULL;

    if (sqlite3_prepare_v2(db,
                           "SELECT group_concat(name, ' ') FROM sqlite_schema WHERE type = 'table'"
                           " AND name NOT LIKE 'sqlite!_%' ESCAPE '!'",
                           -1, &tables, NULL) == SQLITE_OK &&
        sqlite3_step(tables) == SQLITE_ROW)
        names = (const char *)sqlite3_column_text(tables, 0);
    *ret = names ? strdup(names) : NULL;
    sqlite3_finalize(tables);
    return *ret    ? STATUS_OK
           : names ? error_set(err, STATUS_NO_MEMORY, "out of memory")
                   : failed(db, err);
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
                       " SELECT 1, 'assay-log/%s', x'%s', %lld"
                       " WHERE NOT EXISTS (SELECT 1 FROM main.ledger_origin)",
                       hex, secret_hex, (long long)clock_utc_ns());
    status = run_text(db, &sql, err);
    text_finish(&sql);
    sodium_memzero(secret, sizeof(secret));
    sodium_memzero(secret_hex, sizeof(secret_hex));
    return status;
}

enum status ledger_install(sqlite3 *db, const char *path, struct error *err)
{
    char *names = NULL, *rest = NULL;
    enum status status = list_tables(db, &names, err);

    for (char *table = names ? strtok_r(names, " ", &rest) : NULL; table && status == STATUS_OK;
         table = strtok_r(NULL, " ", &rest))
        status = install_triggers(db, table, err);
    free(names);
    if (status == STATUS_OK)
        status = insert_origin(db, err);
    if (status != STATUS_OK)
        error_prefix(err, "%s", path);
    return status;
}
