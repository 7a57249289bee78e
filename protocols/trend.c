#include "protocols/trend.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "protocols/stats/autocovariance.h"
#include "protocols/stats/autoregression.h"
#include "protocols/stats/pelt.h"
#include "protocols/stats/step_scan.h"

#define ORDER_MAX 12
#define ROUNDS_MAX 6
/* Penalties, in units of twice the log likelihood. */
#define PENALTY_LINE 13.0
#define PENALTY_APPROACH 24.0
#define PENALTY_STEP 22.0
/* An innovation variance this small relative to the level's square is rounding, not noise. */
#define VARIANCE_LEAST 1e-24

struct bench {
    const double *x;
    size_t count;
    double least_variance;
    double *left;     /* count: residuals */
    double *white;    /* count */
    double *work;     /* 2 count */
    size_t *change;   /* count */
    size_t *previous; /* count */
    struct autoregression model;
};

/* Fits the AR of bench->left; returns the criterion without the description's own penalty. */
static double fit_errors(struct bench *bench)
{
    double n = (double)bench->count;
    size_t order = bench->count / 10 < ORDER_MAX ? bench->count / 10 : ORDER_MAX;

    autoregression_fit_burg(bench->left, bench->count, order, log(n), bench->work, &bench->model);
    bench->model.sigma2 = fmax(bench->model.sigma2, bench->least_variance);
    return n * log(bench->model.sigma2) + log(n) * (double)bench->model.order;
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
    criterion = fit_errors(bench) + PENALTY_LINE;
    if (criterion < best->criterion) {
        best->kind = TREND_LINE;
        best->criterion = criterion;
        best->slope = slope;
        best->long_run_variance = long_run_variance(bench);
    }
}

static void describe_approach(struct bench *bench, struct trend *best)
{
    double constant, n = (double)bench->count;
    size_t i;

    for (constant = 1; constant <= n / 4; constant *= 1.3) {
        double amplitude, criterion;

        for (i = 0; i < bench->count; i++)
            bench->white[i] = exp(-(double)i / constant);
        amplitude = regress(bench, bench->white);
        criterion = fit_errors(bench) + PENALTY_APPROACH;
        if (criterion < best->criterion) {
            best->kind = TREND_APPROACH;
            best->criterion = criterion;
            best->amplitude = amplitude;
            best->time_constant = constant;
            best->long_run_variance = long_run_variance(bench);
        }
    }
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
        return error_set(err, STATUS_NO_MEMORY, "no memory for %zu change points", changes);
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
    return bench->model.order + 4;
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
    criterion = fit_errors(bench) + PENALTY_STEP * (double)changes;
    if (changes == 0 || criterion >= best->criterion)
        return STATUS_OK;
    return keep_steps(bench, changes, criterion, best, err);
}

/*
 * Alternates between the AR of the residuals of the steps and the steps that this AR gives: by PELT
 * for any number of them, or for `single` by the scan for one. Starts from `windows` equal windows:
 * one gives the AR of an unbroken series, many give one that no step has distorted.
 */
static enum status describe_steps(struct bench *bench, size_t windows, bool single,
                                  struct trend *best, struct error *err)
{
    size_t changes = windows - 1, before, i;
    enum status status;
    int round;

    for (i = 0; i < changes; i++)
        bench->change[i] = (i + 1) * bench->count / windows;
    remove_levels(bench, changes, NULL);
    fit_errors(bench);
    for (round = 0; round < ROUNDS_MAX; round++) {
        before = changes;
        memcpy(bench->previous, bench->change, changes * sizeof(*bench->change));
        if (single) {
            changes = 1;
            bench->change[0] = bench->count / 2;
        } else {
            whiten(bench);
            status = pelt_find(bench->white, bench->count, bench->model.order, bench->model.sigma2,
                               PENALTY_STEP, least_length(bench), bench->change, &changes, err);
            if (status)
                return status;
        }
        relocate(bench, changes);
        status = try_steps(bench, changes, best, err);
        if (status)
            return status;
        if (changes == before &&
            memcmp(bench->previous, bench->change, changes * sizeof(*bench->change)) == 0)
            break;
    }
    return STATUS_OK;
}

enum status trend_describe(const double *x, size_t count, double least_variance,
                           enum trend_kind most, struct trend *ret, struct error *err)
{
    struct bench bench = {
        .x = x, .count = count, .least_variance = fmax(least_variance, VARIANCE_LEAST)};
    struct trend best = {0};
    enum status status = STATUS_OK;
    double *memory = malloc(4 * count * sizeof(*memory));
    size_t *changes = malloc(2 * count * sizeof(*changes)), windows;

    if (!memory || !changes) {
        status = error_set(err, STATUS_NO_MEMORY, "no memory to describe %zu points", count);
        goto out;
    }
    bench.left = memory;
    bench.white = memory + count;
    bench.work = memory + 2 * count;
    bench.change = changes;
    bench.previous = changes + count;
    describe_constant(&bench, &best);
    if (most >= TREND_LINE)
        describe_line(&bench, &best);
    if (most >= TREND_APPROACH)
        describe_approach(&bench, &best);
    if (most >= TREND_STEPS) {
        for (windows = 1; !status && windows <= 16 && count / windows >= 16; windows *= 2) {
            status = describe_steps(&bench, windows, true, &best, err);
            if (!status)
                status = describe_steps(&bench, windows, false, &best, err);
        }
    }
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
