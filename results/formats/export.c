#include "results/formats/export.h"

#include <errno.h>
#include <stdlib.h>

#include "harness/core/cleanup.h"
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

const struct export_format *export_format_find(const char *name, struct error *err)
{
    return format_name_find(name, formats, sizeof(formats) / sizeof(formats[0]), sizeof(formats[0]),
                            err);
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
        AUTO_FREE char *line = NULL;

        TRY(export_record_line(store, request->cells[i], &line, NULL, err));
        fprintf(file, "%s\n", line);
        TRY(export_check(file, err));
    }
    return STATUS_OK;
}
