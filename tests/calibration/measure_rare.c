/* Few misses, nearly all, traces; and two servers in pairs. */
#include "tests/calibration/measure_serving.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "protocols/serving/change.h"
#include "protocols/stats/order.h"
#include "tests/calibration/serving_cells.h"

static void add_share(struct table *table, const char *where, double missed,
                      const struct serving_result *results, size_t count)
{
    double *ends = malloc(count * sizeof(*ends));
    size_t covered = 0, given = 0;

    if (!ends)
        exit(2);
    for (size_t i = 0; i < count; i++) {
        const struct slo_result *slo = &results[i].slo;

        given += !isnan(slo->lo);
        covered += slo->lo <= 1 - missed && 1 - missed <= slo->hi;
        ends[i] = slo->attainment == 1 ? 1 - slo->lo : slo->attainment == 0 ? slo->hi : NAN;
    }
    cell_row(table, "interval of attainment covers", where, 0.935, NAN, count, given, covered);
    cell_row_mean(table, "its width where none, or all, missed", where, NAN, ends, count);
    free(ends);
}

/* ---- few requests miss, or nearly all ---- */

void measure_serving_rare(const struct settings *settings, const double *loads, size_t count,
                          struct table *table)
{
    static const double shares[] = {0, 1e-4, 1e-3, 0.999, 1};
    const size_t from = table->count;

    for (int kind = 0; kind < QUEUE_KIND_COUNT; kind++)
        for (size_t i = 0; i < count; i++)
            for (size_t k = 0; k < sizeof(shares) / sizeof(*shares); k++)
                for (size_t times = 1; times <= (i == 0 ? 4 : 1); times *= 4) {
                    struct cell c = {.kind = (enum queue_kind)kind,
                                     .load = loads[i],
                                     .trials = 10,
                                     .arrivals = cell_poisson};
                    struct serving_result *results;
                    char where[96];

                    /* A service without a density near 0 has no such share; with one, not all. */
                    if (shares[k] > 0.5 &&
                        (shares[k] < 1) != (kind == QUEUE_MM1 || kind == QUEUE_MMC))
                        continue;
                    c.limit_s = shares[k] == 0   ? 100
                                : shares[k] == 1 ? 1e-8
                                                 : queue_level(c.kind, c.load, shares[k]);
                    c.requests = times * cell_requests(&c, 0);
                    results = cell_results(settings, &c, "rare", settings->series);
                    snprintf(where, sizeof(where), "%s, load %g, %g %% miss, 10 x %zu",
                             queue_name(c.kind), c.load, 100 * shares[k], c.requests);
                    add_share(table, where, shares[k], results, settings->series);
                    free(results);
                }
    cell_row_pooled(table, from);
}

/* ---- traces ---- */

#define TRACE_REQUESTS 2000
#define TRACE_TRIALS 1000 /* that the truth is known from */

/* The times that these shares of the requests of very many trials of the trace take longer than. */
static void trace_levels(const struct cell *cell, const double *shares, size_t count,
                         uint64_t services, double *ret_s)
{
    struct cell c = *cell;
    struct cell_trials all;
    double *values = malloc(TRACE_TRIALS * TRACE_REQUESTS * sizeof(*values));
    size_t n = 0;

    c.trials = TRACE_TRIALS;
    c.limit_s = 100;
    all = cell_simulate(&c, 1, services);
    if (!values)
        exit(2);
    for (size_t r = 0; r < all.count; r++)
        for (size_t i = 0; i < all.trials[r].schedule->count; i++)
            values[n++] = (double)(all.trials[r].requests[i].done_ns -
                                   all.trials[r].requests[i].scheduled_ns);
    order_sort_real(values, n);
    for (size_t k = 0; k < count; k++)
        ret_s[k] = values[(size_t)((1 - shares[k]) * (double)n)] * 1e-9;
    free(values);
    cell_trials_finish(&all);
}

/* Bursts of three times the rate between them; the same ones in every trial and every cell. */
static struct schedule bursts(double load, uint64_t seed)
{
    const struct arrivals arrivals = {
        .process = ARRIVAL_ON_OFF, .on_s = 0.1, .off_s = 0.3, .rate_ratio = 3};
    struct schedule made;

    if (schedule_make(&arrivals, &(struct lengths){0}, load * QUEUE_CAPACITY,
                      (struct schedule_extent){TRACE_REQUESTS, 0}, seed, &made, NULL))
        exit(2);
    return made;
}

void measure_serving_traces(const struct settings *settings, struct table *table)
{
    static const double shares[] = {1e-4, 1e-3, 1e-2, 1e-1}, noises[] = {0, 0.02};
    static const size_t trials[] = {3, 5, 10};
    const size_t from = table->count;

    for (int kind = 0; kind < QUEUE_KIND_COUNT; kind++)
        for (size_t n = 0; n < 2; n++) {
            struct schedule recorded = bursts(0.6, settings->seed);
            const struct trace trace = {.requests = recorded.requests, .count = recorded.count};
            struct cell c = {.kind = (enum queue_kind)kind,
                             .load = 0.6,
                             .arrivals = {.process = ARRIVAL_TRACE, .trace = &trace, .scale = 1},
                             .noise = noises[n]};
            double levels[sizeof(shares) / sizeof(*shares)];

            trace_levels(&c, shares, sizeof(shares) / sizeof(*shares), 77 + settings->seed, levels);
            for (size_t k = 0; k < sizeof(shares) / sizeof(*shares); k++)
                for (size_t t = 0; t < sizeof(trials) / sizeof(*trials); t++) {
                    struct serving_result *results;
                    char where[96], name[40];

                    c.limit_s = levels[k];
                    c.trials = trials[t];
                    snprintf(name, sizeof(name), "trace noise %g", c.noise);
                    results = cell_results(settings, &c, name, settings->series);
                    snprintf(where, sizeof(where), "%s, trace, noise %g %%, %g %% miss, %zu x %d",
                             queue_name(c.kind), 100 * c.noise, 100 * shares[k], c.trials,
                             TRACE_REQUESTS);
                    add_share(table, where, shares[k], results, settings->series);
                    free(results);
                }
            schedule_finish(&recorded);
        }
    cell_row_pooled(table, from);
}

/* ---- two servers in pairs ---- */

struct pairs_case {
    const char *what;
    double missed; /* of a */
    double longer; /* services of b */
    double noise;  /* between trials */
    bool own;      /* each arm draws services of its own; else both have the same work */
};

/* The change over the pairs of a series, and between both arms' own intervals. */
struct pairs_found {
    struct served_change paired, alone;
};

static void run_pairs(const struct cell *c, const struct pairs_case *p, uint64_t seed,
                      struct pairs_found *ret)
{
    const struct serving_options options = cell_options(c);
    const struct compare_options asked = compare_options_default();
    struct served_pair *pairs = calloc(c->trials, sizeof(*pairs));
    struct served_figure figures[2];
    double dispersion = 1;

    if (!pairs)
        exit(2);
    for (int arm = 0; arm < 2; arm++) {
        struct cell mine = *c;
        struct cell_trials trials;
        struct serving_result result;

        mine.fault.longer = arm ? p->longer : 0;
        /* Noise is of each arm; the work of both is the same where services are. */
        mine.noise = arm || p->own ? p->noise * (p->own ? 1 : M_SQRT2) : 0;
        trials = cell_simulate(&mine, seed, seed + (arm && p->own ? 1000000007 : 0));
        result = cell_analyze(&mine, &trials);
        figures[arm] = (struct served_figure){result.slo.attainment, result.slo.lo, result.slo.hi};
        dispersion = fmax(dispersion, result.slo.dispersion);
        for (size_t r = 0; r < trials.count; r++) {
            const struct serving_totals t = serving_trial_totals(&trials.trials[r], &options);
            const struct served_share share = {(double)t.requests,
                                               (double)(t.requests - t.met - t.undecided),
                                               (double)t.undecided};

            *(arm ? &pairs[r].b : &pairs[r].a) = share;
        }
        cell_trials_finish(&trials);
    }
    ret->paired =
        served_change_paired(&figures[0], &figures[1], pairs, c->trials, dispersion, &asked);
    ret->alone = served_change_make(COMPARE_ATTAINMENT, &figures[0], &figures[1], &asked);
    free(pairs);
}

static void add_pairs(struct table *table, const char *where, double truth,
                      const struct pairs_found *found, size_t count)
{
    double *narrower = malloc(count * sizeof(*narrower));
    size_t covered[2] = {0, 0}, differs[2] = {0, 0};

    if (!narrower)
        exit(2);
    for (size_t i = 0; i < count; i++) {
        const struct served_figure *one = &found[i].paired.change, *other = &found[i].alone.change;

        covered[0] += one->lo <= truth && truth <= one->hi;
        covered[1] += other->lo <= truth && truth <= other->hi;
        differs[0] += one->lo > 0 || one->hi < 0;
        differs[1] += other->lo > 0 || other->hi < 0;
        narrower[i] = (one->hi - one->lo) / (other->hi - other->lo);
    }
    cell_row(table, "interval of pairs covers", where, 0.935, NAN, count, count, covered[0]);
    cell_row(table, "two intervals taken for independent cover", where, NAN, NAN, count, count,
             covered[1]);
    if (truth == 0) {
        cell_row(table, "a against a differs, by pairs", where, NAN, 0.05, count, count,
                 differs[0]);
    } else {
        cell_row(table, "a difference is seen, by pairs", where, NAN, NAN, count, count,
                 differs[0]);
        cell_row(table, "a difference is seen, by two intervals", where, NAN, NAN, count, count,
                 differs[1]);
    }
    cell_row_mean(table, "width by pairs, of that by two intervals", where, NAN, narrower, count);
    free(narrower);
}

void measure_serving_pairs(const struct settings *settings, const double *loads, size_t count,
                           struct table *table)
{
    static const struct pairs_case cases[] = {{"a, a", 0.01, 0, 0, true},
                                              {"a, a, same work, noise 1 %", 0.01, 0, 0.01, false},
                                              {"a, a", 0.001, 0, 0, true},
                                              {"a, a", 0.0001, 0, 0, true},
                                              {"a, a, none", 0, 0, 0, true},
                                              {"b 5 % longer", 0.01, 0.05, 0, true},
                                              {"b 5 % longer, same work", 0.01, 0.05, 0, false}};
    static const size_t trials[] = {5, 10};
    const size_t from = table->count, series = settings->series;
    struct pairs_found *found = calloc(series, sizeof(*found));

    if (!found)
        exit(2);
    for (int kind = 0; kind < QUEUE_KIND_COUNT; kind++)
        for (size_t l = 0; l < count; l++)
            for (size_t t = l > 0; t < 2; t++)
                for (size_t k = 0; k < sizeof(cases) / sizeof(*cases); k++) {
                    const struct pairs_case *p = &cases[k];
                    struct cell c = {.kind = (enum queue_kind)kind,
                                     .load = loads[l],
                                     .trials = trials[t],
                                     .arrivals = cell_poisson};
                    double truth = 0;
                    char where[96], key[200];

                    /* Batches draw nothing: with the same work and pace both arms are one. */
                    if (kind == QUEUE_BULK && p->noise == 0 && p->longer == 0)
                        continue;
                    c.limit_s = p->missed > 0 ? queue_level(c.kind, c.load, p->missed) : 100;
                    if (p->longer > 0)
                        truth = p->missed - queue_tail(c.kind, c.load * (1 + p->longer),
                                                       c.limit_s / (1 + p->longer));
                    snprintf(where, sizeof(where), "%s, load %g, %g %% miss, %zu pairs, %s",
                             queue_name(c.kind), c.load, 100 * p->missed, c.trials, p->what);
                    snprintf(key, sizeof(key), "serving pairs %s %d, %zu cells", where, p->own,
                             series);
                    if (!parts_take(settings->parts, key, found, series * sizeof(*found))) {
#pragma omp parallel for schedule(dynamic)
                        for (size_t i = 0; i < series; i++)
                            run_pairs(&c, p, cell_seed(settings, &c, i), &found[i]);
                        parts_keep(settings->parts, key, found, series * sizeof(*found));
                    }
                    add_pairs(table, where, truth, found, series);
                }
    cell_row_pooled(table, from);
    free(found);
}
