#include "results/store/store_internal.h"

#include <inttypes.h>
#include <stdlib.h>

#include "harness/core/array.h"
#include "harness/core/cleanup.h"

enum status store_read_chunk(sqlite3_stmt *row, int column, int64_t *ret, size_t *ret_count,
                             struct digest *ret_digest, struct error *err)
{
    const uint8_t *bytes = sqlite3_column_blob(row, column + 5);
    size_t length = (size_t)sqlite3_column_bytes(row, column + 5);
    struct series_facts facts;
    bool told_total = sqlite3_column_type(row, column + 4) != SQLITE_NULL;

    if (!bytes)
        length = 0;
    TRY(series_decode_digest(bytes ? bytes : (const uint8_t *)"", length, ret, ret_count, &facts,
                             ret_digest, err));
    if (sqlite3_column_int64(row, column + 1) != (int64_t)*ret_count ||
        sqlite3_column_int64(row, column + 2) != facts.minimum ||
        sqlite3_column_int64(row, column + 3) != facts.maximum || told_total != facts.has_total ||
        (told_total && sqlite3_column_int64(row, column + 4) != facts.total))
        return error_set(err, STATUS_CORRUPT,
                         "the chunk at sample %" PRId64 " does not match its row",
                         (int64_t)sqlite3_column_int64(row, column));
    return STATUS_OK;
}

/* Reads the chunk of the row, which must begin at sample `count`, after those that are known. */
static enum status append_chunk(struct statement *statement, int64_t **values, size_t *count,
                                struct error *err)
{
    struct digest digest;
    size_t part = 0;

    TRY(ARRAY_GROW(*values, *count, SERIES_CHUNK_MAX, err));
    TRY(store_read_chunk(statement->handle, 0, *values + *count, &part, &digest, err));
    if (sqlite3_column_int64(statement->handle, 0) != (int64_t)*count)
        return error_set(err, STATUS_CORRUPT, "the chunk at sample %zu is missing", *count);
    *count += part;
    return STATUS_OK;
}

enum status store_load_samples(struct store *store, int64_t trial, const char *series,
                               int64_t **ret, size_t *ret_count, struct error *err)
{
    CLEANUP(statement_end) struct statement statement = {0};
    AUTO_FREE int64_t *values = NULL;
    size_t count = 0;
    enum status status;

    TRY(statement_begin(store,
                        "SELECT first, count, minimum, maximum, total, data"
                        " FROM series WHERE trial = ?1 AND name = ?2 ORDER BY first",
                        &statement, err));
    statement_i64(&statement, trial);
    statement_text(&statement, series);
    while (statement_next(&statement, &status, err)) {
        status = append_chunk(&statement, &values, &count, err);
        if (status != STATUS_OK)
            error_prefix(err, "%s: trial %" PRId64 ", series %s", store->path, trial, series);
        TRY(status);
    }
    TRY(status);
    if (count == 0)
        return error_set(err, STATUS_NOT_FOUND, "%s: trial %" PRId64 " has no series %s",
                         store->path, trial, series);
    *ret = values;
    *ret_count = count;
    values = NULL;
    return STATUS_OK;
}

enum status store_insert_chunk(struct store *store, int64_t trial, const char *name,
                               const struct store_chunk *chunk, struct error *err)
{
    struct statement statement;

    TRY(statement_begin(
        store,
        "INSERT INTO series (trial, name, first, count, minimum, maximum, total, data)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        &statement, err));
    statement_i64(&statement, trial);
    statement_text(&statement, name);
    statement_i64(&statement, chunk->first);
    statement_i64(&statement, chunk->count);
    statement_i64(&statement, chunk->facts.minimum);
    statement_i64(&statement, chunk->facts.maximum);
    if (chunk->facts.has_total)
        statement_i64(&statement, chunk->facts.total);
    else
        statement_null(&statement);
    statement_blob(&statement, chunk->bytes, chunk->length);
    return statement_run(&statement, NULL, err);
}
