#include "results/store/store_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
        status = error_no_memory(err);
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
