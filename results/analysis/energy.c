#include "results/analysis/energy.h"

static const char outside[] = "its readings do not enclose the window";
static const char backwards[] = "the counter ran backwards";
static const char set_back[] = "the counter was set back, or read too seldom to know its turns";

/*
 * Growth from one reading to the next. A decrease is a wrap of the counter, unless that would mean
 * more than half of its range in so short a time: then the counter was reset.
 */
static bool find_step(int64_t from, int64_t to, int64_t wraps_at, int64_t *ret,
                      const char **ret_reason)
{
    int64_t step;

    *ret_reason = backwards;
    if (__builtin_sub_overflow(to, from, &step))
        return false;
    if (step < 0) {
        if (wraps_at <= 0 || __builtin_add_overflow(step, wraps_at, &step) || step < 0)
            return false;
        *ret_reason = set_back;
        if (step > wraps_at / 2)
            return false;
    }
    *ret = step;
    return true;
}

/* The next reading with a value from `i` on; `count` when there is none. */
static size_t next_known(const struct energy_series *series, size_t i)
{
    while (i < series->count && series->values[i] == ENERGY_MISSING)
        i++;
    return i;
}

static double interpolate(double t0, double v0, double t1, double v1, double t)
{
    return t1 > t0 ? v0 + (v1 - v0) * (t - t0) / (t1 - t0) : v0;
}

bool energy_of_counter(const struct energy_series *series, int64_t wraps_at, int64_t begin_ns,
                       int64_t end_ns, double *ret, const char **ret_reason)
{
    size_t i = next_known(series, 0), k;
    double sum = 0, at_begin = 0, at_end = 0; /* growth since the first reading */
    bool has_begin = false, has_end = false, moved = false;

    *ret_reason = outside;
    if (i == series->count || series->times[i] > begin_ns || begin_ns > end_ns)
        return false;
    for (; (k = next_known(series, i + 1)) < series->count && !has_end; i = k) {
        int64_t step;
        double before = sum;

        if (!find_step(series->values[i], series->values[k], wraps_at, &step, ret_reason))
            return false;
        sum += (double)step;
        if (!has_begin && series->times[k] >= begin_ns) {
            has_begin = true;
            at_begin = interpolate((double)series->times[i], before, (double)series->times[k], sum,
                                   (double)begin_ns);
        }
        if (has_begin)
            moved = moved || step != 0;
        if (series->times[k] >= end_ns) {
            has_end = true;
            at_end = interpolate((double)series->times[i], before, (double)series->times[k], sum,
                                 (double)end_ns);
        }
    }
    *ret_reason = outside;
    if (!has_begin || !has_end)
        return false;
    if (!moved) {
        *ret_reason = "the counter did not advance";
        return false;
    }
    *ret = at_end - at_begin;
    return true;
}

bool energy_of_gauge(const struct energy_series *series, int64_t begin_ns, int64_t end_ns,
                     double *ret, const char **ret_reason)
{
    size_t i = next_known(series, 0), k;
    double sum = 0;
    bool has_end = false;

    *ret_reason = outside;
    if (i == series->count || series->times[i] > begin_ns || begin_ns > end_ns)
        return false;
    for (; (k = next_known(series, i + 1)) < series->count && !has_end; i = k) {
        double t0 = (double)series->times[i], t1 = (double)series->times[k];
        double v0 = (double)series->values[i], v1 = (double)series->values[k];
        double from = t0 < (double)begin_ns ? (double)begin_ns : t0;
        double to = t1 > (double)end_ns ? (double)end_ns : t1;

        has_end = series->times[k] >= end_ns;
        if (to > from)
            sum += (interpolate(t0, v0, t1, v1, from) + interpolate(t0, v0, t1, v1, to)) / 2 *
                   (to - from) / 1e9;
    }
    if (!has_end)
        return false;
    *ret = sum;
    return true;
}
