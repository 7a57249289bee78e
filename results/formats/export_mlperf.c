/*
 * Results as lines in the form of MLPerf's logs (mlcommons/logging): ":::MLLOG " and an object with
 * namespace, time_ms, event_type, key, value, metadata. Keys that MLPerf knows keep its names
 * (submission_benchmark, global_batch_size, seed, run_start, run_stop, tracked_stats); others begin
 * with "assay_". The namespace is "assay", so that nobody takes such a file for a submission. Every
 * line's metadata names the result.
 */
#include "results/formats/export.h"

#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "protocols/finding.h"

struct log {
    FILE *file;
    const json_t *record;
    int line;
    bool failed;
};

/* Takes `value` and `more` (members for the metadata, or NULL). */
static void put(struct log *log, const char *event, const char *key, int64_t utc_ns, json_t *value,
                json_t *more)
{
    json_t *metadata = json_pack("{s:s, s:i}", "file", "assay", "lineno", ++log->line);
    json_auto_t *json = NULL, *shown = NULL;
    AUTO_FREE char *text = NULL;

    json_object_set(metadata, "result", json_object_get(log->record, "id"));
    json_object_update(metadata, more);
    json_decref(more);
    json = json_pack("{s:s, s:I, s:s, s:s, s:o, s:o}", "namespace", "assay", "time_ms",
                     (json_int_t)(utc_ns / 1000000), "event_type", event, "key", key, "value",
                     value ? value : json_null(), "metadata", metadata);
    shown = json ? export_printable(json) : NULL;
    text = shown ? json_dumps(shown, JSON_COMPACT) : NULL;
    log->failed |= !text;
    if (text)
        fprintf(log->file, ":::MLLOG %s\n", text);
}

static void put_point(struct log *log, const char *key, int64_t utc_ns, const json_t *value)
{
    put(log, "POINT_IN_TIME", key, utc_ns, json_incref((json_t *)value), NULL);
}

static void put_context(struct log *log, int64_t utc_ns)
{
    static const struct {
        const char *key, *member;
    } points[] = {{"submission_benchmark", "workload"},
                  {"global_batch_size", "batch"},
                  {"seed", "seed"},
                  {"assay_precision", "precision"},
                  {"assay_scenario", "scenario"},
                  {"assay_implementation", "implementation"},
                  {"assay_protocol", "protocol"},
                  {"assay_workload_digest", "workload_digest"},
                  {"assay_protocol_digest", "protocol_digest"}};
    const json_t *identity = json_object_get(log->record, "identity");
    const json_t *device = json_object_get(log->record, "device");
    const json_t *campaign = json_object_get(log->record, "campaign");
    const json_t *imported = json_object_get(log->record, "imported");

    for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++)
        put_point(log, points[i].key, utc_ns, json_object_get(identity, points[i].member));
    put_point(log, "submission_platform", utc_ns, json_object_get(device, "name"));
    put_point(log, "assay_device", utc_ns, json_object_get(log->record, "device_spec"));
    put_point(log, "assay_simulated", utc_ns, json_object_get(device, "simulated"));
    put_point(log, "assay_driver", utc_ns,
              member_in(json_object_get(device, "readings"), "device.driver_version", "value"));
    put_point(log, "assay_version", utc_ns, json_object_get(campaign, "tool_version"));
    put_point(log, "assay_plan_digest", utc_ns, json_object_get(campaign, "plan_digest"));
    if (json_is_object(imported))
        put_point(log, "assay_imported", utc_ns, json_object_get(imported, "origin"));
}

static void put_trials(struct log *log)
{
    EACH(trial, json_object_get(log->record, "trials")) {
        const json_t *ended = json_object_get(trial, "ended_utc_ns");
        const char *status = member_string(trial, "status");
        int64_t started = member_integer(trial, "started_utc_ns");

        put(log, "INTERVAL_START", "run_start", started, NULL,
            json_pack("{s:O, s:O}", "trial", json_object_get(trial, "sequence"), "attempt",
                      json_object_get(trial, "attempt")));
        if (!json_is_integer(ended))
            continue;
        put(log, "INTERVAL_END", "run_stop", json_integer_value(ended), NULL,
            json_pack("{s:O, s:O, s:s, s:s}", "trial", json_object_get(trial, "sequence"),
                      "attempt", json_object_get(trial, "attempt"), "status",
                      status && !strcmp(status, "ok") ? "success" : "aborted", "assay_status",
                      status ? status : "unknown"));
    }
}

static void put_row(struct log *log, const json_t *row, int64_t utc_ns)
{
    static const char *const names[] = {
        "metric", "value", "lo", "hi", "unit", "grade", "trials_ok", "trials_planned", "metrics"};
    json_t *stats = json_object(), *codes = findings_codes(json_object_get(row, "findings"));

    log->failed |= !codes;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (!json_is_null(json_object_get(row, names[i])))
            json_object_set(stats, names[i], json_object_get(row, names[i]));
    put(log, "POINT_IN_TIME", "tracked_stats", utc_ns, stats, NULL);
    put_point(log, "assay_verdict", utc_ns, json_object_get(row, "verdict"));
    put(log, "POINT_IN_TIME", "assay_findings", utc_ns, codes, NULL);
    put_point(log, "assay_foreign_worker", utc_ns, json_object_get(row, "foreign_worker"));
}

/*
 * Of a server: MLPerf's early stopping, which takes requests for independent. Under load they are
 * not, and it passes far too often: the line says so, and that it is no verdict of assay's.
 */
static void put_early_stopping(struct log *log, int64_t utc_ns)
{
    const json_t *serving = member_in(log->record, "estimate", "serving");
    const json_t *totals = json_object_get(serving, "totals"),
                 *slo = json_object_get(serving, "slo");
    const json_int_t requests = member_integer(totals, "requests");
    const json_int_t allowed = member_integer(slo, "mlperf_allowed");

    if (!json_is_object(serving))
        return;
    put(log, "POINT_IN_TIME", "assay_early_stopping", utc_ns,
        json_pack("{s:I, s:I, s:o, s:O}", "requests", requests, "misses",
                  requests - member_integer(totals, "met"), "misses_allowed",
                  allowed < 0 ? json_null() : json_integer(allowed), "passes",
                  json_object_get(slo, "mlperf_passes")),
        json_pack("{s:s, s:f, s:O}", "assumes", "independent requests", "confidence", 0.99,
                  "assay_verdict", json_object_get(slo, "verdict")));
}

enum status export_mlperf(struct store *store, const struct export_request *request, FILE *file,
                          struct error *err)
{
    struct log log = {.file = file};

    for (size_t i = 0; i < request->count; i++) {
        struct export_request one = {.cells = request->cells + i, .count = 1};
        json_auto_t *record = NULL, *rows = NULL;
        int64_t created;

        TRY(store_cell_json(store, request->cells[i], &record, err));
        TRY(export_rows(store, &one, &rows, err));
        log.record = record;
        created = member_integer(json_array_get(rows, 0), "created_utc_ns");
        put_context(&log, created);
        put_trials(&log);
        put_row(&log, json_array_get(rows, 0), created);
        put_early_stopping(&log, created);
        if (log.failed)
            return error_no_memory(err);
        TRY(export_check(file, err));
    }
    return STATUS_OK;
}
