/*
 * conduct - whether a trial was measured as its protocol says: how long, how often, checked when,
 * and by which clock. The harness asks it of each trial that says it is ok, `verify` of each that
 * is stored.
 */
#ifndef ASSAY_PROTOCOLS_CONDUCT_H
#define ASSAY_PROTOCOLS_CONDUCT_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/core/status.h"
#include "protocols/protocol.h"

/* A stretch of samples. Times are nanoseconds. */
struct conduct_part {
    int64_t samples;
    int64_t wall_ns;          /* sum of the samples */
    int64_t gap_ns;           /* sum of the gaps between them, without the one before the first */
    int64_t begin_ns, end_ns; /* the worker's phase, since the trial's start; -1: it sent none */
};

/* What is known of a trial. */
struct conduct {
    struct conduct_part warmup, window;
    int64_t iterations_per_sample;
    bool checked_before, checked_after, checked_within; /* a check of that phase was stored */
    int64_t spot_checks;                                /* made and answered */
    int64_t spot_checks_ns; /* what they took together, as the worker says; part of the gaps */
    /* By the harness's clock since the trial's start: when it let the window begin, and when it
     * was told of its end. */
    int64_t go_ns, told_ns;
    /* The same time by the kernel's own clock (clock_kernel_ns); -1: there is none. */
    int64_t kernel_ns;
};

/* The part of the worker's phase `name`; NULL: it is of neither. */
struct conduct_part *conduct_part_of(struct conduct *conduct, const char *name);

/* Notes a check of the phase; false: no check is of such a phase. */
bool conduct_note_check(struct conduct *conduct, const char *phase);

/*
 * INVALID: it breaks the clause that begins the message ("window.min_samples: 25 samples ..."), or
 * its clocks contradict each other ("clock.window: ...").
 */
enum status conduct_judge(const struct protocol *protocol, const struct conduct *conduct,
                          struct error *err);

#endif
