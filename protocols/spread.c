#include "protocols/spread.h"

#include <math.h>

#include "harness/core/member.h"
#include "harness/core/shape.h"
#include "protocols/stats/order.h"

static size_t bin_of(const struct spread *spread, double value)
{
    const double width = spread->most - spread->least;
    const double at = width > 0 ? (value - spread->least) / width * SPREAD_BINS : 0;

    return at < SPREAD_BINS ? (size_t)at : SPREAD_BINS - 1;
}

void spread_of(double *values, size_t count, struct spread *ret)
{
    const size_t half = count / 2;
    double mean = 0, squares = 0;

    order_sort_real(values, count);
    *ret =
        (struct spread){.count = count,
                        .least = values[0],
                        .most = values[count - 1],
                        .median = count % 2 ? values[half] : (values[half - 1] + values[half]) / 2};
    for (size_t i = 0; i < count; i++)
        mean += values[i] / (double)count;
    for (size_t i = 0; i < count; i++) {
        squares += (values[i] - mean) * (values[i] - mean);
        ret->bins[bin_of(ret, values[i])]++;
    }
    ret->sd = count > 1 ? sqrt(squares / (double)(count - 1)) : NAN;
}

void spread_scale(struct spread *spread, double by)
{
    spread->least *= by;
    spread->most *= by;
    spread->median *= by;
    spread->sd *= by;
}

json_t *spread_to_json(const struct spread *spread)
{
    json_t *bins = json_array();

    for (size_t i = 0; i < SPREAD_BINS; i++)
        json_array_append_new(bins, json_integer(spread->bins[i]));
    return json_pack("{s:f, s:f, s:f, s:o, s:o}", "min", spread->least, "max", spread->most,
                     "median", spread->median, "sd", real_or_null(spread->sd), "histogram", bins);
}

const struct type spread_shape = TYPE_OF({
    SHOWN("min", REAL),
    SHOWN("max", REAL),
    SHOWN("median", REAL, .help = "of all samples after the warmup, whatever trial they are of"),
    OR_NULL("sd", REAL, .help = "standard deviation of the samples; null of one"),
    SHOWN("histogram", LIST, .of = &type_of_integer,
          .help = "samples in each of so many parts of equal width from min to max"),
});
