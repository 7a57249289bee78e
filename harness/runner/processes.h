/*
 * processes - which processes use the processors: two snapshots of /proc and the difference.
 */
#ifndef ASSAY_RUNNER_PROCESSES_H
#define ASSAY_RUNNER_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "harness/core/status.h"

#define PROCESSES_NAME_SIZE 48 /* "firefox (1234)", made printable */

struct process_use {
    pid_t pid, parent;
    int64_t started_ticks; /* since the boot: with the pid, identifies one process uniquely */
    int64_t cpu_ms;
    char name[PROCESSES_NAME_SIZE];
};

struct processes {
    struct process_use *items; /* heap */
    size_t count;
    int64_t at_ns;                      /* CLOCK_MONOTONIC */
    int64_t busy_ms, steal_ms, idle_ms; /* of all processors, since the boot; -1: not known */
};

/*
 * The totals of a first snapshot are read before the processes, those of a `second` one after them:
 * what processes used between the two cannot be more than all together. NO_MEMORY; UNAVAILABLE
 * without /proc.
 */
enum status processes_look(bool second, struct processes *ret, struct error *err);
void processes_finish(struct processes *processes);
/* NULL: it is not among them. */
const struct process_use *processes_find(const struct processes *processes, pid_t pid);
/* Whether one of them is the process `of`, or was started by it or by what it started. */
bool processes_descends(const struct processes *processes, const struct process_use *use, pid_t of);

/*
 * What each process used between the snapshots, most first; `own` and what it started are left out.
 * A process that began in between counts whole. Heap, `*ret_count` of them; NULL when there is none
 * or no memory.
 */
struct process_use *processes_between(const struct processes *before, const struct processes *after,
                                      pid_t own, size_t *ret_count);

#endif
