/*
 * Stand-ins for hipBLASLt and rocBLAS, with the features of an MI300: fp8 of the FNUZ kind and not
 * OCP's, int8, tf32; fp64 in rocBLAS alone.
 */
#include <stdlib.h>
#include <string.h>

#include "backends/hip/hipblaslt.h"
#include "backends/hip/rocblas.h"
#include "tests/support/gpu_shim/core.h"
#include "tests/support/gpu_shim/hip.h"

#define PROTOTYPE(name, parameters) SHIM_EXPORT unsigned name parameters;
HIPBLASLT_REQUIRED_MAP(PROTOTYPE)
ROCBLAS_REQUIRED_MAP(PROTOTYPE)
#undef PROTOTYPE

#define SOLUTION 4711
#define WORKSPACE ((size_t)1 << 16)

struct desc {
    int compute, scale;
    int32_t transpose_a, transpose_b, bias_type;
    uint32_t epilogue;
    const void *bias;
    uint32_t scale_modes[2];
    const void *scales[2];
};
struct layout {
    int type;
    uint64_t rows, columns;
    int64_t stride, batch_stride;
    int32_t batch;
};
struct preference {
    uint64_t workspace;
};

static const struct {
    int lt, rocblas;
    enum core_type type;
} types[] = {
    {HIP_R_64F, ROCBLAS_f64_r, CORE_F64},    {HIP_R_32F, ROCBLAS_f32_r, CORE_F32},
    {HIP_R_16F, ROCBLAS_f16_r, CORE_F16},    {HIP_R_16BF, ROCBLAS_bf16_r, CORE_BF16},
    {HIP_R_8F_E4M3, 0, CORE_E4M3},           {HIP_R_8F_E5M2, 0, CORE_E5M2},
    {HIP_R_8F_E4M3_FNUZ, 0, CORE_E4M3_FNUZ}, {HIP_R_8F_E5M2_FNUZ, 0, CORE_E5M2_FNUZ},
    {HIP_R_8I, ROCBLAS_i8_r, CORE_I8},       {HIP_R_32I, ROCBLAS_i32_r, CORE_I32},
};

static bool type_of(int lt, int rocblas, enum core_type *ret)
{
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
        if ((rocblas != 0 && types[i].rocblas == rocblas) || (rocblas == 0 && types[i].lt == lt)) {
            *ret = types[i].type;
            return true;
        }
    return false;
}

static unsigned create(void **ret, size_t size)
{
    *ret = calloc(1, size);
    if (*ret == NULL)
        return HIPBLAS_ALLOC_FAILED;
    shim_live_add(1);
    return 0;
}

#define DESTROY(function, object)                                                                  \
    do {                                                                                           \
        int code_;                                                                                 \
        const bool failing_ = shim_fails(#function, &code_);                                       \
                                                                                                   \
        free(object);                                                                              \
        shim_live_add(-1);                                                                         \
        return failing_ ? (unsigned)code_ : 0;                                                     \
    } while (0)

#define TAKE(field)                                                                                \
    do {                                                                                           \
        if (size != sizeof(field))                                                                 \
            return HIPBLAS_INVALID_VALUE;                                                          \
        memcpy(&(field), value, size);                                                             \
        return 0;                                                                                  \
    } while (0)

unsigned hipblasLtCreate(void **handle)
{
    SHIM_FAULT(unsigned, hipblasLtCreate);
    return create(handle, 1);
}

unsigned hipblasLtDestroy(void *handle)
{
    DESTROY(hipblasLtDestroy, handle);
}

unsigned hipblasLtGetVersion(void *handle, int *version)
{
    (void)handle;
    SHIM_FAULT(unsigned, hipblasLtGetVersion);
#ifdef SHIM_HIP_5
    *version = 300; /* 0.3.0, with types of its own: not to be used */
#else
    *version = getenv("ASSAY_SHIM_BLAS_VERSION") != NULL ? 1100 : 1000; /* 0.10.0 */
#endif
    return 0;
}

unsigned hipblasLtMatrixLayoutCreate(void **ret, int type, uint64_t rows, uint64_t columns,
                                     int64_t stride)
{
    SHIM_FAULT(unsigned, hipblasLtMatrixLayoutCreate);
    if (create(ret, sizeof(struct layout)) != 0)
        return HIPBLAS_ALLOC_FAILED;
    *(struct layout *)*ret = (struct layout){type, rows, columns, stride, 0, 1};
    return 0;
}

unsigned hipblasLtMatrixLayoutDestroy(void *layout)
{
    DESTROY(hipblasLtMatrixLayoutDestroy, layout);
}

unsigned hipblasLtMatrixLayoutSetAttribute(void *object, int attribute, const void *value,
                                           size_t size)
{
    struct layout *layout = object;

    SHIM_FAULT(unsigned, hipblasLtMatrixLayoutSetAttribute);
    switch (attribute) {
    case HIPBLASLT_LAYOUT_BATCH_COUNT:
        TAKE(layout->batch);
    case HIPBLASLT_LAYOUT_BATCH_STRIDE:
        TAKE(layout->batch_stride);
    default:
        return HIPBLAS_INVALID_VALUE;
    }
}

unsigned hipblasLtMatmulDescCreate(void **ret, int compute, int scale)
{
    SHIM_FAULT(unsigned, hipblasLtMatmulDescCreate);
    if (create(ret, sizeof(struct desc)) != 0)
        return HIPBLAS_ALLOC_FAILED;
    *(struct desc *)*ret = (struct desc){.compute = compute, .scale = scale, .bias_type = -1};
    return 0;
}

unsigned hipblasLtMatmulDescDestroy(void *desc)
{
    DESTROY(hipblasLtMatmulDescDestroy, desc);
}

unsigned hipblasLtMatmulDescSetAttribute(void *object, int attribute, const void *value,
                                         size_t size)
{
    struct desc *desc = object;

    SHIM_FAULT(unsigned, hipblasLtMatmulDescSetAttribute);
    switch (attribute) {
    case HIPBLASLT_DESC_TRANSA:
        TAKE(desc->transpose_a);
    case HIPBLASLT_DESC_TRANSB:
        TAKE(desc->transpose_b);
    case HIPBLASLT_DESC_EPILOGUE:
        TAKE(desc->epilogue);
    case HIPBLASLT_DESC_BIAS_POINTER:
        TAKE(desc->bias);
    case HIPBLASLT_DESC_BIAS_TYPE:
        TAKE(desc->bias_type);
    case HIPBLASLT_DESC_A_SCALE_POINTER:
        TAKE(desc->scales[0]);
    case HIPBLASLT_DESC_B_SCALE_POINTER:
        TAKE(desc->scales[1]);
    default:
        break;
    }
    /* As a library of ROCm 7. */
    if (getenv("ASSAY_SHIM_FP4") == NULL)
        return HIPBLAS_INVALID_VALUE;
    switch (attribute) {
    case HIPBLASLT_DESC_A_SCALE_MODE:
        TAKE(desc->scale_modes[0]);
    case HIPBLASLT_DESC_B_SCALE_MODE:
        TAKE(desc->scale_modes[1]);
    default:
        return HIPBLAS_INVALID_VALUE;
    }
}

unsigned hipblasLtMatmulPreferenceCreate(void **preference)
{
    SHIM_FAULT(unsigned, hipblasLtMatmulPreferenceCreate);
    return create(preference, sizeof(struct preference));
}

unsigned hipblasLtMatmulPreferenceDestroy(void *preference)
{
    DESTROY(hipblasLtMatmulPreferenceDestroy, preference);
}

unsigned hipblasLtMatmulPreferenceSetAttribute(void *preference, int attribute, const void *value,
                                               size_t size)
{
    SHIM_FAULT(unsigned, hipblasLtMatmulPreferenceSetAttribute);
    if (attribute != HIPBLASLT_PREF_WORKSPACE)
        return HIPBLAS_INVALID_VALUE;
    TAKE(((struct preference *)preference)->workspace);
}

static bool is_fnuz(int type)
{
    return type == HIP_R_8F_E4M3_FNUZ || type == HIP_R_8F_E5M2_FNUZ;
}

static bool does(const struct desc *desc, const struct layout *a, const struct layout *b,
                 const struct layout *d)
{
    switch (desc->compute) {
    case HIPBLAS_COMPUTE_32I:
        return a->type == HIP_R_8I && b->type == HIP_R_8I && d->type == HIP_R_32I;
    case HIPBLAS_COMPUTE_32F_FAST_TF32:
        return a->type == HIP_R_32F && b->type == HIP_R_32F && d->type == HIP_R_32F;
    case HIPBLAS_COMPUTE_32F:
        if (a->type == HIP_R_4F_E2M1)
            return getenv("ASSAY_SHIM_FP4") != NULL && b->type == a->type && a->rows % 128 == 0 &&
                   desc->scale_modes[0] == HIPBLASLT_SCALE_VEC32_UE8M0 &&
                   desc->scale_modes[1] == HIPBLASLT_SCALE_VEC32_UE8M0 && desc->scales[0] != NULL &&
                   desc->scales[1] != NULL;
        if (is_fnuz(a->type) && is_fnuz(b->type))
            return d->type == HIP_R_32F || d->type == HIP_R_16F || d->type == HIP_R_16BF;
        if (a->type == HIP_R_8F_E4M3 || a->type == HIP_R_8F_E5M2 || a->type == HIP_R_64F)
            return false;
        return a->type == b->type && (d->type == a->type || d->type == HIP_R_32F);
    default:
        return false;
    }
}

unsigned hipblasLtMatmulAlgoGetHeuristic(void *handle, void *desc, void *a, void *b, void *c,
                                         void *d, void *preference, int wanted,
                                         struct hipblaslt_result *results, int *count)
{
    (void)handle;
    (void)c;
    SHIM_FAULT(unsigned, hipblasLtMatmulAlgoGetHeuristic);
    *count = 0;
    if (wanted < 1)
        return HIPBLAS_INVALID_VALUE;
    if (!does(desc, a, b, d) || ((struct preference *)preference)->workspace < WORKSPACE)
        return 0; /* as the library: no error, and no algorithm */
    for (; *count < wanted && *count < (int)core_algorithm_count(); ++*count) {
        const int solution = SOLUTION + *count;

        memset(&results[*count], 0, sizeof(*results));
        memcpy(results[*count].algo.data, &solution, sizeof(solution));
        results[*count].workspace_bytes = WORKSPACE;
        results[*count].waves = 1.0f;
    }
    return 0;
}

static struct core_matrix matrix(const struct layout *layout, bool transpose, const void *data)
{
    struct core_matrix made = {.transpose = transpose,
                               .stride = (uint64_t)layout->stride,
                               .batch_stride = (uint64_t)layout->batch_stride,
                               .data = data};

    type_of(layout->type, 0, &made.type);
    return made;
}

/* By the scale's or compute type's width and kind. */
static double scalar(enum core_type type, const void *value)
{
    double f64;
    float f32;
    int32_t i32;

    if (type == CORE_F64) {
        memcpy(&f64, value, sizeof(f64));
        return f64;
    }
    if (type == CORE_I32) {
        memcpy(&i32, value, sizeof(i32));
        return i32;
    }
    memcpy(&f32, value, sizeof(f32));
    return (double)f32;
}

unsigned hipblasLtMatmul(void *handle, void *object, const void *alpha, const void *a,
                         void *a_object, const void *b, void *b_object, const void *beta,
                         const void *c, void *c_object, void *d, void *d_object,
                         const struct hipblaslt_algo *algo, void *workspace, size_t workspace_bytes,
                         struct ihipStream_t *stream)
{
    const struct desc *desc = object;
    const struct layout *a_layout = a_object, *b_layout = b_object, *d_layout = d_object;
    const bool at = desc->transpose_a == HIPBLAS_OP_T, bt = desc->transpose_b == HIPBLAS_OP_T;
    enum core_type scale = CORE_F32;
    struct core_gemm gemm = {
        .m = d_layout->rows,
        .n = d_layout->columns,
        .k = at ? a_layout->rows : a_layout->columns,
        .batch = (uint64_t)d_layout->batch,
        .a = matrix(a_layout, at, a),
        .b = matrix(b_layout, bt, b),
        .c = matrix(c_object, false, c),
        .d = matrix(d_layout, false, d),
    };
    int solution = 0;

    (void)handle;
    SHIM_FAULT(unsigned, hipblasLtMatmul);
    memcpy(&solution, algo->data, sizeof(solution));
    type_of(desc->scale, 0, &scale);
    gemm.alpha = scalar(scale, alpha);
    gemm.beta = scalar(scale, beta);
    if (stream == NULL || solution < SOLUTION ||
        solution - SOLUTION >= (int)core_algorithm_count() || workspace_bytes < WORKSPACE ||
        core_bytes_at(workspace) < WORKSPACE ||
        gemm.m != (at ? a_layout->columns : a_layout->rows) ||
        gemm.n != (bt ? b_layout->rows : b_layout->columns) ||
        gemm.k != (bt ? b_layout->columns : b_layout->rows))
        return HIPBLAS_INVALID_VALUE;
    if (desc->epilogue == HIPBLASLT_EPILOGUE_BIAS) {
        gemm.bias = desc->bias;
        gemm.bias_type = gemm.d.type;
        if (desc->bias_type >= 0 && !type_of(desc->bias_type, 0, &gemm.bias_type))
            return HIPBLAS_INVALID_VALUE;
    }
    if (!core_algorithm_launch((unsigned)(solution - SOLUTION)))
        return HIPBLAS_EXECUTION_FAILED;
    return core_gemm_run(&gemm) == CORE_OK ? 0 : HIPBLAS_INVALID_VALUE;
}

unsigned rocblas_create_handle(struct _rocblas_handle **handle)
{
    void *made = NULL;

    SHIM_FAULT(unsigned, rocblas_create_handle);
    if (create(&made, 1) != 0)
        return ROCBLAS_memory_error;
    *handle = made;
    return 0;
}

unsigned rocblas_destroy_handle(struct _rocblas_handle *handle)
{
    DESTROY(rocblas_destroy_handle, handle);
}

unsigned rocblas_set_stream(struct _rocblas_handle *handle, struct ihipStream_t *stream)
{
    (void)handle;
    SHIM_FAULT(unsigned, rocblas_set_stream);
    return stream != NULL ? 0 : ROCBLAS_invalid_value;
}

unsigned rocblas_get_version_string(char *text, size_t size)
{
    static const char version[] = "4.2.1.assay";

    SHIM_FAULT(unsigned, rocblas_get_version_string);
    if (size < sizeof(version))
        return ROCBLAS_invalid_size;
    memcpy(text, version, sizeof(version));
    return 0;
}

unsigned rocblas_gemm_strided_batched_ex(
    struct _rocblas_handle *handle, unsigned transpose_a, unsigned transpose_b, int32_t m,
    int32_t n, int32_t k, const void *alpha, const void *a, unsigned a_type, int32_t a_stride,
    int64_t a_batch, const void *b, unsigned b_type, int32_t b_stride, int64_t b_batch,
    const void *beta, const void *c, unsigned c_type, int32_t c_stride, int64_t c_batch, void *d,
    unsigned d_type, int32_t d_stride, int64_t d_batch, int32_t count, unsigned compute_type,
    unsigned algo, int32_t solution, uint32_t flags)
{
    struct core_gemm gemm = {
        .m = (uint64_t)m,
        .n = (uint64_t)n,
        .k = (uint64_t)k,
        .batch = (uint64_t)count,
        .a = {.transpose = transpose_a == ROCBLAS_OPERATION_TRANSPOSE,
              .stride = (uint64_t)a_stride,
              .batch_stride = (uint64_t)a_batch,
              .data = a},
        .b = {.transpose = transpose_b == ROCBLAS_OPERATION_TRANSPOSE,
              .stride = (uint64_t)b_stride,
              .batch_stride = (uint64_t)b_batch,
              .data = b},
        .c = {.stride = (uint64_t)c_stride, .batch_stride = (uint64_t)c_batch, .data = c},
        .d = {.stride = (uint64_t)d_stride, .batch_stride = (uint64_t)d_batch, .data = d},
    };
    enum core_type compute = CORE_F32;

    (void)handle;
    (void)solution;
    SHIM_FAULT(unsigned, rocblas_gemm_strided_batched_ex);
    if (algo != ROCBLAS_ALGO_STANDARD || flags != 0 || c_type != d_type)
        return ROCBLAS_invalid_value;
    if (!type_of(0, (int)a_type, &gemm.a.type) || !type_of(0, (int)b_type, &gemm.b.type) ||
        !type_of(0, (int)c_type, &gemm.c.type) || !type_of(0, (int)d_type, &gemm.d.type) ||
        !type_of(0, (int)compute_type, &compute) || a_type != b_type)
        return ROCBLAS_not_implemented;
    gemm.alpha = scalar(compute, alpha);
    gemm.beta = scalar(compute, beta);
    return core_gemm_run(&gemm) == CORE_OK ? 0 : ROCBLAS_invalid_value;
}
