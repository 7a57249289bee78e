/*
 * ceiling - a rate above what the same campaign measured the device to do at most.
 *
 * The roofline model (Williams, Waterman, Patterson, CACM 52(4), 2009) bounds the rate of a program
 * by the bandwidth and the arithmetic rate that simple kernels reach. Here those are the streams
 * (copy, scale, add, triad, dot) and the GEMMs of the same campaign, device, arm and precision:
 * of a stream that touches no more memory than the cell itself, so that caches can only help it,
 * and of a GEMM of the same implementation that has no less work, or lasts long enough for its
 * launch not to count. The fastest sample counts. A cell is above when its mean rate is more than
 * CEILING_FACTOR times that.
 */
#ifndef ASSAY_RESULTS_ANALYSIS_CEILING_H
#define ASSAY_RESULTS_ANALYSIS_CEILING_H

#include <stdint.h>

#include "harness/core/status.h"
#include "protocols/estimate.h"
#include "results/store/store.h"

/*
 * Counted bytes leave out what a processor reads in order to write (a copy moves 3 words for 2
 * counted, a dot product 2 for 2), so that honest streams differ by up to 1.5; the rest is for
 * noise between trials.
 */
#define CEILING_FACTOR 2.0

/*
 * Adds FINDING_ABOVE_CEILING for each of the cell's rates that is above. Trials up to `last_trial`
 * count; nothing is added where no other cell gives a bound.
 */
enum status ceiling_add(struct store *store, int64_t cell, int64_t last_trial,
                        struct estimate *estimate, struct error *err);

#endif
