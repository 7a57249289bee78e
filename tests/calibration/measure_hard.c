/*
 * What real machines do and simple rules get wrong: ramps, slow warmups, random walks, long memory,
 * oscillations as long as the window, heavy tails. Each interval covers, or the verdict says that
 * none can be given.
 */
#include "tests/calibration/measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/calibration/cells.h"
#include "tests/calibration/experiment.h"

#define COVERS 0.935
/* Of all cells of one spread: graded A, and further off than 1 %. */
#define WRONG 0.025
#define MISSED 0.065

enum expected {
    FOUND,   /* of the generator's verdict in nearly all, and the interval covers */
    COVERED, /* the interval covers */
    STEADY,  /* called steady, and the interval covers */
    UNSTEADY /* not called steady */
};

struct hard {
    const char *what; /* of the verdict */
    enum expected expected;
    double promise; /* FOUND, UNSTEADY: at least; STEADY: at most so many not steady; NAN: none */
    double covers;  /* at least; NAN: no promise */
    struct generator generator;
};

#define RAMP(n, s, a, b, r)                                                                        \
    {                                                                                              \
        .kind = GENERATOR_RAMP, .count = n, .sd = 0.01, .phi = r, .size = s, .where = a,           \
        .shape = b                                                                                 \
    }
#define POWER(s, w, a, r)                                                                          \
    {                                                                                              \
        .kind = GENERATOR_POWER_LAW, .count = 1000, .sd = 0.01, .phi = r, .size = s, .where = w,   \
        .shape = a                                                                                 \
    }
#define MEMORY(n, d)                                                                               \
    {                                                                                              \
        .kind = GENERATOR_LONG_MEMORY, .count = n, .sd = 0.01, .shape = d                          \
    }
#define WALK(n, s, noise)                                                                          \
    {                                                                                              \
        .kind = GENERATOR_RANDOM_WALK, .count = n, .sd = noise, .size = s                          \
    }
#define SINE(s, w)                                                                                 \
    {                                                                                              \
        .kind = GENERATOR_PERIODIC, .count = 1000, .sd = 0.01, .size = s, .where = w               \
    }
#define PARETO(n, s, a)                                                                            \
    {                                                                                              \
        .kind = GENERATOR_PARETO, .count = n, .sd = s, .shape = a                                  \
    }
#define STUDENT(n, s)                                                                              \
    {                                                                                              \
        .kind = GENERATOR_HEAVY_TAILS, .count = n, .sd = s                                         \
    }
#define ROOT(r)                                                                                    \
    {                                                                                              \
        .kind = GENERATOR_STATIONARY, .count = 1000, .sd = 0.01, .phi = r                          \
    }

static const char ramp[] = "ramp inside the window: found", late[] = "ramp into the last quarter: "
                                                                     "not steady";
static const char power[] = "power-law warmup: called warmup", slow[] = "slow exponential warmup: "
                                                                        "called warmup";
static const char walk[] = "random walk: not steady", memory[] = "long memory: not steady";
static const char sine[] = "oscillation as long as the window: not steady";
static const char tails[] = "heavy tails: called not steady", root[] = "near a unit root: not "
                                                                       "steady";

static const struct hard cases[] = {
    {ramp, FOUND, 0.99, COVERS, RAMP(1000, 0.05, 0.2, 0.5, 0)},
    {ramp, FOUND, 0.99, COVERS, RAMP(1000, 0.05, 0.2, 0.5, 0.5)},
    {ramp, FOUND, 0.99, COVERS, RAMP(1000, 0.2, 0.1, 0.7, 0.5)},
    {ramp, FOUND, 0.99, COVERS, RAMP(1000, 0.02, 0.3, 0.6, 0)},
    {ramp, FOUND, 0.99, COVERS, RAMP(1000, -0.05, 0.2, 0.5, 0)},
    {ramp, FOUND, 0.99, COVERS, RAMP(300, 0.1, 0, 0.5, 0)},
    {late, UNSTEADY, 0.99, NAN, RAMP(1000, 0.05, 0.5, 0.9, 0)},
    {late, UNSTEADY, 0.99, NAN, RAMP(1000, 0.05, 0.3, 1, 0)},
    {power, FOUND, 0.95, COVERS, POWER(0.1, 0.01, 0.3, 0)},
    {power, FOUND, 0.95, COVERS, POWER(0.1, 0.01, 0.5, 0)},
    {power, FOUND, 0.95, COVERS, POWER(0.1, 0.01, 1, 0.5)},
    {power, FOUND, 0.95, COVERS, POWER(0.5, 0.005, 0.5, 0)},
    {power, FOUND, 0.95, COVERS, POWER(0.2, 0.05, 2, 0)},
    {slow,
     FOUND,
     0.95,
     COVERS,
     {.kind = GENERATOR_APPROACH, .count = 1000, .sd = 0.01, .size = 0.1, .where = 0.15}},
    {slow,
     FOUND,
     0.9,
     COVERS,
     {.kind = GENERATOR_APPROACH, .count = 1000, .sd = 0.01, .size = 0.1, .where = 0.3}},
    {root, UNSTEADY, NAN, 0.9, ROOT(0.995)},
    {root, UNSTEADY, NAN, NAN, ROOT(0.998)},
    {walk, UNSTEADY, 0.9, NAN, WALK(1000, 0.03, 0.0001)},
    {walk, UNSTEADY, 0.9, NAN, WALK(1000, 0.03, 0.01)},
    {walk, UNSTEADY, 0.9, NAN, WALK(300, 0.1, 0.01)},
    {walk, UNSTEADY, NAN, NAN, WALK(1000, 0.01, 0.01)},
    {memory, UNSTEADY, NAN, NAN, MEMORY(1000, 0.2)},
    {memory, UNSTEADY, NAN, NAN, MEMORY(1000, 0.3)},
    {memory, UNSTEADY, NAN, NAN, MEMORY(1000, 0.45)},
    {memory, UNSTEADY, NAN, NAN, MEMORY(300, 0.4)},
    {memory, UNSTEADY, NAN, NAN, MEMORY(4000, 0.4)},
    {sine, UNSTEADY, NAN, COVERS, SINE(0.02, 500)},
    {sine, UNSTEADY, NAN, COVERS, SINE(0.02, 700)},
    {sine, UNSTEADY, NAN, COVERS, SINE(0.02, 1000)},
    {sine, UNSTEADY, NAN, NAN, SINE(0.01, 700)},
    {sine, UNSTEADY, NAN, NAN, SINE(0.02, 1500)},
    {tails, STEADY, 0.01, COVERS, STUDENT(300, 0.01)},
    {tails, STEADY, 0.01, COVERS, STUDENT(1000, 0.05)},
    {tails, STEADY, 0.03, NAN, PARETO(300, 0.01, 3)},
    {tails, STEADY, 0.03, NAN, PARETO(1000, 0.05, 3)},
    {tails, STEADY, 0.03, NAN, PARETO(1000, 0.05, 2.2)},
};

static void measure_case(const struct settings *settings, const struct hard *hard,
                         struct table *table)
{
    struct experiment x = {.generator = hard->generator, .series = settings->series};
    const bool no_level = hard->generator.kind == GENERATOR_RANDOM_WALK || hard->what == late;

    experiment_run(settings, &x, false);
    if (hard->expected == FOUND)
        experiment_add_verdict(&x, hard->what,
                               hard->generator.size > 0 ? ESTIMATE_WARMUP : ESTIMATE_SLOWDOWN,
                               false, hard->promise, NAN, table);
    else if (hard->expected == STEADY)
        experiment_add_not_steady(&x, hard->what, NAN, hard->promise, table);
    else
        experiment_add_not_steady(&x, hard->what, hard->promise, NAN, table);
    if (!no_level) {
        experiment_add_coverage(&x, "its interval of the mean covers", hard->covers, NAN, table);
        if (hard->expected == UNSTEADY)
            experiment_add_missed(&x, "called steady, and its interval misses",
                                  hard->generator.count < 1000 ||
                                          (hard->what == sine && hard->generator.where > 1000)
                                      ? NAN
                                      : MISSED,
                                  table);
    }
    free(x.outcomes);
}

/* Between trials nothing is assumed of the series within them. */
static void measure_between(const struct settings *settings, struct table *table)
{
    static const struct generator generators[] = {WALK(300, 0.03, 0.01), MEMORY(300, 0.4),
                                                  ROOT(0.995), PARETO(300, 0.05, 3)};
    static const size_t trials[] = {5, 10};
    size_t g, t;

    for (t = 0; t < 2; t++) {
        for (g = 0; g < sizeof(generators) / sizeof(generators[0]); g++) {
            static const char *const names[] = {
                "random walk in each trial: interval between trials covers",
                "long memory in each trial: interval between trials covers",
                "near a unit root: interval between trials covers",
                "Pareto tails: interval between trials covers"};
            struct cell cell = {.generator = generators[g], .trials = trials[t], .spread = 0.01};
            struct cells x;

            cell.generator.count = 300;
            x = cells_run(settings, &cell);
            cells_add_coverage(&x, names[g], CELLS_ALL, COVERS, table);
            free(x.outcomes);
        }
    }
}

/*
 * Processes whose levels are skewed, or of which few have another one. So few trials do not show
 * it: where the interval misses the mean of all, the trials look as any others do. What it covers
 * is the process in the middle, of which the value is no further off than its grade says.
 */
static void measure_levels_of_processes(const struct settings *settings, struct table *table)
{
    static const size_t trials[] = {5, 8, 10};
    static const struct {
        enum cell_levels levels;
        double spread;
        const char *mean, *middle;
    } levels[] = {
        {CELL_LEVELS_TWO, 0.02, "three in ten processes have another level: interval covers", NULL},
        {CELL_LEVELS_EXPONENTIAL, 0.02, "skewed levels of processes: interval covers",
         "skewed levels of processes: interval covers the one in the middle"},
        {CELL_LEVELS_LOGNORMAL, 0.02, "log-normally skewed levels: interval covers",
         "log-normally skewed levels: interval covers the one in the middle"},
        {CELL_LEVELS_RARE, 0.0787, "one process in ten is 30 % off: interval covers",
         "one process in ten is 30 % off: interval covers the one in the middle"},
    };

    for (size_t t = 0; t < 3; t++) {
        for (size_t g = 0; g < sizeof(levels) / sizeof(levels[0]); g++) {
            struct cell cell = {
                .generator = {.kind = GENERATOR_STATIONARY, .count = 12, .sd = 0.001},
                .trials = trials[t],
                .spread = levels[g].spread,
                .levels = levels[g].levels};
            struct cells x = cells_run(settings, &cell);

            cells_add_coverage(&x, levels[g].mean, CELLS_ALL, NAN, table);
            free(x.outcomes);
            if (!levels[g].middle)
                continue;
            cell.middle = true;
            x = cells_run(settings, &cell);
            cells_add_coverage(&x, levels[g].middle, CELLS_ALL, COVERS, table);
            cells_add_wrong(&x, METRIC_GRADE_A, 0.01, "grade A, and more than 1 % off it", WRONG,
                            table);
            free(x.outcomes);
        }
    }
}

void measure_hard(const struct settings *settings, struct table *table)
{
    size_t i;

    if (!strstr("hard", settings->only))
        return;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        measure_case(settings, &cases[i], table);
    measure_between(settings, table);
    measure_levels_of_processes(settings, table);
}
