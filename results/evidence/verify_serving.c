/*
 * The schedules of servers' trials: made again from what is declared, they must have the digest
 * that was recorded before the trial, and the log of its requests the same times. (What the log
 * says of itself is audited with the estimate, which is made of it.)
 */
#include <stdlib.h>
#include <string.h>

#include "protocols/serving/declared.h"
#include "results/analysis/serving_rate.h"
#include "results/evidence/verify_internal.h"
#include "results/store/series.h"

enum { TRIAL, WORKLOAD, PROTOCOL, CELL, SEED, ROUND, READING, TRACE, CAPACITY };

/* Sequences count from 1, and each round of the order has every cell once. */
#define TRIALS                                                                                     \
    "SELECT t.id, w.body, p.body, c.id, c.seed, (t.sequence - 1) / (SELECT count(*) FROM"          \
    " cell o WHERE o.campaign = c.campaign), (SELECT r.body FROM environment n JOIN"               \
    " reading_member m ON m.reading_set = n.readings JOIN reading r ON r.id = m.reading WHERE"     \
    " n.trial = t.id AND n.at = 'before' AND r.name = 'serving.schedule'), (SELECT a.body FROM"    \
    " content a WHERE json_valid(w.body) AND a.digest = assay_hex(w.body ->>"                      \
    " '$.load.arrivals.sha256')), (SELECT r.body ->> '$.value' FROM environment n JOIN"            \
    " reading_member m ON m.reading_set = n.readings JOIN reading r ON r.id = m.reading WHERE"     \
    " n.trial = t.id AND n.at = 'before' AND r.name = 'serving.capacity') FROM trial t JOIN "      \
    "trial_end e ON e.trial = t.id AND e.status ="                                                 \
    " 'ok' JOIN cell c ON c.id = t.cell JOIN content w ON w.digest = c.workload JOIN content p"    \
    " ON p.digest = c.protocol WHERE c.scenario LIKE 'server@%' ORDER BY t.id"

#define TIMES                                                                                      \
    "SELECT first, count, minimum, maximum, total, data FROM series WHERE trial = ?1 AND name ="   \
    " 'request:scheduled_ns' ORDER BY first"

/* Whether the log's times are the schedule's. */
static bool same_times(struct verify *verify, int64_t trial, const struct schedule *schedule)
{
    sqlite3_stmt *row = verify_prepare(verify, verify->db, TIMES, VERIFY_TRIAL, "series");
    size_t at = 0;
    bool same = row != NULL;

    if (row)
        sqlite3_bind_int64(row, 1, trial);
    while (same && verify_step(verify, row, VERIFY_TRIAL, "series")) {
        int64_t values[SERIES_CHUNK_MAX];
        struct digest digest;
        size_t count = 0;

        same = store_read_chunk(row, 0, values, &count, &digest, NULL) == STATUS_OK &&
               count <= schedule->count - at;
        for (size_t i = 0; same && i < count; i++)
            same = values[i] == schedule->requests[at + i].at_ns;
        at += count;
    }
    sqlite3_finalize(row);
    return same && at == schedule->count;
}

static void compare(struct verify *verify, sqlite3_stmt *row, const struct schedule *schedule)
{
    const struct digest digest = schedule_digest(schedule);
    json_t *reading = json_loads(text_at(row, READING), 0, NULL);
    const char *told = json_string_value(json_object_get(reading, "value"));
    char hex[DIGEST_HEX_SIZE];

    if (!told)
        VERIFY_REPORT(verify, SCHEDULE_DIGEST_MISSING, text_at(row, TRIAL));
    else if (strcmp(told, digest_hex(&digest, hex)) != 0)
        VERIFY_REPORT(verify, SCHEDULE_DIGEST, text_at(row, TRIAL), told, hex);
    if (!same_times(verify, sqlite3_column_int64(row, TRIAL), schedule))
        VERIFY_REPORT(verify, SCHEDULE_TIMES, text_at(row, TRIAL), text_at(row, TRIAL));
    json_decref(reading);
}

/* False: this program cannot make it, or what it follows from is withheld. */
static bool make(struct verify *verify, sqlite3_stmt *row, struct schedule *ret)
{
    double rate = 0, capacity = 0;
    json_t *workload = json_loads(text_at(row, WORKLOAD), 0, NULL);
    json_t *declared = json_loads(text_at(row, PROTOCOL), 0, NULL);
    json_t *stored = json_loads(text_at(row, TRACE), 0, NULL);
    struct trace trace = {0};
    struct protocol protocol;
    bool made = workload && declared && protocol_from_json(declared, &protocol, NULL) == STATUS_OK;

    if (made) {
        const bool traced = stored && trace_from_json(stored, &trace, NULL) == STATUS_OK;

        made = serving_rate_find(verify->store, sqlite3_column_int64(row, CELL), &rate, &capacity,
                                 NULL) == STATUS_OK &&
               serving_schedule_make(workload, &protocol, traced ? &trace : NULL, rate,
                                     strtoull(text_at(row, SEED), NULL, 10),
                                     sqlite3_column_int64(row, ROUND), ret, NULL) == STATUS_OK;
        protocol_finish(&protocol);
    }
    if (made && capacity != sqlite3_column_double(row, CAPACITY))
        VERIFY_REPORT(verify, CAPACITY_SHARE, text_at(row, TRIAL),
                      sqlite3_column_double(row, CAPACITY), capacity);
    json_decref(workload);
    json_decref(declared);
    json_decref(stored);
    trace_finish(&trace);
    return made;
}

enum status verify_serving(struct verify *verify, struct error *err)
{
    sqlite3_stmt *row = verify_prepare(verify, verify->db, TRIALS, VERIFY_TRIAL, "trial");
    int64_t unmade = 0;

    (void)err;
    while (row && !verify_stopped(verify) && verify_step(verify, row, VERIFY_TRIAL, "trial")) {
        struct schedule schedule = {0};

        if (make(verify, row, &schedule))
            compare(verify, row, &schedule);
        else
            unmade++;
        schedule_finish(&schedule);
    }
    sqlite3_finalize(row);
    if (unmade > 0)
        VERIFY_REPORT(verify, SCHEDULES_UNVERIFIED, NULL, unmade);
    return STATUS_OK;
}
