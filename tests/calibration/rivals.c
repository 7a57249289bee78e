#include "tests/calibration/rivals.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "protocols/stats/distribution.h"

#define NOISE_WINDOW 512
#define NOISE_SAMPLES_LEAST 5
#define SAMPLES_LEAST 10
/* criterion draws 100 000: for the change, 317 times a and for each of these 316 times b. */
#define RESAMPLES_T 1000
#define RESAMPLES_A 317
#define RESAMPLES_B 4

static double mean_of(const double *x, size_t count)
{
    double sum = 0;
    size_t i;

    for (i = 0; i < count; i++)
        sum += x[i];
    return sum / (double)count;
}

static double squares_of(const double *x, size_t count, double mean)
{
    double sum = 0;
    size_t i;

    for (i = 0; i < count; i++)
        sum += (x[i] - mean) * (x[i] - mean);
    return sum;
}

static double sd_of(const double *x, size_t count)
{
    return sqrt(squares_of(x, count, mean_of(x, count)) / (double)(count - 1));
}

/* The values' own spread (over n, not n - 1) is below 5 % of their mean. */
static bool has_settled(const double *noises, size_t count)
{
    double mean = mean_of(noises, count), threshold = 0.05 * mean;

    return squares_of(noises, count, mean) / (double)count < threshold * threshold;
}

size_t rival_stdrel_stop(const double *seconds, size_t count)
{
    double window[NOISE_WINDOW], sum = 0, mean = 0, squares = 0;
    size_t n, kept = 0;

    for (n = 1; n <= count; n++) {
        double step = seconds[n - 1] - mean, noise;

        sum += seconds[n - 1];
        mean += step / (double)n;
        squares += step * (seconds[n - 1] - mean);
        if (n < NOISE_SAMPLES_LEAST)
            continue;
        noise = sqrt(squares / (double)(n - 1)) / mean;
        window[kept++ % NOISE_WINDOW] = noise;
        if (n < SAMPLES_LEAST || sum <= 0.5)
            continue;
        if (noise < 0.005)
            return n;
        if (kept > 64 && n % 16 == 0 &&
            has_settled(window, kept < NOISE_WINDOW ? kept : NOISE_WINDOW))
            return n;
    }
    return count;
}

void rival_naive_interval(const double *x, size_t count, double *ret_mean, double *ret_half)
{
    *ret_mean = mean_of(x, count);
    *ret_half = student_quantile(0.975, (double)count - 1) * sd_of(x, count) / sqrt((double)count);
}

bool rival_nvbench_differs(const double *a, const double *b, size_t count)
{
    double ma = mean_of(a, count), mb = mean_of(b, count);
    double noise = fmin(sd_of(a, count) / ma, sd_of(b, count) / mb);

    return fabs(mb - ma) / ma > noise;
}

static double t_statistic(const double *a, const double *b, size_t count)
{
    double n = (double)count, sa = sd_of(a, count), sb = sd_of(b, count);

    return (mean_of(a, count) - mean_of(b, count)) / sqrt(sa * sa / n + sb * sb / n);
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void resample(const double *from, size_t pool, double *to, size_t count,
                     struct random *random)
{
    size_t i;

    for (i = 0; i < count; i++)
        to[i] = from[random_next_below(random, pool)];
}

/* Linear between the two nearest of `sorted`. */
static double percentile_of(const double *sorted, size_t count, double p)
{
    double rank = p * (double)(count - 1);
    size_t below = (size_t)rank;

    return below + 1 < count
               ? sorted[below] + (sorted[below + 1] - sorted[below]) * (rank - (double)below)
               : sorted[count - 1];
}

/* Two-sided p of t in its bootstrap under "both come from one pool". */
static double bootstrap_p(const double *base, const double *changed, size_t count, double *pool,
                          struct random *random)
{
    double *first = pool + 2 * count, *second = first + count;
    double t = t_statistic(changed, base, count);
    size_t i, below = 0;

    memcpy(pool, changed, count * sizeof(*pool));
    memcpy(pool + count, base, count * sizeof(*pool));
    for (i = 0; i < RESAMPLES_T; i++) {
        resample(pool, 2 * count, first, count, random);
        resample(pool, 2 * count, second, count, random);
        below += t_statistic(first, second, count) < t;
    }
    return 2 * (double)(below < RESAMPLES_T - below ? below : RESAMPLES_T - below) / RESAMPLES_T;
}

bool rival_criterion_differs(const double *base, const double *changed, size_t count,
                             struct random *random)
{
    static const size_t changes = (size_t)RESAMPLES_A * RESAMPLES_B;
    double *pool = malloc((4 * count + changes) * sizeof(*pool)), *change = pool + 4 * count;
    double lo, hi, p;
    size_t i, j;

    if (!pool)
        abort();
    p = bootstrap_p(base, changed, count, pool, random);
    for (i = 0; i < RESAMPLES_A; i++) {
        double mean;

        resample(changed, count, pool, count, random);
        mean = mean_of(pool, count);
        for (j = 0; j < RESAMPLES_B; j++) {
            resample(base, count, pool, count, random);
            change[i * RESAMPLES_B + j] = mean / mean_of(pool, count) - 1;
        }
    }
    qsort(change, changes, sizeof(*change), compare);
    lo = percentile_of(change, changes, 0.025);
    hi = percentile_of(change, changes, 0.975);
    free(pool);
    return p < 0.05 && (lo > 0.01 || hi < -0.01);
}

/* The tool's table of t at 97.5 %: rounded quantiles, and from 40 degrees on in steps. */
static double pyperf_critical(size_t degrees)
{
    static const struct {
        size_t from;
        double t;
    } steps[] = {{200, 1.960}, {100, 1.984}, {80, 1.990}, {60, 2.000}, {50, 2.009}, {40, 2.021}};
    size_t i;

    for (i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        if (degrees >= steps[i].from)
            return steps[i].t;
    }
    return round(1000 * student_quantile(0.975, degrees < 30 ? (double)degrees : 30)) / 1000;
}

bool rival_pyperf_differs(const double *a, const double *b, size_t count)
{
    double n = (double)count, ma = mean_of(a, count), mb = mean_of(b, count);
    double pooled = (squares_of(a, count, ma) + squares_of(b, count, mb)) / (2 * n - 2);

    return fabs(ma - mb) / sqrt(pooled * 2 / n) >= pyperf_critical(2 * count - 2);
}

bool rival_mlperf_estimate(const double *sorted, size_t count, double p, double *ret)
{
    size_t t = 0;

    while (t + 1 < count && binomial_cdf((double)(t + 1), (double)count, 1 - p) < 0.01)
        t++;
    if (t == 0)
        return false;
    *ret = sorted[count - t];
    return true;
}
