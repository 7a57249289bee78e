/*
 * Disturbances that pass and bursts that come back: neither is a warmup. The level that they leave
 * and return to is no steady state of its own; all samples count.
 */
#include "tests/calibration/measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/calibration/cells.h"
#include "tests/calibration/experiment.h"

#define COVERS 0.935
#define WRONG 0.025

#define PASSING(n, s, a, b, r)                                                                     \
    {                                                                                              \
        .kind = GENERATOR_DISTURBANCE, .count = n, .sd = 0.01, .phi = r, .size = s, .where = a,    \
        .shape = b                                                                                 \
    }
#define BURSTS(n, s, k, r)                                                                         \
    {                                                                                              \
        .kind = k, .count = n, .sd = 0.01, .phi = r, .size = s, .where = 300, .shape = 30          \
    }

static const struct generator passing[] = {
    PASSING(1000, 0.05, 0.2, 0.6667, 0),    PASSING(1000, 0.05, 0.2, 0.6667, 0.5),
    PASSING(300, 0.05, 0.2, 0.6667, 0.5),   PASSING(1000, 0.05, 0.5, 0.9, 0),
    PASSING(1000, 0.02, 0.2, 0.5, 0),       PASSING(1000, 0.3, 0.4, 0.5, 0.5),
    PASSING(1000, -0.05, 0.2, 0.6667, 0.5),
};
static const struct generator bursts[] = {
    BURSTS(300, 0.1, GENERATOR_BURSTS, 0),         BURSTS(300, 0.5, GENERATOR_BURSTS, 0.5),
    BURSTS(300, 0.1, GENERATOR_RARE_BURSTS, 0),    BURSTS(300, 0.3, GENERATOR_RARE_BURSTS, 0),
    BURSTS(300, 0.5, GENERATOR_RARE_BURSTS, 0.5),  BURSTS(1000, 0.1, GENERATOR_RARE_BURSTS, 0),
    BURSTS(1000, 0.5, GENERATOR_RARE_BURSTS, 0.5),
};

static void add_of_trials(const struct settings *settings, const struct generator *generator,
                          bool passes, struct table *table)
{
    struct experiment x = {.generator = *generator, .series = settings->series};

    experiment_run(settings, &x, false);
    experiment_add_verdict(
        &x, passes ? "a disturbance that passes: called a warmup" : "bursts: called a warmup",
        generator->size > 0 ? ESTIMATE_WARMUP : ESTIMATE_SLOWDOWN, false, NAN, passes ? 0.01 : NAN,
        table);
    experiment_add_coverage(
        &x, passes ? "its interval covers the mean of everything" : "its interval covers the mean",
        passes ? COVERS : NAN, NAN, table);
    free(x.outcomes);
}

/* The truth is the mean of everything, of bursts that of any window. */
static void add_of_cells(const struct settings *settings, const struct generator *generator,
                         size_t trials, bool passes, struct table *table)
{
    struct cell cell = {.generator = *generator, .trials = trials, .spread = 0.002};
    struct cells x = cells_run(settings, &cell);

    cells_add_coverage(&x,
                       passes ? "a disturbance in each trial: interval covers"
                              : "bursts in each trial: interval covers",
                       CELLS_ALL, passes ? COVERS : NAN, table);
    cells_add_wrong(&x, METRIC_GRADE_A, 0.01,
                    passes ? "a disturbance in each trial: grade A, and more than 1 % off"
                           : "bursts in each trial: grade A, and more than 1 % off",
                    WRONG, table);
    free(x.outcomes);
}

void measure_disturbed(const struct settings *settings, struct table *table)
{
    static const size_t trials[] = {5, 10};

    if (!strstr("disturbed", settings->only))
        return;
    for (size_t i = 0; i < sizeof(passing) / sizeof(passing[0]); i++)
        add_of_trials(settings, &passing[i], true, table);
    for (size_t i = 0; i < sizeof(bursts) / sizeof(bursts[0]); i++)
        add_of_trials(settings, &bursts[i], false, table);
    for (size_t t = 0; t < 2; t++) {
        for (size_t i = 0; i < sizeof(passing) / sizeof(passing[0]); i += 2)
            add_of_cells(settings, &passing[i], trials[t], true, table);
        for (size_t i = 0; i < sizeof(bursts) / sizeof(bursts[0]); i++)
            add_of_cells(settings, &bursts[i], trials[t], false, table);
    }
}
