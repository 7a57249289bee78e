#include "results/formats/csv_export.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <csv.h>

#include "harness/core/canonical.h"
#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "harness/core/text.h"
#include "protocols/finding.h"
#include "protocols/metric.h"
#include "results/store/foreign_worker.h"
#include "results/store/store_internal.h"

const struct member *csv_export_column(size_t index)
{
    for (size_t i = 0; i < store_result_type.count; i++) {
        const struct member *column = &store_result_type.members[i];

        if (column->kind != MEMBER_RECORD && !(column->flags & MEMBER_LOCAL) && index-- == 0)
            return column;
    }
    return NULL;
}

static enum status check_file(FILE *file, struct error *err)
{
    if (!ferror(file))
        return STATUS_OK;
    return error_set_errno(err, errno ? errno : EIO, "writing CSV");
}

/* A full disk may be reported only now. */
static enum status finish_file(FILE *file, struct error *err)
{
    errno = 0;
    if (fflush(file) != 0)
        return error_set_errno(err, errno ? errno : EIO, "writing CSV");
    return check_file(file, err);
}

/*
 * A spreadsheet treats a field that begins so as a formula, quoted or not, and a terminal treats
 * control characters as commands. Device names come from drivers and from other programs' files.
 */
static bool is_harmless(const char *text, size_t length)
{
    if (length > 0 && strchr("=+-@\t\r", *text))
        return false;
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] < 0x20 || (unsigned char)text[i] >= 0x7f)
            return false;
    return true;
}

static void write_text(FILE *file, const char *text, size_t length)
{
    CLEANUP(text_finish) struct text shown = TEXT_INIT;

    if (is_harmless(text, length)) {
        csv_fwrite(file, text, length);
        return;
    }
    if (length > 0 && *text && strchr("=+-@", *text))
        text_append_char(&shown, '\'');
    text_append_printable(&shown, text, length);
    if (text_ok(&shown))
        csv_fwrite(file, shown.data, shown.length);
}

static void write_json(FILE *file, const json_t *value)
{
    char real[CANONICAL_REAL_SIZE];

    if (json_is_string(value))
        write_text(file, json_string_value(value), json_string_length(value));
    else if (json_is_integer(value))
        fprintf(file, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        fputs(canonical_real(json_real_value(value), real), file);
    else if (json_is_boolean(value))
        fputc(json_is_true(value) ? '1' : '0', file);
}

/* Value and interval of every metric, each in its base unit. */
static void write_metrics(FILE *file, const json_t *values)
{
    static const char *const members[] = {"value", "lo", "hi"};

    for (size_t i = 0; i < METRIC_COUNT; i++)
        for (size_t k = 0; k < 3; k++) {
            fputc(',', file);
            write_json(file, member_in(values, metrics[i].id, members[k]));
        }
}

/* "drift contention": each code once. False: out of memory. */
static bool write_findings(FILE *file, const json_t *findings)
{
    json_t *codes = findings_codes(findings);

    EACH(code, codes)
        fprintf(file, "%s%s", code_at ? " " : "", json_string_value(code));
    json_decref(codes);
    return codes != NULL;
}

enum status csv_export_results(const json_t *rows, FILE *file, struct error *err)
{
    const struct member *column;

    for (size_t k = 0; (column = csv_export_column(k)); k++)
        fprintf(file, "%s%s", k ? "," : "", column->name);
    for (size_t k = 0; k < METRIC_COUNT; k++)
        fprintf(file, ",%s,%s_lo,%s_hi", metrics[k].id, metrics[k].id, metrics[k].id);
    fputs(",findings\n", file);
    EACH(row, rows) {
        for (size_t k = 0; (column = csv_export_column(k)); k++) {
            if (k)
                fputc(',', file);
            write_json(file, json_object_get(row, column->name));
        }
        write_metrics(file, json_object_get(row, "metrics"));
        fputc(',', file);
        if (!write_findings(file, json_object_get(row, "findings")))
            return error_no_memory(err);
        fputc('\n', file);
    }
    return finish_file(file, err);
}

/* A column as a CSV field. */
static void write_column(FILE *file, sqlite3_stmt *row, int column)
{
    switch (sqlite3_column_type(row, column)) {
    case SQLITE_INTEGER:
        fprintf(file, "%lld", (long long)sqlite3_column_int64(row, column));
        break;
    case SQLITE_TEXT:
        write_text(file, (const char *)sqlite3_column_text(row, column),
                   (size_t)sqlite3_column_bytes(row, column));
        break;
    default:
        break;
    }
}

/*
 * Writes a line for each sample of each row of `sql`, whose columns are trial id, series and then
 * the `context` columns to repeat; `numbered` adds the sample's number before its value.
 */
static enum status write_samples(struct store *store, const char *sql, int64_t cell, int context,
                                 bool numbered, FILE *file, struct error *err)
{
    CLEANUP(statement_end) struct statement statement = {0};
    sqlite3_stmt *row;
    enum status status;

    TRY(statement_of(store, sql, cell, &statement, err));
    row = statement.handle;
    while (statement_next(&statement, &status, err)) {
        AUTO_FREE int64_t *values = NULL;
        size_t count = 0;

        TRY(store_load_samples(store, sqlite3_column_int64(row, 0),
                               (const char *)sqlite3_column_text(row, 1), &values, &count, err));
        for (size_t i = 0; i < count; i++) {
            for (int k = 0; k < context; k++) {
                write_column(file, row, 2 + k);
                fputc(',', file);
            }
            if (numbered)
                fprintf(file, "%zu,", i);
            fprintf(file, "%" PRId64 "\n", values[i]);
            TRY(check_file(file, err));
        }
    }
    TRY(status);
    return finish_file(file, err);
}

enum status csv_export_samples(struct store *store, int64_t cell, FILE *file, struct error *err)
{
    fputs("series,trial,sample_ns\n", file);
    return write_samples(store,
                         "SELECT t.id, 'wall_ns', substr(g.uid, 1, 8) || '/' || c.ordinal,"
                         " t.sequence FROM trial t JOIN trial_end e ON e.trial = t.id"
                         " JOIN cell c ON c.id = t.cell JOIN campaign g ON g.id = t.campaign"
                         " WHERE t.cell = ?1 AND e.status = 'ok' ORDER BY t.sequence, t.attempt",
                         cell, 2, false, file, err);
}

void csv_export_series_header(FILE *file)
{
    fputs("result,workload,precision,batch,scenario,implementation,protocol,device_spec,device,"
          "simulated,foreign_worker,"
          "driver_version,host,workload_digest,protocol_digest,tool_version,created_utc_ns,"
          "trial,attempt,status,iterations_per_sample,window_first,series,number,value\n",
          file);
}

#define FOREIGN_WORKER FOREIGN_WORKER_OF("t.id")

enum status csv_export_series_rows(struct store *store, int64_t cell, FILE *file, struct error *err)
{
    return write_samples(
        store,
        "SELECT t.id, s.name, substr(g.uid, 1, 8) || '/' || c.ordinal,"
        " c.workload_name, c.precision, c.batch, c.scenario, c.implementation,"
        " c.protocol_name, c.device_spec, d.name, d.simulated, " FOREIGN_WORKER ","
        " " CONTEXT_DRIVER_VERSION ", " CONTEXT_HOST(
            "t.id") ","
                    " lower(hex(c.workload)), lower(hex(c.protocol)), g.tool_version,"
                    " g.created_utc_ns, t.sequence,"
                    " t.attempt, coalesce(e.status, 'no_end'), e.iterations_per_sample,"
                    " e.window_first, s.name FROM trial t JOIN cell c ON c.id = t.cell"
                    " JOIN campaign g ON g.id = t.campaign JOIN series s ON s.trial = t.id"
                    " LEFT JOIN trial_end e ON e.trial = t.id"
                    " LEFT JOIN trial_device td ON td.trial = t.id"
                    " LEFT JOIN device d ON d.id = td.device WHERE t.cell = ?1"
                    " GROUP BY t.id, s.name ORDER BY t.sequence, t.attempt, min(s.rowid)",
        cell, 23, true, file, err);
}
