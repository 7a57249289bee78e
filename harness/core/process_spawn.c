/* process_spawn() of process.h: what happens between fork and exec. */
#include "harness/core/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define FD_MAX 64

/* What the child sends when it cannot execute the program. */
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

/* Puts every descriptor in its place; first all are moved aside, since two may be exchanged. */
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

/* /proc, /sys and /dev as here, in a mount namespace of the child's own; a root may have them. */
static void bind_system_folders(void)
{
    static const char *const folders[][2] = {{"/proc", "proc"}, {"/sys", "sys"}, {"/dev", "dev"}};

    if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
        return;
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); ++i)
        mount(folders[i][0], folders[i][1], NULL, MS_BIND | MS_REC, NULL); /* or as it is */
}

/* The program may lie outside the new root: it is opened before and executed by its descriptor. */
static void enter_root(const struct process_options *options, char *const *envp, int error_fd)
{
    int program = options->path ? open(options->path, O_PATH | O_CLOEXEC) : -1;

    if (options->path && program < 0)
        fail_child(error_fd, "exec");
    if (chdir(options->root))
        fail_child(error_fd, "chdir");
    bind_system_folders();
    if (chroot("."))
        fail_child(error_fd, "chroot");
    if (chdir("/"))
        fail_child(error_fd, "chdir");
    if (program >= 0) {
        syscall(SYS_execveat, program, "", options->argv, envp, AT_EMPTY_PATH);
        fail_child(error_fd, "exec");
    }
}

/* Until the parent lets it go. */
static void wait_before_exec(int gate_fd)
{
    char byte;

    while (gate_fd >= 0 && read(gate_fd, &byte, 1) < 0 && errno == EINTR)
        ;
}

static void run_child(const struct process_options *options, char *const *envp, pid_t parent,
                      int null_fd, int gate_fd, int error_fd)
{
    setpgid(0, 0);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL))
        fail_child(error_fd, "prctl");
    if (getppid() != parent) /* it died before it could be watched */
        _exit(127);
    wait_before_exec(gate_fd);
    place_descriptors(options, null_fd, &error_fd);
    reset_signals();
    if (options->root)
        enter_root(options, envp, error_fd);
    if (options->directory && chdir(options->directory))
        fail_child(error_fd, "chdir");
    if (options->path)
        execve(options->path, options->argv, envp);
    else
        execvpe(options->argv[0], options->argv, envp);
    fail_child(error_fd, "exec");
}

/* Reads what the child sent: nothing once the program runs. */
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

static enum status explain_fork(const struct process_options *options, int reason,
                                struct error *err)
{
    if (reason == EAGAIN)
        return error_set(err, STATUS_IO,
                         "cannot start %s: no further process is allowed: raise the limit "
                         "(ulimit -u, or the container's pids.max), then do it again",
                         options->argv[0]);
    return error_set_errno(err, reason, "cannot start %s: fork", options->argv[0]);
}

const char *const process_plain[] = {"LC_ALL=C", NULL};

/* The settings, and the environment without what they set; the array is heap. */
static char **make_environment(const struct process_options *options)
{
    char *const *own = options->envp ? options->envp : environ;
    size_t count = 0, added = 0;
    char **ret;

    while (own[count])
        count++;
    while (options->settings && options->settings[added])
        added++;
    ret = calloc(count + added + 1, sizeof(*ret));
    for (size_t i = 0; ret && i < added; i++)
        ret[i] = (char *)(uintptr_t)options->settings[i];
    for (size_t kept = added, set; ret && *own; own++) {
        for (set = 0; set < added && strncmp(ret[set], *own, strcspn(*own, "=") + 1) != 0;)
            set++;
        if (set == added)
            ret[kept++] = *own;
    }
    return ret;
}

/* One that could not execute, and ends; where this process traces it, it stops at its end. */
static void reap(pid_t pid)
{
    int how = 0;
    pid_t got;

    do {
        got = waitpid(pid, &how, 0);
        if (got == pid && WIFSTOPPED(how))
            ptrace(PTRACE_DETACH, pid, NULL, NULL);
    } while ((got < 0 && errno == EINTR) || (got == pid && WIFSTOPPED(how)));
}

static void close_pipe(const int fds[2])
{
    for (int i = 0; i < 2; i++)
        if (fds[i] >= 0)
            close(fds[i]);
}

/* The child waits at the other end of the gate, which it holds open itself: a byte lets it go. */
static void let_go(const struct process_options *options, pid_t pid, int gate_fd)
{
    options->forked(options->context, pid);
    while (write(gate_fd, "", 1) < 0 && errno == EINTR)
        ;
}

enum status process_spawn(const struct process_options *options, struct process *ret,
                          struct error *err)
{
    int error_pipe[2] = {-1, -1}, gate[2] = {-1, -1}, null_fd = -1;
    enum status status;
    sigset_t all, before;
    pid_t parent = getpid(), pid;
    char **environment;

    if (options->fd_count > FD_MAX)
        return error_set(err, STATUS_INVALID, "more than %d descriptors for a child", FD_MAX);
    environment = make_environment(options);
    if (!environment)
        return error_no_memory(err);
    null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (null_fd < 0 || pipe2(error_pipe, O_CLOEXEC) ||
        (options->forked && pipe2(gate, O_CLOEXEC))) {
        status = error_set_errno(err, errno, "cannot start %s: %s", options->argv[0],
                                 null_fd < 0 ? "/dev/null" : "pipe");
        close_pipe(error_pipe);
        if (null_fd >= 0)
            close(null_fd);
        free(environment);
        return status;
    }
    /* No handler of this process may run in the child. */
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid = fork();
    if (pid == 0)
        run_child(options, environment, parent, null_fd, gate[0], error_pipe[1]);
    if (pid > 0)
        setpgid(pid, pid); /* here too: the group must exist whichever process runs first */
    if (pid > 0 && options->forked)
        let_go(options, pid, gate[1]);
    close_pipe(gate);
    status = pid < 0 ? explain_fork(options, errno, err) : STATUS_OK;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    free(environment);
    close(null_fd);
    close(error_pipe[1]);
    if (status == STATUS_OK) {
        status = read_failure(error_pipe[0], options, err);
        if (status == STATUS_OK)
            ret->pid = pid;
        else
            reap(pid);
    }
    close(error_pipe[0]);
    return status;
}
