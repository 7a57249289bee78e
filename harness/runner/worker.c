#include "harness/runner/worker.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __SSE__
#include <xmmintrin.h>
#endif

#include "harness/core/clock.h"
#include "harness/core/log.h"
#include "harness/runner/sampler.h"
#include "harness/runner/worker_link.h"
#include "protocols/protocol.h"
#include "workloads/workload.h"

/* Samples are sent between samples, at most this often: sending costs the caches something. */
#define SEND_INTERVAL_NS ((int64_t)1000000000)

/* Everything one trial holds. */
struct worker {
    struct worker_link link;
    struct protocol protocol;
    struct workload workload;
    struct workload_case work;
    char *device_spec;
    struct device *device;
    struct workload_instance *instance;
    struct sampler sampler;
    struct event *start_event, *end_event;
    int64_t *device_ns;                       /* NULL: no device clock */
    int64_t *stage_ns[WORKLOAD_STAGES_MAX];   /* NULL: no such stage */
    char stage_series[WORKLOAD_STAGES_MAX][MESSAGE_NAME_MAX];
    size_t stage_count;
    struct buffer *flush_buffer;              /* cold cache only */
    void *flush_bytes;
    uint64_t flush_size;
    int64_t block;                            /* iterations per sample */
    size_t sent;                              /* samples sent so far, in every series */
    int64_t last_send_ns;
    int64_t window_first;
    const char *verify_phase;
    struct error check_error;                 /* of sending a check */
};

static enum status send_phase(struct worker *worker, const char *name, int64_t begin_ns,
                              struct error *err)
{
    return worker_link_send(&worker->link,
                            message_new_phase(name, begin_ns, clock_monotonic_ns()), err);
}

static enum status bad_trial(struct error *err, const char *what)
{
    return error_set(err, STATUS_PROTOCOL, "trial message: %s", what);
}

static enum status read_trial(struct worker *worker, const json_t *trial, struct error *err)
{
    const char *precision = json_string_value(json_object_get(trial, "precision"));
    const char *scenario = json_string_value(json_object_get(trial, "scenario"));
    const char *arm = json_string_value(json_object_get(trial, "arm"));
    const char *device = json_string_value(json_object_get(trial, "device"));
    const json_t *batch = json_object_get(trial, "batch");
    const json_t *seed = json_object_get(trial, "seed");
    enum status status;

    if (!precision || !precision_from_name(precision, &worker->work.precision))
        return bad_trial(err, "unknown precision");
    if (!scenario || !scenario_from_name(scenario, &worker->work.scenario))
        return bad_trial(err, "unknown scenario");
    if (!arm || !arm_from_name(arm, &worker->work.arm))
        return bad_trial(err, "unknown arm");
    if (!json_is_integer(batch) || !json_is_integer(seed) || !device)
        return bad_trial(err, "batch, seed and device are required");
    worker->work.batch = json_integer_value(batch);
    worker->work.seed = (uint64_t)json_integer_value(seed);
    worker->device_spec = strdup(device);
    if (!worker->device_spec)
        return error_set(err, STATUS_NO_MEMORY, "no memory for the trial");
    status = protocol_from_json(json_object_get(trial, "protocol"), &worker->protocol, err);
    if (status == STATUS_OK)
        status = workload_from_json(json_object_get(trial, "workload"), &worker->workload, err);
    worker->work.workload = &worker->workload;
    return status;
}

/* Threads that a runtime starts later inherit the mode, so it is set before the device is opened. */
static void set_denormal_mode(bool flush)
{
#ifdef __SSE__
    _mm_setcsr(flush ? _mm_getcsr() | 0x8040 : _mm_getcsr() & ~0x8040u); /* FTZ and DAZ */
#else
    (void)flush;
#endif
}

static enum status open_device(struct worker *worker, struct error *err)
{
    struct device_options options = {.flush_denormals = worker->protocol.flush_denormals,
                                     .profile = true};
    struct backend *backend;
    uint32_t index;
    enum status status;

    set_denormal_mode(worker->protocol.flush_denormals);
    status = backend_resolve(worker->device_spec, &backend, &index, err);
    if (status == STATUS_OK)
        status = backend_device_open(backend, index, &options, &worker->device, err);
    if (status == STATUS_OK)
        status = worker_link_send_device(&worker->link, worker->device, index, err);
    return status;
}

static enum status send_artifacts(struct worker *worker, struct error *err)
{
    enum { CAPACITY = 64 };
    struct module_artifact *artifacts;
    size_t count;
    enum status status = STATUS_OK;

    if (!worker->workload.kind->artifacts)
        return STATUS_OK;
    artifacts = calloc(CAPACITY, sizeof(*artifacts));
    if (!artifacts)
        return error_set(err, STATUS_NO_MEMORY, "no memory for the kernels' descriptions");
    count = worker->workload.kind->artifacts(worker->instance, artifacts, CAPACITY);
    for (size_t i = 0; i < count; i++) {
        if (status == STATUS_OK)
            status = worker_link_send_artifact(&worker->link, &artifacts[i], err);
        module_artifact_finish(&artifacts[i]);
    }
    free(artifacts);
    return status;
}

static void report_check(void *context, const struct workload_check *check)
{
    struct worker *worker = context;

    if (worker->check_error.code == STATUS_OK)
        worker_link_send_check(&worker->link, worker->verify_phase, check, &worker->check_error);
}

static enum status verify(struct worker *worker, const char *phase, struct error *err)
{
    int64_t begin_ns = clock_monotonic_ns();
    enum status status;

    worker->verify_phase = phase;
    status = worker->workload.kind->verify(worker->instance, report_check, worker, err);
    if (worker->check_error.code != STATUS_OK && status == STATUS_OK) {
        if (err)
            *err = worker->check_error;
        return worker->check_error.code;
    }
    if (status == STATUS_OK)
        status = send_phase(worker, phase, begin_ns, err);
    return status;
}

/* A buffer some times the last-level cache is written before each sample of a cold protocol. */
static enum status prepare_flush(struct worker *worker, struct error *err)
{
    uint64_t llc = worker->device->info.last_level_cache_bytes;

    if (worker->protocol.cache != PROTOCOL_CACHE_COLD)
        return STATUS_OK;
    if (llc == 0)
        return error_set(err, STATUS_UNSUPPORTED,
                         "the protocol wants a cold cache, and nothing tells the size of this "
                         "device's last-level cache: use a protocol with `cache: hot`");
    worker->flush_size = llc * (uint64_t)worker->protocol.cold_flush_factor;
    worker->flush_bytes = malloc(worker->flush_size);
    if (!worker->flush_bytes)
        return error_set(err, STATUS_NO_MEMORY, "no memory for the cache flush");
    memset(worker->flush_bytes, 0x5a, worker->flush_size);
    return device_buffer_alloc(worker->device, worker->flush_size, BUFFER_READ_WRITE,
                               &worker->flush_buffer, err);
}

static enum status prepare_series(struct worker *worker, struct error *err)
{
    size_t capacity = (size_t)worker->protocol.max_samples;
    enum status status = sampler_init(&worker->sampler, capacity, err);

    if (status != STATUS_OK)
        return status;
    if (device_has_events(worker->device)) {
        status = device_event_create(worker->device, &worker->start_event, err);
        if (status == STATUS_OK)
            status = device_event_create(worker->device, &worker->end_event, err);
        if (status != STATUS_OK)
            return status;
        worker->device_ns = calloc(capacity, sizeof(int64_t));
        if (!worker->device_ns)
            return error_set(err, STATUS_NO_MEMORY, "no memory for the device's times");
    }
    return prepare_flush(worker, err);
}

/* One sample's worth of work, between its two clock readings. */
static enum status run_block(struct worker *worker, int64_t iterations, struct error *err)
{
    enum status status = STATUS_OK;

    for (int64_t i = 0; i < iterations && status == STATUS_OK; i++)
        status = worker->workload.kind->iterate(worker->instance, err);
    if (status == STATUS_OK)
        status = device_synchronize(worker->device, err);
    return status;
}

/*
 * Finds how many iterations make a sample of at least min_sample_ns. The block is doubled until it
 * is long enough, then fixed: all samples of the trial have the same number of iterations.
 */
static enum status calibrate(struct worker *worker, struct error *err)
{
    const int64_t wanted = worker->protocol.min_sample_ns;
    int64_t begin_ns = clock_monotonic_ns();
    int64_t block = 1;

    for (;;) {
        int64_t best = INT64_MAX;

        for (int i = 0; i < 3; i++) {
            int64_t start = clock_monotonic_ns();
            enum status status = run_block(worker, block, err);
            int64_t elapsed = clock_monotonic_ns() - start;

            if (status != STATUS_OK)
                return status;
            if (elapsed < best)
                best = elapsed;
            if (elapsed > 10 * wanted)
                break; /* long enough by far: do not repeat a step of seconds */
        }
        if (best >= wanted || block > (INT64_C(1) << 30))
            break;
        if (best < 1)
            best = 1;
        /* Aim a quarter above, so that the fastest sample still is long enough. */
        block = best * 2 > wanted ? block * 2 : block * (wanted + wanted / 4) / best + 1;
    }
    worker->block = block;
    return send_phase(worker, "calibrate", begin_ns, err);
}

static enum status read_stages(struct worker *worker, size_t index, struct error *err)
{
    struct workload_stages stages = {0};
    enum status status;

    if (!worker->workload.kind->stages)
        return STATUS_OK;
    status = worker->workload.kind->stages(worker->instance, &stages, err);
    if (status != STATUS_OK)
        return status;
    for (size_t i = 0; i < stages.count && i < WORKLOAD_STAGES_MAX; i++) {
        if (!worker->stage_ns[i]) {
            worker->stage_ns[i] = calloc((size_t)worker->protocol.max_samples, sizeof(int64_t));
            if (!worker->stage_ns[i])
                return error_set(err, STATUS_NO_MEMORY, "no memory for the stages' times");
            snprintf(worker->stage_series[i], MESSAGE_NAME_MAX, "stage:%s", stages.names[i]);
            worker->stage_count = i + 1;
        }
        worker->stage_ns[i][index] = stages.ns[i] < 0 ? -1 : stages.ns[i];
    }
    return STATUS_OK;
}

static enum status take_sample(struct worker *worker, struct error *err)
{
    size_t index = worker->sampler.count;
    enum status status = STATUS_OK;

    if (worker->flush_buffer) {
        status = device_upload(worker->flush_buffer, 0, worker->flush_bytes, worker->flush_size,
                               err);
        if (status != STATUS_OK)
            return status;
    }
    sampler_begin(&worker->sampler);
    if (worker->device_ns)
        status = device_event_record(worker->device, worker->start_event, err);
    for (int64_t i = 0; i < worker->block && status == STATUS_OK; i++)
        status = worker->workload.kind->iterate(worker->instance, err);
    if (worker->device_ns && status == STATUS_OK)
        status = device_event_record(worker->device, worker->end_event, err);
    if (status == STATUS_OK)
        status = device_synchronize(worker->device, err);
    if (status != STATUS_OK)
        return status;
    sampler_end(&worker->sampler);
    if (worker->device_ns) {
        int64_t elapsed_ns = -1;

        status = device_event_elapsed_ns(worker->device, worker->start_event, worker->end_event,
                                         &elapsed_ns, err);
        if (status != STATUS_OK)
            return status;
        worker->device_ns[index] = elapsed_ns;
    }
    return read_stages(worker, index, err);
}

static enum status send_samples(struct worker *worker, struct error *err)
{
    size_t count = worker->sampler.count;
    struct worker_link *link = &worker->link;
    enum status status = worker_link_send_samples(link, "wall_ns", worker->sampler.wall_ns,
                                                  worker->sent, count, err);

    if (status == STATUS_OK)
        status = worker_link_send_samples(link, "gap_ns", worker->sampler.gap_ns, worker->sent,
                                          count, err);
    if (status == STATUS_OK && worker->device_ns)
        status = worker_link_send_samples(link, "device_ns", worker->device_ns, worker->sent,
                                          count, err);
    for (size_t i = 0; i < worker->stage_count && status == STATUS_OK; i++)
        status = worker_link_send_samples(link, worker->stage_series[i], worker->stage_ns[i],
                                          worker->sent, count, err);
    worker->sent = count;
    worker->last_send_ns = clock_monotonic_ns();
    return status;
}

/*
 * Takes samples until the limits of the phase are met: both `min_count` samples and `min_ns`, or
 * `max_ns`, or a full sampler.
 */
static enum status sample_phase(struct worker *worker, const char *name, size_t min_count,
                                int64_t min_ns, int64_t max_ns, struct error *err)
{
    size_t first = worker->sampler.count;
    int64_t begin_ns = clock_monotonic_ns();
    enum status status;

    worker->last_send_ns = begin_ns;
    while (!sampler_full(&worker->sampler)) {
        int64_t now = clock_monotonic_ns();
        int64_t elapsed = now - begin_ns;

        if ((worker->sampler.count - first >= min_count && elapsed >= min_ns) || elapsed >= max_ns)
            break;
        status = take_sample(worker, err);
        if (status == STATUS_OK && clock_monotonic_ns() - worker->last_send_ns > SEND_INTERVAL_NS)
            status = send_samples(worker, err);
        if (status != STATUS_OK)
            return status;
    }
    return send_phase(worker, name, begin_ns, err);
}

static enum status measure(struct worker *worker, struct error *err)
{
    const struct protocol *protocol = &worker->protocol;
    size_t warmup = protocol->warmup_iterations > 0
                        ? (size_t)((protocol->warmup_iterations + worker->block - 1) /
                                   worker->block)
                        : 0;
    enum status status =
        sample_phase(worker, "warmup", warmup, protocol->warmup_ns, INT64_MAX, err);

    if (status == STATUS_OK)
        status = send_samples(worker, err);
    if (status == STATUS_OK && sampler_full(&worker->sampler))
        return error_set(err, STATUS_INVALID,
                         "the warmup alone took all %" PRId64 " samples: raise the protocol's "
                         "max_samples or min_sample",
                         protocol->max_samples);
    if (status == STATUS_OK)
        status = worker_link_sync(&worker->link, "window_start", err);
    if (status != STATUS_OK)
        return status;
    worker->window_first = (int64_t)worker->sampler.count;
    status = sample_phase(worker, "window", (size_t)protocol->window_min_samples,
                          protocol->window_ns, protocol->window_max_ns, err);
    if (status == STATUS_OK)
        status = send_samples(worker, err);
    if (status == STATUS_OK)
        status = worker_link_sync(&worker->link, "window_end", err);
    return status;
}

static enum status send_facts(struct worker *worker, struct error *err)
{
    json_t *facts = worker->workload.kind->facts ? worker->workload.kind->facts(worker->instance)
                                                 : json_object();

    return worker_link_send(&worker->link,
                            json_pack("{s:s, s:o}", "type", "facts", "facts", facts), err);
}

static enum status run_trial(struct worker *worker, struct error *err)
{
    int64_t begin_ns = clock_monotonic_ns();
    enum status status = open_device(worker, err);

    if (status == STATUS_OK)
        status = worker->workload.kind->create(&worker->work, worker->device, &worker->instance,
                                               err);
    if (status == STATUS_OK)
        status = prepare_series(worker, err);
    if (status == STATUS_OK)
        status = send_phase(worker, "setup", begin_ns, err);
    if (status == STATUS_OK)
        status = send_artifacts(worker, err);
    if (status == STATUS_OK)
        status = verify(worker, "verify_before", err);
    if (status == STATUS_OK)
        status = calibrate(worker, err);
    if (status == STATUS_OK)
        status = measure(worker, err);
    if (status == STATUS_OK)
        status = verify(worker, "verify_after", err);
    if (status == STATUS_OK)
        status = send_facts(worker, err);
    return status;
}

static void send_end(struct worker *worker, enum status code, const char *message)
{
    struct error err = ERROR_INIT;

    /* What was sampled before a failure is evidence, too. */
    if (code != STATUS_OK && worker->sampler.wall_ns)
        send_samples(worker, NULL);
    if (worker_link_send(
            &worker->link,
            json_pack("{s:s, s:s, s:o, s:I, s:I, s:I}", "type", "end", "status",
                      status_name(code), "message",
                      code == STATUS_OK ? json_null() : json_string(message),
                      "iterations_per_sample", (json_int_t)worker->block, "window_first",
                      (json_int_t)worker->window_first, "samples",
                      (json_int_t)worker->sampler.count),
            &err) != STATUS_OK)
        log_error("worker: %s", err.message);
}

static void finish(struct worker *worker)
{
    if (worker->instance)
        worker->workload.kind->destroy(worker->instance);
    device_buffer_free(worker->flush_buffer);
    if (worker->device) {
        device_event_destroy(worker->device, worker->start_event);
        device_event_destroy(worker->device, worker->end_event);
    }
    device_close(worker->device);
    sampler_finish(&worker->sampler);
    free(worker->device_ns);
    for (size_t i = 0; i < WORKLOAD_STAGES_MAX; i++)
        free(worker->stage_ns[i]);
    free(worker->flush_bytes);
    free(worker->device_spec);
    workload_finish(&worker->workload);
    protocol_finish(&worker->protocol);
    worker_link_close(&worker->link);
}

int worker_main(void)
{
    struct worker worker = {.window_first = -1};
    struct error err = ERROR_INIT;
    json_t *trial = NULL;
    enum status status;

    signal(SIGPIPE, SIG_IGN);
    status = worker_link_open(&worker.link, &trial, &err);
    if (status != STATUS_OK) {
        log_error("%s", err.message);
        return 2;
    }
    status = read_trial(&worker, trial, &err);
    json_decref(trial);
    if (status == STATUS_OK)
        status = run_trial(&worker, &err);
    send_end(&worker, status, err.message);
    finish(&worker);
    return 0;
}
