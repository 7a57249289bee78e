/* kinds - the kinds of workload that are compiled in; catalog.c makes its table of them. */
#ifndef ASSAY_WORKLOADS_KINDS_H
#define ASSAY_WORKLOADS_KINDS_H

#include "workloads/workload.h"

/* One line each: the symbol of the kind's table. */
/* clang-format off */
#define WORKLOAD_KIND_MAP(X) \
    X(workload_batched_inference) \
    X(workload_convolution) \
    X(workload_endpoint) \
    X(workload_gemm) \
    X(workload_generation) \
    X(workload_launch) \
    X(workload_memory_bound) \
    X(workload_onnx) \
    X(workload_pass) \
    X(workload_program) \
    X(workload_synthetic) \
    X(workload_training_step) \
    X(workload_transfer)
/* clang-format on */

#define WORKLOAD_KIND_EXTERN(symbol) extern const struct workload_kind symbol;
WORKLOAD_KIND_MAP(WORKLOAD_KIND_EXTERN)
#undef WORKLOAD_KIND_EXTERN

#endif
