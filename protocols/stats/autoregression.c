#include "protocols/stats/autoregression.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "harness/core/vector.h"

/* Of a series that is predicted without an error. */
#define REFLECTION_MOST (1 - 1e-8)

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

/* A value of each of the series that are fitted at once. */
typedef double lanes
    __attribute__((vector_size(AUTOREGRESSION_LANES * sizeof(double)), aligned(8), may_alias));

/* Sums over t of forward[t] backward[t - 1], and of the squares of both. */
struct products {
    lanes cross, power;
};

/*
 * One lattice step, and the sums of the order after it in the same pass: the sums, which must be
 * added up in order, overlap with the step.
 */
static inline void filter(lanes *restrict forward, lanes *restrict backward, size_t order,
                          size_t count, const lanes *coefficients, struct products *ret)
{
    const lanes reflection = *coefficients;
    lanes f = forward[order], b = backward[order - 1], last; /* last: the new backward[t - 1] */
    struct products sums = {0};

    forward[order] = f - reflection * b;
    last = b - reflection * f;
    b = backward[order];
    backward[order] = last;
    for (size_t t = order + 1; t < count; t++) {
        const lanes next = backward[t];
        lanes new_f;

        f = forward[t];
        new_f = f - reflection * b;
        sums.cross += new_f * last;
        sums.power += new_f * new_f + last * last;
        forward[t] = new_f;
        last = b - reflection * f;
        backward[t] = last;
        b = next;
    }
    *ret = sums;
}

/* One of the series, while its order grows; it has ended where no higher order is fitted. */
struct fitting {
    double phi[AUTOREGRESSION_MAX], sigma2, best;
    bool has_ended;
};

/*
 * The next reflection coefficient of a series; 0, which leaves it as it is, where it has ended. One
 * of 1 is of a series that repeats itself, and rounding alone would decide whether it is below 1.
 */
static double reflect(struct fitting *fit, double cross, double power)
{
    const double reflection = !fit->has_ended && power > 0 ? 2 * cross / power : 0;

    fit->has_ended = fit->has_ended || !(power > 0);
    return fabs(reflection) < REFLECTION_MOST ? reflection : copysign(REFLECTION_MOST, reflection);
}

static void take_order(struct fitting *fit, size_t order, double reflection, size_t count,
                       double penalty, struct autoregression *ret)
{
    if (fit->has_ended)
        return;
    extend(fit->phi, order, reflection);
    fit->sigma2 *= 1 - reflection * reflection;
    if (fit->sigma2 > 0)
        keep_best(fit->sigma2, order, fit->phi, count, penalty, &fit->best, ret);
    /* What is left of a series that repeats itself is rounding. */
    fit->has_ended = !(fit->sigma2 > 0) || fabs(reflection) >= REFLECTION_MOST;
}

VECTOR_CLONES
void autoregression_fit_burg_lanes(const double *x, size_t count, size_t max_order, double penalty,
                                   double *work, struct autoregression *ret)
{
    struct fitting fits[AUTOREGRESSION_LANES] = {0};
    lanes *forward = (lanes *)work, *backward = forward + count, squares = {0}, reflections;
    struct products sums = {0};
    bool going = false;

    for (size_t t = 0; t < count; t++) {
        forward[t] = backward[t] = ((const lanes *)x)[t];
        squares += forward[t] * forward[t];
        if (t > 0) {
            sums.cross += forward[t] * backward[t - 1];
            sums.power += forward[t] * forward[t] + backward[t - 1] * backward[t - 1];
        }
    }
    for (size_t i = 0; i < AUTOREGRESSION_LANES; i++) {
        fits[i].sigma2 = ret[i].sigma2 = count ? squares[i] / (double)count : 0;
        fits[i].has_ended = !(fits[i].sigma2 > 0);
        ret[i].order = 0;
        if (!fits[i].has_ended)
            keep_best(fits[i].sigma2, 0, fits[i].phi, count, penalty, &fits[i].best, &ret[i]);
        going = going || !fits[i].has_ended;
    }
    if (max_order > AUTOREGRESSION_MAX)
        max_order = AUTOREGRESSION_MAX;
    for (size_t order = 1; order <= max_order && order < count && going; order++) {
        going = false;
        for (size_t i = 0; i < AUTOREGRESSION_LANES; i++) {
            reflections[i] = reflect(&fits[i], sums.cross[i], sums.power[i]);
            going = going || !fits[i].has_ended;
        }
        if (going)
            filter(forward, backward, order, count, &reflections, &sums);
        for (size_t i = 0; i < AUTOREGRESSION_LANES; i++)
            take_order(&fits[i], order, reflections[i], count, penalty, &ret[i]);
    }
}

void autoregression_fit_burg(const double *x, size_t count, size_t max_order, double penalty,
                             double *work, struct autoregression *ret)
{
    struct autoregression models[AUTOREGRESSION_LANES];
    double *spread = work + 2 * AUTOREGRESSION_LANES * count;

    memset(spread, 0, AUTOREGRESSION_LANES * count * sizeof(*spread));
    for (size_t t = 0; t < count; t++)
        spread[t * AUTOREGRESSION_LANES] = x[t];
    autoregression_fit_burg_lanes(spread, count, max_order, penalty, work, models);
    *ret = models[0];
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
