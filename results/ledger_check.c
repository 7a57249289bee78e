#include "results/ledger_check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "harness/core/text.h"
#include "results/ledger_leaf.h"
#include "results/schema_model.h"

#define TABLES_MAX 128
#define PARTS_MAX 8
#define KEY_SHOWN 80 /* bytes of a key in a message */

struct table {
    char *name; /* heap */
    struct ledger_leaf_shape shape;
    sqlite3_stmt *select; /* the row of the key ?1, ?2 ... */
    char types[PARTS_MAX + 1];
    int part_count;
};

struct check {
    struct store *store;
    struct table tables[TABLES_MAX];
    size_t count;
    struct ledger_leaf_maker *maker;
};

static enum status refuse(struct check *check, const char *table, const char *key, const char *what,
                          struct error *err)
{
    struct text name;
    enum status status;

    text_init(&name);
    text_append_printable(&name, table, strnlen(table, KEY_SHOWN));
    text_append_char(&name, ' ');
    text_append_printable(&name, key, strnlen(key, KEY_SHOWN));
    status =
        error_set(err, STATUS_CORRUPT,
                  "%s: the row %s %s, so no head was made and nothing was signed; `assay "
                  "verify %s` tells all that is wrong, and a copy from before may be sound",
                  check->store->path, text_ok(&name) ? name.data : table, what, check->store->path);
    text_finish(&name);
    return status;
}

static enum status failed(struct check *check, int rc, struct error *err)
{
    return store_error(check->store, rc, "checking what a head would sign", err);
}

/* "" for NULL. `ret_rc` becomes SQLITE_NOMEM where there is no memory for it. */
static const char *text_of(sqlite3_stmt *row, int column, int *ret_rc)
{
    const bool is_null = sqlite3_column_type(row, column) == SQLITE_NULL;
    const char *text = (const char *)sqlite3_column_text(row, column);

    if (!text && !is_null)
        *ret_rc = SQLITE_NOMEM;
    return text ? text : "";
}

/* ---- tables ---- */

/* Its columns in the order of a leaf, and how to find a row by its key. */
static enum status describe(struct check *check, struct table *table, struct error *err)
{
    static const char key_sql[] = "SELECT name, type FROM pragma_table_info(?1) WHERE pk > 0"
                                  " ORDER BY pk";
    sqlite3 *db = check->store->db;
    sqlite3_stmt *key = NULL;
    struct text select;
    enum status status;
    int rc;

    text_init(&select);
    text_append(&select, "SELECT ");
    status = ledger_leaf_shape_init(&table->shape, db, table->name, &select, err);
    text_append_format(&select, " FROM %s WHERE", table->name);
    rc = sqlite3_prepare_v2(db, key_sql, -1, &key, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_text(key, 1, table->name, -1, SQLITE_STATIC);
    while ((rc == SQLITE_OK || rc == SQLITE_ROW) && table->part_count < PARTS_MAX &&
           (rc = sqlite3_step(key)) == SQLITE_ROW) {
        table->types[table->part_count++] = text_of(key, 1, &rc)[0];
        text_append_format(&select, "%s %s = ?%d", table->part_count > 1 ? " AND" : "",
                           text_of(key, 0, &rc), table->part_count);
    }
    rc = rc == SQLITE_DONE ? SQLITE_OK : rc;
    sqlite3_finalize(key);
    if (status == STATUS_OK && !text_ok(&select))
        status = error_set(err, STATUS_NO_MEMORY, "out of memory");
    if (status == STATUS_OK && rc == SQLITE_OK)
        rc = sqlite3_prepare_v2(db, select.data, -1, &table->select, NULL);
    text_finish(&select);
    return status == STATUS_OK && rc != SQLITE_OK ? failed(check, rc, err) : status;
}

/* NULL with `err` unset: there is none of this name. */
static enum status find_table(struct check *check, const char *name, struct table **ret,
                              struct error *err)
{
    struct table *table;
    int64_t there = 0;
    struct statement statement;
    enum status status;

    *ret = NULL;
    for (size_t i = 0; i < check->count; i++)
        if (strcmp(check->tables[i].name, name) == 0)
            *ret = &check->tables[i];
    if (*ret || check->count == TABLES_MAX || ledger_is_outside(name))
        return STATUS_OK;
    status = statement_begin(check->store,
                             "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name"
                             " = ?1",
                             &statement, err);
    if (status != STATUS_OK)
        return status;
    statement_text(&statement, name);
    status = statement_single(&statement, &there, err);
    if (status != STATUS_OK || there == 0)
        return status;
    table = &check->tables[check->count];
    table->name = strdup(name);
    if (!table->name)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    check->count++;
    *ret = table;
    return describe(check, table, err);
}

/* ---- from a leaf to its row ---- */

/* One part of a key, as FORMAT.md writes it. SQLITE_MISMATCH: no value of this type is written so.
 */
static int bind_part(struct table *table, int part, const char *at, size_t length)
{
    unsigned char bytes[64];
    char digits[24];
    int64_t number;
    size_t got;

    if (table->types[part] == 'T')
        return sqlite3_bind_text(table->select, part + 1, at, (int)length, SQLITE_TRANSIENT);
    if (table->types[part] == 'B')
        return sodium_hex2bin(bytes, sizeof(bytes), at, length, NULL, &got, NULL) == 0 &&
                       2 * got == length
                   ? sqlite3_bind_blob(table->select, part + 1, bytes, (int)got, SQLITE_TRANSIENT)
                   : SQLITE_MISMATCH;
    if (length >= sizeof(digits))
        return SQLITE_MISMATCH;
    memcpy(digits, at, length);
    digits[length] = '\0';
    return text_parse_i64(digits, &number) ? sqlite3_bind_int64(table->select, part + 1, number)
                                           : SQLITE_MISMATCH;
}

/* Numbers and hex have no '/', so parts before a text are split off at the front, others behind. */
static int bind_key(struct table *table, const char *key)
{
    const char *at = key, *end = key + strlen(key);
    int first = 0, last = table->part_count - 1, rc = SQLITE_OK;

    for (; first < last && table->types[first] != 'T'; first++) {
        const char *slash = memchr(at, '/', (size_t)(end - at));

        rc = slash ? bind_part(table, first, at, (size_t)(slash - at)) : SQLITE_MISMATCH;
        if (rc != SQLITE_OK)
            return rc;
        at = slash + 1;
    }
    for (; last > first; last--) {
        const char *slash = memrchr(at, '/', (size_t)(end - at));

        rc = slash ? bind_part(table, last, slash + 1, (size_t)(end - slash - 1)) : SQLITE_MISMATCH;
        if (rc != SQLITE_OK)
            return rc;
        end = slash;
    }
    return bind_part(table, first, at, (size_t)(end - at));
}

/* The entry (leaf, table_name, key, digest) against its row. */
static enum status check_entry(struct check *check, sqlite3_stmt *entry, struct error *err)
{
    struct ledger_leaf_value values[LEDGER_LEAF_COLUMNS_MAX];
    int rc = SQLITE_OK;
    const char *name = text_of(entry, 1, &rc), *key = text_of(entry, 2, &rc), *failure;
    struct digest digest;
    struct table *table = NULL;
    enum status status =
        rc == SQLITE_OK ? find_table(check, name, &table, err) : failed(check, rc, err);

    if (status != STATUS_OK)
        return status;
    if (!table)
        return refuse(check, name, key, "is of no table that there is", err);
    rc = bind_key(table, key);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(table->select);
    if (rc == SQLITE_DONE || rc == SQLITE_MISMATCH)
        status = refuse(check, name, key, "is missing, though it entered the ledger", err);
    else if (rc != SQLITE_ROW)
        status = failed(check, rc, err);
    if (status == STATUS_OK) {
        const void *stored = sqlite3_column_blob(entry, 3);

        ledger_leaf_read(&table->shape, table->select, values);
        failure = ledger_leaf_of_row(check->maker, &table->shape, sqlite3_column_int64(entry, 0),
                                     check->store->db, values, &digest);
        if (failure && (sqlite3_errcode(check->store->db) & 0xff) == SQLITE_NOMEM)
            status = failed(check, SQLITE_NOMEM, err);
        else if (failure && strcmp(failure, "out of memory") == 0)
            status = error_set(err, STATUS_NO_MEMORY, "%s: out of memory", check->store->path);
        else if (failure)
            status = error_set(err, STATUS_CORRUPT, "%s: %s %s: %s", check->store->path, name, key,
                               failure);
        else if (!stored || sqlite3_column_bytes(entry, 3) != DIGEST_SIZE ||
                 memcmp(stored, digest.bytes, DIGEST_SIZE) != 0)
            status = refuse(check, name, key, "is not the one that entered the ledger", err);
    }
    sqlite3_reset(table->select);
    return status;
}

static enum status check_entries(struct check *check, int64_t from, int64_t end, struct error *err)
{
    struct statement statement;
    bool row = false;
    enum status status = statement_begin(check->store,
                                         "SELECT leaf, table_name, key, digest FROM ledger WHERE"
                                         " leaf >= ?1 AND leaf < ?2 ORDER BY leaf",
                                         &statement, err);

    if (status != STATUS_OK)
        return status;
    statement_i64(&statement, from);
    statement_i64(&statement, end);
    while (status == STATUS_OK && (status = statement_step(&statement, &row, err)) == STATUS_OK &&
           row)
        status = check_entry(check, statement.handle, err);
    statement_end(&statement);
    return status;
}

/* ---- rows without a leaf ---- */

/* The first text of the first row that `sql` gives, on the heap; NULL: there is none. */
static enum status ask(struct check *check, const char *sql, char **ret, struct error *err)
{
    sqlite3_stmt *row = NULL;
    enum status status = STATUS_OK;
    int rc = sql ? sqlite3_prepare_v2(check->store->db, sql, -1, &row, NULL) : SQLITE_NOMEM;

    *ret = NULL;
    if (rc == SQLITE_OK)
        rc = sqlite3_step(row);
    if (rc == SQLITE_ROW) {
        const char *text = text_of(row, 0, &rc);

        *ret = rc == SQLITE_ROW ? strdup(text) : NULL;
        rc = *ret ? SQLITE_ROW : SQLITE_NOMEM;
    }
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        status = failed(check, rc, err);
    sqlite3_finalize(row);
    return status;
}

/* Names a row of the table that is without a leaf, or whose leaf is without it. */
static enum status name_row(struct check *check, const char *table, struct error *err)
{
    sqlite3 *db = check->store->db;
    struct text rows, sql;
    char *key = NULL;
    enum status status;

    text_init(&rows);
    text_init(&sql);
    text_append(&rows, "SELECT ");
    status = ledger_leaf_key(db, table, "", &rows, err);
    text_append_format(&rows, " FROM %s", table);
    if (status == STATUS_OK && text_ok(&rows))
        text_append_format(&sql, "%s EXCEPT SELECT key FROM ledger WHERE table_name = '%s' LIMIT 1",
                           rows.data, table);
    if (status == STATUS_OK)
        status = ask(check, text_ok(&sql) ? sql.data : NULL, &key, err);
    if (status == STATUS_OK && key)
        status = refuse(check, table, key, "is not in the ledger", err);
    text_finish(&sql);
    text_init(&sql);
    if (status == STATUS_OK) {
        text_append_format(&sql, "SELECT key FROM ledger WHERE table_name = '%s' EXCEPT %s LIMIT 1",
                           table, rows.data);
        status = ask(check, text_ok(&sql) ? sql.data : NULL, &key, err);
        if (status == STATUS_OK && key)
            status = refuse(check, table, key, "is missing, though it entered the ledger", err);
    }
    text_finish(&sql);
    text_finish(&rows);
    free(key);
    return status;
}

/* SQL that counts all rows: SELECT (SELECT count(*) FROM a) + ... */
#define EACH_TABLE                                                                                 \
    " FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!'"            \
    " AND name <> 'ledger'"

static enum status check_count(struct check *check, int64_t end, struct error *err)
{
    char *sql = NULL, *counted = NULL, *names = NULL, *rest = NULL;
    int64_t rows = -1;
    enum status status = ask(check,
                             "SELECT 'SELECT ' || group_concat('(SELECT count(*) FROM ' || name ||"
                             " ')', ' + ')" EACH_TABLE,
                             &sql, err);

    if (status == STATUS_OK)
        status = ask(check, sql, &counted, err);
    if (status == STATUS_OK && counted && text_parse_i64(counted, &rows) && rows != end) {
        status = ask(check, "SELECT group_concat(name, ' ')" EACH_TABLE, &names, err);
        for (char *table = names ? strtok_r(names, " ", &rest) : NULL; table && status == STATUS_OK;
             table = strtok_r(NULL, " ", &rest))
            status = name_row(check, table, err);
        if (status == STATUS_OK)
            status = error_set(err, STATUS_CORRUPT,
                               "%s: there are %" PRId64 " rows and %" PRId64
                               " leaves in the ledger, so no head was made and nothing was signed; "
                               "run `assay verify %s`",
                               check->store->path, rows, end, check->store->path);
    }
    free(sql);
    free(counted);
    free(names);
    return status;
}

enum status ledger_check_new(struct store *store, int64_t from, int64_t end, struct error *err)
{
    int count;
    const struct embed_file *scripts = store_migrations(&count);
    struct check *check;
    enum status status = schema_model_check(store->db, store->path, scripts, count, err);

    if (status != STATUS_OK)
        return status;
    check = calloc(1, sizeof(*check));
    if (check)
        check->maker = ledger_leaf_maker_create();
    if (!check || !check->maker) {
        free(check);
        return error_set(err, STATUS_NO_MEMORY, "%s: out of memory", store->path);
    }
    check->store = store;
    status = check_entries(check, from, end, err);
    if (status == STATUS_OK)
        status = check_count(check, end, err);
    for (size_t i = 0; i < check->count; i++) {
        sqlite3_finalize(check->tables[i].select);
        ledger_leaf_shape_finish(&check->tables[i].shape);
        free(check->tables[i].name);
    }
    ledger_leaf_maker_destroy(check->maker);
    free(check);
    return status;
}
