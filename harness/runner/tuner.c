#include "harness/runner/tuner.h"

#include "harness/core/clock.h"
#include "harness/runner/message.h"
#include "harness/runner/worker_process.h"

#define SECOND_NS ((int64_t)1000000000)
#define STOP_GRACE_NS (2 * SECOND_NS)
#define SEND_NS (10 * SECOND_NS)

static enum status ask(struct worker_process *worker, const json_t *trial, struct error *err)
{
    json_t *body = json_copy((json_t *)trial);
    json_t *message = NULL;
    enum status status;

    if (body && json_object_set_new(body, "tune", json_true()) == 0)
        message = json_pack("{s:s, s:O}", "type", "trial", "trial", body);
    json_decref(body);
    if (!message)
        return error_set(err, STATUS_NO_MEMORY, "no memory for the trial's message");
    status = channel_write_json(&worker->channel, message, clock_monotonic_ns() + SEND_NS, err);
    json_decref(message);
    return status;
}

/* Reads the next message. An end or a closed channel without choices is an error. */
static enum status listen_once(struct worker_process *worker, const struct tuner_request *request,
                               json_t **ret, struct error *err)
{
    struct message message;
    char *line;
    size_t length;
    enum status status =
        channel_read_line(&worker->channel, clock_monotonic_ns() + request->silence_ns,
                          request->wake_fd, &line, &length, err);

    worker_process_forget_words(worker);
    if (status == STATUS_NOT_FOUND)
        return error_set(err, STATUS_CRASHED, "the worker ended before it had chosen");
    if (status == STATUS_OK)
        status = message_parse(line, length, &message, err);
    if (status != STATUS_OK)
        return status;
    if (message.type == MESSAGE_HELLO)
        status = ask(worker, request->message, err);
    else if (message.type == MESSAGE_CHOICES)
        *ret = json_incref((json_t *)message.body);
    else if (message.type == MESSAGE_END)
        status = error_set(err, message.status != STATUS_OK ? message.status : STATUS_PROTOCOL,
                           "%s", message.text ? message.text : "the worker chose nothing");
    message_finish(&message);
    return status;
}

enum status tuner_run(const struct tuner_request *request, json_t **ret, struct error *err)
{
    struct worker_process worker;
    struct process_exit exit;
    json_t *choices = NULL;
    enum status status;

    worker_process_init(&worker);
    status = worker_process_start(&worker,
                                  json_string_value(json_object_get(request->message, "device")),
                                  request->environment_changes, request->root, err);
    while (status == STATUS_OK && !choices)
        status = listen_once(&worker, request, &choices, err);
    if (worker.process.pid != 0 &&
        (status != STATUS_OK ||
         process_wait(&worker.process, clock_monotonic_ns() + SEND_NS, &exit, NULL) != STATUS_OK))
        process_stop(&worker.process, STOP_GRACE_NS, &exit);
    worker_process_finish(&worker);
    if (status == STATUS_OK)
        *ret = choices;
    return status;
}
