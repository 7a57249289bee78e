#include "protocols/stats/succession.h"

#include <math.h>

#include "protocols/stats/autocovariance.h"
#include "protocols/stats/distribution.h"

/* Chances of seeing a trend, or neighbours that are alike, where there is none. */
#define TREND_RISK 0.03
#define SERIAL_RISK 0.02
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
    ret.trend = ret.p_trend < TREND_RISK;
    ret.serial = ret.p_serial < SERIAL_RISK;
    ret.certain = ret.p_trend * CERTAIN < TREND_RISK || ret.p_serial * CERTAIN < SERIAL_RISK;
    return ret;
}

/* Of a standard error, by the correlation that neighbours have. */
static double stretch_of(double correlation)
{
    return sqrt((1 + correlation) / (1 - correlation));
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
