/*
 * Trials. The beginning of a trial is a record that is stored before the worker starts. What comes
 * in later is kept in memory; when the trial ends, it is stored as one record, and the samples in
 * table `series`. So an interrupted trial leaves only the record of its beginning.
 */
#include "results/store/store_draft.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/canonical.h"
#include "harness/core/clock.h"
#include "harness/core/text.h"
#include "results/store/series.h"

/* ---- the beginning ---- */

static enum status find_planned(struct store *store, int64_t campaign, int64_t sequence,
                                int64_t *ret_cell, int64_t *ret_attempt, struct error *err)
{
    struct statement statement;
    bool row = false;
    enum status status = statement_begin(
        store,
        "SELECT c.ordinal, 1 + (SELECT coalesce(max(t.attempt), 0) FROM trial t WHERE t.campaign ="
        " p.campaign AND t.sequence = p.sequence) FROM planned_trial p JOIN cell c ON c.id ="
        " p.cell WHERE p.campaign = ?1 AND p.sequence = ?2",
        &statement, err);

    if (status != STATUS_OK)
        return status;
    statement_i64(&statement, campaign);
    statement_i64(&statement, sequence);
    status = statement_step(&statement, &row, err);
    if (status == STATUS_OK && row) {
        *ret_cell = sqlite3_column_int64(statement.handle, 0);
        *ret_attempt = sqlite3_column_int64(statement.handle, 1);
    }
    statement_end(&statement);
    if (status == STATUS_OK && !row)
        status = error_set(err, STATUS_NOT_FOUND, "%s: campaign %lld has no planned trial %lld",
                           store->path, (long long)campaign, (long long)sequence);
    return status;
}

/* A date that was set back, by a person or a time server, must not put the order upside down: the
 * later of `utc_ns` and what `sql` finds for `id`. */
static enum status not_before(struct store *store, const char *sql, int64_t id, int64_t *utc_ns,
                              struct error *err)
{
    struct statement statement;
    int64_t before = 0;
    enum status status = statement_begin(store, sql, &statement, err);

    if (status != STATUS_OK)
        return status;
    statement_i64(&statement, id);
    status = statement_single(&statement, &before, err);
    if (before > *utc_ns)
        *utc_ns = before;
    return status;
}

#define END_OF_CAMPAIGN                                                                            \
    "SELECT max(c.created_utc_ns, coalesce((SELECT max(e.ended_utc_ns) FROM trial t JOIN"          \
    " trial_end e ON e.trial = t.id WHERE t.campaign = c.id), 0)) FROM campaign c WHERE c.id = ?1"
#define BEGIN_OF_TRIAL "SELECT started_utc_ns FROM trial WHERE id = ?1"

enum status store_begin_trial(struct store *store, int64_t campaign, int64_t sequence,
                              int64_t started_utc_ns, int64_t *ret_trial, struct error *err)
{
    struct record_body body;
    struct store_record record;
    struct statement statement;
    int64_t cell = 0, attempt = 0, id = 0;
    enum status status = store_change_begin(store, err);

    if (status != STATUS_OK)
        return status;
    status = find_planned(store, campaign, sequence, &cell, &attempt, err);
    if (status == STATUS_OK)
        status = not_before(store, END_OF_CAMPAIGN, campaign, &started_utc_ns, err);
    body_init(&body, "trial_begin");
    if (status == STATUS_OK)
        status = body_campaign(store, &body, campaign, err);
    body_i64(&body, "sequence", sequence);
    body_i64(&body, "attempt", attempt);
    body_i64(&body, "cell", cell);
    body_i64(&body, "started_utc_ns", started_utc_ns);
    status = store_add(store, &body, status, &record, err);
    if (status == STATUS_OK)
        status = statement_begin(store, "SELECT id FROM trial WHERE record = ?1", &statement, err);
    if (status == STATUS_OK) {
        statement_i64(&statement, record.id);
        status = statement_single(&statement, &id, err);
    }
    status = store_change_end(store, status, err);
    if (status == STATUS_OK)
        status = draft_create(store, id, err);
    if (status == STATUS_OK)
        *ret_trial = id;
    return status;
}

/* ---- what comes in ---- */

static json_t *reference_to(const struct store_record *record)
{
    return record_reference(&record->digest);
}

/* The readings as a record of their own: most often they are as they were before. */
enum status store_append_readings(struct store *store, const json_t *readings,
                                  struct store_record *ret, struct error *err)
{
    struct record_body body;
    enum status status = STATUS_OK;

    body_init(&body, "readings");
    body_json(&body, "readings", json_incref((json_t *)(uintptr_t)readings));
    if (json_object_size(readings) == 0)
        status = body_log(store, &body, err);
    return store_add(store, &body, status, ret, err);
}

/* The record of a device is its row's. */
enum status store_put_device(struct store *store, const struct store_device *device, int64_t *ret,
                             struct error *err)
{
    struct store_record record = {0};
    struct record_body body;
    struct statement statement;
    enum status status = store_change_begin(store, err);

    if (status != STATUS_OK)
        return status;
    status = store_append_readings(store, device->readings, &record, err);
    body_init(&body, "device");
    body_text(&body, "backend", device->backend);
    body_i64(&body, "index", device->index);
    body_text(&body, "name", device->name);
    body_text(&body, "vendor", device->vendor);
    body_text(&body, "uuid", device->uuid);
    body_text(&body, "device_type", device->type);
    body_json(&body, "simulated", json_boolean(device->simulated));
    body_json(&body, "readings", reference_to(&record));
    status = store_add(store, &body, status, &record, err);
    if (status == STATUS_OK)
        status = statement_begin(store, "SELECT id FROM device WHERE record = ?1", &statement, err);
    if (status == STATUS_OK) {
        statement_i64(&statement, record.id);
        status = statement_single(&statement, ret, err);
    }
    return store_change_end(store, status, err);
}

enum status store_set_trial_device(struct store *store, int64_t trial, int64_t device,
                                   struct error *err)
{
    struct store_draft *draft = NULL;
    struct statement statement;
    struct digest digest;
    bool row = false;
    enum status status = draft_find(store, trial, &draft, err);

    if (status == STATUS_OK)
        status = statement_begin(
            store, "SELECT r.digest FROM device d JOIN record r ON r.id = d.record WHERE d.id = ?1",
            &statement, err);
    if (status != STATUS_OK)
        return status;
    statement_i64(&statement, device);
    status = statement_step(&statement, &row, err);
    if (status == STATUS_OK && row)
        memcpy(digest.bytes, sqlite3_column_blob(statement.handle, 0), DIGEST_SIZE);
    statement_end(&statement);
    if (status == STATUS_OK && !row)
        return error_set(err, STATUS_NOT_FOUND, "%s: there is no device %lld", store->path,
                         (long long)device);
    if (status == STATUS_OK &&
        json_object_set_new(draft->body, "device", record_reference(&digest)) < 0)
        status = error_no_memory(err);
    return status;
}

enum status store_add_phase(struct store *store, int64_t trial, const char *name, int64_t begin_ns,
                            int64_t end_ns, struct error *err)
{
    struct record_body body = {.json = json_object()};

    body_text(&body, "name", name);
    body_i64(&body, "begin_ns", begin_ns);
    body_i64(&body, "end_ns", end_ns);
    return draft_add_body(store, trial, "phases", &body, err);
}

enum status store_add_check(struct store *store, int64_t trial, const struct store_check *check,
                            struct error *err)
{
    struct record_body body = {.json = json_object()};

    body_text(&body, "phase", check->phase);
    body_text(&body, "output", check->output);
    body_text(&body, "metric", check->metric);
    body_json(&body, "error",
              isfinite(check->error) ? json_real(check->error)
                                     : json_string(isnan(check->error) ? "nan"
                                                   : check->error > 0  ? "inf"
                                                                       : "-inf"));
    body_json(&body, "tolerance", json_real(check->tolerance));
    body_u64(&body, "compared", check->compared);
    body_json(&body, "passed", json_boolean(check->passed));
    body_text(&body, "reason", check->reason);
    return draft_add_body(store, trial, "checks", &body, err);
}

enum status store_add_environment(struct store *store, int64_t trial, const char *at,
                                  const json_t *readings, struct error *err)
{
    struct store_record record;
    struct store_draft *draft = NULL;
    json_t *environment;
    enum status status = draft_find(store, trial, &draft, err);

    if (status == STATUS_OK)
        status = store_change_begin(store, err);
    if (status != STATUS_OK)
        return status;
    status = store_append_readings(store, readings, &record, err);
    status = store_change_end(store, status, err);
    if (status != STATUS_OK)
        return status;
    environment = json_object_get(draft->body, "environment");
    if (!environment) {
        environment = json_object();
        json_object_set_new(draft->body, "environment", environment);
    }
    return json_object_set_new(environment, at, reference_to(&record)) == 0 ? STATUS_OK
                                                                            : error_no_memory(err);
}

static json_t *component_body(const struct store_component *component, bool *failed)
{
    struct record_body body = {.json = json_object()};
    json_t *json;

    body_text(&body, "path", component->path);
    body_text(&body, "kind", component->kind);
    body_text(&body, "version", component->version);
    body_text(&body, "build_id", component->build_id);
    body_u64(&body, "size", component->size);
    if (component->has_digest)
        body_digest(&body, "sha256", &component->digest);
    body_text(&body, "missing_reason", component->missing_reason);
    if (component->package) {
        body_text(&body, "manager", component->manager);
        body_text(&body, "package", component->package);
        body_text(&body, "package_version", component->package_version);
    }
    json = body_take(&body);
    *failed |= !json;
    return json;
}

enum status store_add_components(struct store *store, int64_t trial, const char *at,
                                 const struct store_component *components, size_t count,
                                 struct error *err)
{
    json_t *list = json_array();
    struct store_record record = {0};
    struct record_body body;
    enum status status = store_change_begin(store, err);

    if (status != STATUS_OK) {
        json_decref(list);
        return status;
    }
    body_init(&body, "stack");
    for (size_t i = 0; i < count; i++)
        if (json_array_append_new(list, component_body(&components[i], &body.failed)) != 0)
            body.failed = true;
    body_json(&body, "components", list);
    if (count == 0)
        status = body_log(store, &body, err);
    status = store_add(store, &body, status, &record, err);
    status = store_change_end(store, status, err);
    return status == STATUS_OK
               ? draft_add(store, trial, "stacks",
                           json_pack("{s:s, s:o}", "at", at, "stack", reference_to(&record)), err)
               : status;
}

enum status store_add_artifact(struct store *store, int64_t trial, const json_t *artifact,
                               struct error *err)
{
    struct digest digest;
    char *text = NULL;

    TRY(canonical_dump(artifact, &text, err));
    TRY(draft_add_blob(store, trial, text, &digest, err));
    return draft_add(store, trial, "artifacts", record_blob(&digest), err);
}

static enum status put_telemetry(struct store *store, int64_t trial,
                                 const struct store_telemetry *telemetry, struct record_body *body,
                                 struct error *err)
{
    struct digest channels, dump;
    struct store_record begin, end;
    char *text = NULL;

    TRY(canonical_dump(telemetry->channels, &text, err));
    TRY(draft_add_blob(store, trial, text, &channels, err));
    if (telemetry->dump)
        TRY(draft_add_blob(store, trial, strdup(telemetry->dump), &dump, err));
    if (telemetry->begin)
        TRY(store_append_readings(store, telemetry->begin, &begin, err));
    if (telemetry->end)
        TRY(store_append_readings(store, telemetry->end, &end, err));
    body_text(body, "part", telemetry->part);
    body_text(body, "status", telemetry->status);
    body_text(body, "message", telemetry->message);
    body_blob(body, "channels", &channels);
    body_i64(body, "interval_ns", telemetry->interval_ns);
    body_i64(body, "ticks", telemetry->ticks);
    body_i64(body, "late_ticks", telemetry->late_ticks);
    body_known(body, "cpu_ns", telemetry->cpu_ns);
    body_known(body, "reading_ns", telemetry->reading_ns);
    if (telemetry->begin)
        body_json(body, "begin", reference_to(&begin));
    if (telemetry->end)
        body_json(body, "end", reference_to(&end));
    if (telemetry->dump)
        body_blob(body, "dump", &dump);
    return STATUS_OK;
}

enum status store_add_telemetry(struct store *store, int64_t trial,
                                const struct store_telemetry *telemetry, struct error *err)
{
    struct record_body body = {.json = json_object()};
    enum status status = store_change_begin(store, err);

    if (status == STATUS_OK)
        status = store_change_end(store, put_telemetry(store, trial, telemetry, &body, err), err);
    if (status == STATUS_OK)
        return draft_add_body(store, trial, "telemetry", &body, err);
    json_decref(body.json);
    return status;
}

/* ---- the end ---- */

enum status store_end_trial(struct store *store, int64_t trial, const struct store_trial_end *end,
                            struct error *err)
{
    struct store_draft *draft = NULL;
    int64_t ended_utc_ns = end->ended_utc_ns;
    struct record_body body;
    enum status status = draft_find(store, trial, &draft, err);

    if (status == STATUS_OK)
        status = store_change_begin(store, err);
    if (status != STATUS_OK)
        return status;
    body_init(&body, "trial");
    status = not_before(store, BEGIN_OF_TRIAL, trial, &ended_utc_ns, err);
    if (status == STATUS_OK)
        status = body_trial(store, &body, trial, err);
    body_i64(&body, "ended_utc_ns", ended_utc_ns);
    body_text(&body, "status", end->status);
    body_text(&body, "message", end->message);
    body_json(&body, "orphan", json_false());
    body_known(&body, "iterations_per_sample",
               end->iterations_per_sample > 0 ? end->iterations_per_sample : -1);
    body_known(&body, "window_first", end->window_first);
    body_known(&body, "samples", end->samples);
    if (end->facts)
        body_json(&body, "facts", json_incref((json_t *)(uintptr_t)end->facts));
    body_known(&body, "exit_code", end->exit_code);
    body_known(&body, "signal", end->signal > 0 ? end->signal : -1);
    body_known(&body, "max_rss_bytes", end->max_rss_bytes);
    if (status == STATUS_OK)
        status = draft_put(store, draft, &body, err);
    status = store_add(store, &body, status, NULL, err);
    status = store_change_end(store, status, err);
    if (status == STATUS_OK)
        draft_remove(store, trial);
    return status;
}

/* The first trial of the campaign without an end; 0: there is none. */
static enum status find_orphan(struct store *store, int64_t campaign, int64_t *ret,
                               struct error *err)
{
    struct statement statement;

    TRY(statement_begin(store,
                        "SELECT coalesce(min(t.id), 0) FROM trial t WHERE t.campaign = ?1"
                        " AND NOT EXISTS (SELECT 1 FROM trial_end e WHERE e.trial = t.id)",
                        &statement, err));
    statement_i64(&statement, campaign);
    return statement_single(&statement, ret, err);
}

enum status store_close_orphans(struct store *store, int64_t campaign, struct error *err)
{
    int64_t trial = 0;
    enum status status = store_change_begin(store, err);

    if (status != STATUS_OK)
        return status;
    while ((status = find_orphan(store, campaign, &trial, err)) == STATUS_OK && trial) {
        int64_t ended_utc_ns = clock_utc_ns();
        struct record_body body;

        body_init(&body, "trial");
        status = not_before(store, BEGIN_OF_TRIAL, trial, &ended_utc_ns, err);
        if (status == STATUS_OK)
            status = body_trial(store, &body, trial, err);
        body_i64(&body, "ended_utc_ns", ended_utc_ns);
        body_text(&body, "status", "crashed");
        body_text(&body, "message", "the harness ended before the trial did");
        body_json(&body, "orphan", json_true());
        status = store_add(store, &body, status, NULL, err);
        if (status != STATUS_OK)
            break;
    }
    return store_change_end(store, status, err);
}
