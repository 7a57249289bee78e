#include "tests/calibration/serving_cells.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/random.h"

const struct arrivals cell_poisson = {.process = ARRIVAL_POISSON};

double cell_tail(const struct cell *c)
{
    return c->tail > 0 ? c->tail : CELL_TAIL;
}

struct serving_options cell_options(const struct cell *c)
{
    const bool trace = c->arrivals.process == ARRIVAL_TRACE;
    struct serving_options options = {.arrivals =
                                          trace || c->as_declared ? &c->arrivals : &cell_poisson,
                                      .rate = trace ? 0 : c->load * QUEUE_CAPACITY,
                                      .subject = queue_subject(c->kind)};

    options.limits.attain = 1 - cell_tail(c);
    options.limits.ns[SERVING_E2E] = (int64_t)(c->limit_s * 1e9);
    return options;
}

size_t cell_requests(const struct cell *c, double margin)
{
    const struct serving_options options = cell_options(c);
    const struct serving_plan plan = serving_plan(
        &cell_poisson, options.rate, &options.subject, cell_tail(c),
        serving_capacity_precision(options.rate, &options.subject, cell_tail(c), margin),
        c->trials);

    return plan.requests + (size_t)(plan.warmup_s * options.rate);
}

static void fail(const struct error *err)
{
    fprintf(stderr, "calibration: %s\n", err->message);
    exit(2);
}

struct cell_trials cell_simulate(const struct cell *c, uint64_t seed, uint64_t services)
{
    const struct serving_options options = cell_options(c);
    struct cell_trials made = {calloc(c->trials, sizeof(*made.trials)),
                               calloc(c->trials, sizeof(*made.schedules)), c->trials};
    const bool trace = c->arrivals.process == ARRIVAL_TRACE;
    const size_t count = trace ? 0 : c->requests ? c->requests : cell_requests(c, 0);
    struct error err = ERROR_INIT;
    struct random random;

    if (!made.trials || !made.schedules)
        exit(2);
    random_init(&random, services, 78);
    for (size_t r = 0; r < c->trials; r++) {
        const uint64_t own = seed * SERVING_TRIALS_MAX + r;
        struct schedule *schedule = &made.schedules[r];
        struct queue_fault fault = c->fault;
        struct request *requests;

        if (schedule_make(&c->arrivals, &(struct lengths){0}, options.rate,
                          (struct schedule_extent){count, 0}, own, schedule, &err))
            fail(&err);
        requests = calloc(schedule->count, sizeof(*requests));
        if (!requests)
            exit(2);
        made.trials[r] = (struct serving_trial){.schedule = schedule,
                                                .seed = own,
                                                .requests = requests,
                                                .until_ns = schedule->window_ns +
                                                            2 * (int64_t)(c->limit_s * 1e9)};
        fault.longer += c->noise * random_next_normal(&random);
        queue_serve(c->kind, schedule, &fault, services * SERVING_TRIALS_MAX + r,
                    made.trials[r].until_ns, requests);
    }
    return made;
}

void cell_trials_finish(struct cell_trials *trials)
{
    for (size_t r = 0; r < trials->count; r++) {
        free((void *)(uintptr_t)trials->trials[r].requests);
        schedule_finish(&trials->schedules[r]);
    }
    free(trials->schedules);
    free(trials->trials);
}

struct serving_result cell_analyze(const struct cell *c, const struct cell_trials *trials)
{
    const struct serving_options options = cell_options(c);
    struct error err = ERROR_INIT;
    struct serving_result result;

    if (serving_analyze(trials->trials, trials->count, &options, &result, &err) != STATUS_OK)
        fail(&err);
    return result;
}

uint64_t cell_seed(const struct settings *settings, const struct cell *c, size_t i)
{
    return settings->seed * 1000003 + (c->common ? 0 : (uint64_t)(c->load * 1e4) * 100000) +
           (uint64_t)c->kind * 20000 + i;
}

struct serving_result *cell_results(const struct settings *settings, const struct cell *c,
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
    for (size_t i = 0; i < count; i++) {
        const uint64_t seed = cell_seed(settings, c, i);
        struct cell_trials trials = cell_simulate(c, seed, seed);

        results[i] = cell_analyze(c, &trials);
        cell_trials_finish(&trials);
    }
    parts_keep(settings->parts, key, results, count * sizeof(*results));
    return results;
}

void cell_row(struct table *table, const char *what, const char *where, double low, double high,
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

void cell_row_mean(struct table *table, const char *what, const char *where, double high,
                   const double *values, size_t count)
{
    struct row row = {.what = what, .low = NAN, .high = high, .series = count};
    double sum = 0, squares = 0, n = 0;

    for (size_t i = 0; i < count; i++)
        if (isfinite(values[i])) {
            sum += values[i];
            squares += values[i] * values[i];
            n++;
        }
    if (n == 0)
        return;
    row.mean = sum / n;
    row.error = sqrt(fmax(squares / n - row.mean * row.mean, 0) / n);
    snprintf(row.where, sizeof(row.where), "%s", where);
    table_add(table, &row);
}

void cell_row_pooled(struct table *table, size_t from)
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
