/*
 * cgroup - the limits that a container or service manager puts on this process, in version 2 of the
 * hierarchy and, where a controller is still there, in version 1 (admin-guide/cgroup-v2 and
 * cgroup-v1 of the kernel).
 */
#ifndef ASSAY_CORE_CGROUP_H
#define ASSAY_CORE_CGROUP_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "harness/core/reading.h"

/* Path of "cpu.stat" of the group whose processor quota binds: this one, or one above with less. */
bool cgroup_find_throttling(char ret[PATH_MAX]);

/*
 * Fixed limits: processors, memory, sets. Limits of the groups above apply, too: of each the
 * tightest is reported, and where it is set.
 */
void cgroup_read_limits(struct reading_list *list);

/* Changing values: memory in use, throttled periods. */
void cgroup_read_usage(struct reading_list *list);

/* Times that the kernel killed a process of this group for memory; -1 when unknown. */
int64_t cgroup_oom_kills(void);

#endif
