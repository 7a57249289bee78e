/*
 * clock_step - what the samples of a series show of the clock that they were read from.
 *
 * A clock that steps gives times that are whole numbers of steps. So a step divides all samples,
 * and with them their differences, and is no longer than the shortest one: the distance of two
 * levels, or of an outlier from the rest, is no step unless all that holds.
 */
#ifndef ASSAY_PROTOCOLS_STATS_CLOCK_STEP_H
#define ASSAY_PROTOCOLS_STATS_CLOCK_STEP_H

#include <stddef.h>
#include <stdint.h>

struct clock_step {
    /* The longest step that the samples allow; 1: no more than the nanosecond that they are stored
       in; 0: all samples are the same, or there are none, and show no step. */
    int64_t step_ns;
    /*
     * The same where it is beyond doubt, else a tenth of it: two to four values may be levels that
     * are multiples of their distance by chance. 10 ms and 12 ms come from a clock of 2 ms, or are
     * two levels that a finer clock has read. A nanosecond is beyond doubt, and so are noise that
     * has most of its samples between its ends, and multiples by which chance is excluded at one in
     * a hundred (15.625 ms and 31.25 ms).
     */
    int64_t sure_ns;
};

/*
 * Of `count` samples > 0 in the order they came. The step is the least distance of neighbours,
 * where nine in ten distances and samples are multiples of it within the rounding to nanoseconds
 * (or 2 %: a clock of 24 MHz steps by 41 or 42 ns), else the greatest common divisor of all
 * samples.
 */
struct clock_step clock_step_find(const int64_t *sample_ns, size_t count);

/* The longest step that two times >= 0 are multiples of; the other one where one is 0. */
int64_t clock_step_common(int64_t a, int64_t b);

#endif
