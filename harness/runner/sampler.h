/*
 * sampler - the samples of one trial in the worker's memory, in the order they came.
 *
 * A sample is the wall time of a block of iterations; with it is stored the gap, the time from the
 * end of the sample before to this one's start (0 for the first), so that the trial's whole time
 * line can be reconstructed from integers. Memory is taken before the warmup, touched, and never
 * grows while samples are taken.
 */
#ifndef ASSAY_RUNNER_SAMPLER_H
#define ASSAY_RUNNER_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/core/clock.h"
#include "harness/core/status.h"

struct sampler {
    int64_t *wall_ns;
    int64_t *gap_ns;
    size_t count, capacity;
    int64_t previous_end_ns; /* 0: no sample yet */
    int64_t started_ns;      /* of the sample in progress */
};

/*
 * Samples whose pages are touched before the window. A sample is written once its end was read, so
 * that the page fault of a later one, one in 512, is in a gap; a protocol may allow ten million, of
 * which few measurements need the memory.
 */
#define SAMPLER_TOUCHED ((size_t)1 << 16)

/* Room for `capacity` samples; the pages of the first are touched here. NO_MEMORY. */
enum status sampler_init(struct sampler *sampler, size_t capacity, struct error *err);
/* The same of another series of `capacity` values, whose contents are lost. */
void sampler_touch(int64_t *values, size_t capacity);
void sampler_finish(struct sampler *sampler);

static inline bool sampler_full(const struct sampler *sampler)
{
    return sampler->count == sampler->capacity;
}

/* Start and end of a sample. What is between them is timed, with one clock reading's cost. */
static inline void sampler_begin(struct sampler *sampler)
{
    sampler->started_ns = clock_monotonic_ns();
}

/* Must not be called when the sampler is full. Returns the sample's wall time. */
static inline int64_t sampler_end(struct sampler *sampler)
{
    int64_t now = clock_monotonic_ns();
    int64_t wall = now - sampler->started_ns;
    size_t i = sampler->count++;

    sampler->wall_ns[i] = wall > 0 ? wall : 1; /* the clock's resolution is the floor */
    sampler->gap_ns[i] =
        sampler->previous_end_ns ? sampler->started_ns - sampler->previous_end_ns : 0;
    sampler->previous_end_ns = now;
    return sampler->wall_ns[i];
}

#endif
