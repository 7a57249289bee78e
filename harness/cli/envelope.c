#include "harness/cli/envelope.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/cli/command.h"
#include "harness/cli/output.h"
#include "harness/cli/schema.h"
#include "harness/core/log.h"
#include "harness/core/member.h"
#include "harness/core/version.h"
#include "harness/library/inside.h"

static struct {
    bool open;
    const char *command;
    json_t *data, *findings, *errors;
    enum status cause; /* of the next error; STATUS_OK: not known */
    char place[ERROR_PLACE_MAX];
    char *interrupted; /* the document that is written on a signal */
    size_t interrupted_length;
    pid_t pid; /* a child between fork and exec writes nothing */
} envelope;

static volatile sig_atomic_t stage;
enum { STAGE_OPEN, STAGE_WRITING, STAGE_WRITTEN };

bool envelope_asked(int argc, char **argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (!strncmp(argv[i], "--json=", 7) ||
            (strlen(argv[i]) > 2 && !strncmp("--json", argv[i], strlen(argv[i]))))
            return true;
    return false;
}

static json_t *error_json(enum status code, const char *message, const char *place)
{
    return json_pack("{s:s, s:s, s:o}", "status", status_name(code), "message", message, "where",
                     place[0] ? json_string(place) : json_null());
}

static json_t *document(json_t *data, json_t *findings, json_t *errors)
{
    const struct schema schema = schema_find(envelope.command);
    char id[SCHEMA_ID_MAX];

    return json_pack("{s:s, s:s, s:s?, s:o, s:o, s:o}", "schema", schema_id(&schema, id), "version",
                     ASSAY_VERSION, "command", envelope.command, "data", data, "findings", findings,
                     "errors", errors);
}

void envelope_add_error(enum status code, const char *message, const char *place)
{
    if (envelope.open)
        json_array_append_new(envelope.errors, error_json(code, message, place));
}

/* What a person reads on standard error, a program reads in the document. */
static void listen(enum log_level level, const char *message)
{
    json_t *finding;

    if (level == LOG_LEVEL_ERROR) {
        envelope_add_error(envelope.cause, message, envelope.place);
        envelope.cause = STATUS_OK;
        envelope.place[0] = '\0';
    } else if (level == LOG_LEVEL_WARNING) {
        finding = json_pack("{s:s, s:s, s:[], s:s, s:s}", "code", "warning", "severity", "warning",
                            "trials", "message", message, "remedy", "");
        json_array_append_new(envelope.findings, finding);
    }
}

void envelope_write_interrupted(void)
{
    const char *bytes = envelope.interrupted;
    size_t left = envelope.interrupted_length;

    if (!envelope.open || stage != STAGE_OPEN || getpid() != envelope.pid)
        return;
    stage = STAGE_WRITTEN;
    while (left > 0) {
        ssize_t written = write(STDOUT_FILENO, bytes, left);

        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return;
        bytes += written;
        left -= (size_t)written;
    }
}

/* A document that is being written is finished; a second signal ends it. */
static void handle_signal(int number)
{
    const int before = errno;

    if (stage == STAGE_WRITING) {
        errno = before;
        return;
    }
    envelope_write_interrupted();
    raise(number); /* as it would have ended without us: SA_RESETHAND */
    errno = before;
}

static void handle_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = handle_signal, .sa_flags = SA_RESTART | SA_RESETHAND};

    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        struct sigaction before;

        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
            sigaction(numbers[i], &action, NULL);
    }
}

void envelope_begin(const char *command)
{
    envelope.command = command;
    envelope.pid = getpid();
    envelope.findings = json_array();
    envelope.errors = json_array();
    envelope.interrupted = library_json_text(
        document(json_null(), json_array(),
                 json_pack("[o]", error_json(STATUS_INTERRUPTED, "stopped by a signal", ""))));
    envelope.interrupted_length = envelope.interrupted ? strlen(envelope.interrupted) : 0;
    envelope.open = true;
    log_set_listener(listen);
    handle_signals();
}

void envelope_cancel(void)
{
    log_set_listener(NULL);
    envelope.open = false;
    json_decref(envelope.data);
    json_decref(envelope.findings);
    json_decref(envelope.errors);
    free(envelope.interrupted);
    envelope.data = envelope.findings = envelope.errors = NULL;
    envelope.interrupted = NULL;
}

bool envelope_is_open(void)
{
    return envelope.open;
}

void envelope_explain(enum status code, const char *place)
{
    envelope.cause = code;
    snprintf(envelope.place, sizeof(envelope.place), "%s", place);
}

void envelope_set_data(json_t *data)
{
    json_decref(envelope.data);
    envelope.data = data;
}

void envelope_add_findings(json_t *list)
{
    if (envelope.open)
        json_array_extend(envelope.findings, list);
    json_decref(list);
}

bool envelope_add_row(json_t *row)
{
    return json_array_append_new(envelope.data, row) == 0;
}

/* The status of an error that was logged without one. */
static enum status status_of_exit(int result)
{
    switch (result) {
    case ASSAY_EXIT_USAGE:
        return STATUS_INVALID;
    case ASSAY_EXIT_DEVICE:
        return STATUS_UNAVAILABLE;
    case ASSAY_EXIT_STORE:
        return STATUS_NOT_FOUND;
    case ASSAY_EXIT_SYSTEM:
        return STATUS_IO;
    case ASSAY_EXIT_INTERRUPTED:
        return STATUS_INTERRUPTED;
    default:
        return STATUS_INTERNAL;
    }
}

static void complete_errors(int result)
{
    const enum status code = status_of_exit(result);

    if (!envelope.data && json_array_size(envelope.errors) == 0)
        json_array_append_new(envelope.errors, error_json(code, status_meaning(code), ""));
    EACH(error, envelope.errors)
        if (!strcmp(member_string(error, "status"), status_name(STATUS_OK)))
            json_object_set_new(error, "status", json_string(status_name(code)));
}

int envelope_end(int result)
{
    json_t *data;
    char *text;
    int written;

    if (!envelope.open)
        return result == ASSAY_EXIT_OK ? output_flush() : result;
    complete_errors(result);
    data = envelope.data ? json_incref(envelope.data) : json_null();
    log_set_listener(NULL);
    text = library_json_text(
        document(data, json_incref(envelope.findings), json_incref(envelope.errors)));
    if (!text)
        log_error("no memory for the JSON of the result");
    stage = STAGE_WRITING;
    written = text ? output_bytes(text, strlen(text)) : ASSAY_EXIT_SYSTEM;
    stage = STAGE_WRITTEN;
    free(text);
    if (written != ASSAY_EXIT_OK && (envelope.data || !text))
        result = written;
    envelope_cancel();
    return result;
}
