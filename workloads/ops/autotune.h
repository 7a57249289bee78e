/*
 * autotune - which of the algorithms that a vendor's library lists for an operation is taken: the
 * one that the choices name, else the fastest by measurement.
 */
#ifndef ASSAY_WORKLOADS_OPS_AUTOTUNE_H
#define ASSAY_WORKLOADS_OPS_AUTOTUNE_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "backends/backend.h"
#include "workloads/workload.h"

/* One operation, prepared, with what it takes to run it. */
struct autotune {
    struct device *device;
    const char *subject; /* "GEMM": for messages */
    const char *key;     /* its shape as text: its name in the choices */
    const json_t *given; /* the choices' {"stack", "algorithms"}; NULL: none */
    bool is_given;       /* there are choices: nothing is measured here */
    json_t *candidates;  /* array; gets {"family", "gemm", "algorithm", "ns" or "refused"} */
    void *operation;     /* the hooks' */
    enum status (*describe)(void *operation, struct gemm_info *ret, struct error *err);
    enum status (*select)(void *operation, uint32_t index, struct error *err);
    enum status (*run)(void *operation, struct error *err); /* enqueues */
    /* Optional: before the first run of a measurement. DEVICE_MEMORY: nothing is measured. */
    enum status (*prepare)(void *operation, struct error *err);
    uint32_t tried; /* out: algorithms measured, here or where the choices come from */
};

/*
 * Selects one of gemm_info.algorithms; with fewer than two, or choices without this key, the
 * library's first stays. What the runs write has no meaning afterwards. UNSUPPORTED: the library
 * does not offer the one chosen. INVALID: choices that no measurement made.
 */
enum status autotune_algorithm(struct autotune *autotune, struct error *err);

/* What was autotuned, for the choices: {KEY: {"algorithm", "tried"}}; nothing where none is listed.
 */
void autotune_record(json_t *algorithms, const char *key, const struct gemm_info *info,
                     uint32_t tried);
/* {"stack", "algorithms"}, of the library that `info` names; NULL: none were listed. Takes
 * `algorithms`. */
json_t *autotune_choices(json_t *algorithms, const struct gemm_info *info);

#endif
