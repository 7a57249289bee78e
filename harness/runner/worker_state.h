/*
 * worker_state - what the kernel says of a worker from outside, while it waits at both ends of its
 * window: which control group, processors and priority its threads have, what they used, and
 * whether it was stopped. Nothing of it asks the worker.
 */
#ifndef ASSAY_RUNNER_WORKER_STATE_H
#define ASSAY_RUNNER_WORKER_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "protocols/conduct.h"

struct worker_thread; /* a thread, which processors it may use, and how it is scheduled */

/* At one moment. Zeros: not looked yet. */
struct worker_state {
    struct worker_thread *threads; /* heap */
    size_t count;                  /* 0: they cannot be read */
    int64_t cpu_ns, queued_ns;     /* of all threads, since the worker's start; -1: not known */
    int64_t moved;                 /* whether its control group is another than ours; likewise */
};

void worker_state_finish(struct worker_state *state);

/*
 * Looks at it. Stops before this moment no longer count for worker_state_seen, which they would
 * else.
 */
void worker_state_look(pid_t pid, struct worker_state *ret);

/*
 * Fills in what became of it between the two moments, the second of which is now: `stopped`,
 * `moved`, `threads`, `cpu_ns`, `queued_ns`, and `steered` where it is 0, as worker_state_steered
 * found it. `takes_all`: its threads together are to have all processors that there are for them.
 */
void worker_state_seen(const struct worker_state *before, pid_t pid, bool takes_all,
                       struct conduct_seen *seen);

/* Whether its first thread has other processors or another priority than this one; -1: unknown. */
int64_t worker_state_steered(pid_t pid);

/*
 * How many undeclared things a worker has when it says hello: mapped files that neither the
 * program nor a library which it needs (core/elf.h) needs, executable memory without a file, and
 * threads besides the first; and whether the worker or this process has preloads in the environment
 * that it was started with; of another program than assay's own (`own`) only whether its
 * environment has preloads that it was not given. -1: not known, or preloads are declared: it was
 * given some (`given`), or the loader has a list of them (in `root`, NULL: the same).
 */
int64_t worker_state_hidden(pid_t pid, bool own, bool given, const char *root);

#endif
