/*
 * generator - series of times whose truth is known.
 *
 * Each series is made from (seed, index) alone, so any one of ten thousand can be made again. The
 * noise is a stationary AR(2) of standard deviation `sd` (relative), started from its stationary
 * distribution; phi = phi2 = 0 is white. The course that `kind` names is added to it.
 */
#ifndef ASSAY_TESTS_CALIBRATION_GENERATOR_H
#define ASSAY_TESTS_CALIBRATION_GENERATOR_H

#include <stddef.h>
#include <stdint.h>

#include "protocols/estimate.h"

enum generator_kind {
    GENERATOR_STATIONARY, /* the noise alone */
    GENERATOR_LOGNORMAL,  /* exp of the noise, mean kept */
    GENERATOR_APPROACH,   /* starts `size` too slow, approaches with time constant `where` n */
    GENERATOR_STEP,       /* `size` slower until `where` n */
    GENERATOR_SLOWDOWN,   /* thermal: starts `size` too fast, approaches with constant `where` n */
    GENERATOR_DRIFT,      /* grows by `size` along a line */
    GENERATOR_LATE_SHIFT, /* `size` slower from `where` n to the end */
    GENERATOR_PERIODIC,   /* plus a sine of amplitude `size` and period `where` samples */
    GENERATOR_TWO_STATE, /* `size` slower in a second state; both last `where` samples on average */
    GENERATOR_HEAVY_TAILS, /* t with 3 degrees of freedom in place of the noise, independent */
    GENERATOR_PARETO,    /* Pareto of tail index `shape` > 2, of mean 1 and sd `sd`, independent */
    GENERATOR_RAMP,      /* `size` slower until `where` n, then along a line to 0 at `shape` n */
    GENERATOR_POWER_LAW, /* `size` slower at the start, decays as (1 + t / (where n))^-shape */
    GENERATOR_RANDOM_WALK, /* plus a random walk from 0, whose last value has the sd `size` */
    GENERATOR_LONG_MEMORY, /* fractionally integrated noise of order `shape` < 0.5, of sd `sd` */
    GENERATOR_CLOCK,       /* time is work over a clock that wanders in 15 MHz steps about 1.5 GHz,
                            with the noise's sd in frequency, plus white noise of sd / 4 */
    GENERATOR_LEVELS, /* independent: with the chance `where` at a second level, `size` slower plus
                         up to `shape` more, the noise in proportion */
    GENERATOR_DISTURBANCE, /* `size` slower from `where` n to `shape` n, and never else */
    GENERATOR_BURSTS,      /* `size` slower for `shape` samples of every `where`, at any phase */
    GENERATOR_RARE_BURSTS  /* as long and as often on average, after gaps without memory */
};

struct generator {
    enum generator_kind kind;
    size_t count;
    double sd, phi, phi2;
    double size, where, shape;
    double spikes;     /* share of samples that take 1.5 to 10 times as long */
    double quantum_ns; /* of the timer; 0: 1 ns */
};

#define GENERATOR_LEVEL_NS 1e6

/* The truth about a series. */
struct truth {
    enum estimate_verdict verdict;
    double mean_ns;     /* of the steady part, over the process that made it; NAN without one; of a
                           disturbance and of bursts that of everything */
    size_t steady_from; /* where the last change lies; 0 without one */
};

/* Makes series `index` of `seed` into `ret` (generator->count samples). */
struct truth generator_make(const struct generator *generator, uint64_t seed, uint64_t index,
                            int64_t *ret);

/* Expected mean of all samples of a generator without spikes, whatever its course (not CLOCK). */
double generator_window_mean(const struct generator *generator);

/* Standard deviation of the mean of `count` stationary samples of relative sd 1, exactly. */
double generator_mean_sd(size_t count, double phi);

/* The q-quantile that the samples of a stationary or lognormal generator have. */
double generator_quantile(const struct generator *generator, double q);

#endif
