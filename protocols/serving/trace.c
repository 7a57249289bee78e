#include "protocols/serving/trace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/array.h"
#include "harness/core/cleanup.h"
#include "harness/core/csv_reader.h"
#include "harness/core/text.h"
#include "protocols/serving/arrivals.h"
#include "protocols/serving/trace_time.h"

struct reading {
    const char *origin;
    const struct trace_columns *columns;
    size_t column[3]; /* time, prompt, output; SIZE_MAX: not named */
    struct trace trace;
    struct trace_time time;
    int64_t first_ns, last_ns; /* since the form's own origin */
};

static enum status take_header(void *context, const char *const *columns, size_t count,
                               struct error *err)
{
    struct reading *r = context;
    const char *const names[3] = {r->columns->time, r->columns->prompt, r->columns->output};
    const char *separator = csv_reader_separator(columns, count);

    if (separator)
        return error_set_at(err, STATUS_INVALID, r->origin, 1, "%s", separator);
    for (size_t k = 0; k < 3; k++) {
        r->column[k] = SIZE_MAX;
        for (size_t i = 0; names[k] && i < count; i++) {
            if (strcmp(names[k], columns[i]) != 0)
                continue;
            if (r->column[k] != SIZE_MAX)
                return error_set_at(err, STATUS_INVALID, r->origin, 1,
                                    "two columns are named '%s': give each a name of its own",
                                    names[k]);
            r->column[k] = i;
        }
        if (names[k] && r->column[k] == SIZE_MAX)
            return error_set_at(err, STATUS_INVALID, r->origin, 1, "there is no column '%s'",
                                names[k]);
    }
    return STATUS_OK;
}

/* ORIGIN:LINE: 'FIELD' WHAT; the field is untrusted. */
static enum status refuse(const struct reading *r, uint64_t line, const char *field,
                          const char *what, struct error *err)
{
    CLEANUP(text_finish) struct text shown;

    text_init(&shown);
    text_append_printable(&shown, field, strnlen(field, 40));
    return error_set_at(err, STATUS_INVALID, r->origin, line, "'%s' %s",
                        text_ok(&shown) ? shown.data : "", what);
}

static enum status parse_tokens(const struct reading *r, const char *const *fields, size_t column,
                                uint64_t line, uint32_t *ret, struct error *err)
{
    double tokens = 0; /* whole numbers are "5.0" where pandas has written the file */

    *ret = 0;
    if (column == SIZE_MAX)
        return STATUS_OK;
    if (!text_parse_double(fields[column], &tokens) || tokens != floor(tokens) || tokens < 0 ||
        tokens > TRACE_TOKENS_MAX)
        return refuse(r, line, fields[column], "is not a number of tokens up to 100000000", err);
    if (tokens == 0)
        return error_set_at(err, STATUS_INVALID, r->origin, line,
                            "a request without tokens; leave such rows out");
    *ret = (uint32_t)tokens;
    return STATUS_OK;
}

static enum status append(struct reading *r, struct scheduled_request request, struct error *err)
{
    struct trace *trace = &r->trace;

    TRY(ARRAY_GROW(trace->requests, trace->count, 1, err));
    trace->requests[trace->count++] = request;
    return STATUS_OK;
}

static enum status take_row(void *context, const char *const *fields, uint64_t line,
                            struct error *err)
{
    struct reading *r = context;
    struct scheduled_request request = {0};
    int64_t time = 0;

    if (r->trace.count == SCHEDULE_COUNT_MAX)
        return error_set_at(err, STATUS_INVALID, r->origin, line, "more than %d requests",
                            SCHEDULE_COUNT_MAX);
    if (!trace_time_parse(&r->time, fields[r->column[0]], &time))
        return refuse(r, line, fields[r->column[0]],
                      trace_time_expected(&r->time, fields[r->column[0]]), err);
    if (r->trace.count == 0)
        r->first_ns = time;
    else if (time < r->last_ns)
        return error_set_at(err, STATUS_INVALID, r->origin, line,
                            "it came before the request above it; sort the rows by time");
    r->last_ns = time;
    if (__builtin_sub_overflow(time, r->first_ns, &request.at_ns))
        return error_set_at(err, STATUS_INVALID, r->origin, line, "centuries after the first");
    TRY(parse_tokens(r, fields, r->column[1], line, &request.prompt_tokens, err));
    TRY(parse_tokens(r, fields, r->column[2], line, &request.output_tokens, err));
    return append(r, request, err);
}

static void set_digest(struct trace *trace)
{
    trace->digest = schedule_digest(
        &(struct schedule){trace->requests, trace->count, trace->requests[trace->count - 1].at_ns});
}

enum status trace_read(FILE *file, const char *origin, const struct trace_columns *columns,
                       struct trace *ret, struct error *err)
{
    struct reading r = {
        .origin = origin, .columns = columns, .time = {columns->time, columns->unit}};
    enum status status = csv_reader_run_any(file, origin, take_header, take_row, &r, err);

    if (status == STATUS_OK && (r.trace.count < 2 || r.first_ns == r.last_ns))
        status = error_set(err, STATUS_INVALID,
                           "%s: %zu requests at %s moment are not a trace of arrivals", origin,
                           r.trace.count, r.trace.count ? "one" : "no");
    if (status == STATUS_OK)
        status = trace_time_check(&r.time, r.trace.requests, r.trace.count, origin, err);
    if (status != STATUS_OK) {
        trace_finish(&r.trace);
        return status;
    }
    set_digest(&r.trace);
    *ret = r.trace;
    return STATUS_OK;
}

enum status trace_cut(struct trace *trace, size_t count, struct error *err)
{
    if (count > trace->count)
        return error_set(err, STATUS_INVALID, "%zu requests of a trace that has %zu", count,
                         trace->count);
    if (count < 2 || trace->requests[count - 1].at_ns == 0)
        return error_set(err, STATUS_INVALID, "its first %zu requests came at one moment", count);
    trace->count = count;
    set_digest(trace);
    return STATUS_OK;
}

static const char *const members[] = {"at_ns", "prompt_tokens", "output_tokens"};

json_t *trace_to_json(const struct trace *trace)
{
    json_t *columns[] = {json_array(), json_array(), json_array()};
    int failed = 0;

    for (size_t i = 0; i < trace->count; i++) {
        const struct scheduled_request *r = &trace->requests[i];

        failed |= json_array_append_new(columns[0], json_integer(r->at_ns)) |
                  json_array_append_new(columns[1], json_integer(r->prompt_tokens)) |
                  json_array_append_new(columns[2], json_integer(r->output_tokens));
    }
    for (size_t k = 0; k < 3 && failed; k++) {
        json_decref(columns[k]);
        columns[k] = NULL;
    }
    return json_pack("{s:o, s:o, s:o}", members[0], columns[0], members[1], columns[1], members[2],
                     columns[2]);
}

/* The requests of three columns of `count` numbers; false: they cannot be a trace's. */
static bool take_columns(const json_t *const columns[3], size_t count,
                         struct scheduled_request *requests)
{
    for (size_t i = 0; i < count; i++) {
        json_int_t values[3];

        for (size_t k = 0; k < 3; k++) {
            const json_t *value = json_array_get(columns[k], i);

            values[k] = json_integer_value(value);
            if (!json_is_integer(value) || values[k] < 0 || (k > 0 && values[k] > TRACE_TOKENS_MAX))
                return false;
        }
        if (i == 0 ? values[0] != 0 : values[0] < requests[i - 1].at_ns)
            return false;
        requests[i] =
            (struct scheduled_request){values[0], (uint32_t)values[1], (uint32_t)values[2]};
    }
    return requests[count - 1].at_ns > 0;
}

enum status trace_from_json(const json_t *json, struct trace *ret, struct error *err)
{
    const json_t *columns[3];
    struct trace trace = {.count = json_array_size(json_object_get(json, members[0]))};
    bool good = trace.count >= 2 && trace.count <= SCHEDULE_COUNT_MAX;

    for (size_t k = 0; k < 3; k++) {
        columns[k] = json_object_get(json, members[k]);
        good = good && json_array_size(columns[k]) == trace.count;
    }
    trace.requests = good ? calloc(trace.count, sizeof(*trace.requests)) : NULL;
    if (good && !trace.requests)
        return error_no_memory(err);
    if (!good || !take_columns(columns, trace.count, trace.requests)) {
        trace_finish(&trace);
        return error_set(err, STATUS_INVALID, "the stored trace is not valid");
    }
    set_digest(&trace);
    *ret = trace;
    return STATUS_OK;
}

void trace_finish(struct trace *trace)
{
    if (!trace)
        return;
    free(trace->requests);
    *trace = (struct trace){0};
}
