/*
 * Whether each trial that is ok was measured as its protocol says (protocols/conduct.h), from what
 * is stored: checks, phases, samples, and what the harness noted of it in `facts`.
 */
#include <stdlib.h>
#include <string.h>

#include "protocols/conduct.h"
#include "results/evidence/verify_internal.h"
#include "results/store/series.h"

#define STEP 256

enum { TRIAL, PROTOCOL, BODY, WINDOW_FIRST, ITERATIONS, FACTS };

#define TRIALS                                                                                     \
    "SELECT e.trial, c.protocol, p.body, e.window_first, e.iterations_per_sample, e.facts FROM"    \
    " trial_end e JOIN trial t ON t.id = e.trial JOIN cell c ON c.id = t.cell JOIN content p ON"   \
    " p.digest = c.protocol WHERE e.status = 'ok' AND e.trial > ?1 AND e.trial <= ?2 ORDER BY"     \
    " e.trial"
#define PHASES "SELECT name, begin_ns, end_ns FROM phase WHERE trial = ?1"
#define CHECKS "SELECT DISTINCT phase FROM verification WHERE trial = ?1"
#define CHUNKS                                                                                     \
    "SELECT name, first, count, minimum, maximum, total, data FROM series WHERE trial = ?1 AND"    \
    " name IN ('wall_ns', 'gap_ns') ORDER BY name, first"

struct judge {
    struct verify_worker *worker;
    sqlite3_stmt *phases, *checks, *chunks;
    struct protocol protocol; /* whose digest is `digest` */
    struct digest digest;
};

static void take_phases(struct judge *judge, struct conduct *conduct)
{
    while (sqlite3_step(judge->phases) == SQLITE_ROW) {
        struct conduct_part *part = conduct_part_of(conduct, text_at(judge->phases, 0));

        if (part) {
            part->begin_ns = sqlite3_column_int64(judge->phases, 1);
            part->end_ns = sqlite3_column_int64(judge->phases, 2);
        }
    }
    sqlite3_reset(judge->phases);
    while (sqlite3_step(judge->checks) == SQLITE_ROW)
        conduct_note_check(conduct, text_at(judge->checks, 0));
    sqlite3_reset(judge->checks);
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

/* Sums of chunks are what their values come to: verify_series compares them. */
static void take_samples(struct judge *judge, int64_t window_first, struct conduct *conduct)
{
    while (sqlite3_step(judge->chunks) == SQLITE_ROW) {
        const bool gaps = !strcmp(text_at(judge->chunks, 0), "gap_ns");
        const int64_t first = sqlite3_column_int64(judge->chunks, 1);
        const int64_t count = sqlite3_column_int64(judge->chunks, 2);
        const int64_t total = sqlite3_column_int64(judge->chunks, 5);
        int64_t *warmup = gaps ? &conduct->warmup.gap_ns : &conduct->warmup.wall_ns;
        int64_t *window = gaps ? &conduct->window.gap_ns : &conduct->window.wall_ns;
        int64_t values[SERIES_CHUNK_MAX];
        size_t got;

        if (!gaps)
            conduct->window.samples += count;
        if (first + count <= window_first)
            *warmup += total;
        else if (first > window_first)
            *window += total;
        else if (store_read_chunk(judge->chunks, 1, values, &got, NULL) == STATUS_OK)
            split(values, (size_t)(window_first - first), got, gaps, warmup, window);
    }
    sqlite3_reset(judge->chunks);
    conduct->warmup.samples = window_first;
    conduct->window.samples -= window_first;
}

/* False: the harness noted nothing of it. */
static bool take_facts(const json_t *facts, struct conduct *conduct)
{
    const json_t *seen = json_object_get(facts, "conduct");
    const json_t *kernel = json_object_get(seen, "kernel_ns");

    conduct->go_ns = json_integer_value(json_object_get(seen, "go_ns"));
    conduct->told_ns = json_integer_value(json_object_get(seen, "told_ns"));
    conduct->kernel_ns = json_is_integer(kernel) ? json_integer_value(kernel) : -1;
    conduct->spot_checks = json_integer_value(json_object_get(seen, "spot_checks"));
    conduct->spot_checks_ns = json_integer_value(json_object_get(seen, "spot_checks_ns"));
    return json_is_object(seen);
}

/* The trial's protocol; false where it cannot be read, which verify_cells reports. */
static bool take_protocol(struct judge *judge, sqlite3_stmt *trial)
{
    const void *digest = sqlite3_column_blob(trial, PROTOCOL);
    json_t *body;
    bool read;

    if (sqlite3_column_bytes(trial, PROTOCOL) != sizeof(judge->digest))
        return false;
    if (!memcmp(&judge->digest, digest, sizeof(judge->digest)))
        return judge->protocol.json != NULL;
    protocol_finish(&judge->protocol);
    memcpy(&judge->digest, digest, sizeof(judge->digest));
    body = json_loads(text_at(trial, BODY), 0, NULL);
    read = body && protocol_from_json(body, &judge->protocol, NULL) == STATUS_OK;
    json_decref(body);
    return read;
}

static void judge_trial(struct judge *judge, sqlite3_stmt *trial)
{
    const int64_t id = sqlite3_column_int64(trial, TRIAL);
    struct conduct conduct = {.iterations_per_sample = sqlite3_column_int64(trial, ITERATIONS),
                              .warmup.begin_ns = -1,
                              .window.begin_ns = -1};
    json_t *facts = json_loads(text_at(trial, FACTS), 0, NULL);
    struct error err = ERROR_INIT;
    bool seen = take_facts(facts, &conduct), withheld = json_object_get(facts, "withheld") != NULL;
    char key[32];

    json_decref(facts);
    if (withheld || !take_protocol(judge, trial) || conduct.iterations_per_sample < 1)
        return;
    snprintf(key, sizeof(key), "%lld", (long long)id);
    sqlite3_bind_int64(judge->phases, 1, id);
    sqlite3_bind_int64(judge->checks, 1, id);
    sqlite3_bind_int64(judge->chunks, 1, id);
    take_phases(judge, &conduct);
    take_samples(judge, sqlite3_column_int64(trial, WINDOW_FIRST), &conduct);
    if (!seen)
        error_set(&err, STATUS_INVALID, "the harness noted nothing of its window");
    else
        conduct_judge(&judge->protocol, &conduct, &err);
    if (err.code != STATUS_OK)
        verify_findings_add(&judge->worker->findings, VERIFY_WRONG, VERIFY_TRIAL, "trial", key,
                            "it is ok, and was not measured as its protocol says: %s", err.message);
}

static void judge_part(struct verify_worker *worker, int64_t first, int64_t end)
{
    struct judge judge = {.worker = worker};
    sqlite3_stmt *trial = NULL;
    int rc = sqlite3_prepare_v2(worker->db, TRIALS, -1, &trial, NULL);

    if (rc == SQLITE_OK)
        rc = sqlite3_prepare_v2(worker->db, PHASES, -1, &judge.phases, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_prepare_v2(worker->db, CHECKS, -1, &judge.checks, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_prepare_v2(worker->db, CHUNKS, -1, &judge.chunks, NULL);
    if (rc == SQLITE_OK) {
        sqlite3_bind_int64(trial, 1, first);
        sqlite3_bind_int64(trial, 2, end);
        while (!verify_stopped(worker->verify) && (rc = sqlite3_step(trial)) == SQLITE_ROW)
            judge_trial(&judge, trial);
    }
    if (rc != SQLITE_DONE && !verify_stopped(worker->verify))
        verify_findings_add(&worker->findings, VERIFY_WRONG, VERIFY_CONTENT, "trial", NULL,
                            "cannot be read: %s", sqlite3_errmsg(worker->db));
    protocol_finish(&judge.protocol);
    sqlite3_finalize(trial);
    sqlite3_finalize(judge.phases);
    sqlite3_finalize(judge.checks);
    sqlite3_finalize(judge.chunks);
}

enum status verify_conduct(struct verify *verify, struct error *err)
{
    const int64_t most =
        verify_ask(verify, "SELECT max(trial) FROM trial_end", 0, 0, VERIFY_CONTENT);
    const int64_t ends = verify_ask(verify, "SELECT count(*) FROM trial_end", 0, 0, VERIFY_CONTENT);
    int64_t done;

    if (most <= 0 || most > ends * 1000 + 1000)
        return STATUS_OK; /* verify_tables reports it */
    return verify_share(verify, "conduct", most, STEP, judge_part, &done, err);
}
