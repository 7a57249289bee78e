#include "protocols/serving/saturation.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "protocols/stats/order.h"

double saturation_rate(const struct request *requests, size_t count)
{
    int64_t *times = malloc((count + 1) * sizeof(*times)), first, last;
    size_t admitted = 0, after = 0;

    for (size_t i = 0; times && i < count; i++)
        if (requests[i].admitted_ns != REQUEST_NEVER)
            times[admitted++] = requests[i].admitted_ns;
    if (admitted < 2) {
        free(times);
        return NAN;
    }
    order_sort(times, admitted);
    first = times[admitted / 4];
    last = times[admitted - 1];
    for (size_t i = 0; i < admitted; i++)
        after += times[i] > first;
    free(times);
    return last > first ? (double)after * 1e9 / (double)(last - first) : NAN;
}

double saturation_share(double share, double capacity)
{
    char text[32];

    snprintf(text, sizeof(text), "%.6g", share * capacity);
    return strtod(text, NULL);
}
