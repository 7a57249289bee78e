/*
 * Results as OpenMetrics 1.0 text, for a Prometheus that reads files (promtool tsdb
 * create-blocks-from openmetrics, node_exporter's textfile collector). One family per metric of
 * protocols/metric.h and bound of its interval, one series per result; the time stamp of a sample
 * is when its campaign was planned. What has no value has no sample: missing is never 0.
 */
#include "results/formats/export.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/canonical.h"
#include "harness/core/member.h"
#include "protocols/finding.h"
#include "protocols/metric.h"

/* A family: a member of a metric's value, or, where `metric` is NULL, a count of the row. */
struct family {
    const struct metric *metric;
    const char *key; /* "value", "lo", "hi"; "trials_ok" */
    const char *name, *help;
};

static const struct family counts[] = {
    {NULL, "trials_planned", "trials_planned", "Trials planned"},
    {NULL, "trials_ended", "trials_ended", "Trials that have ended"},
    {NULL, "trials_ok", "trials_ok", "Trials that ended without error"},
};

static const struct {
    const char *key, *suffix, *help;
} bounds[] = {{"value", "", ""},
              {"lo", "_low", " (lower end of the interval)"},
              {"hi", "_high", " (upper end of the interval)"}};

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
static void put_labels(FILE *file, const json_t *row)
{
    const json_t *batch = json_object_get(row, "batch");
    const char *result = member_string(row, "id");

    fputs("{result=", file);
    put_quoted(file, result ? result : "");
    for (size_t i = 0; i < sizeof(labels) / sizeof(labels[0]); i++)
        put_label(file, labels[i], member_string(row, labels[i]));
    if (json_is_integer(batch))
        fprintf(file, ",batch=\"%" JSON_INTEGER_FORMAT "\"", json_integer_value(batch));
    put_label(file, "simulated", member_is_true(row, "simulated") ? "true" : NULL);
    put_label(file, "imported", member_string(row, "imported"));
    put_label(file, "foreign_worker", member_string(row, "foreign_worker"));
}

static void put_time(FILE *file, const json_t *row, const struct export_request *request)
{
    const json_t *created = json_object_get(row, "created_utc_ns");
    int64_t ns = json_integer_value(created);

    if (!request->without_times && json_is_integer(created) && ns >= 0)
        fprintf(file, " %" PRId64 ".%09" PRId64, ns / 1000000000, ns % 1000000000);
    fputc('\n', file);
}

/* Whether the base unit ends the name, as OpenMetrics wants where it is declared. */
static const char *unit_of(const struct family *family)
{
    static const char *const units[] = {"seconds", "joules", "watts"};
    const char *last = strrchr(family->name, '_');

    for (size_t i = 0; last && i < sizeof(units) / sizeof(units[0]); i++)
        if (strcmp(last + 1, units[i]) == 0)
            return units[i];
    return NULL;
}

static const json_t *value_of(const json_t *row, const struct family *family)
{
    if (!family->metric)
        return json_object_get(row, family->key);
    return member_in(json_object_get(row, "metrics"), family->metric->id, family->key);
}

/* The unit, where the workload decides it, and how far to trust the value. */
static void put_metric_labels(FILE *file, const json_t *row, const struct metric *metric)
{
    const json_t *value = member_in(row, "metrics", metric->id);
    const char *verdict = member_string(row, "verdict");

    if (strchr(metric->unit, '{'))
        put_label(file, "unit", member_string(value, "unit"));
    put_label(file, "grade", member_string(value, "grade"));
    put_label(file, "verdict", verdict ? verdict : "none");
}

static void put_family(FILE *file, const json_t *rows, const struct family *family,
                       const struct export_request *request)
{
    const double scale = family->metric && family->metric->kind == METRIC_KIND_TIME ? 1e-9 : 1;
    const char *unit = unit_of(family);
    bool headed = false;

    EACH(row, rows) {
        const json_t *value = value_of(row, family);
        char text[CANONICAL_REAL_SIZE];

        if (!json_is_number(value) || !isfinite(json_number_value(value)))
            continue;
        if (!headed) {
            fprintf(file, "# HELP assay_%s %s\n# TYPE assay_%s gauge\n", family->name, family->help,
                    family->name);
            if (unit)
                fprintf(file, "# UNIT assay_%s %s\n", family->name, unit);
        }
        headed = true;
        fprintf(file, "assay_%s", family->name);
        put_labels(file, row);
        if (family->metric)
            put_metric_labels(file, row, family->metric);
        fprintf(file, "} %s", canonical_real(json_number_value(value) * scale, text));
        put_time(file, row, request);
    }
}

static void put_metric(FILE *file, const json_t *rows, const struct metric *metric,
                       const struct export_request *request)
{
    for (size_t k = 0; k < sizeof(bounds) / sizeof(bounds[0]); k++) {
        char name[80], help[200];
        const struct family family = {metric, bounds[k].key, name, help};

        snprintf(name, sizeof(name), "%s%s", metric->exported, bounds[k].suffix);
        snprintf(help, sizeof(help), "%s%s", metric->help, bounds[k].help);
        put_family(file, rows, &family, request);
    }
}

/* The verdict of a result as a label: 1 for the verdict it has. */
static void put_verdicts(FILE *file, const json_t *rows, const struct export_request *request)
{
    fputs("# HELP assay_verdict Verdict (label verdict) on a result's samples\n"
          "# TYPE assay_verdict gauge\n",
          file);
    EACH(row, rows) {
        const char *verdict = member_string(row, "verdict");

        fputs("assay_verdict", file);
        put_labels(file, row);
        put_label(file, "verdict", verdict ? verdict : "none");
        fputs("} 1", file);
        put_time(file, row, request);
    }
}

/* What must be known with a result's values, as labels: 1 for each kind of finding. */
static bool put_findings(FILE *file, const json_t *rows, const struct export_request *request)
{
    bool headed = false;

    EACH(row, rows) {
        json_auto_t *codes = findings_codes(json_object_get(row, "findings"));

        if (!codes)
            return false;
        EACH(code, codes) {
            const char *name = json_string_value(code);

            if (!headed)
                fputs("# HELP assay_finding Finding (labels code, severity) on a result's samples\n"
                      "# TYPE assay_finding gauge\n",
                      file);
            headed = true;
            fputs("assay_finding", file);
            put_labels(file, row);
            put_label(file, "code", name);
            put_label(file, "severity", finding_severity_name(finding_kind_find(name)->severity));
            fputs("} 1", file);
            put_time(file, row, request);
        }
    }
    return true;
}

enum status export_openmetrics(struct store *store, const struct export_request *request,
                               FILE *file, struct error *err)
{
    json_auto_t *stored = NULL, *rows = NULL;
    bool ok;

    TRY(export_rows(store, request, &stored, err));
    rows = export_printable(stored);
    if (!rows)
        return error_no_memory(err);
    for (size_t i = 0; i < METRIC_COUNT; i++)
        put_metric(file, rows, &metrics[i], request);
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        put_family(file, rows, &counts[i], request);
    if (json_array_size(rows))
        put_verdicts(file, rows, request);
    ok = put_findings(file, rows, request);
    if (!ok)
        return error_no_memory(err);
    fputs("# EOF\n", file);
    return export_check(file, err);
}
