/*
 * rounds - when the rounds of a campaign begin that its protocol spreads over time.
 *
 * Trials that follow each other see one hour of the machine. Under a protocol with `spread`, rounds
 * begin at equal intervals, the first at once and the last when that time is over. In a round every
 * cell has one trial, so that arms that are compared still follow each other. A round that is late
 * begins at once, and the later ones at their own times.
 */
#ifndef ASSAY_RUNNER_ROUNDS_H
#define ASSAY_RUNNER_ROUNDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/runner/progress.h"

struct rounds {
    int64_t planned_utc_ns; /* when the campaign was planned */
    int64_t over_ns;        /* from the first round to the last; 0: rounds follow each other */
    size_t cells;           /* trials of a round, > 0 */
    int64_t trials;         /* of the campaign: its last sequence number */
};

/* When the round of a trial begins, whose sequence number (from 1) this is; 0: at once. */
int64_t rounds_due_utc_ns(const struct rounds *rounds, int64_t sequence);

/*
 * Waits `pause_ns` at least, and until the trial's round begins; says so through `progress`. True
 * as soon as `wake_fd` (-1: none) is readable: the user wants to stop.
 */
bool rounds_wait(const struct rounds *rounds, int64_t sequence, int64_t pause_ns, int wake_fd,
                 struct progress *progress);

#endif
