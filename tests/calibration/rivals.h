/*
 * rivals - the decision rules of other tools, re-implemented here for comparison.
 *
 * They are our reading of published rules, run on the same series as the engine; they are not those
 * tools, and whatever else those tools do (warmup, more samples, plots) is left out.
 */
#ifndef ASSAY_TESTS_CALIBRATION_RIVALS_H
#define ASSAY_TESTS_CALIBRATION_RIVALS_H

#include <stdbool.h>
#include <stddef.h>

#include "harness/core/random.h"

/*
 * NVBench's "stdrel" stopping rule (nvbench/detail/stdrel_criterion.cxx): after 0.5 s of measured
 * time, stop when stdev / mean < 0.5 %, or when that noise has settled (512 last values vary by
 * less than 5 %; looked at every 16 samples). Returns how many of the `count` samples (in seconds)
 * it takes.
 */
size_t rival_stdrel_stop(const double *seconds, size_t count);

/* Mean and half-width by t on n - 1 as for independent samples: what stdev / mean is used for. */
void rival_naive_interval(const double *x, size_t count, double *ret_mean, double *ret_half);

/* scripts/nvbench_compare.py: different when |relative difference| > the smaller of both noises. */
bool rival_nvbench_differs(const double *a, const double *b, size_t count);

/*
 * criterion.rs, analysis with its defaults (book/src/analysis.md): a bootstrapped t test at 0.05
 * and a bootstrapped 95 % interval of the relative change of the mean that must lie beyond the
 * noise threshold of 1 %. 500 resamples (criterion takes 100 000).
 */
bool rival_criterion_differs(const double *a, const double *b, size_t count, struct random *random);

/*
 * pyperf compare_to (pyperf/_utils.py): Student's t with pooled variance at 95 % on all values of
 * all processes as if they were independent.
 */
bool rival_pyperf_differs(const double *a, const double *b, size_t count);

/*
 * MLPerf LoadGen's early-stopping estimate (loadgen/early_stopping.cc): the t-th largest of n, t
 * the most for which P(Bin(n, 1 - p) <= t) <= 0.01. Meant to be above the p-quantile with 99 %.
 * `sorted` ascending; false when n is too small.
 */
bool rival_mlperf_estimate(const double *sorted, size_t count, double p, double *ret);

/*
 * Apache Otava (formerly Hunter): E-divisive splits (Matteson and James, JASA 109 (2014)) kept
 * while a two-sample t test gives p < 0.001. Without its windows. Number of change points in
 * `count` <= 400 samples; the first split's place.
 */
size_t rival_otava_changes(const double *x, size_t count, size_t *ret_place);

#endif
