#include "harness/core/process.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/core/cleanup.h"
#include "harness/core/clock.h"
#include "harness/core/file.h"
#include "harness/core/text.h"

#define SLICE_NS                                                                                   \
    ((int64_t)200000000)                    /* of waiting; twice as long: was suspended            \
                                             */
#define STOP_GRACE_NS ((int64_t)1000000000) /* for one that is stopped, on standard error */

static int open_pidfd(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0u);
}

/*
 * Polls for `slice_ns` or up to the deadline. Time beyond that is added to the deadline: the
 * machine or this process was suspended, and the child had no time either.
 */
static int poll_slice(struct pollfd *fds, nfds_t count, int64_t slice_ns, int64_t *deadline_ns)
{
    const int64_t begin_ns = clock_monotonic_ns();
    int64_t left_ns = *deadline_ns > begin_ns ? *deadline_ns - begin_ns : 0, over_ns;
    int ready;

    if (left_ns > slice_ns)
        left_ns = slice_ns;
    /* Rounded up, so that waiting never turns into spinning. */
    ready = poll(fds, count, (int)((left_ns + 999999) / 1000000));
    over_ns = clock_monotonic_ns() - begin_ns - left_ns;
    if (over_ns > SLICE_NS && __builtin_add_overflow(*deadline_ns, over_ns, deadline_ns))
        *deadline_ns = INT64_MAX;
    return ready;
}

/* One that is traced is reported when it stops, too. */
static bool has_ended(pid_t pid)
{
    siginfo_t info = {.si_pid = 0};

    if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT))
        return true;
    return info.si_pid == pid && info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED;
}

/* True once the child has ended, reaped or not; false when the deadline passes first. */
static bool wait_for_end(pid_t pid, int64_t deadline_ns)
{
    struct pollfd polled = {.fd = open_pidfd(pid), .events = POLLIN};
    int64_t slice_ns = polled.fd >= 0 ? SLICE_NS : 1000000;
    bool ended;

    while (!(ended = has_ended(pid)) && clock_monotonic_ns() < deadline_ns) {
        poll_slice(&polled, 1, slice_ns, &deadline_ns);
        if (slice_ns < 20000000) /* without a descriptor for its end, poll for it */
            slice_ns *= 2;
    }
    if (polled.fd >= 0)
        close(polled.fd);
    return ended;
}

static int64_t timeval_ns(struct timeval time)
{
    return (int64_t)time.tv_sec * 1000000000 + (int64_t)time.tv_usec * 1000;
}

/* Reaps a child that has ended. */
static enum status reap(struct process *process, struct process_exit *ret, struct error *err)
{
    struct rusage usage;
    struct process_exit exit = {0};
    int wstatus;
    pid_t got;

    do
        got = wait4(process->pid, &wstatus, 0, &usage);
    while (got < 0 && errno == EINTR);
    if (got < 0) {
        int reason = errno;

        process->pid = 0;
        return error_set_errno(err, reason, "wait");
    }
    process->pid = 0;
    exit.exited = WIFEXITED(wstatus);
    if (exit.exited) {
        exit.code = WEXITSTATUS(wstatus);
    } else {
        exit.signal = WTERMSIG(wstatus);
        exit.core_dumped = WCOREDUMP(wstatus);
    }
    exit.max_rss_bytes = (int64_t)usage.ru_maxrss * 1024;
    exit.user_ns = timeval_ns(usage.ru_utime);
    exit.system_ns = timeval_ns(usage.ru_stime);
    if (ret)
        *ret = exit;
    return STATUS_OK;
}

void process_signal(const struct process *process, int signal)
{
    if (process->pid > 0)
        kill(-process->pid, signal);
}

const char *process_signal_text(const struct process_exit *end, char ret[PROCESS_SIGNAL_SIZE])
{
    if (end->signal > 0)
        snprintf(ret, PROCESS_SIGNAL_SIZE, "signal %d (%s)", end->signal, strsignal(end->signal));
    else
        snprintf(ret, PROCESS_SIGNAL_SIZE,
                 "what is not known: SIGCHLD is ignored, or its end was taken by other code");
    return ret;
}

/* Before the leader is reaped, so that the group's number cannot have been reused. */
static void end_group(const struct process *process)
{
    process_signal(process, SIGKILL);
}

enum status process_wait(struct process *process, int64_t deadline_ns, struct process_exit *ret,
                         struct error *err)
{
    if (process->pid <= 0)
        return error_set(err, STATUS_INVALID, "there is no process to wait for");
    if (!wait_for_end(process->pid, deadline_ns))
        return error_set(err, STATUS_TIMEOUT, "process %d is still running", (int)process->pid);
    end_group(process);
    return reap(process, ret, err);
}

bool process_has_ended(const struct process *process)
{
    return process->pid <= 0 || has_ended(process->pid);
}

void process_stop(struct process *process, int64_t grace_ns, struct process_exit *ret)
{
    if (process->pid <= 0)
        return;
    if (!has_ended(process->pid)) {
        process_signal(process, SIGTERM);
        process_signal(process, SIGCONT); /* a stopped one would not get the signal */
        wait_for_end(process->pid, clock_monotonic_ns() + grace_ns);
    }
    end_group(process);
    reap(process, ret, NULL);
}

/* Ends this process's children, as a thread's file of them in /proc lists them; how many. */
static size_t end_children_of(const char *path)
{
    FILE *file = fopen(path, "re");
    size_t count = 0;
    int pid;

    while (file && fscanf(file, "%d", &pid) == 1) {
        kill(pid, SIGKILL);
        count += waitpid(pid, NULL, 0) == pid;
    }
    if (file)
        fclose(file);
    return count;
}

/*
 * What left the server's process group came to this process when its parent ended
 * (PR_SET_CHILD_SUBREAPER), and may itself have children, which come with its end. Nothing else is
 * a child of a process that started a server.
 */
void process_end_adopted(void)
{
    glob_t threads;
    size_t ended;

    do {
        ended = 0;
        if (glob("/proc/self/task/*/children", 0, NULL, &threads) != 0)
            return;
        for (size_t i = 0; i < threads.gl_pathc; i++)
            ended += end_children_of(threads.gl_pathv[i]);
        globfree(&threads);
    } while (ended > 0);
}

/* Takes what a pipe holds; false at its end. What exceeds `max` is read and dropped. */
static bool drain(int fd, struct text *output, size_t max)
{
    char buffer[16384];
    ssize_t got = read(fd, buffer, sizeof(buffer));

    if (got < 0)
        return errno == EINTR || errno == EAGAIN;
    if (got > 0) {
        size_t room = max - output->length;

        text_append_bytes(output, buffer, (size_t)got < room ? (size_t)got : room);
    }
    return got > 0;
}

/* Collects output until the child has ended and its pipe is empty; else says why to stop it. */
static enum status collect(const struct process_call *call, pid_t pid, int fd, struct text *output,
                           struct error *err)
{
    const char *name = call->name ? call->name : call->argv[0];
    int64_t deadline_ns = clock_monotonic_ns();
    struct pollfd polled[] = {{.fd = fd, .events = POLLIN},
                              {.fd = call->wake_fd, .events = POLLIN},
                              {.fd = open_pidfd(pid), .events = POLLIN}};
    const int64_t slice_ns = polled[2].fd >= 0 ? SLICE_NS : 20000000; /* else poll for the end */
    enum status status = STATUS_OK;
    bool ended = false;
    int reads_left = 64; /* once the child has ended: the content of the largest pipe */

    if (__builtin_add_overflow(deadline_ns, call->timeout_ns, &deadline_ns))
        deadline_ns = INT64_MAX;
    while (status == STATUS_OK) {
        /* A grandchild may keep the pipe open: once the child has ended, what is there is all. */
        int ready = poll_slice(polled, 3, ended ? 0 : slice_ns, &deadline_ns);

        if (ready > 0 && polled[1].revents) {
            status = error_set(err, STATUS_INTERRUPTED, "interrupted");
        } else if (ready > 0 && polled[0].revents) {
            if (!drain(fd, output, call->max_output + call->is_bounded))
                polled[0].fd = -1;
            if (call->is_bounded && output->length > call->max_output)
                status =
                    error_set(err, STATUS_INVALID, "%s writes more than the %zu bytes of an answer",
                              name, call->max_output);
            else if (ended && --reads_left == 0)
                break;
        } else if (ended) {
            break;
        }
        if (!ended && status == STATUS_OK) {
            ended = has_ended(pid);
            if (!ended && clock_monotonic_ns() >= deadline_ns)
                status =
                    error_set(err, STATUS_TIMEOUT, "%s did not end in time and was stopped", name);
        }
    }
    if (polled[2].fd >= 0)
        close(polled[2].fd);
    return status;
}

/* A file in memory that holds the input. */
static enum status open_input(const struct process_call *call, int *ret, struct error *err)
{
    const int fd = file_open_memory("assay-input", call->length);
    enum status status;

    if (fd < 0)
        return error_set_errno(err, errno, "a file in memory");
    status = file_write_all(fd, call->input, call->length, err);
    if (status == STATUS_OK && lseek(fd, 0, SEEK_SET) != 0)
        status = error_set_errno(err, errno, "a file in memory");
    if (status == STATUS_OK)
        *ret = fd;
    else
        close(fd);
    return status;
}

/* Starts it with its ends of the pipes; `ret_fd` is where to read its output. */
static enum status start(const struct process_call *call, struct process *ret, int *ret_fd,
                         struct error *err)
{
    struct process_fd fds[3] = {{.child_fd = STDOUT_FILENO}};
    struct process_options options = {.argv = call->argv,
                                      .envp = call->envp,
                                      .settings = call->settings,
                                      .fds = fds,
                                      .fd_count = 1};
    int pipe_fds[2], input = -1;
    enum status status;

    TRY(call->input ? open_input(call, &input, err) : STATUS_OK);
    if (input >= 0)
        fds[options.fd_count++] = (struct process_fd){input, STDIN_FILENO};
    if (call->error_fd >= 0)
        fds[options.fd_count++] = (struct process_fd){call->error_fd, STDERR_FILENO};
    if (pipe2(pipe_fds, O_CLOEXEC)) {
        status = error_set_errno(err, errno, "cannot start %s: pipe", call->argv[0]);
    } else {
        fcntl(pipe_fds[0], F_SETFL, O_NONBLOCK);
        fds[0].parent_fd = pipe_fds[1];
        status = process_spawn(&options, ret, err);
        close(pipe_fds[1]);
        *ret_fd = pipe_fds[0];
        if (status != STATUS_OK)
            close(pipe_fds[0]);
        if (status != STATUS_OK && status != STATUS_NO_MEMORY) {
            status = STATUS_UNAVAILABLE;
            if (err)
                err->code = status;
        }
    }
    if (input >= 0)
        close(input);
    return status;
}

enum status process_call(const struct process_call *call, char **ret, size_t *ret_length,
                         struct process_exit *ret_exit, struct error *err)
{
    const char *name = call->name ? call->name : call->argv[0];
    struct process_exit exit = {0};
    struct process process = {0};
    char by[PROCESS_SIGNAL_SIZE];
    enum status status;
    struct text output;
    int fd = -1;

    *ret = NULL;
    *ret_exit = exit;
    TRY(start(call, &process, &fd, err));
    text_init(&output);
    status = collect(call, process.pid, fd, &output, err);
    close(fd);
    process_stop(&process, status == STATUS_OK ? 0 : STOP_GRACE_NS, ret_exit);
    if (ret_length)
        *ret_length = output.length;
    *ret = text_steal(&output);
    TRY(status);
    if (!ret_exit->exited)
        return error_set(err, STATUS_CRASHED, "%s ended by %s", name,
                         process_signal_text(ret_exit, by));
    return *ret ? STATUS_OK : error_no_memory(err);
}

enum status process_capture(char *const *argv, int64_t timeout_ns, size_t max_output,
                            char **ret_output, struct process_exit *ret_exit, struct error *err)
{
    const struct process_call call = {.argv = argv,
                                      .error_fd = -1,
                                      .wake_fd = -1,
                                      .timeout_ns = timeout_ns,
                                      .max_output = max_output};
    struct process_exit exit;
    AUTO_FREE char *output = NULL;

    TRY(process_call(&call, &output, NULL, ret_exit ? ret_exit : &exit, err));
    *ret_output = output;
    output = NULL;
    return STATUS_OK;
}

void process_free_words(char **words)
{
    for (size_t i = 0; words && words[i]; i++)
        free(words[i]);
    free(words);
}
