/*
 * jitter - how much time is taken from a thread that only reads the clock: by other processes, by
 * interrupts, by the hypervisor. Each gap above the threshold is time in which nothing could have
 * been measured.
 */
#ifndef ASSAY_RUNNER_JITTER_H
#define ASSAY_RUNNER_JITTER_H

#include <stdbool.h>
#include <stdint.h>

#define JITTER_THRESHOLD_NS 20000 /* beyond any cache miss, below any tick of a scheduler */

struct jitter {
    int64_t duration_ns;
    int64_t threshold_ns; /* JITTER_THRESHOLD_NS */
    int64_t gaps;         /* longer than that */
    int64_t lost_ns;      /* in them */
    int64_t longest_ns;
};

/*
 * Reads the clock in a loop for `duration_ns`, on whatever processor the kernel gives. `tick`, when
 * not NULL, is called ten times a second (its own time does not count); returning false ends early.
 */
struct jitter jitter_measure(int64_t duration_ns, bool (*tick)(void *context), void *context);

#endif
