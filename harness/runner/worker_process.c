#include "harness/runner/worker_process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "backends/backend.h"
#include "harness/core/child_output.h"
#include "harness/core/cleanup.h"
#include "harness/runner/child_environment.h"
#include "harness/runner/named_worker.h"
#include "harness/runner/tool.h"
#include "harness/runner/worker_link.h"

#define VARIABLES_MAX 16

void worker_process_init(struct worker_process *worker)
{
    memset(worker, 0, sizeof(*worker));
    worker->channel.read_fd = worker->channel.write_fd = -1;
    worker->output_fd = -1;
}

void worker_process_append_words(const struct worker_process *worker, struct text *text)
{
    child_output_append(worker->output_fd, text);
}

void worker_process_forget_words(const struct worker_process *worker)
{
    child_output_forget(worker->output_fd);
}

bool worker_process_is_foreign(void)
{
    return getenv("ASSAY_WORKER") != NULL;
}

enum status worker_process_program(const char *root, struct digest *ret, struct error *err)
{
    const char *replacement = getenv("ASSAY_WORKER");
    char *path;
    enum status status;

    if (!replacement)
        return tool_digest(ret, err);
    path = text_format("%s%s", root ? root : "", replacement);
    status = path ? digest_file(path, ret, NULL, err) : error_no_memory(err);
    free(path);
    return status == STATUS_OK ? status : error_prefix(err, "the worker that ASSAY_WORKER names");
}

enum status worker_process_running(const struct worker_process *worker, struct digest *ret,
                                   struct error *err)
{
    char path[64];

    *ret = worker->program;
    if (worker->foreign)
        return STATUS_OK;
    snprintf(path, sizeof(path), "/proc/%d/exe", (int)worker->process.pid);
    if (digest_file(path, ret, NULL, err) == STATUS_OK)
        return STATUS_OK;
    error_prefix(err, "the worker's program");
    return err ? err->code : STATUS_UNAVAILABLE;
}

/* Who is to be started: its path and argument, borrowed; none: our own. */
static enum status find_program(struct worker_process *worker, const struct worker_start *start,
                                const char *ret[2], struct error *err)
{
    const struct named_worker *named = start->named;
    enum status status = STATUS_OK;

    if (named && named->program) {
        ret[0] = named->python ? named->python : named->program;
        ret[1] = named->python ? named->program : NULL;
        status = digest_file(named->program, &worker->program, NULL, err);
    } else if (!start->own && worker_process_is_foreign()) {
        ret[0] = getenv("ASSAY_WORKER");
        status = worker_process_program(start->root, &worker->program, err);
    }
    worker->foreign = ret[0] != NULL;
    return status;
}

/* Of the worker's words: a socket says who wrote, a pipe does not. */
static enum status open_words(int ret[2], struct error *err)
{
    const int on = 1, room = 1 << 20; /* fewer waits for the worker; no matter if not */

    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ret) < 0)
        return error_set_errno(err, errno, "a socket from the worker");
    setsockopt(ret[1], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room));
    if (setsockopt(ret[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) == 0)
        return STATUS_OK;
    close(ret[0]);
    close(ret[1]);
    return error_set_errno(err, errno, "a socket that says who wrote");
}

/* This process's, with the start's changes, and what its device or framework wants beside them. */
static enum status build_environment(struct worker_process *worker,
                                     const struct worker_start *start, char ***ret,
                                     struct error *err)
{
    const char *wanted[VARIABLES_MAX];
    size_t count = 0;

    TRY(child_environment_build(start->environment_changes, ret, err));
    if (!worker->foreign && start->device_spec)
        count = backend_environment(start->device_spec, wanted, VARIABLES_MAX);
    for (size_t i = 0; start->named && named_worker_quiet[i] && count < VARIABLES_MAX; i++)
        wanted[count++] = named_worker_quiet[i];
    TRY(child_environment_add_defaults(start->environment_changes, wanted, count, ret, err));
    for (char **variable = *ret; *variable; variable++)
        worker->preloads =
            worker->preloads || ((!strncmp(*variable, "LD_PRELOAD=", 11) && (*variable)[11]) ||
                                 (!strncmp(*variable, "LD_AUDIT=", 9) && (*variable)[9]));
    return STATUS_OK;
}

enum status worker_process_start(struct worker_process *worker, const struct worker_start *start,
                                 struct error *err)
{
    const char *program[2] = {NULL, NULL};
    char *argv[] = {NULL, (char *)"worker", NULL};
    int to_worker[2], from_worker[2];
    char **envp = NULL;
    AUTO_FREE char *path = NULL;
    enum status status;

    worker->output_fd = child_output_open("assay-worker");
    if (worker->output_fd < 0)
        return error_set_errno(err, errno, "memory for the worker's output");
    TRY(tool_path(&path, err));
    TRY(find_program(worker, start, program, err));
    argv[0] = worker->foreign ? (char *)program[0] : path;
    if (program[1])
        argv[1] = (char *)program[1];
    if (pipe2(to_worker, O_CLOEXEC) < 0)
        return error_set_errno(err, errno, "pipe to the worker");
    status = open_words(from_worker, err);
    if (status != STATUS_OK) {
        close(to_worker[0]);
        close(to_worker[1]);
        return status;
    }
    status = build_environment(worker, start, &envp, err);
    if (status == STATUS_OK) {
        struct process_fd fds[] = {{worker->output_fd, STDOUT_FILENO},
                                   {worker->output_fd, STDERR_FILENO},
                                   {to_worker[0], WORKER_READ_FD},
                                   {from_worker[1], WORKER_WRITE_FD}};
        struct process_options options = {
            .path = argv[0],
            .argv = argv,
            .envp = envp,
            .root = start->root,
            .fds = fds,
            .fd_count = sizeof(fds) / sizeof(fds[0]),
        };

        backend_unbind_process();
        status = process_spawn(&options, &worker->process, err);
    }
    process_free_words(envp);
    close(to_worker[0]);
    close(from_worker[1]);
    if (status == STATUS_OK) {
        status = channel_init(&worker->channel, from_worker[0], to_worker[1], err);
        worker->channel.speaker = worker->process.pid;
        return status;
    }
    close(to_worker[1]);
    close(from_worker[0]);
    return status;
}

void worker_process_finish(struct worker_process *worker)
{
    channel_finish(&worker->channel);
    if (worker->output_fd >= 0)
        close(worker->output_fd);
    worker->output_fd = -1;
}
