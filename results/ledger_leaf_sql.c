/* The SQL that makes leaves of rows, from the tables of a database. */
#include "results/ledger_leaf.h"

/* Appends the text that `sql` gives of the table ?1 and the prefix ?2. */
static enum status append_answer(sqlite3 *db, const char *sql, const char *table,
                                 const char *prefix, struct text *out, struct error *err)
{
    sqlite3_stmt *select = NULL;
    enum status status = STATUS_OK;
    int rc = sqlite3_prepare_v2(db, sql, -1, &select, NULL);

    if (rc == SQLITE_OK)
        rc = sqlite3_bind_text(select, 1, table, -1, SQLITE_STATIC);
    if (rc == SQLITE_OK && prefix)
        rc = sqlite3_bind_text(select, 2, prefix, -1, SQLITE_STATIC);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(select);
    if (rc != SQLITE_ROW)
        status = error_set(err, rc == SQLITE_NOMEM ? STATUS_NO_MEMORY : STATUS_IO,
                           "reading the schema: %s", sqlite3_errmsg(db));
    else if (sqlite3_column_type(select, 0) == SQLITE_NULL)
        status = error_set(err, STATUS_INTERNAL, "table %s has no primary key", table);
    else
        text_append(out, (const char *)sqlite3_column_text(select, 0));
    sqlite3_finalize(select);
    return status == STATUS_OK && !text_ok(out) ? error_set(err, STATUS_NO_MEMORY, "out of memory")
                                                : status;
}

enum status ledger_leaf_call(sqlite3 *db, const char *function, const char *table, const char *leaf,
                             const char *prefix, struct text *out, struct error *err)
{
    enum status status;

    text_append_format(out, "%s(%s, '%s', ", function, leaf, table);
    status = append_answer(db,
                           "SELECT group_concat('''' || name || ''', ' || ?2 || name, ', ') FROM"
                           " (SELECT name FROM pragma_table_info(?1) ORDER BY name COLLATE BINARY)",
                           table, prefix, out, err);
    text_append_char(out, ')');
    return status;
}

enum status ledger_leaf_key(sqlite3 *db, const char *table, const char *prefix, struct text *out,
                            struct error *err)
{
    return append_answer(
        db,
        "SELECT group_concat(CASE type WHEN 'BLOB' THEN 'lower(hex(' || ?2 || name || '))'"
        " ELSE ?2 || name END, ' || ''/'' || ') FROM"
        " (SELECT name, type FROM pragma_table_info(?1) WHERE pk > 0 ORDER BY pk)",
        table, prefix, out, err);
}

enum status ledger_leaf_columns(sqlite3 *db, const char *table, struct text *out, struct error *err)
{
    return append_answer(db,
                         "SELECT group_concat(name, ', ') FROM"
                         " (SELECT name FROM pragma_table_info(?1) WHERE pk > 0 ORDER BY pk)",
                         table, NULL, out, err);
}
