/*
 * analysis - estimates derived from what is stored, and nothing else.
 *
 * The one place that turns stored samples into an estimate; `run` calls it when a cell is done and
 * `verify` calls it years later, so both get the same bytes.
 */
#ifndef ASSAY_RESULTS_ANALYSIS_H
#define ASSAY_RESULTS_ANALYSIS_H

#include <jansson.h>

#include "results/store.h"

/*
 * Estimate of a cell from the last attempt of each planned trial, where that ended "ok". Times are
 * per iteration: wall_ns samples are analysed as they were taken (blocks of iterations_per_sample,
 * brought to one length where the trials' blocks differ) and every time in the result is divided by
 * the block's iterations afterwards, so that nothing is lost to whole nanoseconds. Steady state may
 * begin at the trial's window; options come from the stored protocol. The object is
 * estimate_to_json's, with these added:
 *
 *     "trial_mean_ns"          of each trial, null where it drifts or never settles; of both states
 *                              together under two_state
 *     "trial_median_ns"        medians of the steady parts, only where the protocol says
 *                              analysis.compare_by: median; null under two_state, too
 *     "trial_ids"              row ids of the trials used, in the order of "steady_from"
 *     "iterations_per_sample"  of the blocks analysed
 *     "iteration_ns"           {value, lo, hi}: "mean_ns" under the name that rates are made from
 *     "items_per_s", "bytes_per_s", "flops_per_s"
 *                              {value, lo, hi}: work / time, the bounds exchanged; only those that
 *                              the cell counts
 *     "energy" and more        window_telemetry.h: from the telemetry beside the trials, where
 * there is some
 *
 * NOT_FOUND when no trial is ok; CORRUPT when stored samples are damaged. The same rows give the
 * same bytes.
 */
enum status analysis_estimate_cell(struct store *store, int64_t cell, json_t **ret,
                                   struct error *err);

/* The same as it was when trial row `last_trial` was the newest. */
enum status analysis_estimate_until(struct store *store, int64_t cell, int64_t last_trial,
                                    json_t **ret, struct error *err);

#endif
