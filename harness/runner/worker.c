#include "harness/runner/worker.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/clock.h"
#include "harness/core/crash_context.h"
#include "harness/core/denormals.h"
#include "harness/core/log.h"
#include "harness/core/member.h"
#include "harness/runner/worker_endpoint.h"
#include "harness/runner/worker_serve.h"

#define TRACE_WARMUP 3 /* iterations before the one that is traced */

static enum status bad_trial(struct error *err, const char *what)
{
    return error_set(err, STATUS_PROTOCOL, "trial message: %s", what);
}

static enum status read_choices(struct worker *worker, const json_t *trial, struct error *err)
{
    json_t *choices = json_object_get(trial, "choices");

    worker->tune = member_is_true(trial, "tune");
    if (worker->tune && !worker->workload.kind->choices)
        return bad_trial(err, "this kind of workload has nothing to choose");
    if (!choices)
        return STATUS_OK;
    worker->block = member_integer(choices, "iterations_per_sample");
    worker->work.choices = json_object_get(choices, "workload");
    if (worker->block < 1 || !json_is_object(worker->work.choices))
        return bad_trial(err, "choices need `workload` and `iterations_per_sample`");
    worker->choices = json_incref(choices);
    return STATUS_OK;
}

static enum status read_trial(struct worker *worker, const json_t *trial, struct error *err)
{
    const char *precision = member_string(trial, "precision");
    const char *scenario = member_string(trial, "scenario");
    const char *implementation = member_string(trial, "implementation");
    const char *device = member_string(trial, "device");
    const json_t *batch = json_object_get(trial, "batch");
    const json_t *seed = json_object_get(trial, "seed");

    if (!precision || !precision_from_name(precision, &worker->work.precision))
        return bad_trial(err, "unknown precision");
    if (!scenario || !scenario_from_text(scenario, &worker->work.scenario, &worker->work.rate))
        return bad_trial(err, "unknown scenario");
    if (!implementation || !implementation_from_name(implementation, &worker->work.implementation))
        return bad_trial(err, "unknown implementation");
    if (!json_is_integer(batch) || !json_is_integer(seed) || !device)
        return bad_trial(err, "batch, seed and device are required");
    worker->work.batch = json_integer_value(batch);
    worker->work.seed = (uint64_t)json_integer_value(seed);
    worker->work.emulate = member_is_true(trial, "emulate");
    worker->trace = member_is_true(trial, "trace");
    worker->framework_wanted = json_incref(json_object_get(trial, "framework"));
    worker->device_spec = strdup(device);
    if (!worker->device_spec)
        return error_no_memory(err);
    TRY(protocol_from_json(json_object_get(trial, "protocol"), &worker->protocol, err));
    TRY(workload_from_json(json_object_get(trial, "workload"), &worker->workload, err));
    worker->expected = json_incref(json_object_get(trial, "verified"));
    worker->work.workload = &worker->workload;
    TRY(read_choices(worker, trial, err));
    if (worker->workload.kind->is_endpoint)
        return worker_endpoint_prepare(worker, trial, err);
    /* Its generator is a process of its own, which is made while this one is small. */
    if (worker->work.scenario == SCENARIO_SERVER && !worker->tune)
        return worker_serve_prepare(worker, trial, err);
    return STATUS_OK;
}

/* A framework that runs the work, as named_worker_message says it. */
static enum status open_framework(struct worker *worker, struct error *err)
{
    const json_t *wanted = worker->framework_wanted;
    const char *interface = member_string(wanted, "interface");
    const char *library = member_string(wanted, "library");
    const char *mode = member_string(wanted, "mode");
    const json_int_t threads = member_integer(wanted, "threads");

    if (!wanted)
        return STATUS_OK;
    if (!interface || !library || threads < 0 || threads > 65536)
        return bad_trial(err, "`framework` needs `interface`, `library` and `threads`");
    if (!worker->workload.kind->runs_frameworks)
        return error_set(err, STATUS_UNSUPPORTED, "%s is not run by frameworks",
                         worker->workload.kind->name);
    worker->work.framework_threads = (uint32_t)threads;
    worker->work.own_precision = mode && !strcmp(mode, "own_precision");
    return framework_open(interface, library, &worker->work.framework, err);
}

static enum status open_device(struct worker *worker, struct error *err)
{
    struct device_options options = {.flush_denormals = worker->protocol.flush_denormals,
                                     .profile = true,
                                     .compile_anew = worker->protocol.evidence};
    struct backend *backend;
    uint32_t index;

    /* Threads that a runtime starts later inherit the mode, so it is set before the device is
     * opened. */
    denormals_flush(worker->protocol.flush_denormals);
    TRY(backend_resolve(worker->device_spec, &backend, &index, err));
    TRY(backend_device_open(backend, index, &options, &worker->device, err));
    TRY(open_framework(worker, err)); /* before: a simulated one makes the device so */
    return worker_link_send_device(&worker->link, worker->device, index, &worker->work, err);
}

static enum status send_artifacts(struct worker *worker, struct error *err)
{
    enum { CAPACITY = 64 };
    AUTO_FREE struct module_artifact *artifacts = NULL;
    size_t count;
    enum status status = STATUS_OK;

    if (!worker->workload.kind->artifacts)
        return STATUS_OK;
    artifacts = calloc(CAPACITY, sizeof(*artifacts));
    if (!artifacts)
        return error_no_memory(err);
    count = worker->workload.kind->artifacts(worker->instance, artifacts, CAPACITY);
    for (size_t i = 0; i < count; i++) {
        if (status == STATUS_OK)
            status = worker_link_send_artifact(&worker->link, &artifacts[i], err);
        module_artifact_finish(&artifacts[i]);
    }
    return status;
}

void worker_report_check(void *context, const struct workload_check *check)
{
    struct worker *worker = context;

    if (worker->check_error.code == STATUS_OK)
        worker_link_send_check(&worker->link, worker->verify_phase, check, &worker->check_error);
}

/*
 * Compares with what a verified trial of the cell wrote, or notes what the next ones must compare
 * with. After the window, a trial without a text of that phase is compared with that of the phase
 * before it.
 */
static enum status recheck(struct worker *worker, const char *phase, bool *ret_same,
                           struct error *err)
{
    const char *expected = member_string(worker->expected, phase);
    struct workload_recheck found = {0};
    enum status status;

    *ret_same = false;
    if (worker->protocol.verification != PROTOCOL_VERIFY_FIRST_TRIAL)
        return STATUS_OK;
    if (!expected)
        expected = member_string(worker->expected, "verify_before");
    status = workload_recheck(worker->instance, expected, &found, err);
    if (status == STATUS_OK && found.same) {
        const struct workload_check check = {
            .output = "outputs",
            .metric = "same_bits",
            .reason = "bit for bit what a trial of this cell wrote that was compared with the "
                      "reference",
            .compared = found.compared,
            .passed = true,
        };

        worker_report_check(worker, &check);
        *ret_same = true;
    } else if (status == STATUS_OK && found.text) {
        if (!worker->verified)
            worker->verified = json_object();
        json_object_set_new(worker->verified, phase, json_string(found.text));
    }
    free(found.text);
    return status;
}

static enum status verify(struct worker *worker, const char *phase, struct error *err)
{
    int64_t begin_ns = clock_monotonic_ns();
    bool same = false;

    worker->verify_phase = phase;
    TRY(recheck(worker, phase, &same, err));
    if (!same)
        TRY(workload_verify(worker->instance, worker_report_check, worker, err));
    if (worker->check_error.code != STATUS_OK) {
        if (err)
            *err = worker->check_error;
        return worker->check_error.code;
    }
    return worker_send_phase(worker, phase, begin_ns, err);
}

static json_t *facts_of(const struct worker *worker)
{
    const struct workload_kind *kind = worker->workload.kind;

    return kind->facts ? kind->facts(worker->instance) : json_object();
}

static enum status send_facts(struct worker *worker, struct error *err)
{
    json_t *facts = facts_of(worker), *refusals = workload_refusals(facts);

    if (worker->choices && facts)
        json_object_set(facts, "choices", worker->choices);
    if (refusals)
        json_object_set_new(facts, "refused", refusals);
    if (worker->server && facts)
        json_object_set_new(facts, "generator", worker_serve_facts(worker));
    if (worker->reference)
        json_object_set_new(facts, "reference_loop",
                            json_string(reference_loop_name(worker->reference)));
    if (worker->verified && !worker->expected)
        json_object_set(facts, "verified", worker->verified);
    return worker_link_send_body(&worker->link, MESSAGE_FACTS, facts, err);
}

static enum status send_choices(struct worker *worker, struct error *err)
{
    json_t *own = worker->workload.kind->choices(worker->instance), *facts = facts_of(worker);
    json_t *refusals = workload_refusals(facts);
    json_t *choices = json_pack("{s:o, s:I, s:o*}", "workload", own, "iterations_per_sample",
                                (json_int_t)worker->block, "refused", refusals);

    json_decref(facts);
    return worker_link_send_body(&worker->link, MESSAGE_CHOICES, choices, err);
}

/* Chooses, for the trials to come, and measures nothing that is kept. */
static enum status run_tuning(struct worker *worker, struct error *err)
{
    TRY(open_device(worker, err));
    TRY(workload_instance_create(&worker->work, worker->device, &worker->instance, err));
    TRY(worker_calibrate(worker, err));
    return send_choices(worker, err);
}

/* What is chosen and compiled at first use is not the iteration's. */
static enum status warm_up(struct worker *worker, struct error *err)
{
    for (int i = 0; i < TRACE_WARMUP; i++) {
        TRY(worker->workload.kind->iterate(worker->instance, err));
        TRY(device_synchronize(worker->device, err));
    }
    return STATUS_OK;
}

static enum status trace_iteration(struct worker *worker, struct trace *trace, json_t **ret,
                                   struct error *err)
{
    const struct workload_kind *kind = worker->workload.kind;
    struct trace_operation whole = {.name = worker->workload.name, .kind = kind->name};
    struct workload_cost cost = {0};
    enum status status;

    worker->instance->trace = trace;
    status = kind->iterate(worker->instance, err);
    worker->instance->trace = NULL;
    if (status == STATUS_OK && trace_count(trace) == 0) {
        TRY(kind->cost(&worker->work, &cost, err));
        whole.bytes = cost.bytes_formula ? cost.bytes : TRACE_UNKNOWN;
        whole.flops = cost.flops_formula || cost.bytes_formula ? cost.flops : TRACE_UNKNOWN;
        status = trace_mark(trace, &whole, err);
    }
    return status == STATUS_OK ? trace_end(trace, ret, err) : status;
}

/* An iteration whose operations are timed, and nothing that is kept. */
static enum status run_trace(struct worker *worker, struct error *err)
{
    struct trace *trace = NULL;
    json_t *body = NULL;
    enum status status;

    TRY(open_device(worker, err));
    TRY(workload_instance_create(&worker->work, worker->device, &worker->instance, err));
    TRY(warm_up(worker, err));
    TRY(trace_begin(worker->device, &trace, err));
    status = trace_iteration(worker, trace, &body, err);
    trace_destroy(trace);
    TRY(status);
    return worker_link_send_body(&worker->link, MESSAGE_TRACE, body, err);
}

/*
 * The first check also reports the kernels, whatever its result: by then each was launched, so its
 * registers are known, and what is compiled at the first use is there.
 */
static enum status verify_and_tell(struct worker *worker, struct error *err)
{
    const enum status status = verify(worker, "verify_before", err);

    if (status != STATUS_OK) {
        send_artifacts(worker, NULL);
        return status;
    }
    return send_artifacts(worker, err);
}

static void say_alive(void *context)
{
    struct worker *worker = context;

    worker_link_send(&worker->link, &(struct message){MESSAGE_ALIVE}, NULL);
}

static enum status run_trial(struct worker *worker, struct error *err)
{
    int64_t begin_ns = clock_monotonic_ns();

    TRY(open_device(worker, err));
    TRY(workload_instance_create(&worker->work, worker->device, &worker->instance, err));
    worker->instance->alive = say_alive;
    worker->instance->alive_context = worker;
    TRY(worker_prepare_series(worker, err));
    TRY(worker_send_phase(worker, "setup", begin_ns, err));
    TRY(verify_and_tell(worker, err));
    TRY(worker_calibrate(worker, err));
    TRY(worker->server ? worker_serve(worker, err) : worker_measure(worker, err));
    TRY(verify(worker, "verify_after", err));
    return send_facts(worker, err);
}

static void send_end(struct worker *worker, enum status code, const char *message)
{
    struct message end = {MESSAGE_END, .end = {.status = code,
                                               .message = code == STATUS_OK ? NULL : message,
                                               .iterations_per_sample = worker->block,
                                               .window_first = worker->window_first}};
    struct error err = ERROR_INIT;

    /* What was sampled and checked before a failure is evidence, too. */
    if (code != STATUS_OK && worker->sampler.wall_ns) {
        worker_send_samples(worker, NULL);
        if (worker->server)
            worker_serve_send(worker, NULL);
        if (worker->endpoint)
            worker_endpoint_send(worker, NULL);
        worker_send_spots(worker, NULL);
    }
    end.end.samples = (int64_t)worker->sampler.count;
    if (worker_link_send(&worker->link, &end, &err) != STATUS_OK)
        log_error("worker: %s", err.message);
}

static void finish(struct worker *worker)
{
    worker_serve_finish(worker);
    worker_endpoint_finish(worker);
    workload_instance_destroy(worker->instance);
    framework_close(worker->work.framework);
    reference_loop_destroy(worker->reference);
    device_buffer_free(worker->flush_buffer);
    if (worker->device) {
        device_event_destroy(worker->device, worker->start_event);
        device_event_destroy(worker->device, worker->end_event);
        device_event_destroy(worker->device, worker->first_event);
        device_event_destroy(worker->device, worker->last_event);
    }
    device_close(worker->device);
    sampler_finish(&worker->sampler);
    worker_finish_spots(worker);
    free(worker->reference_ns);
    free(worker->read_backs);
    free(worker->device_ns);
    free(worker->counted);
    for (size_t i = 0; i < WORKLOAD_STAGES_MAX; i++)
        free(worker->stage_ns[i]);
    free(worker->flush_bytes);
    free(worker->device_spec);
    json_decref(worker->framework_wanted);
    json_decref(worker->choices);
    json_decref(worker->expected);
    json_decref(worker->verified);
    workload_finish(&worker->workload);
    protocol_finish(&worker->protocol);
    worker_link_close(&worker->link);
}

int worker_main(void)
{
    struct worker worker = {.window_first = -1};
    struct error err = ERROR_INIT;
    struct message trial = {MESSAGE_TRIAL};
    const json_t *task;
    enum status status;

    signal(SIGPIPE, SIG_IGN);
    crash_context_begin();
    status = worker_link_open(&worker.link, &trial, &err);
    if (status != STATUS_OK) {
        log_error("%s", err.message);
        crash_context_end();
        return 2;
    }
    status = read_trial(&worker, trial.body, &err);
    task = json_object_get(trial.body, "hand_over");
    if (status == STATUS_OK)
        status = task              ? worker_hand_over(&worker, task, &err)
                 : worker.tune     ? run_tuning(&worker, &err)
                 : worker.trace    ? run_trace(&worker, &err)
                 : worker.endpoint ? worker_endpoint_run(&worker, &err)
                                   : run_trial(&worker, &err);
    if ((!worker.tune && !worker.trace && !task) || status != STATUS_OK)
        send_end(&worker, status, err.message);
    message_finish(&trial);
    finish(&worker);
    crash_context_end();
    return 0;
}
