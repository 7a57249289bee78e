/* cgroup - the limits that a container or service manager puts on this process. */
#ifndef ASSAY_CORE_CGROUP_H
#define ASSAY_CORE_CGROUP_H

#include <stdint.h>

#include "harness/core/reading.h"

/* Limits, which stand still: cpu.max, memory.max, cpuset, for version 2 and, where it is, 1. */
void cgroup_read_limits(struct reading_list *list);

/* What moves: memory in use, throttled periods. */
void cgroup_read_usage(struct reading_list *list);

/* Times that the kernel killed a process of this group for memory; -1 when nothing tells. */
int64_t cgroup_oom_kills(void);

#endif
