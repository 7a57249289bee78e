/* spread - what all samples of a series look like, whatever their order: ends, middle, histogram.
 */
#ifndef ASSAY_PROTOCOLS_SPREAD_H
#define ASSAY_PROTOCOLS_SPREAD_H

#include <stddef.h>
#include <stdint.h>

#include "harness/core/type.h"

#define SPREAD_BINS 24

struct spread {
    size_t count;
    double least, most, median;
    double sd;                 /* of the sample (n - 1); NAN of one value */
    int64_t bins[SPREAD_BINS]; /* of equal width from `least` to `most`; all in the first where
                                  they are alike */
};

/* Of `count` >= 1 values, which it puts in order. */
void spread_of(double *values, size_t count, struct spread *ret);

/* All numbers but the counts times `by`. */
void spread_scale(struct spread *spread, double by);

/* {"min", "max", "median", "sd", "histogram": [counts]}; new, NULL: no memory. */
json_t *spread_to_json(const struct spread *spread);

/* Its members as JSON. */
extern const struct type spread_shape;

#endif
