/*
 * expected - how long a campaign will take: said before the first trial, and again after each.
 *
 * Of each cell there is a guess beforehand: the median of stored trials of the same cell, else one
 * made of the protocol's clauses and the workload's cost at nominal speeds. What this campaign's
 * own trials took corrects it: a cell's guess by its own trials, one without any by how far off the
 * guesses of the others were.
 */
#ifndef ASSAY_RUNNER_EXPECTED_H
#define ASSAY_RUNNER_EXPECTED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "harness/core/status.h"
#include "harness/core/text.h"
#include "results/store/store.h"

/* What is done for a cell, and takes its own time. */
enum expected_step {
    EXPECTED_CHOICE, /* sizes are chosen once, where there is anything to choose */
    EXPECTED_FIRST,  /* a trial that compares with the reference */
    EXPECTED_LATER,  /* one that compares with the first */
    EXPECTED_STEPS
};

struct expected_cell {
    bool known;                      /* guessed from stored trials */
    double guess_ns[EXPECTED_STEPS]; /* the pause after a trial is in it; FIRST is LATER where each
                                        trial is compared with the reference */
    size_t left[EXPECTED_STEPS];     /* how often it is still to be done */
    double took_ns[EXPECTED_STEPS];  /* sums of what was done in this campaign */
    size_t took[EXPECTED_STEPS];
    int64_t least_ns; /* of a trial, by the protocol alone */
};

struct expected {
    struct expected_cell *cells; /* heap */
    size_t count;
    int64_t before_ns;         /* before the first trial, as long as it was asked for */
    int64_t last_round_utc_ns; /* when the last round begins at the earliest; 0: at once */
};

/* `count` cells without anything to do. */
enum status expected_init(struct expected *expected, size_t count, struct error *err);
void expected_finish(struct expected *expected);

/*
 * The cell of `message`, the body of the worker's "trial" message, with so many trials to be run;
 * `begun`: some were before, so none of them is the first. `store` NULL: nothing is stored. Errors
 * as protocol_from_json, workload_from_json and store_trial_durations.
 */
enum status expected_set(struct expected *expected, size_t cell, struct store *store,
                         const json_t *message, size_t trials, bool begun, struct error *err);

/* A step is done, and took so long (a trial with its pause). A choice may be none: 0. */
void expected_took(struct expected *expected, size_t cell, enum expected_step step, int64_t ns);
/* Which step the cell's next trial is. */
enum expected_step expected_next(const struct expected *expected, size_t cell);

/* What is still to be done will take so long. */
int64_t expected_left_ns(const struct expected *expected);

/* "3 cells, 30 trials: about 7 min, ..." without a newline; before anything is done. */
void expected_append(struct text *out, const struct expected *expected);

/*
 * New object {"cells", "trials", "cells_known" (from stored trials), "least_ns" (by the protocol
 * alone), "expected_ns"}; before anything is done.
 */
json_t *expected_json(const struct expected *expected);
extern const struct type expected_type; /* core/type.h */

#endif
