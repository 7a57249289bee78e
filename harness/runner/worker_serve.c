#include "harness/runner/worker_serve.h"

#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/clock.h"
#include "harness/core/member.h"
#include "harness/runner/generator.h"
#include "harness/runner/serving_plan.h"
#include "protocols/serving/arrivals.h"
#include "protocols/serving/declared.h"
#include "protocols/serving/request_log.h"
#include "workloads/serving.h"

/* Between looks at the channel, and at whether the generator lives: each is a system call. */
#define LISTEN_NS INT64_C(1000000)

/* A request that is worked on. */
struct serving {
    uint32_t index;
    uint32_t left; /* tokens to make; 1 where a step makes all of it */
};

struct worker_server {
    struct schedule schedule;
    uint64_t seed; /* of the trial's steps */
    struct generator *generator;
    struct request *requests;
    struct serving *active; /* max_batch */
    uint32_t active_count, max_batch;
    int64_t *begin_ns, *batch, *tokens; /* of the steps, as many as the sampler may hold */
    int64_t *prefill, *kv_used;         /* likewise; NULL: the kind's requests have no prompts */
    struct workload_served served;      /* of the latest step, of such a kind */
    int64_t *last_ns;                   /* of each request's latest output */
    int64_t heard_ns;                   /* CLOCK_MONOTONIC of the latest look */
    bool own_processor, sent;
};

/* ---- before the device is opened ---- */

static enum status receive(struct worker *worker, struct schedule *schedule, struct error *err)
{
    size_t had[SERVING_PLAN_SERIES] = {0};

    while (had[0] < schedule->count || had[1] < schedule->count || had[2] < schedule->count) {
        CLEANUP(message_finish) struct message message = {0};
        size_t s = 0;

        TRY(worker_link_hear_samples(&worker->link, &message, err));
        while (s < SERVING_PLAN_SERIES &&
               strcmp(message.samples.series, serving_plan_series[s]) != 0)
            s++;
        if (s == SERVING_PLAN_SERIES || message.samples.first != had[s] ||
            message.samples.count > schedule->count - had[s])
            return error_set(err, STATUS_PROTOCOL, "the schedule's series \"%s\" is not part of it",
                             message.samples.series);
        for (size_t i = 0; i < message.samples.count; i++) {
            struct scheduled_request *request = &schedule->requests[had[s] + i];

            if (s == 0)
                request->at_ns = message.samples.values[i];
            else if (s == 1)
                request->prompt_tokens = (uint32_t)message.samples.values[i];
            else
                request->output_tokens = (uint32_t)message.samples.values[i];
        }
        had[s] += message.samples.count;
    }
    return STATUS_OK;
}

static enum status check_digest(const struct schedule *schedule, const json_t *serving,
                                struct error *err)
{
    const char *told = member_string(serving, "schedule");
    const struct digest digest = schedule_digest(schedule);
    char hex[DIGEST_HEX_SIZE];

    if (told && !strcmp(told, digest_hex(&digest, hex)))
        return STATUS_OK;
    return error_set(err, STATUS_PROTOCOL,
                     "the received schedule does not match the announced digest");
}

enum status worker_serve_receive(struct worker *worker, const json_t *trial, struct schedule *ret,
                                 struct error *err)
{
    const json_t *serving = json_object_get(trial, "serving");
    const json_int_t count = member_integer(serving, "requests");

    if (!worker->workload.serving || count < 1 || count > SCHEDULE_COUNT_MAX)
        return error_set(err, STATUS_PROTOCOL, "trial message: a server needs `serving`");
    ret->requests = calloc((size_t)count, sizeof(*ret->requests));
    if (!ret->requests)
        return error_no_memory(err);
    ret->count = (size_t)count;
    ret->window_ns = member_integer(serving, "window_ns");
    TRY(receive(worker, ret, err));
    return check_digest(ret, serving, err);
}

/* A series of the steps is sent with the samples. */
static void add_steps(struct worker *worker, const char *name, const int64_t *values)
{
    worker->steps[worker->step_count].name = name;
    worker->steps[worker->step_count++].values = values;
}

enum status worker_serve_prepare(struct worker *worker, const json_t *trial, struct error *err)
{
    const struct serving_batching *batching;
    const size_t steps = (size_t)worker->protocol.max_samples;
    const size_t series = worker->workload.kind->admit ? 5 : 3;
    struct worker_server *server;
    size_t count;

    if (worker->protocol.cache == PROTOCOL_CACHE_COLD)
        return error_set(err, STATUS_UNSUPPORTED,
                         "a server is not measured with a cold cache: use a protocol with "
                         "`cache: {state: hot}`");
    worker->server = server = calloc(1, sizeof(*server));
    if (!server)
        return error_no_memory(err);
    TRY(worker_serve_receive(worker, trial, &server->schedule, err));
    server->seed =
        serving_schedule_seed((uint64_t)member_integer(trial, "seed"),
                              member_integer(json_object_get(trial, "serving"), "round"));
    batching = &worker->workload.serving->batching;
    count = server->schedule.count;
    server->max_batch = (uint32_t)batching->max_batch;
    server->requests = calloc(count, sizeof(*server->requests));
    server->last_ns = calloc(count, sizeof(*server->last_ns));
    server->active = calloc(server->max_batch, sizeof(*server->active));
    server->begin_ns = calloc(series * steps, sizeof(*server->begin_ns));
    if (!server->requests || !server->last_ns || !server->active || !server->begin_ns)
        return error_no_memory(err);
    server->batch = server->begin_ns + steps;
    server->tokens = server->batch + steps;
    add_steps(worker, "step:begin_ns", server->begin_ns);
    add_steps(worker, "step:batch", server->batch);
    add_steps(worker, "step:tokens", server->tokens);
    if (worker->workload.kind->admit) {
        server->prefill = server->tokens + steps;
        server->kv_used = server->prefill + steps;
        add_steps(worker, "step:prefill_tokens", server->prefill);
        add_steps(worker, "step:kv_used", server->kv_used);
    }
    for (size_t i = 0; i < series; i++)
        sampler_touch(server->begin_ns + i * steps, steps);
    requests_begin(&server->schedule, server->requests);
    return generator_start(&server->schedule, (uint32_t)batching->queue, &server->generator, err);
}

/* ---- steps ---- */

static enum status run_step(struct worker *worker, uint32_t batch, bool in_window,
                            struct error *err)
{
    struct worker_server *server = worker->server;
    const size_t index = worker->sampler.count;
    struct workload_step step = {
        .seed = server->seed,
        .number = index,
        .batch = batch,
        .at_ns = -1,
        .served = &server->served,
    };

    if (sampler_full(&worker->sampler))
        return error_set(err, STATUS_INVALID,
                         "the server made all of the %" PRId64 " steps that the protocol's "
                         "window.max_samples allows: raise it, or serving.requests is too high",
                         worker->protocol.max_samples);
    sampler_begin(&worker->sampler);
    step.begin_ns = worker->sampler.started_ns;
    if (in_window)
        step.at_ns = generator_time_ns(server->generator, step.begin_ns);
    server->begin_ns[index] = step.at_ns;
    server->batch[index] = batch;
    server->tokens[index] = worker->workload.kind->serves_tokens ? batch : 0;
    TRY(worker->workload.kind->serve(worker->instance, &step, err));
    sampler_end(&worker->sampler);
    if (server->prefill) { /* a request in the midst of its prompt has no output in the step */
        server->batch[index] = server->tokens[index] = server->served.put_out_count;
        server->prefill[index] = server->served.prefill_tokens;
        server->kv_used[index] = server->served.kv_used;
    }
    return STATUS_OK;
}

/* How many of the first `count` waiting requests there is room for; those are taken in there. */
static enum status find_room(struct worker *worker, uint32_t *count, struct error *err)
{
    struct worker_server *server = worker->server;
    bool room = true;
    uint32_t taken = 0;
    enum status status = STATUS_OK;

    if (!worker->workload.kind->admit)
        return STATUS_OK;
    while (taken < *count && room && status == STATUS_OK) {
        const uint32_t index = generator_peek(server->generator, taken);
        const struct scheduled_request *request = &server->schedule.requests[index];

        status = worker->workload.kind->admit(worker->instance, index, request->prompt_tokens,
                                              request->output_tokens, &room, err);
        taken += status == STATUS_OK && room;
    }
    *count = taken;
    return status;
}

/* Takes waiting requests in, at `now_ns`. */
static void admit(struct worker_server *server, uint32_t count, bool by_token, int64_t now_ns)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t index = generator_peek(server->generator, i);
        const uint32_t tokens = server->schedule.requests[index].output_tokens;
        struct request *request = &server->requests[index];

        request->sent_ns = generator_sent_ns(server->generator, index);
        request->admitted_ns = now_ns;
        server->active[server->active_count++] =
            (struct serving){index, by_token && tokens > 1 ? tokens : 1};
    }
    generator_take(server->generator, count);
}

static bool has_output(const struct worker_server *server, uint32_t index)
{
    for (uint32_t i = 0; server->prefill && i < server->served.put_out_count; i++)
        if (server->served.put_out[i] == index)
            return true;
    return !server->prefill;
}

/* A step ended: its requests have one more output each, and those with their last one leave. */
static void put_out(struct worker_server *server, int64_t end_ns)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < server->active_count; i++) {
        struct serving *serving = &server->active[i];
        struct request *request = &server->requests[serving->index];
        int64_t *last_ns = &server->last_ns[serving->index];

        if (!has_output(server, serving->index)) {
            server->active[kept++] = *serving;
            continue;
        }
        if (request->first_ns == REQUEST_NEVER)
            request->first_ns = end_ns;
        else if (end_ns - *last_ns > request->worst_gap_ns)
            request->worst_gap_ns = end_ns - *last_ns;
        *last_ns = end_ns;
        request->output_tokens++;
        if (--serving->left > 0) {
            server->active[kept++] = *serving;
            continue;
        }
        request->done_ns = end_ns;
        request->status = REQUEST_OK;
        /* Where a step makes the whole output, there is nothing between its tokens. */
        if (server->schedule.requests[serving->index].output_tokens > request->output_tokens)
            request->output_tokens = server->schedule.requests[serving->index].output_tokens;
    }
    server->active_count = kept;
}

/* How many requests the next step may take in now; 0: none, or it waits for more. */
static uint32_t admissible(const struct worker_server *server,
                           const struct serving_batching *batching, int64_t now_ns)
{
    const uint32_t waiting = generator_waiting(server->generator);
    const uint32_t room = server->max_batch - server->active_count;
    uint32_t oldest;

    if (waiting == 0 || batching->policy == SERVING_CONTINUOUS || waiting >= room)
        return waiting < room ? waiting : room;
    oldest = generator_peek(server->generator, 0);
    return now_ns - generator_sent_ns(server->generator, oldest) >= batching->max_wait_ns ? waiting
                                                                                          : 0;
}

static enum status paused_check(struct worker *worker, const struct message *message,
                                struct error *err)
{
    enum status status;

    generator_pause(worker->server->generator);
    status = worker_spot_check(worker, message, err);
    generator_resume(worker->server->generator);
    return status;
}

/* The spot checks that were asked for by now: the window's clock stands still meanwhile. */
static enum status listen(struct worker *worker, struct error *err)
{
    struct worker_server *server = worker->server;

    TRY(generator_check(server->generator, err));
    TRY(worker_spot_checks(worker, paused_check, err));
    server->heard_ns = clock_monotonic_ns();
    return STATUS_OK;
}

static enum status serve_window(struct worker *worker, struct error *err)
{
    struct worker_server *server = worker->server;
    const struct serving_batching *batching = &worker->workload.serving->batching;
    const bool by_token = batching->policy == SERVING_CONTINUOUS;
    const int64_t end_ns = server->schedule.window_ns + worker->protocol.serving_drain_ns;

    generator_begin(server->generator);
    server->heard_ns = clock_monotonic_ns();
    for (;;) {
        const int64_t monotonic_ns = clock_monotonic_ns();
        const int64_t now_ns = generator_time_ns(server->generator, monotonic_ns);
        const bool all_sent = generator_is_done(server->generator);
        uint32_t count = admissible(server, batching, now_ns);

        if (now_ns >= end_ns)
            return STATUS_OK;
        TRY(find_room(worker, &count, err));
        if (count > 0) /* read after the ring: nothing is admitted before it was sent */
            admit(server, count, by_token, generator_now_ns(server->generator));
        if (server->active_count > 0) {
            TRY(run_step(worker, server->active_count, true, err));
            put_out(server, generator_time_ns(server->generator, worker->sampler.previous_end_ns));
        } else if (all_sent && generator_waiting(server->generator) == 0) {
            return STATUS_OK;
        } else if (!server->own_processor) {
            sched_yield();
        }
        if (monotonic_ns - server->heard_ns > LISTEN_NS)
            TRY(listen(worker, err));
    }
}

static enum status warm_up(struct worker *worker, struct error *err)
{
    const struct protocol *protocol = &worker->protocol;
    const int64_t begin_ns = clock_monotonic_ns();
    int64_t first_ns = 0, elapsed_ns = 0;

    while ((int64_t)worker->sampler.count < protocol->warmup_iterations ||
           elapsed_ns < protocol->warmup_ns) {
        TRY(run_step(worker, worker->server->max_batch, false, err));
        if (worker->sampler.count == 1)
            first_ns = worker->sampler.started_ns;
        elapsed_ns = worker->sampler.previous_end_ns - first_ns;
    }
    return worker_send_phase(worker, "warmup", begin_ns, err);
}

enum status worker_serve(struct worker *worker, struct error *err)
{
    struct clock_point begin, end;

    TRY(warm_up(worker, err));
    worker->server->own_processor = worker->device->info.type != DEVICE_CPU;
    TRY(worker_send_samples(worker, err));
    TRY(generator_prepare(worker->server->generator, worker->server->own_processor, err));
    TRY(worker_sync(worker, "window_start", err));
    worker->window_first = (int64_t)worker->sampler.count;
    begin = clock_point_read();
    TRY(serve_window(worker, err));
    end = clock_point_read();
    TRY(worker_send_window(worker, &begin, &end, err));
    TRY(worker_send_samples(worker, err));
    TRY(worker_serve_send(worker, err));
    TRY(worker_sync(worker, "window_end", err));
    return worker_send_spots(worker, err);
}

/* ---- what is known of the requests ---- */

/* What the server did not see: refused, or still waiting. */
static void complete(struct worker_server *server)
{
    for (uint32_t i = 0; i < server->schedule.count; i++) {
        struct request *request = &server->requests[i];

        request->sent_ns = generator_sent_ns(server->generator, i);
        if (generator_refused(server->generator, i))
            request->status = REQUEST_REFUSED;
    }
}

enum status worker_serve_send(struct worker *worker, struct error *err)
{
    struct worker_server *server = worker->server;

    if (server->sent || !server->generator)
        return STATUS_OK;
    server->sent = true;
    complete(server);
    return worker_serve_send_log(worker, server->requests, server->schedule.count, REQUEST_COLUMNS,
                                 err);
}

enum status worker_serve_send_log(struct worker *worker, const struct request *requests,
                                  size_t count, size_t columns, struct error *err)
{
    AUTO_FREE int64_t *values = malloc(count * sizeof(*values));

    if (!values)
        return error_no_memory(err);
    for (size_t c = 0; c < columns; c++) {
        for (size_t i = 0; i < count; i++)
            values[i] = request_column(&requests[i], c);
        TRY(worker_link_send_samples(&worker->link, request_columns[c], values, 0, count, err));
    }
    return STATUS_OK;
}

json_t *worker_serve_facts(const struct worker *worker)
{
    return generator_facts(worker->server->generator);
}

void worker_serve_finish(struct worker *worker)
{
    struct worker_server *server = worker->server;

    if (!server)
        return;
    generator_destroy(server->generator);
    schedule_finish(&server->schedule);
    free(server->requests);
    free(server->last_ns);
    free(server->active);
    free(server->begin_ns);
    free(server);
    worker->server = NULL;
}
