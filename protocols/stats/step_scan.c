#include "protocols/stats/step_scan.h"

#include <float.h>

size_t step_scan(const double *x, size_t count, size_t least, const struct autoregression *model,
                 double *white, double *ret_gain)
{
    size_t p = model->order, t, i, k, best_at = 0;
    double jump[AUTOREGRESSION_MAX], gain = 1, jump_sum = 0, jump_squares = 0;
    double n = (double)(count - p), total = 0, tail = 0, best = -1;

    *ret_gain = 0;
    if (least <= p)
        least = p + 1;
    if (count < 2 * least)
        return 0;
    for (i = 0; i < p; i++) {
        jump[i] = gain; /* what the filter answers i samples after a unit step */
        jump_sum += gain;
        jump_squares += gain * gain;
        gain -= model->phi[i];
    }
    for (t = p; t < count; t++) {
        /* About x[0], so that rounding stays small. */
        white[t] = x[t] - x[0];
        for (i = 0; i < p; i++)
            white[t] -= model->phi[i] * (x[t - 1 - i] - x[0]);
        total += white[t];
    }
    for (k = count - 1; k >= least; k--) {
        double cross, ones, squares, rest;

        if (k + p < count)
            tail += white[k + p];
        if (k + least > count)
            continue;
        rest = (double)(count - k - p);
        cross = gain * tail;
        for (i = 0; i < p; i++)
            cross += jump[i] * white[k + i];
        ones = jump_sum + gain * rest;
        squares = jump_squares + gain * gain * rest - ones * ones / n;
        cross -= ones * total / n;
        if (squares > DBL_EPSILON && cross * cross / squares > best) {
            best = cross * cross / squares;
            best_at = k;
        }
    }
    if (best > 0 && model->sigma2 > 0)
        *ret_gain = best / model->sigma2;
    return best_at;
}
