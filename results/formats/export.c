#include "results/formats/export.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/canonical.h"
#include "harness/core/member.h"
#include "harness/core/text.h"
#include "results/formats/csv_export.h"
#include "results/formats/format_name.h"

static const struct export_format formats[] = {
    {"csv", "a row a result, with its context", false, export_csv},
    {"csv-samples", "a row a raw sample, each with its context", false, export_csv_samples},
    {"parquet", "the columns of csv as Parquet, where duckdb is", false, export_parquet},
    {"json", "whole records, as an array", false, export_json},
    {"jsonl", "whole records, one canonical JSON object a line", false, export_jsonl},
    {"cyclonedx", "the stack of one result: CycloneDX 1.6 (JSON)", true, export_cyclonedx},
    {"intoto", "in-toto Statement v1; with --sign in a DSSE envelope", false, export_intoto},
    {"openmetrics", "OpenMetrics text, the context as labels", false, export_openmetrics},
    {"mlperf", "lines :::MLLOG {...}, as MLPerf's logs have them", false, export_mlperf},
};

enum status export_format_find(const char *name, const struct export_format **ret,
                               struct error *err)
{
    size_t index = 0;

    TRY(format_name_find(name, formats, sizeof(formats) / sizeof(formats[0]), sizeof(formats[0]),
                         &index, err));
    *ret = &formats[index];
    return STATUS_OK;
}

enum status export_check(FILE *file, struct error *err)
{
    if (!ferror(file))
        return STATUS_OK;
    return error_set_errno(err, errno ? errno : EIO, "writing the export");
}

enum status export_write(struct store *store, const struct export_format *format,
                         const struct export_request *request, FILE *file, struct error *err)
{
    if (format->single && request->count != 1)
        return error_set(err, STATUS_INVALID,
                         "%s describes one result and %zu are selected; name one, such as "
                         "9f2c41aa/3 (`assay results` lists them)",
                         format->name, request->count);
    errno = 0;
    TRY(format->write(store, request, file, err));
    /* A full disk may be reported only now. */
    errno = 0;
    if (fflush(file) != 0)
        return error_set_errno(err, errno ? errno : EIO, "writing the export");
    return export_check(file, err);
}

enum status export_put_json(json_t *json, size_t flags, FILE *file, struct error *err)
{
    char *dumped = json ? json_dumps(json, flags | JSON_ENCODE_ANY) : NULL;
    struct text text;
    bool ok;

    json_decref(json);
    text_init(&text);
    text_append_json(&text, dumped ? dumped : "", dumped ? strlen(dumped) : 0);
    text_append_char(&text, '\n');
    ok = dumped && text_ok(&text);
    free(dumped);
    if (ok)
        fwrite(text.data, 1, text.length, file);
    text_finish(&text);
    return ok ? export_check(file, err) : error_no_memory(err);
}

enum status export_rows(struct store *store, const struct export_request *request, json_t **ret,
                        struct error *err)
{
    json_t *rows = json_array();
    enum status status = rows ? STATUS_OK : error_no_memory(err);

    for (size_t i = 0; i < request->count && status == STATUS_OK; i++) {
        struct store_filter filter = {.cell = request->cells[i]};
        json_t *one = NULL;

        status = store_list_results(store, &filter, &one, err);
        if (status == STATUS_OK && json_array_extend(rows, one) < 0)
            status = error_no_memory(err);
        json_decref(one);
    }
    if (status == STATUS_OK)
        *ret = rows;
    else
        json_decref(rows);
    return status;
}

enum status export_record_line(struct store *store, int64_t cell, char **ret, json_t **ret_record,
                               struct error *err)
{
    json_t *record = NULL;
    enum status status = store_cell_json(store, cell, &record, err);

    if (status == STATUS_OK)
        status = canonical_dump(record, ret, err);
    if (status == STATUS_OK && ret_record)
        *ret_record = record;
    else
        json_decref(record);
    return status;
}

const char *export_reading(const json_t *readings, const char *name)
{
    return member_string(json_object_get(readings, name), "value");
}

char *export_result_urn(const json_t *record)
{
    const char *uid = member_string(json_object_get(record, "campaign"), "uid");
    json_int_t ordinal = json_integer_value(json_object_get(record, "ordinal"));

    return text_format("urn:assay:result:%s:%lld", uid ? uid : "", (long long)ordinal);
}

static char *printable(const char *string, size_t length)
{
    struct text text;

    text_init(&text);
    text_append_printable(&text, string, length);
    return text_steal(&text);
}

json_t *export_printable(const json_t *json)
{
    json_t *copy, *value;
    char *shown = NULL;
    const char *key;
    bool ok = true;
    size_t i;

    if (json_is_string(json)) {
        shown = printable(json_string_value(json), json_string_length(json));
        copy = shown ? json_string(shown) : NULL;
        free(shown);
        return copy;
    }
    if (!json_is_object(json) && !json_is_array(json))
        return json_deep_copy(json);
    copy = json_is_object(json) ? json_object() : json_array();
    json_array_foreach((json_t *)json, i, value)
    {
        ok = ok && json_array_append_new(copy, export_printable(value)) == 0;
    }
    json_object_foreach((json_t *)json, key, value)
    {
        shown = printable(key, strlen(key));
        ok = ok && shown && json_object_set_new(copy, shown, export_printable(value)) == 0;
        free(shown);
    }
    if (!ok) {
        json_decref(copy);
        return NULL;
    }
    return copy;
}

enum status export_csv(struct store *store, const struct export_request *request, FILE *file,
                       struct error *err)
{
    json_auto_t *rows = NULL;

    TRY(export_rows(store, request, &rows, err));
    return csv_export_results(rows, file, err);
}

enum status export_csv_samples(struct store *store, const struct export_request *request,
                               FILE *file, struct error *err)
{
    csv_export_series_header(file);
    for (size_t i = 0; i < request->count; i++)
        TRY(csv_export_series_rows(store, request->cells[i], file, err));
    return STATUS_OK;
}

enum status export_json(struct store *store, const struct export_request *request, FILE *file,
                        struct error *err)
{
    enum status status = STATUS_OK;

    fputs("[\n", file);
    for (size_t i = 0; i < request->count && status == STATUS_OK; i++) {
        json_t *record = NULL;

        if (i > 0)
            fputs(",\n", file);
        status = store_cell_json(store, request->cells[i], &record, err);
        if (status == STATUS_OK)
            status = export_put_json(record, JSON_INDENT(2), file, err);
    }
    fputs("]\n", file);
    return status;
}

enum status export_jsonl(struct store *store, const struct export_request *request, FILE *file,
                         struct error *err)
{
    for (size_t i = 0; i < request->count; i++) {
        char *line = NULL;

        TRY(export_record_line(store, request->cells[i], &line, NULL, err));
        fprintf(file, "%s\n", line);
        free(line);
        TRY(export_check(file, err));
    }
    return STATUS_OK;
}
