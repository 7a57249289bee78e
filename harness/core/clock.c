#include "harness/core/clock.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#define NS_PER_S INT64_C(1000000000)
#define POINT_ATTEMPTS 8
#define POINT_QUICK_NS 5000 /* nothing came in between */
#define RATE_LEAST_NS INT64_C(50000000)

int64_t clock_utc_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* -1: assay has no instruction for it here (other than x86-64 and AArch64). */
static int64_t kernel_ns(clockid_t clock)
{
    struct timespec now;
    long result;

#if defined(__x86_64__)
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"((long)SYS_clock_gettime), "D"((long)clock), "S"(&now)
                     : "rcx", "r11", "memory");
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = SYS_clock_gettime;
    register long x0 __asm__("x0") = clock;
    register struct timespec *x1 __asm__("x1") = &now;

    __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1) : "memory");
    result = x0;
#else
    (void)clock;
    result = -1;
#endif
    return result == 0 ? (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec : -1;
}

#if defined(__x86_64__)
static bool has_counter(void)
{
    unsigned a = 0, b = 0, c = 0, d = 0;

    return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1U << 8);
}
#endif

static int64_t counter(void)
{
#if defined(__x86_64__)
    static int has = -1;

    if (has < 0)
        has = has_counter();
    if (!has)
        return -1;
    __builtin_ia32_lfence(); /* not before what precedes it */
    return (int64_t)__builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks;

    __asm__ volatile("isb; mrs %0, cntvct_el0" : "=r"(ticks) : : "memory");
    return (int64_t)ticks;
#else
    return -1;
#endif
}

struct clock_point clock_point_read(void)
{
    struct clock_point best = {0};
    int64_t least_ns = INT64_MAX;

    for (int i = 0; i < POINT_ATTEMPTS && least_ns > POINT_QUICK_NS; i++) {
        const int64_t begin_ns = clock_monotonic_ns();
        struct clock_point point = {.kernel_ns = kernel_ns(CLOCK_MONOTONIC)};
        int64_t took_ns;

        point.ticks = counter();
        point.raw_ns = kernel_ns(CLOCK_MONOTONIC_RAW);
        point.utc_ns = clock_utc_ns();
        took_ns = clock_monotonic_ns() - begin_ns;
        point.monotonic_ns = begin_ns + took_ns / 2;
        if (took_ns < least_ns) {
            least_ns = took_ns;
            best = point;
        }
    }
    return best;
}

int64_t clock_ticks_per_s(const struct clock_point *from, const struct clock_point *to)
{
    const int64_t ns = to->raw_ns - from->raw_ns, ticks = to->ticks - from->ticks;

    if (from->raw_ns <= 0 || to->raw_ns <= 0 || from->ticks <= 0 || to->ticks <= 0 ||
        ns < RATE_LEAST_NS || ticks <= 0)
        return -1;
    return llround((double)ticks * 1e9 / (double)ns);
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

void clock_wait_until_ns(int64_t deadline_ns, int64_t awake_ns)
{
    if (deadline_ns - clock_monotonic_ns() > 2 * awake_ns)
        clock_sleep_until_ns(deadline_ns - awake_ns);
    while (clock_monotonic_ns() < deadline_ns)
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
