/* Silence of a process, without the time in which it could not run. */
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/core/clock.h"
#include "harness/core/waits.h"
#include "harness/runner/silence.h"
#include "tests/support/unit.h"

#define S INT64_C(1000000000)

TEST(idle_process_is_silent)
{
    struct silence silence;

    silence_broken(&silence, 100 * S);
    assert_false(silence_is_long(&silence, 106 * S, 60 * S));
    assert_true(silence_is_long(&silence, 107 * S, 60 * S));
    assert_int_equal(silence_counted(&silence, 101 * S, 5 * S, 60 * S), 1 * S);
    assert_int_equal(silence_counted(&silence, 161 * S, 5 * S, 60 * S), 61 * S);
    silence_broken(&silence, 161 * S);
    assert_int_equal(silence_counted(&silence, 162 * S, 5 * S, 60 * S), 1 * S);
}

TEST(time_in_queues_does_not_count)
{
    struct silence silence;
    int64_t now = 0, queued = 7 * S, counted = 0;

    silence_broken(&silence, now);
    silence_counted(&silence, now, queued, 10 * S);
    /* Two threads wait in turn: 1.6 s of 2; both at once: never more than the time that passed. */
    for (int i = 0; i < 10; i++)
        counted = silence_counted(&silence, now += 2 * S, queued += 8 * S / 5, 10 * S);
    assert_int_equal(counted, 4 * S);
    for (int i = 0; i < 10; i++)
        counted = silence_counted(&silence, now += 2 * S, queued += 4 * S, 10 * S);
    assert_int_equal(counted, 4 * S);
    assert_int_equal(silence.waited_ns, 36 * S);
}

TEST(no_silence_is_endless)
{
    struct silence silence;
    int64_t now = 0, queued = 0, counted = 0;

    silence_broken(&silence, now);
    while (counted <= 10 * S && now < 10000 * S)
        counted = silence_counted(&silence, now += S, queued += S, 10 * S);
    assert_in_range(now, 100 * S, 102 * S);
}

TEST(unknown_queues)
{
    struct silence silence;

    silence_broken(&silence, 0);
    assert_int_equal(silence_counted(&silence, 10 * S, -1, 60 * S), 10 * S);
    assert_int_equal(silence_counted(&silence, 20 * S, 100 * S, 60 * S), 20 * S);
    assert_int_equal(silence_counted(&silence, 30 * S, 90 * S, 60 * S),
                     30 * S); /* a thread ended */
    assert_int_equal(silence_counted(&silence, 40 * S, -1, 60 * S), 40 * S);
}

static void spin(int64_t until_ns)
{
    while (clock_monotonic_ns() < until_ns)
        ;
}

/* Both on one processor: one of the two is always in its queue. */
TEST(queue_of_a_process)
{
    cpu_set_t before, one;
    struct waits_span span;
    int64_t queued;
    pid_t pid;

    assert_int_equal(sched_getaffinity(0, sizeof(before), &before), 0);
    CPU_ZERO(&one);
    for (size_t i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; i++)
        if (CPU_ISSET(i, &before))
            CPU_SET(i, &one);
    assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
    pid = fork();
    if (pid == 0) {
        spin(INT64_MAX);
        _exit(0);
    }
    span = waits_span_begin();
    spin(clock_monotonic_ns() + S / 2);
    queued = waits_queued_ns(pid);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    sched_setaffinity(0, sizeof(before), &before);
    if (access("/proc/self/schedstat", R_OK) == 0)
        assert_true(queued > 0);
    assert_int_equal(waits_queued_ns(pid), -1);
    if (queued > 0)
        assert_in_range(waits_span_end_ns(&span), 1, 9 * S / 20); /* half of the time, and less */
}
