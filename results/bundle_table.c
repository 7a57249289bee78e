#include "results/bundle_table.h"

#include <stdio.h>
#include <string.h>

#include "harness/core/text.h"

/* Tables whose rows are stored once, by what makes two of them the same. */
static const struct {
    const char *table, *sql; /* gives the id; parameters are the columns named, in this order */
    const char *columns[10];
} shared[] = {
    {"declaration",
     "SELECT id FROM declaration WHERE digest = ?1 AND kind = ?2 AND name = ?3 AND version = ?4"
     " AND origin = ?5",
     {"digest", "kind", "name", "version", "origin"}},
    {"reading",
     "SELECT id FROM reading WHERE hash = ?1 AND name = ?2 AND body = ?3",
     {"hash", "name", "body"}},
    {"reading_set", "SELECT id FROM reading_set WHERE digest = ?1", {"digest"}},
    /* All columns: where one is withheld, the digest cannot be checked and could be anything. */
    {"device",
     "SELECT id FROM device WHERE digest = ?1 AND backend IS ?2 AND device_index IS ?3"
     " AND name IS ?4 AND vendor IS ?5 AND uuid IS ?6 AND type IS ?7 AND simulated IS ?8"
     " AND readings IS ?9",
     {"digest", "backend", "device_index", "name", "vendor", "uuid", "type", "simulated",
      "readings"}},
    {"component",
     "SELECT id FROM component WHERE digest = ?1 AND path IS ?2 AND kind IS ?3 AND version IS ?4"
     " AND build_id IS ?5 AND size IS ?6 AND sha256 IS ?7 AND missing_reason IS ?8",
     {"digest", "path", "kind", "version", "build_id", "size", "sha256", "missing_reason"}},
    {"stack", "SELECT id FROM stack WHERE digest = ?1", {"digest"}},
};
#define SHARED (sizeof(shared) / sizeof(shared[0]))

enum status bundle_failed(struct store *store, struct error *err)
{
    return store_error(store, sqlite3_extended_errcode(store->db), "taking in a bundle", err);
}

enum status bundle_prepare(struct store *store, const char *sql, sqlite3_stmt **ret,
                           struct error *err)
{
    return sqlite3_prepare_v3(store->db, sql, -1, SQLITE_PREPARE_PERSISTENT, ret, NULL) == SQLITE_OK
               ? STATUS_OK
               : bundle_failed(store, err);
}

/* The table whose id a column holds, followed through composite keys; "" when there is none. */
static void find_parent(sqlite3 *db, const char *table, const char *column, int depth, char ret[64])
{
    sqlite3_stmt *select = NULL;
    char parent[64] = "", to[64] = "";

    ret[0] = '\0';
    if (depth > 4 || sqlite3_prepare_v2(db,
                                        "SELECT \"table\", \"to\" FROM pragma_foreign_key_list(?1)"
                                        " WHERE \"from\" = ?2",
                                        -1, &select, NULL) != SQLITE_OK)
        return;
    sqlite3_bind_text(select, 1, table, -1, SQLITE_STATIC);
    sqlite3_bind_text(select, 2, column, -1, SQLITE_STATIC);
    if (sqlite3_step(select) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(select, 0);
        const char *target = (const char *)sqlite3_column_text(select, 1);

        snprintf(parent, sizeof(parent), "%s", name ? name : "");
        snprintf(to, sizeof(to), "%s", target ? target : "");
    }
    sqlite3_finalize(select);
    if (!strcmp(to, "id"))
        memcpy(ret, parent, 64);
    else if (parent[0])
        find_parent(db, parent, to, depth + 1, ret);
}

static enum status read_columns(struct store *store, struct bundle_table *table, struct error *err)
{
    sqlite3 *db = store->db;
    sqlite3_stmt *select = NULL;
    int rc = sqlite3_prepare_v2(db, "SELECT name, type, pk FROM pragma_table_info(?1)", -1, &select,
                                NULL);
    int keys = 0;

    table->id = table->key = -1;
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_text(select, 1, table->name, -1, SQLITE_STATIC);
    while (rc == SQLITE_OK && (rc = sqlite3_step(select)) == SQLITE_ROW &&
           table->column_count < BUNDLE_COLUMNS_MAX) {
        struct bundle_column *column = &table->columns[table->column_count];

        snprintf(column->name, sizeof(column->name), "%s",
                 (const char *)sqlite3_column_text(select, 0));
        column->is_blob = !strcmp((const char *)sqlite3_column_text(select, 1), "BLOB");
        find_parent(db, table->name, column->name, 0, column->parent);
        if (!strcmp(column->name, "id"))
            table->id = table->column_count;
        if (sqlite3_column_int(select, 2) > 0)
            table->key = keys++ == 0 ? table->column_count : -1;
        table->column_count++;
        rc = SQLITE_OK;
    }
    sqlite3_finalize(select);
    return rc == SQLITE_DONE ? STATUS_OK : bundle_failed(store, err);
}

enum status bundle_table_prepare(struct store *store, struct bundle_table *table, struct error *err)
{
    static const char *const parts[] = {"content", "reading_member", "stack_member",
                                        "component_package"};
    const char *find = NULL;
    struct text sql;
    enum status status = read_columns(store, table, err);

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        table->is_shared |= !strcmp(table->name, parts[i]);

    for (size_t i = 0; i < SHARED; i++)
        if (!strcmp(shared[i].table, table->name)) {
            table->same = shared[i].columns;
            find = shared[i].sql;
        }
    text_init(&sql);
    /* Rows stored once under their own digest, or part of what was here before, are kept. */
    text_append_format(&sql, "INSERT %sINTO main.%s VALUES (", table->id < 0 ? "OR IGNORE " : "",
                       table->name);
    for (int i = 0; i < table->column_count; i++)
        text_append_format(&sql, "%s?%d", i ? ", " : "", i + 1);
    text_append_char(&sql, ')');
    if (status == STATUS_OK && !text_ok(&sql))
        status = error_set(err, STATUS_NO_MEMORY, "no memory for a bundle");
    if (status == STATUS_OK)
        status = bundle_prepare(store, sql.data, &table->insert, err);
    if (status == STATUS_OK && find)
        status = bundle_prepare(store, find, &table->find, err);
    text_clear(&sql);
    text_append_format(&sql, "SELECT 1 FROM main.%s WHERE id = ?1", table->name);
    if (status == STATUS_OK && table->id >= 0)
        status = text_ok(&sql) ? bundle_prepare(store, sql.data, &table->taken, err)
                               : error_set(err, STATUS_NO_MEMORY, "no memory for a bundle");
    text_finish(&sql);
    return status;
}

void bundle_table_finish(struct bundle_table *table)
{
    sqlite3_finalize(table->insert);
    sqlite3_finalize(table->find);
    sqlite3_finalize(table->taken);
}
