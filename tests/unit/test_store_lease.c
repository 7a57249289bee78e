#include <stddef.h>
#include <stdint.h>

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "results/store/lease.h"
#include "tests/support/unit.h"

static json_t *events(const char *event, const char *detail)
{
    return json_pack("[{s:s, s:s}, {s:s, s:s}, {s:s, s:s}]", "event", "started", "detail", "x 1 1",
                     "event", event, "detail", detail, "event", "archived", "detail", "old");
}

static enum status check(const char *event, const char *detail)
{
    json_t *list = events(event, detail);
    enum status status = lease_check(list, "abcd", NULL);

    json_decref(list);
    return status;
}

/* Another process identifies itself; it holds the lease exactly as long as it lives. */
TEST(other_process)
{
    char detail[LEASE_SIZE] = "";
    siginfo_t end;
    int ends[2];
    pid_t child;

    assert_int_equal(pipe(ends), 0);
    child = fork();
    if (child == 0) {
        char mine[LEASE_SIZE] = "";

        lease_describe(mine);
        if (write(ends[1], mine, sizeof(mine)) < 0)
            _exit(1);
        pause();
        _exit(0);
    }
    assert_int_equal(read(ends[0], detail, sizeof(detail)), sizeof(detail));
    assert_int_equal(check("started", detail), STATUS_BUSY);
    assert_int_equal(check("resumed", detail), STATUS_BUSY);
    assert_int_equal(check("finished", detail), STATUS_OK);
    assert_int_equal(check("interrupted", detail), STATUS_OK);
    /* Ended, and still in the list of processes: where nobody asks how it ended, for ever. */
    kill(child, SIGKILL);
    assert_int_equal(waitid(P_PID, (id_t)child, &end, WEXITED | WNOWAIT), 0);
    assert_int_equal(kill(child, 0), 0);
    assert_int_equal(check("started", detail), STATUS_OK);
    waitpid(child, NULL, 0);
    assert_int_equal(check("started", detail), STATUS_OK);
}

TEST(odd_details)
{
    char mine[LEASE_SIZE];
    json_t *none = json_array();

    lease_describe(mine);
    assert_int_equal(check("started", mine), STATUS_OK);
    assert_int_equal(check("started", "otherboot 1 1"), STATUS_OK);
    assert_int_equal(check("started", ""), STATUS_OK);
    assert_int_equal(check("started", "x -5 y"), STATUS_OK);
    assert_int_equal(lease_check(none, "abcd", NULL), STATUS_OK);
    assert_int_equal(lease_check(NULL, "abcd", NULL), STATUS_OK);
    json_decref(none);
}

/* A process that cannot be inspected (another container) has the lock as long as it lives. */
TEST(lock)
{
    char path[] = "/tmp/assay-lease-XXXXXX", byte;
    int fd = mkstemp(path), ends[2];
    pid_t child;

    assert_true(fd >= 0);
    assert_int_equal(pipe(ends), 0);
    child = fork();
    if (child == 0) {
        byte = lease_take(path, 7, "abcd", NULL) == STATUS_OK ? 'y' : 'n';
        if (write(ends[1], &byte, 1) < 0)
            _exit(1);
        pause();
        _exit(0);
    }
    assert_int_equal(read(ends[0], &byte, 1), 1);
    assert_int_equal(byte, 'y');
    assert_int_equal(lease_take(path, 7, "abcd", NULL), STATUS_BUSY);
    assert_true(lease_is_held(path, 7, NULL));
    assert_false(lease_is_held(path, 8, NULL));
    assert_int_equal(lease_take(path, 8, "other", NULL), STATUS_OK);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_false(lease_is_held(path, 7, NULL));
    assert_int_equal(lease_take(path, 7, "abcd", NULL), STATUS_OK);
    assert_int_equal(lease_take(path, 7, "abcd", NULL), STATUS_OK); /* no other process */
    lease_release(path, 7);
    lease_release(path, 7);
    assert_int_equal(lease_take("/nowhere/at/all", 7, "abcd", NULL), STATUS_OK);
    assert_false(lease_is_held("/nowhere/at/all", 7, NULL));
    close(fd);
    unlink(path);
}
