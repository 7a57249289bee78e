#include "results/store/store_internal.h"

#include "harness/core/cleanup.h"

enum status store_cell_verified(struct store *store, int64_t cell, json_t **ret, struct error *err)
{
    CLEANUP(statement_end) struct statement statement = {0};
    bool row = false;

    *ret = NULL;
    TRY(statement_begin(store,
                        "SELECT json_extract(e.facts, '$.verified') AS verified FROM trial t"
                        " JOIN trial_end e ON e.trial = t.id WHERE t.cell = ?1 AND e.status = 'ok'"
                        " AND verified IS NOT NULL ORDER BY t.id LIMIT 1",
                        &statement, err));
    statement_i64(&statement, cell);
    TRY(statement_step(&statement, &row, err));
    if (row)
        *ret = json_loads((const char *)sqlite3_column_text(statement.handle, 0), 0, NULL);
    return STATUS_OK;
}
