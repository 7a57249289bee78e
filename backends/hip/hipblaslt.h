/*
 * hipblaslt - our declarations of hipBLASLt 0.6 (ROCm 6.0) to 1.x, as far as they are used. Before
 * 0.6 it had its own numbers for types, so an older one is refused. Facts from hipblaslt.h 0.10,
 * hipblas-common.h and library_types.h of ROCm 6.2 and 7.0 (MIT).
 */
#ifndef ASSAY_BACKENDS_HIP_HIPBLASLT_H
#define ASSAY_BACKENDS_HIP_HIPBLASLT_H

#include <stddef.h>
#include <stdint.h>

#include "backends/hip/runtime.h"

struct hip_state;
struct ihipStream_t;

#define HIPBLASLT_STATUS_MAP(X)                                                                    \
    X(SUCCESS, 0)                                                                                  \
    X(NOT_INITIALIZED, 1)                                                                          \
    X(ALLOC_FAILED, 2)                                                                             \
    X(INVALID_VALUE, 3)                                                                            \
    X(MAPPING_ERROR, 4)                                                                            \
    X(EXECUTION_FAILED, 5)                                                                         \
    X(INTERNAL_ERROR, 6)                                                                           \
    X(NOT_SUPPORTED, 7)                                                                            \
    X(ARCH_MISMATCH, 8)                                                                            \
    X(HANDLE_IS_NULLPTR, 9)                                                                        \
    X(INVALID_ENUM, 10)                                                                            \
    X(UNKNOWN, 11)

enum {
#define HIPBLASLT_STATUS_ENUM(name, value) HIPBLAS_##name = value,
    HIPBLASLT_STATUS_MAP(HIPBLASLT_STATUS_ENUM)
#undef HIPBLASLT_STATUS_ENUM
};

/* hipDataType; the fp8 types of MI300 (FNUZ) and the OCP ones are different. */
enum {
    HIP_R_32F = 0,
    HIP_R_64F = 1,
    HIP_R_16F = 2,
    HIP_R_8I = 3,
    HIP_R_32I = 10,
    HIP_R_16BF = 14,
    HIP_R_8F_E4M3 = 28,
    HIP_R_8F_E5M2 = 29,
    HIP_R_4F_E2M1 = 33, /* ROCm 7 */
    HIP_R_8F_E4M3_FNUZ = 1000,
    HIP_R_8F_E5M2_FNUZ = 1001,
};

/* hipblasComputeType_t */
enum {
    HIPBLAS_COMPUTE_32F = 2,
    HIPBLAS_COMPUTE_32F_FAST_TF32 = 6,
    HIPBLAS_COMPUTE_64F = 7,
    HIPBLAS_COMPUTE_32I = 9,
};

#define HIPBLAS_OP_N 111
#define HIPBLAS_OP_T 112
#define HIPBLASLT_LAYOUT_BATCH_COUNT 0  /* int32_t */
#define HIPBLASLT_LAYOUT_BATCH_STRIDE 1 /* int64_t, elements */
#define HIPBLASLT_DESC_TRANSA 0         /* int32_t */
#define HIPBLASLT_DESC_TRANSB 1
#define HIPBLASLT_DESC_EPILOGUE 2 /* uint32_t */
#define HIPBLASLT_DESC_BIAS_POINTER 3
#define HIPBLASLT_DESC_BIAS_TYPE 4 /* int32_t: hipDataType */
#define HIPBLASLT_DESC_A_SCALE_POINTER 5
#define HIPBLASLT_DESC_B_SCALE_POINTER 6
#define HIPBLASLT_DESC_A_SCALE_MODE 31 /* uint32_t; ROCm 7 */
#define HIPBLASLT_DESC_B_SCALE_MODE 32
#define HIPBLASLT_SCALE_VEC32_UE8M0 2u
#define HIPBLASLT_EPILOGUE_BIAS 4u
#define HIPBLASLT_PREF_WORKSPACE 1  /* uint64_t */
#define HIPBLASLT_VERSION_LEAST 600 /* 0.6.0, as hipblasLtGetVersion counts */

struct hipblaslt_algo {
    uint8_t data[16]; /* begins with the solution's number */
    size_t max_workspace_bytes;
};

struct hipblaslt_result {
    struct hipblaslt_algo algo;
    size_t workspace_bytes;
    int state;
    float waves;
    int reserved[4];
};

/* The result is hipblasStatus_t, unsigned; handles are pointers to what only the library knows. */
#define HIPBLASLT_REQUIRED_MAP(X)                                                                  \
    X(hipblasLtCreate, (void **handle))                                                            \
    X(hipblasLtDestroy, (void *handle))                                                            \
    X(hipblasLtGetVersion, (void *handle, int *version))                                           \
    X(hipblasLtMatrixLayoutCreate,                                                                 \
      (void **layout, int type, uint64_t rows, uint64_t columns, int64_t stride))                  \
    X(hipblasLtMatrixLayoutDestroy, (void *layout))                                                \
    X(hipblasLtMatrixLayoutSetAttribute,                                                           \
      (void *layout, int attribute, const void *value, size_t size))                               \
    X(hipblasLtMatmulDescCreate, (void **desc, int compute, int scale))                            \
    X(hipblasLtMatmulDescDestroy, (void *desc))                                                    \
    X(hipblasLtMatmulDescSetAttribute,                                                             \
      (void *desc, int attribute, const void *value, size_t size))                                 \
    X(hipblasLtMatmulPreferenceCreate, (void **preference))                                        \
    X(hipblasLtMatmulPreferenceDestroy, (void *preference))                                        \
    X(hipblasLtMatmulPreferenceSetAttribute,                                                       \
      (void *preference, int attribute, const void *value, size_t size))                           \
    X(hipblasLtMatmulAlgoGetHeuristic,                                                             \
      (void *handle, void *desc, void *a, void *b, void *c, void *d, void *preference, int wanted, \
       struct hipblaslt_result *results, int *count))                                              \
    X(hipblasLtMatmul,                                                                             \
      (void *handle, void *desc, const void *alpha, const void *a, void *a_layout, const void *b,  \
       void *b_layout, const void *beta, const void *c, void *c_layout, void *d, void *d_layout,   \
       const struct hipblaslt_algo *algo, void *workspace, size_t workspace_bytes,                 \
       struct ihipStream_t *stream))

struct hip_hipblaslt {
    HIPBLASLT_REQUIRED_MAP(HIP_MEMBER)
};

const char *hipblaslt_status_name(int status); /* "HIPBLAS_STATUS_NOT_SUPPORTED" */

/* "0.10.0" for what hipblasLtGetVersion gives. */
void hipblaslt_version_text(int version, char *ret, size_t size);

/* Opens it once; state->hipblaslt_lib has the result. */
void hip_hipblaslt_open(struct hip_state *state);

#endif
