#include "protocols/stats/hampel.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "protocols/stats/order.h"

#define WINDOW (2 * HAMPEL_REACH + 1)
#define MAD_TO_SD 1.4826

/* Median of a few values, which are sorted in place. */
static double median_of(double *v, size_t count)
{
    size_t i, j;

    for (i = 1; i < count; i++) {
        double key = v[i];

        for (j = i; j > 0 && v[j - 1] > key; j--)
            v[j] = v[j - 1];
        v[j] = key;
    }
    return count % 2 ? v[count / 2] : 0.5 * (v[count / 2 - 1] + v[count / 2]);
}

static size_t window_around(const double *x, size_t count, size_t i, double *ret)
{
    size_t lo = i > HAMPEL_REACH ? i - HAMPEL_REACH : 0;
    size_t hi = i + HAMPEL_REACH < count ? i + HAMPEL_REACH : count - 1;

    memcpy(ret, x + lo, (hi - lo + 1) * sizeof(*x));
    return hi - lo + 1;
}

enum status hampel_clip(const double *x, size_t count, double *ret, size_t *ret_clipped,
                        struct error *err)
{
    double window[WINDOW], *median, *deviation, floor_scale, mean = 0;
    size_t i, j, clipped = 0;

    if (count < WINDOW) {
        memcpy(ret, x, count * sizeof(*x));
        *ret_clipped = 0;
        return STATUS_OK;
    }
    median = malloc(2 * count * sizeof(*median));
    if (!median)
        return error_set(err, STATUS_NO_MEMORY, "no memory to clip %zu samples", count);
    deviation = median + count;
    for (i = 0; i < count; i++) {
        size_t length = window_around(x, count, i, window);

        median[i] = median_of(window, length);
        deviation[i] = fabs(x[i] - median[i]);
        mean += deviation[i] / (double)count;
    }
    floor_scale = order_select(deviation, count, count / 2);
    if (!(floor_scale > 0))
        floor_scale = mean; /* a coarse clock: more than half of the samples sit on the median */
    for (i = 0; i < count; i++) {
        double distance = fabs(x[i] - median[i]), scale = 0;

        ret[i] = x[i];
        if (distance <= HAMPEL_THRESHOLD * MAD_TO_SD * floor_scale)
            continue;
        {
            size_t length = window_around(x, count, i, window);

            for (j = 0; j < length; j++)
                window[j] = fabs(window[j] - median[i]);
            scale = median_of(window, length);
        }
        if (distance > HAMPEL_THRESHOLD * MAD_TO_SD * fmax(scale, floor_scale)) {
            ret[i] = median[i];
            clipped++;
        }
    }
    free(median);
    *ret_clipped = clipped;
    return STATUS_OK;
}
