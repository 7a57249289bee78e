#include "results/analysis/analysis.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/array.h"
#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "protocols/conduct.h"
#include "protocols/protocol.h"
#include "protocols/serving/declared.h"
#include "results/store/foreign_worker.h"
#include "results/store/store_internal.h"
#include "results/analysis/ceiling.h"
#include "results/analysis/counted.h"
#include "results/analysis/reference_ratio.h"
#include "results/analysis/seen.h"
#include "results/analysis/serving.h"
#include "results/analysis/serving_rate.h"
#include "results/analysis/window_telemetry.h"

/* One trial that counts; `samples` is heap. */
struct part {
    int64_t trial, sequence;
    int64_t number;     /* among the cell's planned trials, from 1 */
    int64_t iterations; /* per sample */
    int64_t window_first;
    int64_t started_utc_ns;
    int64_t *samples;
    size_t count;
    double good; /* of a server: tokens or requests inside the limits */
};

struct parts {
    struct part *items; /* heap */
    size_t count;
};

/* Of one iteration; 0: not counted. */
struct work {
    int64_t ops, bytes, items;
    char item[40];   /* "token"; "": no such unit */
    bool integers;   /* its arithmetic is of integers */
    int64_t planned; /* trials */
    char scenario[40];
    bool is_server;
    uint64_t seed;
    int64_t cell;           /* its row */
    int64_t cells;          /* of its campaign */
    const char *good;       /* of a server: what is good, "token" or "request"; NULL: none */
    struct digest workload; /* its declaration */
    enum metric_id headline;
    bool is_counted; /* by what each sample counts itself */
};

static void finish_parts(struct parts *parts)
{
    for (size_t i = 0; i < parts->count; i++)
        free(parts->items[i].samples);
    free(parts->items);
}

/* The rate that the workload names, where it is counted; else the time. */
static enum metric_id headline_of(const struct work *work, const char *name)
{
    if (!strcmp(name, "bytes") && work->bytes > 0)
        return METRIC_BYTE_RATE;
    if (!strcmp(name, "flops") && work->ops > 0)
        return METRIC_OP_RATE;
    if (!strcmp(name, "items") && work->items > 0)
        return METRIC_ITEM_RATE;
    return METRIC_ITERATION_TIME;
}

static enum status read_cell(struct store *store, int64_t cell, struct work *ret_work,
                             struct digest *ret_protocol, struct error *err)
{
    CLEANUP(statement_end) struct statement statement = {0};
    sqlite3_stmt *row;
    const char *seed;
    double rate;
    enum status status;

    TRY(statement_of(store,
                     "SELECT coalesce(flops, 0), coalesce(bytes, 0), coalesce(items, 0), protocol,"
                     " coalesce(item_name, ''), precision = 'int8', coalesce(headline, ''), trials,"
                     " scenario, workload, seed, (SELECT count(*) FROM cell o"
                     " WHERE o.campaign = c.campaign) FROM cell c WHERE id = ?1",
                     cell, &statement, err));
    if (!statement_next(&statement, &status, err))
        return status != STATUS_OK
                   ? status
                   : error_set(err, STATUS_NOT_FOUND, "%s: there is no cell %" PRId64,
                               store_path(store), cell);
    row = statement.handle;
    *ret_work = (struct work){.ops = sqlite3_column_int64(row, 0),
                              .bytes = sqlite3_column_int64(row, 1),
                              .items = sqlite3_column_int64(row, 2),
                              .integers = sqlite3_column_int(row, 5) != 0,
                              .planned = sqlite3_column_int64(row, 7),
                              .cell = cell,
                              .cells = sqlite3_column_int64(row, 11)};
    snprintf(ret_work->item, sizeof(ret_work->item), "%.39s",
             (const char *)sqlite3_column_text(row, 4));
    ret_work->headline = headline_of(ret_work, (const char *)sqlite3_column_text(row, 6));
    ret_work->is_counted = !strcmp((const char *)sqlite3_column_text(row, 6), "counted");
    snprintf(ret_work->scenario, sizeof(ret_work->scenario), "%.39s",
             (const char *)sqlite3_column_text(row, 8));
    ret_work->is_server = serving_rate_of(ret_work->scenario, &rate);
    seed = (const char *)sqlite3_column_text(row, 10);
    ret_work->seed = seed ? strtoull(seed, NULL, 10) : 0;
    TRY(statement_read_digest(&statement, 3, ret_protocol, err));
    return statement_read_digest(&statement, 9, &ret_work->workload, err);
}

static enum status add_part(const struct store *store, sqlite3_stmt *row, struct parts *parts,
                            struct error *err)
{
    const struct part part = {.trial = sqlite3_column_int64(row, 0),
                              .iterations = sqlite3_column_int64(row, 1),
                              .window_first = sqlite3_column_int64(row, 2),
                              .number = sqlite3_column_int64(row, 3),
                              .sequence = sqlite3_column_int64(row, 4),
                              .started_utc_ns = sqlite3_column_int64(row, 5)};

    if (part.iterations < 1 || sqlite3_column_type(row, 2) == SQLITE_NULL || part.window_first < 0)
        return error_set(err, STATUS_CORRUPT, "%s: trial %" PRId64 " ended ok without a window",
                         store_path(store), part.trial);
    TRY(ARRAY_GROW(parts->items, parts->count, 1, err));
    parts->items[parts->count++] = part;
    return STATUS_OK;
}

static enum status list_parts(struct store *store, int64_t cell, int64_t last_trial,
                              struct parts *parts, struct error *err)
{
    CLEANUP(statement_end) struct statement statement = {0};
    enum status status;

    TRY(statement_of(store,
                     "SELECT t.id, e.iterations_per_sample, e.window_first,"
                     " (SELECT count(*) FROM planned_trial p WHERE p.campaign = t.campaign"
                     " AND p.cell = t.cell AND p.sequence <= t.sequence), t.sequence, "
                     "t.started_utc_ns FROM trial t"
                     " JOIN trial_end e ON e.trial = t.id WHERE t.cell = ?1 AND e.status = 'ok'"
                     " AND t.id <= ?2 AND t.attempt = (SELECT max(l.attempt) FROM trial l"
                     " WHERE l.campaign = t.campaign AND l.sequence = t.sequence AND l.id <= ?2)"
                     " ORDER BY t.sequence",
                     cell, &statement, err));
    statement_i64(&statement, last_trial);
    while (statement_next(&statement, &status, err))
        TRY(add_part(store, statement.handle, parts, err));
    TRY(status);
    return parts->count > 0
               ? STATUS_OK
               : error_set(err, STATUS_NOT_FOUND,
                           "%s: no trial of cell %" PRId64 " ended well, so there is nothing to "
                           "estimate",
                           store_path(store), cell);
}

/* The one that ran last; a resume may run an early one of the order late. */
static int64_t last_of(const struct parts *parts)
{
    int64_t last = 0;

    for (size_t i = 0; i < parts->count; i++)
        last = parts->items[i].trial > last ? parts->items[i].trial : last;
    return last;
}

static enum status load_parts(struct store *store, struct parts *parts, struct error *err)
{
    for (size_t i = 0; i < parts->count; i++) {
        struct part *part = &parts->items[i];
        const enum status status =
            store_load_samples(store, part->trial, "wall_ns", &part->samples, &part->count, err);

        if (status == STATUS_NOT_FOUND)
            return error_set(err, STATUS_CORRUPT, "%s: trial %" PRId64 " ended ok without samples",
                             store_path(store), part->trial);
        TRY(status);
        if ((uint64_t)part->window_first >= part->count)
            return error_set(err, STATUS_CORRUPT,
                             "%s: the window of trial %" PRId64 " begins at sample %" PRId64
                             " of %zu",
                             store_path(store), part->trial, part->window_first, part->count);
    }
    return STATUS_OK;
}

/* Brings all samples to blocks of one length, the longest; returns it. */
static int64_t level_blocks(struct parts *parts)
{
    int64_t longest = 1;

    for (size_t i = 0; i < parts->count; i++) {
        if (parts->items[i].iterations > longest)
            longest = parts->items[i].iterations;
    }
    for (size_t i = 0; i < parts->count; i++) {
        struct part *part = &parts->items[i];

        for (size_t k = 0; k < part->count && part->iterations != longest; k++)
            part->samples[k] =
                llround((double)part->samples[k] * ((double)longest / (double)part->iterations));
    }
    return longest;
}

/* From times of blocks to times of iterations. */
static void divide_times(struct estimate *e, int64_t iterations)
{
    const double by = (double)iterations;

    e->iterations_per_sample = iterations;
    e->step_ns /= by;
    for (size_t i = 0; i < e->trial_count; i++) {
        e->trials[i].mean_ns.value /= by;
        e->trials[i].mean_ns.lo /= by;
        e->trials[i].mean_ns.hi /= by;
        e->trials[i].median_ns /= by;
    }
    for (size_t i = 0; i < METRIC_COUNT; i++) {
        e->metrics[i].value /= by;
        e->metrics[i].lo /= by;
        e->metrics[i].hi /= by;
    }
}

static void set_rate(struct estimate *e, enum metric_id id, const struct work *work, int64_t amount)
{
    const struct metric_value *time = &e->metrics[METRIC_ITERATION_TIME];
    const double per_s = (double)amount * 1e9;
    const struct estimate_interval rate = {.has_value = time->has_value,
                                           .value = per_s / time->value,
                                           .has_interval = time->has_interval,
                                           .lo = per_s / time->hi,
                                           .hi = per_s / time->lo};

    if (amount > 0)
        estimate_set_metric(e, id, &rate, work->item[0] ? work->item : NULL, work->integers);
}

static void note_missing(struct estimate *e, const struct parts *parts, const struct work *work)
{
    if ((int64_t)parts->count < work->planned)
        finding_add(&e->findings, FINDING_INCOMPLETE, 0, NULL,
                    (double[]){(double)parts->count, (double)work->planned});
}

/* In place of the times, where samples count themselves. */
static enum status count_parts(struct store *store, const struct parts *parts,
                               const struct work *work, const struct estimate_options *options,
                               struct estimate **estimate, struct error *err)
{
    AUTO_FREE struct counted_trial *trials = calloc(parts->count + 1, sizeof(*trials));
    json_auto_t *workload = NULL;

    if (!trials)
        return error_no_memory(err);
    TRY(store_get_json(store, &work->workload, &workload, err));
    for (size_t i = 0; i < parts->count; i++) {
        const struct part *part = &parts->items[i];

        trials[i] = (struct counted_trial){part->trial,    part->number,
                                           part->sequence, (size_t)part->window_first,
                                           part->count,    part->started_utc_ns};
    }
    TRY(counted_estimate(store, trials, parts->count, member_in(workload, "program", "metric"),
                         options, estimate, err));
    note_missing(*estimate, parts, work);
    return STATUS_OK;
}

/* What follows from the work of an iteration, and what of the blocks must be known. */
static void add_work(struct estimate *e, const struct parts *parts, const struct work *work,
                     int64_t iterations)
{
    bool percentiles = false;

    divide_times(e, iterations);
    for (size_t i = 0; i < parts->count; i++)
        e->trials[i].sequence = parts->items[i].sequence;
    set_rate(e, METRIC_BYTE_RATE, work, work->bytes);
    set_rate(e, METRIC_OP_RATE, work, work->ops);
    set_rate(e, METRIC_ITEM_RATE, work, work->items);
    e->headline = work->headline;
    note_missing(e, parts, work);
    for (size_t i = 0; i < METRIC_COUNT; i++)
        percentiles = percentiles || (metrics[i].q > 0 && e->metrics[i].has_value);
    if (iterations > 1 && percentiles)
        finding_add(&e->findings, FINDING_BLOCKS, 0, NULL, (double[]){(double)iterations});
}

/* Of a server: by its requests. Its steps are no iterations, whose work would be counted. */
static enum status estimate_server(struct store *store, struct parts *parts, struct work *work,
                                   const struct protocol *protocol, struct estimate **ret,
                                   struct error *err)
{
    AUTO_FREE struct served_trial *trials = calloc(parts->count + 1, sizeof(*trials));
    struct served_cell cell = {.protocol = protocol, .seed = work->seed, .cells = work->cells};
    json_auto_t *workload = NULL;
    double capacity;

    if (!trials)
        return error_no_memory(err);
    TRY(store_get_json(store, &work->workload, &workload, err));
    for (size_t i = 0; i < parts->count; i++)
        trials[i] = (struct served_trial){parts->items[i].trial, parts->items[i].sequence,
                                          parts->items[i].number};
    cell.workload = workload;
    TRY(serving_rate_find(store, work->cell, &cell.rate, &capacity, err));
    TRY(serving_estimate(store, trials, parts->count, &cell, ret, err));
    for (size_t i = 0; i < parts->count; i++)
        parts->items[i].good = trials[i].good;
    work->good = isfinite(cell.rate) ? cell.makes_tokens ? "token" : "request" : NULL;
    work->ops = work->bytes = work->items = 0;
    return STATUS_OK;
}

static enum status estimate_parts(const struct parts *parts, const struct estimate_options *options,
                                  struct estimate **ret, struct error *err)
{
    AUTO_FREE struct estimate_series *series = calloc(parts->count, sizeof(*series));

    if (!series)
        return error_no_memory(err);
    for (size_t i = 0; i < parts->count; i++)
        series[i] = (struct estimate_series){
            parts->items[i].samples, parts->items[i].count, (size_t)parts->items[i].window_first,
            parts->items[i].number, parts->items[i].started_utc_ns};
    return estimate_cell(series, parts->count, options, ret, err);
}

static enum status read_protocol(struct store *store, const struct digest *digest,
                                 struct protocol *ret, struct error *err)
{
    json_auto_t *json = NULL;

    TRY(store_get_json(store, digest, &json, err));
    return protocol_from_json(json, ret, err);
}

/* Telemetry of the trials: energy, and events in the windows. */
static enum status add_window_telemetry(struct store *store, int64_t cell,
                                        const struct parts *parts, const struct work *work,
                                        struct estimate *estimate, struct error *err)
{
    AUTO_FREE struct window_telemetry_trial *trials = calloc(parts->count + 1, sizeof(*trials));
    const struct window_telemetry_work counted = {work->ops,      work->bytes,
                                                  work->items,    work->item[0] ? work->item : NULL,
                                                  work->integers, work->good};

    if (!trials)
        return error_no_memory(err);
    for (size_t i = 0; i < parts->count; i++)
        trials[i] = (struct window_telemetry_trial){
            parts->items[i].trial, parts->items[i].number,
            (double)(parts->items[i].count - (size_t)parts->items[i].window_first) *
                (double)parts->items[i].iterations,
            parts->items[i].good};
    return window_telemetry_add(store, cell, last_of(parts), trials, parts->count, &counted,
                                estimate, err);
}

static enum status add_reference_ratio(struct store *store, const struct parts *parts,
                                       int64_t iterations, struct estimate *estimate,
                                       struct error *err)
{
    AUTO_FREE struct reference_trial *trials = calloc(parts->count + 1, sizeof(*trials));

    if (!trials)
        return error_no_memory(err);
    for (size_t i = 0; i < parts->count; i++)
        trials[i] = (struct reference_trial){parts->items[i].trial, parts->items[i].samples,
                                             parts->items[i].count,
                                             (size_t)parts->items[i].window_first, iterations};
    return reference_ratio_add(store, trials, parts->count, estimate, err);
}

/* Whether another program than assay's own worker measured the trial. */
static enum status ask_foreign(struct store *store, int64_t trial, bool *ret, struct error *err)
{
    CLEANUP(statement_end) struct statement statement = {0};

    TRY(statement_of(store, "SELECT 1 WHERE " FOREIGN_WORKER_IS_OF("?1"), trial, &statement, err));
    return statement_step(&statement, ret, err);
}

/* Of the cell where it is so of all trials that count, else of each that it is so of. */
static enum status add_foreign_worker(struct store *store, const struct parts *parts,
                                      struct estimate *estimate, struct error *err)
{
    AUTO_FREE bool *foreign = calloc(parts->count + 1, sizeof(*foreign));
    size_t count = 0;

    if (!foreign)
        return error_no_memory(err);
    for (size_t i = 0; i < parts->count; i++) {
        TRY(ask_foreign(store, parts->items[i].trial, &foreign[i], err));
        count += foreign[i];
    }
    if (count == parts->count)
        finding_add(&estimate->findings, FINDING_FOREIGN_WORKER, 0, NULL, NULL);
    for (size_t i = 0; i < parts->count && count < parts->count; i++)
        if (foreign[i])
            finding_add(&estimate->findings, FINDING_FOREIGN_WORKER, parts->items[i].number, NULL,
                        NULL);
    return STATUS_OK;
}

/* The samples of the trial's window: half of them took so long an iteration or less, and their sum;
 * zeros where it has none. */
static enum status take_window(const struct part *part, int64_t iterations, struct seen_trial *ret,
                               struct error *err)
{
    CLEANUP(conduct_samples_finish) struct conduct_samples samples = {0};
    const size_t first = (size_t)part->window_first;
    double sum = 0;

    if (first < part->count &&
        !conduct_samples_add(&samples, part->samples + first, part->count - first))
        return error_no_memory(err);
    for (size_t i = 0; i < samples.count; i++)
        sum += samples.ns[i];
    ret->wall_ns = llround(sum * ((double)part->iterations / (double)iterations));
    ret->iteration_ns = conduct_samples_median(&samples) / (double)iterations;
    return STATUS_OK;
}

static void set_share(struct estimate *estimate, enum metric_id id, double part, double whole)
{
    const struct estimate_interval share = {.has_value = true, .value = part / whole};

    estimate_set_metric(estimate, id, &share, NULL, false);
}

/* What the harness saw of the trials and of what they had mapped. */
static enum status add_seen(struct store *store, const struct parts *parts, int64_t iterations,
                            const struct work *work, const struct protocol *rules,
                            struct estimate *estimate, struct error *err)
{
    struct conduct_spent spent = {0};
    size_t known = 0;

    for (size_t i = 0; i < parts->count; i++) {
        const struct part *part = &parts->items[i];
        struct seen_trial trial = {.trial = part->trial,
                                   .number = part->number,
                                   .is_cold = rules->cache == PROTOCOL_CACHE_COLD,
                                   .spent = &spent,
                                   .known = &known};

        if (!work->is_server)
            TRY(take_window(part, iterations, &trial, err));
        TRY(seen_add_trial(store, &trial, &estimate->findings, err));
    }
    if (known > 0 && known == parts->count) {
        set_share(estimate, METRIC_SAMPLE_SHARE, spent.samples, spent.window);
        set_share(estimate, METRIC_CHECK_SHARE, spent.checks, spent.window);
        set_share(estimate, METRIC_GAP_SHARE, spent.gaps, spent.window);
    }
    return seen_add_files(store, work->cell, last_of(parts), &estimate->findings, err);
}

enum status analysis_estimate(struct store *store, int64_t cell, int64_t last_trial,
                              struct estimate **ret, struct error *err)
{
    CLEANUP(finish_parts) struct parts parts = {0};
    CLEANUP(protocol_finish) struct protocol rules = {0};
    CLEANUP(estimate_cleanup) struct estimate *estimate = NULL;
    struct digest protocol = {0};
    struct work work = {0};
    int64_t iterations;

    TRY(read_cell(store, cell, &work, &protocol, err));
    TRY(read_protocol(store, &protocol, &rules, err));
    TRY(list_parts(store, cell, last_trial, &parts, err));
    TRY(load_parts(store, &parts, err));
    iterations = level_blocks(&parts);
    TRY(work.is_server ? estimate_server(store, &parts, &work, &rules, &estimate, err)
                       : estimate_parts(&parts, &rules.estimate, &estimate, err));
    if (work.is_server)
        note_missing(estimate, &parts, &work);
    else
        add_work(estimate, &parts, &work, iterations);
    if (work.is_counted)
        TRY(count_parts(store, &parts, &work, &rules.estimate, &estimate, err));
    TRY(add_foreign_worker(store, &parts, estimate, err));
    TRY(add_seen(store, &parts, iterations, &work, &rules, estimate, err));
    if (!work.is_server) {
        TRY(add_reference_ratio(store, &parts, iterations, estimate, err));
        TRY(ceiling_add(store, cell, last_of(&parts), estimate, err));
    }
    TRY(add_window_telemetry(store, cell, &parts, &work, estimate, err));
    if (estimate->findings.failed)
        return error_no_memory(err);
    *ret = estimate;
    estimate = NULL;
    return STATUS_OK;
}

enum status analysis_estimate_json(struct store *store, int64_t cell, int64_t last_trial,
                                   json_t **ret, struct error *err)
{
    struct estimate *estimate = NULL;
    json_t *json = NULL;

    TRY(analysis_estimate(store, cell, last_trial, &estimate, err));
    json = estimate_to_json(estimate);
    estimate_destroy(estimate);
    if (!json)
        return error_no_memory(err);
    *ret = json;
    return STATUS_OK;
}
