#include "workloads/trace.h"

#include <stdlib.h>
#include <string.h>

#include "harness/core/array.h"
#include "harness/core/cleanup.h"
#include "harness/core/clock.h"

struct trace {
    struct device *device;
    bool has_events;
    struct moment {
        struct event *event; /* NULL: `ns` is of the host's clock */
        int64_t ns;          /* since the beginning, when it is over */
    } begin, *ends;          /* one an operation */
    struct trace_operation *operations;
    char (*names)[TRACE_NAME_MAX];
    size_t count;
};

static enum status take_moment(struct trace *trace, struct moment *ret, struct error *err)
{
    if (trace->has_events) {
        TRY(device_event_create(trace->device, &ret->event, err));
        return device_event_record(trace->device, ret->event, err);
    }
    TRY(device_synchronize(trace->device, err));
    ret->ns = clock_monotonic_ns();
    return STATUS_OK;
}

enum status trace_begin(struct device *device, struct trace **ret, struct error *err)
{
    struct trace *trace = calloc(1, sizeof(*trace));
    enum status status;

    if (!trace)
        return error_no_memory(err);
    trace->device = device;
    trace->has_events = device_has_events(device);
    status = device_synchronize(device, err);
    if (status == STATUS_OK)
        status = take_moment(trace, &trace->begin, err);
    if (status != STATUS_OK) {
        trace_destroy(trace);
        return status;
    }
    *ret = trace;
    return STATUS_OK;
}

void trace_destroy(struct trace *trace)
{
    if (!trace)
        return;
    device_event_destroy(trace->device, trace->begin.event);
    for (size_t i = 0; i < trace->count; i++)
        device_event_destroy(trace->device, trace->ends[i].event);
    free(trace->ends);
    free(trace->operations);
    free(trace->names);
    free(trace);
}

enum status trace_mark(struct trace *trace, const struct trace_operation *operation,
                       struct error *err)
{
    const size_t at = trace ? trace->count : 0;

    if (!trace)
        return STATUS_OK;
    TRY(ARRAY_GROW(trace->ends, at, 1, err));
    TRY(ARRAY_GROW(trace->operations, at, 1, err));
    TRY(ARRAY_GROW(trace->names, at, 1, err));
    trace->operations[at] = *operation;
    trace->ends[at] = (struct moment){0};
    strncpy(trace->names[at], operation->name, TRACE_NAME_MAX - 1);
    trace->names[at][TRACE_NAME_MAX - 1] = '\0';
    trace->count++;
    return take_moment(trace, &trace->ends[at], err);
}

size_t trace_count(const struct trace *trace)
{
    return trace->count;
}

static json_t *known_or_null(uint64_t value)
{
    return value > INT64_MAX ? json_null() : json_integer((json_int_t)value);
}

/* What each began at is where the one before ended. */
static json_t *operations_json(const struct trace *trace)
{
    json_t *ret = json_array();

    for (size_t i = 0; i < trace->count; i++) {
        const struct trace_operation *operation = &trace->operations[i];
        const int64_t begin_ns = i == 0 ? 0 : trace->ends[i - 1].ns;

        json_array_append_new(ret,
                              json_pack("{s:s, s:s, s:I, s:I, s:o, s:o}", "name", trace->names[i],
                                        "kind", operation->kind, "begin_ns", (json_int_t)begin_ns,
                                        "duration_ns", (json_int_t)(trace->ends[i].ns - begin_ns),
                                        "bytes", known_or_null(operation->bytes), "flops",
                                        known_or_null(operation->flops)));
    }
    return ret;
}

enum status trace_end(struct trace *trace, json_t **ret, struct error *err)
{
    TRY(device_synchronize(trace->device, err));
    for (size_t i = 0; i < trace->count; i++) {
        struct moment *end = &trace->ends[i];

        if (trace->has_events)
            TRY(device_event_elapsed_ns(trace->device, trace->begin.event, end->event, &end->ns,
                                        err));
        else
            end->ns -= trace->begin.ns;
    }
    *ret = json_pack("{s:s, s:o}", "clock", trace->has_events ? "device" : "host", "operations",
                     operations_json(trace));
    return *ret ? STATUS_OK : error_no_memory(err);
}
