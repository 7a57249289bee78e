#include "harness/runner/trial.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cgroup.h"
#include "harness/core/clock.h"
#include "harness/core/member.h"
#include "harness/core/process.h"
#include "harness/core/text.h"
#include "harness/core/waits.h"
#include "harness/runner/handover.h"
#include "harness/runner/message.h"
#include "harness/runner/serving_plan.h"
#include "harness/runner/silence.h"
#include "harness/runner/spot_schedule.h"
#include "harness/runner/trial_declared.h"
#include "harness/runner/trial_judge.h"
#include "harness/runner/trial_record.h"
#include "harness/runner/trial_telemetry.h"
#include "harness/runner/worker_process.h"
#include "harness/runner/worker_state.h"

#define SECOND_NS ((int64_t)1000000000)
#define GRACE_NS (10 * SECOND_NS)
#define STOP_GRACE_NS (2 * SECOND_NS)
#define TICK_NS (SECOND_NS / 5)

/* A trial in progress. */
struct watch {
    const struct trial_request *request;
    struct trial_record record;
    struct worker_process worker;
    struct trial_telemetry telemetry;
    struct process_exit exit;
    bool reaped;
    int64_t oom_kills;         /* before the start */
    struct processes at_start; /* of the window, where another program measures */
    struct protocol protocol;
    struct spot_schedule spots;
    struct handover handover;
    struct worker_state state;    /* when the window began */
    struct clock_point began, go; /* at the trial's start, and when the window began */
    bool greeted;                 /* hello was said */
    bool ended;                   /* end was said */
    char phase[MESSAGE_NAME_MAX + 8];
    enum status status; /* the trial's */
    struct error error;
};

static void fail(struct watch *watch, enum status code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void fail(struct watch *watch, enum status code, const char *format, ...)
{
    struct text text;
    va_list args;

    if (watch->status != STATUS_OK)
        return; /* the first reason counts */
    text_init(&text);
    va_start(args, format);
    text_append_formatv(&text, format, args);
    va_end(args);
    if (watch->phase[0])
        text_append_format(&text, " (after %s)", watch->phase);
    worker_process_append_words(&watch->worker, &text);
    watch->status =
        error_set(&watch->error, code, "%s", text_ok(&text) ? text.data : "out of memory");
    text_finish(&text);
}

/* Sends to the worker; a failure shows in what the worker does next. */
static void tell(struct watch *watch, const struct message *message)
{
    struct error err = ERROR_INIT;

    if (message_send(&watch->worker.channel, message, clock_monotonic_ns() + GRACE_NS, &err) ==
        STATUS_TIMEOUT)
        fail(watch, STATUS_TIMEOUT, "the worker does not read its channel");
}

static void say_go(struct watch *watch)
{
    tell(watch, &(struct message){MESSAGE_GO});
}

static void ask_for_outputs(struct watch *watch, const char *phase)
{
    struct message message;

    if (handover_ask(&watch->handover, phase, &message))
        tell(watch, &message);
}

/* The trial, with the files that are handed over where the worker takes them. */
static void send_trial(struct watch *watch, bool hands_over)
{
    json_auto_t *trial = json_copy((json_t *)watch->request->message);
    struct error err = ERROR_INIT;
    enum status status = STATUS_UNSUPPORTED;

    if (hands_over)
        status = handover_begin(&watch->handover, watch->request, &watch->protocol, &err);
    if (status == STATUS_OK)
        json_object_set_new(trial, "handover", handover_message(&watch->handover));
    else if (status != STATUS_UNSUPPORTED)
        fail(watch, status, "handing over weights and inputs: %s", err.message);
    tell(watch, &(struct message){MESSAGE_TRIAL, .body = trial});
}

/* A worker has nothing opened when it says hello. What ASSAY_WORKER names may be a script that
 * chose all of it. */
static void look_at_beginning(struct watch *watch)
{
    const pid_t pid = watch->worker.process.pid;
    struct conduct_seen *seen = &watch->record.conduct.seen;

    if (!watch->worker.foreign && !watch->request->named) /* frameworks place their threads */
        seen->steered = worker_state_steered(pid);
    if (!watch->worker.foreign || watch->request->named)
        seen->hidden = worker_state_hidden(pid, !watch->worker.foreign, watch->worker.preloads,
                                           watch->request->root);
}

static enum status handle_hello(struct watch *watch, const struct message *message)
{
    if (message->hello.protocol != WORKER_PROTOCOL_VERSION) {
        fail(watch, STATUS_PROTOCOL,
             "the worker \"%s\" speaks version %" PRId64 " of the worker protocol, assay speaks %d",
             message->hello.worker, message->hello.protocol, WORKER_PROTOCOL_VERSION);
        return STATUS_OK;
    }
    watch->greeted = true;
    look_at_beginning(watch);
    snprintf(watch->phase, sizeof(watch->phase), "hello");
    send_trial(watch, message->hello.handover);
    watch->record.conduct.seen.checks = watch->handover.active && watch->request->named
                                            ? CONDUCT_CHECKS_OF_ASSAY
                                            : CONDUCT_CHECKS_OF_WORKER;
    if (watch->request->schedule) {
        struct error err = ERROR_INIT;

        if (serving_plan_send(&watch->worker.channel, watch->request->schedule,
                              clock_monotonic_ns() + GRACE_NS, &err) == STATUS_TIMEOUT)
            fail(watch, STATUS_TIMEOUT, "the worker does not read its schedule");
    }
    return STATUS_OK;
}

static void handle_end(struct watch *watch, const struct message *message)
{
    watch->ended = true;
    watch->status = trial_judge_end(watch->request, &watch->protocol, &watch->handover, message,
                                    &watch->record, &watch->error);
}

/* What the plan and the protocol demand ends a trial that lacks it, before anything runs. */
static void check_device(struct watch *watch, const json_t *device)
{
    struct error reason = ERROR_INIT;

    if (trial_judge_device(watch->request, device, &reason) != STATUS_OK ||
        trial_declared_device(watch->request, device, &reason) != STATUS_OK)
        fail(watch, reason.code, "%s", reason.message);
}

/* A worker whose files cannot be read (it is another user's by now) has no trial. */
static enum status look_at_files(struct watch *watch, const char *at, struct error *err)
{
    struct error reason = ERROR_INIT;
    enum status status =
        trial_record_mapped(&watch->record, at, watch->worker.process.pid, &reason);

    if (status == STATUS_OK && watch->worker.foreign)
        status = trial_declared_process(&watch->at_start, watch->worker.process.pid, &reason);
    if (status == STATUS_NO_MEMORY && err)
        *err = reason;
    if (status == STATUS_OK || status == STATUS_NO_MEMORY)
        return status;
    fail(watch, status, "%s", reason.message);
    return STATUS_OK;
}

/*
 * Which program it is; the window is over, so reading that file holds up nothing. One that has
 * ended already says why in what it sent, or by its exit; it is then not known which it was.
 */
static void look_at_program(struct watch *watch)
{
    struct error reason = ERROR_INIT;
    struct digest program;
    const enum status status = worker_process_running(&watch->worker, &program, &reason);

    if (status == STATUS_OK)
        digest_hex(&program, watch->record.conduct.seen.worker);
    else if (status != STATUS_NOT_FOUND)
        fail(watch, status, "%s", reason.message);
}

/* A check that assay made of outputs. */
static enum status take_check(void *context, const struct message *check, struct error *err)
{
    struct watch *watch = context;

    return trial_record_message(&watch->record, check, err);
}

/* Compares what was handed over; false: the trial has failed. */
static bool judge_outputs(struct watch *watch)
{
    struct error reason = ERROR_INIT;

    if (!watch->handover.active)
        return true;
    if (handover_judge(&watch->handover, watch->request, take_check, watch, &reason) != STATUS_OK)
        fail(watch, reason.code, "%s", reason.message);
    watch->record.conduct.seen.outputs_checked = watch->handover.judged;
    return watch->status == STATUS_OK;
}

/* Asks for the spot check that is due; after the window, says go when none is left. */
static void go_on(struct watch *watch)
{
    struct conduct *conduct = &watch->record.conduct;

    if (watch->status != STATUS_OK)
        return;
    if (spot_schedule_next_ns(&watch->spots) <= clock_monotonic_ns()) {
        const struct message message = spot_schedule_ask(&watch->spots);

        if (watch->handover.active)
            ask_for_outputs(watch, "spot_check");
        else
            tell(watch, &message);
    } else if (watch->spots.closing && spot_schedule_done(&watch->spots)) {
        watch->spots.closing = false;
        conduct->seen.spot_checks = watch->spots.made;
        conduct->seen.spot_checks_ns = watch->spots.spent_ns;
        conduct->seen.window_checks_ns = watch->spots.within_ns;
        spot_schedule_iterations(&watch->spots, &conduct->seen.checked_least_ns,
                                 &conduct->seen.checked_median_ns);
        if (judge_outputs(watch))
            say_go(watch);
    }
}

/* How long the window is planned to be. */
static int64_t window_ns(const struct watch *watch)
{
    const struct schedule *schedule = watch->request->schedule;

    return schedule ? schedule->window_ns : watch->protocol.window_ns;
}

/* Nothing is sent in a server's window. */
static int64_t silence_ns(const struct watch *watch)
{
    const struct schedule *schedule = watch->request->schedule;

    return watch->request->silence_ns +
           (schedule ? schedule->window_ns + watch->protocol.serving_drain_ns : 0);
}

/* How long a clock ran between two readings; -1: there is none. */
static int64_t between(int64_t from, int64_t to)
{
    return from < 0 || to < 0 ? -1 : to - from;
}

/* The worker says that its window is over. */
static void note_end_of_window(struct watch *watch, const struct clock_point *told)
{
    struct conduct *conduct = &watch->record.conduct;
    const struct clock_point *go = &watch->go;

    conduct->seen.told_ns = told->monotonic_ns - watch->record.started_ns;
    conduct->seen.told_utc_ns = told->utc_ns;
    if (watch->worker.foreign) /* has no such loop */
        conduct->seen.report.reference_ns = -1;
    conduct->seen.kernel_ns = between(go->kernel_ns, told->kernel_ns);
    conduct->seen.clocks.raw_ns = between(go->raw_ns, told->raw_ns);
    conduct->seen.clocks.ticks = between(go->ticks, told->ticks);
    conduct->seen.ticks_per_s = clock_ticks_per_s(&watch->began, go);
    /* A server leaves a processor to who sends it requests. */
    worker_state_seen(&watch->state, watch->worker.process.pid, !watch->request->schedule,
                      &conduct->seen);
}

/* A worker waits. What was said before is on disk before the window opens; nothing is written then.
 */
static enum status handle_sync(struct watch *watch, const struct message *message,
                               struct error *err)
{
    struct trial_record *record = &watch->record;
    const bool started = record->saw_start, ended = record->saw_window;
    const struct clock_point now = clock_point_read();
    enum status status = trial_record_commit(record, err);
    const char *phase = !strcmp(message->sync, "verify_before")  ? "verify_before"
                        : !strcmp(message->sync, "verify_after") ? "verify_after"
                                                                 : NULL;

    if (status == STATUS_OK && phase && watch->handover.active) {
        ask_for_outputs(watch, phase);
        return STATUS_OK;
    }

    if (status == STATUS_OK)
        status = look_at_files(watch, message->sync, err);
    trial_telemetry_mark(&watch->telemetry);
    if (status == STATUS_OK && !ended && record->saw_window) {
        note_end_of_window(watch, &now);
        look_at_program(watch);
        watch->spots.closing = true;
        go_on(watch);
        return STATUS_OK;
    }
    if (status == STATUS_OK && !started && record->saw_start) {
        worker_state_look(watch->worker.process.pid, &watch->state);
        watch->go = clock_point_read();
        record->conduct.seen.go_ns = watch->go.monotonic_ns - record->started_ns;
        record->conduct.seen.go_utc_ns = watch->go.utc_ns;
        if (record->conduct.is_endpoint)
            watch->protocol.spot_checks = 0;
        status = spot_schedule_draw(&watch->spots, &watch->protocol, watch->go.monotonic_ns,
                                    window_ns(watch), err);
    }
    if (status == STATUS_OK && watch->status == STATUS_OK)
        say_go(watch);
    return status;
}

/* Outputs of the window are compared after it; the others while the worker waits. */
static void take_outputs(struct watch *watch, const struct message *message)
{
    struct handover *handover = &watch->handover;
    const struct message spot = {MESSAGE_SPOT_CHECKED,
                                 .spot_checked = {.number = watch->spots.made,
                                                  .took_ns = message->handed_over.took_ns,
                                                  .iteration_ns = -1}};
    struct error reason = ERROR_INIT;
    enum status status = handover_take(handover, message, &reason);

    if (status == STATUS_OK &&
        strcmp(handover->entries[message->handed_over.number].phase, "spot_check") != 0) {
        if (judge_outputs(watch))
            say_go(watch);
        return;
    }
    if (status == STATUS_OK)
        status = spot_schedule_take(&watch->spots, &spot, clock_monotonic_ns(), &reason);
    if (status != STATUS_OK)
        fail(watch, status == STATUS_INVALID ? status : STATUS_PROTOCOL, "%s", reason.message);
    go_on(watch);
}

/* One message. An error is the store's; whatever the worker did wrong is the trial's. */
static enum status handle(struct watch *watch, const struct message *message, struct error *err)
{
    enum status status = STATUS_OK;

    if (!watch->greeted && message->type != MESSAGE_HELLO) {
        fail(watch, STATUS_PROTOCOL, "the worker's first message is \"%s\", not \"hello\"",
             message_type_name(message->type));
        return STATUS_OK;
    }
    switch (message->type) {
    case MESSAGE_HELLO:
        return handle_hello(watch, message);
    case MESSAGE_PHASE:
        snprintf(watch->phase, sizeof(watch->phase), "%s", message->phase.name);
        break;
    case MESSAGE_SYNC:
        return handle_sync(watch, message, err);
    case MESSAGE_SPOT_CHECKED: {
        struct error reason = ERROR_INIT;

        if (spot_schedule_take(&watch->spots, message, clock_monotonic_ns(), &reason) != STATUS_OK)
            fail(watch, reason.code, "%s", reason.message);
        go_on(watch);
        return STATUS_OK;
    }
    case MESSAGE_HANDED_OVER:
        take_outputs(watch, message);
        return STATUS_OK;
    case MESSAGE_END:
        handle_end(watch, message);
        return STATUS_OK;
    case MESSAGE_ALIVE:
        return STATUS_OK;
    case MESSAGE_CHOICES:
    case MESSAGE_TRACE:
        fail(watch, STATUS_PROTOCOL, "the worker sent \"%s\", which was not requested",
             message_type_name(message->type));
        return STATUS_OK;
    case MESSAGE_TRIAL:
    case MESSAGE_GO:
    case MESSAGE_SPOT_CHECK:
    case MESSAGE_HAND_OVER:
    case MESSAGE_TYPE_COUNT:
        fail(watch, STATUS_PROTOCOL, "the worker sent \"%s\", which is for the harness to say",
             message_type_name(message->type));
        return STATUS_OK;
    case MESSAGE_DEVICE:
    case MESSAGE_ARTIFACT:
    case MESSAGE_CHECK:
        if (message->type != MESSAGE_CHECK || !watch->handover.active)
            break;
        fail(watch, STATUS_PROTOCOL,
             "the worker sent a check: it hands its outputs over, and assay checks them");
        return STATUS_OK;
    case MESSAGE_SAMPLES:
    case MESSAGE_FACTS:
        break;
    }
    if (message->type == MESSAGE_DEVICE)
        check_device(watch, message->body);
    status = trial_record_message(&watch->record, message, err);
    if (status == STATUS_PROTOCOL) {
        fail(watch, STATUS_PROTOCOL, "%s", err ? err->message : "bad message");
        return STATUS_OK;
    }
    return status;
}

/*
 * Ends it first, so that its last output, which says where it was blocked, is part of the reason.
 */
static void stop_silent(struct watch *watch, const struct silence *silence)
{
    char waited[80] = "";

    process_stop(&watch->worker.process, STOP_GRACE_NS, &watch->exit);
    watch->reaped = true;
    if (silence->waited_ns >= SECOND_NS)
        snprintf(waited, sizeof(waited), ", besides %.0f s in which it waited for a processor",
                 (double)silence->waited_ns / 1e9);
    fail(watch, STATUS_TIMEOUT,
         "no word from the worker for %.0f s, the protocol's `trial_timeout`%s",
         (double)silence_ns(watch) / 1e9, waited);
}

static int64_t next_tick_ns(const struct watch *watch)
{
    const int64_t tick_ns = clock_monotonic_ns() + TICK_NS;
    const int64_t spot_ns = spot_schedule_next_ns(&watch->spots);

    return spot_ns < tick_ns ? spot_ns : tick_ns;
}

static bool is_silent_too_long(const struct watch *watch, struct silence *silence)
{
    const int64_t now_ns = clock_monotonic_ns(), limit_ns = silence_ns(watch);
    const int64_t queued_ns = silence_is_long(silence, now_ns, limit_ns)
                                  ? waits_queued_ns(watch->worker.process.pid)
                                  : -1;

    return silence_counted(silence, now_ns, queued_ns, limit_ns) > limit_ns;
}

/*
 * Reads until the worker ends, violates the protocol, or is silent too long. Messages that are
 * there already go into one transaction; it is committed before waiting.
 */
static enum status listen_to_worker(struct watch *watch, struct error *err)
{
    struct silence silence;

    silence_broken(&silence, clock_monotonic_ns());
    while (watch->status == STATUS_OK && !watch->ended) {
        struct error read_error = ERROR_INIT;
        struct message message;
        bool gone = false;
        char *line;
        size_t length;
        enum status status;

        worker_process_forget_words(&watch->worker);
        status = channel_read_line(&watch->worker.channel, 0, watch->request->wake_fd, &line,
                                   &length, &read_error);
        if (status == STATUS_TIMEOUT) {
            TRY(trial_record_commit(&watch->record, err));
            gone = process_has_ended(&watch->worker.process);
            go_on(watch);
            status = channel_read_line(&watch->worker.channel, next_tick_ns(watch),
                                       watch->request->wake_fd, &line, &length, &read_error);
        }
        if (status == STATUS_TIMEOUT) {
            if (gone) /* its children may hold the channel open */
                return STATUS_OK;
            if (watch->request->progress)
                progress_tick(watch->request->progress);
            if (is_silent_too_long(watch, &silence))
                stop_silent(watch, &silence);
            continue;
        }
        if (status == STATUS_NOT_FOUND)
            return STATUS_OK; /* closed: how the process ended gives the rest */
        if (status != STATUS_OK) {
            fail(watch, status, "%s", read_error.message);
            continue;
        }
        silence_broken(&silence, clock_monotonic_ns());
        status = message_parse(line, length, &message, &read_error);
        if (status != STATUS_OK) {
            fail(watch, status, "%s", read_error.message);
            continue;
        }
        status = handle(watch, &message, err);
        /* comparing outputs took time, which was not the worker's */
        silence_broken(&silence, clock_monotonic_ns());
        message_finish(&message);
        TRY(status);
    }
    return STATUS_OK;
}

static void explain_exit(struct watch *watch)
{
    const struct process_exit *end = &watch->exit;
    const char *when = watch->ended ? " after it had sent its results" : "";
    char by[PROCESS_SIGNAL_SIZE];

    if (end->exited) {
        fail(watch, STATUS_CRASHED, "the worker exited with status %d before sending a result",
             end->code);
    } else if (end->signal == SIGKILL && watch->oom_kills >= 0 &&
               cgroup_oom_kills() > watch->oom_kills) {
        fail(watch, STATUS_NO_MEMORY,
             "the kernel killed the worker for memory: use a smaller size or raise the limit");
    } else {
        fail(watch, STATUS_CRASHED, "the worker was ended by %s%s%s", process_signal_text(end, by),
             when, end->core_dumped ? ", core dumped" : "");
    }
}

/* Waits for the worker's own end, or ends it. */
static void reap(struct watch *watch)
{
    if (watch->worker.process.pid == 0)
        return;
    if (watch->status == STATUS_OK || watch->ended) {
        struct error err = ERROR_INIT;

        if (process_wait(&watch->worker.process, clock_monotonic_ns() + GRACE_NS, &watch->exit,
                         &err) == STATUS_OK)
            watch->reaped = true;
    }
    if (!watch->reaped) {
        process_stop(&watch->worker.process, STOP_GRACE_NS, &watch->exit);
        watch->reaped = true;
        if (watch->status == STATUS_OK)
            fail(watch, STATUS_TIMEOUT, "the worker %s and did not exit within %d s",
                 watch->ended ? "sent its results" : "closed its channel",
                 (int)(GRACE_NS / SECOND_NS));
    }
    /* What a process computed that crashed afterwards is no evidence: its memory may have been bad.
     */
    if (!watch->ended || !watch->exit.exited)
        explain_exit(watch);
}

enum status trial_run(const struct trial_request *request, struct trial_outcome *ret,
                      struct error *err)
{
    struct watch watch = {
        .request = request, .began = clock_point_read(), .oom_kills = cgroup_oom_kills()};
    const struct worker_start start = {
        /* What a device wants of its worker's threads is not passed on to a program. */
        .device_spec = member_in(request->message, "workload", "program")
                           ? NULL
                           : member_string(request->message, "device"),
        .environment_changes = request->environment_changes,
        .root = request->root,
        .named = request->named};
    enum status status;

    worker_process_init(&watch.worker);
    TRY(protocol_from_json(json_object_get(request->message, "protocol"), &watch.protocol, err));
    status = trial_record_begin(&watch.record, request, err);
    if (status == STATUS_OK)
        status = worker_process_start(&watch.worker, &start, err);
    if (status == STATUS_OK) {
        trial_telemetry_start(&watch.telemetry, request, watch.worker.process.pid);
        status = listen_to_worker(&watch, err);
    }
    if (status != STATUS_OK)
        fail(&watch, STATUS_INTERRUPTED, "the harness failed");
    reap(&watch);
    if (status == STATUS_OK)
        status = trial_telemetry_end(&watch.telemetry, &watch.record, err);
    else
        trial_telemetry_end(&watch.telemetry, NULL, NULL);
    if (status == STATUS_OK)
        status =
            trial_record_end(&watch.record, watch.status, watch.error.message, &watch.exit, err);
    trial_record_finish(&watch.record);
    worker_process_finish(&watch.worker);
    spot_schedule_finish(&watch.spots);
    handover_finish(&watch.handover);
    processes_finish(&watch.at_start);
    worker_state_finish(&watch.state);
    protocol_finish(&watch.protocol);
    TRY(status);
    ret->trial = watch.record.trial;
    ret->status = watch.status;
    ret->error = watch.error;
    return STATUS_OK;
}
