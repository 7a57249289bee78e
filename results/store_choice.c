#include "harness/core/clock.h"
#include "results/store_internal.h"

static enum status insert(struct store *store, int64_t cell, const struct digest *content,
                          struct error *err)
{
    struct statement statement;
    enum status status = statement_begin(
        store, "INSERT INTO choice (cell, created_utc_ns, content) VALUES (?1, ?2, ?3)", &statement,
        err);

    if (status != STATUS_OK)
        return status;
    statement_i64(&statement, cell);
    statement_i64(&statement, clock_utc_ns());
    statement_digest(&statement, content);
    return statement_run(&statement, NULL, err);
}

enum status store_add_choice(struct store *store, int64_t cell, const json_t *choice,
                             struct error *err)
{
    struct digest content;
    enum status status = store_change_begin(store, err);

    if (status != STATUS_OK)
        return status;
    status = store_insert_json(store, "choice", choice, &content, err);
    if (status == STATUS_OK)
        status = insert(store, cell, &content, err);
    return store_change_end(store, status, err);
}

enum status store_cell_verified(struct store *store, int64_t cell, json_t **ret, struct error *err)
{
    struct statement statement;
    bool row = false;
    enum status status =
        statement_begin(store,
                        "SELECT json_extract(e.facts, '$.verified') AS verified FROM trial t"
                        " JOIN trial_end e ON e.trial = t.id WHERE t.cell = ?1 AND e.status = 'ok'"
                        " AND verified IS NOT NULL ORDER BY t.id LIMIT 1",
                        &statement, err);

    if (status != STATUS_OK)
        return status;
    statement_i64(&statement, cell);
    status = statement_step(&statement, &row, err);
    *ret = status == STATUS_OK && row
               ? json_loads((const char *)sqlite3_column_text(statement.handle, 0), 0, NULL)
               : NULL;
    statement_end(&statement);
    return status;
}
