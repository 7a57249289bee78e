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
 * Estimate of a cell from the last attempt of each planned trial that ended "ok": samples are wall_ns divided by
 * iterations_per_sample, options come from the stored protocol. NOT_FOUND when no trial is ok. The object is
 * estimate_to_json's, with "trials" (row ids used), "iteration_ns" and the rates "items_per_s",
 * "bytes_per_s", "flops_per_s" ({value, lo, hi}; only those the cell counts; work / time, with the
 * bounds exchanged) added.
 */
enum status analysis_estimate_cell(struct store *store, int64_t cell, json_t **ret,
                                   struct error *err);

#endif
