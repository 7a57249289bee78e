/*
 * operations - the vendor library's operations of one workload, whatever their kind: prepared once,
 * with the algorithm that the choices name, else the fastest of the library's list by measurement,
 * and run many times. operations_seal ends the preparing: what is timed never waits for a library's
 * search.
 */
#ifndef ASSAY_WORKLOADS_OPS_OPERATIONS_H
#define ASSAY_WORKLOADS_OPS_OPERATIONS_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "backends/backend.h"
#include "workloads/workload.h"

struct prepared_operation {
    struct operation *operation;
    bool tuned;     /* it has run, and has its algorithm */
    uint32_t tried; /* algorithms measured, here or where the choices come from */
};

struct operations {
    struct device *device;
    json_t *given; /* the choices' {"stack", "algorithms"}; NULL: none */
    bool is_given; /* there are choices: nothing is measured here */
    bool emulate, sealed;
    struct prepared_operation *items;
    size_t count;
    json_t *candidates; /* gets {"family", "gemm", "algorithm", "ns" or "refused"} */
};

/*
 * Of the case count emulate and choices, of these the part `section`. What is measured is added to
 * `candidates`, an array, of which a reference is kept.
 */
enum status operations_create(struct device *device, const struct workload_case *work,
                              const char *section, json_t *candidates, struct operations **ret,
                              struct error *err);
void operations_destroy(struct operations *operations); /* takes NULL */
/* From now on operations_add is INTERNAL. */
void operations_seal(struct operations *operations);

/*
 * Prepares one more, which becomes the last of `items`. UNSUPPORTED: as operation_create, or the
 * library only emulates it and `emulate` is not set.
 */
enum status operations_add(struct operations *operations, const struct operation_desc *desc,
                           struct error *err);
/*
 * Enqueues. The first run of each selects its algorithm, by the choices or by measurement on these
 * operands, whose outputs have no meaning before that; with fewer than two, or choices without this
 * one, the library's first stays. UNSUPPORTED: the library does not offer the one chosen. INVALID:
 * choices that no measurement made.
 */
enum status operations_run(struct operations *operations, size_t index,
                           const union operands *operands, struct error *err);

/*
 * {"stack", "algorithms": {KEY: {"algorithm", "tried"}}} of those that have run; NULL: the library
 * lists no algorithms for any. New object.
 */
json_t *operations_choices(const struct operations *operations);

#endif
