#include "harness/runner/tuner.h"

#include "harness/core/clock.h"
#include "harness/runner/message.h"
#include "harness/runner/worker_process.h"

#define SECOND_NS ((int64_t)1000000000)
#define STOP_GRACE_NS (2 * SECOND_NS)
#define SEND_NS (10 * SECOND_NS)

static enum status ask(struct worker_process *worker, const struct tuner_request *request,
                       struct error *err)
{
    json_t *body = json_copy((json_t *)request->message);
    const struct message message = {MESSAGE_TRIAL, .body = body};
    enum status status;

    if (json_object_set_new(body, request->trace ? "trace" : "tune", json_true()) != 0)
        status = error_no_memory(err);
    else
        status = message_send(&worker->channel, &message, clock_monotonic_ns() + SEND_NS, err);
    json_decref(body);
    return status;
}

/*
 * Reads the next message. An end or a closed channel without choices is an error. `ret_over`: the
 * worker has no more to say and ends by itself.
 */
static enum status listen_once(struct worker_process *worker, const struct tuner_request *request,
                               json_t **ret, bool *ret_over, struct error *err)
{
    struct message message;
    char *line;
    size_t length;
    enum status status =
        channel_read_line(&worker->channel, clock_monotonic_ns() + request->silence_ns,
                          request->wake_fd, &line, &length, err);

    worker_process_forget_words(worker);
    if (status == STATUS_NOT_FOUND)
        return error_set(err, STATUS_CRASHED, "the worker ended before it had %s",
                         request->trace ? "traced" : "chosen");
    if (status == STATUS_TIMEOUT)
        return error_set(err, status, "no word from the worker for %.0f s",
                         (double)request->silence_ns / 1e9);
    TRY(status);
    TRY(message_parse(line, length, &message, err));
    if (message.type == MESSAGE_HELLO)
        status = ask(worker, request, err);
    else if (message.type == (request->trace ? MESSAGE_TRACE : MESSAGE_CHOICES))
        *ret = json_incref((json_t *)message.body);
    else if (message.type == MESSAGE_END)
        status = error_set(
            err, message.end.status != STATUS_OK ? message.end.status : STATUS_PROTOCOL, "%s",
            message.end.message ? message.end.message
                                : "the worker sent nothing of what was asked for");
    *ret_over = *ret || message.type == MESSAGE_END;
    message_finish(&message);
    return status;
}

/* Appends to the reason the worker's last output, which is complete once it has ended. */
static void add_words(const struct worker_process *worker, struct error *err)
{
    struct text text;

    text_init(&text);
    text_append(&text, err->message);
    worker_process_append_words(worker, &text);
    if (text_ok(&text))
        error_set(err, err->code, "%s", text.data);
    text_finish(&text);
}

enum status tuner_run(const struct tuner_request *request, json_t **ret, struct error *err)
{
    const struct worker_start start = {
        .device_spec = json_string_value(json_object_get(request->message, "device")),
        .environment_changes = request->environment_changes,
        .root = request->root,
        .named = request->named};
    struct worker_process worker;
    struct process_exit exit;
    json_t *choices = NULL;
    bool over = false;
    enum status status;

    worker_process_init(&worker);
    status = worker_process_start(&worker, &start, err);
    while (status == STATUS_OK && !choices)
        status = listen_once(&worker, request, &choices, &over, err);
    if (worker.process.pid != 0 &&
        (!over ||
         process_wait(&worker.process, clock_monotonic_ns() + SEND_NS, &exit, NULL) != STATUS_OK))
        process_stop(&worker.process, STOP_GRACE_NS, &exit);
    if (status != STATUS_OK && status != STATUS_INTERRUPTED && !over && err)
        add_words(&worker, err);
    worker_process_finish(&worker);
    if (status == STATUS_OK)
        *ret = choices;
    return status;
}
