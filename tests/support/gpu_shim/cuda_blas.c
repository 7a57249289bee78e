/*
 * A stand-in for cuBLASLt, with the features of a Hopper device: 8-bit operands only with A
 * transposed and B plain, fp64 to int8, tf32 by tensor units. Its requirements on 8-bit operands'
 * addresses and sizes are those documented for cublasLtMatmul: multiples of 16 for fp8, which it
 * refuses otherwise, and of 4 for int8, without which the result is undefined.
 */
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/cublaslt.h"
#include "tests/support/gpu_shim/core.h"
#include "tests/support/gpu_shim/cuda.h"

#define PROTOTYPE(result, name, parameters) SHIM_EXPORT result name parameters;
CUBLASLT_REQUIRED_MAP(PROTOTYPE)
CUBLASLT_OPTIONAL_MAP(PROTOTYPE)
#undef PROTOTYPE

#define ALGORITHM 42u
#define WORKSPACE ((size_t)1 << 16)

struct cublasLtContext {
    int unused;
};
struct cublaslt_desc {
    unsigned compute, scale;
    int32_t transpose_a, transpose_b;
    uint32_t epilogue;
    uint64_t bias;
    int32_t bias_type; /* -1: as D */
    int32_t scale_mode_a, scale_mode_b;
    uint64_t scale_a, scale_b;
};
struct cublaslt_layout {
    unsigned type;
    uint64_t rows, columns;
    int64_t stride, batch_stride;
    int32_t batch;
};
struct cublaslt_preference {
    uint64_t workspace;
    uint32_t alignment[4]; /* of A, B, C, D */
};

static bool type_of(unsigned type, enum core_type *ret)
{
    switch (type) {
    case LT_R_64F:
        *ret = CORE_F64;
        return true;
    case LT_R_32F:
        *ret = CORE_F32;
        return true;
    case LT_R_16F:
        *ret = CORE_F16;
        return true;
    case LT_R_16BF:
        *ret = CORE_BF16;
        return true;
    case LT_R_8F_E4M3:
        *ret = CORE_E4M3;
        return true;
    case LT_R_8F_E5M2:
        *ret = CORE_E5M2;
        return true;
    case LT_R_8I:
        *ret = CORE_I8;
        return true;
    case LT_R_32I:
        *ret = CORE_I32;
        return true;
    default:
        return false;
    }
}

#define CREATE(ret)                                                                                \
    do {                                                                                           \
        *(ret) = calloc(1, sizeof(**(ret)));                                                       \
        if (*(ret) == NULL)                                                                        \
            return LT_STATUS_ALLOC_FAILED;                                                         \
        shim_live_add(1);                                                                          \
    } while (0)

#define DESTROY(function, object)                                                                  \
    do {                                                                                           \
        int code_;                                                                                 \
        const bool failing_ = shim_fails(#function, &code_);                                       \
                                                                                                   \
        free(object);                                                                              \
        shim_live_add(-1);                                                                         \
        return failing_ ? (unsigned)code_ : LT_STATUS_SUCCESS;                                     \
    } while (0)

unsigned cublasLtCreate(struct cublasLtContext **handle)
{
    SHIM_FAULT(unsigned, cublasLtCreate);
    CREATE(handle);
    return 0;
}

unsigned cublasLtDestroy(struct cublasLtContext *handle)
{
    DESTROY(cublasLtDestroy, handle);
}

size_t cublasLtGetVersion(void)
{
    return getenv("ASSAY_SHIM_BLAS_VERSION") != NULL ? 120804 : 130000;
}

const char *cublasLtGetStatusName(unsigned status)
{
    return status == LT_STATUS_NOT_SUPPORTED    ? "CUBLAS_STATUS_NOT_SUPPORTED"
           : status == LT_STATUS_INVALID_VALUE  ? "CUBLAS_STATUS_INVALID_VALUE"
           : status == LT_STATUS_ALLOC_FAILED   ? "CUBLAS_STATUS_ALLOC_FAILED"
           : status == LT_STATUS_INTERNAL_ERROR ? "CUBLAS_STATUS_INTERNAL_ERROR"
                                                : "CUBLAS_STATUS unknown";
}

unsigned cublasLtMatmulDescCreate(struct cublaslt_desc **desc, unsigned compute, unsigned scale)
{
    SHIM_FAULT(unsigned, cublasLtMatmulDescCreate);
    CREATE(desc);
    (*desc)->compute = compute;
    (*desc)->scale = scale;
    (*desc)->bias_type = -1;
    return 0;
}

unsigned cublasLtMatmulDescDestroy(struct cublaslt_desc *desc)
{
    DESTROY(cublasLtMatmulDescDestroy, desc);
}

#define TAKE(field)                                                                                \
    do {                                                                                           \
        if (size != sizeof(field))                                                                 \
            return LT_STATUS_INVALID_VALUE;                                                        \
        memcpy(&(field), value, size);                                                             \
        return 0;                                                                                  \
    } while (0)

unsigned cublasLtMatmulDescSetAttribute(struct cublaslt_desc *desc, unsigned attribute,
                                        const void *value, size_t size)
{
    SHIM_FAULT(unsigned, cublasLtMatmulDescSetAttribute);
    switch (attribute) {
    case LT_DESC_TRANSA:
        TAKE(desc->transpose_a);
    case LT_DESC_TRANSB:
        TAKE(desc->transpose_b);
    case LT_DESC_EPILOGUE:
        TAKE(desc->epilogue);
    case LT_DESC_BIAS_POINTER:
        TAKE(desc->bias);
    case LT_DESC_BIAS_DATA_TYPE:
        TAKE(desc->bias_type);
    case LT_DESC_A_SCALE_POINTER:
        TAKE(desc->scale_a);
    case LT_DESC_B_SCALE_POINTER:
        TAKE(desc->scale_b);
    default:
        break;
    }
    /* As a library of 12.8 and later. */
    if (getenv("ASSAY_SHIM_FP4") == NULL)
        return LT_STATUS_INVALID_VALUE;
    switch (attribute) {
    case LT_DESC_A_SCALE_MODE:
        TAKE(desc->scale_mode_a);
    case LT_DESC_B_SCALE_MODE:
        TAKE(desc->scale_mode_b);
    default:
        return LT_STATUS_INVALID_VALUE;
    }
}

unsigned cublasLtMatrixLayoutCreate(struct cublaslt_layout **layout, unsigned type, uint64_t rows,
                                    uint64_t columns, int64_t stride)
{
    SHIM_FAULT(unsigned, cublasLtMatrixLayoutCreate);
    CREATE(layout);
    **layout = (struct cublaslt_layout){type, rows, columns, stride, 0, 1};
    return 0;
}

unsigned cublasLtMatrixLayoutDestroy(struct cublaslt_layout *layout)
{
    DESTROY(cublasLtMatrixLayoutDestroy, layout);
}

unsigned cublasLtMatrixLayoutSetAttribute(struct cublaslt_layout *layout, unsigned attribute,
                                          const void *value, size_t size)
{
    SHIM_FAULT(unsigned, cublasLtMatrixLayoutSetAttribute);
    switch (attribute) {
    case LT_LAYOUT_BATCH_COUNT:
        TAKE(layout->batch);
    case LT_LAYOUT_STRIDED_BATCH_OFFSET:
        TAKE(layout->batch_stride);
    default:
        return LT_STATUS_INVALID_VALUE;
    }
}

unsigned cublasLtMatmulPreferenceCreate(struct cublaslt_preference **preference)
{
    SHIM_FAULT(unsigned, cublasLtMatmulPreferenceCreate);
    CREATE(preference);
    return 0;
}

unsigned cublasLtMatmulPreferenceDestroy(struct cublaslt_preference *preference)
{
    DESTROY(cublasLtMatmulPreferenceDestroy, preference);
}

unsigned cublasLtMatmulPreferenceSetAttribute(struct cublaslt_preference *preference,
                                              unsigned attribute, const void *value, size_t size)
{
    uint32_t reductions = 0;

    SHIM_FAULT(unsigned, cublasLtMatmulPreferenceSetAttribute);
    if (attribute == LT_PREF_MAX_WORKSPACE_BYTES)
        TAKE(preference->workspace);
    if (attribute == LT_PREF_REDUCTION_SCHEME_MASK)
        TAKE(reductions);
    if (attribute < LT_PREF_MIN_ALIGNMENT_A_BYTES || attribute > LT_PREF_MIN_ALIGNMENT_D_BYTES)
        return LT_STATUS_INVALID_VALUE;
    TAKE(preference->alignment[attribute - LT_PREF_MIN_ALIGNMENT_A_BYTES]);
}

static bool is_fp8(unsigned type)
{
    return type == LT_R_8F_E4M3 || type == LT_R_8F_E5M2;
}

/* For fp8: all four addresses, strides and sizes. */
static bool are_aligned(const struct cublaslt_preference *preference,
                        const struct cublaslt_layout *a, const struct cublaslt_layout *b)
{
    if (!is_fp8(a->type))
        return true;
    for (int i = 0; i < 4; i++)
        if (preference->alignment[i] % 16 != 0)
            return false;
    return a->rows % 16 == 0 && a->columns % 16 == 0 && a->stride % 16 == 0 && b->stride % 16 == 0;
}

static bool does(const struct cublaslt_desc *desc, const struct cublaslt_layout *a,
                 const struct cublaslt_layout *b, const struct cublaslt_layout *d)
{
    const bool tn = desc->transpose_a == LT_OP_T && desc->transpose_b == LT_OP_N;

    switch (desc->compute) {
    case LT_COMPUTE_64F:
        return a->type == LT_R_64F && b->type == LT_R_64F && d->type == LT_R_64F;
    case LT_COMPUTE_32I:
        return a->type == LT_R_8I && b->type == LT_R_8I && d->type == LT_R_32I && tn;
    case LT_COMPUTE_32F_FAST_TF32:
        return a->type == LT_R_32F && b->type == LT_R_32F && d->type == LT_R_32F;
    case LT_COMPUTE_32F:
        if (a->type == LT_R_4F_E2M1)
            return tn && b->type == LT_R_4F_E2M1 && desc->scale_mode_a == LT_SCALE_VEC16_UE4M3 &&
                   desc->scale_mode_b == LT_SCALE_VEC16_UE4M3 && desc->scale_a != 0 &&
                   desc->scale_a % 16 == 0 && desc->scale_b % 16 == 0 && a->rows % 128 == 0 &&
                   d->type == LT_R_32F;
        if (is_fp8(a->type) && is_fp8(b->type))
            return tn && !(a->type == LT_R_8F_E5M2 && b->type == LT_R_8F_E5M2) &&
                   (d->type == LT_R_32F || d->type == LT_R_16BF || d->type == LT_R_16F);
        return a->type == b->type && (d->type == a->type || d->type == LT_R_32F);
    default:
        return false;
    }
}

/*
 * With the type of the sums, as observed from libraries: 0x10202 and 0x40202 (fp16, tf32 on
 * Ampere), 0x200804 (int8).
 */
static uint64_t flags_of(const struct cublaslt_desc *desc, const struct cublaslt_layout *a)
{
    const uint64_t tensor = (uint64_t)LT_NUMERICAL_HMMA | LT_NUMERICAL_SUM_32F;
    const uint64_t fma = LT_NUMERICAL_FMA;

    if (desc->compute == LT_COMPUTE_32F_FAST_TF32)
        return tensor | LT_NUMERICAL_INPUT_TF32;
    switch (a->type) {
    case LT_R_64F:
        return fma | LT_NUMERICAL_SUM_64F | LT_NUMERICAL_INPUT_64F;
    case LT_R_32F:
        return fma | LT_NUMERICAL_SUM_32F | LT_NUMERICAL_INPUT_32F;
    case LT_R_16F:
        return tensor | LT_NUMERICAL_INPUT_16F;
    case LT_R_16BF:
        return tensor | LT_NUMERICAL_INPUT_16BF;
    case LT_R_4F_E2M1:
        return tensor;
    case LT_R_8F_E4M3:
        return tensor | LT_NUMERICAL_INPUT_E4M3;
    case LT_R_8F_E5M2:
        return tensor | LT_NUMERICAL_INPUT_E5M2;
    default:
        return (uint64_t)LT_NUMERICAL_IMMA | LT_NUMERICAL_SUM_32I | LT_NUMERICAL_INPUT_8I;
    }
}

/*
 * The first algorithm narrows fp32, which a caller must not use. ASSAY_SHIM_FLAGS="0x10202,0" gives
 * other flags for the first ones.
 */
unsigned cublasLtMatmulAlgoGetHeuristic(struct cublasLtContext *handle, struct cublaslt_desc *desc,
                                        struct cublaslt_layout *a, struct cublaslt_layout *b,
                                        struct cublaslt_layout *c, struct cublaslt_layout *d,
                                        struct cublaslt_preference *preference, int wanted,
                                        struct cublaslt_heuristic *results, int *count)
{
    int made = 0;

    (void)handle;
    (void)c;
    SHIM_FAULT(unsigned, cublasLtMatmulAlgoGetHeuristic);
    *count = 0;
    if (!does(desc, a, b, d) || !are_aligned(preference, a, b) || preference->workspace < WORKSPACE)
        return LT_STATUS_NOT_SUPPORTED;
    for (int i = 0; i < (int)core_algorithm_count() && made < wanted; i++, made++) {
        const char *flags = core_word_at("ASSAY_SHIM_FLAGS", (unsigned)i);

        memset(&results[i], 0, sizeof(results[i]));
        results[i].algorithm.data[0] = ALGORITHM + (unsigned)i;
        results[i].algorithm.data[1] = flags_of(desc, a);
        if (i == 0 && desc->compute == LT_COMPUTE_32F && a->type == LT_R_32F)
            results[i].algorithm.data[1] = (uint64_t)LT_NUMERICAL_HMMA | LT_NUMERICAL_INPUT_TF32;
        if (flags != NULL)
            results[i].algorithm.data[1] = strtoull(flags, NULL, 16);
        results[i].workspace_bytes = WORKSPACE;
        results[i].waves = 1.0f;
    }
    *count = made;
    return 0;
}

unsigned cublasLtMatmulAlgoConfigGetAttribute(const struct cublaslt_algorithm *algorithm,
                                              unsigned attribute, void *value, size_t size,
                                              size_t *written)
{
    const uint32_t id = (uint32_t)algorithm->data[0];

    SHIM_FAULT(unsigned, cublasLtMatmulAlgoConfigGetAttribute);
    if (attribute != LT_CONFIG_ID || size != sizeof(id))
        return LT_STATUS_INVALID_VALUE;
    memcpy(value, &id, sizeof(id));
    *written = sizeof(id);
    return 0;
}

unsigned cublasLtMatmulAlgoCapGetAttribute(const struct cublaslt_algorithm *algorithm,
                                           unsigned attribute, void *value, size_t size,
                                           size_t *written)
{
    SHIM_FAULT(unsigned, cublasLtMatmulAlgoCapGetAttribute);
    if (attribute != LT_CAP_NUMERICAL_IMPL_FLAGS || size != sizeof(algorithm->data[1]))
        return LT_STATUS_INVALID_VALUE;
    memcpy(value, &algorithm->data[1], size);
    *written = size;
    return 0;
}

static struct core_matrix matrix(const struct cublaslt_layout *layout, bool transpose,
                                 const void *data)
{
    struct core_matrix made = {.transpose = transpose,
                               .stride = (uint64_t)layout->stride,
                               .batch_stride = (uint64_t)layout->batch_stride,
                               .data = data};

    type_of(layout->type, &made.type);
    return made;
}

static double scalar(unsigned type, const void *value)
{
    double f64;
    float f32;
    int32_t i32;

    if (type == LT_R_64F) {
        memcpy(&f64, value, sizeof(f64));
        return f64;
    }
    if (type == LT_R_32I) {
        memcpy(&i32, value, sizeof(i32));
        return i32;
    }
    memcpy(&f32, value, sizeof(f32));
    return (double)f32;
}

unsigned cublasLtMatmul(struct cublasLtContext *handle, struct cublaslt_desc *desc,
                        const void *alpha, const void *a, struct cublaslt_layout *a_layout,
                        const void *b, struct cublaslt_layout *b_layout, const void *beta,
                        const void *c, struct cublaslt_layout *c_layout, void *d,
                        struct cublaslt_layout *d_layout,
                        const struct cublaslt_algorithm *algorithm, void *workspace,
                        size_t workspace_bytes, struct CUstream_st *stream)
{
    const bool at = desc->transpose_a == LT_OP_T, bt = desc->transpose_b == LT_OP_T;
    struct core_gemm gemm = {
        .m = d_layout->rows,
        .n = d_layout->columns,
        .k = at ? a_layout->rows : a_layout->columns,
        .batch = (uint64_t)d_layout->batch,
        .a = matrix(a_layout, at, a),
        .b = matrix(b_layout, bt, b),
        .c = matrix(c_layout, false, c),
        .d = matrix(d_layout, false, d),
        .alpha = scalar(desc->scale, alpha),
        .beta = scalar(desc->scale, beta),
    };

    (void)handle;
    SHIM_FAULT(unsigned, cublasLtMatmul);
    if (stream == NULL || workspace_bytes < WORKSPACE || core_bytes_at(workspace) < WORKSPACE ||
        algorithm->data[0] < ALGORITHM ||
        algorithm->data[0] - ALGORITHM >= core_algorithm_count() ||
        gemm.m != (at ? a_layout->columns : a_layout->rows) ||
        gemm.n != (bt ? b_layout->rows : b_layout->columns) ||
        gemm.k != (bt ? b_layout->columns : b_layout->rows))
        return LT_STATUS_INVALID_VALUE;
    if (desc->epilogue == LT_EPILOGUE_BIAS) {
        gemm.bias = (const void *)(uintptr_t)desc->bias;
        gemm.bias_type = gemm.d.type;
        if (desc->bias_type >= 0 && !type_of((unsigned)desc->bias_type, &gemm.bias_type))
            return LT_STATUS_INVALID_VALUE;
    }
    if (a_layout->type == LT_R_8I &&
        (((uintptr_t)a | (uintptr_t)b | (uint64_t)a_layout->stride | (uint64_t)b_layout->stride |
          (uint64_t)a_layout->batch_stride | (uint64_t)b_layout->batch_stride | gemm.k) &
         3) != 0)
        gemm.alpha = 3.0;
    if (!core_algorithm_launch((unsigned)(algorithm->data[0] - ALGORITHM)))
        return LT_STATUS_EXECUTION_FAILED;
    return core_gemm_run(&gemm) == CORE_OK ? 0 : LT_STATUS_INVALID_VALUE;
}
