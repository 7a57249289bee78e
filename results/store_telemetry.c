#include "results/store_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void bind_known(struct statement *statement, int64_t value, bool known)
{
    if (known)
        statement_i64(statement, value);
    else
        statement_null(statement);
}

static enum status insert_sets(struct store *store, const struct store_telemetry *telemetry,
                               int64_t *ret_begin, int64_t *ret_end, struct error *err)
{
    enum status status = STATUS_OK;

    if (telemetry->begin)
        status = store_insert_readings(store, telemetry->begin, ret_begin, err);
    if (status == STATUS_OK && telemetry->end)
        status = store_insert_readings(store, telemetry->end, ret_end, err);
    return status;
}

static enum status insert(struct store *store, int64_t trial,
                          const struct store_telemetry *telemetry, struct error *err)
{
    struct statement statement;
    struct digest channels, dump;
    int64_t begin = 0, end = 0;
    enum status status = store_insert_json(store, "telemetry", telemetry->channels, &channels, err);

    if (status == STATUS_OK && telemetry->dump)
        status = store_insert_content(store, "dump", telemetry->dump, strlen(telemetry->dump),
                                      &dump, err);
    if (status == STATUS_OK)
        status = insert_sets(store, telemetry, &begin, &end, err);
    if (status == STATUS_OK)
        status = statement_begin(
            store,
            "INSERT INTO telemetry (trial, part, status, message, channels, interval_ns, ticks,"
            " late_ticks, cpu_ns, reading_ns, readings_begin, readings_end, dump)"
            " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
            &statement, err);
    if (status != STATUS_OK)
        return status;
    statement_i64(&statement, trial);
    statement_text(&statement, telemetry->part);
    statement_text(&statement, telemetry->status);
    statement_text(&statement, telemetry->message);
    statement_digest(&statement, &channels);
    statement_i64(&statement, telemetry->interval_ns);
    statement_i64(&statement, telemetry->ticks);
    statement_i64(&statement, telemetry->late_ticks);
    bind_known(&statement, telemetry->cpu_ns, telemetry->cpu_ns >= 0);
    bind_known(&statement, telemetry->reading_ns, telemetry->reading_ns >= 0);
    bind_known(&statement, begin, telemetry->begin != NULL);
    bind_known(&statement, end, telemetry->end != NULL);
    statement_digest(&statement, telemetry->dump ? &dump : NULL);
    return statement_run(&statement, NULL, err);
}

enum status store_add_telemetry(struct store *store, int64_t trial,
                                const struct store_telemetry *telemetry, struct error *err)
{
    enum status status = store_change_begin(store, err);

    if (status != STATUS_OK)
        return status;
    return store_change_end(store, insert(store, trial, telemetry, err), err);
}

/* Spreads `values`, which belong to the moments `at`, over all `count` moments. */
static enum status spread(const int64_t *values, const int64_t *at, size_t at_count, size_t count,
                          int64_t missing, int64_t *ret)
{
    for (size_t i = 0; i < count; i++)
        ret[i] = missing;
    for (size_t i = 0; i < at_count; i++) {
        if (at[i] < 0 || (uint64_t)at[i] >= count)
            return STATUS_CORRUPT;
        ret[at[i]] = values[i];
    }
    return STATUS_OK;
}

enum status store_load_telemetry(struct store *store, int64_t trial, const char *part,
                                 const char *channel, int64_t missing, int64_t **ret_times,
                                 int64_t **ret_values, size_t *ret_count, struct error *err)
{
    char name[256], time_name[64], gaps_name[260];
    int64_t *times = NULL, *values = NULL, *at = NULL, *whole = NULL;
    size_t count = 0, value_count = 0, at_count = 0;
    enum status status;

    if (snprintf(name, sizeof(name), "telemetry:%s.%s", part, channel) >= (int)sizeof(name) ||
        snprintf(time_name, sizeof(time_name), "telemetry:%s.time_ns", part) >=
            (int)sizeof(time_name))
        return error_set(err, STATUS_NOT_FOUND, "%s: no such channel", store->path);
    snprintf(gaps_name, sizeof(gaps_name), "%s#", name);
    status = store_load_samples(store, trial, time_name, &times, &count, err);
    if (status == STATUS_OK)
        status = store_load_samples(store, trial, name, &values, &value_count, err);
    if (status != STATUS_OK || value_count == count)
        goto done;
    status = store_load_samples(store, trial, gaps_name, &at, &at_count, err);
    if (status == STATUS_NOT_FOUND || (status == STATUS_OK && at_count != value_count))
        status = error_set(err, STATUS_CORRUPT,
                           "%s: trial %" PRId64 ": %s has %zu values for %zu moments", store->path,
                           trial, name, value_count, count);
    whole = malloc((count + 1) * sizeof(*whole));
    if (status == STATUS_OK && !whole)
        status = error_set(err, STATUS_NO_MEMORY, "%s: out of memory", store->path);
    if (status == STATUS_OK && spread(values, at, at_count, count, missing, whole) != STATUS_OK)
        status = error_set(err, STATUS_CORRUPT,
                           "%s: trial %" PRId64 ": %s names moments that are "
                           "not there",
                           store->path, trial, gaps_name);
    if (status == STATUS_OK) {
        free(values);
        values = whole;
        whole = NULL;
    }
done:
    free(at);
    free(whole);
    if (status != STATUS_OK) {
        free(times);
        free(values);
        return status;
    }
    *ret_times = times;
    *ret_values = values;
    *ret_count = count;
    return STATUS_OK;
}
