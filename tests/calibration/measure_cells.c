/*
 * Cells of several trials: the interval between trials, by grade and of marked values; the verdict.
 *
 * A process has a level of its own, log-normal about the cell's. What an interval between trials
 * is of, and must cover, is the geometric mean over processes (their median) of the expected mean
 * of the window, "the level" in the rows.
 */
#include "tests/calibration/measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/random.h"
#include "protocols/estimate.h"
#include "tests/calibration/generator.h"

#define TRIALS_MAX 10
#define COUNT_MAX 300
#define COUNT_LONG 1000
#define PERCENTILES 3
#define COVERS 0.935
/* Coverage of a grade over spreads of any size: an A loses some by selection at its limit. */
#define GRADE_COVERS 0.93
/* Windows of the cells whose spread alone matters; so cheap that more of them are made. */
#define COUNT_SHORT 15
#define SHORT_TIMES 2
/* A cell costs as much as all its trials, so fewer of them are made than of single series. */
#define LONG_SHARE 5

struct cell {
    struct generator generator;
    size_t trials;
    double spread;      /* sd of the processes' log levels */
    double spread_high; /* > 0: of each cell its own, log-uniform from `spread` to this */
    size_t drifting;    /* so many of the trials drift by 5 % instead */
    bool percentiles;   /* are looked at; the generator is stationary or lognormal */
};

static const double quantiles[PERCENTILES] = {0.5, 0.9, 0.99};

struct outcome {
    enum estimate_verdict verdict;
    enum metric_grade grade;
    bool given, covered;
    double off; /* the value's distance from the level, relative */
    bool percentile_given[PERCENTILES], percentile_covered[PERCENTILES];
};

struct experiment {
    struct cell cell;
    size_t series;
    struct outcome *outcomes;
};

static const struct generator flat = {
    .kind = GENERATOR_STATIONARY, .count = COUNT_MAX, .sd = 0.01, .phi = 0.5};

static void look_at(const struct cell *cell, uint64_t seed, uint64_t index, struct outcome *ret)
{
    static int64_t samples[TRIALS_MAX][COUNT_LONG];
#pragma omp threadprivate(samples)
    struct estimate_options options = estimate_options_default();
    struct estimate_series trials[TRIALS_MAX];
    const struct metric_value *mean;
    double spread = cell->spread, level = generator_window_mean(&cell->generator);
    struct random random;
    struct estimate *e;
    struct error err;
    size_t t, k;

    random_init(&random, seed ^ 0x747269616c73u, index);
    if (cell->spread_high > 0)
        spread *= pow(cell->spread_high / cell->spread, random_next_unit(&random));
    for (t = 0; t < cell->trials; t++) {
        struct generator g = cell->generator;
        double process = exp(spread * random_next_normal(&random));

        if (t < cell->drifting) {
            g.kind = GENERATOR_DRIFT;
            g.size = 0.05;
        }
        generator_make(&g, seed, ((uint64_t)(t + 1) << 56) + index, samples[t]);
        for (k = 0; k < g.count; k++)
            samples[t][k] = (int64_t)fmax((double)samples[t][k] * process, 1);
        trials[t] = (struct estimate_series){samples[t], g.count, 0, 0};
    }
    options.percentile_count = cell->percentiles ? PERCENTILES : 0;
    memcpy(options.percentiles, quantiles, sizeof(quantiles));
    if (estimate_cell(trials, cell->trials, &options, &e, &err)) {
        fprintf(stderr, "calibration: %s\n", err.message);
        exit(2);
    }
    mean = &e->metrics[METRIC_ITERATION_TIME];
    memset(ret, 0, sizeof(*ret));
    ret->verdict = e->verdict;
    ret->grade = mean->grade;
    ret->given = mean->has_interval;
    ret->covered = ret->given && mean->lo <= level && mean->hi >= level;
    ret->off = fabs(mean->value / level - 1);
    for (k = 0; k < options.percentile_count; k++) {
        const struct metric_value *p = &e->metrics[metric_of_quantile(quantiles[k])];
        const double quantile = generator_quantile(&cell->generator, quantiles[k]);

        ret->percentile_given[k] = p->has_interval;
        ret->percentile_covered[k] = p->has_interval && p->lo <= quantile && p->hi >= quantile;
    }
    estimate_destroy(e);
}

static void describe(const struct cell *cell, char *ret, size_t size)
{
    int used = snprintf(ret, size, "%zu trial%s, sd %.3g", cell->trials,
                        cell->trials == 1 ? "" : "s", 100 * cell->spread);

    if (cell->spread_high > 0)
        used += snprintf(ret + used, size - (size_t)used, " to %.3g", 100 * cell->spread_high);
    snprintf(ret + used, size - (size_t)used, " %%, n %zu, phi %.3g", cell->generator.count,
             cell->generator.phi);
}

/* Runs the case, or loads its stored outcomes. Free the outcomes. */
static struct experiment run(const struct settings *settings, const struct cell *cell)
{
    const struct generator *g = &cell->generator;
    size_t series =
        g->count > COUNT_SHORT ? settings->series / LONG_SHARE : settings->series * SHORT_TIMES;
    struct experiment x = {*cell, series, calloc(series, sizeof(*x.outcomes))};
    size_t size = series * sizeof(*x.outcomes);
    char where[96], key[224];
    uint64_t base = 5381;
    long i, count = (long)series;
    const char *c;

    if (!x.outcomes) {
        fputs("calibration: out of memory\n", stderr);
        exit(2);
    }
    describe(cell, where, sizeof(where));
    snprintf(key, sizeof(key), "%zu cells of %s, kind %d, sd %g, size %g, where %g, %zu drift%s",
             series, where, (int)g->kind, g->sd, g->size, g->where, cell->drifting,
             cell->percentiles ? ", percentiles" : "");
    if (parts_take(settings->parts, key, x.outcomes, size))
        return x;
    /* Keeps the series of different cases apart under one seed. */
    for (c = strstr(key, "cells"); *c; c++)
        base = base * 33 + (unsigned char)*c;
    base = (base & 0xffffff) << 32;
#pragma omp parallel for schedule(dynamic, 8)
    for (i = 0; i < count; i++)
        look_at(cell, settings->seed, base + (uint64_t)i, &x.outcomes[i]);
    parts_keep(settings->parts, key, x.outcomes, size);
    return x;
}

static struct row start_row(const struct experiment *x, const char *what, double low, double high)
{
    struct row row = {.what = what, .low = low, .high = high, .series = x->series, .mean = NAN};

    describe(&x->cell, row.where, sizeof(row.where));
    return row;
}

enum counted { ALL, MARKED };

static void add_coverage(const struct experiment *x, const char *what, enum counted counted,
                         double low, struct table *table)
{
    struct row row = start_row(x, what, low, NAN);
    size_t i;

    for (i = 0; i < x->series; i++) {
        if (counted == MARKED && estimate_verdict_is_steady(x->outcomes[i].verdict))
            continue;
        row.trials += x->outcomes[i].given;
        row.hits += x->outcomes[i].covered;
    }
    table_add(table, &row);
}

/* Cells of this verdict; with ESTIMATE_VERDICT_COUNT those that are not steady. */
static void add_verdict(const struct experiment *x, const char *what, enum estimate_verdict verdict,
                        double low, double high, struct table *table)
{
    struct row row = start_row(x, what, low, high);
    size_t i;

    row.trials = x->series;
    for (i = 0; i < x->series; i++)
        row.hits += verdict == ESTIMATE_VERDICT_COUNT
                        ? !estimate_verdict_is_steady(x->outcomes[i].verdict)
                        : x->outcomes[i].verdict == verdict;
    table_add(table, &row);
}

static const char not_steady[] = "flat trials: called not steady";

/* The interval between trials, with few samples in each and with many. */
static void measure_trials(const struct settings *settings, struct table *table)
{
    static const size_t trials[] = {3, 5, 8, 10};
    static const double spreads[] = {0.003, 0.01, 0.03};
    static const struct {
        size_t count;
        double phi;
    } windows[] = {{6, 0}, {15, 0.9}, {COUNT_MAX, 0.5}};
    struct cell one = {.generator = flat, .trials = 1, .spread = 0.01};
    struct experiment x;
    size_t w, t, s;

    for (w = 0; w < 3; w++) {
        for (t = 0; t < 4; t++) {
            for (s = 0; s < 3; s++) {
                struct cell cell = {.generator = flat, .trials = trials[t], .spread = spreads[s]};

                cell.generator.count = windows[w].count;
                cell.generator.phi = windows[w].phi;
                x = run(settings, &cell);
                add_coverage(&x, "interval between trials covers the level", ALL, COVERS, table);
                if (windows[w].count == COUNT_MAX)
                    add_verdict(&x, not_steady, ESTIMATE_VERDICT_COUNT, NAN, 0.01, table);
                if (windows[w].phi > 0.8 && trials[t] == 5 && s == 1)
                    add_verdict(&x, "called insufficient", ESTIMATE_INSUFFICIENT, NAN, NAN, table);
                free(x.outcomes);
            }
        }
    }
    x = run(settings, &one);
    add_coverage(&x, "one trial: its interval covers the level of all processes", ALL, NAN, table);
    free(x.outcomes);
}

/*
 * Percentiles between trials: of the process at the geometric mean of all, since the level of a
 * process multiplies its whole distribution. Given by the number of samples alone.
 */
static void measure_percentiles(const struct settings *settings, struct table *table)
{
    static const char *const names[PERCENTILES] = {"p50", "p90", "p99"};
    static const size_t trials[] = {3, 5, 10};
    static const double spreads[] = {0, 0.01, 0.03};
    static const struct {
        enum generator_kind kind;
        size_t count;
        double sd, phi;
    } windows[] = {{GENERATOR_STATIONARY, 40, 0.01, 0},
                   {GENERATOR_STATIONARY, 300, 0.01, 0},
                   {GENERATOR_STATIONARY, 300, 0.01, 0.9},
                   {GENERATOR_LOGNORMAL, 300, 0.3, 0},
                   {GENERATOR_LOGNORMAL, 1000, 0.3, 0.5}};

    for (size_t w = 0; w < sizeof(windows) / sizeof(windows[0]); w++) {
        for (size_t t = 0; t < 3; t++) {
            for (size_t s = 0; s < 3; s++) {
                struct cell cell = {.generator = {.kind = windows[w].kind,
                                                  .count = windows[w].count,
                                                  .sd = windows[w].sd,
                                                  .phi = windows[w].phi},
                                    .trials = trials[t],
                                    .spread = spreads[s],
                                    .percentiles = true};
                struct experiment x = run(settings, &cell);

                for (size_t p = 0; p < PERCENTILES; p++) {
                    struct row row =
                        start_row(&x, "percentile interval between trials covers", COVERS, NAN);
                    const size_t used = strlen(row.where);

                    snprintf(row.where + used, sizeof(row.where) - used, ", %s%s", names[p],
                             windows[w].kind == GENERATOR_LOGNORMAL ? " lognormal" : "");
                    for (size_t i = 0; i < x.series; i++) {
                        row.trials += x.outcomes[i].percentile_given[p];
                        row.hits += x.outcomes[i].percentile_covered[p];
                    }
                    if (row.trials == 0) /* not offered with so few samples */
                        row.low = NAN;
                    table_add(table, &row);
                }
                free(x.outcomes);
            }
        }
    }
}

/* A value that is shown with a mark, because its trials are not steady. */
static void measure_marked(const struct settings *settings, struct table *table)
{
    static const struct {
        struct generator generator;
        enum estimate_verdict verdict;
        const char *called, *covers;
    } cases[] = {
        {{.kind = GENERATOR_DRIFT, .size = 0.05},
         ESTIMATE_DRIFT,
         "all trials drift 5 %: called drift",
         "all trials drift 5 %, marked: interval covers the expected mean of the window"},
        {{.kind = GENERATOR_TWO_STATE, .size = 0.05, .where = 20},
         ESTIMATE_BIMODAL,
         "two levels 5 % apart in every trial: called bimodal",
         "two levels 5 % apart, marked: interval covers the expected mean of the window"},
        {{.kind = GENERATOR_LATE_SHIFT, .size = 0.05, .where = 0.85},
         ESTIMATE_NON_STATIONARY,
         "5 % slower from 85 % on in every trial: called non_stationary",
         "5 % slower from 85 % on, marked: interval covers the expected mean of the window"},
    };
    static const size_t trials[] = {5, 10};
    size_t i, t;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        for (t = 0; t < 2; t++) {
            struct cell cell = {
                .generator = cases[i].generator, .trials = trials[t], .spread = 0.01};
            struct experiment x;

            cell.generator.count = COUNT_MAX;
            cell.generator.sd = 0.01;
            cell.generator.phi = cases[i].verdict == ESTIMATE_BIMODAL ? 0 : 0.5;
            x = run(settings, &cell);
            add_verdict(&x, cases[i].called, cases[i].verdict, 0.99, NAN, table);
            add_coverage(&x, cases[i].covers, MARKED, COVERS, table);
            free(x.outcomes);
        }
    }
}

static void measure_verdicts(const struct settings *settings, struct table *table)
{
    static const size_t trials[] = {5, 8, 10};
    static const double phis[] = {0, 0.9};
    /* Which share of the trials drifts: more than a fifth, or no more. */
    static const struct {
        size_t trials, drifting;
        const char *what;
        double low, high;
    } mixed[] = {
        {10, 3, "3 of 10 trials drift 5 %: called not steady", 0.99, NAN},
        {5, 2, "2 of 5 trials drift 5 %: called not steady", 0.99, NAN},
        {10, 2, "2 of 10 trials drift 5 %, a finding: called not steady", NAN, NAN},
        {5, 1, "1 of 5 trials drifts 5 %, a finding: called not steady", NAN, NAN},
    };
    struct experiment x;
    size_t t, p;

    for (t = 0; t < 3; t++) {
        for (p = 0; p < 2; p++) {
            struct cell cell = {.generator = flat, .trials = trials[t], .spread = 0.01};

            cell.generator.phi = phis[p];
            x = run(settings, &cell);
            add_verdict(&x, not_steady, ESTIMATE_VERDICT_COUNT, NAN, 0.01, table);
            free(x.outcomes);
        }
    }
    for (t = 0; t < 3; t++) {
        struct cell cell = {.generator = flat, .trials = trials[t], .spread = 0.01};

        cell.generator.kind = GENERATOR_HEAVY_TAILS;
        cell.generator.phi = 0;
        x = run(settings, &cell);
        add_verdict(&x, "flat trials, t with 3 degrees of freedom: called not steady",
                    ESTIMATE_VERDICT_COUNT, NAN, NAN, table);
        add_coverage(&x, "its interval between trials covers the level", ALL, NAN, table);
        free(x.outcomes);
    }
    for (t = 0; t < 3; t += 2) {
        for (p = 0; p < 2; p++) {
            struct cell cell = {.generator = flat, .trials = trials[t], .spread = 0.01};

            cell.generator.phi = phis[p];
            cell.drifting = trials[t];
            x = run(settings, &cell);
            add_verdict(&x, "all trials drift 5 %: called drift", ESTIMATE_DRIFT,
                        phis[p] > 0.8 ? 0.92 : 0.99, NAN, table);
            add_verdict(&x, "all trials drift 5 %: called not steady", ESTIMATE_VERDICT_COUNT,
                        phis[p] > 0.8 ? 0.92 : 0.99, NAN, table);
            free(x.outcomes);
        }
    }
    for (t = 0; t < sizeof(mixed) / sizeof(mixed[0]); t++) {
        struct cell cell = {flat, mixed[t].trials, 0.01, 0, mixed[t].drifting};

        x = run(settings, &cell);
        add_verdict(&x, mixed[t].what, ESTIMATE_VERDICT_COUNT, mixed[t].low, mixed[t].high, table);
        free(x.outcomes);
    }
}

static void add_grades(const struct experiment *x, const char *const whats[], double low,
                       struct table *table)
{
    enum metric_grade grade;
    size_t i;

    for (grade = METRIC_GRADE_A; grade <= METRIC_GRADE_D; grade++) {
        struct row row = start_row(x, whats[grade - METRIC_GRADE_A], low, NAN);

        for (i = 0; i < x->series; i++) {
            if (x->outcomes[i].grade != grade)
                continue;
            row.trials += x->outcomes[i].given;
            row.hits += x->outcomes[i].covered;
        }
        /* Grades that are rare among these cells. */
        if (row.trials > x->series / 200 + 5)
            table_add(table, &row);
    }
}

/* Cells graded so or better whose value is further from the level than the grade says. */
static void add_wrong(const struct experiment *x, enum metric_grade grade, double limit,
                      const char *what, struct table *table)
{
    struct row row = start_row(x, what, NAN, 0.025);
    size_t i;

    row.trials = x->series;
    for (i = 0; i < x->series; i++)
        row.hits += x->outcomes[i].grade <= grade && x->outcomes[i].off > limit;
    table_add(table, &row);
}

/*
 * Grading by the width of an interval selects: where all cells have the same spread, those whose
 * trials happen to agree have the better grade and the worse coverage. Over spreads of every size
 * it cancels out, and each grade covers.
 */
static void measure_grades(const struct settings *settings, struct table *table)
{
    static const char *const any[] = {"spread of any size, grade A: interval covers the level",
                                      "spread of any size, grade B: interval covers the level",
                                      "spread of any size, grade C: interval covers the level",
                                      "spread of any size, grade D: interval covers the level"};
    static const char *const same[] = {"cells of one spread, grade A: interval covers the level",
                                       "cells of one spread, grade B: interval covers the level",
                                       "cells of one spread, grade C: interval covers the level",
                                       "cells of one spread, grade D: interval covers the level"};
    static const struct {
        enum metric_grade grade;
        double limit;
        const char *what;
    } limits[] = {
        {METRIC_GRADE_B, 0.05, "grade A or B, and more than 5 % off the level"},
        {METRIC_GRADE_C, 0.2, "grade A to C, and more than 20 % off the level"},
    };
    static const size_t trials[] = {2, 3, 5, 8, 10};
    static const double spreads[] = {0.003, 0.01, 0.015, 0.02, 0.03}, times[] = {1, 1.5, 2};
    const struct generator steady = {.kind = GENERATOR_STATIONARY, .count = 12, .sd = 0.001};
    size_t t, s, g;
    struct experiment x;

    for (t = 1; t < 5; t++) {
        struct cell cell = {steady, trials[t], 0.0003, 1, 0};

        x = run(settings, &cell);
        add_grades(&x, any, GRADE_COVERS, table);
        free(x.outcomes);
    }
    for (t = 2; t < 5; t++) {
        for (s = 0; s < 5; s++) {
            struct cell cell = {steady, trials[t], spreads[s], 0, 0};

            x = run(settings, &cell);
            add_grades(&x, same, NAN, table);
            add_wrong(&x, METRIC_GRADE_A, 0.01, "grade A, and more than 1 % off the level", table);
            free(x.outcomes);
        }
    }
    for (g = 0; g < 2; g++) {
        for (t = limits[g].grade == METRIC_GRADE_C ? 0 : 2; t < 5; t++) {
            for (s = 0; s < 3; s++) {
                struct cell cell = {steady, trials[t], limits[g].limit * times[s], 0, 0};

                x = run(settings, &cell);
                add_wrong(&x, limits[g].grade, limits[g].limit, limits[g].what, table);
                free(x.outcomes);
            }
        }
    }
}

void measure_cells(const struct settings *settings, struct table *table)
{
    static const struct {
        const char *name;
        void (*measure)(const struct settings *settings, struct table *table);
    } parts[] = {
        {"trials", measure_trials},
        {"grades", measure_grades},
        {"percentiles between trials", measure_percentiles},
        {"marked", measure_marked},
        {"verdicts", measure_verdicts},
    };
    size_t i;

    for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (strstr(parts[i].name, settings->only))
            parts[i].measure(settings, table);
    }
}
