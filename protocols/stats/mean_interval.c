#include "protocols/stats/mean_interval.h"

#include <math.h>
#include <stdlib.h>

#include "protocols/stats/autocovariance.h"
#include "protocols/stats/autoregression.h"
#include "protocols/stats/distribution.h"

#define BLOCKED_MAX 16384
/* Cosines summed side by side. */
#define LANES 8

/* Sums of (x - mean) cos(pi j (t + 1/2) / count) for LANES frequencies from `first` on, each by
   Chebyshev's recurrence; side by side, since each depends on its own previous step. */
static void cosine_sums(const double *x, size_t count, double mean, size_t first, double sum[LANES])
{
    double twice[LANES], now[LANES], before[LANES];
    size_t lane, t;

    for (lane = 0; lane < LANES; lane++) {
        double step = M_PI * (double)(first + lane) / (double)count;

        twice[lane] = 2 * cos(step);
        now[lane] = before[lane] = cos(0.5 * step);
        sum[lane] = 0;
    }
    for (t = 0; t < count; t++) {
        double value = x[t] - mean;

        for (lane = 0; lane < LANES; lane++) {
            double next = twice[lane] * now[lane] - before[lane];

            sum[lane] += now[lane] * value;
            before[lane] = now[lane];
            now[lane] = next;
        }
    }
}

double cosine_long_run_variance(const double *x, size_t count, double mean, size_t terms)
{
    double total = 0, sum[LANES];
    size_t j, lane;

    for (j = 1; j <= terms; j += LANES) {
        cosine_sums(x, count, mean, j, sum);
        for (lane = 0; lane < LANES && j + lane <= terms; lane++)
            total += sum[lane] * sum[lane];
    }
    return terms ? 2 * total / ((double)count * (double)terms) : 0;
}

/* Means of `factor` samples each; the few left over at the end are dropped. */
static void block_means(const double *x, size_t blocks, size_t factor, double *ret)
{
    size_t b, i;

    for (b = 0; b < blocks; b++) {
        double sum = 0;

        for (i = 0; i < factor; i++)
            sum += x[b * factor + i];
        ret[b] = sum / (double)factor;
    }
}

static double half_width(double lrv, double n, double confidence, double df)
{
    if (!(df > 0))
        return INFINITY;
    return student_quantile(0.5 + 0.5 * confidence, df) * sqrt(lrv / n);
}

/* B = 0.2 n^(2/3) rounded up, at least 3: fewer would be valid too, but t on 1 or 2 is useless.
 */
static size_t cosine_terms(size_t count, size_t points)
{
    double terms = ceil(0.2 * pow((double)count, 2.0 / 3.0));
    size_t most = points / 8;

    if (terms < (double)most)
        most = (size_t)terms;
    return most > 3 ? most : points < 6 ? 2 : 3;
}

enum status mean_interval(const double *x, size_t count, double confidence,
                          struct mean_interval *ret, struct error *err)
{
    struct mean_interval r = {0};
    struct autoregression model;
    enum status status;
    size_t factor = (count + BLOCKED_MAX - 1) / BLOCKED_MAX, points, order, i;
    double *work = NULL, *gamma, n = (double)count, df;
    const double *series = x;

    if (count == 0)
        return error_set(err, STATUS_INVALID, "the mean of no samples is asked for");
    r.mean = series_mean(x, count);
    for (i = 0; i < count; i++)
        r.variance += (x[i] - r.mean) * (x[i] - r.mean);
    r.variance /= n;
    r.ess = n;
    if (!(r.variance > 0)) {
        *ret = r; /* all samples equal: the interval has no width */
        return STATUS_OK;
    }
    if (count < 4) {
        r.half_width = INFINITY;
        *ret = r;
        return STATUS_OK;
    }
    if (factor < 1)
        factor = 1;
    points = count / factor;
    work = malloc((points + points) * sizeof(*work));
    if (!work)
        return error_no_memory(err);
    gamma = work + points;
    if (factor > 1) {
        block_means(x, points, factor, work);
        series = work;
    }
    status = autocovariance(series, points, points - 1, gamma, err);
    if (status) {
        free(work);
        return status;
    }
    order = (size_t)(10 * log10((double)points));
    order = order > points / 4 ? points / 4 : order;
    autoregression_fit_levinson(gamma, points, order, 2, &model);
    r.lrv_geyer = (double)factor * geyer_long_run_variance(gamma, points - 1);
    r.lrv_ar = (double)factor * autoregression_long_run_variance(&model, points);
    r.cosines = cosine_terms(count, points);
    r.lrv_cosines = (double)factor * cosine_long_run_variance(series, points, r.mean, r.cosines);
    free(work);

    r.ess = fmin(fmax(n * r.variance / fmax(r.lrv_geyer, r.lrv_ar), 1), n);
    df = fmax(r.ess - 1, 1);
    r.half_width =
        fmax(half_width(r.lrv_geyer, n, confidence, df), half_width(r.lrv_ar, n, confidence, df));
    r.half_width = fmax(r.half_width, half_width(r.lrv_cosines, n, confidence, (double)r.cosines));
    *ret = r;
    return STATUS_OK;
}
