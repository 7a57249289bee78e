/* clock - integer nanoseconds. Elapsed time is CLOCK_MONOTONIC; UTC stamps an event once. */
#ifndef ASSAY_CORE_CLOCK_H
#define ASSAY_CORE_CLOCK_H

#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* Nanoseconds of CLOCK_MONOTONIC; inline because it is called before and after every sample. */
static inline int64_t clock_monotonic_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Nanoseconds since 1970-01-01T00:00:00Z (CLOCK_REALTIME). */
int64_t clock_utc_ns(void);

/*
 * CLOCK_MONOTONIC by an instruction of the processor that asks the kernel, past every library: what
 * clock_monotonic_ns must agree with unless a preloaded library changes the time. -1 where assay
 * has no such instruction (other than x86-64 and AArch64).
 */
int64_t clock_kernel_ns(void);

/* Sleeps until CLOCK_MONOTONIC reaches `deadline_ns`; continues after signals. */
void clock_sleep_until_ns(int64_t deadline_ns);

#define CLOCK_ISO_SIZE 32
/* "2026-11-20T15:52:01.123Z" of `utc_ns` into `ret` (at least CLOCK_ISO_SIZE bytes). */
void clock_format_iso(int64_t utc_ns, char *ret);

/* Smallest non-zero difference and median cost of two clock readings in a row. */
struct clock_quality {
    int64_t resolution_ns;
    double read_cost_ns;
};

/* Measures the monotonic clock over `count` pairs of readings (10 000 is plenty). */
struct clock_quality clock_measure_quality(int count);

#endif
