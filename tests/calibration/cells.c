#include "tests/calibration/cells.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/random.h"
#include "protocols/stats/distribution.h"

#define TRIALS_MAX 20
#define SHORT_TIMES 2
/* A cell costs as much as all its trials, so fewer of them are made than of single series. */
#define LONG_SHARE 5

const double cell_quantiles[CELL_PERCENTILES] = {0.5, 0.9, 0.99};

#define LOGNORMAL_SD 0.7
/* What the levels about the rare one, and it, have of noise. */
#define RARE_NOISE 0.1

static double lognormal_mean(void)
{
    return exp(LOGNORMAL_SD * LOGNORMAL_SD / 2);
}

static double lognormal_sd(void)
{
    return lognormal_mean() * sqrt(expm1(LOGNORMAL_SD * LOGNORMAL_SD));
}

double cell_process_level(enum cell_levels levels, struct random *random)
{
    if (levels == CELL_LEVELS_TWO)
        return (random_next_unit(random) < 0.3 ? 0.7 : -0.3) / sqrt(0.21);
    if (levels == CELL_LEVELS_RARE)
        return (random_next_unit(random) < 0.1 ? 0.9 : -0.1) / 0.3 +
               RARE_NOISE * random_next_normal(random);
    if (levels == CELL_LEVELS_EXPONENTIAL)
        return -log(1 - random_next_unit(random)) - 1;
    if (levels == CELL_LEVELS_LOGNORMAL)
        return (exp(LOGNORMAL_SD * random_next_normal(random)) - lognormal_mean()) / lognormal_sd();
    return random_next_normal(random);
}

double cell_middle_level(enum cell_levels levels)
{
    if (levels == CELL_LEVELS_TWO)
        return -0.3 / sqrt(0.21);
    if (levels == CELL_LEVELS_RARE) /* 0.9 of all lie about -1 / 3, and 5 / 9 of them below it */
        return -0.1 / 0.3 + RARE_NOISE * normal_quantile(0.5 / 0.9);
    if (levels == CELL_LEVELS_EXPONENTIAL)
        return log(2) - 1;
    if (levels == CELL_LEVELS_LOGNORMAL)
        return (1 - lognormal_mean()) / lognormal_sd();
    return 0;
}

/* Amplitude of the waves of a cell. */
#define WAVE 0.02

/* The log levels of a campaign's trials about the cell's, which is that of its start. */
static void make_levels(const struct cell *cell, double spread, struct random *random, double *ret)
{
    const double phi = cell->neighbours;
    const double phase = cell->waves > 0 ? random_next_unit(random) : 0;
    const size_t a_day = cell->days > 0 ? cell->trials / cell->days : 1;
    double last = 0, day = 0;

    for (size_t t = 0; t < cell->trials; t++) {
        double own = cell_process_level(cell->levels, random);
        const double at = cell->trials > 1 ? (double)t / (double)(cell->trials - 1) : 0;

        if (cell->days > 0) {
            day = t % a_day == 0 ? random_next_normal(random) : day;
            own = sqrt(cell->of_day) * day + sqrt(1 - cell->of_day) * own;
        }
        last = t == 0 ? own : phi * last + sqrt(1 - phi * phi) * own;
        ret[t] = spread * last + log1p(cell->moves * at);
        if (cell->waves > 0)
            ret[t] += WAVE * sin(2 * acos(-1) * (cell->waves * at + phase));
    }
}

/* Trials of a day are a minute apart; 0: unknown. */
static int64_t started_utc_ns(const struct cell *cell, size_t trial)
{
    const int64_t minute_ns = INT64_C(60000000000), day_ns = 24 * 60 * minute_ns;
    const size_t a_day = cell->days > 0 ? cell->trials / cell->days : 1;

    if (cell->days == 0 || cell->no_times)
        return 0;
    return 1 + (int64_t)(trial / a_day) * day_ns + (int64_t)(trial % a_day) * minute_ns;
}

static void look_at(const struct cell *cell, uint64_t seed, uint64_t index,
                    struct cell_outcome *ret)
{
    static int64_t samples[TRIALS_MAX][CELL_COUNT_MAX];
#pragma omp threadprivate(samples)
    struct estimate_options options = estimate_options_default();
    struct estimate_series trials[TRIALS_MAX];
    double levels[TRIALS_MAX];
    const struct metric_value *mean;
    double spread = cell->spread, level = generator_window_mean(&cell->generator);
    struct random random;
    struct estimate *e;
    struct error err;
    size_t t, k;

    random_init(&random, seed ^ 0x747269616c73u, index);
    if (cell->spread_high > 0)
        spread *= pow(cell->spread_high / cell->spread, random_next_unit(&random));
    if (cell->middle)
        level *= exp(spread * cell_middle_level(cell->levels));
    make_levels(cell, spread, &random, levels);
    for (t = 0; t < cell->trials; t++) {
        struct generator g = cell->generator;
        const double process = exp(levels[t]);

        if (t < cell->drifting) {
            g.kind = GENERATOR_DRIFT;
            g.size = 0.05;
        }
        generator_make(&g, seed, ((uint64_t)(t + 1) << 56) + index, samples[t]);
        for (k = 0; k < g.count; k++)
            samples[t][k] = (int64_t)fmax((double)samples[t][k] * process, 1);
        trials[t] = (struct estimate_series){samples[t], g.count, 0, 0, started_utc_ns(cell, t)};
    }
    options.percentile_count = cell->percentiles ? CELL_PERCENTILES : 0;
    memcpy(options.percentiles, cell_quantiles, sizeof(cell_quantiles));
    if (estimate_cell(trials, cell->trials, &options, &e, &err)) {
        fprintf(stderr, "calibration: %s\n", err.message);
        exit(2);
    }
    mean = &e->metrics[METRIC_ITERATION_TIME];
    memset(ret, 0, sizeof(*ret));
    ret->verdict = e->verdict;
    ret->grade = mean->grade;
    ret->given = mean->has_interval;
    for (k = 0; k < e->findings.count; k++)
        ret->seen |= e->findings.items[k].code == FINDING_TREND_OF_TRIALS ||
                     e->findings.items[k].code == FINDING_SERIAL_TRIALS;
    ret->covered = ret->given && mean->lo <= level && mean->hi >= level;
    ret->off = fabs(mean->value / level - 1);
    for (k = 0; k < options.percentile_count; k++) {
        const struct metric_value *p = &e->metrics[metric_of_quantile(cell_quantiles[k])];
        const double quantile = generator_quantile(&cell->generator, cell_quantiles[k]);

        ret->percentile_given[k] = p->has_interval;
        ret->percentile_covered[k] = p->has_interval && p->lo <= quantile && p->hi >= quantile;
    }
    estimate_destroy(e);
}

static void describe(const struct cell *cell, char *ret, size_t size)
{
    const struct generator *g = &cell->generator;
    int used = snprintf(ret, size, "%zu trial%s, sd %.3g", cell->trials,
                        cell->trials == 1 ? "" : "s", 100 * cell->spread);

    if (cell->spread_high > 0)
        used += snprintf(ret + used, size - (size_t)used, " to %.3g", 100 * cell->spread_high);
    used += snprintf(ret + used, size - (size_t)used, " %%, n %zu, phi %.3g", cell->generator.count,
                     cell->generator.phi);
    if (cell->moves > 0)
        used += snprintf(ret + used, size - (size_t)used, ", moves %.3g %%", 100 * cell->moves);
    if (cell->neighbours > 0)
        used += snprintf(ret + used, size - (size_t)used, ", neighbours %.3g", cell->neighbours);
    if (cell->days > 0)
        used += snprintf(ret + used, size - (size_t)used, ", %zu days, %.3g %% of variance",
                         cell->days, 100 * cell->of_day);
    if (cell->waves > 0)
        used += snprintf(ret + used, size - (size_t)used, ", %.3g waves", cell->waves);
    if (g->spikes > 0)
        used += snprintf(ret + used, size - (size_t)used, ", %.3g %% spikes", 100 * g->spikes);
    if (g->kind == GENERATOR_DISTURBANCE)
        snprintf(ret + used, size - (size_t)used, ", %.3g %%, %.3g to %.3g n", 100 * g->size,
                 g->where, g->shape);
    if (g->kind == GENERATOR_BURSTS || g->kind == GENERATOR_RARE_BURSTS)
        snprintf(ret + used, size - (size_t)used, ", +%.3g %% for %.3g of %s%.3g", 100 * g->size,
                 g->shape, g->kind == GENERATOR_BURSTS ? "" : "about ", g->where);
}

struct cells cells_run(const struct settings *settings, const struct cell *cell)
{
    const struct generator *g = &cell->generator;
    size_t series = g->count > CELL_COUNT_SHORT ? settings->series / LONG_SHARE
                                                : settings->series * SHORT_TIMES;
    struct cells x = {*cell, series, calloc(series, sizeof(*x.outcomes))};
    size_t size = series * sizeof(*x.outcomes);
    char where[96], key[256];
    uint64_t base = 5381;
    long i, count = (long)series;
    const char *c;

    if (!x.outcomes) {
        fputs("calibration: out of memory\n", stderr);
        exit(2);
    }
    describe(cell, where, sizeof(where));
    snprintf(
        key, sizeof(key),
        "%zu cells of %s, kind %d, sd %g, size %g, where %g, shape %g, %zu drift%s, levels %d%s%s",
        series, where, (int)g->kind, g->sd, g->size, g->where, g->shape, cell->drifting,
        cell->percentiles ? ", percentiles" : "", (int)cell->levels, cell->middle ? ", middle" : "",
        cell->no_times ? ", no times" : "");
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

struct row cells_row(const struct cells *x, const char *what, double low, double high)
{
    struct row row = {.what = what, .low = low, .high = high, .series = x->series, .mean = NAN};

    describe(&x->cell, row.where, sizeof(row.where));
    return row;
}

void cells_add_coverage(const struct cells *x, const char *what, enum cells_counted counted,
                        double low, struct table *table)
{
    struct row row = cells_row(x, what, low, NAN);
    size_t i;

    for (i = 0; i < x->series; i++) {
        if (counted == CELLS_MARKED && estimate_verdict_is_steady(x->outcomes[i].verdict))
            continue;
        row.trials += x->outcomes[i].given;
        row.hits += x->outcomes[i].covered;
    }
    table_add(table, &row);
}

void cells_add_verdict(const struct cells *x, const char *what, enum estimate_verdict verdict,
                       double low, double high, struct table *table)
{
    struct row row = cells_row(x, what, low, high);
    size_t i;

    row.trials = x->series;
    for (i = 0; i < x->series; i++)
        row.hits += verdict == ESTIMATE_VERDICT_COUNT
                        ? !estimate_verdict_is_steady(x->outcomes[i].verdict)
                        : x->outcomes[i].verdict == verdict;
    table_add(table, &row);
}

void cells_add_wrong(const struct cells *x, enum metric_grade grade, double limit, const char *what,
                     double high, struct table *table)
{
    struct row row = cells_row(x, what, NAN, high);
    size_t i;

    row.trials = x->series;
    for (i = 0; i < x->series; i++)
        row.hits += x->outcomes[i].grade <= grade && x->outcomes[i].off > limit;
    table_add(table, &row);
}
