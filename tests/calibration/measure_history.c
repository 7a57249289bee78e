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
}
