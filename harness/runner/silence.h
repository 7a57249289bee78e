/*
 * silence - how long a process has said nothing, without the time in which it could not run.
 *
 * On a machine with more work than processors a thread waits in a queue for most of the time, and
 * with barriers all threads wait for the last. That is no sign of a fault, so it does not count, up
 * to SILENCE_QUEUED_MOST times the limit: a process that computes without end is found there, too.
 */
#ifndef ASSAY_RUNNER_SILENCE_H
#define ASSAY_RUNNER_SILENCE_H

#include <stdbool.h>
#include <stdint.h>

#define SILENCE_QUEUED_MOST 9

struct silence {
    int64_t since_ns;  /* CLOCK_MONOTONIC: when it was heard last */
    int64_t looked_ns; /* when its queues were looked at last */
    int64_t queued_ns; /* what they gave then; -1: not known */
    int64_t waited_ns; /* of the silence, how long a thread of it was in a queue */
};

/*
 * Whether the queues are to be looked at: not in the first tenth of the limit, so that a worker
 * which measures is not read meanwhile.
 */
bool silence_is_long(const struct silence *silence, int64_t now_ns, int64_t limit_ns);

/* It said something at this moment. */
void silence_broken(struct silence *silence, int64_t now_ns);

/*
 * Takes what waits_queued_ns (core/waits.h) gives at this moment (-1: not looked at), and returns
 * how much of the silence counts against this limit. Between two calls at most the time between
 * them is taken off.
 */
int64_t silence_counted(struct silence *silence, int64_t now_ns, int64_t queued_ns,
                        int64_t limit_ns);

#endif
