/* Rows of `assay results` as Parquet: JSON lines in, Parquet out, by the program duckdb. */
#include <string.h>

#include "harness/core/process.h"
#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "harness/core/text.h"
#include "protocols/finding.h"
#include "protocols/metric.h"
#include "results/formats/csv_export.h"
#include "results/formats/export.h"

#define TIMEOUT_NS (600 * INT64_C(1000000000))
#define OUTPUT_MAX ((size_t)1 << 30)

static const char *type_of(const struct member *column)
{
    switch (column->kind) {
    case MEMBER_INTEGER:
        return "BIGINT";
    case MEMBER_BOOLEAN:
        return "BOOLEAN";
    case MEMBER_REAL:
        return "DOUBLE";
    default:
        return "VARCHAR";
    }
}

static const char *const ends[] = {"", "_lo", "_hi"}, *const members[] = {"value", "lo", "hi"};

/* Names are of this program alone: letters, digits, '_' and '.'. */
static char *statement(void)
{
    const struct member *column;
    struct text sql = TEXT_INIT;

    text_append(&sql, "COPY (SELECT * FROM read_json('/dev/stdin', format='newline_delimited', "
                      "columns={");
    for (size_t i = 0; (column = csv_export_column(i)); i++)
        text_append_format(&sql, "'%s':'%s',", column->name, type_of(column));
    for (size_t i = 0; i < METRIC_COUNT; i++)
        for (size_t k = 0; k < 3; k++)
            text_append_format(&sql, "'%s%s':'DOUBLE',", metrics[i].id, ends[k]);
    text_append(&sql, "'findings':'VARCHAR'})) TO '/dev/stdout' (FORMAT parquet)");
    return text_steal(&sql);
}

/* The same columns as the CSV, of one row; new. */
static json_t *flat(const json_t *row)
{
    json_t *codes = findings_codes(json_object_get(row, "findings")), *ret = json_object();
    const struct member *column;
    CLEANUP(text_finish) struct text all = TEXT_INIT;
    size_t i;

    for (i = 0; (column = csv_export_column(i)); i++)
        json_object_set(ret, column->name, json_object_get(row, column->name));
    for (i = 0; i < METRIC_COUNT; i++)
        for (size_t k = 0; k < 3; k++) {
            char name[64];

            snprintf(name, sizeof(name), "%s%s", metrics[i].id, ends[k]);
            json_object_set(ret, name,
                            member_in(json_object_get(row, "metrics"), metrics[i].id, members[k]));
        }
    EACH(code, codes)
        text_append_format(&all, "%s%s", code_at ? " " : "", json_string_value(code));
    if (all.failed || !codes ||
        json_object_set_new(ret, "findings", json_string(all.data ? all.data : "")) != 0) {
        json_decref(ret);
        ret = NULL;
    }
    json_decref(codes);
    return ret;
}

static int append(const char *bytes, size_t length, void *context)
{
    text_append_bytes(context, bytes, length);
    return 0;
}

static enum status lines_of(const json_t *rows, struct text *ret, struct error *err)
{
    json_t *one;

    EACH(row, rows) {
        one = flat(row);
        if (!one || json_dump_callback(one, append, ret, JSON_COMPACT) != 0)
            ret->failed = true;
        text_append_char(ret, '\n');
        json_decref(one);
    }
    return text_ok(ret) ? STATUS_OK : error_no_memory(err);
}

static enum status convert(const struct text *lines, FILE *file, struct error *err)
{
    AUTO_FREE char *sql = statement(), *out = NULL;
    char program[] = "duckdb", plain[] = "-no-init", command[] = "-c";
    char *argv[] = {program, plain, command, sql, NULL};
    const struct process_call call = {.argv = argv,
                                      .settings = process_plain,
                                      .input = lines->data,
                                      .length = lines->length,
                                      .error_fd = -1,
                                      .wake_fd = -1,
                                      .timeout_ns = TIMEOUT_NS,
                                      .max_output = OUTPUT_MAX,
                                      .is_bounded = true};
    struct process_exit end;
    size_t length = 0;
    enum status status = sql ? process_call(&call, &out, &length, &end, err) : error_no_memory(err);

    if (status == STATUS_UNAVAILABLE)
        error_set(err, status,
                  "Parquet is written by the program duckdb, which cannot be started here: install "
                  "it (pip install duckdb-cli), or export csv or jsonl");
    if (status == STATUS_OK && (end.code != 0 || length < 8 || memcmp(out, "PAR1", 4) != 0))
        status = error_set(err, STATUS_UNAVAILABLE,
                           "duckdb wrote no Parquet (exit status %d): version 1.0 or later is "
                           "needed; export csv or jsonl instead",
                           end.code);
    if (status == STATUS_OK)
        fwrite(out, 1, length, file);
    return status == STATUS_OK ? export_check(file, err) : status;
}

enum status export_parquet(struct store *store, const struct export_request *request, FILE *file,
                           struct error *err)
{
    json_auto_t *rows = NULL;
    CLEANUP(text_finish) struct text lines = {0};

    TRY(export_rows(store, request, &rows, err));
    text_init(&lines);
    TRY(lines_of(rows, &lines, err));
    return convert(&lines, file, err);
}
