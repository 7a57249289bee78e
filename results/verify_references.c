/*
 * Every row belongs to rows that are there. The check of the rows shows it in most cases: where a
 * table's keys are consecutive numbers and each was found, every reference within that range is
 * good. The rest is queried through SQLite.
 */
#include <stdlib.h>
#include <string.h>

#include "results/verify_internal.h"

static const struct verify_range nothing = {INT64_MAX, INT64_MIN};

static int find_column(const struct verify_table *table, const char *name)
{
    for (int i = 0; name && i < table->shape.count; i++)
        if (strcmp(table->shape.columns[i].name, name) == 0)
            return i;
    return -1;
}

/* columns: 0 table, 1 from, 2 to, 3 columns of the reference */
static void add_reference(struct verify *verify, struct verify_table *table, sqlite3_stmt *row)
{
    const struct verify_table *owner =
        verify_find_table(verify, (const char *)sqlite3_column_text(row, 0));
    const int column = find_column(table, (const char *)sqlite3_column_text(row, 1));
    const char *to = (const char *)sqlite3_column_text(row, 2);

    if (!owner || column < 0 || !owner->counted || !to || strcmp(to, "id") != 0 ||
        sqlite3_column_int64(row, 3) != 1 || table->reference_count == VERIFY_REFERENCES_MAX)
        table->refers_otherwise = true;
    else
        table->references[table->reference_count++] =
            (struct verify_reference){column, (int)(owner - verify->tables), nothing};
}

enum status verify_references_describe(struct verify *verify, struct error *err)
{
    sqlite3_stmt *row =
        verify_prepare(verify, verify->model,
                       "SELECT \"table\", \"from\", \"to\", count(*) OVER (PARTITION BY id)"
                       " FROM pragma_foreign_key_list(?1)",
                       VERIFY_SCHEMA, NULL);

    if (!row)
        return error_set(err, STATUS_INTERNAL, "reading the references of the schema");
    for (size_t i = 0; i < verify->table_count; i++) {
        sqlite3_bind_text(row, 1, verify->tables[i].name, -1, SQLITE_STATIC);
        while (verify_step(verify, row, VERIFY_SCHEMA, NULL))
            add_reference(verify, &verify->tables[i], row);
        sqlite3_reset(row);
    }
    sqlite3_finalize(row);
    return STATUS_OK;
}

void verify_references_begin(struct verify_worker *worker)
{
    for (size_t i = 0; i < VERIFY_TABLES_MAX; i++)
        for (int k = 0; k < VERIFY_REFERENCES_MAX; k++)
            worker->seen[i][k] = nothing;
}

static void widen(struct verify_range *range, struct verify_range with)
{
    if (with.least < range->least)
        range->least = with.least;
    if (with.most > range->most)
        range->most = with.most;
}

void verify_references_note(struct verify_worker *worker, const struct verify_table *table,
                            const struct ledger_leaf_value *row)
{
    struct verify_range *seen = worker->seen[table - worker->verify->tables];

    for (int k = 0; k < table->reference_count; k++) {
        const struct ledger_leaf_value *value = &row[table->references[k].column];

        if (value->type == SQLITE_INTEGER)
            widen(&seen[k], (struct verify_range){value->integer, value->integer});
        else if (value->type != SQLITE_NULL)
            seen[k] = (struct verify_range){INT64_MIN, INT64_MAX};
    }
}

void verify_references_take(struct verify *verify, const struct verify_worker *worker)
{
    for (size_t i = 0; i < verify->table_count; i++)
        for (int k = 0; k < verify->tables[i].reference_count; k++)
            widen(&verify->tables[i].references[k].seen, worker->seen[i][k]);
}

void verify_references_check(struct verify *verify, const struct verify_table *table)
{
    char *sql = text_format("PRAGMA foreign_key_check(%s)", table->name);
    sqlite3_stmt *row =
        sql ? verify_prepare(verify, verify->db, sql, VERIFY_COMPLETE, table->name) : NULL;
    int reported = 0;

    while (row && reported++ < VERIFY_FINDINGS_MAX &&
           verify_step(verify, row, VERIFY_COMPLETE, table->name)) {
        const char *key = (const char *)sqlite3_column_text(row, 1);
        const char *owner = (const char *)sqlite3_column_text(row, 2);

        verify_report(verify, VERIFY_WRONG, VERIFY_COMPLETE, table->name, key,
                      "belongs to a row of %s that is not there", owner ? owner : "");
    }
    sqlite3_finalize(row);
    free(sql);
}

bool verify_refers_otherwise(const struct verify *verify, const struct verify_table *table)
{
    return table->refers_otherwise &&
           !(verify->trials_were_planned && strcmp(table->name, "trial") == 0);
}

/* Whether the rows' own check has shown that all that the table's `id`s refer to is there. */
static bool are_there(const struct verify *verify, const struct verify_table *table)
{
    for (int k = 0; k < table->reference_count; k++) {
        const struct verify_range seen = table->references[k].seen;
        const struct verify_table *owner = &verify->tables[table->references[k].owner];

        if (seen.least > seen.most)
            continue;
        if (owner->leaves == 0 || seen.least < owner->first || seen.most > owner->last ||
            (uint64_t)owner->last - (uint64_t)owner->first != (uint64_t)owner->leaves - 1)
            return false;
    }
    return true;
}

enum status verify_references(struct verify *verify, struct error *err)
{
    const bool is_whole = verify->summary->wrong == 0;

    (void)err;
    for (size_t i = 0; i < verify->table_count && !verify_stopped(verify); i++) {
        const struct verify_table *table = &verify->tables[i];

        if (!verify_refers_otherwise(verify, table) && table->reference_count > 0 &&
            !(is_whole && are_there(verify, table)))
            verify_references_check(verify, table);
    }
    return STATUS_OK;
}
