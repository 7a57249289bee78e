/*
 * Trial by trial, in one walk, since samples are most of a file: every series is decoded and
 * compared with its record, whether an estimate reads it or not; the phases are in order; and a
 * trial that is ok was measured as its protocol says (protocols/conduct.h), from samples, phases,
 * checks, and what the harness noted of it in `facts`.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "harness/core/canonical.h"
#include "harness/core/shortage.h"
#include "protocols/conduct.h"
#include "protocols/serving/request_log.h"
#include "results/evidence/verify_internal.h"
#include "results/store/foreign_worker.h"
#include "results/store/series.h"

#define SERIES_STEP 256

enum {
    TRIAL,
    SAMPLES,
    IS_OK,
    PROTOCOL,
    BODY,
    REQUESTS,
    WINDOW_FIRST,
    ITERATIONS,
    IS_SERVER,
    CAMPAIGN,
    ORDINAL,
    IS_ENDPOINT,
    RECORD,
    STARTED
};

#define TRIALS                                                                                     \
    "SELECT e.trial, e.samples, e.status = 'ok', c.protocol, p.body,"                              \
    " w.body ->> '$.load.arrivals.requests',"                                                      \
    " e.window_first, e.iterations_per_sample, c.scenario LIKE 'server@%',"                        \
    " c.campaign, c.ordinal, c.kind = 'endpoint', r.body, t.started_utc_ns FROM trial_end e LEFT " \
    "JOIN record r ON"                                                                             \
    " r.id = e.record LEFT JOIN trial t ON t.id = e.trial LEFT JOIN cell c ON c.id = t.cell LEFT " \
    "JOIN content p ON p.digest ="                                                                 \
    " c.protocol LEFT JOIN content w ON w.digest = c.workload AND json_valid(w.body) WHERE"        \
    " e.trial > ?1 AND e.trial <= ?2 ORDER BY e.trial"
#define CHUNKS                                                                                     \
    "SELECT name, first, count, minimum, maximum, total, data FROM series WHERE trial = ?1 ORDER"  \
    " BY name, first"
#define PHASES "SELECT id, name, begin_ns, end_ns FROM phase WHERE trial = ?1 ORDER BY id"
#define CHECKS "SELECT phase FROM verification WHERE trial = ?1"
/* What a campaign planned, and the digest of the assay that made it. */
#define PLANS                                                                                      \
    "SELECT q.body, lower(hex(g.tool_digest)) FROM campaign g LEFT JOIN content q ON q.digest ="   \
    " g.plan WHERE g.id = ?1"
#define FOREIGN "SELECT 1 WHERE " FOREIGN_WORKER_RAN("?1")

struct reader {
    struct verify_worker *worker;
    sqlite3_stmt *trials, *chunks, *phases, *checks, *foreign, *plans;
    int64_t campaign; /* whose plan is `plan` */
    json_t *plan;
    char planned[DIGEST_HEX_SIZE], own[DIGEST_HEX_SIZE];
    struct protocol protocol; /* whose digest is `digest` */
    struct digest digest;
    struct record_span *list; /* heap: of the current trial's series, by its record */
    size_t count;
    struct conduct_samples walls; /* of its window */
};

/* The series of a trial, as the record names it and as it is stored. */
struct reading_series {
    char name[128];
    struct digest_state state;
    int64_t samples;
};

/* A trial whose series are read. */
struct reading_trial {
    struct reader *reader; /* from whose list those that were seen are taken out */
    struct verify_worker *worker;
    int64_t id;
    bool is_record;           /* has one that can be read */
    struct record_span facts; /* in it; length 0: none */
    bool is_ok;               /* by its record */
    int64_t told;             /* samples by its record; -1: it says none */
    int64_t walls;            /* samples of wall_ns */
    double spent;             /* ns of samples and gaps */
    int64_t window_first;
    int64_t columns[REQUEST_COLUMNS]; /* values of each column of a server's log; 0: not there */
    struct conduct conduct;
};

/* The key of a chunk of a series, which `first` begins. */
static const char *chunk_key(const struct reading_trial *trial, const char *name, int64_t first,
                             char ret[160])
{
    snprintf(ret, 160, "%lld/%.100s/%lld", (long long)trial->id, name, (long long)first);
    return ret;
}

/* A rule that is broken by the chunk of a series; the values of its message follow the series and
 * the trial. */
#define WRONG_SERIES(trial, rule, name, first, ...)                                                \
    VERIFY_ADD(&(trial)->worker->findings, rule, chunk_key(trial, name, first, (char[160]){0}),    \
               name, (long long)(trial)->id, ##__VA_ARGS__)

static bool is_telemetry(const char *name)
{
    return strncasecmp(name, "telemetry:", 10) == 0;
}

/* Whether another worker than assay's own measured it. Asked where something is wrong. */
static bool is_foreign(const struct reading_trial *trial)
{
    sqlite3_stmt *row = trial->reader->foreign;
    bool found;

    sqlite3_bind_int64(row, 1, trial->id);
    found = sqlite3_step(row) == SQLITE_ROW;
    sqlite3_reset(row);
    return found;
}

/* Takes a series out of the record's list. */
static void find_entry(struct reading_trial *trial, struct reading_series *series)
{
    const struct digest digest = digest_final(&series->state);
    struct record_span *entry = trial->reader->list, *end = entry + trial->reader->count;
    char hex[DIGEST_HEX_SIZE];
    struct text told;
    size_t named;

    text_init(&told);
    text_append(&told, "{\"name\":");
    canonical_append_string(&told, series->name, strlen(series->name));
    text_append_char(&told, ',');
    named = told.length;
    text_append_format(&told, "\"samples\":%" PRId64 ",\"sha256\":\"%s\"}", series->samples,
                       digest_hex(&digest, hex));
    while (text_ok(&told) && entry < end &&
           (entry->length <= named || memcmp(entry->bytes, told.data, named) != 0))
        entry++;
    if (text_ok(&told) && entry == end)
        WRONG_SERIES(trial, SERIES_FOREIGN, series->name, 0);
    else if (text_ok(&told) &&
             (entry->length != told.length || memcmp(entry->bytes, told.data, told.length) != 0))
        WRONG_SERIES(trial, SERIES_DIFFERS, series->name, 0);
    if (entry < end)
        entry->length = 0;
    text_finish(&told);
}

/* A series is at its end: is it what the record says? */
static void end_series(struct reading_trial *trial, struct reading_series *series)
{
    char key[24];

    if (trial->is_ok && series->samples != trial->told && !is_telemetry(series->name) &&
        !request_is_column(series->name) && !is_foreign(trial)) {
        snprintf(key, sizeof(key), "%lld", (long long)trial->id);
        VERIFY_ADD(&trial->worker->findings, TRIAL_VALUES, key, trial->told, series->samples,
                   series->name);
    }
    if (!strcmp(series->name, "wall_ns"))
        trial->walls = series->samples;
    for (size_t i = 0; i < REQUEST_COLUMNS; i++)
        if (!strcmp(series->name, request_columns[i]))
            trial->columns[i] = series->samples;
    find_entry(trial, series);
}

/* The chunk in which the window begins; the first gap of the window is the wait before it. */
static void split(const int64_t *values, size_t before, size_t count, bool gaps, int64_t *warmup,
                  int64_t *window)
{
    for (size_t i = 0; i < count; i++) {
        const int64_t value = values[i] > 0 ? values[i] : 0;

        if (i < before)
            *warmup += value;
        else if (!gaps || i > before)
            *window += value;
    }
}

enum kind { SAMPLE, GAP, DEVICE };

static int64_t *time_of(struct conduct_part *part, enum kind kind)
{
    return kind == GAP ? &part->gap_ns : kind == DEVICE ? &part->device_ns : &part->wall_ns;
}

static void note_walls(struct reading_trial *trial, int64_t first, const int64_t *values,
                       size_t count)
{
    const int64_t before = trial->window_first - first;
    const size_t skip = before <= 0 ? 0 : (size_t)before < count ? (size_t)before : count;

    if (values && !conduct_samples_add(&trial->reader->walls, values + skip, count - skip))
        shortage_note();
}

/* A chunk of samples, of gaps or of the device's times; `values`: NULL where they could not be
 * read. */
static void note_chunk(struct reading_trial *trial, sqlite3_stmt *row, enum kind kind,
                       const int64_t *values, size_t got)
{
    const int64_t first = sqlite3_column_int64(row, 1), count = sqlite3_column_int64(row, 2);
    const int64_t total = sqlite3_column_int64(row, 5);
    int64_t *before = time_of(&trial->conduct.warmup, kind);
    int64_t *within = time_of(&trial->conduct.window, kind);

    if (kind != DEVICE)
        trial->spent += sqlite3_column_double(row, 5);
    if (kind == SAMPLE) {
        trial->conduct.window.samples += count;
        note_walls(trial, first, values, got);
    }
    if (first + count <= trial->window_first)
        *before += total;
    else if (first > trial->window_first)
        *within += total;
    else if (values)
        split(values, (size_t)(trial->window_first - first), got, kind == GAP, before, within);
}

/* columns: 0 name, then those of the chunk: first, count, minimum, maximum, total, data */
static void take_chunk(struct reading_trial *trial, sqlite3_stmt *row,
                       struct reading_series *series)
{
    const int64_t first = sqlite3_column_int64(row, 1), minimum = sqlite3_column_int64(row, 3);
    const bool is_wall = !strcmp(series->name, "wall_ns");
    const bool is_gap = !strcmp(series->name, "gap_ns");
    bool is_read;
    int64_t values[SERIES_CHUNK_MAX];
    struct error err = ERROR_INIT;
    struct digest digest;
    size_t count = 0;

    trial->worker->done++;
    if ((size_t)sqlite3_column_bytes(row, 0) != strlen(text_at(row, 0)))
        WRONG_SERIES(trial, SERIES_NAME_NUL, series->name, first);
    if (first != series->samples)
        WRONG_SERIES(trial, SERIES_GAP, series->name, series->samples);
    if (minimum < (is_wall ? 1 : -1) && !is_telemetry(series->name))
        WRONG_SERIES(trial, SERIES_VALUE, series->name, first, minimum);
    is_read = store_read_chunk(row, 1, values, &count, &digest, &err) == STATUS_OK;
    if (!is_read)
        WRONG_SERIES(trial, SERIES_CHUNK, series->name, first, err.message);
    if (is_wall || is_gap || !strcmp(series->name, "device_ns"))
        note_chunk(trial, row,
                   is_wall  ? SAMPLE
                   : is_gap ? GAP
                            : DEVICE,
                   is_read ? values : NULL, count);
    if (__builtin_add_overflow(series->samples, sqlite3_column_int64(row, 2), &series->samples))
        WRONG_SERIES(trial, SERIES_TOO_LONG, series->name, first);
    digest_update(&series->state, digest.bytes, DIGEST_SIZE);
}

/* What its series come to, against what its end says. */
static void end_series_of(const struct reading_trial *trial)
{
    const struct conduct *conduct = &trial->conduct;
    const double between = (double)conduct->window.end_ns - (double)conduct->warmup.begin_ns;
    struct verify_findings *findings = &trial->worker->findings;
    char key[24];

    snprintf(key, sizeof(key), "%lld", (long long)trial->id);
    for (size_t i = 0; i < trial->reader->count; i++) {
        const struct record_span name = record_find(trial->reader->list[i], "name");
        char shown[128] = "";

        if (name.length > 2)
            snprintf(shown, sizeof(shown), "%.*s", (int)name.length - 2, name.bytes + 1);
        if (trial->reader->list[i].length > 0)
            WRONG_SERIES(trial, SERIES_MISSING, shown, 0);
    }
    if (trial->is_ok && trial->told >= 0 && trial->walls != trial->told)
        VERIFY_ADD(findings, TRIAL_END_SAMPLES, key, trial->told, trial->walls);
    if (trial->is_ok && conduct->warmup.begin_ns >= 0 && conduct->window.begin_ns >= 0 &&
        trial->spent > between && !is_foreign(trial))
        VERIFY_ADD(findings, TRIAL_TIME, key, trial->spent, between);
}

/* The phases of assay's own worker, in their order; another program may leave out some. */
static const char *const phases[] = {"setup",  "verify_before", "calibrate",
                                     "warmup", "window",        "verify_after"};
#define PHASE_COUNT (sizeof(phases) / sizeof(phases[0]))

/* Its place among them, from 1; 0: it is none of them. */
static size_t place_of(const char *phase)
{
    size_t place = PHASE_COUNT;

    while (place > 0 && strcmp(phases[place - 1], phase) != 0)
        place--;
    return place;
}

/* Each phase follows the one before it; that none ends before its begin is a rule of
 * verify_trial.c. Returns how many of assay's own there are. */
static size_t take_phases(struct reader *reader, struct reading_trial *trial)
{
    size_t last = 0, count = 0;
    int64_t ended = INT64_MIN;
    char before[80] = "", key[24];

    sqlite3_bind_int64(reader->phases, 1, trial->id);
    while (sqlite3_step(reader->phases) == SQLITE_ROW) {
        const char *name = text_at(reader->phases, 1);
        const int64_t begin = sqlite3_column_int64(reader->phases, 2);
        struct conduct_part *part = conduct_part_of(&trial->conduct, name);
        const size_t place = place_of(name);

        if (*before && (ended > begin || last >= place) && !is_foreign(trial)) {
            snprintf(key, sizeof(key), "%lld", (long long)sqlite3_column_int64(reader->phases, 0));
            VERIFY_ADD(&reader->worker->findings, PHASE_ORDER, key, name, trial->id, before);
        }
        snprintf(before, sizeof(before), "%.60s", *name ? name : "one without a name");
        count += place > last;
        last = place;
        ended = sqlite3_column_int64(reader->phases, 3);
        if (part) {
            part->begin_ns = begin;
            part->end_ns = ended;
        }
    }
    sqlite3_reset(reader->phases);
    return count;
}

/* What assay's own worker always does in a trial that is ok: all phases, with checks in two. */
static void check_phases(struct reader *reader, struct reading_trial *trial, size_t count)
{
    const struct conduct *conduct = &trial->conduct;
    const bool checked[] = {conduct->checked_before, conduct->checked_after};
    struct verify_findings *findings = &reader->worker->findings;
    char key[24];

    if ((count == PHASE_COUNT && checked[0] && checked[1]) || is_foreign(trial))
        return;
    snprintf(key, sizeof(key), "%lld", (long long)trial->id);
    if (count != PHASE_COUNT)
        VERIFY_ADD(findings, TRIAL_PHASES, key, count, PHASE_COUNT);
    for (int i = 0; i < 2; i++)
        if (!checked[i])
            VERIFY_ADD(findings, TRIAL_CHECKS, key, i == 0 ? "verify_before" : "verify_after");
}

static void take_checks(struct reader *reader, struct reading_trial *trial)
{
    sqlite3_bind_int64(reader->checks, 1, trial->id);
    while (sqlite3_step(reader->checks) == SQLITE_ROW)
        conduct_note_check(&trial->conduct, text_at(reader->checks, 0));
    sqlite3_reset(reader->checks);
}

/* The program that the trial's plan names: a named worker's for its cell, or that of the plan. */
static void take_plan(struct reader *reader, struct conduct *conduct)
{
    const int64_t campaign = sqlite3_column_int64(reader->trials, CAMPAIGN);
    const int64_t ordinal = sqlite3_column_int64(reader->trials, ORDINAL);
    const json_t *cell, *program;

    if (campaign != reader->campaign) {
        json_decref(reader->plan);
        reader->plan = NULL;
        reader->own[0] = '\0';
        reader->campaign = campaign;
        sqlite3_bind_int64(reader->plans, 1, campaign);
        if (sqlite3_step(reader->plans) == SQLITE_ROW) {
            reader->plan = json_loads(text_at(reader->plans, 0), 0, NULL);
            snprintf(reader->own, sizeof(reader->own), "%s", text_at(reader->plans, 1));
        }
        sqlite3_reset(reader->plans);
    }
    cell = json_array_get(json_object_get(reader->plan, "cells"), (size_t)ordinal - 1);
    program = json_object_get(json_object_get(cell, "worker"), "program");
    if (!program || json_is_null(program))
        program = json_object_get(reader->plan, "worker");
    snprintf(reader->planned, sizeof(reader->planned), "%s",
             json_is_string(program)             ? json_string_value(program)
             : !program || json_is_null(program) ? ""
                                                 : "no text");
    conduct->planned_worker = reader->planned;
}

/* Whether a program that is not assay's own measured, and its trial does not say so. */
static bool is_hidden(const struct reader *reader, const struct reading_trial *trial)
{
    return reader->planned[0] && strcmp(reader->planned, reader->own) != 0 && !is_foreign(trial);
}

/* The log of a server's requests: the schedule, and how many columns have as many values. */
static void take_columns(const struct reading_trial *trial, struct conduct *conduct)
{
    conduct->scheduled = trial->columns[0] > 0 ? trial->columns[0] : -1;
    for (size_t i = 0; i < REQUEST_COLUMNS; i++)
        conduct->request_columns += trial->columns[i] == conduct->scheduled;
}

/* The trial's protocol; false where it cannot be read, which verify_cells reports. */
static bool take_protocol(struct reader *reader)
{
    const void *digest = sqlite3_column_blob(reader->trials, PROTOCOL);
    json_t *body;
    bool read;

    if (sqlite3_column_bytes(reader->trials, PROTOCOL) != sizeof(reader->digest))
        return false;
    if (!memcmp(&reader->digest, digest, sizeof(reader->digest)))
        return reader->protocol.json != NULL;
    protocol_finish(&reader->protocol);
    memcpy(&reader->digest, digest, sizeof(reader->digest));
    body = json_loads(text_at(reader->trials, BODY), 0, NULL);
    read = body && protocol_from_json(body, &reader->protocol, NULL) == STATUS_OK;
    json_decref(body);
    return read;
}

static void judge_conduct(struct reader *reader, struct reading_trial *trial)
{
    struct conduct *conduct = &trial->conduct;
    const struct record_span told = record_find(trial->facts, "conduct");
    json_t *json = json_loadb(told.bytes, told.length, JSON_DECODE_ANY, NULL);
    const bool seen = json_is_object(json);
    const bool withheld = record_find(trial->facts, "withheld").length > 0;
    struct error err = ERROR_INIT;
    char key[32];

    type_read(&conduct_seen_type, json, &conduct->seen);
    json_decref(json);
    conduct->iterations_per_sample = sqlite3_column_int64(reader->trials, ITERATIONS);
    take_plan(reader, conduct);
    if (!trial->is_record || !take_protocol(reader) || conduct->iterations_per_sample < 1)
        return;
    conduct->warmup.samples = trial->window_first;
    conduct->window.samples -= trial->window_first;
    conduct->window.median_ns = conduct_samples_median(&reader->walls);
    if (sqlite3_column_int(reader->trials, IS_SERVER))
        take_columns(trial, conduct);
    if (sqlite3_column_type(reader->trials, REQUESTS) == SQLITE_INTEGER)
        conduct->traced = sqlite3_column_int64(reader->trials, REQUESTS);
    conduct->is_endpoint = sqlite3_column_int(reader->trials, IS_ENDPOINT) != 0;
    conduct->is_withheld = withheld;
    conduct->started_utc_ns = sqlite3_column_int64(reader->trials, STARTED);
    if (!seen && !withheld)
        error_set(&err, STATUS_INVALID, "the harness noted nothing of its window");
    else if (conduct_judge(&reader->protocol, conduct, &err) == STATUS_OK && !withheld &&
             is_hidden(reader, trial))
        error_set(&err, STATUS_INVALID,
                  "worker.identity: the plan names another program than assay's own, and the "
                  "trial's readings do not");
    if (err.code == STATUS_OK)
        return;
    snprintf(key, sizeof(key), "%lld", (long long)trial->id);
    VERIFY_ADD(&reader->worker->findings, TRIAL_CONDUCT, key, err.message);
}

static void take_list(struct reader *reader, struct record_span series)
{
    struct record_walk walk = record_walk_begin(series), again = walk;
    struct record_span name, entry, *grown;
    size_t count = 1;

    while (record_walk_next(&walk, &name, &entry))
        count++;
    grown = realloc(reader->list, count * sizeof(*grown));
    if (!grown)
        shortage_note();
    reader->list = grown ? grown : reader->list;
    while (grown && record_walk_next(&again, &name, &grown[reader->count]))
        reader->count++;
}

static enum status keep_member(void *context, struct record_span name, struct record_span value,
                               struct error *err)
{
    struct reading_trial *trial = context;

    (void)err;
    if (name.length == strlen("facts") && !memcmp(name.bytes, "facts", name.length))
        trial->facts = value;
    if (name.length == strlen("series") && !memcmp(name.bytes, "series", name.length))
        take_list(trial->reader, value);
    return STATUS_OK;
}

static void check_trial(struct reader *reader)
{
    sqlite3_stmt *end = reader->trials, *row = reader->chunks;
    struct reading_series series = {.name = ""};
    size_t phase_count;
    struct reading_trial trial = {.reader = reader,
                                  .facts = {"", 0},
                                  .worker = reader->worker,
                                  .id = sqlite3_column_int64(end, TRIAL),
                                  .told = sqlite3_column_type(end, SAMPLES) == SQLITE_NULL
                                              ? -1
                                              : sqlite3_column_int64(end, SAMPLES),
                                  .is_ok = sqlite3_column_int(end, IS_OK) != 0,
                                  .window_first = sqlite3_column_int64(end, WINDOW_FIRST),
                                  .conduct = conduct_new()};
    const struct record_visitor visitor = {.context = &trial, .top = keep_member};

    reader->count = reader->walls.count = 0;
    trial.is_record =
        record_scan(record_type_find("trial"), text_at(end, RECORD),
                    (size_t)sqlite3_column_bytes(end, RECORD), &visitor, NULL) == STATUS_OK;
    sqlite3_bind_int64(row, 1, trial.id);
    while (!verify_stopped(reader->worker->verify) && sqlite3_step(row) == SQLITE_ROW) {
        if (strcmp(series.name, text_at(row, 0)) != 0 || !series.name[0]) {
            if (series.name[0])
                end_series(&trial, &series);
            series = (struct reading_series){.samples = 0};
            snprintf(series.name, sizeof(series.name), "%s", text_at(row, 0));
            digest_init(&series.state);
        }
        take_chunk(&trial, row, &series);
    }
    if (series.name[0])
        end_series(&trial, &series);
    sqlite3_reset(row);
    phase_count = take_phases(reader, &trial);
    end_series_of(&trial);
    if (trial.is_ok) {
        take_checks(reader, &trial);
        check_phases(reader, &trial, phase_count);
        judge_conduct(reader, &trial);
    }
}

static void check_part(struct verify_worker *worker, int64_t first, int64_t end)
{
    struct reader reader = {.worker = worker};
    const struct {
        const char *sql;
        sqlite3_stmt **ret;
    } statements[] = {{TRIALS, &reader.trials},   {CHUNKS, &reader.chunks},
                      {PHASES, &reader.phases},   {CHECKS, &reader.checks},
                      {FOREIGN, &reader.foreign}, {PLANS, &reader.plans}};
    const size_t count = sizeof(statements) / sizeof(statements[0]);
    int rc = SQLITE_OK;

    for (size_t i = 0; i < count && rc == SQLITE_OK; i++)
        rc = sqlite3_prepare_v2(worker->db, statements[i].sql, -1, statements[i].ret, NULL);
    if (rc == SQLITE_OK) {
        sqlite3_bind_int64(reader.trials, 1, first);
        sqlite3_bind_int64(reader.trials, 2, end);
        while (!verify_stopped(worker->verify) && (rc = sqlite3_step(reader.trials)) == SQLITE_ROW)
            check_trial(&reader);
    }
    if (rc != SQLITE_DONE && !verify_stopped(worker->verify))
        VERIFY_ADD(&worker->findings, SERIES_UNREADABLE, NULL, sqlite3_errmsg(worker->db));
    protocol_finish(&reader.protocol);
    json_decref(reader.plan);
    free(reader.list);
    conduct_samples_finish(&reader.walls);
    for (size_t i = 0; i < count; i++)
        sqlite3_finalize(*statements[i].ret);
}

/* Samples of trials that no record of an end names. */
static void report_endless(struct verify *verify, int64_t count)
{
    VERIFY_REPORT(verify, SERIES_ENDLESS, NULL, count);
    verify_rule_check(verify, VERIFY_RULE_SERIES_ENDLESS_ROW, NULL);
}

enum status verify_series(struct verify *verify, struct error *err)
{
    const int64_t most =
        verify_ask(verify, "SELECT max(trial) FROM trial_end", 0, 0, VERIFY_CONTENT);
    const int64_t ends = verify_ask(verify, "SELECT count(*) FROM trial_end", 0, 0, VERIFY_CONTENT);
    const int64_t chunks = verify_ask(verify, "SELECT count(*) FROM series", 0, 0, VERIFY_CONTENT);
    int64_t done = 0;

    if (most > ends * 1000 + 1000)
        return STATUS_OK; /* verify_tables reports it */
    if (most > 0)
        TRY(verify_share(verify, "series", most, SERIES_STEP, check_part, &done, err));
    if (!verify_stopped(verify) && done != chunks)
        report_endless(verify, chunks - done);
    return STATUS_OK;
}
