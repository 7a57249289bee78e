/*
 * expected - how long trials will take, said before the first one runs.
 *
 * What the protocol fixes is the least: warmup, window, pause. What starting, compiling, checking
 * and slow samples add is known only of cells whose trials are stored: the median of the newest of
 * them.
 */
#ifndef ASSAY_RUNNER_EXPECTED_H
#define ASSAY_RUNNER_EXPECTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "harness/core/status.h"
#include "harness/core/text.h"
#include "results/store.h"

/* One trial of a cell, the pause behind it included. */
struct expected_trial {
    int64_t ns; /* as stored ones took, else the least */
    int64_t least_ns;
    int64_t window_max_ns; /* a window of slow samples may last so long */
    bool known;            /* from stored ones */
};

struct expected {
    size_t cells, trials, known; /* known: cells of which trials are stored */
    int64_t ns, least_ns;        /* of all trials */
    int64_t window_max_ns;       /* the longest; 0: no cell whose trials are not stored */
};

/*
 * Of the cell of `message`, the body of the worker's "trial" message. `store` NULL: nothing is
 * stored. Errors as protocol_from_json and store_trial_durations.
 */
enum status expected_trial_of(struct store *store, const json_t *message,
                              struct expected_trial *ret, struct error *err);

/* One more cell with so many trials; what is to be run of it may be nothing. */
void expected_add(struct expected *expected, const struct expected_trial *trial, size_t trials);

/* What comes before the first trial and has its own length. */
void expected_add_before(struct expected *expected, int64_t ns);

/* "3 cells, 30 trials: at least 7 min, ..." without a newline. */
void expected_append(struct text *out, const struct expected *expected);

/* New object {"cells", "trials", "cells_known", "least_ns", "expected_ns": null where not all are}.
 */
json_t *expected_json(const struct expected *expected);

#endif
