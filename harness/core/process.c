#include "harness/core/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/core/clock.h"
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

static bool has_ended(pid_t pid)
{
    siginfo_t info = {.si_pid = 0};

    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid == pid;
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

/* Collects output until the child has ended and its pipe is empty; false at the deadline. */
static bool collect(pid_t pid, int fd, int64_t deadline_ns, struct text *output, size_t max)
{
    int end_fd = open_pidfd(pid);
    const int64_t slice_ns = end_fd >= 0 ? SLICE_NS : 20000000; /* else poll for the end */
    struct pollfd polled[2] = {{.fd = fd, .events = POLLIN}, {.fd = end_fd, .events = POLLIN}};
    bool ended = false;
    int reads_left = 64; /* once the child has ended: the content of the largest pipe */

    for (;;) {
        /* A grandchild may keep the pipe open: once the child has ended, what is there is all. */
        int ready = poll_slice(polled, 2, ended ? 0 : slice_ns, &deadline_ns);

        if (ready > 0 && polled[0].revents) {
            if (!drain(fd, output, max))
                break;
            if (ended ? --reads_left == 0 : clock_monotonic_ns() >= deadline_ns)
                break;
            continue;
        }
        if (ended || clock_monotonic_ns() >= deadline_ns)
            break;
        ended = has_ended(pid);
    }
    if (end_fd >= 0)
        close(end_fd);
    return wait_for_end(pid, deadline_ns);
}

char **process_plain_environment(void)
{
    size_t count = 0, kept = 0;
    char **copy;

    while (environ[count])
        count++;
    copy = calloc(count + 2, sizeof(*copy));
    for (size_t i = 0; copy && i < count; i++)
        if (strncmp(environ[i], "LC_ALL=", 7) != 0)
            copy[kept++] = environ[i];
    if (copy)
        copy[kept] = (char *)"LC_ALL=C";
    return copy;
}

/* How a reaped child ended, as an error. */
static enum status judge(const char *program, bool in_time, const struct process_exit *exit,
                         const char *output, struct error *err)
{
    if (!in_time)
        return error_set(err, STATUS_TIMEOUT, "%s did not end in time and was stopped", program);
    if (!exit->exited)
        return error_set(err, STATUS_CRASHED, "%s ended by signal %d (%s)", program, exit->signal,
                         strsignal(exit->signal));
    if (!output)
        return error_set(err, STATUS_NO_MEMORY, "%s: out of memory for its output", program);
    return STATUS_OK;
}

/* `ret_output` and `ret_exit` are set whenever the program was started. */
static enum status capture(char *const *argv, char *const *envp, int error_fd, int64_t timeout_ns,
                           size_t max_output, char **ret_output, struct process_exit *ret_exit,
                           struct error *err)
{
    int64_t deadline_ns = clock_monotonic_ns();
    struct process process = {0};
    struct process_fd fds[2] = {{.child_fd = STDOUT_FILENO},
                                {.parent_fd = error_fd, .child_fd = STDERR_FILENO}};
    struct process_options options = {
        .argv = argv, .envp = envp, .fds = fds, .fd_count = error_fd >= 0 ? 2 : 1};
    enum status status;
    struct text output;
    int pipe_fds[2];
    bool in_time;

    if (__builtin_add_overflow(deadline_ns, timeout_ns, &deadline_ns))
        deadline_ns = INT64_MAX;
    if (pipe2(pipe_fds, O_CLOEXEC))
        return error_set_errno(err, errno, "cannot start %s: pipe", argv[0]);
    fcntl(pipe_fds[0], F_SETFL, O_NONBLOCK);
    fds[0].parent_fd = pipe_fds[1];
    status = process_spawn(&options, &process, err);
    close(pipe_fds[1]);
    if (status != STATUS_OK) {
        close(pipe_fds[0]);
        if (err)
            err->code = STATUS_UNAVAILABLE;
        return STATUS_UNAVAILABLE;
    }
    text_init(&output);
    in_time = collect(process.pid, pipe_fds[0], deadline_ns, &output, max_output);
    close(pipe_fds[0]);
    process_stop(&process, in_time ? 0 : STOP_GRACE_NS, ret_exit);
    *ret_output = text_steal(&output);
    return judge(argv[0], in_time, ret_exit, *ret_output, err);
}

enum status process_capture(char *const *argv, int64_t timeout_ns, size_t max_output,
                            char **ret_output, struct process_exit *ret_exit, struct error *err)
{
    return process_capture_with(argv, NULL, timeout_ns, max_output, ret_output, ret_exit, err);
}

enum status process_capture_with(char *const *argv, char *const *envp, int64_t timeout_ns,
                                 size_t max_output, char **ret_output,
                                 struct process_exit *ret_exit, struct error *err)
{
    struct process_exit exit = {0};
    char *output = NULL;
    enum status status = capture(argv, envp, -1, timeout_ns, max_output, &output, &exit, err);

    if (status != STATUS_OK) {
        free(output);
        return status;
    }
    *ret_output = output;
    if (ret_exit)
        *ret_exit = exit;
    return STATUS_OK;
}

enum status process_capture_both(char *const *argv, int error_fd, int64_t timeout_ns,
                                 size_t max_output, char **ret_output,
                                 struct process_exit *ret_exit, struct error *err)
{
    *ret_output = NULL;
    *ret_exit = (struct process_exit){0};
    return capture(argv, NULL, error_fd, timeout_ns, max_output, ret_output, ret_exit, err);
}
