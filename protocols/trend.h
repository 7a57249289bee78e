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

enum trend_kind { TREND_CONSTANT, TREND_LINE, TREND_APPROACH, TREND_STEPS };

struct trend {
    enum trend_kind kind;
    double criterion;
    double slope;             /* LINE: per point */
    double amplitude;         /* APPROACH: first point above the last level */
    double time_constant;     /* APPROACH: in points */
    double long_run_variance; /* of what the description leaves over */
    size_t change_count;      /* STEPS */
    size_t *change;           /* heap: first point of segments 1, 2, ... */
    double *level;            /* heap: change_count + 1 means */
};

/*
 * Describes `count` >= 8 points by the best of the kinds up to and including `most` (TREND_LINE:
 * constant or line). Innovations are never taken for smaller than `least_variance`, such as
 * rounding to the clock's ticks leaves. NO_MEMORY. Finish with trend_finish.
 */
enum status trend_describe(const double *x, size_t count, double least_variance,
                           enum trend_kind most, struct trend *ret, struct error *err);

void trend_finish(struct trend *trend);

#endif
