/* states - series that switch back and forth between two levels, or have several in any order. */
#ifndef ASSAY_PROTOCOLS_STATS_STATES_H
#define ASSAY_PROTOCOLS_STATS_STATES_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/core/status.h"

struct two_state {
    bool found;
    size_t scale;      /* samples averaged before the levels were separated */
    double low, high;  /* levels */
    double threshold;  /* between them */
    double high_share; /* of the time */
    size_t transitions;
    double separation; /* (high - low) / standard deviation within a state */
    size_t levels;     /* of levels_find, 0: none; of two_state_find 0 */
};

/*
 * Looks at averages over 1, 2, 4, ... samples. Levels are split by intermeans (Ridler and Calvard,
 * "Picture Thresholding Using an Iterative Selection Method", IEEE SMC 8 (1978)). Two states are
 * found when the levels are at least `least_gap` apart and further than 4.5 standard deviations (a
 * Gaussian cut in two has 2.65, a sine 4.1), each holds 5 % of the time, and the series stays in a
 * state: it crosses at least 4 times but less than 0.4 times as often as independent draws would,
 * and three changes leave a tenth of the rarer state's time unexplained: a slow approach crosses
 * once, and the many crossings of the noise about that place are soon over.
 * `quantum` is the resolution of the values. NO_MEMORY.
 */
enum status two_state_find(const double *x, size_t count, double quantum, double least_gap,
                           struct two_state *ret, struct error *err);

/*
 * Looks for levels of the distribution of `count` values in any order, independent draws from two
 * values say: neighbouring ones at least `least_gap` and 4.5 standard deviations within a level
 * apart, with 5 % of the values each, which a series goes to and from again as above. `levels` is
 * their number, up to 8; `low` and `high` are the least and the largest of them; share and
 * transitions are about the middle (`threshold`). `quantum` is the step of a clock at the lower
 * values: values one step apart are one value that the clock rounded either way. None are found
 * among fewer than 40 values. `found` stays false. NO_MEMORY.
 */
enum status levels_find(const double *x, size_t count, double quantum, double least_gap,
                        struct two_state *ret, struct error *err);

/*
 * Half-width of the interval of the mean of a series that was found to have two states. It renews
 * itself whenever it enters its high state, so cycles are independent (Crane and Iglehart,
 * "Simulating Stable Stochastic Systems III", Operations Research 23 (1975)). The standard error is
 * the larger of the cycles' own and that of a memoryless switch with these mean lengths u and d of
 * its states, 2 (gap)^2 s (1 - s) (u d / (u + d)) / n at a share s (the integral of a telegraph
 * process's autocovariance), with k / (k - 2) for estimating them from k cycles. The t has 0.4
 * degrees of freedom per cycle: a cycle's excess is then Laplace distributed, with a kurtosis of 6,
 * and a variance from k of them is known as well as one from 2 k / (6 - 1) Gaussians. INFINITY
 * below 3 cycles. `state` is what `two` was found on (clipped logs, say), `x` what the mean is
 * taken of.
 */
double two_state_half_width(const double *x, const double *state, size_t count,
                            const struct two_state *two, double confidence);

#endif
