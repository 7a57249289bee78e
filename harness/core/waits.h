/*
 * waits - how long the kernel says that work had to wait for a processor. What a process was kept
 * from doing in that time is no sign of anything.
 */
#ifndef ASSAY_CORE_WAITS_H
#define ASSAY_CORE_WAITS_H

#include <stdint.h>
#include <sys/types.h>

/*
 * How long the threads of a process have waited for a processor so far, in sum, in ns (the second
 * number of /proc/PID/task/TID/schedstat; Linux, Documentation/scheduler/sched-stats.rst); a thread
 * that has ended takes its part with it. -1: not known.
 */
int64_t waits_queued_ns(pid_t pid);

/* A stretch of this process. */
struct waits_span {
    int64_t begin_ns;          /* CLOCK_MONOTONIC */
    int64_t queued_ns, cpu_ns; /* until then: of waits_queued_ns, and of its processor time */
};

struct waits_span waits_span_begin(void);
/*
 * How long it took, in ns, without the time in which its threads waited for a processor; at least
 * what it computed, since threads that wait side by side all count as long as they wait.
 */
int64_t waits_span_end_ns(const struct waits_span *span);

#endif
