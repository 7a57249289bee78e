#include "harness/core/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/core/clock.h"
#include "harness/core/text.h"

#define FD_MAX 64

/* What the child says when it cannot become the program. */
struct failure {
    char step[24];
    int reason;
};

/*
 * The child between fork and exec: only system calls, since another thread of the parent may have
 * held any lock when it was forked.
 */
static void fail_child(int error_fd, const char *step)
{
    struct failure failure = {.reason = errno};

    strncpy(failure.step, step, sizeof(failure.step) - 1);
    while (write(error_fd, &failure, sizeof(failure)) < 0 && errno == EINTR)
        ;
    _exit(127);
}

/* For kernels (or sandboxes) that do not know close_range(2). */
static void mark_all_by_directory(void)
{
    char buffer[4096] __attribute__((aligned(8)));
    int directory = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ssize_t got;

    while (directory >= 0 && (got = getdents64(directory, buffer, sizeof(buffer))) > 0) {
        for (ssize_t at = 0; at < got;) {
            const struct dirent64 *entry = (const struct dirent64 *)(buffer + at);
            int fd = 0;

            for (const char *c = entry->d_name; *c >= '0' && *c <= '9'; ++c)
                fd = 10 * fd + (*c - '0');
            fcntl(fd, F_SETFD, FD_CLOEXEC);
            at += entry->d_reclen;
        }
    }
}

static void mark_all_close_on_exec(void)
{
    if (syscall(SYS_close_range, 0u, ~0u, (unsigned)CLOSE_RANGE_CLOEXEC))
        mark_all_by_directory();
}

/* Puts every descriptor in its place; first all out of the way, since places may be exchanged. */
static void place_descriptors(const struct process_options *options, int null_fd, int *error_fd)
{
    int moved[FD_MAX], highest = STDERR_FILENO;

    for (size_t i = 0; i < options->fd_count; ++i)
        if (options->fds[i].child_fd > highest)
            highest = options->fds[i].child_fd;
    for (size_t i = 0; i < options->fd_count; ++i) {
        moved[i] = fcntl(options->fds[i].parent_fd, F_DUPFD_CLOEXEC, highest + 1);
        if (moved[i] < 0)
            fail_child(*error_fd, "dup");
    }
    null_fd = fcntl(null_fd, F_DUPFD_CLOEXEC, highest + 1);
    if (null_fd < 0)
        fail_child(*error_fd, "dup");
    *error_fd = fcntl(*error_fd, F_DUPFD_CLOEXEC, highest + 1);
    if (*error_fd < 0)
        _exit(127);
    mark_all_close_on_exec();
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd)
        if (dup2(null_fd, fd) < 0)
            fail_child(*error_fd, "dup2");
    for (size_t i = 0; i < options->fd_count; ++i)
        if (dup2(moved[i], options->fds[i].child_fd) < 0)
            fail_child(*error_fd, "dup2");
}

static void reset_signals(void)
{
    struct sigaction normal = {.sa_handler = SIG_DFL};
    sigset_t none;

    for (int signal = 1; signal < NSIG; ++signal)
        sigaction(signal, &normal, NULL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static void run_child(const struct process_options *options, pid_t parent, int null_fd,
                      int error_fd)
{
    char *const *envp = options->envp ? options->envp : environ;

    setpgid(0, 0);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL))
        fail_child(error_fd, "prctl");
    if (getppid() != parent) /* it died before it could be watched */
        _exit(127);
    place_descriptors(options, null_fd, &error_fd);
    reset_signals();
    if (options->root) {
        if (chroot(options->root))
            fail_child(error_fd, "chroot");
        if (chdir("/"))
            fail_child(error_fd, "chdir");
    }
    if (options->path)
        execve(options->path, options->argv, envp);
    else
        execvpe(options->argv[0], options->argv, envp);
    fail_child(error_fd, "exec");
}

/* Reads what the child had to say: nothing once the program runs. */
static enum status read_failure(int fd, const struct process_options *options, struct error *err)
{
    const char *program = options->path ? options->path : options->argv[0];
    struct failure failure;
    ssize_t got;

    do
        got = read(fd, &failure, sizeof(failure));
    while (got < 0 && errno == EINTR);
    if (got != (ssize_t)sizeof(failure))
        return STATUS_OK;
    failure.step[sizeof(failure.step) - 1] = '\0';
    if (!strcmp(failure.step, "exec"))
        return error_set_errno(err, failure.reason, "cannot start %s%s%s", program,
                               options->root ? " in root " : "",
                               options->root ? options->root : "");
    return error_set_errno(err, failure.reason, "cannot start %s: %s%s%s", program, failure.step,
                           options->root ? " " : "", options->root ? options->root : "");
}

enum status process_spawn(const struct process_options *options, struct process *ret,
                          struct error *err)
{
    int error_pipe[2] = {-1, -1}, null_fd = -1;
    enum status status;
    sigset_t all, before;
    pid_t parent = getpid(), pid;

    if (options->fd_count > FD_MAX)
        return error_set(err, STATUS_INVALID, "more than %d descriptors for a child", FD_MAX);
    null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null_fd < 0)
        return error_set_errno(err, errno, "/dev/null");
    if (pipe2(error_pipe, O_CLOEXEC)) {
        status = error_set_errno(err, errno, "cannot start %s: pipe", options->argv[0]);
        close(null_fd);
        return status;
    }
    /* No handler of this process may run in the child. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid = fork();
    if (pid == 0)
        run_child(options, parent, null_fd, error_pipe[1]);
    if (pid > 0)
        setpgid(pid, pid); /* here too: the group exists whoever is first */
    status = pid < 0 ? error_set_errno(err, errno, "cannot start %s: fork", options->argv[0])
                     : STATUS_OK;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    close(null_fd);
    close(error_pipe[1]);
    if (status == STATUS_OK) {
        status = read_failure(error_pipe[0], options, err);
        if (status == STATUS_OK)
            ret->pid = pid;
        else
            while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
                ;
    }
    close(error_pipe[0]);
    return status;
}

static int open_pidfd(pid_t pid)
{
    return (int)syscall(SYS_pidfd_open, pid, 0u);
}

/* Poll's timeout up to a deadline, rounded up so that waiting never turns into spinning. */
static int poll_timeout(int64_t deadline_ns)
{
    int64_t left = deadline_ns - clock_monotonic_ns();

    if (deadline_ns == INT64_MAX)
        return -1;
    if (left <= 0)
        return 0;
    left = left / 1000000 + 1;
    return left > INT_MAX ? INT_MAX : (int)left;
}

static bool has_ended(pid_t pid)
{
    siginfo_t info = {.si_pid = 0};

    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid == pid;
}

/* True once the child has ended, reaped or not; false when the deadline passes first. */
static bool wait_for_end(pid_t pid, int64_t deadline_ns)
{
    int fd = open_pidfd(pid);
    int64_t pause_ns = 1000000;
    bool ended;

    while (!(ended = has_ended(pid))) {
        int64_t now = clock_monotonic_ns();

        if (now >= deadline_ns)
            break;
        if (fd >= 0) {
            poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, poll_timeout(deadline_ns));
            continue;
        }
        clock_sleep_until_ns(deadline_ns - now < pause_ns ? deadline_ns : now + pause_ns);
        if (pause_ns < 20000000)
            pause_ns *= 2;
    }
    if (fd >= 0)
        close(fd);
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

enum status process_wait(struct process *process, int64_t deadline_ns, struct process_exit *ret,
                         struct error *err)
{
    if (process->pid <= 0)
        return error_set(err, STATUS_INVALID, "there is no process to wait for");
    if (!wait_for_end(process->pid, deadline_ns))
        return error_set(err, STATUS_TIMEOUT, "process %d is still running", (int)process->pid);
    return reap(process, ret, err);
}

void process_signal(const struct process *process, int signal)
{
    if (process->pid > 0)
        kill(-process->pid, signal);
}

void process_stop(struct process *process, int64_t grace_ns, struct process_exit *ret)
{
    if (process->pid <= 0)
        return;
    if (!has_ended(process->pid)) {
        process_signal(process, SIGTERM);
        process_signal(process, SIGCONT); /* a stopped one could not hear it */
        wait_for_end(process->pid, clock_monotonic_ns() + grace_ns);
    }
    /* Before the leader is reaped, so that the group's number cannot be somebody else's. */
    process_signal(process, SIGKILL);
    reap(process, ret, NULL);
}

/* Takes what a pipe holds; false at its end. What goes beyond `max` is read and dropped. */
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
    struct pollfd polled[2] = {{.fd = fd, .events = POLLIN},
                               {.fd = open_pidfd(pid), .events = POLLIN}};
    bool ended = false;

    for (;;) {
        /* A grandchild may keep the pipe open: once the child has ended, what is there is all. */
        int ready = poll(polled, 2, ended ? 0 : poll_timeout(deadline_ns));

        if (ready > 0 && polled[0].revents) {
            if (!drain(fd, output, max))
                break;
            if (!ended && clock_monotonic_ns() >= deadline_ns)
                break;
            continue;
        }
        if (ended || clock_monotonic_ns() >= deadline_ns)
            break;
        if (ready > 0 && polled[1].revents)
            ended = true;
    }
    if (polled[1].fd >= 0)
        close(polled[1].fd);
    return wait_for_end(pid, deadline_ns);
}

enum status process_capture(char *const *argv, int64_t timeout_ns, size_t max_output,
                            char **ret_output, struct process_exit *ret_exit, struct error *err)
{
    int64_t deadline_ns = clock_monotonic_ns();
    struct process process = {0};
    struct process_exit exit = {0};
    struct process_fd fd = {.child_fd = STDOUT_FILENO};
    struct process_options options = {.argv = argv, .fds = &fd, .fd_count = 1};
    enum status status;
    struct text output;
    int pipe_fds[2];
    bool in_time;
    char *string;

    if (__builtin_add_overflow(deadline_ns, timeout_ns, &deadline_ns))
        deadline_ns = INT64_MAX;
    if (pipe2(pipe_fds, O_CLOEXEC))
        return error_set_errno(err, errno, "cannot start %s: pipe", argv[0]);
    fcntl(pipe_fds[0], F_SETFL, O_NONBLOCK);
    fd.parent_fd = pipe_fds[1];
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
    process_stop(&process, 0, &exit);
    string = text_steal(&output);
    if (!in_time)
        status = error_set(err, STATUS_TIMEOUT, "%s did not end in time and was stopped", argv[0]);
    else if (!exit.exited)
        status = error_set(err, STATUS_CRASHED, "%s ended by signal %d (%s)", argv[0], exit.signal,
                           strsignal(exit.signal));
    else if (!string)
        status = error_set(err, STATUS_NO_MEMORY, "%s: out of memory for its output", argv[0]);
    if (status != STATUS_OK) {
        free(string);
        return status;
    }
    *ret_output = string;
    if (ret_exit)
        *ret_exit = exit;
    return STATUS_OK;
}
