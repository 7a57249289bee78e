#include "protocols/trend.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "protocols/stats/autocovariance.h"
#include "protocols/stats/autoregression.h"
#include "protocols/stats/fractional.h"
#include "protocols/stats/pelt.h"
#include "protocols/stats/step_scan.h"

#define ORDER_MAX 12
#define ORDER_SPARE 3
/* A level lasts at least this part of the series: what is shorter is noise, of heavy tails say. */
#define STEP_SHARE 32
/* Places of a ramp's ends that are tried first, and the fewest points of a ramp. */
#define RAMP_PLACES 32
#define RAMP_LEAST 4
/* Twice the log likelihood that 95 % of the profile lies within: chi squared with 1. */
#define PROFILE 3.84
#define ROUNDS_MAX 6
/* Steps are sought from 1, 2, 4 ... equal windows of at least so many points. */
#define WINDOWS_MAX 16
#define WINDOW_LEAST 16
/* Penalties, in units of twice the log likelihood. */
#define PENALTY_LINE 13.0
#define PENALTY_RAMP 30.0
#define PENALTY_APPROACH 24.0
#define PENALTY_MEMORY 8.0
/* Power laws are tried where an exponential approach is worse than the best by no more than this.
 */
#define POWER_LAW_HOPE 12.0
/* Long memory that is so little worse than a constant is possible. With less, intervals of series
   with long memory would miss more often than those of others. */
#define MEMORY_POSSIBLE 5.0
#define PENALTY_STEP 22.0
/* An innovation variance this small relative to the level's square is rounding, not noise. */
#define VARIANCE_LEAST 1e-24

/* Steps from which others were sought. */
#define TRIES_MAX 64
#define TRY_CHANGES 40
struct steps_try {
    bool single;
    int rounds; /* that were left */
    size_t changes, change[TRY_CHANGES];
};

struct bench {
    const double *x;
    size_t count, order_max;
    double least_variance, caution;
    double *left;   /* count: residuals */
    double *white;  /* count */
    double *work;   /* AUTOREGRESSION_WORK count */
    double *lanes;  /* AUTOREGRESSION_LANES count: residuals of several descriptions */
    size_t *change; /* count */
    struct autoregression model;
    struct steps_try tries[TRIES_MAX];
    size_t try_count;
};

/* The AR that was fitted; returns the criterion without the description's own penalty. */
static double use_model(struct bench *bench, const struct autoregression *model)
{
    const double n = (double)bench->count;

    bench->model = *model;
    bench->model.sigma2 = fmax(bench->model.sigma2, bench->least_variance);
    return n * log(bench->model.sigma2) + log(n) * (double)bench->model.order;
}

/* Fits the AR of bench->left. */
static double fit_errors(struct bench *bench)
{
    struct autoregression model;

    autoregression_fit_burg(bench->left, bench->count, bench->order_max, log((double)bench->count),
                            bench->work, &model);
    return use_model(bench, &model);
}

/* Keeps bench->left as one of several residuals; the first of them clears the others. */
static void keep_residuals(struct bench *bench, size_t lane)
{
    if (lane == 0)
        memset(bench->lanes, 0, AUTOREGRESSION_LANES * bench->count * sizeof(*bench->lanes));
    for (size_t i = 0; i < bench->count; i++)
        bench->lanes[i * AUTOREGRESSION_LANES + lane] = bench->left[i];
}

/* Fits the AR of all of them at once. */
static void fit_lanes(struct bench *bench, struct autoregression *models)
{
    autoregression_fit_burg_lanes(bench->lanes, bench->count, bench->order_max,
                                  log((double)bench->count), bench->work, models);
}

static double long_run_variance(const struct bench *bench)
{
    double v = autoregression_long_run_variance(&bench->model, bench->count);

    return isfinite(v) ? v : 0;
}

static void describe_constant(struct bench *bench, struct trend *best)
{
    double mean = series_mean(bench->x, bench->count);
    size_t i;

    for (i = 0; i < bench->count; i++)
        bench->left[i] = bench->x[i] - mean;
    best->kind = TREND_CONSTANT;
    best->criterion = fit_errors(bench);
    best->gain = autoregression_gain(&bench->model);
    best->long_run_variance = long_run_variance(bench);
}

/* Least squares of x on 1 and f(t); residuals into bench->left; returns the coefficient of f. */
static double regress(struct bench *bench, const double *f)
{
    double mean_x = series_mean(bench->x, bench->count), mean_f = series_mean(f, bench->count);
    double cross = 0, square = 0, slope;
    size_t i;

    for (i = 0; i < bench->count; i++) {
        cross += (f[i] - mean_f) * (bench->x[i] - mean_x);
        square += (f[i] - mean_f) * (f[i] - mean_f);
    }
    slope = square > 0 ? cross / square : 0;
    for (i = 0; i < bench->count; i++)
        bench->left[i] = bench->x[i] - mean_x - slope * (f[i] - mean_f);
    return slope;
}

static void describe_line(struct bench *bench, struct trend *best)
{
    double slope, criterion;
    size_t i;

    for (i = 0; i < bench->count; i++)
        bench->white[i] = (double)i;
    slope = regress(bench, bench->white);
    criterion = fit_errors(bench) + bench->caution * PENALTY_LINE;
    if (criterion < best->criterion) {
        best->kind = TREND_LINE;
        best->criterion = criterion;
        best->slope = slope;
        best->long_run_variance = long_run_variance(bench);
    }
}

/* The share of the ramp's height at point t: 1 up to `from`, 0 from `to` on. */
static double ramp_at(size_t from, size_t to, size_t t)
{
    if (t <= from)
        return 1;
    return t >= to ? 0 : (double)(to - t) / (double)(to - from);
}

/*
 * How much of the squares about the mean a ramp explains, from running sums of x and t x about the
 * mean: sum[t] and moment[t] are those of the points before t.
 */
static double ramp_explains(const double *sum, const double *moment, size_t count, size_t from,
                            size_t to)
{
    const double n = (double)count, length = (double)(to - from);
    const double cross =
        sum[from] + ((double)to * (sum[to] - sum[from]) - (moment[to] - moment[from])) / length;
    /* Of f = 1 at the points before `from`, then (to - t) / length. */
    const double total = (double)from + (length + 1) / 2;
    const double square = (double)from + (length + 1) * (2 * length + 1) / (6 * length);

    return cross * cross / (square - total * total / n);
}

static void describe_ramp(struct bench *bench, struct trend *best)
{
    const size_t n = bench->count, step = n / RAMP_PLACES > 1 ? n / RAMP_PLACES : 1;
    double *sum = bench->work, *moment = bench->white, mean = series_mean(bench->x, n), most = -1;
    size_t from = 0, to = n, at, end, i, reach = step;
    double amplitude, criterion, s = 0, m = 0;

    for (i = 0; i < n; i++) {
        sum[i] = s;
        moment[i] = m;
        s += bench->x[i] - mean;
        m += (double)i * (bench->x[i] - mean);
    }
    /* A coarse grid first, then about its best place. */
    for (at = 0; at + RAMP_LEAST <= n - 1; at += step) {
        for (end = at + RAMP_LEAST; end < n; end += step) {
            double explains = ramp_explains(sum, moment, n, at, end);

            if (explains > most) {
                most = explains;
                from = at;
                to = end;
            }
        }
    }
    for (; reach > 0; reach /= 2) {
        size_t best_from = from, best_to = to;

        for (i = 0; i < 9; i++) {
            at = from + reach * (i % 3);
            end = to + reach * (i / 3);
            if (at < reach || end < reach + at - reach + RAMP_LEAST || end - reach >= n)
                continue;
            at -= reach;
            end -= reach;
            if (ramp_explains(sum, moment, n, at, end) > most) {
                most = ramp_explains(sum, moment, n, at, end);
                best_from = at;
                best_to = end;
            }
        }
        from = best_from;
        to = best_to;
    }
    for (i = 0; i < n; i++)
        bench->white[i] = ramp_at(from, to, i);
    amplitude = regress(bench, bench->white);
    criterion = fit_errors(bench) + bench->caution * PENALTY_RAMP;
    if (criterion < best->criterion) {
        best->kind = TREND_RAMP;
        best->criterion = criterion;
        best->amplitude = amplitude;
        best->from = from;
        best->to = to;
        best->long_run_variance = long_run_variance(bench);
    }
}

double trend_approach_excess(const struct trend_approach *approach, double t)
{
    return approach->amplitude * (approach->power > 0
                                      ? pow(1 + t / approach->constant, -approach->power)
                                      : exp(-t / approach->constant));
}

/* The first of them, as many as are fitted at once. */
static void try_approaches(struct bench *bench, struct trend_approach *all, size_t count,
                           struct trend *best)
{
    struct autoregression models[AUTOREGRESSION_LANES];

    count = count < AUTOREGRESSION_LANES ? count : AUTOREGRESSION_LANES;
    for (size_t lane = 0; lane < count; lane++) {
        for (size_t i = 0; i < bench->count; i++)
            bench->white[i] = trend_approach_excess(&all[lane], (double)i);
        all[lane].amplitude = regress(bench, bench->white);
        keep_residuals(bench, lane);
    }
    fit_lanes(bench, models);
    for (size_t lane = 0; lane < count; lane++) {
        struct trend_approach *a = &all[lane];

        a->criterion = use_model(bench, &models[lane]) + bench->caution * PENALTY_APPROACH;
        if (a->criterion < best->criterion) {
            best->kind = TREND_APPROACH;
            best->criterion = a->criterion;
            best->amplitude = a->amplitude;
            best->long_run_variance = long_run_variance(bench);
        }
    }
}

static void describe_approach(struct bench *bench, struct trend *best)
{
    static const double powers[] = {0, 0.5, 1, 2};
    struct trend_approach all[TREND_APPROACHES_MAX];
    double n = (double)bench->count, least = INFINITY;
    size_t count = 0, done = 0, p, i;

    for (p = 0; p < sizeof(powers) / sizeof(powers[0]); p++) {
        /* A power law that could win is fitted by an exponential approach to some degree. */
        if (p > 0 && least > best->criterion + POWER_LAW_HOPE)
            break;
        for (double constant = 1; constant <= n / 2 && count < TREND_APPROACHES_MAX;
             constant *= 1.3)
            all[count++] = (struct trend_approach){0, 1, constant, powers[p]};
        for (; done < count; done += AUTOREGRESSION_LANES)
            try_approaches(bench, all + done, count - done, best);
        done = count;
        for (i = 0; i < count; i++)
            least = fmin(least, all[i].criterion);
    }
    best->approach_count = 0;
    for (i = 0; i < count; i++) {
        if (all[i].criterion <= least + PROFILE) {
            best->approaches[best->approach_count] = all[i];
            if (all[i].criterion <= least) {
                best->approaches[best->approach_count] = best->approaches[0];
                best->approaches[0] = all[i];
            }
            best->approach_count++;
        }
    }
}

static void describe_memory(struct bench *bench, struct trend *best)
{
    const double mean = series_mean(bench->x, bench->count);
    double least = INFINITY, order = 0, d = 0.1;
    size_t i;

    for (i = 0; i < bench->count; i++)
        bench->white[i] = bench->x[i] - mean;
    while (d < 1.05) {
        struct autoregression models[AUTOREGRESSION_LANES];
        double orders[AUTOREGRESSION_LANES];
        size_t count = 0;

        for (; d < 1.05 && count < AUTOREGRESSION_LANES; d += 0.1) {
            fractional_difference(bench->white, bench->count, d, bench->left);
            keep_residuals(bench, count);
            orders[count++] = d;
        }
        fit_lanes(bench, models);
        for (i = 0; i < count; i++) {
            const double criterion = use_model(bench, &models[i]) + PENALTY_MEMORY;

            if (criterion < least) {
                least = criterion;
                order = orders[i];
            }
        }
    }
    if (least < best->criterion) {
        trend_finish(best);
        best->kind = TREND_MEMORY;
        best->criterion = least;
        best->long_run_variance = INFINITY;
    }
    if (best->kind == TREND_MEMORY ||
        (best->kind == TREND_CONSTANT && least < best->criterion + MEMORY_POSSIBLE))
        best->memory = order;
}

/* Residuals about the mean of each segment; means into `level` when it is not NULL. */
static void remove_levels(struct bench *bench, size_t changes, double *level)
{
    size_t segment, i, from = 0;

    for (segment = 0; segment <= changes; segment++) {
        size_t to = segment < changes ? bench->change[segment] : bench->count;
        double mean = series_mean(bench->x + from, to - from);

        for (i = from; i < to; i++)
            bench->left[i] = bench->x[i] - mean;
        if (level)
            level[segment] = mean;
        from = to;
    }
}

static void whiten(struct bench *bench)
{
    const struct autoregression *model = &bench->model;
    size_t t, i;

    for (t = 0; t < bench->count; t++) {
        double value = bench->x[t];

        for (i = 0; i < model->order && i < t; i++)
            value -= model->phi[i] * bench->x[t - 1 - i];
        /* The first few have no past; PELT leaves them out. */
        bench->white[t] = t < model->order ? 0 : value;
    }
}

static enum status keep_steps(struct bench *bench, size_t changes, double criterion,
                              struct trend *best, struct error *err)
{
    size_t *change = malloc((changes + 1) * sizeof(*change));
    double *level = malloc((changes + 1) * sizeof(*level));

    if (!change || !level) {
        free(change);
        free(level);
        return error_no_memory(err);
    }
    memcpy(change, bench->change, changes * sizeof(*change));
    remove_levels(bench, changes, level);
    trend_finish(best);
    best->kind = TREND_STEPS;
    best->criterion = criterion;
    best->long_run_variance = long_run_variance(bench);
    best->change_count = changes;
    best->change = change;
    best->level = level;
    return STATUS_OK;
}

static size_t least_length(const struct bench *bench)
{
    const size_t least = bench->model.order + 4;

    return least > bench->count / STEP_SHARE ? least : bench->count / STEP_SHARE;
}

/* Places that PELT tries; what it finds is then moved to where it fits best. */
static size_t stride_of(const struct bench *bench)
{
    const size_t stride = bench->count / STEP_SHARE / 4;

    return stride > 1 ? stride : 1;
}

/* Moves each change to where it fits best between its neighbours. */
static void relocate(struct bench *bench, size_t changes)
{
    size_t i;

    for (i = 0; i < changes; i++) {
        size_t from = i > 0 ? bench->change[i - 1] : 0;
        size_t to = i + 1 < changes ? bench->change[i + 1] : bench->count;
        double gain;
        size_t at = step_scan(bench->x + from, to - from, least_length(bench), &bench->model,
                              bench->white, &gain);

        if (at > 0)
            bench->change[i] = from + at;
    }
}

/* Criterion of the steps in bench->change, which becomes the best trend if it is less. */
static enum status try_steps(struct bench *bench, size_t changes, struct trend *best,
                             struct error *err)
{
    double criterion;

    remove_levels(bench, changes, NULL);
    criterion = fit_errors(bench) + bench->caution * PENALTY_STEP * (double)changes;
    if (changes == 0 || criterion >= best->criterion)
        return STATUS_OK;
    return keep_steps(bench, changes, criterion, best, err);
}

/*
 * The try that tells what follows from the steps in bench->change: what a round does depends on
 * them alone, and a trend that was tried is no better the second time. NULL: there was none.
 */
static const struct steps_try *find_try(const struct bench *bench, size_t changes, bool single,
                                        int rounds)
{
    for (const struct steps_try *one = bench->tries; one < bench->tries + bench->try_count; one++)
        if (one->single == single && one->rounds >= rounds && one->changes == changes &&
            memcmp(one->change, bench->change, changes * sizeof(*bench->change)) == 0)
            return one;
    return NULL;
}

static void keep_try(struct bench *bench, size_t changes, bool single, int rounds)
{
    struct steps_try *next = &bench->tries[bench->try_count];

    if (changes <= TRY_CHANGES && bench->try_count < TRIES_MAX) {
        next->single = single;
        next->rounds = rounds;
        next->changes = changes;
        memcpy(next->change, bench->change, changes * sizeof(*bench->change));
        bench->try_count++;
    }
}

static size_t set_windows(struct bench *bench, size_t windows)
{
    for (size_t i = 0; i + 1 < windows; i++)
        bench->change[i] = (i + 1) * bench->count / windows;
    return windows - 1;
}

/*
 * Alternates between the AR of the residuals of the steps and the steps that this AR gives: by PELT
 * for any number of them, or for `single` by the scan for one. Starts from `windows` equal windows:
 * one gives the AR of an unbroken series, many give one that no step has distorted.
 * `start` is the AR that they give.
 */
static enum status describe_steps_from(struct bench *bench, size_t windows,
                                       const struct autoregression *start, bool single,
                                       struct trend *best, struct error *err)
{
    size_t changes = set_windows(bench, windows);
    const struct steps_try *known;
    enum status status;
    int round;

    use_model(bench, start);
    for (round = 0; round < ROUNDS_MAX; round++) {
        if (find_try(bench, changes, single, ROUNDS_MAX - round))
            break;
        keep_try(bench, changes, single, ROUNDS_MAX - round);
        if (single) {
            changes = 1;
            bench->change[0] = bench->count / 2;
        } else {
            whiten(bench);
            status = pelt_find(bench->white, bench->count, bench->model.order, bench->model.sigma2,
                               bench->caution * PENALTY_STEP, least_length(bench), stride_of(bench),
                               bench->change, &changes, err);
            if (status)
                return status;
        }
        relocate(bench, changes);
        /* The same fit would follow, and what followed from it; that of windows was none of steps.
         */
        known = find_try(bench, changes, single, ROUNDS_MAX - round - 1);
        if (known && (changes == 0 || known->rounds < ROUNDS_MAX))
            break;
        status = try_steps(bench, changes, best, err);
        if (status)
            return status;
    }
    return STATUS_OK;
}

static enum status describe_steps(struct bench *bench, struct trend *best, struct error *err)
{
    struct autoregression starts[2 * AUTOREGRESSION_LANES]; /* at least log2(WINDOWS_MAX) + 1 */
    size_t count = 0, windows;
    enum status status = STATUS_OK;

    for (windows = 1; windows <= WINDOWS_MAX && bench->count / windows >= WINDOW_LEAST;
         windows *= 2) {
        remove_levels(bench, set_windows(bench, windows), NULL);
        keep_residuals(bench, count++ % AUTOREGRESSION_LANES);
        if (count % AUTOREGRESSION_LANES == 0)
            fit_lanes(bench, starts + count - AUTOREGRESSION_LANES);
    }
    if (count % AUTOREGRESSION_LANES > 0)
        fit_lanes(bench, starts + count - count % AUTOREGRESSION_LANES);
    for (size_t i = 0; i < 2 * count && !status; i++)
        status =
            describe_steps_from(bench, (size_t)1 << i / 2, &starts[i / 2], i % 2 == 0, best, err);
    return status;
}

enum status trend_describe(const double *x, size_t count, double least_variance, double caution,
                           enum trend_kind most, struct trend *ret, struct error *err)
{
    struct bench bench;
    struct trend best = {0};
    enum status status = STATUS_OK;
    double *memory =
        malloc((2 + AUTOREGRESSION_LANES + AUTOREGRESSION_WORK) * count * sizeof(*memory));
    size_t *changes = malloc(count * sizeof(*changes));

    if (!memory || !changes) {
        status = error_no_memory(err);
        goto out;
    }
    bench.x = x;
    bench.count = count;
    bench.least_variance = fmax(least_variance, VARIANCE_LEAST);
    bench.caution = caution;
    bench.order_max = count / 10 < ORDER_MAX ? count / 10 : ORDER_MAX;
    bench.try_count = 0;
    bench.left = memory;
    bench.white = memory + count;
    bench.lanes = memory + 2 * count;
    bench.work = bench.lanes + AUTOREGRESSION_LANES * count;
    bench.change = changes;
    describe_constant(&bench, &best);
    /* What is left of a description is no more correlated than the series itself. */
    if (bench.model.order + ORDER_SPARE < bench.order_max)
        bench.order_max = bench.model.order + ORDER_SPARE;
    if (most >= TREND_LINE)
        describe_line(&bench, &best);
    if (most >= TREND_RAMP)
        describe_ramp(&bench, &best);
    if (most >= TREND_APPROACH)
        describe_approach(&bench, &best);
    if (most >= TREND_STEPS)
        status = describe_steps(&bench, &best, err);
    if (!status && most >= TREND_MEMORY)
        describe_memory(&bench, &best);
    if (status)
        trend_finish(&best);
    else
        *ret = best;
out:
    free(memory);
    free(changes);
    return status;
}

void trend_finish(struct trend *trend)
{
    free(trend->change);
    free(trend->level);
    trend->change = NULL;
    trend->level = NULL;
    trend->change_count = 0;
}
