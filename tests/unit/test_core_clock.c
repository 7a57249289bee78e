#include "harness/core/clock.h"

#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

#include "tests/support/unit.h"

TEST(iso)
{
    char iso[CLOCK_ISO_SIZE];

    clock_format_iso(0, iso);
    assert_string_equal(iso, "1970-01-01T00:00:00.000Z");
    clock_format_iso(INT64_C(1795190400123999999), iso);
    assert_string_equal(iso, "2026-11-20T16:00:00.123Z");
    clock_format_iso(-1, iso);
    assert_string_equal(iso, "1969-12-31T23:59:59.999Z");
    clock_format_iso(INT64_C(951782400) * 1000000000, iso);
    assert_string_equal(iso, "2000-02-29T00:00:00.000Z");
    clock_format_iso(INT64_MAX, iso);
    assert_string_equal(iso, "2262-04-11T23:47:16.854Z");
    clock_format_iso(INT64_MIN, iso);
    assert_string_equal(iso, "1677-09-21T00:12:43.145Z");
}

static volatile sig_atomic_t alarms;

static void on_alarm(int signal)
{
    (void)signal;
    ++alarms;
}

TEST(sleep)
{
    struct sigaction action = {.sa_handler = on_alarm};
    struct itimerval often = {.it_interval = {0, 2000}, .it_value = {0, 2000}};
    struct itimerval never = {{0, 0}, {0, 0}};
    int64_t deadline;

    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    deadline = clock_monotonic_ns() + 30000000;
    clock_sleep_until_ns(deadline);
    setitimer(ITIMER_REAL, &never, NULL);
    assert_true(clock_monotonic_ns() >= deadline); /* although signals came meanwhile */
    assert_true(alarms > 0);
    clock_sleep_until_ns(deadline); /* in the past: returns at once */
    clock_sleep_until_ns(0);
    clock_sleep_until_ns(-5);
}

static int64_t processor_ns(void)
{
    struct timespec used;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
}

/* Never back early, and asleep for most of the time. */
TEST(wait)
{
    const int64_t used_ns = processor_ns(), begin_ns = clock_monotonic_ns();

    for (int i = 1; i <= 10; i++) {
        clock_wait_until_ns(begin_ns + i * 10000000, 100000);
        assert_true(clock_monotonic_ns() >= begin_ns + i * 10000000);
    }
    assert_true(processor_ns() - used_ns < 50000000);
    clock_wait_until_ns(begin_ns, 100000); /* in the past */
    clock_wait_until_ns(clock_monotonic_ns() + 100000, INT64_C(1000000));
}

TEST(quality)
{
    struct clock_quality quality = clock_measure_quality(10000);

    assert_true(quality.resolution_ns > 0);
    assert_true(quality.read_cost_ns > 0);
    quality = clock_measure_quality(0);
    assert_true(quality.resolution_ns > 0);
    assert_true(clock_utc_ns() > INT64_C(1700000000) * 1000000000);
}

/* What is there goes on, at a rate that two readings give; what is not is -1. */
TEST(points)
{
    const struct clock_point from = clock_point_read();
    const struct clock_point none = {.raw_ns = -1, .ticks = -1};
    struct clock_point to = from;
    int64_t rate;

    assert_int_equal(clock_ticks_per_s(&from, &to), -1); /* too near */
    clock_sleep_until_ns(from.monotonic_ns + 60000000);
    to = clock_point_read();
    assert_true(to.monotonic_ns > from.monotonic_ns);
#if defined(__x86_64__) || defined(__aarch64__)
    assert_true(to.kernel_ns > from.kernel_ns && to.raw_ns > from.raw_ns);
#endif
    rate = clock_ticks_per_s(&from, &to);
    if (from.ticks < 0)
        assert_int_equal(rate, -1);
    else
        assert_true(rate > 1000000); /* ARM's counters have 1 MHz at the least, TSCs a thousand */
    assert_int_equal(clock_ticks_per_s(&none, &to), -1);
    assert_int_equal(clock_ticks_per_s(&(struct clock_point){0}, &to), -1);
}
