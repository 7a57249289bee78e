#include "results/store/store_internal.h"

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
