#include "tests/calibration/experiment.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void *check_memory(void *memory)
{
    if (!memory) {
        fputs("calibration: out of memory\n", stderr);
        exit(2);
    }
    return memory;
}

static void look_at(const struct generator *g, uint64_t seed, uint64_t index, int64_t *samples,
                    bool percentiles, struct outcome *ret)
{
    struct estimate_options options = estimate_options_default();
    struct truth truth = generator_make(g, seed, index, samples);
    struct estimate_series series = {samples, g->count, 0, 0};
    const struct metric_value *mean;
    struct estimate *e;
    struct error err;
    size_t i;

    memset(ret, 0, sizeof(*ret));
    options.percentile_count = percentiles ? EXPERIMENT_PERCENTILES : 0;
    options.percentiles[0] = 0.5;
    options.percentiles[1] = 0.9;
    options.percentiles[2] = 0.99;
    if (estimate_cell(&series, 1, &options, &e, &err)) {
        fprintf(stderr, "calibration: %s\n", err.message);
        exit(2);
    }
    mean = &e->metrics[METRIC_ITERATION_TIME];
    ret->verdict = e->verdict;
    ret->from = e->trials[0].steady_from;
    ret->given = mean->has_interval;
    ret->covered = ret->given && truth.mean_ns >= mean->lo && truth.mean_ns <= mean->hi;
    ret->width = mean->hi - mean->value;
    for (i = 0; i < options.percentile_count; i++) {
        const struct metric_value *p = &e->metrics[metric_of_quantile(options.percentiles[i])];
        double quantile = generator_quantile(g, options.percentiles[i]);

        ret->percentile_given[i] = p->has_interval;
        ret->percentile_covered[i] = p->has_interval && quantile >= p->lo && quantile <= p->hi;
    }
    estimate_destroy(e);
}

void experiment_run(const struct settings *settings, struct experiment *x, bool percentiles)
{
    /* The case's number keeps the series of different cases apart under one seed. */
    uint64_t base = ((uint64_t)(x->generator.phi * 1000) << 52) ^
                    ((uint64_t)x->generator.kind << 44) ^ ((uint64_t)x->generator.count << 24);
    const struct generator *g = &x->generator;
    size_t size = x->series * sizeof(*x->outcomes);
    long i, series = (long)x->series;
    char key[256];

    x->outcomes = check_memory(calloc(x->series, sizeof(*x->outcomes)));
    snprintf(key, sizeof(key),
             "%zu series, kind %d, n %zu, sd %g, phi %g, phi2 %g, size %g, where %g, shape %g, "
             "spikes %g, quantum %g%s",
             x->series, (int)g->kind, g->count, g->sd, g->phi, g->phi2, g->size, g->where, g->shape,
             g->spikes, g->quantum_ns, percentiles ? ", percentiles" : "");
    if (parts_take(settings->parts, key, x->outcomes, size))
        return;
#pragma omp parallel
    {
        int64_t *samples = check_memory(malloc(x->generator.count * sizeof(*samples)));

#pragma omp for schedule(dynamic, 8)
        for (i = 0; i < series; i++)
            look_at(&x->generator, settings->seed, base + (uint64_t)i, samples, percentiles,
                    &x->outcomes[i]);
        if (series > 0)
            free(samples);
    }
    parts_keep(settings->parts, key, x->outcomes, size);
}

void experiment_describe(const struct generator *g, char *ret, size_t size)
{
    size_t used = (size_t)snprintf(ret, size, "phi %.3g, n %zu", g->phi, g->count);

    if (g->phi2 != 0)
        used += (size_t)snprintf(ret + used, size - used, ", phi2 %.3g", g->phi2);
    if (g->sd != 0.01)
        used += (size_t)snprintf(ret + used, size - used, ", sd %.3g %%", 100 * g->sd);
    if (g->spikes > 0)
        used += (size_t)snprintf(ret + used, size - used, ", %.3g %% spikes", 100 * g->spikes);
    switch (g->kind) {
    case GENERATOR_APPROACH:
        snprintf(ret + used, size - used, ", constant %.3g n", g->where);
        break;
    case GENERATOR_PERIODIC:
        snprintf(ret + used, size - used, ", %.3g %%, period %.4g", 100 * g->size, g->where);
        break;
    case GENERATOR_PARETO:
        snprintf(ret + used, size - used, ", Pareto %.3g", g->shape);
        break;
    case GENERATOR_HEAVY_TAILS:
        snprintf(ret + used, size - used, ", t with 3");
        break;
    case GENERATOR_DISTURBANCE:
    case GENERATOR_RAMP:
        snprintf(ret + used, size - used, ", %.3g %%, %.3g to %.3g n", 100 * g->size, g->where,
                 g->shape);
        break;
    case GENERATOR_BURSTS:
    case GENERATOR_RARE_BURSTS:
        snprintf(ret + used, size - used, ", +%.3g %% for %.3g of %s%.3g", 100 * g->size, g->shape,
                 g->kind == GENERATOR_RARE_BURSTS ? "about " : "", g->where);
        break;
    case GENERATOR_POWER_LAW:
        snprintf(ret + used, size - used, ", %.3g %%, (1 + t / %.3g n)^-%.3g", 100 * g->size,
                 g->where, g->shape);
        break;
    case GENERATOR_RANDOM_WALK:
        snprintf(ret + used, size - used, ", %.3g %% at the end", 100 * g->size);
        break;
    case GENERATOR_LEVELS:
        snprintf(ret + used, size - used, ", %.3g %% at +%.3g to +%.3g %%%s", 100 * g->where,
                 100 * g->size, 100 * (g->size + g->shape), g->quantum_ns > 1 ? ", in ticks" : "");
        break;
    case GENERATOR_LONG_MEMORY:
        snprintf(ret + used, size - used, ", order %.3g", g->shape);
        break;
    default:
        break;
    }
}

struct row experiment_row(const struct experiment *x, const char *what, double low, double high)
{
    struct row row = {.what = what, .low = low, .high = high, .series = x->series, .mean = NAN};

    experiment_describe(&x->generator, row.where, sizeof(row.where));
    return row;
}

void experiment_add_coverage(const struct experiment *x, const char *what, double low, double high,
                             struct table *table)
{
    struct row row = experiment_row(x, what, low, high);
    size_t i;

    for (i = 0; i < x->series; i++) {
        row.trials += x->outcomes[i].given;
        row.hits += x->outcomes[i].covered;
    }
    table_add(table, &row);
}

void experiment_add_verdict(const struct experiment *x, const char *what,
                            enum estimate_verdict verdict, bool other, double low, double high,
                            struct table *table)
{
    struct row row = experiment_row(x, what, low, high);
    size_t i;

    row.trials = x->series;
    for (i = 0; i < x->series; i++)
        row.hits += (x->outcomes[i].verdict == verdict) != other;
    table_add(table, &row);
}

void experiment_add_missed(const struct experiment *x, const char *what, double high,
                           struct table *table)
{
    struct row row = experiment_row(x, what, NAN, high);
    size_t i;

    row.trials = x->series;
    for (i = 0; i < x->series; i++)
        row.hits += estimate_verdict_is_steady(x->outcomes[i].verdict) && x->outcomes[i].given &&
                    !x->outcomes[i].covered;
    table_add(table, &row);
}

void experiment_add_changes(const struct experiment *x, const char *what, double high,
                            struct table *table)
{
    struct row row = experiment_row(x, what, NAN, high);

    row.trials = x->series;
    for (size_t i = 0; i < x->series; i++) {
        const enum estimate_verdict verdict = x->outcomes[i].verdict;

        row.hits += verdict != ESTIMATE_STEADY && verdict != ESTIMATE_BIMODAL &&
                    verdict != ESTIMATE_UNDETERMINED;
    }
    table_add(table, &row);
}

void experiment_add_not_steady(const struct experiment *x, const char *what, double low,
                               double high, struct table *table)
{
    struct row row = experiment_row(x, what, low, high);
    size_t i;

    row.trials = x->series;
    for (i = 0; i < x->series; i++)
        row.hits += !estimate_verdict_is_steady(x->outcomes[i].verdict);
    table_add(table, &row);
}
