#include "protocols/serving/analysis.h"

#include <math.h>
#include <stdlib.h>

/* A share of 0 has no logarithm: this part of the limit instead. */
#define FLOOR 0.01

/* Least squares under a rise, in place, equal weights: adjacent violators are pooled. */
static void make_monotone(double *y, size_t count, size_t *sizes)
{
    size_t blocks = 0, out = 0;
    double *level = y; /* block k's level at y[k], before it is spread out again */

    for (size_t i = 0; i < count; i++) {
        level[blocks] = y[i];
        sizes[blocks++] = 1;
        while (blocks > 1 && level[blocks - 2] > level[blocks - 1]) {
            size_t a = sizes[blocks - 2], b = sizes[blocks - 1];

            level[blocks - 2] =
                (level[blocks - 2] * (double)a + level[blocks - 1] * (double)b) / (double)(a + b);
            sizes[blocks - 2] = a + b;
            blocks--;
        }
    }
    for (out = count; blocks-- > 0;)
        for (size_t k = 0; k < sizes[blocks]; k++)
            y[--out] = level[blocks];
}

/* Where a rising share crosses `tail`: below the first rate 0, above the last INFINITY. */
static double crossing(const double *rates, const double *y, size_t count, double tail)
{
    for (size_t i = 0; i < count; i++)
        if (y[i] > tail) {
            double below, above = log(y[i]), at;

            if (i == 0)
                return 0;
            below = log(fmax(y[i - 1], FLOOR * tail));
            at = (log(tail) - below) / (above - below);
            return rates[i - 1] + at * (rates[i] - rates[i - 1]);
        }
    return INFINITY;
}

static bool has_interval(const struct serving_result *r)
{
    return r->slo.verdict != SLO_INCONCLUSIVE || r->slo.reason == SLO_REASON_SHARE;
}

static double within(double rate)
{
    return rate > 0 && isfinite(rate) ? rate : NAN;
}

static void judge(double lo, double value, double hi, struct capacity_result *ret)
{
    ret->lo = within(lo);
    ret->hi = within(hi);
    ret->value = within(value);
    if (isfinite(ret->lo) && isfinite(ret->hi))
        ret->state = CAPACITY_WITHIN;
    else if (isfinite(ret->hi))
        ret->state = CAPACITY_AT_MOST;
    else if (isfinite(ret->lo))
        ret->state = CAPACITY_AT_LEAST;
    else
        ret->state = CAPACITY_INCONCLUSIVE;
}

enum status serving_capacity(const struct serving_result *results, size_t count,
                             const struct serving_limits *limits, struct capacity_result *ret,
                             struct error *err)
{
    const double tail = 1 - limits->attain;
    struct capacity_result result = {CAPACITY_INCONCLUSIVE, NAN, NAN, NAN, NAN, NAN};
    double *rates, *least, *share, *most, lo, hi;
    size_t *sizes, used = 0;

    if (count == 0 || !(tail > 0 && tail < 1))
        return error_set(err, STATUS_INVALID, "capacity needs rates and a share to attain");
    for (size_t i = 1; i < count; i++)
        if (!(results[i].rate > results[i - 1].rate))
            return error_set(err, STATUS_INVALID, "the rates do not ascend");
    rates = malloc(4 * count * sizeof(*rates));
    sizes = malloc(count * sizeof(*sizes));
    if (!rates || !sizes) {
        free(rates);
        free(sizes);
        return error_no_memory(err);
    }
    least = rates + count;
    share = least + count;
    most = share + count;
    for (size_t i = 0; i < count; i++) {
        const struct slo_result *slo = &results[i].slo;

        if (!has_interval(&results[i]))
            continue;
        if (slo->verdict == SLO_MEETS)
            result.met = results[i].rate;
        if (slo->verdict == SLO_MISSES && isnan(result.missed))
            result.missed = results[i].rate;
        rates[used] = results[i].rate;
        least[used] = share[used] = most[used] = 1;
        /* Growing: outside whatever the window's share. Else the interval of the share outside. */
        if (slo->reason == SLO_REASON_NONE || slo->reason == SLO_REASON_SHARE) {
            least[used] = 1 - slo->hi;
            share[used] = 1 - slo->attainment;
            most[used] = 1 - slo->lo;
        }
        used++;
    }
    make_monotone(least, used, sizes);
    make_monotone(share, used, sizes);
    make_monotone(most, used, sizes);
    if (used > 0) {
        lo = crossing(rates, most, used, tail);
        hi = crossing(rates, least, used, tail);
        /* Beyond the last rate nothing was measured: up to it the limits are met. */
        if (isinf(lo))
            lo = rates[used - 1];
        if (hi == 0)
            hi = rates[0];
        judge(lo, crossing(rates, share, used, tail), hi, &result);
    }
    free(rates);
    free(sizes);
    *ret = result;
    return STATUS_OK;
}
