/*
 * gemm - a GEMM prepared in one of AMD's libraries. hipBLASLt is asked first, except
 * for fp64; what it refuses is done by rocBLAS where that has it.
 *
 * Both libraries take matrices by columns. A row-major C = op(A) op(B) is, read by columns, the
 * transposed C' = op(B)' op(A)', so A and B change places and m and n with them.
 */
#ifndef ASSAY_BACKENDS_HIP_GEMM_H
#define ASSAY_BACKENDS_HIP_GEMM_H

#include "backends/hip/internal.h"

/* How a batch of outer * inner matrices is handed over: `calls` times `count` matrices. */
struct hip_batch {
    uint64_t calls, count;
    uint64_t a_step, b_step, c_step; /* elements between the matrices of one call */
};

/* Algorithms that hipBLASLt is asked for. */
#define HIP_GEMM_ALGORITHMS 16

struct hip_gemm {
    struct operation base;
    struct hip_batch batch;
    struct operation_info info;
    const struct hip_library_ops *ops;
    /* hipBLASLt */
    void *desc, *layout_a, *layout_b, *layout_c;       /* as the library names them: a is our B */
    struct hipblaslt_result list[HIP_GEMM_ALGORITHMS]; /* in the library's order */
    uint32_t listed, selected;
    struct gpu_workspace workspace;
    uint64_t bias; /* address that the description holds */
};

/* Addresses of one call's first matrices. */
struct hip_call {
    uint64_t a, b, c, bias, d;
};

/* A library; `create` fills all of the GEMM that is its own, which is destroyed where it fails. */
struct hip_library_ops {
    enum status (*create)(struct hip_device *device, struct hip_gemm *gemm, struct error *err);
    void (*destroy)(struct hip_device *device, struct hip_gemm *gemm);
    enum status (*run)(struct hip_device *device, struct hip_gemm *gemm,
                       const struct hip_call *call, struct error *err);
    /* NULL: it lists no algorithms. */
    enum status (*select)(struct hip_device *device, struct hip_gemm *gemm, uint32_t index,
                          struct error *err);
};

extern const struct hip_library_ops hip_gemm_hipblaslt, hip_gemm_rocblas;

#endif
