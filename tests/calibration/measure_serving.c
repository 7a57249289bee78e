#include "tests/calibration/measure_serving.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/calibration/queues.h"

#define TAIL 0.01
#define CAPACITY_MARGIN 0.03

static const struct arrivals poisson = {.process = ARRIVAL_POISSON};

/* One cell: trials of one server at one rate. */
struct cell {
    enum queue_kind kind;
    double load, limit_s;
    size_t trials, requests;  /* 0: as the plan for TAIL says, with the warmup */
    struct arrivals arrivals; /* that really come; Poisson is declared */
    struct queue_fault fault;
    bool common; /* the same realisations at every load, as a campaign's rates have */
};

static struct serving_options options_of(const struct cell *c)
{
    struct serving_options options = {
        .arrivals = &poisson, .rate = c->load * QUEUE_CAPACITY, .subject = queue_subject(c->kind)};

    options.limits.attain = 1 - TAIL;
    options.limits.ns[SERVING_E2E] = (int64_t)(c->limit_s * 1e9);
    return options;
}

/* Of a trial by plan, with its warmup; for a capacity that is known to `margin`, or as few as an
 * interval takes (0). */
static size_t requests_of(const struct cell *c, double margin)
{
    const struct serving_options options = options_of(c);
    const struct serving_plan plan = serving_plan(
        &poisson, options.rate, &options.subject, TAIL,
        serving_capacity_precision(options.rate, &options.subject, TAIL, margin), c->trials);

    return plan.requests + (size_t)(plan.warmup_s * options.rate);
}

static void fail(const struct error *err)
{
    fprintf(stderr, "calibration: %s\n", err->message);
    exit(2);
}

/* Simulates the cell under `seed` and analyses it. */
static void run_cell(const struct cell *c, uint64_t seed, struct serving_result *ret)
{
    const struct serving_options options = options_of(c);
    struct schedule *schedules = calloc(c->trials, sizeof(*schedules));
    struct serving_trial *trials = calloc(c->trials, sizeof(*trials));
    const size_t count = c->requests ? c->requests : requests_of(c, 0);
    struct error err = ERROR_INIT;

    if (!schedules || !trials)
        exit(2);
    for (size_t r = 0; r < c->trials; r++) {
        uint64_t own = seed * SERVING_TRIALS_MAX + r;
        struct request *requests;

        if (schedule_make(&c->arrivals, &(struct lengths){0}, options.rate,
                          (struct schedule_extent){count, 0}, own, &schedules[r], &err))
            fail(&err);
        requests = calloc(count, sizeof(*requests));
        if (!requests)
            exit(2);
        trials[r] = (struct serving_trial){.schedule = &schedules[r],
                                           .seed = own,
                                           .requests = requests,
                                           .until_ns = schedules[r].window_ns +
                                                       2 * (int64_t)(c->limit_s * 1e9)};
        queue_serve(c->kind, &schedules[r], &c->fault, own, trials[r].until_ns, requests);
    }
    if (serving_analyze(trials, c->trials, &options, ret, &err) != STATUS_OK)
        fail(&err);
    for (size_t r = 0; r < c->trials; r++) {
        free((void *)(uintptr_t)trials[r].requests);
        schedule_finish(&schedules[r]);
    }
    free(schedules);
    free(trials);
}

/* Results of `count` cells of one case, kept between runs; free them. */
static struct serving_result *run_case(const struct settings *settings, const struct cell *c,
                                       const char *name, size_t count)
{
    struct serving_result *results = calloc(count, sizeof(*results));
    char key[200];

    if (!results)
        exit(2);
    snprintf(key, sizeof(key), "serving %s %s load %.17g limit %.17g trials %zu of %zu, %zu cells",
             name, queue_name(c->kind), c->load, c->limit_s, c->trials, c->requests, count);
    if (parts_take(settings->parts, key, results, count * sizeof(*results)))
        return results;
#pragma omp parallel for schedule(dynamic)
    for (size_t i = 0; i < count; i++)
        run_cell(c,
                 settings->seed * 1000003 + (c->common ? 0 : (uint64_t)(c->load * 1e4) * 100000) +
                     (uint64_t)c->kind * 20000 + i,
                 &results[i]);
    parts_keep(settings->parts, key, results, count * sizeof(*results));
    return results;
}

static void add(struct table *table, const char *what, const char *where, double low, double high,
                size_t series, size_t trials, size_t hits)
{
    struct row row = {.what = what,
                      .low = low,
                      .high = high,
                      .mean = NAN,
                      .series = series,
                      .trials = trials,
                      .hits = hits};

    snprintf(row.where, sizeof(row.where), "%s", where);
    table_add(table, &row);
}

/* ---- known loads ---- */

static void add_percentile(struct table *table, const struct cell *c, const char *where, int q,
                           const struct serving_result *results, size_t count)
{
    static const char *const whats[] = {"interval of p50 covers", "interval of p90 covers",
                                        "interval of p99 covers", "p99.9 is refused by plan"};
    double tail = 1 - serving_percentile[q], truth = 1e9 * queue_level(c->kind, c->load, tail);
    size_t given = 0, covered = 0;

    for (size_t i = 0; i < count; i++) {
        const struct percentile_result *p = &results[i].percentiles[SERVING_E2E][q];
        bool refused = p->state == PERCENTILE_REFUSED;

        given += q == 3 || !refused;
        covered += q == 3 ? refused : !refused && p->lo <= truth && !(p->hi < truth);
    }
    add(table, whats[q], where, q == 3 ? 1 : 0.935, NAN, count, given, covered);
}

static void add_limits(struct table *table, const char *where, const struct serving_result *results,
                       size_t count)
{
    size_t covered = 0, meets = 0, misses = 0, growing = 0, stable = 0, mlperf = 0,
           not_delivered = 0;
    double half = 0, squares = 0, n = (double)count;
    struct row row = {.what = "half-width of the share that misses, of it",
                      .low = NAN,
                      .high = NAN,
                      .series = count};

    for (size_t i = 0; i < count; i++) {
        const struct slo_result *slo = &results[i].slo;
        double width = (slo->hi - slo->lo) / 2 / TAIL;

        covered += slo->lo <= 1 - TAIL && 1 - TAIL <= slo->hi;
        meets += slo->verdict == SLO_MEETS;
        misses += slo->verdict == SLO_MISSES;
        growing += results[i].queue.verdict == QUEUE_GROWING;
        stable += results[i].queue.verdict == QUEUE_STABLE;
        mlperf += slo->mlperf_passes;
        not_delivered += results[i].load.verdict != LOAD_DELIVERED;
        half += width / n;
        squares += width * width / n;
    }
    add(table, "interval of attainment covers", where, 0.935, NAN, count, count, covered);
    add(table, "meets at exactly the limit", where, NAN, 0.05, count, count, meets);
    add(table, "misses at exactly the limit", where, NAN, 0.05, count, count, misses);
    add(table, "MLPerf's early stopping passes at exactly the limit", where, NAN, NAN, count, count,
        mlperf);
    row.mean = half;
    row.error = sqrt(fmax(squares - half * half, 0) / n);
    snprintf(row.where, sizeof(row.where), "%s", where);
    table_add(table, &row);
    add(table, "called growing", where, NAN, 0.01, count, count, growing);
    add(table, "called stable", where, NAN, NAN, count, count, stable);
    add(table, "Poisson called not as declared", where, NAN, 0.01, count, count, not_delivered);
}

/* A row for each kind of row since `from`, over all its cases. */
static void add_pooled(struct table *table, size_t from)
{
    const size_t end = table->count;

    for (size_t i = from; i < end; i++) {
        struct row pooled = table->rows[i];
        bool seen = pooled.trials == 0;

        for (size_t k = from; k < i; k++)
            seen = seen || !strcmp(table->rows[k].what, pooled.what);
        if (seen)
            continue;
        for (size_t k = i + 1; k < end; k++)
            if (!strcmp(table->rows[k].what, pooled.what)) {
                pooled.series += table->rows[k].series;
                pooled.trials += table->rows[k].trials;
                pooled.hits += table->rows[k].hits;
            }
        snprintf(pooled.where, sizeof(pooled.where), "all of these together");
        table_add(table, &pooled);
    }
}

void measure_serving_loads(const struct settings *settings, const double *loads, size_t count,
                           struct table *table)
{
    const size_t from = table->count;

    for (int kind = 0; kind < QUEUE_KIND_COUNT; kind++)
        for (size_t i = 0; i < count; i++) {
            struct cell c = {
                .kind = (enum queue_kind)kind, .load = loads[i], .trials = 10, .arrivals = poisson};
            struct serving_result *results;
            char where[96];

            c.limit_s = queue_level(c.kind, c.load, TAIL);
            results = run_case(settings, &c, "load", settings->series);
            snprintf(where, sizeof(where), "%s, load %g, 10 x %llu requests", queue_name(c.kind),
                     c.load, (unsigned long long)results[0].plan.requests);
            for (int q = 0; q < SERVING_PERCENTILES; q++)
                add_percentile(table, &c, where, q, results, settings->series);
            add_limits(table, where, results, settings->series);
            free(results);
        }
    add_pooled(table, from);
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
    struct serving_result *results = run_case(settings, c, expected->what, count);
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
        add(table, e->what, where, e->low, e->high, count, count, hits);
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
    struct cell c = {kind, 1.02, 0.1, 5, 40000, poisson, {0, 0, 0, 0}};

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
static void measure_load_faults(const struct settings *settings, struct table *table)
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
    const size_t count = 10 * settings->series;
    struct cell c = {QUEUE_MM1, 0.8, 0.1, 1, 10000, poisson, {0, 0, 0, 0}};

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
}

void measure_serving_faults(const struct settings *settings, size_t servers, struct table *table)
{
    for (size_t kind = 0; kind < servers; kind++)
        measure_server_faults(settings, (enum queue_kind)kind, table);
    measure_load_faults(settings, table);
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
    add(table, "interval of capacity covers", where, 0.935, NAN, count, count, covered);
    add(table, "capacity more than 3 % too high", where, NAN, NAN, count, count, above);
    add(table, "capacity with both ends", where, NAN, NAN, count, count, within);
    add(table, "half-width of capacity 3 % at most", where, NAN, NAN, count, count, narrow);
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
            .kind = (enum queue_kind)kind, .trials = 10, .arrivals = poisson, .common = true};
        const struct serving_limits limits = {.attain = 1 - TAIL};
        size_t requests = 0;
        char where[96];

        c.limit_s = queue_level(c.kind, CAPACITY_LOAD, TAIL);
        for (size_t k = 0; k < CAPACITY_RATES; k++) {
            c.load = grid[k];
            c.requests = requests_of(&c, CAPACITY_MARGIN);
            requests += c.requests;
            results[k] = run_case(settings, &c, "capacity", count);
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
    add_pooled(table, from);
}
