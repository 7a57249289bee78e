/* Histories of results: false changes, steps found, and other rules on the same series. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/random.h"
#include "protocols/history.h"
#include "tests/calibration/measure.h"
#include "tests/calibration/rivals.h"

#define LEVEL 100.0
/* Of the plain threshold: a result this far from the mean of those before it. */
#define THRESHOLD 0.02

enum rule { OURS, OTAVA, THRESHOLD_RULE };

struct history_case {
    size_t count;
    double phi, sd, step; /* relative */
    size_t after;         /* results after the step */
    double odd;           /* share of results that are off by ten times sd */
    double low, high;     /* promised of our rule */
};

/* An AR(1) from its stationary distribution about LEVEL, `step` higher for the last ones. */
static void make(const struct history_case *c, uint64_t seed, uint64_t index, double *x)
{
    struct random random;
    double noise;

    random_init(&random, seed ^ 0x686973746f7279u, index);
    noise = random_next_normal(&random);
    for (size_t i = 0; i < c->count; i++) {
        const double spike = random_next_unit(&random) < c->odd ? 10 : 0;

        x[i] = LEVEL * (1 + c->sd * (noise + spike) + (i >= c->count - c->after ? c->step : 0));
        noise = c->phi * noise + sqrt(1 - c->phi * c->phi) * random_next_normal(&random);
    }
}

static bool ours_finds(const double *x, size_t count)
{
    double *logs = malloc(count * sizeof(*logs));
    struct trend trend;
    bool found;

    if (!logs)
        abort();
    for (size_t i = 0; i < count; i++)
        logs[i] = log(x[i]);
    if (history_describe(logs, count, &trend, NULL) != STATUS_OK)
        abort();
    found = trend.kind != TREND_CONSTANT;
    trend_finish(&trend);
    free(logs);
    return found;
}

static bool threshold_finds(const double *x, size_t count)
{
    double sum = x[0];

    for (size_t i = 1; i < count; sum += x[i++])
        if (fabs(x[i] / (sum / (double)i) - 1) > THRESHOLD)
            return true;
    return false;
}

static bool finds(enum rule rule, const double *x, size_t count)
{
    if (rule == OTAVA)
        return rival_otava_changes(x, count, NULL) > 0;
    return rule == OURS ? ours_finds(x, count) : threshold_finds(x, count);
}

static void measure(const struct settings *settings, const struct history_case *c, enum rule rule,
                    struct table *table)
{
    static const char *const what[][3] = {
        {"history: false change", "re-implemented for comparison: otava, false change in a history",
         "plain threshold of 2 %: false change in a history"},
        {"history: step found", "re-implemented for comparison: otava finds a step in a history",
         "plain threshold of 2 %: finds a step in a history"},
    };
    struct row row = {.what = what[c->step > 0][rule],
                      .low = rule == OURS ? c->low : NAN,
                      .high = rule == OURS ? c->high : NAN,
                      .mean = NAN};
    const long series = (long)settings->series;
    size_t hits = 0;
    char key[256];

    row.series = row.trials = settings->series;
    if (c->step > 0)
        snprintf(row.where, sizeof(row.where), "%g %% step, %zu of %zu after it, phi %g, sd %g %%",
                 100 * c->step, c->after, c->count, c->phi, 100 * c->sd);
    else
        snprintf(row.where, sizeof(row.where), "%zu results, phi %g, sd %g %%%s", c->count, c->phi,
                 100 * c->sd, c->odd > 0 ? ", 2 % odd ones" : "");
    snprintf(key, sizeof(key), "%zu series, %s, %s", settings->series, row.what, row.where);
    if (!parts_take(settings->parts, key, &hits, sizeof(hits))) {
#pragma omp parallel for reduction(+ : hits) schedule(dynamic, 8)
        for (long i = 0; i < series; i++) {
            double x[256];

            make(c, settings->seed, (uint64_t)i, x);
            hits += finds(rule, x, c->count);
        }
        parts_keep(settings->parts, key, &hits, sizeof(hits));
    }
    row.hits = hits;
    table_add(table, &row);
}

/* ---- looked at again after each result ---- */

#define RESULTS_MAX 256
/* Sittings are a day apart, their results ten minutes. */
#define DAY_NS (INT64_C(86400) * 1000000000)
#define APART_NS (INT64_C(600) * 1000000000)

struct look_case {
    size_t sittings, each; /* results of a sitting */
    double phi, sd;        /* of sittings, relative */
    double within;         /* sd of the results of a sitting, relative to it */
    double odd, step;      /* as above */
    size_t after;          /* sittings after the step */
    double low, high;
};

/* Levels of sittings as of `make`; results about them. Returns how many. */
static size_t make_sittings(const struct look_case *c, uint64_t seed, uint64_t index, double *logs,
                            int64_t *times_ns)
{
    const struct history_case of = {.count = c->sittings,
                                    .phi = c->phi,
                                    .sd = c->sd,
                                    .step = c->step,
                                    .after = c->after,
                                    .odd = c->odd};
    struct random random;
    double levels[RESULTS_MAX];

    make(&of, seed ^ 0x6c6f6f6bu, index, levels);
    random_init(&random, seed ^ 0x736974u, index);
    for (size_t i = 0; i < c->sittings * c->each; i++) {
        logs[i] = log(levels[i / c->each]) + c->within * random_next_normal(&random);
        times_ns[i] = (int64_t)(i / c->each) * DAY_NS + (int64_t)(i % c->each) * APART_NS;
    }
    return c->sittings * c->each;
}

/* Whether any look finds a change, or, of a step, the last one. */
static bool look_finds(const struct look_case *c, uint64_t seed, uint64_t index)
{
    double logs[RESULTS_MAX], values[RESULTS_MAX];
    int64_t times_ns[RESULTS_MAX];
    size_t first[RESULTS_MAX];
    const size_t count = make_sittings(c, seed, index, logs, times_ns);

    for (size_t look = c->step > 0 ? count : 1; look <= count; look++) {
        const size_t sittings = history_sittings(logs, times_ns, look, values, first);
        struct trend trend = {0};
        bool found;

        if (sittings < HISTORY_LEAST)
            continue;
        if (history_describe(values, sittings, &trend, NULL) != STATUS_OK)
            abort();
        found = trend.kind != TREND_CONSTANT;
        trend_finish(&trend);
        if (found)
            return true;
    }
    return false;
}

static void measure_looks(const struct settings *settings, const struct look_case *c,
                          struct table *table)
{
    struct row row = {.what = c->step > 0 ? "history: step between sittings found"
                                          : "history: a false change at any look",
                      .low = c->low,
                      .high = c->high,
                      .mean = NAN};
    const long series = (long)settings->series;
    size_t hits = 0;
    char key[256];

    row.series = row.trials = settings->series;
    snprintf(row.where, sizeof(row.where), "%zu sittings of %zu, phi %g, sd %g %%, within %g %%%s",
             c->sittings, c->each, c->phi, 100 * c->sd, 100 * c->within,
             c->odd > 0 ? ", 2 % odd ones" : "");
    if (c->step > 0)
        snprintf(row.where + strlen(row.where), sizeof(row.where) - strlen(row.where),
                 ", %zu after a step of %g %%", c->after, 100 * c->step);
    snprintf(key, sizeof(key), "%zu series, %s, %s", settings->series, row.what, row.where);
    if (!parts_take(settings->parts, key, &hits, sizeof(hits))) {
#pragma omp parallel for reduction(+ : hits) schedule(dynamic, 1)
        for (long i = 0; i < series; i++)
            hits += look_finds(c, settings->seed, (uint64_t)i);
        parts_keep(settings->parts, key, &hits, sizeof(hits));
    }
    row.hits = hits;
    table_add(table, &row);
}

static void measure_all_looks(const struct settings *settings, struct table *table)
{
    static const struct look_case cases[] = {
        {.sittings = 200, .each = 1, .sd = 0.008, .low = NAN, .high = 0.05},
        {.sittings = 200, .each = 1, .phi = 0.25, .sd = 0.008, .low = NAN, .high = 0.05},
        {.sittings = 200, .each = 1, .phi = 0.3, .sd = 0.012, .low = NAN, .high = 0.05},
        {.sittings = 200, .each = 1, .phi = 0.6, .sd = 0.012, .low = NAN, .high = NAN},
        {.sittings = 200,
         .each = 1,
         .phi = 0.3,
         .sd = 0.012,
         .odd = 0.02,
         .low = NAN,
         .high = 0.05},
        {.sittings = 50, .each = 5, .sd = 0.01, .within = 0.003, .low = NAN, .high = 0.05},
        {.sittings = 40,
         .each = 6,
         .phi = 0.3,
         .sd = 0.01,
         .within = 0.01,
         .low = NAN,
         .high = 0.05},
        {.sittings = 60,
         .each = 4,
         .sd = 0.005,
         .within = 0.002,
         .step = 0.02,
         .after = 12,
         .low = 0.9,
         .high = NAN},
        {.sittings = 60,
         .each = 4,
         .sd = 0.005,
         .within = 0.002,
         .step = 0.02,
         .after = 6,
         .low = NAN,
         .high = NAN},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        measure_looks(settings, &cases[i], table);
}

void measure_history(const struct settings *settings, struct table *table)
{
    static const struct history_case cases[] = {
        {.count = 200, .phi = 0, .sd = 0.01, .low = NAN, .high = 0.05},
        {.count = 200, .phi = 0.3, .sd = 0.01, .low = NAN, .high = 0.05},
        {.count = 200, .phi = 0.6, .sd = 0.01, .low = NAN, .high = NAN},
        {.count = 200, .phi = 0.3, .sd = 0.01, .odd = 0.02, .low = NAN, .high = 0.05},
        {.count = 50, .phi = 0, .sd = 0.01, .low = NAN, .high = 0.05},
        {.count = 50, .phi = 0.3, .sd = 0.01, .low = NAN, .high = 0.05},
        {.count = 16, .phi = 0, .sd = 0.01, .low = NAN, .high = 0.05},
        {.count = 16, .phi = 0.3, .sd = 0.01, .low = NAN, .high = 0.05},
        {.count = 200, .phi = 0, .sd = 0.01, .step = 0.02, .after = 171, .low = 0.95, .high = NAN},
        {.count = 200,
         .phi = 0.3,
         .sd = 0.01,
         .step = 0.02,
         .after = 171,
         .low = 0.95,
         .high = NAN},
        {.count = 200,
         .phi = 0.3,
         .sd = 0.005,
         .step = 0.02,
         .after = 100,
         .low = 0.95,
         .high = NAN},
        {.count = 200, .phi = 0.3, .sd = 0.01, .step = 0.02, .after = 20, .low = 0.9, .high = NAN},
        {.count = 200, .phi = 0.3, .sd = 0.005, .step = 0.02, .after = 5, .low = NAN, .high = NAN},
        {.count = 50, .phi = 0.3, .sd = 0.005, .step = 0.02, .after = 25, .low = 0.9, .high = NAN},
        {.count = 50, .phi = 0.3, .sd = 0.01, .step = 0.02, .after = 25, .low = NAN, .high = NAN},
        {.count = 20, .phi = 0, .sd = 0.005, .step = 0.02, .after = 10, .low = 0.9, .high = NAN},
        /* Far beyond the noise, as between two machines or by a library that is left out. */
        {.count = 18, .phi = 0, .sd = 0.01, .step = 1, .after = 9, .low = 0.99, .high = NAN},
        {.count = 16, .phi = 0.3, .sd = 0.01, .step = 0.5, .after = 5, .low = 0.99, .high = NAN},
    };

    if (!strstr("history", settings->only))
        return;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        for (int rule = OURS; rule <= THRESHOLD_RULE; rule++)
            measure(settings, &cases[i], (enum rule)rule, table);
    measure_all_looks(settings, table);
}
