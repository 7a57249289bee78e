#include "harness/core/clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>

#define NS_PER_S INT64_C(1000000000)

int64_t clock_utc_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

int64_t clock_kernel_ns(void)
{
    struct timespec now;
    long result;

#if defined(__x86_64__)
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"((long)SYS_clock_gettime), "D"((long)CLOCK_MONOTONIC), "S"(&now)
                     : "rcx", "r11", "memory");
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = SYS_clock_gettime;
    register long x0 __asm__("x0") = CLOCK_MONOTONIC;
    register struct timespec *x1 __asm__("x1") = &now;

    __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1) : "memory");
    result = x0;
#else
    result = -1;
#endif
    return result == 0 ? (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec : -1;
}

void clock_sleep_until_ns(int64_t deadline_ns)
{
    struct timespec until;

    if (deadline_ns <= 0)
        return;
    until.tv_sec = (time_t)(deadline_ns / NS_PER_S);
    until.tv_nsec = (long)(deadline_ns % NS_PER_S);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        ;
}

void clock_format_iso(int64_t utc_ns, char *ret)
{
    int64_t seconds = utc_ns / NS_PER_S, rest = utc_ns % NS_PER_S;
    char stamp[CLOCK_ISO_SIZE - 6];
    struct tm tm;
    time_t when;

    if (rest < 0) { /* before 1970: round down, not towards zero */
        rest += NS_PER_S;
        --seconds;
    }
    when = (time_t)seconds;
    gmtime_r(&when, &tm);
    strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%S", &tm);
    snprintf(ret, CLOCK_ISO_SIZE, "%s.%03dZ", stamp, (int)(rest / 1000000));
}

static int compare_i64(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

struct clock_quality clock_measure_quality(int count)
{
    /* A clock coarser than one reading shows 0 for most pairs; the mean over the loop does not. */
    struct clock_quality quality = {0, 0};
    int64_t *costs, start, end;

    if (count < 1)
        count = 1;
    costs = malloc((size_t)count * sizeof(*costs));
    start = clock_monotonic_ns();
    end = start;
    for (int i = 0; i < count; ++i) {
        int64_t before = clock_monotonic_ns();
        int64_t after = clock_monotonic_ns();
        int64_t cost = after - before;

        if (costs)
            costs[i] = cost;
        if (cost > 0 && (!quality.resolution_ns || cost < quality.resolution_ns))
            quality.resolution_ns = cost;
        end = after;
    }
    quality.read_cost_ns = (double)(end - start) / (2.0 * count);
    if (costs) {
        qsort(costs, (size_t)count, sizeof(*costs), compare_i64);
        if (costs[count / 2] > 0)
            quality.read_cost_ns = (double)costs[count / 2];
        free(costs);
    }
    if (!quality.resolution_ns) {
        struct timespec resolution;

        clock_getres(CLOCK_MONOTONIC, &resolution);
        quality.resolution_ns = (int64_t)resolution.tv_sec * NS_PER_S + resolution.tv_nsec;
    }
    return quality;
}
