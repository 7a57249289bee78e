/* Cells of several trials: the interval between trials, by grade and of marked values; the verdict.
 */
#include "tests/calibration/cells.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/random.h"

#define COUNT 300
#define COVERS 0.935
/* Coverage of a grade over spreads of any size: an A loses some by selection at its limit. */
#define GRADE_COVERS 0.93
/* Of all cells of one spread: graded, and further off than the grade says. */
#define WRONG 0.025

static const struct generator flat = {
    .kind = GENERATOR_STATIONARY, .count = COUNT, .sd = 0.01, .phi = 0.5};

static const char not_steady[] = "flat trials: called not steady";

/* The interval between trials, with few samples in each and with many. */
static void measure_trials(const struct settings *settings, struct table *table)
{
    static const size_t trials[] = {3, 5, 8, 10};
    static const double spreads[] = {0.003, 0.01, 0.03};
    static const struct {
        size_t count;
        double phi;
    } windows[] = {{6, 0}, {15, 0.9}, {COUNT, 0.5}};
    struct cell one = {.generator = flat, .trials = 1, .spread = 0.01};
    struct cells x;
    size_t w, t, s;

    for (w = 0; w < 3; w++) {
        for (t = 0; t < 4; t++) {
            for (s = 0; s < 3; s++) {
                struct cell cell = {.generator = flat, .trials = trials[t], .spread = spreads[s]};

                cell.generator.count = windows[w].count;
                cell.generator.phi = windows[w].phi;
                x = cells_run(settings, &cell);
                cells_add_coverage(&x, "interval between trials covers the level", CELLS_ALL,
                                   COVERS, table);
                if (windows[w].count == COUNT)
                    cells_add_verdict(&x, not_steady, ESTIMATE_VERDICT_COUNT, NAN, 0.01, table);
                if (windows[w].phi > 0.8 && trials[t] == 5 && s == 1)
                    cells_add_verdict(&x, "called insufficient", ESTIMATE_INSUFFICIENT, NAN, NAN,
                                      table);
                free(x.outcomes);
            }
        }
    }
    x = cells_run(settings, &one);
    cells_add_coverage(&x, "one trial: its interval covers the level of all processes", CELLS_ALL,
                       NAN, table);
    free(x.outcomes);
}

/*
 * Percentiles between trials: of the process at the geometric mean of all, since the level of a
 * process multiplies its whole distribution. Given by the number of samples alone.
 */
static void measure_percentiles(const struct settings *settings, struct table *table)
{
    static const char *const names[CELL_PERCENTILES] = {"p50", "p90", "p99"};
    static const size_t trials[] = {3, 5, 10};
    static const double spreads[] = {0, 0.01, 0.03};
    static const struct {
        enum generator_kind kind;
        size_t count;
        double sd, phi, spikes;
    } windows[] = {
        {GENERATOR_STATIONARY, 40, 0.01, 0, 0},       {GENERATOR_STATIONARY, 300, 0.01, 0, 0},
        {GENERATOR_STATIONARY, 300, 0.01, 0.9, 0},    {GENERATOR_LOGNORMAL, 300, 0.3, 0, 0},
        {GENERATOR_LOGNORMAL, 1000, 0.3, 0.5, 0},     {GENERATOR_STATIONARY, 400, 0.01, 0, 0.008},
        {GENERATOR_STATIONARY, 1000, 0.01, 0, 0.008}, {GENERATOR_STATIONARY, 400, 0.01, 0, 0.01},
        {GENERATOR_STATIONARY, 1000, 0.01, 0, 0.012}, {GENERATOR_STATIONARY, 400, 0.01, 0, 0.02},
        {GENERATOR_STATIONARY, 400, 0.01, 0.5, 0.1},
    };

    for (size_t w = 0; w < sizeof(windows) / sizeof(windows[0]); w++) {
        for (size_t t = 0; t < 3; t++) {
            for (size_t s = 0; s < 3; s++) {
                struct cell cell = {.generator = {.kind = windows[w].kind,
                                                  .count = windows[w].count,
                                                  .sd = windows[w].sd,
                                                  .phi = windows[w].phi,
                                                  .spikes = windows[w].spikes},
                                    .trials = trials[t],
                                    .spread = spreads[s],
                                    .percentiles = true};
                struct cells x;

                if (windows[w].spikes > 0 && s != 1)
                    continue;
                x = cells_run(settings, &cell);
                for (size_t p = 0; p < CELL_PERCENTILES; p++) {
                    struct row row =
                        cells_row(&x, "percentile interval between trials covers", COVERS, NAN);
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
            struct cells x;

            cell.generator.count = COUNT;
            cell.generator.sd = 0.01;
            cell.generator.phi = cases[i].verdict == ESTIMATE_BIMODAL ? 0 : 0.5;
            x = cells_run(settings, &cell);
            cells_add_verdict(&x, cases[i].called, cases[i].verdict, 0.99, NAN, table);
            cells_add_coverage(&x, cases[i].covers, CELLS_MARKED, COVERS, table);
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
    struct cells x;
    size_t t, p;

    for (t = 0; t < 3; t++) {
        for (p = 0; p < 2; p++) {
            struct cell cell = {.generator = flat, .trials = trials[t], .spread = 0.01};

            cell.generator.phi = phis[p];
            x = cells_run(settings, &cell);
            cells_add_verdict(&x, not_steady, ESTIMATE_VERDICT_COUNT, NAN, 0.01, table);
            free(x.outcomes);
        }
    }
    for (t = 0; t < 3; t++) {
        struct cell cell = {.generator = flat, .trials = trials[t], .spread = 0.01};

        cell.generator.kind = GENERATOR_HEAVY_TAILS;
        cell.generator.phi = 0;
        x = cells_run(settings, &cell);
        cells_add_verdict(&x, "flat trials, t with 3 degrees of freedom: called not steady",
                          ESTIMATE_VERDICT_COUNT, NAN, NAN, table);
        cells_add_coverage(&x, "its interval between trials covers the level", CELLS_ALL, NAN,
                           table);
        free(x.outcomes);
    }
    for (t = 0; t < 3; t += 2) {
        for (p = 0; p < 2; p++) {
            struct cell cell = {.generator = flat, .trials = trials[t], .spread = 0.01};

            cell.generator.phi = phis[p];
            cell.drifting = trials[t];
            x = cells_run(settings, &cell);
            cells_add_verdict(&x, "all trials drift 5 %: called drift", ESTIMATE_DRIFT,
                              phis[p] > 0.8 ? 0.92 : 0.99, NAN, table);
            cells_add_verdict(&x, "all trials drift 5 %: called not steady", ESTIMATE_VERDICT_COUNT,
                              phis[p] > 0.8 ? 0.92 : 0.99, NAN, table);
            free(x.outcomes);
        }
    }
    for (t = 0; t < sizeof(mixed) / sizeof(mixed[0]); t++) {
        struct cell cell = {flat, mixed[t].trials, 0.01, 0, mixed[t].drifting};

        x = cells_run(settings, &cell);
        cells_add_verdict(&x, mixed[t].what, ESTIMATE_VERDICT_COUNT, mixed[t].low, mixed[t].high,
                          table);
        free(x.outcomes);
    }
}

static void add_grades(const struct cells *x, const char *const whats[], double low,
                       struct table *table)
{
    enum metric_grade grade;
    size_t i;

    for (grade = METRIC_GRADE_A; grade <= METRIC_GRADE_D; grade++) {
        struct row row = cells_row(x, whats[grade - METRIC_GRADE_A], low, NAN);

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
    struct cells x;

    for (t = 1; t < 5; t++) {
        struct cell cell = {steady, trials[t], 0.0003, 1, 0};

        x = cells_run(settings, &cell);
        add_grades(&x, any, GRADE_COVERS, table);
        free(x.outcomes);
    }
    for (t = 2; t < 5; t++) {
        for (s = 0; s < 5; s++) {
            struct cell cell = {steady, trials[t], spreads[s], 0, 0};

            x = cells_run(settings, &cell);
            add_grades(&x, same, NAN, table);
            cells_add_wrong(&x, METRIC_GRADE_A, 0.01, "grade A, and more than 1 % off the level",
                            WRONG, table);
            free(x.outcomes);
        }
    }
    for (g = 0; g < 2; g++) {
        for (t = limits[g].grade == METRIC_GRADE_C ? 0 : 2; t < 5; t++) {
            for (s = 0; s < 3; s++) {
                struct cell cell = {steady, trials[t], limits[g].limit * times[s], 0, 0};

                x = cells_run(settings, &cell);
                cells_add_wrong(&x, limits[g].grade, limits[g].limit, limits[g].what, WRONG, table);
                free(x.outcomes);
            }
        }
    }
}

/* Cells with a finding about the order of their trials. */
static void add_seen(const struct cells *x, double low, double high, struct table *table)
{
    struct row row = cells_row(x, "the order of trials: a finding", low, high);

    row.trials = x->series;
    for (size_t i = 0; i < x->series; i++)
        row.hits += x->outcomes[i].seen;
    table_add(table, &row);
}

/*
 * Campaigns whose level moves, whose neighbouring trials are alike, or that have waves. The level
 * is that of the start where it moves. From 5 to 10 trials, most likeness of neighbours cannot be
 * told from none: coverage has a promise for independent trials alone, and a grade where processes
 * differ by no more than half of a percent.
 */
static void measure_campaigns(const struct settings *settings, struct table *table)
{
    static const struct {
        double moves, neighbours, waves;
    } ways[] = {{0, 0, 0},   {0.03, 0, 0}, {0, 0.3, 0}, {0, 0.5, 0},
                {0, 0.8, 0}, {0, 0, 0.5},  {0, 0, 1},   {0, 0, 2}};
    static const size_t trials[] = {5, 8, 10};
    static const double spreads[] = {0.002, 0.005, 0.01};
    const struct generator steady = {.kind = GENERATOR_STATIONARY, .count = 12, .sd = 0.001};

    for (size_t w = 0; w < sizeof(ways) / sizeof(ways[0]); w++)
        for (size_t t = 0; t < 3; t++)
            for (size_t s = 0; s < 3; s++) {
                const struct cell cell = {.generator = steady,
                                          .trials = trials[t],
                                          .spread = spreads[s],
                                          .moves = ways[w].moves,
                                          .neighbours = ways[w].neighbours,
                                          .waves = ways[w].waves};
                struct cells x = cells_run(settings, &cell);
                const bool plain = w == 0;

                add_seen(&x, ways[w].moves > 0 && trials[t] > 5 && s < 2 ? 0.95 : NAN,
                         plain ? 0.06 : NAN, table);
                cells_add_coverage(&x, "the order of trials: interval covers the level", CELLS_ALL,
                                   plain ? COVERS : NAN, table);
                cells_add_wrong(&x, METRIC_GRADE_A, 0.01,
                                "the order of trials: grade A, and more than 1 % off",
                                plain || s < (ways[w].waves > 0 ? 1 : 2) ? WRONG : NAN, table);
                free(x.outcomes);
            }
}

/*
 * Campaigns over several days, whose trials have a share of their variance in common with those of
 * the same day: the days take the place of trials. Beside it, of the same cells, what the trials
 * say where nobody knows when they were measured.
 */
static void measure_days(const struct settings *settings, struct table *table)
{
    static const struct {
        size_t days, trials;
    } campaigns[] = {{2, 10}, {3, 12}, {5, 10}, {5, 20}, {10, 20}};
    static const double shares[] = {0, 0.3, 0.8};

    for (size_t c = 0; c < sizeof(campaigns) / sizeof(campaigns[0]); c++)
        for (size_t s = 0; s < 3; s++) {
            struct cell cell = {
                .generator = {.kind = GENERATOR_STATIONARY, .count = 12, .sd = 0.001},
                .trials = campaigns[c].trials,
                .spread = 0.007,
                .days = campaigns[c].days,
                .of_day = shares[s]};
            struct cells x = cells_run(settings, &cell);

            cells_add_coverage(&x, "days: interval covers the level", CELLS_ALL, COVERS, table);
            cells_add_wrong(&x, METRIC_GRADE_A, 0.01, "days: grade A, and more than 1 % off", WRONG,
                            table);
            free(x.outcomes);
            cell.no_times = true;
            x = cells_run(settings, &cell);
            cells_add_coverage(&x, "days: trials taken for independent cover", CELLS_ALL, NAN,
                               table);
            free(x.outcomes);
        }
}

/* ---- as many trials as a cell asks for ---- */

#define NEEDED_MOST 600
/* The chance of 80 %, of which the looks at the order of trials take some, whose interval is wider.
 */
#define NEEDED_ENOUGH 0.76

struct needed_case {
    size_t trials, samples;
    double spread;
};

/* A cell of `trials` processes with their own levels, and samples of an AR(1) about each. */
static struct estimate *needed_cell(const struct needed_case *c, size_t trials,
                                    struct random *random)
{
    const struct estimate_options options = estimate_options_default();
    int64_t *samples = malloc(trials * c->samples * sizeof(*samples));
    struct estimate_series *series = calloc(trials, sizeof(*series));
    struct estimate *e = NULL;

    if (!samples || !series)
        abort();
    for (size_t t = 0; t < trials; t++) {
        const double level = 1e6 * exp(c->spread * random_next_normal(random));
        double noise = random_next_normal(random);

        series[t] = (struct estimate_series){samples + t * c->samples, c->samples, 0, 0};
        for (size_t k = 0; k < c->samples; k++) {
            samples[t * c->samples + k] = (int64_t)(level * (1 + 0.015 * noise));
            noise = 0.4 * noise + sqrt(1 - 0.4 * 0.4) * random_next_normal(random);
        }
    }
    if (estimate_cell(series, trials, &options, &e, NULL) != STATUS_OK)
        abort();
    free(series);
    free(samples);
    return e;
}

/* Whether a fresh cell of as many trials as one asks for is within the margin. */
static bool needed_are_enough(const struct needed_case *c, uint64_t seed, uint64_t index,
                              bool *ret_asked)
{
    const double margin = estimate_options_default().margin;
    struct random random;
    struct estimate *e;
    const struct metric_value *mean;
    uint64_t needed;
    bool within;

    random_init(&random, seed ^ 0x6e656564u, index);
    e = needed_cell(c, c->trials, &random);
    needed = e->needed_trials;
    estimate_destroy(e);
    *ret_asked = needed > 0 && needed <= NEEDED_MOST;
    if (!*ret_asked)
        return false;
    e = needed_cell(c, (size_t)needed, &random);
    mean = &e->metrics[METRIC_ITERATION_TIME];
    within = mean->has_interval && mean->hi / mean->value <= (1 + margin) * (1 + 1e-12);
    estimate_destroy(e);
    return within;
}

static void measure_needed(const struct settings *settings, struct table *table)
{
    static const struct needed_case cases[] = {
        {5, 15, 0.013}, {5, 15, 0.025}, {10, 15, 0.013}, {10, 15, 0.025}, {5, 60, 0.02}};
    const size_t pilots = settings->series;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct needed_case *c = &cases[i];
        struct row row = {.what = "as many trials as needed bring the interval within the margin",
                          .low = NEEDED_ENOUGH,
                          .high = NAN,
                          .mean = NAN};
        size_t found[2] = {0}, hits = 0, asked = 0;
        char key[256];

        snprintf(row.where, sizeof(row.where), "%zu trials of %zu, sd %g %%, once too few",
                 c->trials, c->samples, 100 * c->spread);
        snprintf(key, sizeof(key), "%zu pilots, needed trials, %s", pilots, row.where);
        if (!parts_take(settings->parts, key, found, sizeof(found))) {
#pragma omp parallel for reduction(+ : hits, asked) schedule(dynamic, 4)
            for (long k = 0; k < (long)pilots; k++) {
                bool was_asked;

                hits += needed_are_enough(c, settings->seed, (i << 40) + (uint64_t)k, &was_asked);
                asked += was_asked;
            }
            found[0] = hits;
            found[1] = asked;
            parts_keep(settings->parts, key, found, sizeof(found));
        }
        row.hits = found[0];
        row.series = row.trials = found[1];
        table_add(table, &row);
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
        {"campaigns", measure_campaigns},
        {"days", measure_days},
        {"needed", measure_needed},
    };
    size_t i;

    for (i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        if (strstr(parts[i].name, settings->only))
            parts[i].measure(settings, table);
    }
}
