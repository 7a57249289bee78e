/* host - what the host machine reports of itself, as readings. */
#ifndef ASSAY_RUNNER_HOST_H
#define ASSAY_RUNNER_HOST_H

#include "harness/core/reading.h"

/* What does not change from trial to trial: CPU, memory, kernel, governor, hypervisor ... */
void host_read_fixed(struct reading_list *list);

/* What changes: load, free memory, clocks, steal time, pressure, temperature. */
void host_read_moving(struct reading_list *list);

#endif
