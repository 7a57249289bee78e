/*
 * steady_state - does a trial reach a steady state, and from which sample on?
 *
 * Works on log times, so that every tolerance is relative.
 *   1. A slow start of a sample or a few is found by its distance from the median.
 *   2. Impulses are clipped (stats/hampel), and the series is averaged into at most 512 blocks.
 *   3. Two levels that alternate: stats/states. Levels in any order are looked for last, in what is
 *      left as steady: values one step of the clock apart (stats/clock_step) are none.
 *   4. Descriptions compete (protocols/trend.h), each with autoregressive errors of its own, so
 * that slow wandering is not taken for a change: a constant, a line, a ramp between two levels, an
 *      approach (exponential or by a power law), steps (PELT on the series whitened by that
 *      description's autoregression, repeated until both agree), and a constant with fractionally
 *      integrated errors. The least n ln(innovation variance) + penalties wins; whatever is not
 *      constant must win by the normal scores of the blocks, too, so that heavy tails are no
 * change.
 *   5. A constant whose autocorrelation does not exclude a random walk (Dickey and Fuller's
 *      coefficient test, on the blocks and on means of them), and fractionally integrated errors:
 * undetermined.
 *   6. The steady state begins where a level within the relative tolerance of the last one is first
 *      seen; levels in between that are not it are a disturbance, and count. Without one, then a
 *      drift test on what remains.
 *
 * Sources: Barrett et al., "Virtual Machine Warmup Blows Hot and Cold", OOPSLA 2017 (walk back from
 * the end, no steady state when the last segment is short); Killick et al. 2012 (PELT); Romano et
 * al., "Detecting Abrupt Changes in the Presence of Local Fluctuations and Autocorrelated Noise",
 * JASA 117 (2022) (change points need the autocorrelation).
 */
#ifndef ASSAY_PROTOCOLS_STEADY_STATE_H
#define ASSAY_PROTOCOLS_STEADY_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/core/status.h"
#include "protocols/estimate.h"
#include "protocols/stats/states.h"

/* Below this many samples nothing can be said of a series' trend. */
#define STEADY_STATE_LEAST 8

/*
 * n (1 - sum of phi) below this does not exclude a random walk: the 5 % point of the coefficient
 * statistic of Dickey and Fuller, about a mean (Fuller, "Introduction to Statistical Time Series"
 * (1976), table 8.5.1).
 */
#define STEADY_STATE_UNIT_ROOT 14.1

struct steady_state {
    enum estimate_verdict verdict; /* any but INSUFFICIENT where count >= STEADY_STATE_LEAST */
    size_t from;        /* first steady sample; the count of samples when there is none */
    double change;      /* relative: of the start against the end (warmup, slowdown: +0.1 is 10 %
                           slower at the start), or over the window (drift: +0.1 grows 10 %) */
    double remainder;   /* share of the steady part's mean that the end of an approach still may
                           be; 0 where it is lost in the noise */
    double disturbed;   /* share of the counted samples that are at temporary levels; 0: there are
                           none */
    double disturbance; /* relative difference of the mean of those samples from that of the rest */
    double memory_order;   /* of integration, > 0 where long memory fits well enough to be possible:
                              no interval of a mean can be made of such a series */
    double root_distance;  /* undetermined, without memory: n (1 - sum of phi); 0: else */
    size_t impulses;       /* single samples far from their neighbours */
    int64_t resolution_ns; /* step of the clock (stats/clock_step), 1 at least; 0: all are equal */
    struct two_state states; /* levels are log ns; meaningful when states.found, or states.levels
                                is not 0 */
};

/*
 * Judges `count` samples > 0 in the order they came. `first` is the end of the declared warmup:
 * everything is analysed, steady state begins there or later. NO_MEMORY; INVALID for a sample <= 0.
 */
enum status steady_state_find(const int64_t *sample_ns, size_t count, size_t first,
                              const struct estimate_options *options, struct steady_state *ret,
                              struct error *err);

#endif
