/*
 * What trials hold, and what contradicts it: each rule selects the rows that no honest trial has.
 * And every series is decoded and compared with its record and its trial, whether an estimate reads
 * it or not: in one walk, since samples are most of a file.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "results/store/series.h"
#include "results/evidence/verify_internal.h"

#define SERIES_STEP 64

/* What assay's own worker does; another program may leave out more. */
#define OWN " NOT IN (" VERIFY_FOREIGN_TRIALS ")"
#define OK_TRIALS "trial t JOIN trial_end e ON e.trial = t.id AND e.status = 'ok'"
/* The place of a phase in a trial; 0: assay's own worker has no such phase. */
#define PHASES "'setup verify_before calibrate warmup window verify_after'"
#define PHASE_COUNT "6"

/* Each gives rows (key, sentence). `table`: what they are reported for. */
/* clang-format off */
static const struct rule {
    const char *table;
    const char *sql;
    bool is_note; /* a reader should know it; nothing is wrong */
} rules[] = {
    /* Times and order. */
    {"trial_end",
     "SELECT e.trial, 'it ended at ' || e.ended_utc_ns || ' ns, before its start at ' ||"
     " t.started_utc_ns || ' ns' FROM trial_end e JOIN trial t ON t.id = e.trial WHERE"
     " e.ended_utc_ns < t.started_utc_ns"},
    {"trial",
     "SELECT id, 'it started before trial ' || before || ' of its campaign ended: trials run one"
     " after the other' FROM (SELECT t.id, t.started_utc_ns, lag(t.id) OVER w AS before,"
     " lag(e.ended_utc_ns) OVER w AS ended FROM trial t LEFT JOIN trial_end e ON e.trial = t.id"
     " WINDOW w AS (PARTITION BY t.campaign ORDER BY t.id)) WHERE started_utc_ns < ended"},
    {"trial",
     "SELECT t.id, 'it started before its campaign was planned' FROM trial t JOIN campaign g ON"
     " g.id = t.campaign WHERE t.started_utc_ns < g.created_utc_ns"},
    {"phase",
     "SELECT id, 'the phase ' || name || ' of trial ' || trial || ' begins at ' || begin_ns ||"
     " ' ns and ends at ' || end_ns || ' ns' FROM phase WHERE begin_ns < 0 OR end_ns < begin_ns"},
    {"phase",
     "SELECT p.id, 'the phase ' || p.name || ' of trial ' || p.trial || ' is out of order, after '"
     " || b.name FROM phase p JOIN phase b ON b.trial = p.trial AND b.id < p.id WHERE (b.end_ns >"
     " p.begin_ns OR instr(" PHASES ", b.name) >= instr(" PHASES ", p.name)) AND p.trial" OWN},
    /* What a trial that ended ok has. */
    {"trial",
     "SELECT t.id, 'it is ok with ' || count(DISTINCT p.name) || ' of its " PHASE_COUNT
     " phases' FROM " OK_TRIALS " LEFT JOIN phase p ON p.trial = t.id AND instr(" PHASES
     ", p.name) > 0 WHERE t.id" OWN " GROUP BY t.id HAVING count(DISTINCT p.name) <> " PHASE_COUNT},
    {"trial",
     "SELECT t.id, 'it is ok without a check in ' || p.column1 FROM " OK_TRIALS
     ", (VALUES ('verify_before'), ('verify_after')) p WHERE t.id" OWN " AND NOT EXISTS (SELECT 1"
     " FROM verification v WHERE v.trial = t.id AND v.phase = p.column1)"},
    {"trial",
     "SELECT t.id, 'it is ok without the files that its worker had mapped at ' || p.column1 FROM "
     OK_TRIALS ", (VALUES ('window_start'), ('window_end')) p WHERE NOT EXISTS (SELECT 1 FROM"
     " trial_stack s WHERE s.trial = t.id AND s.at = p.column1)"},
    {"trial",
     "SELECT t.id, 'it is ok without a device' FROM " OK_TRIALS " WHERE t.id" OWN
     " AND NOT EXISTS (SELECT 1 FROM trial_device d WHERE d.trial = t.id)"},
    {"trial",
     "SELECT t.id, 'it is ok without the series gap_ns' FROM " OK_TRIALS " WHERE t.id" OWN
     " AND NOT EXISTS (SELECT 1 FROM series s WHERE s.trial = t.id AND s.name = 'gap_ns')"},
    {"trial",
     "SELECT t.id, 'no file that its worker had mapped has the digest of the program that its"
     " campaign names' FROM " OK_TRIALS " JOIN campaign g ON g.id = t.campaign WHERE t.id" OWN
     " AND NOT EXISTS (SELECT 1 FROM trial_stack s JOIN stack_member m ON m.stack = s.stack JOIN"
     " component c ON c.id = m.component WHERE s.trial = t.id AND (c.sha256 = g.tool_digest OR"
     " (c.kind = 'executable' AND c.sha256 IS NULL)))"},
    {"trial",
     "SELECT t.id, 'it ran on ' || d.backend || ':' || d.device_index || ', and its cell is of '"
     " || c.device_spec FROM trial t JOIN trial_device td ON td.trial = t.id JOIN device d ON d.id"
     " = td.device JOIN cell c ON c.id = t.cell WHERE (d.backend <> c.backend OR d.device_index IS"
     " NOT c.device_index) AND t.id" OWN},
    {"trial",
     "SELECT t.id, 'it has no readings of its surroundings (' || p.column1 || ')' FROM trial t"
     " JOIN trial_end e ON e.trial = t.id, (VALUES ('host'), ('before'), ('after')) p WHERE"
     " e.orphan = 0 AND NOT EXISTS (SELECT 1 FROM environment n WHERE"
     " n.trial = t.id AND n.at = p.column1)"},
    /* How it ended. */
    {"trial_end",
     "SELECT trial, 'it is ' || status || ', and ' || why FROM (SELECT trial, status, CASE WHEN"
     " exit_code IS NOT NULL AND signal IS NOT NULL THEN 'both an exit status and signal ' ||"
     " signal || ' ended its worker' WHEN status <> 'ok' THEN NULL WHEN signal IS NOT NULL THEN"
     " 'signal ' || signal || ' ended its worker' WHEN exit_code IS NULL THEN 'its worker did not"
     " exit' WHEN orphan = 1 THEN 'its harness ended first' WHEN message IS NOT NULL THEN 'has a"
     " reason: ' || message WHEN coalesce(iterations_per_sample, 0) < 1 OR coalesce(window_first,"
     " -1) < 0 OR coalesce(window_first >= samples, 1) THEN 'has no window with samples' END AS"
     " why FROM trial_end) WHERE why IS NOT NULL"},
    /* Checks. */
    {"verification",
     "SELECT id, 'the check of ' || output || ' in trial ' || trial || ' passed with the error '"
     " || coalesce(error, error_text, 'none') || ' of ' || compared || ' elements, tolerance ' ||"
     " tolerance FROM verification WHERE passed = 1 AND (error IS NULL OR error_text IS NOT NULL"
     " OR NOT error <= tolerance OR compared < 1)"},
    {"verification",
     "SELECT id, 'the check of ' || output || ' in trial ' || trial || ' failed with the error '"
     " || error || ', tolerance ' || tolerance FROM verification WHERE passed = 0 AND error <"
     " tolerance AND trial" OWN},
    {"verification",
     "SELECT v.id, 'the check of ' || v.output || ' failed, and trial ' || v.trial || ' is ok'"
     " FROM verification v JOIN trial_end e ON e.trial = v.trial WHERE v.passed = 0 AND e.status ="
     " 'ok'"},
    {"verification",
     "SELECT id, 'it is of no phase with checks: ' || phase FROM verification WHERE phase NOT IN"
     " ('verify_before', 'spot_check', 'verify_after')"},
    {"verification",
     "SELECT v.id, 'trial ' || v.trial || ' was compared with an earlier one, ' || CASE WHEN"
     " first_only THEN 'and none before it with the reference' ELSE 'and its protocol wants each"
     " compared with the reference' END FROM (SELECT v.id, v.trial, t.cell, json_extract(p.body,"
     " '$.verification') IS NOT 'each_trial' AS first_only FROM verification v JOIN trial t ON"
     " t.id = v.trial JOIN cell c ON c.id = t.cell JOIN content p ON p.digest = c.protocol WHERE"
     " v.metric = 'same_bits') v WHERE NOT first_only OR NOT EXISTS (SELECT 1 FROM trial b JOIN"
     " trial_end x ON x.trial = b.id AND x.status = 'ok' JOIN verification r ON r.trial = b.id AND"
     " r.metric <> 'same_bits' AND r.phase <> 'spot_check' WHERE b.cell = v.cell AND b.id <"
     " v.trial)"},
    {"verification",
     "SELECT id, 'trial ' || trial || ' has the same bits as an earlier one, with the error ' ||"
     " coalesce(error, error_text) || ', tolerance ' || tolerance FROM verification WHERE metric ="
     " 'same_bits' AND (error IS NOT 0 OR tolerance <> 0)"},
    /* Campaigns and cells. */
    {"campaign",
     "SELECT campaign, count(*) || ' of its trials were measured by another worker than assay''s"
     " own: device, phases, checks and series are as it says' FROM trial WHERE id IN ("
     VERIFY_FOREIGN_TRIALS ") GROUP BY campaign",
     .is_note = true},
    {"campaign",
     "SELECT id, 'it names no program: its tool digest is zero' FROM campaign WHERE tool_digest ="
     " zeroblob(32)"},
    {"cell",
     "SELECT id, 'it is of device ' || device_spec || ', and of ' || backend || ':' ||"
     " device_index FROM cell WHERE device_spec <> backend || ':' || device_index"},
    {"cell",
     "SELECT c.id, 'its campaign has ended, trials of it are ok, and there is no estimate' FROM"
     " cell c WHERE NOT EXISTS (SELECT 1 FROM estimate s WHERE s.cell = c.id) AND EXISTS (SELECT 1"
     " FROM " OK_TRIALS " WHERE t.cell = c.id) AND " CAMPAIGN_STATE("c.campaign")
     " IN ('finished', 'interrupted')"},
};
/* clang-format on */

static void check_rule(struct verify *verify, const struct rule *rule)
{
    sqlite3_stmt *row = verify_prepare(verify, verify->db, rule->sql, VERIFY_TRIAL, rule->table);
    int reported = 0;

    while (row && reported++ < VERIFY_FINDINGS_MAX &&
           verify_step(verify, row, VERIFY_TRIAL, rule->table))
        verify_report(verify, rule->is_note ? VERIFY_NOTE : VERIFY_WRONG, VERIFY_TRIAL, rule->table,
                      text_at(row, 0), "%s", text_at(row, 1));
    sqlite3_finalize(row);
}

/* ---- samples ---- */

/* The series of a trial, as the record names it and as it is stored. */
struct reading_series {
    char name[128];
    struct digest_state state;
    int64_t samples;
};

/* A trial whose series are read. */
struct reading_trial {
    struct verify_worker *worker;
    int64_t id;
    json_t *list; /* of its series, by its record; NULL: none. Those that were seen are taken out */
    bool is_ok;   /* by its record */
    int64_t told; /* samples by its record; -1: it says none */
    int64_t walls; /* samples of wall_ns */
    double spent;  /* ns of samples and gaps */
};

/* `first` begins the chunk. */
static void wrong_series(const struct reading_trial *trial, const char *name, int64_t first,
                         enum verify_check check, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
static void wrong_series(const struct reading_trial *trial, const char *name, int64_t first,
                         enum verify_check check, const char *format, ...)
{
    char key[160], what[256];
    va_list args;

    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    snprintf(key, sizeof(key), "%lld/%.100s/%lld", (long long)trial->id, name, (long long)first);
    verify_findings_add(&trial->worker->findings, VERIFY_WRONG, check, "series", key,
                        "the series %.100s of trial %lld %s", name, (long long)trial->id, what);
}

static bool is_telemetry(const char *name)
{
    return strncasecmp(name, "telemetry:", 10) == 0;
}

/* Whether another worker than assay's own measured it. Asked where something is wrong. */
static bool is_foreign(const struct reading_trial *trial)
{
    sqlite3_stmt *row = NULL;
    bool found = false;

    if (sqlite3_prepare_v2(trial->worker->db,
                           "SELECT 1 FROM environment n CROSS JOIN reading_member m ON"
                           " m.reading_set = n.readings CROSS JOIN reading r ON r.id = m.reading"
                           " WHERE n.trial = ?1 AND n.at = 'host' AND r.name ="
                           " 'variable.ASSAY_WORKER'",
                           -1, &row, NULL) == SQLITE_OK &&
        sqlite3_bind_int64(row, 1, trial->id) == SQLITE_OK)
        found = sqlite3_step(row) == SQLITE_ROW;
    sqlite3_finalize(row);
    return found;
}

/* A series is at its end: is it what the record says? Takes it out of the record's list. */
static void end_series(struct reading_trial *trial, struct reading_series *series)
{
    struct digest digest = digest_final(&series->state);
    char hex[DIGEST_HEX_SIZE], key[24];
    json_t *entry;
    size_t i;

    if (trial->is_ok && series->samples != trial->told && !is_telemetry(series->name) &&
        !is_foreign(trial)) {
        snprintf(key, sizeof(key), "%lld", (long long)trial->id);
        verify_findings_add(&trial->worker->findings, VERIFY_WRONG, VERIFY_TRIAL, "trial", key,
                            "it has %" PRId64 " samples and %" PRId64 " values of %s", trial->told,
                            series->samples, series->name);
    }
    if (!strcmp(series->name, "wall_ns"))
        trial->walls = series->samples;
    digest_hex(&digest, hex);
    json_array_foreach(trial->list, i, entry)
    {
        const char *name = json_string_value(json_object_get(entry, "name"));
        const char *told = json_string_value(json_object_get(entry, "sha256"));

        if (!name || strcmp(name, series->name) != 0)
            continue;
        if (!told || strcmp(told, hex) != 0 ||
            json_integer_value(json_object_get(entry, "samples")) != series->samples)
            wrong_series(trial, series->name, 0, VERIFY_CONTENT,
                         "is not the one that its record names");
        json_array_remove(trial->list, i);
        return;
    }
    wrong_series(trial, series->name, 0, VERIFY_CONTENT, "is in no record: somebody added it");
}

/* columns: 0 name, then those of the chunk: first, count, minimum, maximum, total, data */
static void take_chunk(struct reading_trial *trial, sqlite3_stmt *row,
                       struct reading_series *series)
{
    const int64_t first = sqlite3_column_int64(row, 1), minimum = sqlite3_column_int64(row, 3);
    const bool is_wall = !strcmp(series->name, "wall_ns");
    int64_t values[SERIES_CHUNK_MAX];
    struct error err = ERROR_INIT;
    size_t count = 0;

    trial->worker->done++;
    if ((size_t)sqlite3_column_bytes(row, 0) != strlen(text_at(row, 0)))
        wrong_series(trial, series->name, first, VERIFY_CONTENT, "has a NUL in its name");
    if (first != series->samples)
        wrong_series(trial, series->name, series->samples, VERIFY_CONTENT,
                     "has a gap: samples are missing");
    if (minimum < (is_wall ? 1 : -1) && !is_telemetry(series->name))
        wrong_series(trial, series->name, first, VERIFY_TRIAL, "holds %" PRId64, minimum);
    if (store_read_chunk(row, 1, values, &count, &err) != STATUS_OK)
        wrong_series(trial, series->name, first, VERIFY_CONTENT, "%s", err.message);
    if (is_wall || !strcmp(series->name, "gap_ns"))
        trial->spent += sqlite3_column_double(row, 5);
    if (__builtin_add_overflow(series->samples, sqlite3_column_int64(row, 2), &series->samples))
        wrong_series(trial, series->name, first, VERIFY_CONTENT, "has too many samples");
    digest_update(&series->state, sqlite3_column_blob(row, 6),
                  (size_t)sqlite3_column_bytes(row, 6));
}

/* What its series come to, against what its end says. columns of `end`: 2 samples, 4 ns from the
 * beginning of warmup to the end of window, or NULL */
static void end_trial(const struct reading_trial *trial, sqlite3_stmt *end)
{
    const double between = sqlite3_column_double(end, 4);
    struct verify_findings *findings = &trial->worker->findings;
    char key[24];
    json_t *entry;
    size_t i;

    snprintf(key, sizeof(key), "%lld", (long long)trial->id);
    json_array_foreach(trial->list, i, entry)
    {
        const char *name = json_string_value(json_object_get(entry, "name"));

        wrong_series(trial, name ? name : "", 0, VERIFY_CONTENT,
                     "is missing, although its record names it");
    }
    if (trial->is_ok && sqlite3_column_type(end, 2) != SQLITE_NULL && trial->walls != trial->told)
        verify_findings_add(findings, VERIFY_WRONG, VERIFY_COMPLETE, "trial_end", key,
                            "states %" PRId64 " samples, %" PRId64 " are stored", trial->told,
                            trial->walls);
    if (trial->is_ok && sqlite3_column_type(end, 4) != SQLITE_NULL && trial->spent > between &&
        !is_foreign(trial))
        verify_findings_add(findings, VERIFY_WRONG, VERIFY_TRIAL, "trial", key,
                            "its samples and the gaps between them take %.0f ns, and warmup and"
                            " window together %.0f",
                            trial->spent, between);
}

/* columns of `end`: 0 trial, 1 the record's list of series, 2 samples, 3 is ok, and 4 above */
static void check_samples(struct verify_worker *worker, sqlite3_stmt *end, sqlite3_stmt *row)
{
    struct reading_series series = {.name = ""};
    struct reading_trial trial = {
        .worker = worker,
        .id = sqlite3_column_int64(end, 0),
        .list = json_loadb(text_at(end, 1), (size_t)sqlite3_column_bytes(end, 1), 0, NULL),
        .told = sqlite3_column_type(end, 2) == SQLITE_NULL ? -1 : sqlite3_column_int64(end, 2),
        .is_ok = sqlite3_column_int(end, 3) != 0};

    sqlite3_bind_int64(row, 1, trial.id);
    while (!verify_stopped(worker->verify) && sqlite3_step(row) == SQLITE_ROW) {
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
    end_trial(&trial, end);
    json_decref(trial.list);
}

static void check_part(struct verify_worker *worker, int64_t first, int64_t end)
{
    sqlite3_stmt *trial = NULL, *row = NULL;
    int rc = sqlite3_prepare_v2(worker->db,
                                "SELECT e.trial, r.body -> '$.series', e.samples, e.status ="
                                " 'ok', (SELECT end_ns FROM phase WHERE trial = e.trial AND name ="
                                " 'window') - (SELECT begin_ns FROM phase WHERE trial = e.trial AND"
                                " name = 'warmup') FROM trial_end e JOIN record r ON r.id ="
                                " e.record WHERE e.trial > ?1 AND e.trial <= ?2 ORDER BY e.trial",
                                -1, &trial, NULL);

    if (rc == SQLITE_OK)
        rc = sqlite3_prepare_v2(worker->db,
                                "SELECT name, first, count, minimum, maximum, total, data FROM"
                                " series WHERE trial = ?1 ORDER BY name, first",
                                -1, &row, NULL);
    if (rc == SQLITE_OK) {
        sqlite3_bind_int64(trial, 1, first);
        sqlite3_bind_int64(trial, 2, end);
        while (!verify_stopped(worker->verify) && (rc = sqlite3_step(trial)) == SQLITE_ROW)
            check_samples(worker, trial, row);
    }
    if (rc != SQLITE_DONE && !verify_stopped(worker->verify))
        verify_findings_add(&worker->findings, VERIFY_WRONG, VERIFY_CONTENT, "series", NULL,
                            "cannot be read: %s", sqlite3_errmsg(worker->db));
    sqlite3_finalize(trial);
    sqlite3_finalize(row);
}

/* Samples of trials that no record of an end names. */
static void report_endless(struct verify *verify, int64_t count)
{
    sqlite3_stmt *row = verify_prepare(verify, verify->db,
                                       "SELECT trial || '/' || name || '/' || first FROM series"
                                       " WHERE trial NOT IN (SELECT trial FROM trial_end)",
                                       VERIFY_CONTENT, "series");
    int reported = 0;

    verify_report(verify, VERIFY_WRONG, VERIFY_CONTENT, "series", NULL,
                  "%" PRId64 " of its rows are of trials that have no record of their end", count);
    while (row && reported++ < VERIFY_FINDINGS_MAX &&
           verify_step(verify, row, VERIFY_CONTENT, "series"))
        verify_report(verify, VERIFY_WRONG, VERIFY_CONTENT, "series", text_at(row, 0),
                      "is of a trial that has no record of its end");
    sqlite3_finalize(row);
}

enum status verify_series(struct verify *verify, struct error *err)
{
    const int64_t most =
        verify_ask(verify, "SELECT max(trial) FROM trial_end", 0, 0, VERIFY_CONTENT);
    const int64_t ends = verify_ask(verify, "SELECT count(*) FROM trial_end", 0, 0, VERIFY_CONTENT);
    const int64_t chunks = verify_ask(verify, "SELECT count(*) FROM series", 0, 0, VERIFY_CONTENT);
    int64_t done = 0;
    enum status status = STATUS_OK;

    if (most > ends * 1000 + 1000)
        return STATUS_OK; /* verify_tables reports it */
    if (most > 0)
        status = verify_share(verify, "series", most, SERIES_STEP, check_part, &done, err);
    if (status == STATUS_OK && !verify_stopped(verify) && done != chunks)
        report_endless(verify, chunks - done);
    return status;
}

enum status verify_trials(struct verify *verify, struct error *err)
{
    const size_t count = sizeof(rules) / sizeof(rules[0]);

    (void)err;
    for (size_t i = 0; i < count && verify_progress(verify, "trials", i, count); i++)
        check_rule(verify, &rules[i]);
    return STATUS_OK;
}
