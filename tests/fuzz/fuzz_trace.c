/* An untrusted trace of arrivals (CSV); its last byte chooses the declared unit. */
#include "fuzz.h"

#include "protocols/serving/arrivals.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const units[] = {NULL, "s", "ms", "us", "ns"};
    struct trace_columns columns = {"t", "p", "o", NULL};
    struct error err = ERROR_INIT;
    struct trace trace = {0};
    struct schedule schedule = {0};
    enum status status;
    FILE *file;

    if (size == 0)
        return 0;
    columns.unit = units[data[size - 1] % 5];
    file = fmemopen((void *)(uintptr_t)data, size, "r");
    if (!file)
        return 0;
    status = trace_read(file, "input", &columns, &trace, &err);
    fclose(file);
    if (status != STATUS_OK) {
        fuzz_require_good_message(&err, status);
        FUZZ_REQUIRE(!strncmp(err.message, "input", 5));
        return 0;
    }
    FUZZ_REQUIRE(trace.count >= 2 && trace.requests[0].at_ns == 0);
    for (size_t i = 0; i < trace.count; i++) {
        FUZZ_REQUIRE(i == 0 || trace.requests[i].at_ns >= trace.requests[i - 1].at_ns);
        FUZZ_REQUIRE(trace.requests[i].prompt_tokens > 0 && trace.requests[i].output_tokens > 0);
    }
    /* A trace that was read can be played, unless it takes more than a week. */
    status = schedule_make(
        &(struct arrivals){.process = ARRIVAL_TRACE, .trace = &trace, .scale = 1},
        &(struct lengths){.joint = &trace}, 0, (struct schedule_extent){0, 0}, 1, &schedule, &err);
    FUZZ_REQUIRE(status == STATUS_OK || strstr(err.message, "7 days"));
    FUZZ_REQUIRE(status != STATUS_OK || schedule.count == trace.count);
    schedule_finish(&schedule);
    trace_finish(&trace);
    return 0;
}
