#include "results/store_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/canonical.h"
#include "harness/core/clock.h"

enum status store_begin_trial(struct store *store, int64_t campaign, int64_t sequence,
                              int64_t started_utc_ns, int64_t *ret_trial, struct error *err)
{
    struct statement statement;
    int64_t id = 0;
    enum status status = store_change_begin(store, err);

    if (status != STATUS_OK)
        return status;
    status = statement_begin(
        store,
        "INSERT INTO trial (campaign, sequence, attempt, cell, started_utc_ns)"
        " SELECT p.campaign, p.sequence, 1 + (SELECT coalesce(max(t.attempt), 0) FROM trial t"
        " WHERE t.campaign = p.campaign AND t.sequence = p.sequence), p.cell, ?3"
        " FROM planned_trial p WHERE p.campaign = ?1 AND p.sequence = ?2",
        &statement, err);
    if (status == STATUS_OK) {
        statement_i64(&statement, campaign);
        statement_i64(&statement, sequence);
        statement_i64(&statement, started_utc_ns);
        status = statement_run(&statement, &id, err);
        if (status == STATUS_OK && sqlite3_changes(store->db) != 1)
            status = error_set(err, STATUS_NOT_FOUND, "%s: campaign %lld has no planned trial %lld",
                               store->path, (long long)campaign, (long long)sequence);
    }
    status = store_change_end(store, status, err);
    if (status == STATUS_OK)
        *ret_trial = id;
    return status;
}

enum status store_add_phase(struct store *store, int64_t trial, const char *name, int64_t begin_ns,
                            int64_t end_ns, struct error *err)
{
    struct statement statement;
    enum status status = store_change_begin(store, err);

    if (status != STATUS_OK)
        return status;
    status = statement_begin(
        store, "INSERT INTO phase (trial, name, begin_ns, end_ns) VALUES (?1, ?2, ?3, ?4)",
        &statement, err);
    if (status == STATUS_OK) {
        statement_i64(&statement, trial);
        statement_text(&statement, name);
        statement_i64(&statement, begin_ns);
        statement_i64(&statement, end_ns);
        status = statement_run(&statement, NULL, err);
    }
    return store_change_end(store, status, err);
}

enum status store_add_check(struct store *store, int64_t trial, const struct store_check *check,
                            struct error *err)
{
    struct statement statement;
    enum status status = store_change_begin(store, err);

    if (status != STATUS_OK)
        return status;
    status = statement_begin(
        store,
        "INSERT INTO verification (trial, phase, output, metric, error, error_text, tolerance,"
        " compared, passed, reason) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        &statement, err);
    if (status == STATUS_OK) {
        statement_i64(&statement, trial);
        statement_text(&statement, check->phase);
        statement_text(&statement, check->output);
        statement_text(&statement, check->metric);
        if (isfinite(check->error)) {
            statement_real(&statement, check->error);
            statement_null(&statement);
        } else {
            statement_null(&statement);
            statement_text(&statement, isnan(check->error) ? "nan"
                                       : check->error > 0  ? "inf"
                                                           : "-inf");
        }
        statement_real(&statement, check->tolerance);
        statement_u64(&statement, check->compared);
        statement_i64(&statement, check->passed);
        statement_text(&statement, check->reason);
        status = statement_run(&statement, NULL, err);
    }
    return store_change_end(store, status, err);
}

/* What the header writes as -1 is stored as NULL. */
static void bind_known(struct statement *statement, int64_t value)
{
    if (value < 0)
        statement_null(statement);
    else
        statement_i64(statement, value);
}

enum status store_end_trial(struct store *store, int64_t trial, const struct store_trial_end *end,
                            struct error *err)
{
    struct statement statement;
    char *facts = NULL;
    enum status status = STATUS_OK;

    if (end->facts)
        status = canonical_dump(end->facts, &facts, err);
    if (status != STATUS_OK)
        return status;
    status = store_change_begin(store, err);
    if (status != STATUS_OK) {
        free(facts);
        return status;
    }
    status = statement_begin(
        store,
        "INSERT INTO trial_end (trial, ended_utc_ns, status, message, orphan,"
        " iterations_per_sample, window_first, samples, facts, exit_code, signal, max_rss_bytes)"
        " VALUES (?1, ?2, ?3, ?4, 0, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        &statement, err);
    if (status == STATUS_OK) {
        statement_i64(&statement, trial);
        statement_i64(&statement, end->ended_utc_ns);
        statement_text(&statement, end->status);
        statement_text(&statement, end->message);
        bind_known(&statement, end->iterations_per_sample > 0 ? end->iterations_per_sample : -1);
        bind_known(&statement, end->window_first);
        bind_known(&statement, end->samples);
        statement_text(&statement, facts);
        bind_known(&statement, end->exit_code);
        bind_known(&statement, end->signal > 0 ? end->signal : -1);
        bind_known(&statement, end->max_rss_bytes);
        status = statement_run(&statement, NULL, err);
    }
    free(facts);
    return store_change_end(store, status, err);
}

enum status store_close_orphans(struct store *store, int64_t campaign, struct error *err)
{
    struct statement statement;
    enum status status = store_change_begin(store, err);

    if (status != STATUS_OK)
        return status;
    status =
        statement_begin(store,
                        "INSERT INTO trial_end (trial, ended_utc_ns, status, message, orphan)"
                        " SELECT t.id, ?2, 'crashed', 'the harness ended before the trial did', 1"
                        " FROM trial t WHERE t.campaign = ?1"
                        " AND NOT EXISTS (SELECT 1 FROM trial_end e WHERE e.trial = t.id)",
                        &statement, err);
    if (status == STATUS_OK) {
        statement_i64(&statement, campaign);
        statement_i64(&statement, clock_utc_ns());
        status = statement_run(&statement, NULL, err);
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
