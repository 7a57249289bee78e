#include "harness/core/cleanup.h"
#include "results/store/store_internal.h"

#include <string.h>

/* "lscpu, clinfo": tools with output, or why the requested one has none. */
static enum status explain_no_dump(struct store *store, int64_t cell, const char *tool,
                                   struct error *err)
{
    CLEANUP(statement_end) struct statement statement = {0};
    const char *why, *there;
    bool row = false;

    TRY(statement_begin(store,
                        "SELECT (SELECT message FROM dump WHERE campaign = c.campaign AND tool = ?2"
                        " ORDER BY id DESC LIMIT 1),"
                        " (SELECT group_concat(DISTINCT tool) FROM dump WHERE campaign = c.campaign"
                        " AND output IS NOT NULL) FROM cell c WHERE c.id = ?1",
                        &statement, err));
    statement_i64(&statement, cell);
    statement_text(&statement, tool);
    TRY(statement_step(&statement, &row, err));
    why = row ? (const char *)sqlite3_column_text(statement.handle, 0) : NULL;
    there = row ? (const char *)sqlite3_column_text(statement.handle, 1) : NULL;
    return error_set(err, STATUS_NOT_FOUND, "nothing of %s is stored%s%s; there is: %s", tool,
                     why ? ": " : "", why ? why : "", there ? there : "nothing of any tool");
}

enum status store_load_dump(struct store *store, int64_t cell, const char *tool, char **ret,
                            struct error *err)
{
    CLEANUP(statement_end) struct statement statement = {0};
    const char *body;
    bool row = false;

    TRY(statement_begin(store,
                        "SELECT b.body FROM dump d JOIN cell c ON c.campaign = d.campaign"
                        " JOIN content b ON b.digest = d.output WHERE c.id = ?1 AND d.tool = ?2"
                        " ORDER BY d.id DESC LIMIT 1",
                        &statement, err));
    statement_i64(&statement, cell);
    statement_text(&statement, tool);
    TRY(statement_step(&statement, &row, err));
    if (!row)
        return explain_no_dump(store, cell, tool, err);
    body = (const char *)sqlite3_column_text(statement.handle, 0);
    *ret = strdup(body ? body : "");
    return *ret ? STATUS_OK : error_no_memory(err);
}
