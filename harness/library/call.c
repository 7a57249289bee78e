#include <assay/call.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "harness/core/process.h"
#include "harness/library/inside.h"

#define TICK_MS 200

struct call {
    struct assay_call_options asked;
    struct process process;
    int lines[2]; /* pipe: its standard error */
    int output;   /* file without a name: its standard output */
    bool stopped;
    struct text line; /* what came of the next one */
};

static void finish(struct call *call)
{
    const int fds[] = {call->lines[0], call->lines[1], call->output};

    for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++)
        if (fds[i] >= 0)
            close(fds[i]);
    text_finish(&call->line);
}

/* The first time that the caller says so it is asked to stop, as by Ctrl-C. */
static void tell(struct call *call, const char *line)
{
    if (!call->asked.progress || call->asked.progress(call->asked.context, line) || call->stopped)
        return;
    call->stopped = true;
    process_signal(&call->process, SIGINT);
}

static void tell_lines(struct call *call, const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (bytes[i] != '\n') {
            text_append_char(&call->line, bytes[i]);
            continue;
        }
        tell(call, text_ok(&call->line) ? call->line.data : "");
        text_finish(&call->line);
        text_init(&call->line);
    }
}

/* Until it closes its standard error, at its end. */
static void follow(struct call *call)
{
    struct pollfd poll_fd = {.fd = call->lines[0], .events = POLLIN};
    ssize_t length = 1;
    char bytes[4096];

    while (length != 0) {
        const int ready = poll(&poll_fd, 1, TICK_MS);

        tell(call, NULL);
        length = ready > 0 ? read(call->lines[0], bytes, sizeof(bytes)) : 1;
        if (ready > 0 && length > 0)
            tell_lines(call, bytes, (size_t)length);
    }
}

static enum status start(struct call *call, const char *const *words, struct error *err)
{
    struct process_fd fds[2];
    struct process_options options = {
        .argv = (char *const *)(uintptr_t)words, .fds = fds, .fd_count = 2};

    call->output = memfd_create("assay-call", MFD_CLOEXEC);
    if (call->output < 0 || pipe2(call->lines, O_CLOEXEC) != 0)
        return error_set_errno(err, errno, "starting %s", words[0]);
    fds[0] = (struct process_fd){call->output, STDOUT_FILENO};
    fds[1] = (struct process_fd){call->lines[1], STDERR_FILENO};
    TRY(process_spawn(&options, &call->process, err));
    close(call->lines[1]);
    call->lines[1] = -1;
    return STATUS_OK;
}

/* What it wrote to its standard output: the document of --json (`assay schema`). */
static enum status read_answer(const struct call *call, const char *program, json_t **ret,
                               struct error *err)
{
    const off_t size = lseek(call->output, 0, SEEK_END);
    AUTO_FREE char *text = calloc((size_t)(size > 0 ? size : 0) + 1, 1);
    json_auto_t *document = NULL;
    const json_t *error;
    enum status status;

    if (!text)
        return error_no_memory(err);
    if (size > 0 && pread(call->output, text, (size_t)size, 0) == size)
        document = json_loadb(text, (size_t)size, 0, NULL);
    if (!json_is_object(document))
        return error_set(err, STATUS_PROTOCOL,
                         "%s answered no JSON: is it assay, and has the "
                         "command --json?",
                         program);
    *ret = json_incref(json_object_get(document, "data"));
    error = json_array_get(json_object_get(document, "errors"), 0);
    if (!error)
        return STATUS_OK;
    status = status_from_name(member_text(error, "status"));
    error_set(err, status < STATUS_COUNT ? status : STATUS_INTERNAL, "%s",
              member_text(error, "message"));
    snprintf(err->place, sizeof(err->place), "%s", member_text(error, "where"));
    return err->code;
}

/* PROGRAM COMMAND --json ...; heap, its words are borrowed. NULL: no memory. */
static const char **command_line(const char *program, const char *const *words)
{
    const char **line;
    size_t count = 0;

    while (words[count])
        count++;
    line = calloc(count + 3, sizeof(*line));
    if (!line)
        return NULL;
    line[0] = program;
    line[1] = words[0];
    line[2] = "--json";
    for (size_t i = 1; i < count; i++)
        line[i + 2] = words[i];
    return line;
}

static enum status run(struct call *call, const char *const *words, char **ret, struct error *err)
{
    const char *program = call->asked.program ? call->asked.program : "assay";
    AUTO_FREE const char **line = command_line(program, words);
    struct process_exit end;
    json_t *data = NULL;
    enum status status;

    if (!words[0])
        return error_set(err, STATUS_INVALID, "no command: write one that has --json");
    TRY(line ? start(call, line, err) : error_no_memory(err));
    follow(call);
    TRY(process_wait(&call->process, INT64_MAX, &end, err));
    status = read_answer(call, program, &data, err);
    if (!data || json_is_null(data)) {
        json_decref(data);
        return status;
    }
    TRY(library_text(data, ret, err));
    return status;
}

enum assay_status assay_call(const char *const *words, const struct assay_call_options *options,
                             char **ret)
{
    CLEANUP(finish)
    struct call call = {
        .asked = ASSAY_CALL_OPTIONS_INIT, .lines = {-1, -1}, .output = -1, .line = TEXT_INIT};

    *ret = NULL;
    LIBRARY_TAKE(call.asked, options);
    return library_end(run(&call, words, ret, library_begin()));
}
