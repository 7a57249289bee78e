/* plan_internal - the steps by which a plan is laid out, which plan.c and plan_from_record.c share;
 * those that find its cells are in plan_cells.c. */
#ifndef ASSAY_RUNNER_PLAN_INTERNAL_H
#define ASSAY_RUNNER_PLAN_INTERNAL_H

#include "harness/runner/plan.h"

/*
 * What stands for the device in a cell of an endpoint, new: backend PLAN_ENDPOINT, whose only
 * number is 0, named by the declared URL. NULL: no memory.
 */
json_t *plan_endpoint_device(const struct workload *workload);

/* Takes a heap workload, also on failure. */
enum status plan_take_workload(struct plan *plan, struct workload *workload, struct error *err);

/*
 * `device` is one of probe_select's objects. The portable implementation, the workload's scenario.
 * `spec`: of an arm, NULL: it is none. `worker`: NULL: assay's own.
 */
enum status plan_add_cell(struct plan *plan, const struct workload *workload,
                          enum precision precision, int64_t batch, const json_t *device,
                          const struct arm_spec *spec, const struct named_worker *worker,
                          struct error *err);

/* True: all that is named are endpoints, so nobody need look for devices. */
bool plan_needs_no_device(const struct plan_request *request);

/*
 * The cells of all workloads and suites that are named, on all devices that are asked for. `probe`:
 * NULL where none is needed.
 */
enum status plan_add_cells(struct plan *plan, const struct plan_request *request,
                           const json_t *probe, struct error *err);

/* Order and JSON; hands the plan over and leaves none. After a failure it is to be finished. */
enum status plan_seal(struct plan *plan, const struct plan_request *request, struct plan *ret,
                      struct error *err);

#endif
