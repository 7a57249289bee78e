/*
 * trend - how a series runs: constant, along a line, towards a level, or in steps.
 *
 * Descriptions compete by n ln(innovation variance of an AR fitted to what each leaves over), plus
 * ln n for each AR coefficient, plus a penalty for what it may choose freely. The penalties are set
 * so that a stationary AR(1) up to phi = 0.95 is called anything but constant less than once in a
 * hundred times (tests/calibration measures it).
 */
#ifndef ASSAY_PROTOCOLS_TREND_H
#define ASSAY_PROTOCOLS_TREND_H

#include <stddef.h>

#include "harness/core/status.h"

enum trend_kind {
    TREND_CONSTANT,
    TREND_LINE,
    TREND_RAMP,     /* one level, a line from `from` to `to`, another level */
    TREND_APPROACH, /* exponential or by a power law */
    TREND_STEPS,
    TREND_MEMORY /* a constant, with fractionally integrated errors: long memory, random walks */
};

#define TREND_APPROACHES_MAX 96

/* amplitude exp(-t / constant), or amplitude (1 + t / constant)^-power where power > 0. */
struct trend_approach {
    double criterion, amplitude, constant, power;
};

struct trend {
    enum trend_kind kind;
    double criterion;
    double slope;             /* LINE: per point */
    double amplitude;         /* RAMP, APPROACH: first point above the last level */
    size_t from, to;          /* RAMP: last point of the first level, first point of the last */
    double memory;            /* MEMORY: the order d of integration; CONSTANT: the same where it
                                 fits well enough to be possible, else 0 */
    double gain;              /* CONSTANT: 1 - sum of the AR's coefficients */
    double long_run_variance; /* of what the description leaves over */
    /* APPROACH: those that the data do not tell from the best (profile likelihood, 95 %), it first
     */
    struct trend_approach approaches[TREND_APPROACHES_MAX];
    size_t approach_count;
    size_t change_count; /* STEPS */
    size_t *change;      /* heap: first point of segments 1, 2, ... */
    double *level;       /* heap: change_count + 1 means */
};

/* What the approach is above its last level at point t >= 0. */
double trend_approach_excess(const struct trend_approach *approach, double t);

/*
 * Describes `count` >= 8 points by the best of the kinds up to and including `most` (TREND_LINE:
 * constant or line). Innovations are never taken for smaller than `least_variance`, such as
 * rounding to the clock's ticks leaves. `caution` multiplies the penalties, 1 for the rates above.
 * NO_MEMORY. Finish with trend_finish.
 */
enum status trend_describe(const double *x, size_t count, double least_variance, double caution,
                           enum trend_kind most, struct trend *ret, struct error *err);

void trend_finish(struct trend *trend);

#endif
