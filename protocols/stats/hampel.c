#include "protocols/stats/hampel.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "protocols/stats/order.h"

#define WINDOW (2 * HAMPEL_REACH + 1)
/* The standard deviation of normal noise over the 90 % quantile of its size. */
#define WIDE_TO_SD 0.608
#define WIDE 0.9

/* Median of a window, which is sorted in place. */
static double median_of(double *v)
{
    size_t i, j;

    for (i = 1; i < WINDOW; i++) {
        double key = v[i];

        for (j = i; j > 0 && v[j - 1] > key; j--)
            v[j] = v[j - 1];
        v[j] = key;
    }
    return v[HAMPEL_REACH];
}

/* The 7 values about i, or the first or last 7. */
static void window_around(const double *x, size_t count, size_t i, double *ret)
{
    size_t lo = i > HAMPEL_REACH ? i - HAMPEL_REACH : 0;

    if (lo + WINDOW > count)
        lo = count - WINDOW;
    memcpy(ret, x + lo, WINDOW * sizeof(*x));
}

enum status hampel_clip(const double *x, size_t count, double least, double *ret,
                        size_t *ret_clipped, struct error *err)
{
    double window[WINDOW], *median, *deviation, scale, limit, wide, mean = 0;
    size_t i, clipped = 0;

    if (count < WINDOW) {
        memcpy(ret, x, count * sizeof(*x));
        *ret_clipped = 0;
        return STATUS_OK;
    }
    median = malloc(2 * count * sizeof(*median));
    if (!median)
        return error_no_memory(err);
    deviation = median + count;
    for (i = 0; i < count; i++) {
        window_around(x, count, i, window);
        median[i] = median_of(window);
        deviation[i] = fabs(x[i] - median[i]);
        mean += deviation[i] / (double)count;
    }
    scale = order_select(deviation, count, count / 2);
    if (!(scale > 0))
        scale = mean; /* a coarse clock: more than half of the samples sit on the median */
    limit = fmax(HAMPEL_THRESHOLD * MAD_TO_SD * scale, least);
    wide = order_select(deviation, count, order_quantile_index(count, WIDE));
    if (wide > limit)
        limit = HAMPEL_THRESHOLD * WIDE_TO_SD * wide;
    for (i = 0; i < count; i++) {
        bool far = fabs(x[i] - median[i]) > limit;

        ret[i] = far ? median[i] : x[i];
        clipped += far;
    }
    free(median);
    *ret_clipped = clipped;
    return STATUS_OK;
}
