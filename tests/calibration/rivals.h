/*
 * rivals - the decision rules of other tools, re-implemented here for comparison.
 *
 * They are our reading of the sources named below, run on the same series as the engine; they are
 * not those tools, and whatever else those tools do (warmup, more samples, plots) is left out.
 * Where the tool itself is available, rivals_real.py runs both and compares the decisions.
 */
#ifndef ASSAY_TESTS_CALIBRATION_RIVALS_H
#define ASSAY_TESTS_CALIBRATION_RIVALS_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/core/random.h"

/*
 * NVBench's "stdrel" stopping rule with its defaults (NVIDIA/nvbench at 66212f1, August 2026:
 * nvbench/detail/stdrel_criterion.cxx, statistics.cuh, benchmark_base.cuh). From 10 samples and
 * 0.5 s of measured time on, stop when noise = stdev / mean < 0.5 %, or when the noise has settled:
 * at every 16th sample, the last 512 noises (more than 64; the first is that of 5 samples) spread
 * by less than 5 % of their mean. Returns how many of the `count` samples (in seconds) it takes.
 * Until May 2026 (7ba2b79) the spread was taken about the latest noise instead of the mean.
 */
size_t rival_stdrel_stop(const double *seconds, size_t count);

/* Mean and half-width by t on n - 1 as for independent samples: what stdev / mean is used for. */
void rival_naive_interval(const double *x, size_t count, double *ret_mean, double *ret_half);

/*
 * nvbench-compare-legacy (66212f1, python/scripts/nvbench_compare.py): different when
 * |relative difference of the means| > the smaller of both noises. The newer
 * nvbench-compare-robust compares intervals by far more rules and is not re-implemented.
 */
bool rival_nvbench_differs(const double *a, const double *b, size_t count);

/*
 * criterion.rs 0.7.0 with its defaults (bheisler/criterion.rs, src/analysis/compare.rs,
 * src/report.rs, src/stats): Welch's t against its bootstrap from one pool, p < 0.05, and a
 * bootstrapped 95 % interval of the relative change of the mean (317 times the new sample, each
 * against several of the old) beyond the noise threshold of 1 %. 1000 resamples for t and 4 of the
 * old sample for each new (criterion takes 100 000 and 316).
 */
bool rival_criterion_differs(const double *base, const double *changed, size_t count,
                             struct random *random);

/*
 * pyperf 2.10.0 compare_to (psf/pyperf, pyperf/_utils.py is_significant): Student's t with pooled
 * variance at 95 % on all values of all processes as if they were independent; critical values from
 * its table, which goes in steps from 40 degrees of freedom on.
 */
bool rival_pyperf_differs(const double *a, const double *b, size_t count);

/*
 * MLPerf LoadGen's early-stopping estimate for a single stream (mlcommons/inference,
 * LoadGen 4.1.28: loadgen/early_stopping.cc at 51a4a7e, PerformanceSummary::EarlyStopping in
 * results.cc at 05a9cec): the t-th largest of n, t the most for which P(Bin(n, 1 - p) <= t) < 0.01.
 * Meant to be above the p-quantile with 99 %. `sorted` ascending; false when n is too small.
 */
bool rival_mlperf_estimate(const double *sorted, size_t count, double p, double *ret);

/*
 * Apache Otava 0.8.0 (formerly Hunter) with its defaults (apache/otava, otava/analysis.py
 * compute_change_points, otava/change_point_divisive): in windows of 50 that overlap by half,
 * divisive splits at the largest energy statistic (Matteson and James, JASA 109 (2014)) while a
 * t test gives p <= 0.01; of all these, the weakest is removed until all have p < 0.001. Number
 * of change points; their places (each the first sample after the change) in `ret_places`, room for
 * `count`, or NULL.
 */
size_t rival_otava_changes(const double *x, size_t count, size_t *ret_places);

#endif
