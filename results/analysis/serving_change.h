/*
 * serving_change - what stored servers carry, and whether attainment or capacity changed between
 * two of them (protocols/serving/change.h).
 */
#ifndef ASSAY_RESULTS_ANALYSIS_SERVING_CHANGE_H
#define ASSAY_RESULTS_ANALYSIS_SERVING_CHANGE_H

#include <jansson.h>

#include "protocols/serving/analysis.h"
#include "protocols/serving/change.h"
#include "results/store/store.h"

/*
 * The capacity of the server that `record` (store_cell_json) is a rate of, over all of its
 * campaign's results at other rates. `ret_first`: row of its first cell, which tells servers of a
 * campaign apart. INVALID: it is of no server, or has no estimate yet.
 */
enum status serving_capacity_of(struct store *store, const json_t *record,
                                struct capacity_result *ret, int64_t *ret_first, struct error *err);

/*
 * The change of the options' figure from the first of `cells` (rows) to the second, of attainment
 * over the `count` pairs of the two where there are two or more. `ret_servers`:
 * of a capacity both as above, else unchanged. INVALID says why there is none: no server, or an
 * interval that was not given. An attainment whose backlog grows counts as 0: that is where it
 * tends to, however short the window was; then nothing is judged by pairs.
 */
enum status serving_change_of(struct store *store, const int64_t cells[2],
                              const struct served_pair *pairs, size_t count,
                              const struct compare_options *options, struct served_change *ret,
                              int64_t ret_servers[2], struct error *err);

#endif
