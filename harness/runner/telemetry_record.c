#include "harness/runner/telemetry_record.h"

#include <stdio.h>
#include <stdlib.h>

#include "backends/telemetry.h"
#include "harness/core/cleanup.h"
#include "harness/runner/telemetry_child.h"

struct recording {
    struct store *store;
    int64_t trial;
    const char *part;
    const struct telemetry_log *log;
    size_t first;     /* row that begins the record */
    int64_t *values;  /* room for a value a row */
    int64_t *moments; /* likewise */
};

static const int64_t *row_of(const struct recording *r, size_t i)
{
    return r->log->rows + i * (TELEMETRY_ROW_HEAD + r->log->channel_count);
}

static enum status add_series(const struct recording *r, const char *channel, const char *suffix,
                              const int64_t *values, size_t count, struct error *err)
{
    char name[TELEMETRY_WORD_MAX + 64];

    snprintf(name, sizeof(name), "telemetry:%s.%s%s", r->part, channel, suffix);
    return store_add_samples(r->store, r->trial, name, 0, values, count, err);
}

/* The middle of each reading, since the trial's start. */
static enum status add_times(const struct recording *r, int64_t started_ns, struct error *err)
{
    size_t count = 0;

    for (size_t i = r->first; i < r->log->row_count; i++) {
        const int64_t *row = row_of(r, i);

        r->values[count++] = row[0] + (row[1] - row[0]) / 2 - started_ns;
    }
    return add_series(r, "time_ns", "", r->values, count, err);
}

static enum status add_channel(const struct recording *r, size_t channel, struct error *err)
{
    const char *name =
        json_string_value(json_object_get(json_array_get(r->log->channels, channel), "name"));
    size_t count = 0, rows = r->log->row_count - r->first;

    for (size_t i = 0; i < rows; i++) {
        int64_t value = row_of(r, r->first + i)[TELEMETRY_ROW_HEAD + channel];

        if (value == TELEMETRY_MISSING)
            continue;
        r->values[count] = value;
        r->moments[count++] = (int64_t)i;
    }
    TRY(add_series(r, name, "", r->values, count, err));
    if (count > 0 && count < rows)
        TRY(add_series(r, name, "#", r->moments, count, err));
    return STATUS_OK;
}

static void measure_cost(const struct recording *r, struct store_telemetry *ret)
{
    const struct telemetry_log *log = r->log;
    int64_t sum_ns = 0;

    ret->ticks = (int64_t)(log->row_count - r->first);
    for (size_t i = r->first; i < log->row_count; i++) {
        const int64_t *row = row_of(r, i);

        sum_ns += row[1] - row[0];
        if (i > r->first && row[0] - row_of(r, i - 1)[0] > log->interval_ns + log->interval_ns / 2)
            ret->late_ticks++;
    }
    ret->reading_ns = ret->ticks > 0 ? sum_ns / ret->ticks : -1;
}

enum status telemetry_record(struct store *store, int64_t trial, const char *part,
                             int64_t started_ns, const struct telemetry_log *log, struct error *err)
{
    AUTO_FREE int64_t *values = malloc((log->row_count + 1) * sizeof(*values));
    AUTO_FREE int64_t *moments = malloc((log->row_count + 1) * sizeof(*moments));
    struct recording r = {.store = store,
                          .trial = trial,
                          .part = part,
                          .log = log,
                          .values = values,
                          .moments = moments};
    struct store_telemetry telemetry = {.part = part,
                                        .status = status_name(log->status),
                                        .message = log->message,
                                        .channels = log->channels,
                                        .interval_ns = log->interval_ns,
                                        .cpu_ns = log->cpu_ns,
                                        .begin = log->begin,
                                        .end = log->end,
                                        .dump = log->dump};

    if (!values || !moments)
        return error_no_memory(err);
    while (r.first < log->row_count && row_of(&r, r.first)[0] < started_ns)
        r.first++;
    measure_cost(&r, &telemetry);
    TRY(store_add_telemetry(store, trial, &telemetry, err));
    if (r.first < log->row_count)
        TRY(add_times(&r, started_ns, err));
    for (size_t i = 0; i < log->channel_count && r.first < log->row_count; i++)
        TRY(add_channel(&r, i, err));
    return STATUS_OK;
}
