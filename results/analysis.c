#include "results/analysis.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include <sqlite3.h>

#include "harness/core/text.h"
#include "protocols/estimate.h"
#include "protocols/protocol.h"
#include "protocols/stats/order.h"
#include "results/window_telemetry.h"

/* One trial that counts; `samples` is heap. */
struct part {
    int64_t trial;
    int64_t iterations; /* per sample */
    int64_t window_first;
    int64_t *samples;
    size_t count;
};

struct parts {
    struct part *items; /* heap */
    size_t count;
};

/* Per iteration; 0: not counted. */
struct work {
    int64_t flops, bytes, items;
};

static void finish_parts(struct parts *parts)
{
    for (size_t i = 0; i < parts->count; i++)
        free(parts->items[i].samples);
    free(parts->items);
}

static enum status failed(struct store *store, struct error *err)
{
    sqlite3 *db = store_connection(store);
    bool memory = sqlite3_errcode(db) == SQLITE_NOMEM;

    return error_set(err, memory ? STATUS_NO_MEMORY : STATUS_IO, "%s: reading a result: %s",
                     store_path(store), sqlite3_errmsg(db));
}

static enum status select_cell(struct store *store, const char *sql, int64_t cell,
                               sqlite3_stmt **ret, struct error *err)
{
    if (sqlite3_prepare_v2(store_connection(store), sql, -1, ret, NULL) != SQLITE_OK ||
        sqlite3_bind_int64(*ret, 1, cell) != SQLITE_OK) {
        sqlite3_finalize(*ret);
        *ret = NULL;
        return failed(store, err);
    }
    return STATUS_OK;
}

static enum status read_cell(struct store *store, int64_t cell, struct work *ret_work,
                             struct digest *ret_protocol, struct error *err)
{
    sqlite3_stmt *select = NULL;
    enum status status = select_cell(store,
                                     "SELECT coalesce(flops, 0), coalesce(bytes, 0),"
                                     " coalesce(items, 0), lower(hex(protocol)) FROM cell"
                                     " WHERE id = ?1",
                                     cell, &select, err);
    const char *hex;
    int rc;

    if (status != STATUS_OK)
        return status;
    rc = sqlite3_step(select);
    if (rc == SQLITE_ROW) {
        *ret_work = (struct work){sqlite3_column_int64(select, 0), sqlite3_column_int64(select, 1),
                                  sqlite3_column_int64(select, 2)};
        hex = (const char *)sqlite3_column_text(select, 3);
        if (!hex || !digest_from_hex(hex, ret_protocol))
            status = failed(store, err);
    } else if (rc == SQLITE_DONE) {
        status = error_set(err, STATUS_NOT_FOUND, "%s: there is no cell %" PRId64,
                           store_path(store), cell);
    } else {
        status = failed(store, err);
    }
    sqlite3_finalize(select);
    return status;
}

static enum status list_parts(struct store *store, int64_t cell, int64_t last_trial,
                              struct parts *parts, struct error *err)
{
    sqlite3_stmt *select = NULL;
    enum status status =
        select_cell(store,
                    "SELECT t.id, e.iterations_per_sample, e.window_first FROM trial t"
                    " JOIN trial_end e ON e.trial = t.id WHERE t.cell = ?1 AND e.status = 'ok'"
                    " AND t.id <= ?2 AND t.attempt = (SELECT max(l.attempt) FROM trial l"
                    " WHERE l.campaign = t.campaign AND l.sequence = t.sequence AND l.id <= ?2)"
                    " ORDER BY t.sequence",
                    cell, &select, err);
    int rc;

    if (status != STATUS_OK)
        return status;
    sqlite3_bind_int64(select, 2, last_trial);
    while ((rc = sqlite3_step(select)) == SQLITE_ROW) {
        struct part part = {.trial = sqlite3_column_int64(select, 0),
                            .iterations = sqlite3_column_int64(select, 1),
                            .window_first = sqlite3_column_int64(select, 2)};
        struct part *grown;

        if (part.iterations < 1 || sqlite3_column_type(select, 2) == SQLITE_NULL ||
            part.window_first < 0) {
            status =
                error_set(err, STATUS_CORRUPT, "%s: trial %" PRId64 " ended ok without a window",
                          store_path(store), part.trial);
            break;
        }
        grown = realloc(parts->items, (parts->count + 1) * sizeof(*grown));
        if (!grown) {
            status = error_set(err, STATUS_NO_MEMORY, "%s: out of memory", store_path(store));
            break;
        }
        parts->items = grown;
        parts->items[parts->count++] = part;
    }
    if (status == STATUS_OK && rc != SQLITE_DONE)
        status = failed(store, err);
    sqlite3_finalize(select);
    if (status == STATUS_OK && parts->count == 0)
        status = error_set(err, STATUS_NOT_FOUND,
                           "%s: no trial of cell %" PRId64 " ended well, so there is nothing to "
                           "estimate",
                           store_path(store), cell);
    return status;
}

static enum status load_parts(struct store *store, struct parts *parts, struct error *err)
{
    for (size_t i = 0; i < parts->count; i++) {
        struct part *part = &parts->items[i];
        enum status status =
            store_load_samples(store, part->trial, "wall_ns", &part->samples, &part->count, err);

        if (status == STATUS_NOT_FOUND)
            status =
                error_set(err, STATUS_CORRUPT, "%s: trial %" PRId64 " ended ok without samples",
                          store_path(store), part->trial);
        if (status != STATUS_OK)
            return status;
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

static void divide_interval(struct estimate_interval *interval, double by)
{
    interval->value /= by;
    interval->lo /= by;
    interval->hi /= by;
}

/* From times of blocks to times of iterations. */
static void divide_times(struct estimate *estimate, int64_t iterations)
{
    if (iterations == 1)
        return;
    divide_interval(&estimate->mean_ns, (double)iterations);
    for (size_t i = 0; i < estimate->trial_count; i++)
        divide_interval(&estimate->trials[i].mean_ns, (double)iterations);
    for (size_t i = 0; i < estimate->percentile_count; i++)
        divide_interval(&estimate->percentiles[i].interval, (double)iterations);
}

/* A bound that lies beyond the numbers is not told; there is no JSON for it. */
static json_t *real_or_null(bool known, double value)
{
    return known && isfinite(value) ? json_real(value) : json_null();
}

static json_t *interval_json(bool has_value, double value, bool has_interval, double lo, double hi)
{
    return json_pack("{s:o, s:o, s:o}", "value", real_or_null(has_value, value), "lo",
                     real_or_null(has_interval, lo), "hi", real_or_null(has_interval, hi));
}

static json_t *rate_json(const struct estimate_interval *time, int64_t work)
{
    double per_s = (double)work * 1e9;

    return interval_json(time->has_value, per_s / time->value, time->has_interval, per_s / time->hi,
                         per_s / time->lo);
}

/*
 * Median of the steady part per iteration; null where the trial has no mean either, and of two
 * states, where it is one of the two or the other.
 */
static json_t *median_json(const struct part *part, const struct estimate_trial *trial,
                           int64_t iterations)
{
    size_t count = part->count - trial->steady_from, i;
    double *x, median;

    if (!trial->mean_ns.has_value || trial->verdict == ESTIMATE_TWO_STATE ||
        trial->steady_from >= part->count)
        return json_null();
    x = malloc(count * sizeof(*x));
    if (!x)
        return NULL;
    for (i = 0; i < count; i++)
        x[i] = (double)part->samples[trial->steady_from + i];
    median = order_select(x, count, count / 2);
    if (count % 2 == 0)
        median = (median + order_select(x, count, count / 2 - 1)) / 2;
    free(x);
    return json_real(median / (double)iterations);
}

/*
 * A percentile of blocks is none of iterations: what is rare among these is averaged away. 0, or -1 out
 * of memory.
 */
static int warn_of_blocks(const struct estimate *estimate, int64_t iterations, json_t *object)
{
    bool given = false;
    char *words;
    int failed;

    for (size_t i = 0; i < estimate->percentile_count; i++)
        given = given || estimate->percentiles[i].interval.has_value;
    if (iterations == 1 || !given)
        return 0;
    words = text_format("a sample is %" PRId64 " iterations long: percentiles and the spread within a "
                        "trial are of means over so many, and single iterations lie further apart",
                        iterations);
    failed = json_array_append_new(json_object_get(object, "warnings"),
                                   words ? json_string(words) : NULL);
    free(words);
    return failed;
}

static json_t *result_json(const struct estimate *estimate, const struct parts *parts,
                           const struct work *work, int64_t iterations,
                           enum estimate_centre compare_by)
{
    const struct estimate_interval *time = &estimate->mean_ns;
    json_t *object = estimate_to_json(estimate), *ids = json_array(), *means = json_array();
    json_t *medians = compare_by == ESTIMATE_MEDIAN ? json_array() : NULL;
    int failures = 0;

    for (size_t i = 0; i < parts->count; i++) {
        const struct estimate_interval *mean = &estimate->trials[i].mean_ns;

        failures += json_array_append_new(ids, json_integer(parts->items[i].trial)) != 0;
        failures += json_array_append_new(means, real_or_null(mean->has_value, mean->value)) != 0;
        if (medians)
            failures +=
                json_array_append_new(medians, median_json(&parts->items[i], &estimate->trials[i],
                                                           iterations)) != 0;
    }
    if (medians)
        failures += json_object_set_new(object, "trial_median_ns", medians) != 0;
    failures += warn_of_blocks(estimate, iterations, object) != 0;
    failures += json_object_set_new(object, "trial_mean_ns", means) != 0;
    failures += json_object_set_new(object, "trial_ids", ids) != 0;
    failures += json_object_set_new(object, "iterations_per_sample", json_integer(iterations)) != 0;
    failures += json_object_set_new(object, "iteration_ns",
                                    interval_json(time->has_value, time->value, time->has_interval,
                                                  time->lo, time->hi)) != 0;
    if (work->items > 0)
        failures += json_object_set_new(object, "items_per_s", rate_json(time, work->items)) != 0;
    if (work->bytes > 0)
        failures += json_object_set_new(object, "bytes_per_s", rate_json(time, work->bytes)) != 0;
    if (work->flops > 0)
        failures += json_object_set_new(object, "flops_per_s", rate_json(time, work->flops)) != 0;
    if (failures == 0)
        return object;
    json_decref(object);
    return NULL;
}

static enum status estimate_parts(const struct parts *parts, const struct estimate_options *options,
                                  struct estimate **ret, struct error *err)
{
    struct estimate_series *series = calloc(parts->count, sizeof(*series));
    enum status status;

    if (!series)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < parts->count; i++)
        series[i] = (struct estimate_series){parts->items[i].samples, parts->items[i].count,
                                             (size_t)parts->items[i].window_first};
    status = estimate_cell(series, parts->count, options, ret, err);
    free(series);
    return status;
}

static enum status read_options(struct store *store, const struct digest *digest,
                                struct estimate_options *ret, struct error *err)
{
    struct protocol protocol;
    json_t *json = NULL;
    enum status status = store_get_json(store, digest, &json, err);

    if (status == STATUS_OK)
        status = protocol_from_json(json, &protocol, err);
    json_decref(json);
    if (status != STATUS_OK)
        return status;
    *ret = protocol.estimate;
    protocol_finish(&protocol);
    return STATUS_OK;
}

/* What was sampled beside the trials: energy, and what happened in the windows. */
static enum status add_window_telemetry(struct store *store, int64_t cell,
                                        const struct parts *parts, const struct work *work,
                                        double confidence, json_t *json, struct error *err)
{
    struct window_telemetry_trial *trials = calloc(parts->count + 1, sizeof(*trials));
    const struct window_telemetry_work counted = {work->flops, work->bytes, work->items};
    enum status status;

    if (!trials)
        return error_set(err, STATUS_NO_MEMORY, "%s: out of memory", store_path(store));
    for (size_t i = 0; i < parts->count; i++)
        trials[i] = (struct window_telemetry_trial){
            parts->items[i].trial,
            (double)(parts->items[i].count - (size_t)parts->items[i].window_first) *
                (double)parts->items[i].iterations};
    status =
        window_telemetry_add(store, cell, trials, parts->count, &counted, confidence, json, err);
    free(trials);
    return status;
}

enum status analysis_estimate_cell(struct store *store, int64_t cell, json_t **ret,
                                   struct error *err)
{
    return analysis_estimate_until(store, cell, INT64_MAX, ret, err);
}

enum status analysis_estimate_until(struct store *store, int64_t cell, int64_t last_trial,
                                    json_t **ret, struct error *err)
{
    struct parts parts = {0};
    struct estimate_options options = {0};
    struct estimate *estimate = NULL;
    struct digest protocol = {0};
    struct work work = {0};
    int64_t iterations;
    json_t *json;
    enum status status = read_cell(store, cell, &work, &protocol, err);

    if (status == STATUS_OK)
        status = read_options(store, &protocol, &options, err);
    if (status == STATUS_OK)
        status = list_parts(store, cell, last_trial, &parts, err);
    if (status == STATUS_OK)
        status = load_parts(store, &parts, err);
    if (status != STATUS_OK)
        goto done;
    iterations = level_blocks(&parts);
    status = estimate_parts(&parts, &options, &estimate, err);
    if (status != STATUS_OK)
        goto done;
    divide_times(estimate, iterations);
    json = result_json(estimate, &parts, &work, iterations, options.compare_by);
    status = json ? add_window_telemetry(store, cell, &parts, &work, options.confidence, json, err)
                  : error_set(err, STATUS_NO_MEMORY, "%s: out of memory", store_path(store));
    if (status == STATUS_OK)
        *ret = json;
    else
        json_decref(json);
done:
    estimate_destroy(estimate);
    finish_parts(&parts);
    return status;
}
