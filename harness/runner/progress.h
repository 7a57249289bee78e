/*
 * progress - how far a long action is: a bar that redraws itself on a terminal, lines elsewhere.
 * Everything goes to stderr, so that standard output has the result only.
 */
#ifndef ASSAY_RUNNER_PROGRESS_H
#define ASSAY_RUNNER_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct progress {
    size_t total, done;
    int64_t started_ns, drawn_ns;
    int64_t left_ns, since_ns; /* from then on it takes so long; 0: nothing is expected */
    bool terminal, quiet, drawn;
    char label[256];
};

/* `quiet` shows nothing at all. */
void progress_init(struct progress *progress, size_t total, bool quiet);

/*
 * What is not done yet is expected to take so long; set before the first item and after each,
 * before progress_advance.
 */
void progress_expect(struct progress *progress, int64_t left_ns);

/* What is being done now; redraws at most ten times a second unless the label is new. */
void progress_set(struct progress *progress, const char *label);

/* Redraws the time that has passed; for waiting loops. */
void progress_tick(struct progress *progress);

/* One more item is done. `note` is kept as a line of its own when not NULL (a failure, say). */
void progress_advance(struct progress *progress, const char *note);

/* Clears the bar. */
void progress_finish(struct progress *progress);

#endif
