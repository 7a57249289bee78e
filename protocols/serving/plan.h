/*
 * plan - how long trials under load must be, said before they are run.
 *
 * What a window is worth depends on how long the queue remembers. Windows are therefore measured in
 * relaxation times; of M/M/1 with service rate mu and load rho it is 1 / (mu (1 - sqrt(rho))^2)
 * (Cohen, "The Single Server Queue" (1982), III.1; Abate and Whitt, "Transient behavior of the
 * M/M/1 queue: starting at the origin", Queueing Systems 2 (1987)). For other arrivals and services
 * it is multiplied by the mean of their squared coefficients of variation, as in heavy traffic
 * (Whitt, "Planning queueing simulations", Management Science 35 (1989)), and the time of one
 * request alone is added, which is what counts where many are served side by side.
 */
#ifndef ASSAY_PROTOCOLS_SERVING_PLAN_H
#define ASSAY_PROTOCOLS_SERVING_PLAN_H

#include <stdbool.h>

#include "protocols/serving/arrivals.h"

/* Relaxation times that a trial's start is left out for: the first requests find it empty. */
#define SERVING_WARMUP 5
/* Relaxation times of all trials together, divided by the share that may miss (or exceed). */
#define SERVING_WINDOW 10
/* And those of each trial, at least. */
#define SERVING_WINDOW_TRIAL 10

/* What is known beforehand of the subject. */
struct serving_subject {
    double capacity;   /* requests/s offline, of the same lengths; NaN or 0: unknown */
    double service_s;  /* one request alone, in seconds; 0 or NaN: 1 / capacity */
    double service_cv; /* coefficient of variation of the work of a request; 0 or NaN: taken as 1 */
};

/*
 * Relaxation time in seconds of `subject` under `arrivals` at `rate`. NaN where nothing can be
 * planned: capacity unknown, a load of 1 and more, or a trace, which has no steady state.
 */
double serving_relaxation_s(const struct arrivals *arrivals, double rate,
                            const struct serving_subject *subject);

/* How much it takes to know a share of `tail` (0.01 for p99, or for attain 0.99). */
struct serving_plan {
    bool known; /* else the others are 0 */
    double load, relaxation_s;
    double warmup_s;   /* left out at the start of each trial */
    uint64_t requests; /* of each trial after that, at least */
    double trial_s;    /* what that takes, with the warmup */
    double total_s;    /* all trials */
};

/*
 * The plan for `trials` trials. `precision` 0: the least from which an interval is given at all.
 * Else the half-width wanted of the 95 % interval of the share, relative to it (0.5 for p99: 0.5 to
 * 1.5 %): t^2 (1 - tail) / (tail precision^2) relaxation times, since excursions above a high level
 * are about a relaxation time apart and long; t is Student's on the batches that the interval rests
 * on, less one. Measured half-widths were 0.5 to 1.6 times those (tests/calibration/SERVING.md: the
 * larger ones of services that vary more than exponential ones, the smaller ones of batches).
 */
struct serving_plan serving_plan(const struct arrivals *arrivals, double rate,
                                 const struct serving_subject *subject, double tail,
                                 double precision, size_t trials);

/*
 * The precision for serving_plan at `rate` with which a capacity is known to `margin` of itself
 * (0.03: the 95 % interval is 3 % to either side), should the share that misses be `tail` just
 * there: margin times d ln share / d ln rate, which of M/M/1 is ln(1 / tail) load / (1 - load).
 * Services that vary more than exponential ones have tails that change less with the rate: it is
 * divided by (1 + service_cv^2) / 2 then. And by 1.4, since measured half-widths of the share were
 * up to so many times the planned ones at loads from 0.63 on. How well it holds:
 * tests/calibration/SERVING.md. 0 where nothing can be planned.
 */
double serving_capacity_precision(double rate, const struct serving_subject *subject, double tail,
                                  double margin);

#endif
