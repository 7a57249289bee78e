#include "harness/runner/campaign_trace.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/file.h"
#include "harness/core/log.h"
#include "harness/core/member.h"
#include "harness/core/version.h"
#include "harness/runner/tuner.h"
#include "harness/runner/worker_process.h"
#include "workloads/workload.h"

/* What explains less of an operation's time than this share does not bound it. */
#define BOUND_LEAST 0.1

enum thread { THREAD_ITERATION = 1, THREAD_OPERATIONS, THREAD_COPIES };

/* ---- what can be traced ---- */

enum status campaign_trace_check(const json_t *message, const char *worker, struct error *err)
{
    const json_t *workload = json_object_get(message, "workload");
    const char *name = member_text(workload, "workload");
    const struct workload_kind *kind = workload_kind_find(member_text(workload, "kind"));

    if (worker || worker_process_is_foreign())
        return error_set(err, STATUS_UNSUPPORTED,
                         "--trace: the operations of worker %s are not seen from here; leave "
                         "--worker out, or --trace and use that framework's profiler",
                         worker ? worker : "ASSAY_WORKER");
    if (!kind || workload_is_its_own(kind))
        return error_set(err, STATUS_UNSUPPORTED,
                         "--trace: %s is run by another program, whose operations are not seen "
                         "from here; leave --trace out",
                         name);
    if (!strncmp(member_text(message, "scenario"), "server", strlen("server")))
        return error_set(err, STATUS_UNSUPPORTED,
                         "--trace: %s runs under load, where no iteration stands for the others; "
                         "leave --trace out, or write `scenario: offline`",
                         name);
    return STATUS_OK;
}

/* ---- what bounds an operation ---- */

/* Of the device, by results of the database; 0: there is none. */
struct ceilings {
    double byte_rate, op_rate, launch_rate; /* a second */
};

static void raise_to(double *ceiling, const json_t *result, const char *metric)
{
    const json_t *value = member_in(json_object_get(result, "metrics"), metric, "value");

    if (json_number_value(value) > *ceiling)
        *ceiling = json_number_value(value);
}

static bool is_stream(const char *workload)
{
    static const char *const streams[] = {"copy", "scale", "add", "triad", "dot"};

    for (size_t i = 0; i < sizeof(streams) / sizeof(streams[0]); i++)
        if (!strcmp(streams[i], workload))
            return true;
    return false;
}

/* `of`: the result of the cell that is traced. */
static void take_ceiling(struct ceilings *ceilings, const json_t *result, const json_t *of)
{
    const char *kind = member_text(result, "kind");

    if (strcmp(member_text(result, "device"), member_text(of, "device")) != 0)
        return;
    if (!strcmp(kind, "memory_bound") && is_stream(member_text(result, "workload")))
        raise_to(&ceilings->byte_rate, result, "byte_rate");
    if (!strcmp(kind, "launch"))
        raise_to(&ceilings->launch_rate, result, "item_rate");
    if (!strcmp(kind, "gemm") &&
        !strcmp(member_text(result, "precision"), member_text(of, "precision")))
        raise_to(&ceilings->op_rate, result, "op_rate");
}

static enum status find_ceilings(struct store *store, const json_t *of, struct ceilings *ret,
                                 struct error *err)
{
    const struct store_filter filter = {.device = member_text(of, "device_spec")};
    json_auto_t *results = NULL;

    TRY(store_list_results(store, &filter, &results, err));
    EACH(result, results)
        take_ceiling(ret, result, of);
    return STATUS_OK;
}

/* Seconds that the work takes at the rate; NAN: a rate or the work is not known. */
static double floor_of(const json_t *work, double rate)
{
    if (!json_is_integer(work))
        return (double)NAN;
    return json_integer_value(work) == 0 ? 0.0
           : rate > 0                    ? (double)json_integer_value(work) / rate
                                         : (double)NAN;
}

/* The bound's name, and the least time of it in seconds; NAN: not known. */
static const char *bound_of(const json_t *operation, const struct ceilings *ceilings, double *ret)
{
    const char *kind = member_text(operation, "kind");
    const double memory = floor_of(json_object_get(operation, "bytes"), ceilings->byte_rate);
    const double compute = floor_of(json_object_get(operation, "flops"), ceilings->op_rate);
    const double launch = ceilings->launch_rate > 0 ? 1.0 / ceilings->launch_rate : 0.0;

    *ret = (double)NAN;
    if (!strcmp(kind, TRACE_COPY_IN))
        return "input";
    if (!strcmp(kind, "transfer")) /* over a link, whose rate is its own result */
        return "unknown";
    if (isnan(memory) || isnan(compute) || memory + compute + launch == 0)
        return "unknown";
    *ret = fmax(launch, fmax(memory, compute));
    if (*ret * 1e9 < BOUND_LEAST * (double)member_integer(operation, "duration_ns"))
        return "none";
    return *ret == launch ? "launch" : *ret == memory ? "memory" : "compute";
}

/* ---- events ---- */

static void name_track(json_t *events, const char *what, int64_t process, int thread,
                       const char *name)
{
    json_array_append_new(events,
                          json_pack("{s:s, s:s, s:I, s:i, s:{s:s}}", "ph", "M", "name", what, "pid",
                                    (json_int_t)process, "tid", thread, "args", "name", name));
}

/* Times of the format are in microseconds. Takes `args`. */
static void add_event(json_t *events, const char *name, const char *category, int64_t process,
                      int thread, int64_t begin_ns, int64_t duration_ns, json_t *args)
{
    json_array_append_new(
        events, json_pack("{s:s, s:s, s:s, s:I, s:i, s:f, s:f, s:o}", "ph", "X", "name", name,
                          "cat", category, "pid", (json_int_t)process, "tid", thread, "ts",
                          (double)begin_ns / 1e3, "dur", (double)duration_ns / 1e3, "args", args));
}

static void add_operation(json_t *events, int64_t process, const json_t *operation,
                          const struct ceilings *ceilings)
{
    const char *kind = member_text(operation, "kind");
    const int64_t duration_ns = member_integer(operation, "duration_ns");
    double least;
    const char *bound = bound_of(operation, ceilings, &least);
    json_t *args = json_pack("{s:s, s:O, s:O, s:s, s:o}", "operator", kind, "bytes",
                             json_object_get(operation, "bytes"), "flops",
                             json_object_get(operation, "flops"), "bound", bound, "share_of_bound",
                             real_or_null(least * 1e9 / (double)duration_ns));

    add_event(events, member_text(operation, "name"), kind, process,
              strcmp(kind, TRACE_COPY_IN) != 0 ? THREAD_OPERATIONS : THREAD_COPIES,
              member_integer(operation, "begin_ns"), duration_ns, args);
}

static json_t *rate_or_null(double rate)
{
    return rate > 0 ? json_real(rate) : json_null();
}

/* A process of the cell, of which the first thread has the whole iteration. */
static void add_cell(json_t *events, const struct campaign_cell *cell, const json_t *result,
                     const json_t *trace, const struct ceilings *ceilings)
{
    const json_t *operations = json_object_get(trace, "operations");
    const int64_t process = cell->ordinal;
    int64_t end_ns = 0;

    name_track(events, "process_name", process, 0, cell->label);
    name_track(events, "thread_name", process, THREAD_ITERATION, "iteration");
    name_track(events, "thread_name", process, THREAD_OPERATIONS, "operations");
    name_track(events, "thread_name", process, THREAD_COPIES, "copies");
    EACH(operation, operations) {
        add_operation(events, process, operation, ceilings);
        end_ns = member_integer(operation, "begin_ns") + member_integer(operation, "duration_ns");
    }
    add_event(events, "iteration", "iteration", process, THREAD_ITERATION, 0, end_ns,
              json_pack("{s:b, s:s, s:s, s:o, s:o, s:o}", "outside_timed_window", true, "result",
                        member_text(result, "id"), "clock", member_text(trace, "clock"),
                        "bytes_per_second", rate_or_null(ceilings->byte_rate), "flops_per_second",
                        rate_or_null(ceilings->op_rate), "launches_per_second",
                        rate_or_null(ceilings->launch_rate)));
}

/* ---- the file ---- */

static enum status trace_cell(const struct campaign *campaign, const struct campaign_cell *cell,
                              int wake_fd, json_t *events, struct error *err)
{
    const struct tuner_request request = {.message = cell->message,
                                          .environment_changes = cell->spec.changes,
                                          .root = cell->spec.root,
                                          .silence_ns = campaign->silence_ns,
                                          .wake_fd = wake_fd,
                                          .trace = true};
    const struct store_filter filter = {.cell = cell->row};
    json_auto_t *trace = NULL, *results = NULL;
    const json_t *result;
    struct ceilings ceilings = {0};

    TRY(store_list_results(campaign->store, &filter, &results, err));
    result = json_array_get(results, 0);
    if (member_integer(result, "trials_ok") < 1)
        return error_set(err, STATUS_NOT_FOUND, "none of its trials is ok");
    TRY(find_ceilings(campaign->store, result, &ceilings, err));
    TRY(tuner_run(&request, &trace, err));
    add_cell(events, cell, result, trace, &ceilings);
    return STATUS_OK;
}

static enum status write_file(const struct campaign *campaign, json_t *events, const char *path,
                              struct error *err)
{
    json_auto_t *file =
        json_pack("{s:s, s:{s:s, s:s, s:s}, s:O}", "displayTimeUnit", "ns", "otherData", "assay",
                  ASSAY_VERSION_TEXT, "campaign", campaign->uid, "note",
                  "one iteration of each cell, outside every timed window: no result contains it",
                  "traceEvents", events);
    AUTO_FREE char *text = file ? json_dumps(file, JSON_INDENT(1)) : NULL;

    if (!text)
        return error_no_memory(err);
    return file_write_atomic(path, text, strlen(text), 0666, err);
}

enum status campaign_trace_write(const struct campaign *campaign, const char *path, int wake_fd,
                                 struct error *err)
{
    json_auto_t *events = json_array();

    for (size_t i = 0; i < campaign->cell_count; i++) {
        const struct campaign_cell *cell = &campaign->cells[i];
        struct error reason = ERROR_INIT;
        const enum status status = trace_cell(campaign, cell, wake_fd, events, &reason);

        if (status == STATUS_INTERRUPTED)
            return error_set(err, status, "the trace was interrupted, and not written");
        if (status != STATUS_OK)
            log_warning("%s is not in the trace: %s", cell->label, reason.message);
    }
    if (json_array_size(events) == 0)
        return error_set(err, STATUS_NOT_FOUND,
                         "%s: no cell could be traced, and nothing was "
                         "written",
                         path);
    return write_file(campaign, events, path, err);
}
