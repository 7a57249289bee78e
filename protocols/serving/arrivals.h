/*
 * arrivals - the declared process of arrivals, and the schedule that a seed makes of it.
 *
 * A schedule is made before the window and never changed: no rescaling so that it ends on time, no
 * new origin after a backlog. Realisations are drawn at unit rate and then scaled, so that one seed
 * gives the same realisation at every rate (common random numbers): request i comes earlier at a
 * higher rate, with the same tokens. Random numbers are harness/core/random.h's; logarithms and
 * exponentials are its own, too, and the rest is +, -, *, /, sqrt and floor of IEEE 754 doubles:
 * the same schedule on every machine, whatever its C library.
 */
#ifndef ASSAY_PROTOCOLS_SERVING_ARRIVALS_H
#define ASSAY_PROTOCOLS_SERVING_ARRIVALS_H

#include <stdbool.h>

#include "harness/core/digest.h"
#include "protocols/serving/trace.h"

/* Processes, and how a declaration names them. */
#define ARRIVAL_PROCESS_MAP(X)                                                                     \
    X(DETERMINISTIC, "deterministic")                                                              \
    X(POISSON, "poisson")                                                                          \
    X(GAMMA, "gamma")                                                                              \
    X(ON_OFF, "on_off")                                                                            \
    X(TRACE, "trace")

enum arrival_process {
#define ARRIVAL_ENUM(code, name) ARRIVAL_##code,
    ARRIVAL_PROCESS_MAP(ARRIVAL_ENUM)
#undef ARRIVAL_ENUM
        ARRIVAL_PROCESS_COUNT
};

struct arrivals {
    enum arrival_process process;
    double cv; /* gamma: coefficient of variation of the gaps, 0.1 to 10; 1 is Poisson */
    /*
     * on_off: a Poisson process whose rate changes between two levels; stays last `on_s` and
     * `off_s` seconds on average (exponential), 0.01 to 86400 each and the same at every rate. The
     * rate in the first is `rate_ratio` >= 1 times that in the second (INFINITY: none come then);
     * the declared rate is the mean over both.
     */
    double on_s, off_s, rate_ratio;
    const struct trace *trace; /* trace: not owned */
    double scale;              /* trace: 2 plays it twice as fast; 0.001 to 1000 */
};

#define LENGTH_LAW_MAP(X)                                                                          \
    X(NONE, "none")                                                                                \
    X(FIXED, "fixed")                                                                              \
    X(UNIFORM, "uniform")                                                                          \
    X(LOGNORMAL, "lognormal")                                                                      \
    X(GEOMETRIC, "geometric")                                                                      \
    X(EMPIRICAL, "empirical")

enum length_law {
#define LENGTH_ENUM(code, name) LENGTH_##code,
    LENGTH_LAW_MAP(LENGTH_ENUM)
#undef LENGTH_ENUM
        LENGTH_LAW_COUNT
};

/*
 * How many tokens a request has. Draws are rounded down to whole tokens and then brought into
 * [min, max] (both 1 or more; FIXED and EMPIRICAL do not use them), which moves the mean.
 */
struct length {
    enum length_law law;    /* NONE: 0 tokens */
    double mean;            /* FIXED: the number; LOGNORMAL, GEOMETRIC: before the limits */
    double cv;              /* LOGNORMAL: standard deviation / mean, above 0, at most 10 */
    uint32_t min, max;      /* UNIFORM: every number in [min, max] alike */
    const uint32_t *values; /* EMPIRICAL: each alike; not owned */
    size_t value_count;
};

struct lengths {
    struct length prompt, output; /* independent of each other */
    /*
     * Instead of both: a row of this trace (not owned). Arrivals by the same trace take their own
     * rows; others draw rows, each alike.
     */
    const struct trace *joint;
};

#define SCHEDULE_RATE_MAX 1e6       /* requests/s */
#define SCHEDULE_COUNT_MAX 10000000 /* requests */
#define SCHEDULE_WINDOW_MAX_NS (INT64_C(7) * 86400 * 1000000000)

/* How long a schedule is: one of the two is 0. */
struct schedule_extent {
    size_t count;
    int64_t window_ns;
};

/*
 * Makes the schedule of (`arrivals`, `lengths`, `rate`, `seed`), `rate` in requests/s. The first
 * request is at 0 and each is followed by a gap: with `extent.count` n requests, the window is the
 * sum of n gaps; with a window, all that come before its end are in it. So a longer schedule begins
 * with the shorter one. A trace is played from its first request at its own `scale`, `rate` must
 * be 0, and `extent` may be all 0 for the whole of it, whose last gap is the mean one; more than it
 * has is INVALID.
 *
 * INVALID, naming the parameter: a rate that is not in (0, SCHEDULE_RATE_MAX], a parameter out of
 * range, both or none of count and window, more than SCHEDULE_COUNT_MAX requests or a longer
 * window than SCHEDULE_WINDOW_MAX_NS. NO_MEMORY.
 */
enum status schedule_make(const struct arrivals *arrivals, const struct lengths *lengths,
                          double rate, struct schedule_extent extent, uint64_t seed,
                          struct schedule *ret, struct error *err);

/*
 * SHA-256 over "assay-schedule/1" and a newline; the number of requests and the window in ns, 8
 * bytes each; and for each request its time (8 bytes), prompt and output tokens (4 bytes each);
 * all little-endian.
 */
struct digest schedule_digest(const struct schedule *schedule);

/* Releases what schedule_make filled, or zeros; NULL is fine. */
void schedule_finish(struct schedule *schedule);

/*
 * Requests/s that `arrivals` at `rate` have on average: `rate`, of a trace its own at its scale;
 * NaN where it has no gap.
 */
double arrivals_mean_rate(const struct arrivals *arrivals, double rate);

/*
 * The times of `count` >= 2 requests in operational time, as `ret_gaps` (count - 1 of them): what
 * would be independent exponential gaps of mean 1, if the requests came as `arrivals` at `rate`
 * under `seed` say (random time change; Brown et al., "The Time-Rescaling Theorem", Neural
 * Computation 14 (2002)). Gaps of a renewal process go through their own distribution, with a place
 * within the ns that they are rounded to drawn by `seed` where that matters (gamma); those of
 * on_off through the integral of the rate that the seed gives. False for deterministic arrivals
 * and traces, which have no such distribution. `at_ns` ascending.
 */
bool arrivals_rescale(const struct arrivals *arrivals, double rate, uint64_t seed,
                      const int64_t *at_ns, size_t count, double *ret_gaps);

#endif
