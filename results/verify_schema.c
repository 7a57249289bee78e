#include <stdlib.h>
#include <string.h>

#include "harness/core/embed.h"
#include "results/ledger_leaf.h"
#include "results/schema_model.h"
#include "results/verify_internal.h"

#define FOREIGN_MAX 100 /* objects that are reported; the rest of a hostile file's would drown it  \
                         */

struct comparison {
    struct verify *verify;
    int foreign;
};

static bool is_structure(const char *type)
{
    return strcmp(type, "table") == 0 || strcmp(type, "index") == 0;
}

static void report_difference(void *context, const struct schema_difference *difference)
{
    struct comparison *comparison = context;
    struct verify *verify = comparison->verify;
    const char *type = difference->type, *name = difference->name;

    if (difference->fault == SCHEMA_FOREIGN) {
        struct text shown;

        if (comparison->foreign++ >= FOREIGN_MAX)
            return;
        text_init(&shown);
        text_append_printable(&shown, name, strlen(name));
        verify_report(verify, VERIFY_WRONG, VERIFY_SCHEMA, shown.data, NULL,
                      "does not belong here: somebody added it");
        text_finish(&shown);
        return;
    }
    verify_report(verify, VERIFY_WRONG, VERIFY_SCHEMA, name, NULL, "the %s %s %s", type, name,
                  difference->fault == SCHEMA_CHANGED ? "is not the one that assay makes"
                                                      : "is missing");
    if (is_structure(type))
        verify->readable = false;
}

/* Every object of ours must be there as we make it, and nothing else. */
static void compare_schema(struct verify *verify)
{
    struct comparison comparison = {verify, 0};
    sqlite3 *failed = NULL;
    int rc;

    verify->readable = true;
    rc = schema_model_compare(verify->db, verify->model, report_difference, &comparison, &failed);
    if (rc == SQLITE_OK)
        return;
    verify->readable = false;
    verify_report_damage(verify, VERIFY_SCHEMA, NULL, failed);
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
    int count;
    const struct embed_file *scripts = store_migrations(&count);
    const int version = (int)verify->summary->schema_version;
    enum status status = schema_model_create(scripts, version, &verify->model, err);

    if (status == STATUS_OK)
        status = list_tables(verify, err);
    if (status != STATUS_OK)
        return status;
    compare_schema(verify);
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
