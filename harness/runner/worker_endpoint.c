#include "harness/runner/worker_endpoint.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "harness/core/random.h"
#include "harness/core/reading.h"
#include "harness/core/text.h"
#include "harness/endpoint/declare.h"
#include "harness/runner/maps.h"
#include "harness/runner/plan.h"
#include "harness/runner/worker_serve.h"
#include "protocols/serving/request_log.h"

#define ALONE_STREAM 0x616c6f6e /* "alon": prompts of requests outside the window */
#define LEAD_NS                                                                                    \
    INT64_C(200000000) /* for the warm connections, before the window's first request              \
                        */
#define WARMUP_MAX 65536
/* A server that refuses a request is asked again: it may still have those of the window. */
#define TRIES_MAX 50
#define TRY_NS 200000000
#define FILES_MAX 1024

struct file {
    struct endpoint_declaration endpoint;
};

static const struct declaration_field file_fields[] = {
    FIELD_GROUP("endpoint", FIELD_REQUIRED, struct file, endpoint, endpoint_fields),
    FIELD_END,
};

static const struct declaration_schema file_schema = {ENTRY_GROUP(struct file, file_fields)};

struct worker_endpoint {
    struct declaration declaration; /* what the options point into */
    struct endpoint_options options;
    struct prompts prompts;        /* of a file, which options point to */
    struct endpoint_server server; /* zeroed: none was started */
    struct schedule schedule;
    struct request *requests; /* as many as scheduled */
    struct endpoint_stats stats;
    uint64_t prompt_seed, alone; /* requests outside the window so far */
    json_t *told;
    bool ran, sent;
};

/* ---- before the trial ---- */

static enum status read_declaration(struct worker *worker, struct worker_endpoint *endpoint,
                                    struct error *err)
{
    json_t *json =
        json_pack("{s:O?}", "endpoint", json_object_get(worker->workload.json, "endpoint"));
    char *text = json ? json_dumps(json, 0) : NULL;
    struct file *file;
    enum status status = text ? declaration_parse(worker->workload.name, text, strlen(text),
                                                  &file_schema, &endpoint->declaration, err)
                              : error_no_memory(err);

    free(text);
    json_decref(json);
    TRY(status);
    file = endpoint->declaration.data;
    status = endpoint_declaration_check(&endpoint->declaration, "endpoint", &file->endpoint, err);
    endpoint->options = file->endpoint.options;
    endpoint->options.drain_ns = worker->protocol.serving_drain_ns;
    endpoint->options.seed = endpoint->prompt_seed;
    TRY(status);
    TRY(endpoint_prompts_find(&file->endpoint, &endpoint->prompts, err));
    endpoint->options.prompts = endpoint->prompts.count > 0 ? &endpoint->prompts : NULL;
    return STATUS_OK;
}

/* Words that no server has seen: of prompts that it has, it keeps what it computed. */
static uint64_t draw_seed(void)
{
    char entropy[65];

    random_identifier(entropy);
    entropy[15] = '\0'; /* 60 bits: exact in every JSON reader that knows int64 */
    return strtoull(entropy, NULL, 16);
}

enum status worker_endpoint_prepare(struct worker *worker, const json_t *trial, struct error *err)
{
    struct worker_endpoint *endpoint = worker->endpoint = calloc(1, sizeof(*endpoint));

    if (!endpoint)
        return error_no_memory(err);
    endpoint->prompt_seed = draw_seed();
    TRY(worker_serve_receive(worker, trial, &endpoint->schedule, err));
    TRY(read_declaration(worker, endpoint, err));
    endpoint->requests = calloc(endpoint->schedule.count, sizeof(*endpoint->requests));
    return endpoint->requests ? STATUS_OK : error_no_memory(err);
}

/* ---- requests outside the window ---- */

static enum status say_alive(struct worker *worker, struct error *err)
{
    return worker_link_send(&worker->link, &(struct message){MESSAGE_ALIVE}, err);
}

/* One request of the lengths that the schedule has at `like`, and the answer, on its own. */
static enum status ask_once(struct worker *worker, size_t like, struct request *ret,
                            struct endpoint_stats *stats, struct error *err)
{
    struct worker_endpoint *endpoint = worker->endpoint;
    struct scheduled_request one = endpoint->schedule.requests[like % endpoint->schedule.count];
    const struct schedule schedule = {&one, 1, 1};
    struct endpoint_options options = endpoint->options;

    one.at_ns = 0;
    options.connections = 1;
    options.warm = 0;
    options.drain_ns = options.connect_timeout_ns + options.request_timeout_ns;
    options.seed = random_at(endpoint->prompt_seed, ALONE_STREAM, endpoint->alone++);
    return endpoint_run(&options, &schedule, clock_monotonic_ns(), ret, stats, err);
}

/* An answer that is shorter than demanded is one: in the window it is counted as failed, and the
 * result says so; there would be none without a window. */
static bool is_answered(const struct request *request, const struct endpoint_stats *stats)
{
    return request->status == REQUEST_OK || stats->below_demand > 0;
}

/*
 * The same until the server takes it; where it was answered, that is a sample, if wanted. What the
 * request came to is in `ret`, OK or not.
 */
static enum status ask(struct worker *worker, size_t like, bool is_sample, struct request *ret,
                       struct endpoint_stats *stats, struct error *err)
{
    const struct timespec pause = {.tv_nsec = TRY_NS};
    enum status status = STATUS_OK;

    for (int i = 0; i < TRIES_MAX && status == STATUS_OK; i++) {
        status = say_alive(worker, err);
        if (is_sample)
            sampler_begin(&worker->sampler);
        if (status == STATUS_OK)
            status = ask_once(worker, like, ret, stats, err);
        if (is_sample && status == STATUS_OK && is_answered(ret, stats))
            sampler_end(&worker->sampler);
        if (ret->status != REQUEST_REFUSED)
            break;
        nanosleep(&pause, NULL);
    }
    return status;
}

static enum status no_answer(const struct worker_endpoint *endpoint, enum status code,
                             const char *when, const struct endpoint_stats *stats,
                             struct error *err)
{
    const struct reason *reason = &stats->reasons.list[0];
    CLEANUP(text_finish) struct text advice;

    text_init(&advice);
    if (stats->not_found > 0)
        endpoint_advise_path(&endpoint->options, endpoint->told, &advice);
    return error_set(err, code, "%s does not answer %s: %s%s%s%s",
                     endpoint->server.url ? endpoint->server.url : endpoint->options.url, when,
                     stats->reasons.count > 0 ? reason->reason : "it refuses, or takes too long",
                     stats->reasons.count > 0 && reason->example[0] ? ": " : "",
                     stats->reasons.count > 0 ? reason->example : "",
                     advice.length > 0 ? advice.data : "");
}

/* ---- the phases ---- */

static void on_progress(void *context, int64_t waited_ns)
{
    (void)waited_ns;
    say_alive(context, NULL); /* a failure shows in the next message */
}

static enum status start_server(struct worker *worker, struct error *err)
{
    struct worker_endpoint *endpoint = worker->endpoint;
    const struct file *file = endpoint->declaration.data;

    if (file->endpoint.server.command_count == 0)
        return STATUS_OK;
    TRY(endpoint_server_start(&file->endpoint.server, &endpoint->options, on_progress, worker,
                              &endpoint->server, err));
    endpoint->options.url = endpoint->server.url;
    return STATUS_OK;
}

static void add_told(struct reading_list *list, const char *name, const json_t *told,
                     const char *key, const char *source)
{
    const char *value = member_string(told, key);

    if (value)
        reading_add_text(list, name, value, source);
    else
        reading_add_missing(list, name, READING_UNAVAILABLE, source, "the server does not tell it");
}

static void add_none(struct reading_list *list, const char *name)
{
    reading_add_missing(list, name, READING_NOT_APPLICABLE, "an endpoint",
                        "assay does not see which devices a server elsewhere uses");
}

/*
 * In place of a device's readings: what the declaration says, and what the server tells of itself.
 * Those of a device that the protocol requires have no meaning here.
 */
static json_t *readings_of(const struct worker *worker)
{
    const struct worker_endpoint *endpoint = worker->endpoint;
    const struct file *file = endpoint->declaration.data;
    struct reading_list list;
    json_t *ret;

    reading_list_init(&list);
    reading_add_text(&list, "endpoint.url", file->endpoint.options.url, "the declaration");
    reading_add_text(&list, "endpoint.model", file->endpoint.options.model, "the declaration");
    add_told(&list, "endpoint.version", endpoint->told, "version", "the server at /version");
    add_told(&list, "endpoint.server", endpoint->told, "server", "the server's header");
    add_none(&list, "device.driver_version");
    EACH(name, json_object_get(worker->protocol.json, "required")) {
        const char *required = json_string_value(name);

        if (required && !strncmp(required, "device.", strlen("device.")))
            add_none(&list, required);
    }
    ret = list.failed ? NULL : reading_list_to_json(&list);
    reading_list_finish(&list);
    return ret;
}

/* The files that the started server has mapped by now: it has answered. */
static json_t *files_of(const struct worker_endpoint *endpoint)
{
    struct maps_list list = {0};
    json_t *ret = json_array();

    if (endpoint->server.url && maps_read(endpoint->server.process.pid, &list, NULL) == STATUS_OK)
        for (size_t i = 0; i < list.count && i < FILES_MAX; i++)
            json_array_append_new(ret, json_pack("{s:s, s:o}", "kind", "server", "path",
                                                 printable_or_null(list.files[i].path)));
    maps_list_finish(&list);
    return ret;
}

static enum status send_device(struct worker *worker, struct error *err)
{
    const struct worker_endpoint *endpoint = worker->endpoint;
    const struct file *file = endpoint->declaration.data;
    char *name = text_format("%s at %s", file->endpoint.options.model, file->endpoint.options.url);
    json_t *readings = readings_of(worker);
    json_t *device =
        json_pack("{s:s, s:i, s:o, s:s, s:n, s:s, s:b, s:o, s:o}", "backend", PLAN_ENDPOINT,
                  "index", 0, "name", printable_or_null(name), "vendor", "", "uuid", "type",
                  PLAN_ENDPOINT, "simulated", 0, "readings", readings, "files", files_of(endpoint));

    free(name);
    return worker_link_send_body(&worker->link, MESSAGE_DEVICE, device, err);
}

static enum status set_up(struct worker *worker, struct error *err)
{
    struct worker_endpoint *endpoint = worker->endpoint;
    const int64_t begin_ns = clock_monotonic_ns();
    const int64_t most = worker->protocol.warmup_iterations + WARMUP_MAX;
    struct endpoint_stats stats = {0};
    struct request request = {0};

    TRY(start_server(worker, err));
    TRY(endpoint_probe(&endpoint->options, &endpoint->told, err));
    TRY(ask(worker, 0, false, &request, &stats, err));
    if (!is_answered(&request, &stats))
        TRY(no_answer(endpoint, STATUS_UNAVAILABLE, "its first request", &stats, err));
    TRY(send_device(worker, err));
    TRY(sampler_init(&worker->sampler, (size_t)most, err));
    return worker_send_phase(worker, "setup", begin_ns, err);
}

static enum status check_usage(struct worker *worker, const char *phase,
                               const struct request *request, const struct endpoint_stats *stats,
                               struct error *err)
{
    const struct workload_check check = {
        .output = "usage",
        .metric = "answers_below_events",
        .reason = "an event with output is at least one token",
        .error = (double)stats->usage_below_events,
        .compared = request->output_tokens,
        .passed = stats->usage_below_events == 0,
    };

    if (stats->without_usage > 0) /* the events are the tokens */
        return STATUS_OK;
    TRY(worker_link_send_check(&worker->link, phase, &check, err));
    if (check.passed)
        return STATUS_OK;
    return error_set(err, STATUS_CHECK_FAILED,
                     "the server's usage tells fewer tokens than the %" PRIu32
                     " events of its answer that had output: with `usage: false` the events are "
                     "counted",
                     request->outputs);
}

static enum status verify(struct worker *worker, const char *phase, size_t like, struct error *err)
{
    const int64_t begin_ns = clock_monotonic_ns();
    struct endpoint_stats stats = {0};
    struct request request = {0};
    struct workload_check check = {
        .output = "answer",
        .metric = "missing",
        .reason = "there is no reference for what a server says: only that it says something",
        .compared = 1,
    };

    TRY(ask(worker, like, false, &request, &stats, err));
    check.passed = is_answered(&request, &stats);
    check.error = check.passed ? 0 : 1;
    TRY(worker_link_send_check(&worker->link, phase, &check, err));
    if (!check.passed)
        return no_answer(worker->endpoint, STATUS_CHECK_FAILED,
                         strcmp(phase, "verify_after") ? "before the window" : "after the window",
                         &stats, err);
    TRY(check_usage(worker, phase, &request, &stats, err));
    return worker_send_phase(worker, phase, begin_ns, err);
}

static enum status warm_up(struct worker *worker, struct error *err)
{
    const struct protocol *protocol = &worker->protocol;
    const int64_t begin_ns = clock_monotonic_ns();
    int64_t first_ns = 0, elapsed_ns = 0;

    while (((int64_t)worker->sampler.count < protocol->warmup_iterations ||
            elapsed_ns < protocol->warmup_ns) &&
           worker->sampler.count + 1 < worker->sampler.capacity) {
        struct endpoint_stats stats = {0};
        struct request request = {0};

        TRY(ask(worker, worker->sampler.count, true, &request, &stats, err));
        if (!is_answered(&request, &stats))
            return no_answer(worker->endpoint, STATUS_UNAVAILABLE, "in the warmup", &stats, err);
        if (worker->sampler.count == 1)
            first_ns = worker->sampler.started_ns;
        elapsed_ns = worker->sampler.previous_end_ns - first_ns;
    }
    return worker_send_phase(worker, "warmup", begin_ns, err);
}

static enum status run_window(struct worker *worker, struct error *err)
{
    struct worker_endpoint *endpoint = worker->endpoint;
    const struct clock_point begin = clock_point_read();
    struct clock_point end;
    enum status status;

    worker->window_first = (int64_t)worker->sampler.count;
    sampler_begin(&worker->sampler);
    status = endpoint_run(&endpoint->options, &endpoint->schedule, begin.monotonic_ns + LEAD_NS,
                          endpoint->requests, &endpoint->stats, err);
    sampler_end(&worker->sampler);
    endpoint->ran = true;
    end = clock_point_read();
    return status == STATUS_OK ? worker_send_window(worker, &begin, &end, err) : status;
}

static enum status send_facts(struct worker *worker, struct error *err)
{
    const struct worker_endpoint *endpoint = worker->endpoint;
    json_t *facts = json_pack("{s:O, s:I, s:I, s:o}", "told", endpoint->told, "prompt_seed",
                              (json_int_t)endpoint->prompt_seed, "requests_outside",
                              (json_int_t)endpoint->alone, "stats",
                              type_to_json(&endpoint_stats_type, &endpoint->stats));

    return worker_link_send_body(&worker->link, MESSAGE_FACTS,
                                 json_pack("{s:o}", "endpoint", facts), err);
}

static enum status measure(struct worker *worker, struct error *err)
{
    TRY(warm_up(worker, err));
    TRY(worker_send_samples(worker, err));
    TRY(worker_sync(worker, "window_start", err));
    TRY(run_window(worker, err));
    TRY(worker_send_samples(worker, err));
    TRY(worker_endpoint_send(worker, err));
    return worker_sync(worker, "window_end", err);
}

static enum status run(struct worker *worker, struct error *err)
{
    TRY(set_up(worker, err));
    TRY(verify(worker, "verify_before", 1, err));
    TRY(worker_calibrate(worker, err));
    TRY(measure(worker, err));
    return verify(worker, "verify_after", 2, err);
}

enum status worker_endpoint_run(struct worker *worker, struct error *err)
{
    struct worker_endpoint *endpoint = worker->endpoint;
    struct error crash = ERROR_INIT;
    enum status status = run(worker, err);

    /* Facts of a trial that failed say why, too. */
    if (endpoint->ran) {
        const enum status sent = send_facts(worker, status == STATUS_OK ? err : NULL);

        status = status == STATUS_OK ? sent : status;
    }
    if (endpoint->server.url && endpoint_server_check(&endpoint->server, &crash) != STATUS_OK) {
        status = crash.code;
        if (err)
            *err = crash;
    }
    return status;
}

enum status worker_endpoint_send(struct worker *worker, struct error *err)
{
    struct worker_endpoint *endpoint = worker->endpoint;

    if (endpoint->sent || !endpoint->ran)
        return STATUS_OK;
    endpoint->sent = true;
    return worker_serve_send_log(worker, endpoint->requests, endpoint->schedule.count,
                                 REQUEST_COLUMNS_ALL, err);
}

void worker_endpoint_finish(struct worker *worker)
{
    struct worker_endpoint *endpoint = worker->endpoint;

    if (!endpoint)
        return;
    endpoint_server_stop(&endpoint->server);
    schedule_finish(&endpoint->schedule);
    declaration_finish(&endpoint->declaration);
    prompts_finish(&endpoint->prompts);
    free(endpoint->requests);
    json_decref(endpoint->told);
    free(endpoint);
    worker->endpoint = NULL;
}
