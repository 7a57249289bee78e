#include "protocols/stats/succession.h"

#include <math.h>
#include <stdlib.h>

#include "harness/core/random.h"
#include "protocols/stats/autocovariance.h"
#include "protocols/stats/distribution.h"

/* Chances of seeing a trend, or neighbours that are alike, where there is none. */
#define TREND_RISK 0.03
#define SERIAL_RISK 0.02
/* Of two series, whose trends move an interval of their difference both. */
#define TREND_RISK_OF_BOTH 0.01
/* A sixth of these is where it is certain. */
#define CERTAIN 6
#define CORRELATION_MOST 0.9
/* Relative to the values: what of them rounding leaves. */
#define NO_SPREAD 1e-12

/* Sums of squares and products of the values about their mean. */
struct sums {
    double squares, neighbours, distances, slope, times;
};

static struct sums sums_of(const double *values, size_t count, double mean)
{
    const double middle = 0.5 * ((double)count - 1);
    struct sums s = {0};

    for (size_t i = 0; i < count; i++) {
        const double here = values[i] - mean, time = (double)i - middle;

        s.squares += here * here;
        s.slope += time * here;
        s.times += time * time;
        if (i == 0)
            continue;
        s.neighbours += here * (values[i - 1] - mean);
        s.distances += (values[i] - values[i - 1]) * (values[i] - values[i - 1]);
    }
    return s;
}

static double chance_of_trend(double slope, double error, double df)
{
    if (error > 0)
        return 2 * student_cdf(-fabs(slope) / error, df);
    return slope == 0 ? 1 : 0;
}

static double chance_of_ratio(double ratio, double n)
{
    const double half = 2 * cos(acos(-1) / n), variance = 4 * (n - 2) / (n * n - 1);
    const double shape = 0.5 * (half * half / variance - 1);

    return beta_cdf(fmin(fmax((ratio - 2 + half) / (2 * half), 0), 1), shape, shape);
}

/* Which of its chances show something. */
static void look_at_chances(struct succession *s, double trend_risk)
{
    s->trend = s->p_trend < trend_risk;
    s->serial = s->p_serial < SERIAL_RISK;
    s->certain = s->p_trend * CERTAIN < trend_risk || s->p_serial * CERTAIN < SERIAL_RISK;
}

struct succession succession_find(const double *values, size_t count)
{
    struct succession ret = {0};
    const double n = (double)count;
    double mean, slope, left, lag;
    struct sums s;

    if (count < SUCCESSION_LEAST)
        return ret;
    mean = series_mean(values, count);
    s = sums_of(values, count, mean);
    if (!(sqrt(s.squares / n) > NO_SPREAD * fmax(fabs(mean), 1)))
        return ret;
    ret.tested = true;
    slope = s.slope / s.times;
    left = fmax(s.squares - slope * s.slope, 0);
    ret.change = slope * (n - 1);
    ret.error = sqrt(left / (n - 2) / s.times) * (n - 1);
    ret.p_trend = chance_of_trend(ret.change, ret.error, n - 2);
    ret.p_serial = chance_of_ratio(s.distances / s.squares, n);
    lag = s.neighbours / s.squares;
    ret.correlation = fmin(fmax(lag + (1 + 3 * lag) / n, 0), CORRELATION_MOST);
    look_at_chances(&ret, TREND_RISK);
    return ret;
}

/* Of two chances: that of a product so small, which is chi squared on 4 degrees of freedom. */
static double chance_of_both(double a, double b)
{
    return a * b > 0 ? a * b * (1 - log(a * b)) : 0;
}

struct succession succession_join(const struct succession *a, const struct succession *b)
{
    struct succession ret = {.tested = true};

    if (!a->tested || !b->tested)
        return a->tested ? *a : *b;
    ret.change = fabs(a->change) + fabs(b->change);
    ret.error = hypot(a->error, b->error);
    ret.p_trend = chance_of_both(a->p_trend, b->p_trend);
    ret.p_serial = chance_of_both(a->p_serial, b->p_serial);
    ret.correlation = 0.5 * (a->correlation + b->correlation);
    look_at_chances(&ret, TREND_RISK_OF_BOTH);
    return ret;
}

/* Of a standard error, by the correlation that neighbours have. */
static double stretch_of(double correlation)
{
    return sqrt((1 + correlation) / (1 - correlation));
}

double succession_correlation_of(double stretch)
{
    return (stretch * stretch - 1) / (stretch * stretch + 1);
}

double succession_shift(const struct succession *s)
{
    return s->trend ? 0.5 * fabs(s->change) : 0;
}

double succession_stretch(const struct succession *s)
{
    return s->serial ? stretch_of(s->correlation) : 1;
}

double succession_half_width(const struct succession *s, double half)
{
    return fmax(half + succession_shift(s), half * succession_stretch(s));
}

double succession_unseen(const struct succession *s, double half)
{
    return fmax(0.5 * (fabs(s->change) + s->error), half * stretch_of(s->correlation));
}

/* ---- independent values ---- */

enum { SERIES = 20000, SEEN_MOST = SERIES / 8, COUNT_MOST = 500 };

/* Draws a series; whether its order would widen the interval, whose quantile is `t`. */
static bool draw_widening(struct random *random, size_t count, double t,
                          struct succession_widening *ret)
{
    double values[COUNT_MOST], squares = 0, mean, half;
    struct succession s;

    for (size_t i = 0; i < count; i++)
        values[i] = random_next_normal(random);
    s = succession_find(values, count);
    if (!s.trend && !s.serial)
        return false;
    mean = series_mean(values, count);
    for (size_t i = 0; i < count; i++)
        squares += (values[i] - mean) * (values[i] - mean);
    half = t * sqrt(squares / (double)(count - 1) / (double)count);
    *ret = (struct succession_widening){succession_half_width(&s, half) / half, 1.0 / SERIES,
                                        s.certain};
    return true;
}

static int compare_widenings(const void *left, const void *right)
{
    const struct succession_widening *a = left, *b = right;

    if (a->certain != b->certain)
        return a->certain - b->certain;
    return (a->factor > b->factor) - (a->factor < b->factor);
}

size_t succession_widenings(size_t count, double confidence,
                            struct succession_widening ret[SUCCESSION_WIDENINGS])
{
    struct succession_widening seen[SEEN_MOST];
    const size_t drawn = count < COUNT_MOST ? count : COUNT_MOST;
    size_t seen_count = 0, groups = 0, in_group;
    struct random random;
    double t;

    if (count < SUCCESSION_LEAST)
        return 0;
    t = student_quantile(0.5 + 0.5 * confidence, (double)drawn - 1);
    random_init(&random, 20261128, drawn);
    for (size_t i = 0; i < SERIES && seen_count < SEEN_MOST; i++)
        seen_count += draw_widening(&random, drawn, t, &seen[seen_count]);
    qsort(seen, seen_count, sizeof(*seen), compare_widenings);
    in_group = seen_count / (SUCCESSION_WIDENINGS - 1) + 1;
    for (size_t i = 0, within = 0; i < seen_count; i++) {
        /* A group holds certain ones alone, or none. */
        if (i == 0 || within == in_group || seen[i].certain != ret[groups - 1].certain) {
            ret[groups++] = (struct succession_widening){0, 0, seen[i].certain};
            within = 0;
        }
        ret[groups - 1].factor += (seen[i].factor - ret[groups - 1].factor) / (double)++within;
        ret[groups - 1].chance += seen[i].chance;
    }
    return groups;
}
