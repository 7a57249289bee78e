#include "reports/scale.h"

#include <math.h>

double scale_map(const struct scale *scale, double value)
{
    double share;

    if (isnan(value))
        return scale->from;
    if (!(scale->hi > scale->lo))
        return (scale->from + scale->to) / 2;
    if (scale->logarithmic && scale->lo > 0)
        share = value > 0 ? log(value / scale->lo) / log(scale->hi / scale->lo) : 0;
    else
        share = (value - scale->lo) / (scale->hi - scale->lo);
    share = share < 0 ? 0 : share > 1 ? 1 : share;
    return scale->from + share * (scale->to - scale->from);
}

size_t scale_ticks(double lo, double hi, size_t wanted, double *ret, size_t capacity)
{
    double rough, power, step, first;
    size_t count = 0;

    if (!isfinite(lo) || !isfinite(hi) || !(hi > lo) || wanted == 0)
        return 0;
    rough = (hi - lo) / (double)wanted;
    power = pow(10, floor(log10(rough)));
    step = power * (rough <= power * 1.5   ? 1
                    : rough <= power * 3.5 ? 2
                    : rough <= power * 7.5 ? 5
                                           : 10);
    /* Below that, neighbouring ticks are one number. */
    if (!isfinite(step) || !(step > fmax(fabs(lo), fabs(hi)) * 1e-12))
        return 0;
    first = ceil(lo / step - 1e-9);
    for (double k = first; count < capacity; ++k) {
        double tick = k * step;

        if (tick > hi + step * 1e-9)
            break;
        ret[count++] = tick == 0 ? 0 : tick; /* no "-0" */
    }
    return count;
}

size_t scale_ticks_logarithmic(double lo, double hi, double *ret, size_t capacity)
{
    static const double steps[] = {1, 2, 5};
    double decades, power;
    size_t count = 0, wanted;

    if (!isfinite(lo) || !isfinite(hi) || !(lo > 0) || !(hi > lo))
        return 0;
    decades = log10(hi / lo);
    if (decades < 1)
        return scale_ticks(lo, hi, 4, ret, capacity);
    wanted = decades < 2.5 ? 3 : 1;
    power = pow(10, floor(log10(lo)));
    /* Every decade, or every second, third ... of them, so that about six are labelled. */
    for (; power <= hi && count < capacity; power *= pow(10, ceil(decades / 6)))
        for (size_t i = 0; i < wanted && count < capacity; ++i)
            if (power * steps[i] >= lo * (1 - 1e-9) && power * steps[i] <= hi * (1 + 1e-9))
                ret[count++] = power * steps[i];
    return count;
}

int scale_tick_decimals(const double *ticks, size_t count)
{
    double step = count > 1 ? fabs(ticks[1] - ticks[0]) : count == 1 ? fabs(ticks[0]) : 1;
    int decimals = 0;

    while (decimals < 9 && step > 0 && fabs(step - round(step)) > step * 1e-6) {
        step *= 10;
        ++decimals;
    }
    return decimals;
}
