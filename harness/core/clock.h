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
 * What the machine's clocks say at one moment; -1: there is none here. All but the first and
 * the last are read past every library, which a preloaded one could replace: the kernel is asked by
 * an instruction of the processor, and the processor's counter is a register.
 */
struct clock_point {
    int64_t monotonic_ns; /* CLOCK_MONOTONIC by the C library */
    int64_t kernel_ns;    /* the same by the kernel itself */
    int64_t raw_ns;       /* CLOCK_MONOTONIC_RAW, which no time server adjusts (clock_gettime(2)) */
    /*
     * The processor's counter: the TSC, where the processor says that its rate never changes
     * (CPUID leaf 0x80000007, EDX bit 8: Intel's manual, volume 3, "Invariant TSC"; AMD's, volume
     * 3), or CNTVCT_EL0.
     */
    int64_t ticks;
    int64_t utc_ns; /* CLOCK_REALTIME by the C library */
};

/* Reads them together: of some attempts the one that was interrupted least. Some microseconds. */
struct clock_point clock_point_read(void);

/*
 * Ticks in a second, by CLOCK_MONOTONIC_RAW between two points; -1: one of them is missing, or they
 * are less than 50 ms apart, of which readings are too large a part.
 */
int64_t clock_ticks_per_s(const struct clock_point *from, const struct clock_point *to);

/* Sleeps until CLOCK_MONOTONIC reaches `deadline_ns`; continues after signals. */
void clock_sleep_until_ns(int64_t deadline_ns);

/*
 * The same to within the time of reading the clock, on a processor that nobody else wants: sleeps
 * until `awake_ns` before the deadline, where it is more than twice as far off, and then reads the
 * clock. What sleeps is given a processor at once on a busy machine; what only reads waits its
 * turn.
 */
void clock_wait_until_ns(int64_t deadline_ns, int64_t awake_ns);

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
