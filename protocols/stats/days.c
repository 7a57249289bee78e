#include "protocols/stats/days.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "protocols/stats/order.h"

#define HOUR_NS INT64_C(3600000000000)
#define DAY_NS (24 * HOUR_NS)
#define NIGHT_NS (6 * HOUR_NS)
/* Of the usual gap, that a night is longer than. */
#define NIGHT_TIMES 3

int64_t days_in(int64_t span_ns)
{
    const int64_t days = span_ns / DAY_NS + (span_ns % DAY_NS >= DAY_NS / 2);

    return days > 1 ? days : 1;
}

/* How long a gap is a night, where the times are sorted; `gaps`: room for as many. */
static int64_t night_of(const int64_t *sorted, size_t count, int64_t *gaps)
{
    for (size_t i = 1; i < count; i++)
        gaps[i - 1] = sorted[i] - sorted[i - 1];
    order_sort(gaps, count - 1);
    return gaps[(count - 1) / 2] > NIGHT_NS / NIGHT_TIMES ? NIGHT_TIMES * gaps[(count - 1) / 2]
                                                          : NIGHT_NS;
}

/* How many nights there are up to `time_ns`. */
static size_t nights_until(int64_t time_ns, const int64_t *sorted, size_t count, int64_t night_ns)
{
    size_t nights = 0;

    for (size_t i = 1; i < count && sorted[i] <= time_ns; i++)
        nights += sorted[i] - sorted[i - 1] > night_ns;
    return nights;
}

enum status days_find(const int64_t *times_ns, size_t count, size_t *ret, size_t *ret_days,
                      struct error *err)
{
    AUTO_FREE int64_t *sorted = malloc((2 * count + 1) * sizeof(*sorted));
    int64_t night_ns, span_ns, stretches;

    if (!sorted)
        return error_no_memory(err);
    memset(ret, 0, count * sizeof(*ret));
    *ret_days = 1;
    memcpy(sorted, times_ns, count * sizeof(*sorted));
    order_sort(sorted, count);
    if (count < 2 || sorted[0] <= 0)
        return STATUS_OK;
    night_ns = night_of(sorted, count, sorted + count);
    span_ns = sorted[count - 1] - sorted[0];
    stretches = days_in(span_ns);
    *ret_days = nights_until(sorted[count - 1], sorted, count, night_ns) + 1;
    for (size_t i = 0; *ret_days > 1 && i < count; i++)
        ret[i] = nights_until(times_ns[i], sorted, count, night_ns);
    if (*ret_days > 1 || stretches < 2)
        return STATUS_OK;
    *ret_days = (size_t)stretches;
    for (size_t i = 0; i < count; i++)
        ret[i] =
            (size_t)fmin((double)(times_ns[i] - sorted[0]) * (double)stretches / (double)span_ns,
                         (double)(stretches - 1));
    return STATUS_OK;
}

/* The mean of a day's values; NAN without any. */
static double mean_of_day(size_t day, const size_t *days, const double *values, size_t count)
{
    double sum = 0;
    size_t with = 0;

    for (size_t i = 0; i < count; i++)
        if (days[i] == day && !isnan(values[i])) {
            sum += values[i];
            with++;
        }
    return with > 0 ? sum / (double)with : NAN;
}

size_t days_join(const size_t *days, double *values, size_t count)
{
    double *means = values + count;
    size_t last = 0, units = 0, with = 0;

    for (size_t i = 0; days && i < count; i++)
        last = days[i] > last ? days[i] : last;
    for (size_t day = 0; last > 0 && day <= last && units < count; day++) {
        means[units] = mean_of_day(day, days, values, count);
        units += !isnan(means[units]);
    }
    if (units > 1) {
        memcpy(values, means, units * sizeof(*values));
        return units;
    }
    for (size_t i = 0; i < count; i++)
        if (!isnan(values[i]))
            values[with++] = values[i];
    return with;
}
