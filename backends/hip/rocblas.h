/*
 * rocblas - our declarations of rocBLAS of ROCm 5, 6 and 7, as far as they are used. Facts from
 * rocblas-types.h, rocblas-auxiliary.h and rocblas-functions.h 5.5 (MIT).
 */
#ifndef ASSAY_BACKENDS_HIP_ROCBLAS_H
#define ASSAY_BACKENDS_HIP_ROCBLAS_H

#include <stddef.h>
#include <stdint.h>

#include "backends/hip/runtime.h"

struct hip_state;
struct ihipStream_t;
struct _rocblas_handle;

#define ROCBLAS_STATUS_MAP(X)                                                                      \
    X(success, 0)                                                                                  \
    X(invalid_handle, 1)                                                                           \
    X(not_implemented, 2)                                                                          \
    X(invalid_pointer, 3)                                                                          \
    X(invalid_size, 4)                                                                             \
    X(memory_error, 5)                                                                             \
    X(internal_error, 6)                                                                           \
    X(perf_degraded, 7)                                                                            \
    X(size_query_mismatch, 8)                                                                      \
    X(size_increased, 9)                                                                           \
    X(size_unchanged, 10)                                                                          \
    X(invalid_value, 11)                                                                           \
    X(continue, 12)                                                                                \
    X(check_numerics_fail, 13)

/* Since rocBLAS 3.0. */
#define ROCBLAS_STATUS_3_MAP(X)                                                                    \
    X(excluded_from_build, 14)                                                                     \
    X(arch_mismatch, 15)

enum {
#define ROCBLAS_STATUS_ENUM(name, value) ROCBLAS_##name = value,
    ROCBLAS_STATUS_MAP(ROCBLAS_STATUS_ENUM) ROCBLAS_STATUS_3_MAP(ROCBLAS_STATUS_ENUM)
#undef ROCBLAS_STATUS_ENUM
};

/* rocblas_datatype */
enum {
    ROCBLAS_f16_r = 150,
    ROCBLAS_f32_r = 151,
    ROCBLAS_f64_r = 152,
    ROCBLAS_i8_r = 160,
    ROCBLAS_i32_r = 162,
    ROCBLAS_bf16_r = 168,
};

#define ROCBLAS_OPERATION_NONE 111
#define ROCBLAS_OPERATION_TRANSPOSE 112
#define ROCBLAS_ALGO_STANDARD 0

/* The result is rocblas_status, unsigned; rocblas_int is int32_t, rocblas_stride int64_t */
#define ROCBLAS_REQUIRED_MAP(X)                                                                    \
    X(rocblas_create_handle, (struct _rocblas_handle * *handle))                                   \
    X(rocblas_destroy_handle, (struct _rocblas_handle * handle))                                   \
    X(rocblas_set_stream, (struct _rocblas_handle * handle, struct ihipStream_t * stream))         \
    X(rocblas_get_version_string, (char *text, size_t size))                                       \
    X(rocblas_gemm_strided_batched_ex,                                                             \
      (struct _rocblas_handle * handle, unsigned transpose_a, unsigned transpose_b, int32_t m,     \
       int32_t n, int32_t k, const void *alpha, const void *a, unsigned a_type, int32_t a_stride,  \
       int64_t a_batch, const void *b, unsigned b_type, int32_t b_stride, int64_t b_batch,         \
       const void *beta, const void *c, unsigned c_type, int32_t c_stride, int64_t c_batch,        \
       void *d, unsigned d_type, int32_t d_stride, int64_t d_batch, int32_t count,                 \
       unsigned compute_type, unsigned algo, int32_t solution, uint32_t flags))

struct hip_rocblas {
    ROCBLAS_REQUIRED_MAP(HIP_MEMBER)
};

const char *rocblas_status_name(int status); /* "rocblas_status_not_implemented" */

/* Opens it once; state->rocblas_lib has the result. */
void hip_rocblas_open(struct hip_state *state);

#endif
