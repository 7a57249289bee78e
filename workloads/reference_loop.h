/*
 * reference_loop - work that never changes (kernels/reference.h), run on the device between
 * samples. Its time shows how much of the machine this process had at that time.
 */
#ifndef ASSAY_WORKLOADS_REFERENCE_LOOP_H
#define ASSAY_WORKLOADS_REFERENCE_LOOP_H

#include "backends/backend.h"
#include "harness/core/status.h"
#include "workloads/workload.h"

struct reference_loop;

/*
 * Of the kind that suits the work: memory where no operations are counted, else arithmetic. OK with
 * NULL in `ret`: not applicable, since the device is no processor and shares none with others.
 */
enum status reference_loop_create(struct device *device, const struct workload_cost *cost,
                                  struct reference_loop **ret, struct error *err);
void reference_loop_destroy(struct reference_loop *loop); /* takes NULL */

/* One pass, some milliseconds of an idle processor; blocks. */
enum status reference_loop_run(struct reference_loop *loop, struct error *err);

/* "memory" or "arithmetic". */
const char *reference_loop_name(const struct reference_loop *loop);

#endif
