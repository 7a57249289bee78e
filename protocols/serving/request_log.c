#include "protocols/serving/request_log.h"

#include <inttypes.h>
#include <string.h>

const char *const request_columns[REQUEST_COLUMNS_ALL] = {
#define COLUMN_NAME(series, member) series,
    REQUEST_COLUMN_MAP(COLUMN_NAME) REQUEST_PIECE_MAP(COLUMN_NAME)
#undef COLUMN_NAME
};

bool request_is_column(const char *series)
{
    return strncmp(series, "request:", strlen("request:")) == 0;
}

bool request_is_demanded(const char *series)
{
    size_t i = 0;

    while (i < REQUEST_COLUMNS && strcmp(series, request_columns[i]) != 0)
        i++;
    return i < REQUEST_COLUMNS;
}

int64_t request_column(const struct request *request, size_t column)
{
    const int64_t values[REQUEST_COLUMNS_ALL] = {
#define COLUMN_VALUE(series, member) (int64_t) request->member,
        REQUEST_COLUMN_MAP(COLUMN_VALUE) REQUEST_PIECE_MAP(COLUMN_VALUE)
#undef COLUMN_VALUE
    };

    return values[column] == REQUEST_NEVER ? -1 : values[column];
}

bool request_set_column(struct request *request, size_t column, int64_t value)
{
    int64_t *const times[] = {&request->scheduled_ns, &request->sent_ns, &request->admitted_ns,
                              &request->first_ns,     &request->done_ns, &request->worst_gap_ns};
    uint32_t *const counts[] = {&request->prompt_tokens, &request->output_tokens, &request->outputs,
                                &request->first_outputs, &request->is_told};

    if (column < sizeof(times) / sizeof(*times)) {
        *times[column] = value < 0 ? REQUEST_NEVER : value;
        return value >= (column == 0 ? 0 : -1);
    }
    if (value < 0 || value > (column == 8 ? (int64_t)REQUEST_TIMED_OUT : (int64_t)UINT32_MAX))
        return false;
    if (column == 8)
        request->status = (enum request_status)value;
    else
        *counts[column < 8 ? column - 6 : column - 7] = (uint32_t)value;
    return true;
}

/* The first of two times that are out of order; a time that did not happen has no later one. */
static bool in_order(const struct request *request)
{
    const int64_t times[] = {request->sent_ns, request->admitted_ns, request->first_ns,
                             request->done_ns};
    int64_t before = request->scheduled_ns;

    for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
        if (times[i] == REQUEST_NEVER)
            continue;
        if (before == REQUEST_NEVER || times[i] < before)
            return false;
        before = times[i];
    }
    return true;
}

static bool has_what_its_status_demands(const struct request *request)
{
    const bool sent = request->sent_ns != REQUEST_NEVER;
    const bool begun = request->admitted_ns != REQUEST_NEVER;
    const bool done = request->done_ns != REQUEST_NEVER;

    if (request->outputs > request->output_tokens || request->first_outputs > request->outputs ||
        request->is_told > 1)
        return false;
    switch (request->status) {
    case REQUEST_OK:
        return sent && done && request->first_ns != REQUEST_NEVER;
    case REQUEST_UNFINISHED:
        return !done;
    case REQUEST_REFUSED:
        return sent && !begun && request->first_ns == REQUEST_NEVER;
    case REQUEST_FAILED:
    case REQUEST_TIMED_OUT:
        break;
    }
    return sent;
}

/* The end of the step with the least end >= at_ns; steps ascend and do not overlap. */
static bool is_end_of_step(const struct serving_step *steps, size_t count, int64_t at_ns)
{
    size_t low = 0, high = count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (steps[middle].end_ns < at_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && steps[low].end_ns == at_ns;
}

static enum status audit_steps(const struct request *requests, size_t count,
                               const struct serving_step *steps, size_t step_count,
                               struct error *err)
{
    uint64_t served = 0, unknown = 0, in_steps = 0;

    for (size_t i = 0; i < step_count; i++) {
        if (steps[i].end_ns < steps[i].begin_ns ||
            (i > 0 && steps[i].begin_ns < steps[i - 1].end_ns))
            return error_set(err, STATUS_INVALID, "step %zu begins before the one before it ended",
                             i);
        in_steps += steps[i].batch;
    }
    for (size_t i = 0; i < count; i++) {
        const struct request *request = &requests[i];

        if (request->first_ns != REQUEST_NEVER &&
            (!is_end_of_step(steps, step_count, request->first_ns) ||
             (request->done_ns != REQUEST_NEVER &&
              !is_end_of_step(steps, step_count, request->done_ns))))
            return error_set(err, STATUS_INVALID, "request %zu has an output when no step ended",
                             i);
        /* All at once, or one a step. */
        if (request->first_ns != REQUEST_NEVER)
            served += request->first_ns == request->done_ns ? 1 : request->output_tokens;
        unknown += request->first_ns == REQUEST_NEVER && request->admitted_ns != REQUEST_NEVER;
    }
    if (served <= in_steps && in_steps <= served + unknown)
        return STATUS_OK;
    return error_set(err, STATUS_INVALID,
                     "the steps put out %" PRIu64 " outputs, and the requests have %" PRIu64,
                     in_steps, served);
}

enum status request_log_audit(const struct request *requests, size_t count,
                              const struct serving_step *steps, size_t step_count,
                              struct error *err)
{
    for (size_t i = 0; i < count; i++) {
        if (i > 0 && requests[i].scheduled_ns < requests[i - 1].scheduled_ns)
            return error_set(err, STATUS_INVALID,
                             "request %zu is scheduled before the one before it", i);
        if (!in_order(&requests[i]))
            return error_set(err, STATUS_INVALID,
                             "the times of request %zu are out of order: each is at or after the "
                             "one before it (scheduled, sent, admitted, first, done)",
                             i);
        if (!has_what_its_status_demands(&requests[i]))
            return error_set(err, STATUS_INVALID,
                             "request %zu has times that its status excludes, or lacks some", i);
    }
    return step_count > 0 ? audit_steps(requests, count, steps, step_count, err) : STATUS_OK;
}
