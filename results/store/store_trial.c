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
#include "harness/core/cleanup.h"
#include "harness/core/clock.h"

/* ---- the beginning ---- */

static enum status find_planned(struct store *store, int64_t campaign, int64_t sequence,
                                int64_t *ret_cell, int64_t *ret_attempt, struct error *err)
{
    CLEANUP(statement_end) struct statement statement = {0};
    bool row = false;

    TRY(statement_begin(
        store,
        "SELECT c.ordinal, 1 + (SELECT coalesce(max(t.attempt), 0) FROM trial t WHERE t.campaign ="
        " p.campaign AND t.sequence = p.sequence) FROM planned_trial p JOIN cell c ON c.id ="
        " p.cell WHERE p.campaign = ?1 AND p.sequence = ?2",
        &statement, err));
    statement_i64(&statement, campaign);
    statement_i64(&statement, sequence);
    TRY(statement_step(&statement, &row, err));
    if (!row)
        return error_set(err, STATUS_NOT_FOUND, "%s: campaign %lld has no planned trial %lld",
                         store->path, (long long)campaign, (long long)sequence);
    *ret_cell = sqlite3_column_int64(statement.handle, 0);
    *ret_attempt = sqlite3_column_int64(statement.handle, 1);
    return STATUS_OK;
}

/* A date that was set back, by a person or a time server, must not put the order upside down: the
 * later of `utc_ns` and what `sql` finds for `id`. */
static enum status not_before(struct store *store, const char *sql, int64_t id, int64_t *utc_ns,
                              struct error *err)
{
    int64_t before = 0;

    TRY(store_ask(store, sql, id, &before, err));
    if (before > *utc_ns)
        *utc_ns = before;
    return STATUS_OK;
}

#define END_OF_CAMPAIGN                                                                            \
    "SELECT max(c.created_utc_ns, coalesce((SELECT max(e.ended_utc_ns) FROM trial t JOIN"          \
    " trial_end e ON e.trial = t.id WHERE t.campaign = c.id), 0), coalesce((SELECT max(utc_ns)"    \
    " FROM checkpoint h WHERE h.campaign = c.id), 0)) FROM campaign c WHERE c.id = ?1"
#define BEGIN_OF_TRIAL "SELECT started_utc_ns FROM trial WHERE id = ?1"

enum status store_begin_trial(struct store *store, int64_t campaign, int64_t sequence,
                              int64_t started_utc_ns, int64_t *ret_trial, struct error *err)
{
    struct record_body body = body_begin(store, "trial_begin", err);
    int64_t cell = 0, attempt = 0, id = 0;

    BODY_TRY(&body, find_planned(store, campaign, sequence, &cell, &attempt, err));
    BODY_TRY(&body, not_before(store, END_OF_CAMPAIGN, campaign, &started_utc_ns, err));
    body_campaign(&body, campaign);
    body_i64(&body, "sequence", sequence);
    body_i64(&body, "attempt", attempt);
    body_i64(&body, "cell", cell);
    body_i64(&body, "started_utc_ns", started_utc_ns);
    body_enter_row(&body, "SELECT id FROM trial WHERE record = ?1", &id);
    TRY(body_close(&body));
    TRY(draft_create(store, id, err));
    *ret_trial = id;
    return STATUS_OK;
}

/* ---- what comes in ---- */

/* The record of a device is its row's. */
enum status store_put_device(struct store *store, const struct store_device *device, int64_t *ret,
                             struct error *err)
{
    struct record_body body = body_begin(store, "device", err);

    body_readings(&body, "readings", device->readings);
    body_text(&body, "backend", device->backend);
    body_i64(&body, "index", device->index);
    body_text(&body, "name", device->name);
    body_text(&body, "vendor", device->vendor);
    body_text(&body, "uuid", device->uuid);
    body_text(&body, "device_type", device->type);
    body_json(&body, "simulated", json_boolean(device->simulated));
    body_enter_row(&body, "SELECT id FROM device WHERE record = ?1", ret);
    return body_close(&body);
}

enum status store_set_trial_device(struct store *store, int64_t trial, int64_t device,
                                   struct error *err)
{
    struct record_body record = draft_body(store, trial, err);

    body_device(&record, device);
    return record.status;
}

#define STORED_STRUCT struct store_phase
static const struct member phase_members[] = {STORED_WRITE(STORED_PHASE)};
#undef STORED_STRUCT
static const struct type phase_type = TYPE(struct store_phase, "a phase", phase_members);

/* Adds the struct to the array of the trial's record. */
static enum status add_part(struct store *store, int64_t trial, const char *array,
                            const struct type *type, const void *of, struct error *err)
{
    struct record_body record = draft_body(store, trial, err), part = body_part_of(&record);

    body_struct(&part, type, of);
    body_append(&record, array, &part);
    return record.status;
}

enum status store_add_phase(struct store *store, int64_t trial, const struct store_phase *phase,
                            struct error *err)
{
    return add_part(store, trial, "phases", &phase_type, phase, err);
}

/* JSON has no infinity and no NaN. */
static json_t *error_to_json(const void *at)
{
    const double error = *(const double *)at;

    return isfinite(error) ? json_real(error)
                           : json_string(isnan(error) ? "nan"
                                         : error > 0  ? "inf"
                                                      : "-inf");
}

static const struct member_codec error_codec = {.to_json = error_to_json};
#define STORED_STRUCT struct store_check
static const struct member check_members[] = {
    STORED_WRITE(STORED_CHECK) MEMBER(struct store_check, CUSTOM, error, .codec = &error_codec),
};
#undef STORED_STRUCT
static const struct type check_type = TYPE(struct store_check, "a check", check_members);

enum status store_add_check(struct store *store, int64_t trial, const struct store_check *check,
                            struct error *err)
{
    return add_part(store, trial, "checks", &check_type, check, err);
}

enum status store_add_environment(struct store *store, int64_t trial, const char *at,
                                  const json_t *readings, struct error *err)
{
    struct record_body record = draft_body(store, trial, err), all = body_part_of(&record);
    json_t *known = json_object_get(record.json, "environment");

    if (known && json_object_update(all.json, known) != 0)
        BODY_TRY(&all, error_no_memory(err));
    body_change(&all);
    body_readings(&all, at, readings);
    body_close(&all);
    body_part(&record, "environment", &all);
    return record.status;
}

#define STORED_STRUCT struct store_component
static const struct member component_members[] = {STORED_WRITE(STORED_COMPONENT)};
#undef STORED_STRUCT
static const struct type component_type = TYPE(struct store_component, "a file", component_members);

enum status store_add_components(struct store *store, int64_t trial, const char *at,
                                 const struct store_component *components, size_t count,
                                 struct error *err)
{
    struct record_body record = draft_body(store, trial, err), part = body_part_of(&record), stack;

    body_change(&part);
    stack = body_part_of(&part);
    stack.type = "stack";
    body_json(&stack, "components", json_array());
    for (size_t i = 0; i < count; i++) {
        struct record_body component = body_part_of(&stack);

        body_struct(&component, &component_type, &components[i]);
        body_append(&stack, "components", &component);
    }
    if (count == 0)
        body_log(&stack);
    body_text(&part, "at", at);
    body_record(&part, "stack", &stack);
    body_close(&part);
    body_append(&record, "stacks", &part);
    return record.status;
}

enum status store_add_artifact(struct store *store, int64_t trial, const json_t *artifact,
                               struct error *err)
{
    struct record_body record = draft_body(store, trial, err), part = body_part_of(&record);
    struct digest digest = {{0}};
    char *text = NULL;

    BODY_TRY(&part, canonical_dump(artifact, &text, err));
    BODY_TRY(&part, draft_add_blob(store, trial, text, &digest, err));
    body_digest(&part, "blob", &digest); /* as record_blob has it */
    body_append(&record, "artifacts", &part);
    return record.status;
}

#define STORED_STRUCT struct store_telemetry
static const struct member telemetry_members[] = {
    STORED_WRITE(STORED_TELEMETRY) MEMBER(struct store_telemetry, TEXT, status),
};
#undef STORED_STRUCT
static const struct type telemetry_type =
    TYPE(struct store_telemetry, "telemetry", telemetry_members);

enum status store_add_telemetry(struct store *store, int64_t trial,
                                const struct store_telemetry *telemetry, struct error *err)
{
    struct record_body record = draft_body(store, trial, err), part = body_part_of(&record);
    struct digest digest = {{0}};
    char *text = NULL;

    BODY_TRY(&part, canonical_dump(telemetry->channels, &text, err));
    BODY_TRY(&part, draft_add_blob(store, trial, text, &digest, err));
    body_blob(&part, "channels", &digest);
    if (telemetry->dump) {
        BODY_TRY(&part, draft_add_blob(store, trial, strdup(telemetry->dump), &digest, err));
        body_blob(&part, "dump", &digest);
    }
    body_change(&part);
    if (telemetry->begin)
        body_readings(&part, "begin", telemetry->begin);
    if (telemetry->end)
        body_readings(&part, "end", telemetry->end);
    body_close(&part);
    body_struct(&part, &telemetry_type, telemetry);
    body_append(&record, "telemetry", &part);
    return record.status;
}

/* ---- the end ---- */

#define STORED_STRUCT struct store_trial_end
static const struct member end_members[] = {STORED_WRITE(STORED_TRIAL_END)};
#undef STORED_STRUCT
static const struct type end_type = TYPE(struct store_trial_end, "the end of a trial", end_members);

static void put_end(struct record_body *body, int64_t trial, struct store_trial_end end)
{
    BODY_TRY(body, not_before(body->store, BEGIN_OF_TRIAL, trial, &end.ended_utc_ns, body->err));
    body_trial(body, trial);
    body_struct(body, &end_type, &end);
}

enum status store_end_trial(struct store *store, int64_t trial, const struct store_trial_end *end,
                            struct error *err)
{
    struct store_draft *draft = NULL;
    struct record_body body;

    TRY(draft_find(store, trial, &draft, err));
    body = body_begin(store, "trial", err);
    put_end(&body, trial, *end);
    draft_put(draft, &body);
    TRY(body_end(&body));
    draft_remove(store, trial);
    return STATUS_OK;
}

static enum status close_orphans(struct store *store, int64_t campaign, struct error *err)
{
    struct record_body body;
    int64_t trial = 0; /* the first of the campaign without an end */

    for (;;) {
        TRY(store_ask(store,
                      "SELECT coalesce(min(t.id), 0) FROM trial t WHERE t.campaign = ?1"
                      " AND NOT EXISTS (SELECT 1 FROM trial_end e WHERE e.trial = t.id)",
                      campaign, &trial, err));
        if (!trial)
            return STATUS_OK;
        body = body_of(store, "trial", err);
        put_end(&body, trial,
                (struct store_trial_end){.ended_utc_ns = clock_utc_ns(),
                                         .status = "crashed",
                                         .message = "the harness ended before the trial did",
                                         .orphan = true,
                                         .window_first = -1,
                                         .samples = -1,
                                         .exit_code = -1,
                                         .max_rss_bytes = -1});
        TRY(body_end(&body));
    }
}

enum status store_close_orphans(struct store *store, int64_t campaign, struct error *err)
{
    TRY(store_change_begin(store, err));
    return store_change_end(store, close_orphans(store, campaign, err), err);
}
