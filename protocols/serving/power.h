/*
 * power - how many requests, and how long, a declared load takes for a wanted precision of
 * attainment and of percentiles, before anything is measured. Formulas: plan.h.
 */
#ifndef ASSAY_PROTOCOLS_SERVING_POWER_H
#define ASSAY_PROTOCOLS_SERVING_POWER_H

#include <stdint.h>

#include "harness/core/status.h"
#include "harness/core/type.h"

struct serving_power_options {
    double capacity;  /* requests/s offline; 0: that of the declaration, load.capacity */
    double precision; /* half-width of the 95 % interval of a share, relative to it; 0: 0.5 */
    double margin;    /* that of the capacity at the limits, relative to it; 0: 0.03 */
    int64_t trials;   /* 0: 5 */
};

/*
 * New object in `ret`, of the stored declaration `workload` with rates, as serving_power_type
 * describes it; a figure that is needed is "attainment", "p50" ... or "capacity", and what is
 * wanted is its share's precision. Of "capacity": the share that misses, so well known that the
 * capacity is to `margin` where it lies at this rate (serving_capacity_precision). INVALID: no
 * server, a trace (its length is given), no capacity, or an option out of range.
 */
enum status serving_power(const json_t *workload, const struct serving_power_options *options,
                          json_t **ret, struct error *err);
extern const struct type serving_power_type;

#endif
