#include "protocols/stats/autoregression.h"

#include <math.h>
#include <string.h>

/* One Levinson step: phi of order p from phi of order p - 1 and the reflection coefficient. */
static void extend(double *phi, size_t order, double reflection)
{
    double previous[AUTOREGRESSION_MAX];
    size_t i;

    memcpy(previous, phi, order * sizeof(*phi));
    for (i = 0; i + 1 < order; i++)
        phi[i] = previous[i] - reflection * previous[order - 2 - i];
    phi[order - 1] = reflection;
}

static void keep_best(double sigma2, size_t order, const double *phi, size_t count, double penalty,
                      double *best, struct autoregression *ret)
{
    double criterion = (double)count * log(sigma2) + penalty * (double)order;

    if (order > 0 && !(criterion < *best))
        return;
    *best = criterion;
    ret->order = order;
    ret->sigma2 = sigma2;
    memcpy(ret->phi, phi, order * sizeof(*phi));
}

void autoregression_fit_levinson(const double *gamma, size_t count, size_t max_order,
                                 double penalty, struct autoregression *ret)
{
    double phi[AUTOREGRESSION_MAX] = {0}, sigma2 = gamma[0], best = 0;
    size_t order, i;

    ret->order = 0;
    ret->sigma2 = gamma[0] > 0 ? gamma[0] : 0;
    if (!(gamma[0] > 0))
        return;
    if (max_order > AUTOREGRESSION_MAX)
        max_order = AUTOREGRESSION_MAX;
    keep_best(sigma2, 0, phi, count, penalty, &best, ret);
    for (order = 1; order <= max_order; order++) {
        double reflection = gamma[order];

        for (i = 0; i + 1 < order; i++)
            reflection -= phi[i] * gamma[order - 1 - i];
        reflection /= sigma2;
        if (!(fabs(reflection) < 1))
            break;
        extend(phi, order, reflection);
        sigma2 *= 1 - reflection * reflection;
        if (!(sigma2 > 0))
            break;
        keep_best(sigma2, order, phi, count, penalty, &best, ret);
    }
}

/* Sums over t of forward[t] backward[t - 1], and of the squares of both. */
struct products {
    double cross, power;
};

static void sum_products(const double *forward, const double *backward, size_t count,
                         struct products *ret)
{
    double cross = 0, power = 0;
    size_t t;

    for (t = 1; t < count; t++) {
        cross += forward[t] * backward[t - 1];
        power += forward[t] * forward[t] + backward[t - 1] * backward[t - 1];
    }
    *ret = (struct products){cross, power};
}

/*
 * One lattice step, and the sums of the order after it in the same pass: the sums, which must be
 * added up in order, overlap with the step.
 */
static void filter(double *restrict forward, double *restrict backward, size_t order, size_t count,
                   double reflection, struct products *ret)
{
    double cross = 0, power = 0;
    double f = forward[order], b = backward[order - 1], last; /* last: the new backward[t - 1] */
    size_t t;

    forward[order] = f - reflection * b;
    last = b - reflection * f;
    b = backward[order];
    backward[order] = last;
    for (t = order + 1; t < count; t++) {
        double next = backward[t], new_f;

        f = forward[t];
        new_f = f - reflection * b;
        cross += new_f * last;
        power += new_f * new_f + last * last;
        forward[t] = new_f;
        last = b - reflection * f;
        backward[t] = last;
        b = next;
    }
    *ret = (struct products){cross, power};
}

void autoregression_fit_burg(const double *x, size_t count, size_t max_order, double penalty,
                             double *work, struct autoregression *ret)
{
    double phi[AUTOREGRESSION_MAX] = {0}, sigma2 = 0, best = 0;
    double *forward = work, *backward = work + count;
    struct products sums;
    size_t order, t;

    for (t = 0; t < count; t++) {
        forward[t] = backward[t] = x[t];
        sigma2 += x[t] * x[t];
    }
    ret->order = 0;
    sigma2 = count ? sigma2 / (double)count : 0;
    ret->sigma2 = sigma2;
    if (!(sigma2 > 0))
        return;
    if (max_order > AUTOREGRESSION_MAX)
        max_order = AUTOREGRESSION_MAX;
    keep_best(sigma2, 0, phi, count, penalty, &best, ret);
    sum_products(forward, backward, count, &sums);
    for (order = 1; order <= max_order && order < count; order++) {
        const double cross = sums.cross, power = sums.power;
        double reflection;

        if (!(power > 0))
            break;
        reflection = 2 * cross / power;
        if (!(fabs(reflection) < 1))
            break;
        filter(forward, backward, order, count, reflection, &sums);
        extend(phi, order, reflection);
        sigma2 *= 1 - reflection * reflection;
        if (!(sigma2 > 0))
            break;
        keep_best(sigma2, order, phi, count, penalty, &best, ret);
    }
}

double autoregression_gain(const struct autoregression *model)
{
    double gain = 1;
    size_t i;

    for (i = 0; i < model->order; i++)
        gain -= model->phi[i];
    return gain;
}

double autoregression_gain_corrected(const struct autoregression *model, size_t count)
{
    double gain = autoregression_gain(model);
    double bias = (4 - 3 * gain) / (double)count;

    if (model->order == 0 || gain >= 1 || bias <= 0)
        return gain;
    return fmax(gain - bias, 0.25 * gain);
}

double autoregression_long_run_variance(const struct autoregression *model, size_t count)
{
    double gain = autoregression_gain_corrected(model, count), n = (double)count;
    double spare = n - (double)model->order - 1;

    if (!(gain > 0) || !(spare > 0))
        return INFINITY;
    return model->sigma2 * n / spare / (gain * gain);
}
