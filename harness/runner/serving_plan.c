#include "harness/runner/serving_plan.h"

#include "harness/runner/message.h"

#define CHUNK 4096

const char *const serving_plan_series[SERVING_PLAN_SERIES] = {
    "schedule:at_ns", "schedule:prompt_tokens", "schedule:output_tokens"};

static int64_t value_of(const struct scheduled_request *request, size_t series)
{
    return series == 0   ? request->at_ns
           : series == 1 ? (int64_t)request->prompt_tokens
                         : (int64_t)request->output_tokens;
}

enum status serving_plan_send(struct channel *channel, const struct schedule *schedule,
                              int64_t deadline_ns, struct error *err)
{
    enum status status = STATUS_OK;

    for (size_t s = 0; s < SERVING_PLAN_SERIES; s++) {
        for (size_t first = 0; first < schedule->count && status == STATUS_OK; first += CHUNK) {
            const size_t count = schedule->count - first < CHUNK ? schedule->count - first : CHUNK;
            int64_t values[CHUNK];
            const struct message message = {
                MESSAGE_SAMPLES, .samples = {serving_plan_series[s], first, values, count}};

            for (size_t i = 0; i < count; i++)
                values[i] = value_of(&schedule->requests[first + i], s);
            status = message_send(channel, &message, deadline_ns, err);
        }
    }
    return status;
}
