/*
 * hampel - single samples that jump away from their neighbours, clipped for detection only.
 *
 * Hampel's identifier in a moving window (Davies and Gather, "The Identification of Multiple
 * Outliers", JASA 88 (1993); Pearson, "Outliers in process modeling", IEEE TCST 10 (2002)). The
 * samples themselves are never changed: only the copy that change points are sought in.
 */
#ifndef ASSAY_PROTOCOLS_STATS_HAMPEL_H
#define ASSAY_PROTOCOLS_STATS_HAMPEL_H

#include <stddef.h>

#include "harness/core/status.h"

#define HAMPEL_REACH 3       /* neighbours on each side */
#define HAMPEL_THRESHOLD 5.0 /* in robust standard deviations */

/*
 * Copies x to `ret`; a value further from the median of its window of 7 than 5 times the scale
 * becomes that median (at the ends, of the first or last 7). The scale is the series' median
 * absolute deviation from the moving median, times 1.4826: one for all, since a window's own would
 * keep the large values of heavy tails wherever two or three of them meet. Nothing within `least`
 * of its median is clipped (a few ticks of the clock, say). What a tenth of the values or more do
 * is no impulse: to clip it would leave the level that each window has most of, and so make steps
 * of independent draws from two levels. Where more than a tenth lie so far off, the scale is the
 * 90 % quantile of the deviations, times 0.608. `ret_clipped` counts. NO_MEMORY.
 */
enum status hampel_clip(const double *x, size_t count, double least, double *ret,
                        size_t *ret_clipped, struct error *err);

#endif
