#include <stdlib.h>
#include <string.h>

#include "harness/core/embed.h"
#include "results/ledger_leaf.h"
#include "results/verify_internal.h"

/* An empty database of the same version, made by our scripts. */
static enum status make_model(struct verify *verify, struct error *err)
{
    int count;
    const struct embed_file *scripts = store_migrations(&count);
    int version = (int)verify->summary->schema_version;

    if (sqlite3_open(":memory:", &verify->model) != SQLITE_OK ||
        ledger_leaf_register(verify->model) != SQLITE_OK)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    for (int i = 0; i < version && i < count; i++)
        if (sqlite3_exec(verify->model, scripts[i].text, NULL, NULL, NULL) != SQLITE_OK)
            return error_set(err, STATUS_INTERNAL, "schema version %d: %s", i + 1,
                             sqlite3_errmsg(verify->model));
    return ledger_install(verify->model, ":memory:", err);
}

/* Types are compared too: the schema table accepts a BLOB where text belongs. */
#define OBJECT_TEXT                                                                                \
    "typeof(type) || typeof(name) || typeof(tbl_name) || typeof(sql) || char(10) || tbl_name ||"   \
    " char(10) || coalesce(sql, '')"
#define ALL_OBJECTS "SELECT type, name, " OBJECT_TEXT " FROM sqlite_schema ORDER BY rowid"

/* Finds the statement of an object; ?1 its type, ?2 its name. */
static const char find_sql[] = "SELECT " OBJECT_TEXT " FROM sqlite_schema WHERE type = ?1 AND name"
                               " = ?2";

/* Whether the object of `row` (type, name, tbl_name and sql) is in a database, and the same there.
 */
static bool is_there(sqlite3_stmt *find, sqlite3_stmt *row, bool *ret_same)
{
    bool there;

    sqlite3_bind_text(find, 1, text_at(row, 0), -1, SQLITE_STATIC);
    sqlite3_bind_text(find, 2, text_at(row, 1), -1, SQLITE_STATIC);
    there = sqlite3_step(find) == SQLITE_ROW;
    *ret_same = there && strcmp(text_at(find, 0), text_at(row, 2)) == 0 &&
                sqlite3_column_bytes(find, 0) == sqlite3_column_bytes(row, 2);
    sqlite3_reset(find);
    return there;
}

static bool is_structure(const char *type)
{
    return strcmp(type, "table") == 0 || strcmp(type, "index") == 0;
}

/* Every object of ours must be there as we make it. */
static void compare_ours(struct verify *verify)
{
    sqlite3_stmt *ours = verify_prepare(verify, verify->model, ALL_OBJECTS, VERIFY_SCHEMA, NULL);
    sqlite3_stmt *find = verify_prepare(verify, verify->db, find_sql, VERIFY_SCHEMA, NULL);

    verify->readable = ours && find;
    while (ours && find && verify_step(verify, ours, VERIFY_SCHEMA, NULL)) {
        const char *type = text_at(ours, 0), *name = text_at(ours, 1);
        bool same, there = is_there(find, ours, &same);

        if (same)
            continue;
        verify_report(verify, VERIFY_WRONG, VERIFY_SCHEMA, name, NULL, "the %s %s %s", type, name,
                      there ? "is not the one that assay makes" : "is missing");
        if (is_structure(type))
            verify->readable = false;
    }
    sqlite3_finalize(ours);
    sqlite3_finalize(find);
}

/* And nothing else. */
static void compare_theirs(struct verify *verify)
{
    sqlite3_stmt *theirs = verify_prepare(verify, verify->db, ALL_OBJECTS, VERIFY_SCHEMA, NULL);
    sqlite3_stmt *find = verify_prepare(verify, verify->model, find_sql, VERIFY_SCHEMA, NULL);
    int reported = 0;

    while (theirs && find && reported < 100 && verify_step(verify, theirs, VERIFY_SCHEMA, NULL)) {
        struct text name;
        bool same;

        if (is_there(find, theirs, &same))
            continue;
        text_init(&name);
        text_append_printable(&name, text_at(theirs, 1), strlen(text_at(theirs, 1)));
        verify_report(verify, VERIFY_WRONG, VERIFY_SCHEMA, name.data, NULL,
                      "does not belong here: somebody added it");
        text_finish(&name);
        reported++;
    }
    sqlite3_finalize(theirs);
    sqlite3_finalize(find);
}

static enum status describe_key(struct verify *verify, struct verify_table *table,
                                struct error *err)
{
    sqlite3_stmt *columns = verify_prepare(verify, verify->model,
                                           "SELECT type FROM pragma_table_info(?1) WHERE pk > 0"
                                           " ORDER BY pk",
                                           VERIFY_SCHEMA, NULL);

    if (columns)
        sqlite3_bind_text(columns, 1, table->name, -1, SQLITE_STATIC);
    while (columns && table->part_count < VERIFY_KEY_PARTS_MAX &&
           verify_step(verify, columns, VERIFY_SCHEMA, NULL))
        table->parts[table->part_count++] = text_at(columns, 0)[0];
    sqlite3_finalize(columns);
    return table->part_count > 0 ? STATUS_OK
                                 : error_set(err, STATUS_INTERNAL, "%s has no key", table->name);
}

static int column_of(const struct verify_table *table, const char *name)
{
    int i = 0;

    while (i < table->shape.count && strcmp(table->shape.columns[i].name, name) != 0)
        i++;
    return i;
}

/* Rows without BLOBs are small, or few enough. */
static bool has_small_rows(struct verify *verify, const struct verify_table *table)
{
    sqlite3_stmt *large = verify_prepare(verify, verify->model,
                                         "SELECT 1 FROM pragma_table_info(?1) WHERE type NOT IN"
                                         " ('INTEGER', 'REAL', 'TEXT')",
                                         VERIFY_SCHEMA, NULL);
    bool found = false;

    if (large) {
        sqlite3_bind_text(large, 1, table->name, -1, SQLITE_STATIC);
        found = verify_step(verify, large, VERIFY_SCHEMA, NULL);
    }
    sqlite3_finalize(large);
    return large && !found;
}

static void append_read_ahead(const struct verify_table *table, struct text *sql)
{
    for (int i = 0; i < table->shape.count; i++)
        text_append_format(sql, "%s%s", i == 0 ? " AND " VERIFY_READ_AHEAD "(" : ", ",
                           table->shape.columns[i].name);
    text_append_char(sql, ')');
}

/*
 * WHERE that finds a row by the parts of its key, in the parameters from ?1 on. Of a table in
 * order, all rows from the first part on: the following rows are usually needed next, and a step is
 * cheaper than a search.
 */
static enum status append_where(struct verify *verify, struct verify_table *table, struct text *sql,
                                struct error *err)
{
    struct text columns;
    char *rest = NULL, *names;
    int count = 0;
    enum status status;

    text_init(&columns);
    status = ledger_leaf_columns(verify->model, table->name, &columns, err);
    names = status == STATUS_OK ? strdup(columns.data) : NULL;
    for (char *column = names ? strtok_r(names, ", ", &rest) : NULL;
         column && count < table->part_count; column = strtok_r(NULL, ", ", &rest)) {
        table->part_columns[count++] = column_of(table, column);
        if (count == 1 || !table->in_order)
            text_append_format(sql, "%s %s %s ?%d", count == 1 ? " WHERE" : " AND", column,
                               table->in_order ? ">=" : "=", count);
    }
    if (table->reads_ahead)
        append_read_ahead(table, sql);
    if (table->in_order)
        text_append_format(sql, " ORDER BY %s", columns.data);
    if (status == STATUS_OK && !names)
        status = error_set(err, STATUS_NO_MEMORY, "out of memory");
    free(names);
    text_finish(&columns);
    return status;
}

static enum status add_table(struct verify *verify, const char *name, struct error *err)
{
    struct verify_table *table = &verify->tables[verify->table_count];
    struct text select, scan;
    enum status status;

    if (verify->table_count == VERIFY_TABLES_MAX)
        return error_set(err, STATUS_INTERNAL, "too many tables");
    text_init(&select);
    text_init(&scan);
    table->name = strdup(name);
    if (!table->name)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    table->name_length = strlen(name);
    verify->table_count++;
    status = describe_key(verify, table, err);
    table->in_order = table->parts[0] == 'I';
    table->is_number = table->in_order && table->part_count == 1;
    table->reads_ahead = table->in_order && has_small_rows(verify, table);
    text_append(&select, "SELECT ");
    text_append(&scan, "SELECT ");
    if (status == STATUS_OK)
        status = ledger_leaf_shape_init(&table->shape, verify->model, name, &select, err);
    if (status == STATUS_OK)
        status = ledger_leaf_key(verify->model, name, "", &scan, err);
    text_append_format(&select, " FROM %s", name);
    text_append_format(&scan, " FROM %s NOT INDEXED", name);
    if (status == STATUS_OK)
        status = append_where(verify, table, &select, err);
    table->counted = table->is_number && strstr(scan.data, "SELECT id FROM") != NULL;
    table->last = INT64_MIN;
    table->select = text_steal(&select);
    table->scan = text_steal(&scan);
    if (status == STATUS_OK && (!table->select || !table->scan))
        status = error_set(err, STATUS_NO_MEMORY, "out of memory");
    return status;
}

/* FNV-1a. Names are this version's own, and few. */
static size_t place_of(const char *name)
{
    uint32_t hash = 2166136261;

    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 16777619;
    return (hash ^ hash >> 16) % VERIFY_INDEX_SIZE;
}

static void index_tables(struct verify *verify)
{
    for (size_t i = 0; i < verify->table_count; i++) {
        size_t place = place_of(verify->tables[i].name);

        while (verify->table_index[place])
            place = (place + 1) % VERIFY_INDEX_SIZE;
        verify->table_index[place] = (int16_t)(i + 1);
    }
}

const struct verify_table *verify_find_table(const struct verify *verify, const char *name)
{
    size_t place = name ? place_of(name) : 0;

    for (; name && verify->table_index[place]; place = (place + 1) % VERIFY_INDEX_SIZE) {
        const struct verify_table *table = &verify->tables[verify->table_index[place] - 1];

        if (!strcmp(table->name, name))
            return table;
    }
    return NULL;
}

static enum status list_tables(struct verify *verify, struct error *err)
{
    sqlite3_stmt *tables = verify_prepare(verify, verify->model,
                                          "SELECT name FROM sqlite_schema WHERE type = 'table'"
                                          " ORDER BY rowid",
                                          VERIFY_SCHEMA, NULL);
    enum status status = STATUS_OK;

    while (tables && status == STATUS_OK && verify_step(verify, tables, VERIFY_SCHEMA, NULL))
        if (!ledger_is_outside(text_at(tables, 0)))
            status = add_table(verify, text_at(tables, 0), err);
    sqlite3_finalize(tables);
    if (status != STATUS_OK)
        return status;
    index_tables(verify);
    return verify_references_describe(verify, err);
}

enum status verify_schema(struct verify *verify, struct error *err)
{
    enum status status = make_model(verify, err);

    if (status == STATUS_OK)
        status = list_tables(verify, err);
    if (status != STATUS_OK)
        return status;
    compare_ours(verify);
    compare_theirs(verify);
    if (!verify->readable)
        verify_report(verify, VERIFY_NOTE, VERIFY_SCHEMA, NULL, NULL,
                      "what follows the schema is not checked, because tables are not as expected");
    return STATUS_OK;
}

/* One line of PRAGMA integrity_check is one finding. */
enum status verify_structure(struct verify *verify, struct error *err)
{
    sqlite3_stmt *check =
        verify_prepare(verify, verify->db, "PRAGMA integrity_check(20)", VERIFY_FILE, NULL);

    (void)err;
    while (check && verify_step(verify, check, VERIFY_FILE, NULL)) {
        if (strcmp(text_at(check, 0), "ok") != 0)
            verify_report(verify, VERIFY_WRONG, VERIFY_FILE, NULL, NULL, "%s", text_at(check, 0));
    }
    sqlite3_finalize(check);
    return STATUS_OK;
}
