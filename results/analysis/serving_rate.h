/* serving_rate - the rate of arrivals of a stored server's cell. */
#ifndef ASSAY_RESULTS_ANALYSIS_SERVING_RATE_H
#define ASSAY_RESULTS_ANALYSIS_SERVING_RATE_H

#include "results/store/store.h"

/*
 * Requests/s of the cell (a row): the one that its scenario names, INFINITY where it is saturated;
 * a share ("server@0.5x") of the capacity that the campaign's saturated cell of the same work had
 * in its first trial that was ok (saturation_rate), which is then in `ret_capacity`, else 0.
 * NOT_FOUND: it is of no server. UNAVAILABLE: there is no such trial, or it shows no rate.
 */
enum status serving_rate_find(struct store *store, int64_t cell, double *ret, double *ret_capacity,
                              struct error *err);

#endif
