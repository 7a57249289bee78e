#include "harness/runner/trial_record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/clock.h"
#include "harness/core/member.h"
#include "harness/core/reading.h"
#include "harness/runner/environment.h"
#include "harness/runner/packages.h"
#include "harness/runner/serving_plan.h"
#include "harness/runner/telemetry_record.h"
#include "harness/runner/trial.h"
#include "protocols/same_stack.h"
#include "protocols/serving/declared.h"
#include "protocols/serving/request_log.h"

/* Which requests will come and when is fixed before the worker starts, and so is their digest. */
static enum status add_schedule(json_t *readings, const struct schedule *schedule, double capacity,
                                struct error *err)
{
    const struct digest digest = schedule_digest(schedule);
    char hex[DIGEST_HEX_SIZE];
    json_t *reading = json_pack("{s:s, s:s, s:s}", "status", "declared", "value",
                                digest_hex(&digest, hex), "source", "workload, protocol and plan");

    if (json_object_set_new(readings, SERVING_PLAN_READING, reading) == 0 &&
        (!(capacity > 0) ||
         json_object_set_new(readings, SERVING_CAPACITY_READING,
                             json_pack("{s:s, s:f, s:s, s:s}", "status", "measured", "value",
                                       capacity, "unit", "1/s", "source",
                                       "the saturated server's first trial")) == 0))
        return STATUS_OK;
    return error_no_memory(err);
}

/* `schedule` may be NULL. */
static enum status add_environment(struct trial_record *record, const char *at,
                                   const struct schedule *schedule, double capacity,
                                   struct error *err)
{
    json_auto_t *readings = NULL;

    TRY(environment_read_moving(&readings, err));

    if (schedule)
        TRY(add_schedule(readings, schedule, capacity, err));
    return store_add_environment(record->store, record->trial, at, readings, err);
}

enum status trial_record_begin(struct trial_record *record, const struct trial_request *request,
                               struct error *err)
{
    const json_t *workload = json_object_get(request->message, "workload");
    struct clock_point start;
    struct digest trace;

    memset(record, 0, sizeof(*record));
    record->store = request->store;
    record->cache = request->cache;
    record->root = request->root;
    record->window_first = -1;
    record->conduct = conduct_new();
    record->conduct.scheduled = request->schedule ? (int64_t)request->schedule->count : 0;
    record->conduct.is_endpoint = json_object_get(workload, "endpoint") != NULL;
    if (serving_trace_digest(workload, &trace))
        record->conduct.traced = record->conduct.scheduled;
    TRY(store_batch_begin(record->store, err));
    record->batch_open = true;
    start = clock_point_read();
    record->started_ns = start.monotonic_ns;
    record->conduct.started_utc_ns = start.utc_ns;
    TRY(store_begin_trial(record->store, request->campaign, request->sequence, start.utc_ns,
                          &record->trial, err));
    if (request->environment)
        TRY(store_add_environment(record->store, record->trial, "host", request->environment, err));
    TRY(add_environment(record, "before", request->schedule, request->capacity, err));
    return trial_record_commit(record, err);
}

enum status trial_record_commit(struct trial_record *record, struct error *err)
{
    if (!record->batch_open)
        return STATUS_OK;
    record->batch_open = false;
    return store_batch_end(record->store, true, err);
}

static enum status open_batch(struct trial_record *record, struct error *err)
{
    if (record->batch_open)
        return STATUS_OK;
    TRY(store_batch_begin(record->store, err));
    record->batch_open = true;
    return STATUS_OK;
}

static enum status add_device(struct trial_record *record, const json_t *body, struct error *err)
{
    struct store_device device = {
        .backend = member_string(body, "backend"),
        .index = member_integer(body, "index"),
        .name = member_string(body, "name"),
        .vendor = member_string(body, "vendor"),
        .uuid = member_string(body, "uuid"),
        .type = member_string(body, "type"),
        .simulated = member_is_true(body, "simulated"),
        .readings = json_object_get(body, "readings"),
    };
    struct reading_list readings;
    struct error shape = ERROR_INIT;
    int64_t row;
    enum status status;

    if (!device.backend || !device.name || !device.type || !json_is_object(device.readings))
        return error_set(err, STATUS_PROTOCOL,
                         "worker message \"device\": backend, name and type must be strings and "
                         "readings an object");
    if (!device.vendor)
        device.vendor = "";
    /* What is stored must be readable by all that shows it. */
    status = reading_list_from_json(device.readings, &readings, &shape);
    if (status != STATUS_OK)
        return error_set(err, status == STATUS_CORRUPT ? STATUS_PROTOCOL : status,
                         "worker message \"device\": %s", shape.message);
    reading_list_finish(&readings);
    TRY(stack_files_add_told(&record->reported, json_object_get(body, "files"), record->root, err));
    TRY(store_put_device(record->store, &device, &row, err));
    TRY(store_set_trial_device(record->store, record->trial, row, err));
    record->has_device = true;
    return STATUS_OK;
}

static enum status add_samples(struct trial_record *record, const struct message *message,
                               struct error *err)
{
    struct trial_series *series = NULL;

    for (size_t i = 0; i < record->series_count; i++)
        if (!strcmp(record->series[i].name, message->samples.series))
            series = &record->series[i];
    if (!series) {
        if (!strncmp(message->samples.series, "telemetry:", strlen("telemetry:")))
            return error_set(err, STATUS_PROTOCOL,
                             "series %s: names that begin with \"telemetry:\" are the harness's",
                             message->samples.series);
        if (record->series_count == TRIAL_SERIES_MAX)
            return error_set(err, STATUS_PROTOCOL, "the worker sent more than %d series",
                             TRIAL_SERIES_MAX);
        series = &record->series[record->series_count++];
        snprintf(series->name, sizeof(series->name), "%s", message->samples.series);
        series->count = 0;
    }
    if (message->samples.first != series->count)
        return error_set(err, STATUS_PROTOCOL,
                         "series %s: the worker's chunk begins at %llu, expected %llu",
                         series->name, (unsigned long long)message->samples.first,
                         (unsigned long long)series->count);
    if (!strcmp(series->name, "wall_ns"))
        for (size_t i = 0; i < message->samples.count; i++)
            if (message->samples.values[i] <= 0) /* -1 elsewhere: it could not be had */
                return error_set(err, STATUS_PROTOCOL,
                                 "sample %llu of wall_ns is not a positive time",
                                 (unsigned long long)(series->count + i));
    if (record->saw_start && !strcmp(series->name, "wall_ns") &&
        !conduct_samples_add(&record->window_walls, message->samples.values,
                             message->samples.count))
        return error_no_memory(err);
    if (message->samples.count > 0 && series->count == series->count_before)
        series->first_within = message->samples.values[0];
    for (size_t i = 0; i < message->samples.count; i++)
        if (message->samples.values[i] > 0 &&
            __builtin_add_overflow(series->total, message->samples.values[i], &series->total))
            return error_set(err, STATUS_PROTOCOL, "series %s: its sum is beyond 2^63 ns",
                             series->name);
    TRY(message->samples.count == 0
            ? STATUS_OK
            : store_add_samples(record->store, record->trial, series->name, series->count,
                                message->samples.values, message->samples.count, err));
    series->count += message->samples.count;
    return STATUS_OK;
}

static enum status add_check(struct trial_record *record, const struct store_check *told,
                             struct error *err)
{
    struct store_check check = *told;

    check.reason = told->reason ? told->reason : "";
    if (!conduct_note_check(&record->conduct, check.phase))
        return error_set(err, STATUS_PROTOCOL, "worker message \"check\": its phase is \"%s\"",
                         check.phase);
    if (check.passed && (!(check.error <= check.tolerance) || check.compared == 0))
        return error_set(err, STATUS_PROTOCOL,
                         "worker message \"check\": %s passed with the error %g of %llu elements, "
                         "tolerance %g",
                         check.output, check.error, (unsigned long long)check.compared,
                         check.tolerance);
    if (!check.passed)
        record->checks_failed++;
    return store_add_check(record->store, record->trial, &check, err);
}

static enum status add_phase(struct trial_record *record, const struct message *message,
                             struct error *err)
{
    struct conduct_part *part = conduct_part_of(&record->conduct, message->phase.name);
    const struct store_phase phase = {message->phase.name,
                                      message->phase.begin_ns - record->started_ns,
                                      message->phase.end_ns - record->started_ns};

    if (part) {
        part->begin_ns = phase.begin_ns;
        part->end_ns = phase.end_ns;
    }
    if (part == &record->conduct.window) {
        record->conduct.seen.report = message->phase.report;
        record->conduct.seen.worker_clocks = message->phase.clocks;
    }
    return store_add_phase(record->store, record->trial, &phase, err);
}

enum status trial_record_message(struct trial_record *record, const struct message *message,
                                 struct error *err)
{
    TRY(open_batch(record, err));
    switch (message->type) {
    case MESSAGE_DEVICE:
        return add_device(record, message->body, err);
    case MESSAGE_PHASE:
        return add_phase(record, message, err);
    case MESSAGE_ARTIFACT:
        return store_add_artifact(record->store, record->trial, message->body, err);
    case MESSAGE_CHECK:
        return add_check(record, &message->check, err);
    case MESSAGE_SAMPLES:
        return add_samples(record, message, err);
    case MESSAGE_FACTS:
        json_decref(record->facts);
        record->facts = json_incref((json_t *)message->body);
        return STATUS_OK;
    default:
        return error_set(err, STATUS_INTERNAL, "message \"%s\" is not one to store",
                         message_type_name(message->type));
    }
}

enum status trial_record_mapped(struct trial_record *record, const char *at, pid_t pid,
                                struct error *err)
{
    const struct stack_files *host = maps_cache_host(record->cache);
    struct maps_list *list;

    if (!strcmp(at, "window_start") && !record->saw_start) {
        record->saw_start = true;
        for (size_t i = 0; i < record->series_count; i++) {
            record->series[i].count_before = record->series[i].count;
            record->series[i].total_before = record->series[i].total;
        }
        list = &record->at_start.list;
    } else if (!strcmp(at, "window_end") && record->saw_start && !record->saw_window) {
        record->saw_window = true;
        list = &record->at_end.list;
    } else {
        return STATUS_OK; /* a sync of the worker's own: nothing to record */
    }
    TRY(maps_read(pid, list, err));
    TRY(maps_list_add_stack(list, &record->reported, err));
    if (host)
        TRY(maps_list_add_stack(list, host, err));
    if (list == &record->at_start.list)
        maps_list_hold(list, record->cache);
    return STATUS_OK;
}

enum status trial_record_telemetry(struct trial_record *record, const char *part,
                                   const struct telemetry_log *log, struct error *err)
{
    TRY(open_batch(record, err));
    return telemetry_record(record->store, record->trial, part, record->started_ns, log, err);
}

/* The first gap of a window is the wait for go. */
void trial_record_conduct(struct trial_record *record)
{
    struct conduct *conduct = &record->conduct;

    conduct->iterations_per_sample = record->iterations_per_sample;
    for (size_t i = 0; i < record->series_count; i++) {
        const struct trial_series *series = &record->series[i];
        const int64_t within = series->total - series->total_before;

        if (!strcmp(series->name, "wall_ns")) {
            conduct->warmup.samples = (int64_t)series->count_before;
            conduct->window.samples = (int64_t)(series->count - series->count_before);
            conduct->warmup.wall_ns = series->total_before;
            conduct->window.wall_ns = within;
            conduct->window.median_ns = conduct_samples_median(&record->window_walls);
        } else if (!strcmp(series->name, "gap_ns")) {
            conduct->warmup.gap_ns = series->total_before;
            conduct->window.gap_ns = within - (series->first_within > 0 ? series->first_within : 0);
        } else if (!strcmp(series->name, "device_ns")) {
            conduct->window.device_ns = within;
        } else if (request_is_demanded(series->name) &&
                   (int64_t)series->count == conduct->scheduled) {
            conduct->request_columns++;
        }
    }
}

uint64_t trial_record_samples(const struct trial_record *record, const char *series)
{
    for (size_t i = 0; i < record->series_count; i++)
        if (!strcmp(record->series[i].name, series))
            return record->series[i].count;
    return 0;
}

/* What the package manager says of the file; one that it did not install so is of no package. */
static void describe_package(struct trial_record *record, const struct maps_file *file,
                             struct store_component *ret)
{
    struct package package;

    if (!maps_find_package(record->cache, file, &ret->sha256, &package))
        return;
    if (package.altered) {
        ret->version = package.altered;
        return;
    }
    ret->manager = package.manager;
    ret->package = package.name;
    ret->package_version = package.version;
}

static void describe_component(struct trial_record *record, const struct maps_file *file,
                               struct store_component *ret)
{
    const struct maps_content *content = NULL;
    struct error err = ERROR_INIT;

    *ret = (struct store_component){
        .path = file->path,
        .kind = file->kind                  ? file->kind
                : strstr(file->path, ".so") ? "library"
                                            : "executable",
        .version = file->version,
        .build_id = file->build_id,
        .size = file->identity.size,
    };
    if (file->kind && !file->present) {
        ret->missing_reason = !strstr(file->path, "/sys/module/") ? "there is no such file"
                                                                  : "its file is not in this root";
        return;
    }
    if (maps_cache_content(record->cache, file, &content, &err) == STATUS_OK) {
        ret->sha256 = content->digest;
        if (content->build_id[0])
            ret->build_id = content->build_id;
        describe_package(record, file, ret);
    } else {
        ret->missing_reason = err.code == STATUS_CORRUPT ? "replaced or removed while mapped"
                                                         : status_meaning(err.code);
    }
}

/* Once a trial: what is judged is what is stored. */
static enum status describe(struct trial_record *record, struct trial_files *files,
                            struct error *err)
{
    if (files->components)
        return STATUS_OK;
    files->components = calloc(files->list.count + 1, sizeof(*files->components));
    if (!files->components)
        return error_no_memory(err);
    for (size_t i = 0; i < files->list.count; i++)
        describe_component(record, &files->list.files[i], &files->components[i]);
    return STATUS_OK;
}

static enum status add_named(struct trial_record *record, struct trial_files *files, json_t *named,
                             struct error *err)
{
    TRY(describe(record, files, err));
    for (size_t i = 0; i < files->list.count; i++) {
        const struct store_component *file = &files->components[i];
        char hex[DIGEST_HEX_SIZE];

        if (json_array_append_new(
                named,
                json_pack("{s:s, s:s, s:s?, s:s?, s:s?}", "path", file->path, "kind", file->kind,
                          "sha256", file->missing_reason ? NULL : digest_hex(&file->sha256, hex),
                          "build_id", file->build_id, "version", file->version)) < 0)
            return error_no_memory(err);
    }
    return STATUS_OK;
}

enum status trial_record_same_stack(struct trial_record *record, const json_t *first,
                                    struct error *err)
{
    json_auto_t *trial = json_pack("{s:[]}", "components");
    json_t *files = json_object_get(trial, "components");
    enum status status;

    TRY(add_named(record, &record->at_start, files, err));
    TRY(add_named(record, &record->at_end, files, err));
    status = same_stack_check(first, trial, err);
    return status == STATUS_OK ? status : error_prefix(err, "stack");
}

/* What the harness itself saw of the trial, for those who judge it again. */
static enum status add_conduct(struct trial_record *record, struct error *err)
{
    json_t *seen = type_to_json(&conduct_seen_type, &record->conduct.seen);

    if (!record->facts)
        record->facts = json_object();
    if (json_object_set_new(record->facts, "conduct", seen) < 0)
        return error_no_memory(err);
    return STATUS_OK;
}

static enum status add_components(struct trial_record *record, struct trial_files *files,
                                  const char *at, struct error *err)
{
    TRY(describe(record, files, err));
    return files->list.count > 0 ? store_add_components(record->store, record->trial, at,
                                                        files->components, files->list.count, err)
                                 : STATUS_OK;
}

enum status trial_record_end(struct trial_record *record, enum status status, const char *message,
                             const struct process_exit *exit, struct error *err)
{
    struct store_trial_end end = {
        .ended_utc_ns = clock_utc_ns(),
        .status = status_name(status),
        .message = status == STATUS_OK ? NULL : message,
        .iterations_per_sample = record->iterations_per_sample,
        .window_first = record->window_first,
        .samples = (int64_t)trial_record_samples(record, "wall_ns"),
        .exit_code = exit->exited ? exit->code : -1,
        .signal = exit->exited ? 0 : exit->signal,
        .max_rss_bytes = exit->max_rss_bytes > 0 ? exit->max_rss_bytes : -1,
    };

    TRY(open_batch(record, err));
    if (record->saw_window)
        TRY(add_conduct(record, err));
    end.facts = record->facts;
    TRY(add_components(record, &record->at_start, "window_start", err));
    TRY(add_components(record, &record->at_end, "window_end", err));
    TRY(add_environment(record, "after", NULL, 0, err));
    TRY(store_end_trial(record->store, record->trial, &end, err));
    return trial_record_commit(record, err);
}

static void finish_files(struct trial_files *files)
{
    free(files->components);
    files->components = NULL;
    maps_list_finish(&files->list);
}

void trial_record_finish(struct trial_record *record)
{
    if (record->batch_open)
        store_batch_end(record->store, false, NULL);
    finish_files(&record->at_start);
    finish_files(&record->at_end);
    stack_files_finish(&record->reported);
    conduct_samples_finish(&record->window_walls);
    json_decref(record->facts);
    record->batch_open = false;
    record->facts = NULL;
}
