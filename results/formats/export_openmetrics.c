/*
 * Results as OpenMetrics 1.0 text, for a Prometheus that reads files (promtool tsdb
 * create-blocks-from openmetrics, node_exporter's textfile collector). A family a quantity, a
 * series a result; the time stamp of a sample is when its campaign was planned. What has no value
 * has no sample: missing is never 0.
 */
#include "results/formats/export.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/canonical.h"
#include "protocols/estimate.h"

struct family {
    const char *name, *unit, *help;
    const char *key;      /* of the row */
    const char *headline; /* only rows with this headline; NULL: all */
    double scale;
};

static const struct family families[] = {
    {"assay_iteration_seconds", "seconds", "Mean time of an iteration in steady state", "mean_ns",
     NULL, 1e-9},
    {"assay_iteration_low_seconds", "seconds", "Lower end of its interval", "mean_ns_lo", NULL,
     1e-9},
    {"assay_iteration_high_seconds", "seconds", "Upper end of its interval", "mean_ns_hi", NULL,
     1e-9},
    {"assay_bytes_per_second", NULL, "Bytes moved a second", "rate", "bytes", 1},
    {"assay_bytes_per_second_low", NULL, "Lower end of its interval", "rate_lo", "bytes", 1},
    {"assay_bytes_per_second_high", NULL, "Upper end of its interval", "rate_hi", "bytes", 1},
    {"assay_flops_per_second", NULL, "Floating-point operations a second", "rate", "flops", 1},
    {"assay_flops_per_second_low", NULL, "Lower end of its interval", "rate_lo", "flops", 1},
    {"assay_flops_per_second_high", NULL, "Upper end of its interval", "rate_hi", "flops", 1},
    {"assay_items_per_second", NULL, "Units of work (label unit) a second", "rate", "items", 1},
    {"assay_items_per_second_low", NULL, "Lower end of its interval", "rate_lo", "items", 1},
    {"assay_items_per_second_high", NULL, "Upper end of its interval", "rate_hi", "items", 1},
    {"assay_trials_planned", NULL, "Trials planned", "trials_planned", NULL, 1},
    {"assay_trials_ended", NULL, "Trials that have ended", "trials_ended", NULL, 1},
    {"assay_trials_ok", NULL, "Trials that ended well", "trials_ok", NULL, 1},
};

static const char *const labels[] = {"workload", "precision", "scenario",    "implementation",
                                     "protocol", "backend",   "device_spec", "device"};

static void put_quoted(FILE *file, const char *text)
{
    fputc('"', file);
    for (const char *c = text; *c; c++) {
        if (*c == '\\' || *c == '"')
            fprintf(file, "\\%c", *c);
        else if (*c == '\n')
            fputs("\\n", file);
        else
            fputc(*c, file);
    }
    fputc('"', file);
}

static void put_label(FILE *file, const char *name, const char *value)
{
    if (!value)
        return;
    fprintf(file, ",%s=", name);
    put_quoted(file, value);
}

/* {result="...",...}; a label that is not known is left out, which is the same as an empty one. */
static void put_labels(FILE *file, const json_t *row, bool unit)
{
    const json_t *batch = json_object_get(row, "batch");
    const char *result = export_string(row, "id");

    fputs("{result=", file);
    put_quoted(file, result ? result : "");
    for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++)
        put_label(file, labels[i], export_string(row, labels[i]));
    if (json_is_integer(batch))
        fprintf(file, ",batch=\"%" JSON_INTEGER_FORMAT "\"", json_integer_value(batch));
    put_label(file, "simulated", json_is_true(json_object_get(row, "simulated")) ? "true" : NULL);
    put_label(file, "imported", export_string(row, "imported"));
    if (unit)
        put_label(file, "unit", export_string(row, "rate_unit"));
}

static void put_time(FILE *file, const json_t *row, const struct export_request *request)
{
    const json_t *created = json_object_get(row, "created_utc_ns");
    int64_t ns = json_integer_value(created);

    if (!request->without_times && json_is_integer(created) && ns >= 0)
        fprintf(file, " %" PRId64 ".%09" PRId64, ns / 1000000000, ns % 1000000000);
    fputc('\n', file);
}

/* False for a mean over two levels and the like, which reports do not give as a result either. */
static bool is_settled(const json_t *row)
{
    return export_string(row, "imported") ||
           estimate_verdict_named_is_steady(export_string(row, "verdict"));
}

static void put_family(FILE *file, const json_t *rows, const struct family *family,
                       const struct export_request *request)
{
    bool headed = false;
    json_t *row;
    size_t i;

    json_array_foreach(rows, i, row)
    {
        const json_t *value = json_object_get(row, family->key);
        const char *headline = export_string(row, "headline");
        char text[CANONICAL_REAL_SIZE];

        /* What never settled has no speed; trials are counted whatever came of them. */
        if (!json_is_number(value) || !isfinite(json_number_value(value)) ||
            (json_is_real(value) && !is_settled(row)) ||
            (family->headline && (!headline || strcmp(headline, family->headline))))
            continue;
        if (!headed) {
            fprintf(file, "# HELP %s %s\n# TYPE %s gauge\n", family->name, family->help,
                    family->name);
            if (family->unit)
                fprintf(file, "# UNIT %s %s\n", family->name, family->unit);
        }
        headed = true;
        fputs(family->name, file);
        put_labels(file, row, family->headline && !strcmp(family->headline, "items"));
        fprintf(file, "} %s", canonical_real(json_number_value(value) * family->scale, text));
        put_time(file, row, request);
    }
}

/* What the samples say of a result, as a label: 1 for the verdict it has. */
static void put_verdicts(FILE *file, const json_t *rows, const struct export_request *request)
{
    json_t *row;
    size_t i;

    fputs("# HELP assay_verdict Verdict (label verdict) on a result's samples\n"
          "# TYPE assay_verdict gauge\n",
          file);
    json_array_foreach(rows, i, row)
    {
        const char *verdict = export_string(row, "verdict");

        fputs("assay_verdict", file);
        put_labels(file, row, false);
        put_label(file, "verdict", verdict ? verdict : "none");
        fputs("} 1", file);
        put_time(file, row, request);
    }
}

enum status export_openmetrics(struct store *store, const struct export_request *request,
                               FILE *file, struct error *err)
{
    json_t *rows = NULL;
    enum status status = export_rows(store, request, &rows, err);

    if (status != STATUS_OK)
        return status;
    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
        put_family(file, rows, &families[i], request);
    if (json_array_size(rows))
        put_verdicts(file, rows, request);
    fputs("# EOF\n", file);
    json_decref(rows);
    return export_check(file, err);
}
