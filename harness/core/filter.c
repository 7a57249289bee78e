#include "harness/core/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/core/clock.h"
#include "harness/core/file.h"
#include "harness/core/process.h"
#include "harness/core/text.h"

#define SLICE_MS 100
#define GRACE_NS INT64_C(1000000000) /* from SIGTERM to SIGKILL */

/* A file in memory that holds the input, so that the command may read it when it likes, or never.
 */
static enum status open_input(const struct filter *filter, int *ret, struct error *err)
{
    const int fd = file_open_memory("assay-input", filter->length);
    enum status status;

    if (fd < 0)
        return error_set_errno(err, errno, "a file in memory");
    status = file_write_all(fd, filter->input, filter->length, err);
    if (status == STATUS_OK && lseek(fd, 0, SEEK_SET) != 0)
        status = error_set_errno(err, errno, "a file in memory");
    if (status == STATUS_OK)
        *ret = fd;
    else
        close(fd);
    return status;
}

/* This process's environment and the settings; the array is heap. */
static char **make_environment(const char *const *settings)
{
    size_t own = 0, added = 0;
    char **ret;

    while (environ[own])
        own++;
    while (settings && settings[added])
        added++;
    ret = calloc(own + added + 1, sizeof(*ret));
    for (size_t i = 0; ret && i < added; i++)
        ret[i] = (char *)(uintptr_t)settings[i]; /* the first of a name counts */
    for (size_t i = 0; ret && i < own; i++)
        ret[added + i] = environ[i];
    return ret;
}

static enum status start(const struct filter *filter, int input, int output, struct process *ret,
                         struct error *err)
{
    char shell[] = "sh", option[] = "-c";
    char *argv[] = {shell, option, (char *)(uintptr_t)filter->command, NULL};
    const struct process_fd fds[] = {
        {input, STDIN_FILENO}, {output, STDOUT_FILENO}, {STDERR_FILENO, STDERR_FILENO}};
    char **environment = make_environment(filter->settings);
    const struct process_options options = {
        .path = "/bin/sh", .argv = argv, .envp = environment, .fds = fds, .fd_count = 3};
    enum status status = environment ? process_spawn(&options, ret, err)
                                     : error_set(err, STATUS_NO_MEMORY, "out of memory");

    free(environment);
    return status;
}

/* Takes what there is to read; false at the end of the output. */
static bool take(int fd, struct text *output)
{
    char buffer[4096];
    const ssize_t got = read(fd, buffer, sizeof(buffer));

    if (got > 0)
        text_append_bytes(output, buffer, (size_t)got);
    return got > 0 || (got < 0 && (errno == EINTR || errno == EAGAIN));
}

/* Reads until the command has ended or must be ended. */
static enum status collect(const struct filter *filter, const struct process *process, int fd,
                           struct text *output, struct error *err)
{
    const int64_t deadline_ns = clock_monotonic_ns() + filter->timeout_ns;
    struct pollfd polled[] = {{.fd = fd, .events = POLLIN},
                              {.fd = filter->wake_fd, .events = POLLIN}};
    bool open = true;

    for (;;) {
        /* Asked before reading: what an ended process wrote is in the pipe by then. */
        const bool ended = process_has_ended(process);

        poll(polled, 2, ended ? 0 : SLICE_MS);
        if (polled[1].revents)
            return error_set(err, STATUS_INTERRUPTED, "interrupted");
        if (open && polled[0].revents)
            open = take(fd, output);
        else if (ended)
            return STATUS_OK;
        if (!open)
            polled[0].fd = -1;
        if (output->length > filter->max_output)
            return error_set(err, STATUS_INVALID, "it writes more than the %zu bytes of an answer",
                             filter->max_output);
        if (clock_monotonic_ns() > deadline_ns)
            return error_set(err, STATUS_TIMEOUT, "it does not end within %lld s",
                             (long long)(filter->timeout_ns / 1000000000));
    }
}

static enum status judge_end(const struct process_exit *end, struct error *err)
{
    if (!end->exited)
        return error_set(err, STATUS_CRASHED, "it was ended by signal %d", end->signal);
    if (end->code != 0)
        return error_set(err, STATUS_UNAVAILABLE, "it ended with status %d", end->code);
    return STATUS_OK;
}

static enum status hand_over(struct text *output, char **ret, size_t *ret_length, struct error *err)
{
    const size_t length = output->length;
    char *bytes = !text_ok(output) ? NULL : length > 0 ? text_steal(output) : strdup("");

    if (!bytes)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    *ret = bytes;
    *ret_length = length;
    return STATUS_OK;
}

enum status filter_run(const struct filter *filter, char **ret, size_t *ret_length,
                       struct error *err)
{
    struct process process = {0};
    struct process_exit end = {0};
    struct text output;
    int input = -1, ends[2] = {-1, -1};
    enum status status = open_input(filter, &input, err);

    if (status != STATUS_OK)
        return status;
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        status = error_set_errno(err, errno, "pipe");
    /* The command's own end blocks, as it is used to. */
    if (status == STATUS_OK && fcntl(ends[1], F_SETFL, 0) != 0)
        status = error_set_errno(err, errno, "pipe");
    text_init(&output);
    if (status == STATUS_OK)
        status = start(filter, input, ends[1], &process, err);
    close(input);
    if (ends[1] >= 0)
        close(ends[1]);
    if (status == STATUS_OK) {
        status = collect(filter, &process, ends[0], &output, err);
        process_stop(&process, status == STATUS_OK ? 0 : GRACE_NS, &end);
    }
    if (ends[0] >= 0)
        close(ends[0]);
    if (status == STATUS_OK)
        status = hand_over(&output, ret, ret_length, err);
    text_finish(&output);
    return status == STATUS_OK ? judge_end(&end, err) : status;
}
