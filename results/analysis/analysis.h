/*
 * analysis - estimates derived from what is stored, and nothing else.
 *
 * The only place that turns stored samples into an estimate. `run` calls it when a cell is done,
 * `verify` later, so both get the same bytes.
 */
#ifndef ASSAY_RESULTS_ANALYSIS_ANALYSIS_H
#define ASSAY_RESULTS_ANALYSIS_ANALYSIS_H

#include <jansson.h>

#include "protocols/estimate.h"
#include "results/store/store.h"

/*
 * Estimate of a cell from the last attempt of each planned trial, where that ended "ok", among the
 * trials up to row `last_trial` (INT64_MAX: all). Times are per iteration: wall_ns samples are
 * analysed as they were taken (blocks of iterations_per_sample, brought to one length where the
 * trials' blocks differ) and every time in the result is divided by the block's iterations
 * afterwards, so that nothing is lost to whole nanoseconds. Steady state may begin at the trial's
 * window; options come from the stored protocol. Rates are work / time, by the cell's own formulas;
 * energy, and findings of what happened in the windows, come from the telemetry
 * (window_telemetry.h).
 *
 * NOT_FOUND when no trial is ok; CORRUPT when stored samples are damaged. The same rows give the
 * same estimate.
 */
enum status analysis_estimate(struct store *store, int64_t cell, int64_t last_trial,
                              struct estimate **ret, struct error *err);

/* The same as estimate_to_json gives it: what is stored. The same rows give the same bytes. */
enum status analysis_estimate_json(struct store *store, int64_t cell, int64_t last_trial,
                                   json_t **ret, struct error *err);

#endif
