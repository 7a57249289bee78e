/*
 * Trials. Its beginning is a record before the worker starts; what then comes in is kept in memory
 * and becomes one record, with the samples beside it, when the trial ends. So an interrupted trial
 * leaves its beginning alone.
 */
#include "results/store_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/canonical.h"
#include "harness/core/clock.h"
#include "harness/core/text.h"
#include "results/series.h"

/* A chunk of samples, as its row will be. */
struct draft_chunk {
    int64_t first, count;
    struct series_facts facts;
    size_t length;
    uint8_t *bytes; /* heap */
};

struct draft_series {
    char *name; /* heap */
    int64_t count;
    struct draft_chunk *chunks; /* heap */
    size_t chunk_count, capacity;
};

/* A trial that has begun. */
struct store_draft {
    int64_t trial;
    json_t *body; /* arrays by name, and "environment" */
    struct draft_series *series;
    size_t series_count;
    struct store_draft *next;
};

static enum status no_memory(struct store *store, struct error *err)
{
    return error_set(err, STATUS_NO_MEMORY, "%s: out of memory", store->path);
}

static void draft_free(struct store_draft *draft)
{
    for (size_t i = 0; i < draft->series_count; i++) {
        for (size_t k = 0; k < draft->series[i].chunk_count; k++)
            free(draft->series[i].chunks[k].bytes);
        free(draft->series[i].chunks);
        free(draft->series[i].name);
    }
    free(draft->series);
    json_decref(draft->body);
    free(draft);
}

void store_drafts_finish(struct store *store)
{
    while (store->drafts) {
        struct store_draft *next = store->drafts->next;

        draft_free(store->drafts);
        store->drafts = next;
    }
}

static void draft_remove(struct store *store, int64_t trial)
{
    struct store_draft **place = &store->drafts;

    while (*place && (*place)->trial != trial)
        place = &(*place)->next;
    if (*place) {
        struct store_draft *draft = *place;

        *place = draft->next;
        draft_free(draft);
    }
}

/* INVALID: this trial was not begun here, or has ended. */
static enum status draft_find(struct store *store, int64_t trial, struct store_draft **ret,
                              struct error *err)
{
    for (struct store_draft *draft = store->drafts; draft; draft = draft->next)
        if (draft->trial == trial) {
            *ret = draft;
            return STATUS_OK;
        }
    return error_set(err, STATUS_INVALID,
                     "%s: trial %lld has not begun, or has ended: nothing can be added to it",
                     store->path, (long long)trial);
}

static enum status draft_create(struct store *store, int64_t trial, struct error *err)
{
    struct store_draft *draft = calloc(1, sizeof(*draft));

    if (draft)
        draft->body = json_object();
    if (!draft || !draft->body) {
        free(draft);
        return no_memory(store, err);
    }
    draft->trial = trial;
    draft->next = store->drafts;
    store->drafts = draft;
    return STATUS_OK;
}

/* Appends to one of the trial's arrays; takes `value`, where NULL is out of memory. */
static enum status draft_add(struct store *store, int64_t trial, const char *array, json_t *value,
                             struct error *err)
{
    struct store_draft *draft = NULL;
    json_t *list;
    enum status status = draft_find(store, trial, &draft, err);

    if (status != STATUS_OK) {
        json_decref(value);
        return status;
    }
    list = json_object_get(draft->body, array);
    if (!list && value) {
        list = json_array();
        json_object_set_new(draft->body, array, list);
    }
    return value && json_array_append_new(list, value) == 0 ? STATUS_OK : no_memory(store, err);
}

/* The same of a body. */
static enum status draft_add_body(struct store *store, int64_t trial, const char *array,
                                  struct record_body *body, struct error *err)
{
    const bool too_large = body->too_large;
    json_t *json = body_take(body);

    if (too_large)
        return error_set(err, STATUS_INVALID,
                         "%s: a number of trial %lld does not fit into 64 bits", store->path,
                         (long long)trial);
    return draft_add(store, trial, array, json, err);
}

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
        status = no_memory(store, err);
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
                                                                            : no_memory(store, err);
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
    enum status status = store_change_begin(store, err);

    if (status != STATUS_OK)
        return status;
    status = store_insert_json(store, artifact, &digest, err);
    status = store_change_end(store, status, err);
    return status == STATUS_OK ? draft_add(store, trial, "artifacts", record_blob(&digest), err)
                               : status;
}

static enum status put_telemetry(struct store *store, const struct store_telemetry *telemetry,
                                 struct record_body *body, struct error *err)
{
    struct digest channels, dump;
    struct store_record begin, end;
    enum status status = store_insert_json(store, telemetry->channels, &channels, err);

    if (status == STATUS_OK && telemetry->dump)
        status = store_insert_content(store, telemetry->dump, strlen(telemetry->dump), &dump, err);
    if (status == STATUS_OK && telemetry->begin)
        status = store_append_readings(store, telemetry->begin, &begin, err);
    if (status == STATUS_OK && telemetry->end)
        status = store_append_readings(store, telemetry->end, &end, err);
    if (status != STATUS_OK)
        return status;
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
        status = store_change_end(store, put_telemetry(store, telemetry, &body, err), err);
    if (status == STATUS_OK)
        return draft_add_body(store, trial, "telemetry", &body, err);
    json_decref(body.json);
    return status;
}

/* ---- samples ---- */

static struct draft_series *find_series(struct store_draft *draft, const char *name)
{
    struct draft_series *grown;

    for (size_t i = 0; i < draft->series_count; i++)
        if (!strcmp(draft->series[i].name, name))
            return &draft->series[i];
    grown = realloc(draft->series, (draft->series_count + 1) * sizeof(*grown));
    if (!grown)
        return NULL;
    draft->series = grown;
    grown[draft->series_count] = (struct draft_series){.name = strdup(name)};
    return grown[draft->series_count].name ? &grown[draft->series_count++] : NULL;
}

static bool add_chunk(struct draft_series *series, const int64_t *values, size_t count)
{
    uint8_t bytes[SERIES_ENCODED_MAX];
    struct draft_chunk chunk = {.first = series->count,
                                .count = (int64_t)count,
                                .facts = series_measure(values, count),
                                .length = series_encode(values, count, bytes)};

    if (series->chunk_count == series->capacity) {
        const size_t capacity = series->capacity ? 2 * series->capacity : 8;
        struct draft_chunk *grown = realloc(series->chunks, capacity * sizeof(*grown));

        if (!grown)
            return false;
        series->chunks = grown;
        series->capacity = capacity;
    }
    chunk.bytes = malloc(chunk.length);
    if (!chunk.bytes)
        return false;
    memcpy(chunk.bytes, bytes, chunk.length);
    series->chunks[series->chunk_count++] = chunk;
    series->count += (int64_t)count;
    return true;
}

enum status store_add_samples(struct store *store, int64_t trial, const char *name, uint64_t first,
                              const int64_t *values, size_t count, struct error *err)
{
    struct store_draft *draft = NULL;
    struct draft_series *series;
    enum status status = draft_find(store, trial, &draft, err);

    if (status != STATUS_OK || count == 0)
        return status;
    series = find_series(draft, name);
    if (!series)
        return no_memory(store, err);
    if (first != (uint64_t)series->count)
        return error_set(err, STATUS_INVALID,
                         "%s: trial %lld has %lld samples of %s; a chunk that begins at %llu does "
                         "not follow them",
                         store->path, (long long)trial, (long long)series->count, name,
                         (unsigned long long)first);
    for (size_t i = 0; i < count; i += SERIES_CHUNK_MAX)
        if (!add_chunk(series, values + i,
                       count - i < SERIES_CHUNK_MAX ? count - i : SERIES_CHUNK_MAX))
            return no_memory(store, err);
    return STATUS_OK;
}

static enum status insert_chunk(struct store *store, int64_t trial, const char *name,
                                const struct draft_chunk *chunk, struct error *err)
{
    struct statement statement;
    enum status status = statement_begin(
        store,
        "INSERT INTO series (trial, name, first, count, minimum, maximum, total, data)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        &statement, err);

    if (status != STATUS_OK)
        return status;
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

/* Stores the samples of all series, and describes them. */
static enum status insert_series(struct store *store, const struct store_draft *draft,
                                 struct record_body *body, struct error *err)
{
    json_t *list = json_array();
    enum status status = STATUS_OK;

    for (size_t i = 0; i < draft->series_count && status == STATUS_OK; i++) {
        const struct draft_series *series = &draft->series[i];
        struct record_body entry = {.json = json_object()};
        struct digest_state state;
        struct digest digest;

        digest_init(&state);
        for (size_t k = 0; k < series->chunk_count && status == STATUS_OK; k++) {
            status = insert_chunk(store, draft->trial, series->name, &series->chunks[k], err);
            digest_update(&state, series->chunks[k].bytes, series->chunks[k].length);
        }
        digest = digest_final(&state);
        body_text(&entry, "name", series->name);
        body_i64(&entry, "samples", series->count);
        body_digest(&entry, "sha256", &digest);
        if (json_array_append_new(list, body_take(&entry)) != 0)
            body->failed = true;
    }
    body_json(body, "series", list);
    return status;
}

/* ---- the end ---- */

static void put_drafted(struct record_body *body, const struct store_draft *draft)
{
    const char *name;
    json_t *value;

    json_object_foreach(draft->body, name, value) body_json(body, name, json_incref(value));
}

enum status store_end_trial(struct store *store, int64_t trial, const struct store_trial_end *end,
                            struct error *err)
{
    struct store_draft *draft = NULL;
    struct record_body body;
    enum status status = draft_find(store, trial, &draft, err);

    if (status == STATUS_OK)
        status = store_change_begin(store, err);
    if (status != STATUS_OK)
        return status;
    body_init(&body, "trial");
    status = body_trial(store, &body, trial, err);
    body_i64(&body, "ended_utc_ns", end->ended_utc_ns);
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
    put_drafted(&body, draft);
    if (status == STATUS_OK)
        status = insert_series(store, draft, &body, err);
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
    enum status status =
        statement_begin(store,
                        "SELECT coalesce(min(t.id), 0) FROM trial t WHERE t.campaign = ?1"
                        " AND NOT EXISTS (SELECT 1 FROM trial_end e WHERE e.trial = t.id)",
                        &statement, err);

    if (status != STATUS_OK)
        return status;
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
        struct record_body body;

        body_init(&body, "trial");
        status = body_trial(store, &body, trial, err);
        body_i64(&body, "ended_utc_ns", clock_utc_ns());
        body_text(&body, "status", "crashed");
        body_text(&body, "message", "the harness ended before the trial did");
        body_json(&body, "orphan", json_true());
        status = store_add(store, &body, status, NULL, err);
        if (status != STATUS_OK)
            break;
    }
    return store_change_end(store, status, err);
}

static enum status append_pending(struct statement *statement, struct store_pending **list,
                                  size_t *count, size_t *capacity)
{
    struct store_pending *grown;

    if (*count == *capacity) {
        *capacity = *capacity ? *capacity * 2 : 64;
        grown = realloc(*list, *capacity * sizeof(**list));
        if (!grown)
            return STATUS_NO_MEMORY;
        *list = grown;
    }
    (*list)[(*count)++] = (struct store_pending){
        .sequence = sqlite3_column_int64(statement->handle, 0),
        .cell = sqlite3_column_int64(statement->handle, 1),
        .cell_ordinal = sqlite3_column_int64(statement->handle, 2),
    };
    return STATUS_OK;
}

enum status store_pending_trials(struct store *store, int64_t campaign, struct store_pending **ret,
                                 size_t *ret_count, struct error *err)
{
    struct statement statement;
    struct store_pending *list = NULL;
    size_t count = 0, capacity = 0;
    enum status status = statement_begin(
        store,
        "SELECT p.sequence, p.cell, c.ordinal FROM planned_trial p JOIN cell c ON c.id = p.cell"
        " LEFT JOIN trial t ON t.campaign = p.campaign AND t.sequence = p.sequence"
        " AND t.attempt = (SELECT max(l.attempt) FROM trial l"
        " WHERE l.campaign = p.campaign AND l.sequence = p.sequence)"
        " LEFT JOIN trial_end e ON e.trial = t.id"
        " WHERE p.campaign = ?1"
        " AND (e.trial IS NULL OR e.orphan = 1 OR e.status = 'interrupted')"
        " ORDER BY p.sequence",
        &statement, err);

    if (status != STATUS_OK)
        return status;
    statement_i64(&statement, campaign);
    for (;;) {
        bool row = false;

        status = statement_step(&statement, &row, err);
        if (status != STATUS_OK || !row)
            break;
        status = append_pending(&statement, &list, &count, &capacity);
        if (status != STATUS_OK) {
            error_set(err, status, "%s: out of memory", store->path);
            break;
        }
    }
    statement_end(&statement);
    if (status == STATUS_OK) {
        *ret = list;
        *ret_count = count;
    } else {
        free(list);
    }
    return status;
}
