/*
 * A limit on a child is not used up while the waiting process is stopped: stopped here, as the
 * whole machine may be. The executable is its own child.
 */
#include "harness/core/process.h"

#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/core/clock.h"
#include "tests/support/unit.h"

#define SECOND INT64_C(1000000000)

static char *self;
static pid_t child;

static void end_slowly(int signal)
{
    (void)signal;
    clock_sleep_until_ns(clock_monotonic_ns() + SECOND / 10);
    _exit(0);
}

static int be_child(void)
{
    signal(SIGTERM, end_slowly);
    if (write(3, "x", 1) != 1)
        return 1;
    for (;;)
        pause();
}

static void end_child(int signal)
{
    (void)signal;
    kill(child, SIGTERM);
}

/* Waits three seconds for a child that begins to end once this process goes on. */
static int wait_for_child(int ready_fd)
{
    int pipe_fds[2];
    char *argv[] = {self, (char *)(uintptr_t) "child", NULL};
    struct process_fd fd = {.child_fd = 3};
    const struct process_options options = {.path = self, .argv = argv, .fds = &fd, .fd_count = 1};
    struct process process;
    char byte;

    if (pipe(pipe_fds))
        return 1;
    fd.parent_fd = pipe_fds[1];
    if (process_spawn(&options, &process, NULL) != STATUS_OK || read(pipe_fds[0], &byte, 1) != 1)
        return 1;
    child = process.pid;
    signal(SIGCONT, end_child);
    if (write(ready_fd, "x", 1) != 1)
        return 1;
    return process_wait(&process, clock_monotonic_ns() + 3 * SECOND, NULL, NULL) == STATUS_OK ? 7
                                                                                              : 8;
}

/* Four seconds while it is stopped do not count as the child's time. */
TEST(standstill)
{
    int pipe_fds[2], status;
    pid_t waiting;
    char byte;

    assert_int_equal(pipe(pipe_fds), 0);
    waiting = fork();
    assert_true(waiting >= 0);
    if (waiting == 0)
        _exit(wait_for_child(pipe_fds[1]));
    assert_int_equal(read(pipe_fds[0], &byte, 1), 1);
    clock_sleep_until_ns(clock_monotonic_ns() + SECOND / 10); /* most likely it waits by then */
    assert_int_equal(kill(waiting, SIGSTOP), 0);
    assert_int_equal(waitpid(waiting, &status, WUNTRACED), waiting);
    assert_true(WIFSTOPPED(status));
    clock_sleep_until_ns(clock_monotonic_ns() + 4 * SECOND);
    assert_int_equal(kill(waiting, SIGCONT), 0);
    assert_int_equal(waitpid(waiting, &status, 0), waiting);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 7);
    close(pipe_fds[0]);
    close(pipe_fds[1]);
}

int main(int argc, char **argv)
{
    self = argv[0];
    return argc > 1 ? be_child() : unit_run(NULL, NULL);
}
