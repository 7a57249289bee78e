#include "tests/calibration/measure_serving.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/calibration/serving_cells.h"

#define CAPACITY_MARGIN 0.03

/* ---- known loads ---- */

static void add_percentile(struct table *table, const struct cell *c, const char *where, int q,
                           const struct serving_result *results, size_t count)
{
    static const char *const covers[] = {"interval of p50 covers", "interval of p90 covers",
                                         "interval of p99 covers", "interval of p99.9 covers"};
    static const char *const refuses[] = {"p50 is refused by plan", "p90 is refused by plan",
                                          "p99 is refused by plan", "p99.9 is refused by plan"};
    const double tail = 1 - serving_percentile[q];
    const double truth = 1e9 * queue_level(c->kind, c->load, tail);
    const bool planned = tail > 0.9 * cell_tail(c);
    size_t given = 0, covered = 0;

    for (size_t i = 0; i < count; i++) {
        const struct percentile_result *p = &results[i].percentiles[SERVING_E2E][q];
        const bool refused = p->state == PERCENTILE_REFUSED;

        given += !refused;
        covered += !refused && p->lo <= truth && !(p->hi < truth);
    }
    if (planned)
        cell_row(table, covers[q], where, 0.935, NAN, count, given, covered);
    else
        cell_row(table, refuses[q], where, 1, NAN, count, count, count - given);
}

static void add_limits(struct table *table, const struct cell *c, const char *where,
                       const struct serving_result *results, size_t count)
{
    const double tail = cell_tail(c);
    size_t covered = 0, meets = 0, misses = 0, growing = 0, stable = 0, mlperf = 0,
           not_delivered = 0;
    double half = 0, squares = 0, n = (double)count;
    struct row row = {.what = "half-width of the share that misses, of it",
                      .low = NAN,
                      .high = NAN,
                      .series = count};

    for (size_t i = 0; i < count; i++) {
        const struct slo_result *slo = &results[i].slo;
        double width = (slo->hi - slo->lo) / 2 / tail;

        covered += slo->lo <= 1 - tail && 1 - tail <= slo->hi;
        meets += slo->verdict == SLO_MEETS;
        misses += slo->verdict == SLO_MISSES;
        growing += results[i].queue.verdict == QUEUE_GROWING;
        stable += results[i].queue.verdict == QUEUE_STABLE;
        mlperf += slo->mlperf_passes;
        not_delivered += results[i].load.verdict != LOAD_DELIVERED;
        half += width / n;
        squares += width * width / n;
    }
    cell_row(table, "interval of attainment covers", where, 0.935, NAN, count, count, covered);
    cell_row(table, "meets at exactly the limit", where, NAN, 0.05, count, count, meets);
    cell_row(table, "misses at exactly the limit", where, NAN, 0.05, count, count, misses);
    cell_row(table, "MLPerf's early stopping passes at exactly the limit", where, NAN, NAN, count,
             count, mlperf);
    row.mean = half;
    row.error = sqrt(fmax(squares - half * half, 0) / n);
    snprintf(row.where, sizeof(row.where), "%s", where);
    table_add(table, &row);
    cell_row(table, "called growing", where, NAN, 0.01, count, count, growing);
    cell_row(table, "called stable", where, NAN, NAN, count, count, stable);
    cell_row(table, "Poisson called not as declared", where, NAN, 0.01, count, count,
             not_delivered);
}

/* Cells of `trials` windows as short as the plan for `tail` allows. */
static void add_loads(const struct settings *settings, const double *loads, size_t count,
                      size_t trials, double tail, struct table *table)
{
    const size_t from = table->count;

    for (int kind = 0; kind < QUEUE_KIND_COUNT; kind++)
        for (size_t i = 0; i < count; i++) {
            struct cell c = {.kind = (enum queue_kind)kind,
                             .load = loads[i],
                             .tail = tail,
                             .trials = trials,
                             .arrivals = cell_poisson};
            struct serving_result *results;
            char where[96];

            c.limit_s = queue_level(c.kind, c.load, tail);
            results = cell_results(settings, &c, "load", settings->series);
            snprintf(where, sizeof(where), "%s, load %g, %zu x %llu requests", queue_name(c.kind),
                     c.load, trials, (unsigned long long)results[0].plan.requests);
            for (int q = 0; q < SERVING_PERCENTILES; q++)
                add_percentile(table, &c, where, q, results, settings->series);
            add_limits(table, &c, where, results, settings->series);
            free(results);
        }
    cell_row_pooled(table, from);
}

void measure_serving_loads(const struct settings *settings, const double *loads, size_t count,
                           struct table *table)
{
    add_loads(settings, loads, count, 10, CELL_TAIL, table);
}

void measure_serving_few(const struct settings *settings, const double *loads, size_t count,
                         struct table *table)
{
    add_loads(settings, loads, count, 5, 0.1, table);
}

/* ---- faults ---- */

enum outcome { QUEUE_IS, LOAD_IS, SLO_IS };

struct expected {
    const char *what;
    enum outcome outcome;
    int verdict;
    double low, high;
};

static void add_fault(const struct settings *settings, struct table *table, const struct cell *c,
                      size_t count, const struct expected *expected, size_t rows)
{
    struct serving_result *results = cell_results(settings, c, expected->what, count);
    char where[96];

    snprintf(where, sizeof(where), "%s, load %g, %zu x %zu requests", queue_name(c->kind), c->load,
             c->trials, c->requests);
    for (size_t k = 0; k < rows; k++) {
        const struct expected *e = &expected[k];
        size_t hits = 0;

        for (size_t i = 0; i < count; i++)
            hits += (e->outcome == QUEUE_IS  ? (int)results[i].queue.verdict
                     : e->outcome == LOAD_IS ? (int)results[i].load.verdict
                                             : (int)results[i].slo.verdict) == e->verdict;
        cell_row(table, e->what, where, e->low, e->high, count, count, hits);
    }
    free(results);
}

static void measure_server_faults(const struct settings *settings, enum queue_kind kind,
                                  struct table *table)
{
    static const struct expected overload[] = {
        {"overload called stable", QUEUE_IS, QUEUE_STABLE, NAN, 0.01},
        {"overload called growing", QUEUE_IS, QUEUE_GROWING, NAN, NAN},
        {"overload meets", SLO_IS, SLO_MEETS, NAN, 0.01}};
    static const struct expected full[] = {
        {"nearly full called growing", QUEUE_IS, QUEUE_GROWING, NAN, NAN}};
    static const struct expected step[] = {
        {"step from 0.9 to 1.08 called stable", QUEUE_IS, QUEUE_STABLE, NAN, 0.01}};
    static const struct expected stall[] = {
        {"stalled server called stable", QUEUE_IS, QUEUE_STABLE, NAN, 0.01},
        {"stalled server meets", SLO_IS, SLO_MEETS, NAN, 0.01}};
    struct cell c = {.kind = kind,
                     .load = 1.02,
                     .limit_s = 0.1,
                     .trials = 5,
                     .requests = 40000,
                     .arrivals = cell_poisson};

    add_fault(settings, table, &c, settings->series, overload, 3);
    c.load = 0.98;
    add_fault(settings, table, &c, settings->series, full, 1);
    c.load = 0.9;
    c.requests = 20000;
    c.fault.slower = 0.2;
    add_fault(settings, table, &c, settings->series, step, 1);
    c.fault = (struct queue_fault){.stall = 0.7};
    add_fault(settings, table, &c, settings->series, stall, 2);
}

/* Of the load, one trial; these are quick, so that there are ten times as many. */
void measure_serving_arrivals(const struct settings *settings, struct table *table)
{
    static const struct expected late[] = {
        {"1 % sent 2 ms late called late", LOAD_IS, LOAD_LATE, 0.99, NAN}};
    static const struct expected gamma[] = {
        {"gamma cv 1.5 not as declared", LOAD_IS, LOAD_NOT_AS_DECLARED, 0.99, NAN}};
    static const struct expected mild[] = {
        {"gamma cv 1.1 not as declared", LOAD_IS, LOAD_NOT_AS_DECLARED, NAN, NAN}};
    static const struct expected bursts[] = {
        {"on-off 2:1 not as declared", LOAD_IS, LOAD_NOT_AS_DECLARED, 0.99, NAN}};
    static const struct expected same[] = {
        {"Poisson not as declared", LOAD_IS, LOAD_NOT_AS_DECLARED, NAN, 0.01}};
    static const struct expected declared[] = {
        {"gamma cv 0.5, declared, not as declared", LOAD_IS, LOAD_NOT_AS_DECLARED, NAN, 0.01},
        {"gamma cv 2, declared, not as declared", LOAD_IS, LOAD_NOT_AS_DECLARED, NAN, 0.01},
        {"gamma cv 4, declared, not as declared", LOAD_IS, LOAD_NOT_AS_DECLARED, NAN, 0.01},
        {"gamma cv 3 and 50 us late, declared, not as declared", LOAD_IS, LOAD_NOT_AS_DECLARED, NAN,
         0.01}};
    static const double cvs[] = {0.5, 2, 4, 3};
    const size_t count = 10 * settings->series;
    struct cell c = {.kind = QUEUE_MM1,
                     .load = 0.8,
                     .limit_s = 0.1,
                     .trials = 1,
                     .requests = 10000,
                     .arrivals = cell_poisson};

    add_fault(settings, table, &c, count, same, 1);
    c.fault = (struct queue_fault){.lag_s = 0.002, .lag_share = 0.01};
    add_fault(settings, table, &c, count, late, 1);
    c.fault = (struct queue_fault){0};
    c.arrivals = (struct arrivals){.process = ARRIVAL_GAMMA, .cv = 1.5};
    add_fault(settings, table, &c, count, gamma, 1);
    c.arrivals.cv = 1.1;
    add_fault(settings, table, &c, count, mild, 1);
    c.arrivals =
        (struct arrivals){.process = ARRIVAL_ON_OFF, .on_s = 0.5, .off_s = 0.5, .rate_ratio = 2};
    add_fault(settings, table, &c, count, bursts, 1);
    c.as_declared = true;
    for (size_t i = 0; i < sizeof(cvs) / sizeof(cvs[0]); i++) {
        c.arrivals = (struct arrivals){.process = ARRIVAL_GAMMA, .cv = cvs[i]};
        c.fault.lag_s = i == 3 ? 50e-6 : 0;
        c.fault.lag_share = i == 3 ? 0.2 : 0;
        add_fault(settings, table, &c, count, &declared[i], 1);
    }
}

void measure_serving_faults(const struct settings *settings, size_t servers, struct table *table)
{
    for (size_t kind = 0; kind < servers; kind++)
        measure_server_faults(settings, (enum queue_kind)kind, table);
}

/* ---- capacity ---- */

#define CAPACITY_RATES 5
#define CAPACITY_LOAD 0.77 /* where the limit is met just so; no rate of the grid */

static void add_capacity(struct table *table, const struct capacity_result *capacities,
                         size_t count, const char *where)
{
    const double truth = CAPACITY_LOAD * QUEUE_CAPACITY;
    size_t covered = 0, within = 0, above = 0, narrow = 0;
    double half = 0, squares = 0;
    struct row row = {.what = "half-width of capacity, of it",
                      .low = NAN,
                      .high = CAPACITY_MARGIN,
                      .series = count};

    for (size_t i = 0; i < count; i++) {
        const struct capacity_result *c = &capacities[i];
        double width = (c->hi - c->lo) / 2 / truth;

        covered += !(c->lo > truth) && !(c->hi < truth);
        above += c->value > (1 + CAPACITY_MARGIN) * truth;
        if (c->state != CAPACITY_WITHIN)
            continue;
        within++;
        narrow += width <= CAPACITY_MARGIN;
        half += width;
        squares += width * width;
    }
    cell_row(table, "interval of capacity covers", where, 0.935, NAN, count, count, covered);
    cell_row(table, "capacity more than 3 % too high", where, NAN, NAN, count, count, above);
    cell_row(table, "capacity with both ends", where, NAN, NAN, count, count, within);
    cell_row(table, "half-width of capacity 3 % at most", where, NAN, NAN, count, count, narrow);
    row.mean = half / (double)within;
    row.error = sqrt(fmax(squares / (double)within - row.mean * row.mean, 0) / (double)within);
    snprintf(row.where, sizeof(row.where), "%s", where);
    table_add(table, &row);
}

void measure_serving_capacity(const struct settings *settings, struct table *table)
{
    static const double grid[CAPACITY_RATES] = {0.65, 0.7, 0.75, 0.8, 0.85};
    const size_t count = settings->series, from = table->count;
    struct capacity_result *capacities = calloc(count, sizeof(*capacities));

    if (!capacities)
        exit(2);
    for (int kind = 0; kind < QUEUE_KIND_COUNT; kind++) {
        struct serving_result *results[CAPACITY_RATES], column[CAPACITY_RATES];
        struct cell c = {
            .kind = (enum queue_kind)kind, .trials = 10, .arrivals = cell_poisson, .common = true};
        const struct serving_limits limits = {.attain = 1 - CELL_TAIL};
        size_t requests = 0;
        char where[96];

        c.limit_s = queue_level(c.kind, CAPACITY_LOAD, CELL_TAIL);
        for (size_t k = 0; k < CAPACITY_RATES; k++) {
            c.load = grid[k];
            c.requests = cell_requests(&c, CAPACITY_MARGIN);
            requests += c.requests;
            results[k] = cell_results(settings, &c, "capacity", count);
        }
        for (size_t i = 0; i < count; i++) {
            for (size_t k = 0; k < CAPACITY_RATES; k++)
                column[k] = results[k][i];
            if (serving_capacity(column, CAPACITY_RATES, &limits, &capacities[i], NULL) !=
                STATUS_OK)
                exit(2);
        }
        snprintf(where, sizeof(where), "%s, 10 x %zu requests over %d rates", queue_name(c.kind),
                 requests, CAPACITY_RATES);
        add_capacity(table, capacities, count, where);
        for (size_t k = 0; k < CAPACITY_RATES; k++)
            free(results[k]);
    }
    free(capacities);
    cell_row_pooled(table, from);
}
