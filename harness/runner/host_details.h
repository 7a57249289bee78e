/* host_details - properties of the host that affect clocks, placement, memory, time and drivers. */
#ifndef ASSAY_RUNNER_HOST_DETAILS_H
#define ASSAY_RUNNER_HOST_DETAILS_H

#include "harness/core/reading.h"

/* The first line of a file of the machine that is read; `reason`: why it may be missing. */
void host_add_line(struct reading_list *list, const char *name, const char *path,
                   const char *reason);

/* What does not change; names "host.*". Every one is there, with a value or with the reason. */
void host_read_details(struct reading_list *list);

/* How far the clock of the day can be trusted now; names "host.time.*". */
void host_read_time(struct reading_list *list);

#endif
