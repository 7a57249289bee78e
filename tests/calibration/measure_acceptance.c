/* Verdicts on what a contract declares (acceptance_judge), by cells as the engine analyses them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/random.h"
#include "protocols/acceptance.h"
#include "tests/calibration/cells.h"

#define TRIALS_MAX 20
#define ALPHA 0.05
#define BETA 0.1
/* The levels lie so near to each other that the buyer's risk is all of beta. */
#define APART 1.001

struct series {
    size_t trials, count; /* of trials, and of samples in each */
    double spread;        /* sd of the processes' log levels */
    double phi;           /* between samples of a trial, of sd 2 % */
    double rho;           /* between the levels of one trial and the next */
    enum cell_levels levels;
    bool middle; /* the figure is that of the process in the middle, not of the mean of all */
};

enum counted { REJECTED_AS_DECLARED, ACCEPTED_AT_LIMITING, OPEN, COUNTED };

static const char *const level_names[] = {
    [CELL_LEVELS_NORMAL] = "",
    [CELL_LEVELS_TWO] = ", three in ten off",
    [CELL_LEVELS_EXPONENTIAL] = ", skewed",
    [CELL_LEVELS_LOGNORMAL] = ", skewed twice",
    [CELL_LEVELS_RARE] = ", one in ten off",
};

/* As results/analysis/acceptance.c judges a result: what is not steady decides nothing. */
static enum acceptance_verdict judge(const struct estimate *e, double declared, double limiting)
{
    const struct acceptance_rule rule = {declared, limiting, ALPHA, BETA, true};
    const struct metric_value *mean = &e->metrics[METRIC_ITERATION_TIME];
    struct acceptance_measured measured = {mean->value, mean->lo, mean->hi, e->confidence, 0};
    double best, worst;

    for (size_t t = 0; t < e->trial_count; t++)
        measured.trials += isfinite(e->trials[t].mean_ns.value);
    if (!mean->has_interval || !estimate_is_steady(e))
        return ACCEPTANCE_INCONCLUSIVE;
    return acceptance_judge(&rule, &measured, &best, &worst);
}

static void look_at(const struct series *s, uint64_t seed, uint64_t index, bool ret[COUNTED])
{
    static int64_t samples[TRIALS_MAX][CELL_COUNT_MAX];
#pragma omp threadprivate(samples)
    const struct generator generator = {GENERATOR_STATIONARY, s->count, .sd = 0.02, .phi = s->phi};
    const double truth = generator_window_mean(&generator) *
                         (s->middle ? exp(s->spread * cell_middle_level(s->levels)) : 1);
    struct estimate_options options = estimate_options_default();
    struct estimate_series trials[TRIALS_MAX];
    enum acceptance_verdict declared;
    struct estimate *e;
    struct random random;
    struct error err = ERROR_INIT;
    double noise;

    random_init(&random, seed ^ 0x616363657074u, index);
    noise = cell_process_level(s->levels, &random);
    for (size_t t = 0; t < s->trials; t++) {
        generator_make(&generator, seed, ((uint64_t)(t + 1) << 56) + index, samples[t]);
        for (size_t k = 0; k < s->count; k++)
            samples[t][k] = (int64_t)fmax((double)samples[t][k] * exp(s->spread * noise), 1);
        trials[t] = (struct estimate_series){samples[t], s->count, 0, 0};
        noise = s->rho * noise + sqrt(1 - s->rho * s->rho) * cell_process_level(s->levels, &random);
    }
    options.percentile_count = 0;
    if (estimate_cell(trials, s->trials, &options, &e, &err) != STATUS_OK) {
        fprintf(stderr, "calibration: %s\n", err.message);
        exit(2);
    }
    declared = judge(e, truth, truth * APART);
    ret[REJECTED_AS_DECLARED] = declared == ACCEPTANCE_REJECTED;
    ret[ACCEPTED_AT_LIMITING] = judge(e, truth / APART, truth) == ACCEPTANCE_ACCEPTED;
    ret[OPEN] = declared == ACCEPTANCE_INCONCLUSIVE;
    estimate_destroy(e);
}

/* The buyer of the process in the middle is promised what the supplier of slow ones is not. */
static bool has_promise(const struct series *s, size_t counted)
{
    if (s->levels != CELL_LEVELS_NORMAL)
        return s->middle && counted == ACCEPTED_AT_LIMITING;
    return s->rho == 0;
}

static void measure(const struct settings *settings, const struct series *s, uint64_t number,
                    struct table *table)
{
    static const struct {
        const char *what;
        double high;
    } counted[COUNTED] = {{"acceptance: as declared, rejected", ALPHA + 0.01},
                          {"acceptance: at the limiting level, accepted", BETA + 0.01},
                          {"acceptance: as declared, inconclusive", NAN}};
    const size_t series = settings->series;
    const long count = (long)series;
    size_t hits[COUNTED] = {0}, rejected = 0, accepted = 0, open = 0;
    char where[96], key[160];

    snprintf(where, sizeof(where), "%zu trials of %zu, sd %g %%, phi %g within, %g between%s%s",
             s->trials, s->count, 100 * s->spread, s->phi, s->rho, level_names[s->levels],
             s->middle ? ", the middle" : "");
    snprintf(key, sizeof(key), "acceptance of %zu series, %s", series, where);
    if (!parts_take(settings->parts, key, hits, sizeof(hits))) {
#pragma omp parallel for reduction(+ : rejected, accepted, open) schedule(dynamic, 8)
        for (long i = 0; i < count; i++) {
            bool is[COUNTED];

            look_at(s, settings->seed, (number << 32) + (uint64_t)i, is);
            rejected += is[REJECTED_AS_DECLARED];
            accepted += is[ACCEPTED_AT_LIMITING];
            open += is[OPEN];
        }
        hits[REJECTED_AS_DECLARED] = rejected;
        hits[ACCEPTED_AT_LIMITING] = accepted;
        hits[OPEN] = open;
        parts_keep(settings->parts, key, hits, sizeof(hits));
    }
    for (size_t i = 0; i < COUNTED; i++) {
        struct row row = {.what = counted[i].what,
                          .low = NAN,
                          .high = has_promise(s, i) ? counted[i].high : NAN,
                          .series = series,
                          .trials = series,
                          .hits = hits[i],
                          .mean = NAN};

        snprintf(row.where, sizeof(row.where), "%s", where);
        table_add(table, &row);
    }
}

void measure_acceptance(const struct settings *settings, struct table *table)
{
    static const struct series cases[] = {
        {5, 6, 0.01, 0, 0},
        {5, 15, 0.01, 0, 0},
        {10, 15, 0.01, 0, 0},
        {5, 15, 0.01, 0.6, 0},
        {10, 15, 0.001, 0.6, 0},
        {5, 200, 0.01, 0, 0},
        {5, 200, 0.01, 0.6, 0},
        {10, 200, 0.01, 0.6, 0},
        {5, 200, 0.01, 0.9, 0},
        {5, 200, 0.01, 0, 0.3},
        {10, 200, 0.01, 0, 0.3},
        {10, 200, 0.01, 0, 0.6},
        {20, 200, 0.01, 0, 0.6},
        {5, 200, 0.01, 0, 0.5},
        {10, 200, 0.01, 0, 0.5},
        {20, 200, 0.01, 0, 0.5},
        {10, 200, 0.01, 0, 0.8},
        {5, 15, 0.01, 0, 0, CELL_LEVELS_EXPONENTIAL, false},
        {5, 15, 0.01, 0, 0, CELL_LEVELS_EXPONENTIAL, true},
        {10, 15, 0.01, 0, 0, CELL_LEVELS_EXPONENTIAL, false},
        {10, 15, 0.01, 0, 0, CELL_LEVELS_EXPONENTIAL, true},
        {10, 15, 0.01, 0, 0, CELL_LEVELS_LOGNORMAL, true},
        {10, 15, 0.0787, 0, 0, CELL_LEVELS_RARE, false},
        {10, 15, 0.0787, 0, 0, CELL_LEVELS_RARE, true},
    };

    if (!strstr("acceptance", settings->only))
        return;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        measure(settings, &cases[i], i + 1, table);
}
