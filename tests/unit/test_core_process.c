/*
 * The executable is its own child: with a first argument it does what a test needs. Waits
 * are for events (a byte on a pipe, the end of a process), so that a slow machine changes nothing.
 */
#include "harness/core/process.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/core/clock.h"
#include "harness/core/text.h"
#include "tests/support/unit.h"

/* argv wants char *, which exec(3) never writes to. */
#define ARG(string) ((char *)(string))

#define SECOND INT64_C(1000000000)

static char *self;

static enum status spawn_mode(const char *mode, const struct process_fd *fds, size_t count,
                              struct process *ret)
{
    char *argv[] = {self, (char *)mode, NULL};
    struct process_options options = {.path = self, .argv = argv, .fds = fds, .fd_count = count};
    struct error err = ERROR_INIT;
    enum status status = process_spawn(&options, ret, &err);

    if (status != STATUS_OK)
        print_error("%s\n", err.message);
    return status;
}

/* Blocks until the other end writes a byte (true) or closes (false). */
static bool read_byte(int fd)
{
    char byte;
    ssize_t got;

    do
        got = read(fd, &byte, 1);
    while (got < 0 && errno == EINTR);
    return got == 1;
}

TEST(exit_code)
{
    struct process process;
    struct process_exit ended;
    struct error err = ERROR_INIT;

    assert_int_equal(spawn_mode("exit7", NULL, 0, &process), STATUS_OK);
    assert_int_equal(process_wait(&process, INT64_MAX, &ended, &err), STATUS_OK);
    assert_true(ended.exited);
    assert_int_equal(ended.code, 7);
    assert_true(ended.max_rss_bytes > 0);
    assert_true(ended.user_ns >= 0 && ended.system_ns >= 0);
    assert_int_equal(process.pid, 0);
    assert_int_equal(process_wait(&process, INT64_MAX, &ended, &err), STATUS_INVALID);
    process_signal(&process, SIGKILL); /* no process, and above all not this one */
    process_stop(&process, SECOND, &ended);
}

TEST(crash)
{
    struct process process;
    struct process_exit ended;

    assert_int_equal(spawn_mode("crash", NULL, 0, &process), STATUS_OK);
    assert_int_equal(process_wait(&process, INT64_MAX, &ended, NULL), STATUS_OK);
    assert_false(ended.exited);
    assert_int_equal(ended.signal, SIGSEGV);
}

TEST(hang)
{
    struct process_exit ended = {.code = 55};
    struct process process;
    struct process_fd fd = {.child_fd = 3};
    struct error err = ERROR_INIT;
    int pipe_fds[2];

    assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
    fd.parent_fd = pipe_fds[1];
    assert_int_equal(spawn_mode("hang", &fd, 1, &process), STATUS_OK);
    close(pipe_fds[1]);
    assert_true(read_byte(pipe_fds[0])); /* it now ignores SIGTERM */
    assert_int_equal(process_wait(&process, 0, &ended, &err), STATUS_TIMEOUT);
    assert_int_equal(process_wait(&process, clock_monotonic_ns() + 20000000, &ended, &err),
                     STATUS_TIMEOUT);
    assert_int_equal(ended.code, 55); /* untouched */
    assert_true(process.pid > 0);
    process_stop(&process, 10000000, &ended);
    assert_false(ended.exited);
    assert_int_equal(ended.signal, SIGKILL);
    assert_false(read_byte(pipe_fds[0]));
    close(pipe_fds[0]);
}

TEST(stop_is_polite)
{
    struct process_exit ended;
    struct process process;
    struct process_fd fd = {.child_fd = 3};
    int pipe_fds[2];

    assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
    fd.parent_fd = pipe_fds[1];
    assert_int_equal(spawn_mode("polite", &fd, 1, &process), STATUS_OK);
    close(pipe_fds[1]);
    assert_true(read_byte(pipe_fds[0]));
    process_stop(&process, 60 * SECOND, &ended);
    assert_true(ended.exited);
    assert_int_equal(ended.code, 9);
    close(pipe_fds[0]);
}

/* A child's children end with it. */
TEST(stop_takes_group)
{
    struct process process;
    struct process_fd fd = {.child_fd = 3};
    int pipe_fds[2];

    assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
    fd.parent_fd = pipe_fds[1];
    assert_int_equal(spawn_mode("family", &fd, 1, &process), STATUS_OK);
    close(pipe_fds[1]);
    assert_true(read_byte(pipe_fds[0]));
    process_stop(&process, 0, NULL);
    assert_false(read_byte(pipe_fds[0])); /* returns when nobody holds the other end */
    close(pipe_fds[0]);
}

/* So do those that outlive it. */
TEST(wait_takes_group)
{
    struct process process;
    struct process_exit ended;
    struct process_fd fd = {.child_fd = 3};
    int pipe_fds[2];

    assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
    fd.parent_fd = pipe_fds[1];
    assert_int_equal(spawn_mode("leaves", &fd, 1, &process), STATUS_OK);
    close(pipe_fds[1]);
    assert_true(read_byte(pipe_fds[0]));
    assert_int_equal(process_wait(&process, INT64_MAX, &ended, NULL), STATUS_OK);
    assert_int_equal(ended.code, 5);
    assert_true(process_has_ended(&process));
    assert_false(read_byte(pipe_fds[0]));
    close(pipe_fds[0]);
}

TEST(exec_failure)
{
    char *argv[] = {ARG("assay-no-such-program"), NULL};
    struct process_options options = {.argv = argv};
    struct process process = {77};
    struct error err = ERROR_INIT;

    assert_int_equal(process_spawn(&options, &process, &err), STATUS_NOT_FOUND);
    assert_string_equal(err.message,
                        "cannot start assay-no-such-program: No such file or directory");
    assert_int_equal(process.pid, 77);
    options.path = "/etc/passwd";
    assert_int_equal(process_spawn(&options, &process, &err), STATUS_DENIED);
    assert_string_equal(err.message, "cannot start /etc/passwd: Permission denied");
    assert_int_equal(process_spawn(&options, &process, NULL), STATUS_DENIED);
    options.root = "/nowhere";
    assert_int_equal(process_spawn(&options, &process, &err), STATUS_NOT_FOUND);
    assert_string_equal(err.message,
                        "cannot start /etc/passwd: chdir /nowhere: No such file or directory");
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no zombie is left */
    assert_int_equal(errno, ECHILD);
}

/* The two descriptors exchange their numbers, and others do not arrive. */
TEST(descriptors)
{
    struct process process;
    struct process_exit ended;
    struct error err = ERROR_INIT;
    struct process_fd fds[3];
    int a[2], b[2], leaked;
    char buffer[16];

    assert_int_equal(pipe(a), 0); /* without CLOEXEC on purpose */
    assert_int_equal(pipe(b), 0);
    leaked = dup(a[0]);
    fds[0] = (struct process_fd){a[1], b[1]};
    fds[1] = (struct process_fd){b[1], a[1]};
    fds[2] = (struct process_fd){a[1], STDERR_FILENO};
    {
        char first[16], second[16], *argv[] = {self, ARG("exchange"), first, second, NULL};
        struct process_options options = {.path = self, .argv = argv, .fds = fds, .fd_count = 3};

        snprintf(first, sizeof(first), "%d", b[1]);
        snprintf(second, sizeof(second), "%d", a[1]);
        assert_int_equal(process_spawn(&options, &process, &err), STATUS_OK);
    }
    close(a[1]);
    close(b[1]);
    assert_int_equal(process_wait(&process, INT64_MAX, &ended, &err), STATUS_OK);
    assert_true(ended.exited);
    assert_int_equal(ended.code, 5); /* 0, 1, 2 and two more are open in the child */
    memset(buffer, 0, sizeof(buffer));
    assert_int_equal(read(a[0], buffer, sizeof(buffer)), 2);
    assert_string_equal(buffer, "Ae"); /* "e" through stderr, which is the first pipe too */
    memset(buffer, 0, sizeof(buffer));
    assert_int_equal(read(b[0], buffer, sizeof(buffer)), 1);
    assert_string_equal(buffer, "B");
    close(a[0]);
    close(b[0]);
    close(leaked);
}

TEST(signals_are_reset)
{
    struct process process;
    struct process_exit ended;
    sigset_t blocked, before;

    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    sigprocmask(SIG_BLOCK, &blocked, &before);
    signal(SIGPIPE, SIG_IGN);
    assert_int_equal(spawn_mode("signals", NULL, 0, &process), STATUS_OK);
    signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_SETMASK, &before, NULL);
    assert_int_equal(process_wait(&process, INT64_MAX, &ended, NULL), STATUS_OK);
    assert_true(ended.exited);
    assert_int_equal(ended.code, 0);
}

/* A child of a parent that is killed ends too: its end of the pipe closes. */
TEST(dies_with_parent)
{
    int pipe_fds[2];
    pid_t middle;

    assert_int_equal(pipe(pipe_fds), 0);
    middle = fork();
    assert_true(middle >= 0);
    if (middle == 0) {
        struct process process;
        struct process_fd fd = {pipe_fds[1], 3};

        close(pipe_fds[0]);
        _exit(spawn_mode("hang", &fd, 1, &process) == STATUS_OK ? (close(pipe_fds[1]), pause())
                                                                : 1);
    }
    close(pipe_fds[1]);
    assert_true(read_byte(pipe_fds[0]));
    kill(middle, SIGKILL);
    assert_int_equal(waitpid(middle, NULL, 0), middle);
    assert_false(read_byte(pipe_fds[0]));
    close(pipe_fds[0]);
}

TEST(capture)
{
    char *hello[] = {ARG("sh"), ARG("-c"), ARG("cat; printf 'a\\0b'; printf no >&2; exit 3"), NULL};
    char *much[] = {self, ARG("much"), NULL};
    char *crash[] = {self, ARG("crash"), NULL};
    char *hang[] = {self, ARG("hang-quiet"), NULL};
    char *orphan[] = {self, ARG("orphan"), NULL};
    char *none[] = {ARG("assay-no-such-program"), NULL};
    struct process_exit ended;
    struct error err = ERROR_INIT;
    char *output = NULL;

    assert_int_equal(process_capture(hello, INT64_MAX, 100, &output, &ended, &err), STATUS_OK);
    assert_memory_equal(output, "a\0b", 4);
    assert_true(ended.exited);
    assert_int_equal(ended.code, 3);
    free(output);
    assert_int_equal(process_capture(much, INT64_MAX, 1000, &output, &ended, &err), STATUS_OK);
    assert_int_equal(strlen(output), 1000);
    assert_int_equal(ended.code, 0); /* the rest was read, so it could end */
    free(output);
    output = NULL;
    assert_int_equal(process_capture(crash, INT64_MAX, 10, &output, &ended, &err), STATUS_CRASHED);
    assert_non_null(strstr(err.message, "signal 11"));
    assert_int_equal(process_capture(hang, 50000000, 10, &output, &ended, &err), STATUS_TIMEOUT);
    assert_int_equal(process_capture(none, SECOND, 10, &output, &ended, &err), STATUS_UNAVAILABLE);
    assert_int_equal(err.code, STATUS_UNAVAILABLE);
    assert_non_null(strstr(err.message, "assay-no-such-program"));
    assert_null(output);
    /* A grandchild that keeps the pipe open does not delay the call. */
    assert_int_equal(process_capture(orphan, INT64_MAX, 10, &output, NULL, &err), STATUS_OK);
    assert_string_equal(output, "done");
    free(output);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

/* How it ended is told to nobody then, and said so. */
TEST(children_are_ignored)
{
    char *argv[] = {ARG("true"), NULL}, *output = NULL;
    struct error err = ERROR_INIT;

    signal(SIGCHLD, SIG_IGN);
    assert_int_equal(process_capture(argv, INT64_MAX, 10, &output, NULL, &err), STATUS_CRASHED);
    signal(SIGCHLD, SIG_DFL);
    assert_null(output);
    assert_non_null(strstr(err.message, "true ended by what is not known: SIGCHLD is ignored"));
}

/* What a program wrote before it crashed is kept, both streams separately. */
TEST(call)
{
    char *argv[] = {ARG("sh"), ARG("-c"), ARG("echo out; echo no >&2; kill -9 $$"), NULL};
    char *none[] = {ARG("assay-no-such-program"), NULL};
    char template[] = "/tmp/assay-both-XXXXXX", written[8] = "";
    const int fd = mkstemp(template);
    struct process_call call = {
        .argv = argv, .error_fd = fd, .wake_fd = -1, .timeout_ns = INT64_MAX, .max_output = 100};
    struct process_exit ended;
    struct error err = ERROR_INIT;
    char *output = NULL;

    assert_true(fd >= 0);
    unlink(template);
    assert_int_equal(process_call(&call, &output, NULL, &ended, &err), STATUS_CRASHED);
    assert_string_equal(output, "out\n");
    assert_int_equal(ended.signal, 9);
    assert_int_equal(pread(fd, written, sizeof(written) - 1, 0), 3);
    assert_string_equal(written, "no\n");
    free(output);
    call.argv = none;
    assert_int_equal(process_call(&call, &output, NULL, &ended, &err), STATUS_UNAVAILABLE);
    assert_null(output);
    close(fd);
}

static int count_descriptors(void)
{
    int count = 0;

    for (int fd = 0; fd < 1024; ++fd)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

TEST(no_leak)
{
    char *argv[] = {ARG("true"), NULL};
    char *none[] = {ARG("assay-no-such-program"), NULL};
    int before = count_descriptors();
    char *output = NULL;

    for (int i = 0; i < 5; ++i) {
        assert_int_equal(process_capture(argv, INT64_MAX, 10, &output, NULL, NULL), STATUS_OK);
        free(output);
        process_capture(none, INT64_MAX, 10, &output, NULL, NULL);
    }
    assert_int_equal(count_descriptors(), before);
}

static void on_term(int signal)
{
    (void)signal;
    _exit(9);
}

static int be_child(int argc, char **argv)
{
    const char *mode = argv[1];

    if (!strcmp(mode, "exit7"))
        return 7;
    if (!strcmp(mode, "crash")) {
        struct rlimit none = {0, 0};

        setrlimit(RLIMIT_CORE, &none);
        signal(SIGSEGV, SIG_DFL); /* sanitizers have a handler of their own */
        raise(SIGSEGV);
    }
    if (!strcmp(mode, "hang") || !strcmp(mode, "hang-quiet")) {
        signal(SIGTERM, SIG_IGN);
        if (!strcmp(mode, "hang") && write(3, "x", 1) != 1)
            return 1;
        for (;;)
            pause();
    }
    if (!strcmp(mode, "polite")) {
        signal(SIGTERM, on_term);
        if (write(3, "x", 1) != 1)
            return 1;
        for (;;)
            pause();
    }
    if (!strcmp(mode, "family") || !strcmp(mode, "leaves")) {
        if (fork() == 0) {
            signal(SIGTERM, SIG_IGN);
            if (write(3, "x", 1) != 1)
                return 1;
            for (;;)
                pause();
        }
        if (!strcmp(mode, "leaves"))
            return 5;
        for (;;)
            pause();
    }
    if (!strcmp(mode, "orphan")) {
        if (fork() == 0)
            for (;;)
                pause();
        return write(STDOUT_FILENO, "done", 4) != 4;
    }
    if (!strcmp(mode, "exchange") && argc == 4) {
        int open_count = count_descriptors();

        if (write(atoi(argv[2]), "A", 1) != 1 || write(atoi(argv[3]), "B", 1) != 1 ||
            write(STDERR_FILENO, "e", 1) != 1)
            return 100;
        return open_count;
    }
    if (!strcmp(mode, "signals")) {
        struct sigaction action;
        sigset_t mask;

        sigprocmask(SIG_SETMASK, NULL, &mask);
        sigaction(SIGPIPE, NULL, &action);
        return sigismember(&mask, SIGUSR1) || action.sa_handler != SIG_DFL || getpgrp() != getpid();
    }
    if (!strcmp(mode, "much")) {
        for (int i = 0; i < 100000; ++i)
            fputs("0123456789", stdout);
        return 0;
    }
    return 99;
}

/* From here on the newer system calls are missing, as in older kernels and sandboxes. */
static bool pretend_old_kernel(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close_range, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_open, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof(filter) / sizeof(*filter), filter};

    return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
           !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) &&
           syscall(SYS_pidfd_open, getpid(), 0u) < 0 && errno == ENOSYS;
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "old-kernel")) {
        if (!pretend_old_kernel())
            return 77;
    } else if (argc > 1) {
        return be_child(argc, argv);
    }
    self = realpath("/proc/self/exe", NULL);
    if (!self)
        return 1;
    argc = unit_run(NULL, NULL);
    free(self);
    return argc;
}
