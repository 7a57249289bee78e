#include "harness/runner/worker_process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "backends/backend.h"
#include "harness/core/log.h"
#include "harness/runner/child_environment.h"
#include "harness/runner/tool.h"
#include "harness/runner/words.h"
#include "harness/runner/worker_link.h"

#define VARIABLES_MAX 16

void worker_process_init(struct worker_process *worker)
{
    memset(worker, 0, sizeof(*worker));
    worker->channel.read_fd = worker->channel.write_fd = -1;
    worker->words_fd = -1;
}

void worker_process_append_words(const struct worker_process *worker, struct text *text)
{
    words_append(worker->words_fd, text);
}

void worker_process_forget_words(const struct worker_process *worker)
{
    words_forget(worker->words_fd);
}

bool worker_process_is_foreign(void)
{
    return getenv("ASSAY_WORKER") != NULL;
}

enum status worker_process_start(struct worker_process *worker, const char *device_spec,
                                 char *const *environment_changes, const char *root,
                                 struct error *err)
{
    const char *wanted[VARIABLES_MAX];
    char *own_argv[] = {NULL, (char *)"worker", NULL};
    char *replacement = getenv("ASSAY_WORKER");
    int to_worker[2], from_worker[2];
    char **envp = NULL;
    char *path = NULL;
    enum status status;

    worker->words_fd = words_open("assay-worker");
    if (worker->words_fd < 0)
        return error_set_errno(err, errno, "memory for the worker's output");
    status = tool_path(&path, err);
    if (status != STATUS_OK)
        return status;
    own_argv[0] = replacement ? replacement : path;
    if (pipe2(to_worker, O_CLOEXEC) < 0) {
        free(path);
        return error_set_errno(err, errno, "pipe to the worker");
    }
    if (pipe2(from_worker, O_CLOEXEC) < 0) {
        close(to_worker[0]);
        close(to_worker[1]);
        free(path);
        return error_set_errno(err, errno, "pipe from the worker");
    }
    fcntl(from_worker[1], F_SETPIPE_SZ, 1 << 20); /* fewer waits for the worker; no matter if not */
    status = child_environment_build(environment_changes, &envp, err);
    if (status == STATUS_OK && !replacement && device_spec)
        status = child_environment_add_defaults(
            environment_changes, wanted, backend_environment(device_spec, wanted, VARIABLES_MAX),
            &envp, err);
    if (status == STATUS_OK) {
        struct process_fd fds[] = {{worker->words_fd, STDOUT_FILENO},
                                   {worker->words_fd, STDERR_FILENO},
                                   {to_worker[0], WORKER_READ_FD},
                                   {from_worker[1], WORKER_WRITE_FD}};
        struct process_options options = {
            .path = replacement ? replacement : path,
            .argv = own_argv,
            .envp = envp,
            .root = root,
            .fds = fds,
            .fd_count = sizeof(fds) / sizeof(fds[0]),
        };

        backend_unbind_process();
        status = process_spawn(&options, &worker->process, err);
    }
    child_environment_free(envp);
    free(path);
    close(to_worker[0]);
    close(from_worker[1]);
    if (status == STATUS_OK)
        return channel_init(&worker->channel, from_worker[0], to_worker[1], err);
    close(to_worker[1]);
    close(from_worker[0]);
    return status;
}

void worker_process_finish(struct worker_process *worker)
{
    channel_finish(&worker->channel);
    if (worker->words_fd >= 0)
        close(worker->words_fd);
    worker->words_fd = -1;
}
