/* The ranges that charts share: wide enough for all but the rarest values. */
#include "reports/chart.h"

#include <math.h>
#include <string.h>

/* Spikes are rarer than this share of a series; the range is made for the rest. */
#define SPIKE_SHARE 0.01
/* A histogram counts this share separately, unless its values are near. */
#define TAIL_SHARE 0.02
/* A warmup longer than this share of a series belongs on the scale. */
#define WARMUP_SHARE 0.04

static void range_add(struct chart_range *range, bool *any, double lo, double hi)
{
    if (!*any || lo < range->lo)
        range->lo = lo;
    if (!*any || hi > range->hi)
        range->hi = hi;
    *any = true;
}

/* Adds the values at two ranks of a series. */
static void range_add_quantiles(struct chart_range *range, bool *any, const int64_t *samples,
                                size_t count, double low, double high, double divisor,
                                int64_t *scratch)
{
    double lo, hi;

    memcpy(scratch, samples, count * sizeof(*scratch));
    lo = (double)reduce_quantile(scratch, count, low) / divisor;
    hi = (double)reduce_quantile(scratch, count, high) / divisor;
    range_add(range, any, lo, hi);
}

static void range_add_extremes(struct chart_range *range, bool *any,
                               const struct chart_series *series)
{
    int64_t least = series->sample_ns[0], most = least;

    for (size_t i = 1; i < series->count; ++i) {
        int64_t sample = series->sample_ns[i];

        least = sample < least ? sample : least;
        most = sample > most ? sample : most;
    }
    range_add(range, any, (double)least / series->iterations, (double)most / series->iterations);
}

bool chart_range_of(const struct chart_series *series, size_t count, int64_t *scratch,
                    struct chart_range *ret)
{
    struct chart_range body = {0, 0}, whole = {0, 0};
    bool any = false, any_whole = false;
    double extent;

    for (size_t s = 0; s < count; ++s) {
        const struct chart_series *one = &series[s];
        size_t from = one->has_window && one->window_from < one->count ? one->window_from : 0;

        if (one->count == 0)
            continue;
        range_add_quantiles(&body, &any, one->sample_ns + from, one->count - from, SPIKE_SHARE,
                            1 - SPIKE_SHARE, one->iterations, scratch);
        range_add_quantiles(&body, &any, one->sample_ns, one->count, WARMUP_SHARE, 1 - WARMUP_SHARE,
                            one->iterations, scratch);
        range_add_extremes(&whole, &any_whole, one);
    }
    if (!any)
        return false;
    /* Never less than a percent of the level, so that negligible noise does not fill the chart. */
    extent = fmax(body.hi - body.lo, body.hi * 0.01) * 0.6;
    if (whole.hi <= body.hi + extent)
        body.hi = whole.hi;
    if (whole.lo >= body.lo - extent)
        body.lo = whole.lo;
    extent = fmax(body.hi - body.lo, body.hi * 0.01);
    ret->lo = fmax(body.lo - extent * 0.08, 0);
    ret->hi = body.hi + extent * 0.10;
    if (!(ret->hi > ret->lo))
        ret->hi = ret->lo + 1;
    return true;
}

bool chart_body_of(const struct chart_series *series, size_t count, int64_t *scratch,
                   struct chart_range *ret)
{
    struct chart_range body = {0, 0}, whole = {0, 0};
    bool any = false, any_whole = false;
    double extent;

    for (size_t s = 0; s < count; ++s) {
        if (series[s].count == 0)
            continue;
        range_add_quantiles(&body, &any, series[s].sample_ns, series[s].count, SPIKE_SHARE,
                            1 - TAIL_SHARE, series[s].iterations, scratch);
        range_add_extremes(&whole, &any_whole, &series[s]);
    }
    if (!any)
        return false;
    extent = fmax(body.hi - body.lo, body.hi * 0.002);
    ret->lo = fmax(whole.lo, body.lo - extent * 0.15);
    ret->hi = fmin(whole.hi, body.hi + extent * 0.35);
    if (!(ret->hi > ret->lo)) {
        ret->lo -= extent / 2;
        ret->hi += extent / 2;
    }
    return true;
}
