#include "tests/calibration/measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "protocols/compare.h"
#include "tests/calibration/experiment.h"
#include "tests/calibration/rivals.h"

#define LABEL "re-implemented for comparison: "
#define SAMPLES_MAX 10000

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* One decision of a rule on a series; true counts as a hit. */
typedef bool question(const double *x, size_t count, const struct truth *truth,
                      const struct generator *generator);

static bool naive_covers(const double *x, size_t count, const struct truth *truth,
                         const struct generator *generator)
{
    double mean, half;

    (void)generator;
    rival_naive_interval(x, count, &mean, &half);
    return fabs(mean - truth->mean_ns) <= half;
}

static bool stdrel_covers(const double *x, size_t count, const struct truth *truth,
                          const struct generator *generator)
{
    double *seconds = malloc(count * sizeof(*seconds));
    size_t i, used;

    if (!seconds)
        abort();
    for (i = 0; i < count; i++)
        seconds[i] = x[i] * 1e-9;
    used = rival_stdrel_stop(seconds, count);
    free(seconds);
    return naive_covers(x, used, truth, generator);
}

static bool mlperf_bounds(const double *x, size_t count, const struct truth *truth,
                          const struct generator *generator)
{
    double *sorted = malloc(count * sizeof(*sorted)), estimate = 0;
    bool given;

    (void)truth;
    if (!sorted)
        abort();
    memcpy(sorted, x, count * sizeof(*sorted));
    qsort(sorted, count, sizeof(*sorted), compare);
    given = rival_mlperf_estimate(sorted, count, 0.9, &estimate);
    free(sorted);
    return given && estimate >= generator_quantile(generator, 0.9);
}

static bool otava_finds_any(const double *x, size_t count, const struct truth *truth,
                            const struct generator *generator)
{
    (void)truth;
    (void)generator;
    return rival_otava_changes(x, count, NULL) > 0;
}

static void ask(const struct settings *settings, const char *what, question *put,
                const struct generator *g, struct table *table)
{
    struct row row = {.what = what, .low = NAN, .high = NAN, .mean = NAN};
    const size_t count = g->count;
    long i, series = (long)settings->series;
    size_t hits = 0;
    char key[256];

    row.series = row.trials = settings->series;
    experiment_describe(g, row.where, sizeof(row.where));
    snprintf(key, sizeof(key), "%zu series, %s, %s", settings->series, what, row.where);
    if (parts_take(settings->parts, key, &hits, sizeof(hits)))
        series = 0;
#pragma omp parallel for reduction(+ : hits) schedule(dynamic, 8)
    for (i = 0; i < series; i++) {
        int64_t *samples = malloc(count * sizeof(*samples));
        double *x = malloc(count * sizeof(*x));
        struct truth truth;
        size_t k;

        if (!samples || !x)
            abort();
        truth = generator_make(
            g, settings->seed,
            ((uint64_t)g->kind << 52) + ((uint64_t)(g->phi * 1000) << 40) + (uint64_t)i, samples);
        for (k = 0; k < count; k++)
            x[k] = (double)samples[k];
        hits += put(x, count, &truth, g);
        free(samples);
        free(x);
    }
    if (series > 0)
        parts_keep(settings->parts, key, &hits, sizeof(hits));
    row.hits = hits;
    table_add(table, &row);
}

enum rule { NVBENCH, CRITERION, PYPERF, PAIRED };

/* A against A: `processes` fresh ones an arm, `values` each; spreads between and within them. */
static void compare_arms(const struct settings *settings, const char *what, enum rule rule,
                         size_t processes, size_t values, double between, double within,
                         struct table *table)
{
    struct row row = {.what = what, .low = NAN, .high = NAN, .mean = NAN};
    struct compare_options options = compare_options_default();
    long i, series = (long)settings->series;
    size_t hits = 0;
    char key[256];

    row.series = row.trials = settings->series;
    snprintf(row.where, sizeof(row.where),
             "%zu process%s of %zu values, sd between %.3g %%, within %.3g %%", processes,
             processes > 1 ? "es" : "", values, 100 * between, 100 * within);
    snprintf(key, sizeof(key), "%zu series, %s, %s", settings->series, what, row.where);
    if (parts_take(settings->parts, key, &hits, sizeof(hits)))
        series = 0;
#pragma omp parallel for reduction(+ : hits) schedule(dynamic, 8)
    for (i = 0; i < series; i++) {
        double x[2][128], mean[2][32] = {{0}};
        struct comparison comparison;
        struct random random;
        size_t arm, p, v;

        random_init(&random, settings->seed ^ 0x726976616c73u,
                    ((uint64_t)rule << 40) + (uint64_t)i);
        for (arm = 0; arm < 2; arm++) {
            for (p = 0; p < processes; p++) {
                double level = 1 + between * random_next_normal(&random);

                for (v = 0; v < values; v++) {
                    x[arm][p * values + v] = level * (1 + within * random_next_normal(&random));
                    mean[arm][p] += x[arm][p * values + v] / (double)values;
                }
            }
        }
        if (rule == NVBENCH)
            hits += rival_nvbench_differs(x[0], x[1], processes * values);
        else if (rule == CRITERION)
            hits += rival_criterion_differs(x[0], x[1], processes * values, &random);
        else if (rule == PYPERF)
            hits += rival_pyperf_differs(x[0], x[1], processes * values);
        else if (!paired_analyze(mean[0], mean[1], processes, &options, &comparison, NULL))
            hits += comparison.differs;
    }
    if (series > 0)
        parts_keep(settings->parts, key, &hits, sizeof(hits));
    row.hits = hits;
    table_add(table, &row);
}

void measure_rivals(const struct settings *settings, struct table *table)
{
    static const double phis[] = {0, 0.5, 0.9};
    /* Those of measure_hard.c that have a level to cover. */
    static const struct generator hard[] = {
        {.kind = GENERATOR_RAMP,
         .count = 1000,
         .sd = 0.01,
         .size = 0.05,
         .where = 0.2,
         .shape = 0.5},
        {.kind = GENERATOR_POWER_LAW,
         .count = 1000,
         .sd = 0.01,
         .size = 0.1,
         .where = 0.01,
         .shape = 0.5},
        {.kind = GENERATOR_STATIONARY, .count = 1000, .sd = 0.01, .phi = 0.995},
        {.kind = GENERATOR_LONG_MEMORY, .count = 1000, .sd = 0.01, .shape = 0.3},
        {.kind = GENERATOR_PERIODIC, .count = 1000, .sd = 0.01, .size = 0.02, .where = 700},
        {.kind = GENERATOR_HEAVY_TAILS, .count = 1000, .sd = 0.05},
    };
    static const struct generator student = {
        .kind = GENERATOR_HEAVY_TAILS, .count = 300, .sd = 0.01};
    static const char naive[] = LABEL "naive 95 % t interval covers";
    static const char stdrel[] = LABEL "NVBench stdrel, then mean and noise: covers";
    static const char mlperf[] = LABEL "MLPerf early stopping: 99 % bound of p90 holds";
    static const char otava[] = LABEL "Otava: changes found in a flat series";
    static const struct {
        const char *what;
        question *put;
        size_t count;
    } rules[] = {
        {naive, naive_covers, 1000},
        {stdrel, stdrel_covers, SAMPLES_MAX},
        {mlperf, mlperf_bounds, 1024},
        {otava, otava_finds_any, 300},
    };
    size_t r, i;

    if (!strstr("rivals", settings->only))
        return;
    for (r = 0; r < sizeof(rules) / sizeof(rules[0]); r++) {
        for (i = 0; i < 3; i++) {
            const struct generator g = {
                .kind = GENERATOR_STATIONARY, .count = rules[r].count, .sd = 0.01, .phi = phis[i]};

            ask(settings, rules[r].what, rules[r].put, &g, table);
        }
    }
    for (i = 0; i < sizeof(hard) / sizeof(hard[0]); i++) {
        ask(settings, naive, naive_covers, &hard[i], table);
        ask(settings, stdrel, stdrel_covers, &hard[i], table);
    }
    ask(settings, otava, otava_finds_any, &student, table);
    compare_arms(settings, LABEL "NVBench compare (legacy): A/A called different", NVBENCH, 1, 100,
                 0.005, 0.01, table);
    compare_arms(settings, LABEL "NVBench compare (legacy): A/A called different", NVBENCH, 1, 100,
                 0.005, 0.002, table);
    compare_arms(settings, LABEL "criterion: A/A called improved or regressed", CRITERION, 1, 100,
                 0.005, 0.01, table);
    compare_arms(settings, LABEL "criterion: A/A called improved or regressed", CRITERION, 1, 100,
                 0.01, 0.01, table);
    compare_arms(settings, LABEL "pyperf t test: A/A called different", PYPERF, 20, 3, 0.005, 0.001,
                 table);
    compare_arms(settings, LABEL "pyperf t test: A/A called different", PYPERF, 20, 3, 0.005, 0.005,
                 table);
    compare_arms(settings, "the same, by this engine's paired rule", PAIRED, 20, 3, 0.005, 0.001,
                 table);
}
