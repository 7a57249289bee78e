#include "tests/calibration/rivals.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "protocols/stats/distribution.h"

#define NOISE_WINDOW 512
#define RESAMPLES 500
#define OTAVA_MOST 400

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

size_t rival_stdrel_stop(const double *seconds, size_t count)
{
    double window[NOISE_WINDOW], sum = 0, squares = 0;
    size_t n, kept = 0, i;

    for (n = 1; n <= count; n++) {
        double noise, mean, spread = 0;

        sum += seconds[n - 1];
        squares += seconds[n - 1] * seconds[n - 1];
        if (n < 2)
            continue;
        mean = sum / (double)n;
        noise = sqrt(fmax(squares - sum * mean, 0) / (double)(n - 1)) / mean;
        window[kept % NOISE_WINDOW] = noise;
        kept++;
        if (sum <= 0.5)
            continue;
        if (noise < 0.005)
            return n;
        if (kept <= 64 || n % 16 != 0)
            continue;
        for (i = 0; i < kept && i < NOISE_WINDOW; i++)
            spread += (window[i] - noise) * (window[i] - noise);
        spread = sqrt(spread / (double)((kept < NOISE_WINDOW ? kept : NOISE_WINDOW) - 1));
        if (spread / noise < 0.05)
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

bool rival_criterion_differs(const double *a, const double *b, size_t count, struct random *random)
{
    double *pool = malloc(4 * count * sizeof(*pool)), change[RESAMPLES], t, lo, hi;
    double *ra = pool + 2 * count, *rb = pool + 3 * count;
    size_t i, beyond = 0;

    if (!pool)
        abort();
    memcpy(pool, a, count * sizeof(*pool));
    memcpy(pool + count, b, count * sizeof(*pool));
    t = fabs(t_statistic(a, b, count));
    for (i = 0; i < RESAMPLES; i++) {
        resample(pool, 2 * count, ra, count, random);
        resample(pool, 2 * count, rb, count, random);
        beyond += fabs(t_statistic(ra, rb, count)) >= t;
    }
    for (i = 0; i < RESAMPLES; i++) {
        resample(a, count, ra, count, random);
        resample(b, count, rb, count, random);
        change[i] = mean_of(rb, count) / mean_of(ra, count) - 1;
    }
    free(pool);
    qsort(change, RESAMPLES, sizeof(*change), compare);
    lo = change[(size_t)(0.025 * RESAMPLES)];
    hi = change[(size_t)(0.975 * RESAMPLES)];
    return (double)beyond / RESAMPLES < 0.05 && (lo > 0.01 || hi < -0.01);
}

bool rival_pyperf_differs(const double *a, const double *b, size_t count)
{
    double n = (double)count, ma = mean_of(a, count), mb = mean_of(b, count);
    double pooled = (squares_of(a, count, ma) + squares_of(b, count, mb)) / (2 * n - 2);

    return fabs(ma - mb) / sqrt(pooled * 2 / n) >= student_quantile(0.975, 2 * n - 2);
}

bool rival_mlperf_estimate(const double *sorted, size_t count, double p, double *ret)
{
    size_t t = 0;

    while (t + 1 < count && binomial_cdf((double)(t + 1), (double)count, 1 - p) <= 0.01)
        t++;
    if (t == 0)
        return false;
    *ret = sorted[count - t];
    return true;
}

/* The split of x[0, n) with the largest energy statistic; sums of distances grow with the split. */
static size_t best_split(const double *x, size_t n, double *ret_p)
{
    double left = 0, right = 0, cross = 0, best = -1, ma, mb, pooled;
    size_t i, j, at = 0;

    for (i = 0; i < n; i++) {
        for (j = i + 1; j < n; j++)
            right += fabs(x[i] - x[j]);
    }
    for (i = 0; i + 2 < n; i++) {
        double before = 0, after = 0, l = (double)i + 1, r = (double)(n - i - 1), q;

        for (j = 0; j < i; j++)
            before += fabs(x[i] - x[j]);
        for (j = i + 1; j < n; j++)
            after += fabs(x[i] - x[j]);
        left += before;
        right -= after;
        cross += after - before;
        if (i < 1)
            continue;
        q = l * r / (l + r) *
            (2 * cross / (l * r) - 2 * left / (l * (l - 1)) - 2 * right / (r * (r - 1)));
        if (q > best) {
            best = q;
            at = i + 1;
        }
    }
    *ret_p = 1;
    if (at < 2 || at + 2 > n)
        return 0;
    ma = mean_of(x, at);
    mb = mean_of(x + at, n - at);
    pooled = (squares_of(x, at, ma) + squares_of(x + at, n - at, mb)) / (double)(n - 2);
    if (pooled > 0)
        *ret_p =
            2 * student_cdf(-fabs(ma - mb) / sqrt(pooled * (1 / (double)at + 1 / (double)(n - at))),
                            (double)n - 2);
    return at;
}

size_t rival_otava_changes(const double *x, size_t count, size_t *ret_place)
{
    double p;
    size_t at;

    if (count < 8 || count > OTAVA_MOST)
        return 0;
    at = best_split(x, count, &p);
    if (at == 0 || p >= 0.001)
        return 0;
    if (ret_place)
        *ret_place = at;
    return 1 + rival_otava_changes(x, at, NULL) + rival_otava_changes(x + at, count - at, NULL);
}
