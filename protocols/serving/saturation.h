/*
 * saturation - the rate that a server does when it is never idle, from a trial in which all
 * requests come at once, and the rates that are declared as shares of it.
 */
#ifndef ASSAY_PROTOCOLS_SERVING_SATURATION_H
#define ASSAY_PROTOCOLS_SERVING_SATURATION_H

#include <stddef.h>

#include "protocols/serving/request.h"

/* The scenario of such a cell, whose rate serving_rate_of gives as INFINITY. */
#define SERVING_SATURATED "server@saturated"

/*
 * Requests/s: those admitted after the first quarter of them, up to the last, divided by the time
 * between; places become free as requests end. The quarter leaves out how the batch fills at first,
 * and the end, when it empties, is left out as well. NaN: fewer than two admissions at different
 * times after the first quarter (more requests than two batches are needed), or no admission is
 * known (an endpoint).
 */
double saturation_rate(const struct request *requests, size_t count);

/* `share` of `capacity` in requests/s, to six digits, as rates of a declaration are. */
double saturation_share(double share, double capacity);

#endif
