/* recompute - a stored comparison, recomputed from the stored samples. */
#ifndef ASSAY_RESULTS_ANALYSIS_RECOMPUTE_H
#define ASSAY_RESULTS_ANALYSIS_RECOMPUTE_H

#include <jansson.h>

#include "harness/core/status.h"
#include "results/store/store.h"

/*
 * The object that would be stored today instead of `body`, a stored comparison of this kind. The
 * results, campaigns, sessions and margin are those that `body` names; what only the machine could
 * report at the time (a calibration's clock) is taken from it. New object in `ret`. CORRUPT where
 * it names none; UNSUPPORTED, NOT_FOUND and others as the functions that make such comparisons.
 */
enum status recompute_comparison(struct store *store, const char *kind, const json_t *body,
                                 json_t **ret, struct error *err);

#endif
