#include "results/store/store_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/core/cleanup.h"

/* Whether the values' moments are all there: `ret` becomes the values over all `count` moments. */
static bool spread(const int64_t *values, const int64_t *at, size_t at_count, size_t count,
                   int64_t missing, int64_t *ret)
{
    for (size_t i = 0; i < count; i++)
        ret[i] = missing;
    for (size_t i = 0; i < at_count; i++) {
        if (at[i] < 0 || (uint64_t)at[i] >= count)
            return false;
        ret[at[i]] = values[i];
    }
    return true;
}

/* Of fewer values than moments: another series, the name and '#', says which moments they are of.
 */
static enum status fill_gaps(struct store *store, int64_t trial, const char *name, size_t count,
                             int64_t missing, int64_t **values, size_t value_count,
                             struct error *err)
{
    AUTO_FREE int64_t *at = NULL, *whole = NULL;
    size_t at_count = 0;
    char gaps_name[260];
    enum status status;

    snprintf(gaps_name, sizeof(gaps_name), "%s#", name);
    status = store_load_samples(store, trial, gaps_name, &at, &at_count, err);
    if (status == STATUS_NOT_FOUND || (status == STATUS_OK && at_count != value_count))
        return error_set(err, STATUS_CORRUPT,
                         "%s: trial %" PRId64 ": %s has %zu values for %zu moments", store->path,
                         trial, name, value_count, count);
    TRY(status);
    whole = malloc((count + 1) * sizeof(*whole));
    if (!whole)
        return error_no_memory(err);
    if (!spread(*values, at, at_count, count, missing, whole))
        return error_set(err, STATUS_CORRUPT,
                         "%s: trial %" PRId64 ": %s names moments that are not there", store->path,
                         trial, gaps_name);
    free(*values);
    *values = whole;
    whole = NULL;
    return STATUS_OK;
}

enum status store_load_telemetry(struct store *store, int64_t trial, const char *part,
                                 const char *channel, int64_t missing, int64_t **ret_times,
                                 int64_t **ret_values, size_t *ret_count, struct error *err)
{
    char name[256], time_name[64];
    AUTO_FREE int64_t *times = NULL, *values = NULL;
    size_t count = 0, value_count = 0;

    if (snprintf(name, sizeof(name), "telemetry:%s.%s", part, channel) >= (int)sizeof(name) ||
        snprintf(time_name, sizeof(time_name), "telemetry:%s.time_ns", part) >=
            (int)sizeof(time_name))
        return error_set(err, STATUS_NOT_FOUND, "%s: no such channel", store->path);
    TRY(store_load_samples(store, trial, time_name, &times, &count, err));
    TRY(store_load_samples(store, trial, name, &values, &value_count, err));
    if (value_count != count)
        TRY(fill_gaps(store, trial, name, count, missing, &values, value_count, err));
    *ret_times = times;
    *ret_values = values;
    *ret_count = count;
    times = values = NULL;
    return STATUS_OK;
}
