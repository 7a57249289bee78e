/*
 * pelt - the changes of level in a series, by exact penalised least squares.
 *
 * PELT: Killick, Fearnhead, Eckley, "Optimal Detection of Changepoints With a Linear Computational
 * Cost", JASA 107 (2012).
 */
#ifndef ASSAY_PROTOCOLS_STATS_PELT_H
#define ASSAY_PROTOCOLS_STATS_PELT_H

#include <stddef.h>

#include "harness/core/status.h"

/*
 * Finds the segmentation of the `count` innovations w with the least
 *     sum over segments of (squares about the segment's mean, its first `skip` values left out)
 *     / sigma2 + (skip + penalty) per change.
 * The first `skip` values after a change mix both levels when w was whitened by an AR(skip), so
 * they say nothing; counting them at their expectation keeps segments comparable. Segments are at
 * least `least` > skip long and start at multiples of `stride` >= 1. `ret_changes` (room for count
 * values) takes the starts of the second, third,
 * ... segment. NO_MEMORY.
 */
enum status pelt_find(const double *w, size_t count, size_t skip, double sigma2, double penalty,
                      size_t least, size_t stride, size_t *ret_changes, size_t *ret_change_count,
                      struct error *err);

#endif
