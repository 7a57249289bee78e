/*
 * cublaslt - the part of cuBLASLt that we call, declared by ourselves.
 *
 * Names, values and types are those of cublasLt.h, cublas_api.h and library_types.h (CUDA Toolkit
 * 13.0; the same since 11.4, attributes that came later are said so). The header's handles are
 * pointers to anonymous structures: here they are our own tags, and the ABI test puts the vendor's
 * types in their place to compare the functions.
 */
#ifndef ASSAY_BACKENDS_CUDA_CUBLASLT_H
#define ASSAY_BACKENDS_CUDA_CUBLASLT_H

#include <stddef.h>
#include <stdint.h>

#include "harness/core/dynlib.h"

struct cublasLtContext;
struct CUstream_st;

struct cublaslt_algorithm {
    uint64_t data[8];
};
struct cublaslt_heuristic {
    struct cublaslt_algorithm algorithm;
    size_t workspace_bytes;
    unsigned state;
    float waves;
    int reserved[4];
};

#ifndef CUBLASLT_HANDLES_GIVEN
struct cublaslt_desc;
struct cublaslt_layout;
struct cublaslt_preference;
#define LT_HANDLE struct cublasLtContext *
#define LT_DESC struct cublaslt_desc *
#define LT_LAYOUT struct cublaslt_layout *
#define LT_PREFERENCE struct cublaslt_preference *
#define LT_ALGORITHM struct cublaslt_algorithm
#define LT_HEURISTIC struct cublaslt_heuristic
#endif

#define CUBLASLT_REQUIRED_MAP(X)                                                                   \
    X(unsigned, cublasLtCreate, (LT_HANDLE * handle))                                              \
    X(unsigned, cublasLtDestroy, (LT_HANDLE handle))                                               \
    X(size_t, cublasLtGetVersion, (void))                                                          \
    X(unsigned, cublasLtMatmulDescCreate, (LT_DESC * desc, unsigned compute, unsigned scale))      \
    X(unsigned, cublasLtMatmulDescDestroy, (LT_DESC desc))                                         \
    X(unsigned, cublasLtMatmulDescSetAttribute,                                                    \
      (LT_DESC desc, unsigned attribute, const void *value, size_t size))                          \
    X(unsigned, cublasLtMatrixLayoutCreate,                                                        \
      (LT_LAYOUT * layout, unsigned type, uint64_t rows, uint64_t columns, int64_t stride))        \
    X(unsigned, cublasLtMatrixLayoutDestroy, (LT_LAYOUT layout))                                   \
    X(unsigned, cublasLtMatrixLayoutSetAttribute,                                                  \
      (LT_LAYOUT layout, unsigned attribute, const void *value, size_t size))                      \
    X(unsigned, cublasLtMatmulPreferenceCreate, (LT_PREFERENCE * preference))                      \
    X(unsigned, cublasLtMatmulPreferenceDestroy, (LT_PREFERENCE preference))                       \
    X(unsigned, cublasLtMatmulPreferenceSetAttribute,                                              \
      (LT_PREFERENCE preference, unsigned attribute, const void *value, size_t size))              \
    X(unsigned, cublasLtMatmulAlgoGetHeuristic,                                                    \
      (LT_HANDLE handle, LT_DESC desc, LT_LAYOUT a, LT_LAYOUT b, LT_LAYOUT c, LT_LAYOUT d,         \
       LT_PREFERENCE preference, int wanted, LT_HEURISTIC *results, int *count))                   \
    X(unsigned, cublasLtMatmulAlgoConfigGetAttribute,                                              \
      (const LT_ALGORITHM *algorithm, unsigned attribute, void *value, size_t size,                \
       size_t *written))                                                                           \
    X(unsigned, cublasLtMatmul,                                                                    \
      (LT_HANDLE handle, LT_DESC desc, const void *alpha, const void *a, LT_LAYOUT a_layout,       \
       const void *b, LT_LAYOUT b_layout, const void *beta, const void *c, LT_LAYOUT c_layout,     \
       void *d, LT_LAYOUT d_layout, const LT_ALGORITHM *algorithm, void *workspace,                \
       size_t workspace_bytes, struct CUstream_st *stream))

/* 11.4.2 */
#define CUBLASLT_OPTIONAL_MAP(X)                                                                   \
    X(const char *, cublasLtGetStatusName, (unsigned status))                                      \
    X(unsigned, cublasLtMatmulAlgoCapGetAttribute,                                                 \
      (const LT_ALGORITHM *algorithm, unsigned attribute, void *value, size_t size,                \
       size_t *written))

struct cublaslt_api {
    CUBLASLT_REQUIRED_MAP(DYNLIB_MEMBER)
    CUBLASLT_OPTIONAL_MAP(DYNLIB_MEMBER)
};

/* Each list: our name, the header's name, value. */
#define CUBLASLT_CONSTANT_MAP(X)                                                                   \
    X(STATUS_SUCCESS, CUBLAS_STATUS_SUCCESS, 0)                                                    \
    X(STATUS_NOT_INITIALIZED, CUBLAS_STATUS_NOT_INITIALIZED, 1)                                    \
    X(STATUS_ALLOC_FAILED, CUBLAS_STATUS_ALLOC_FAILED, 3)                                          \
    X(STATUS_INVALID_VALUE, CUBLAS_STATUS_INVALID_VALUE, 7)                                        \
    X(STATUS_ARCH_MISMATCH, CUBLAS_STATUS_ARCH_MISMATCH, 8)                                        \
    X(STATUS_MAPPING_ERROR, CUBLAS_STATUS_MAPPING_ERROR, 11)                                       \
    X(STATUS_EXECUTION_FAILED, CUBLAS_STATUS_EXECUTION_FAILED, 13)                                 \
    X(STATUS_INTERNAL_ERROR, CUBLAS_STATUS_INTERNAL_ERROR, 14)                                     \
    X(STATUS_NOT_SUPPORTED, CUBLAS_STATUS_NOT_SUPPORTED, 15)                                       \
    X(STATUS_LICENSE_ERROR, CUBLAS_STATUS_LICENSE_ERROR, 16)                                       \
    X(COMPUTE_32F, CUBLAS_COMPUTE_32F, 68)                                                         \
    X(COMPUTE_64F, CUBLAS_COMPUTE_64F, 70)                                                         \
    X(COMPUTE_32I, CUBLAS_COMPUTE_32I, 72)                                                         \
    X(COMPUTE_32F_FAST_TF32, CUBLAS_COMPUTE_32F_FAST_TF32, 77)                                     \
    X(R_32F, CUDA_R_32F, 0)                                                                        \
    X(R_64F, CUDA_R_64F, 1)                                                                        \
    X(R_16F, CUDA_R_16F, 2)                                                                        \
    X(R_8I, CUDA_R_8I, 3)                                                                          \
    X(R_32I, CUDA_R_32I, 10)                                                                       \
    X(R_16BF, CUDA_R_16BF, 14)                                                                     \
    X(R_8F_E4M3, CUDA_R_8F_E4M3, 28)                                                               \
    X(R_8F_E5M2, CUDA_R_8F_E5M2, 29)                                                               \
    X(R_4F_E2M1, CUDA_R_4F_E2M1, 33)                                  /* 12.8 */                   \
    X(SCALE_VEC16_UE4M3, CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3, 1) /* 12.8 */                   \
    X(DESC_A_SCALE_POINTER, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, 17)                              \
    X(DESC_B_SCALE_POINTER, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, 18)                              \
    X(DESC_A_SCALE_MODE, CUBLASLT_MATMUL_DESC_A_SCALE_MODE, 31) /* 12.8 */                         \
    X(DESC_B_SCALE_MODE, CUBLASLT_MATMUL_DESC_B_SCALE_MODE, 32) /* 12.8 */                         \
    X(OP_N, CUBLAS_OP_N, 0)                                                                        \
    X(OP_T, CUBLAS_OP_T, 1)                                                                        \
    X(EPILOGUE_BIAS, CUBLASLT_EPILOGUE_BIAS, 4)                                                    \
    X(LAYOUT_BATCH_COUNT, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 5)                                   \
    X(LAYOUT_STRIDED_BATCH_OFFSET, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, 6)                 \
    X(DESC_TRANSA, CUBLASLT_MATMUL_DESC_TRANSA, 3)                                                 \
    X(DESC_TRANSB, CUBLASLT_MATMUL_DESC_TRANSB, 4)                                                 \
    X(DESC_EPILOGUE, CUBLASLT_MATMUL_DESC_EPILOGUE, 7)                                             \
    X(DESC_BIAS_POINTER, CUBLASLT_MATMUL_DESC_BIAS_POINTER, 8)                                     \
    X(DESC_FAST_ACCUM, CUBLASLT_MATMUL_DESC_FAST_ACCUM, 25)         /* 11.8 */                     \
    X(DESC_BIAS_DATA_TYPE, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, 26) /* 11.8 */                     \
    X(PREF_MAX_WORKSPACE_BYTES, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, 1)                       \
    X(PREF_REDUCTION_SCHEME_MASK, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, 3)                   \
    X(REDUCTION_INPLACE, CUBLASLT_REDUCTION_SCHEME_INPLACE, 1)                                     \
    X(REDUCTION_COMPUTE_TYPE, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE, 2)                           \
    X(PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, 5)                   \
    X(PREF_MIN_ALIGNMENT_B_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, 6)                   \
    X(PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, 7)                   \
    X(PREF_MIN_ALIGNMENT_D_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, 8)                   \
    X(CONFIG_ID, CUBLASLT_ALGO_CONFIG_ID, 0)                                                       \
    X(CONFIG_TILE_ID, CUBLASLT_ALGO_CONFIG_TILE_ID, 1)                                             \
    X(CONFIG_SPLITK_NUM, CUBLASLT_ALGO_CONFIG_SPLITK_NUM, 2)                                       \
    X(CONFIG_REDUCTION_SCHEME, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, 3)                           \
    X(CONFIG_CTA_SWIZZLING, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, 4)                                 \
    X(CONFIG_CUSTOM_OPTION, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, 5)                                 \
    X(CONFIG_STAGES_ID, CUBLASLT_ALGO_CONFIG_STAGES_ID, 6)                                         \
    X(CONFIG_INNER_SHAPE_ID, CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, 7)     /* 11.8 */                \
    X(CONFIG_CLUSTER_SHAPE_ID, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, 8) /* 11.8 */                \
    X(CAP_NUMERICAL_IMPL_FLAGS, CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS, 15)                        \
    X(NUMERICAL_FMA, CUBLASLT_NUMERICAL_IMPL_FLAGS_FMA, 1 << 0)                                    \
    X(NUMERICAL_HMMA, CUBLASLT_NUMERICAL_IMPL_FLAGS_HMMA, 1 << 1)                                  \
    X(NUMERICAL_IMMA, CUBLASLT_NUMERICAL_IMPL_FLAGS_IMMA, 1 << 2)                                  \
    X(NUMERICAL_DMMA, CUBLASLT_NUMERICAL_IMPL_FLAGS_DMMA, 1 << 3)                                  \
    X(NUMERICAL_TENSOR, CUBLASLT_NUMERICAL_IMPL_FLAGS_TENSOR_OP_MASK, 0xfe)                        \
    X(NUMERICAL_OPERATION, CUBLASLT_NUMERICAL_IMPL_FLAGS_OP_TYPE_MASK, 0xff)                       \
    X(NUMERICAL_SUM_32F, CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_32F, 2 << 8)                    \
    X(NUMERICAL_SUM_64F, CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_64F, 4 << 8)                    \
    X(NUMERICAL_SUM_32I, CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_32I, 8 << 8)                    \
    X(NUMERICAL_SUM, CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_TYPE_MASK, 0xff << 8)               \
    X(NUMERICAL_INPUT, CUBLASLT_NUMERICAL_IMPL_FLAGS_OP_INPUT_TYPE_MASK, 0xff << 16)               \
    X(NUMERICAL_INPUT_16F, CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16F, 1 << 16)                       \
    X(NUMERICAL_INPUT_16BF, CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16BF, 1 << 17)                     \
    X(NUMERICAL_INPUT_TF32, CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_TF32, 1 << 18)                     \
    X(NUMERICAL_INPUT_32F, CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_32F, 1 << 19)                       \
    X(NUMERICAL_INPUT_64F, CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_64F, 1 << 20)                       \
    X(NUMERICAL_INPUT_8I, CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_8I, 1 << 21)                         \
    X(NUMERICAL_INPUT_E4M3, CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_8F_E4M3, 1 << 22)                  \
    X(NUMERICAL_INPUT_E5M2, CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_8F_E5M2, 1 << 23)

enum cublaslt_constant {
#define CUBLASLT_CONSTANT_ENUM(name, theirs, value) LT_##name = value,
    CUBLASLT_CONSTANT_MAP(CUBLASLT_CONSTANT_ENUM)
#undef CUBLASLT_CONSTANT_ENUM
};

/*
 * Opens it (name "cublaslt"): the one of the driver's major version (13000: 13), else an older,
 * else a newer one. UNAVAILABLE as dynlib_open.
 */
enum status cublaslt_open(int driver_version, struct dynlib *lib, struct cublaslt_api *ret,
                          struct error *err);

/* "CUBLAS_STATUS_NOT_SUPPORTED" */
const char *cublaslt_status_name(const struct cublaslt_api *api, unsigned status);

#endif
