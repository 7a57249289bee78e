/*
 * steady_state - does a trial reach a steady state, and from which sample on?
 *
 * Works on log times, so that every tolerance is relative.
 *   1. A slow start of a sample or a few is found by its distance from the median.
 *   2. Impulses are clipped (stats/hampel), and the series is averaged into at most 512 blocks.
 *   3. Two levels that alternate: stats/states.
 *   4. Four descriptions compete, each with its own autoregressive errors, so that slow wandering
 * is not taken for a change: a constant, a line, an exponential approach, and steps (PELT on the
 *      series whitened by that description's autoregression, repeated until both agree). The least
 *      n ln(innovation variance) + penalties wins.
 *   5. From the end backwards, what lies within the relative tolerance of the last level is one
 *      steady state; then a drift test on what remains.
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

struct steady_state {
    enum estimate_verdict verdict; /* any but INSUFFICIENT where count >= STEADY_STATE_LEAST */
    size_t from;           /* first steady sample; the count of samples when there is none */
    double change;         /* relative: of the start against the end (warmup, slowdown: +0.1 is 10 %
                              slower at the start), or over the window (drift: +0.1 grows 10 %) */
    double remainder;      /* share of the steady part's mean that the end of an approach still may
                              be; 0 where it is lost in the noise */
    size_t change_points;  /* levels found, less one */
    size_t impulses;       /* single samples far from their neighbours */
    int64_t resolution_ns; /* least difference between neighbours that is not 0; 0: all are equal */
    struct two_state states; /* levels are log ns; meaningful when states.found */
};

/*
 * Judges `count` samples > 0 in the order they came. `first` is the end of the declared warmup:
 * everything is analysed, steady state begins there or later. NO_MEMORY; INVALID for a sample <= 0.
 */
enum status steady_state_find(const int64_t *sample_ns, size_t count, size_t first,
                              const struct estimate_options *options, struct steady_state *ret,
                              struct error *err);

#endif
