#include <stdio.h>

#include "backends/hip/gemm.h"

#define PROBE_SIDE 64

static enum status fail(struct error *err, const char *function, int code)
{
    const enum status status =
        code == ROCBLAS_not_implemented || code == ROCBLAS_excluded_from_build ||
                code == ROCBLAS_arch_mismatch || code == ROCBLAS_invalid_value
            ? STATUS_UNSUPPORTED
        : code == ROCBLAS_memory_error ? STATUS_DEVICE_MEMORY
                                       : STATUS_DEVICE;

    if (code == ROCBLAS_success)
        return error_set(err, STATUS_DEVICE, "%s: succeeded, but gave nothing", function);
    return error_set(err, status, "%s: %s (%d)", function, rocblas_status_name(code), code);
}

static enum status open_handle(struct hip_device *device, struct error *err)
{
    struct hip_state *state = device->state;
    struct _rocblas_handle *handle = NULL;
    int code;

    hip_rocblas_open(state);
    if (state->rocblas_lib.status != STATUS_OK)
        return error_set(err, STATUS_UNAVAILABLE, "rocBLAS: %s", state->rocblas_lib.error.message);
    if (device->rocblas != NULL)
        return STATUS_OK;
    code = state->rocblas.rocblas_create_handle(&handle);
    if (code != ROCBLAS_success || handle == NULL)
        return fail(err, "rocblas_create_handle", code);
    code = state->rocblas.rocblas_set_stream(handle, device->stream);
    if (code != ROCBLAS_success) {
        state->rocblas.rocblas_destroy_handle(handle);
        return fail(err, "rocblas_set_stream", code);
    }
    device->rocblas = handle;
    return STATUS_OK;
}

/* -1: the library has no such type in this function. */
static int type_of(enum dtype type)
{
    switch (type) {
    case DTYPE_F64:
        return ROCBLAS_f64_r;
    case DTYPE_F32:
        return ROCBLAS_f32_r;
    case DTYPE_BF16:
        return ROCBLAS_bf16_r;
    case DTYPE_F16:
        return ROCBLAS_f16_r;
    case DTYPE_I8:
        return ROCBLAS_i8_r;
    case DTYPE_I32:
        return ROCBLAS_i32_r;
    default:
        return -1;
    }
}

static int compute_type(enum precision precision)
{
    return precision == PRECISION_FP64   ? ROCBLAS_f64_r
           : precision == PRECISION_INT8 ? ROCBLAS_i32_r
                                         : ROCBLAS_f32_r;
}

/* alpha and beta in the compute type. */
union scalar {
    float f32;
    double f64;
    int32_t i32;
};

static union scalar scalar_of(enum precision precision, float value)
{
    union scalar scalar = {.f64 = 0.0};

    if (precision == PRECISION_FP64)
        scalar.f64 = (double)value;
    else if (precision == PRECISION_INT8)
        scalar.i32 = (int32_t)value;
    else
        scalar.f32 = value;
    return scalar;
}

static int multiply(struct hip_device *device, const struct gemm_shape *shape,
                    const struct hip_batch *batch, const struct hip_call *call)
{
    const union scalar alpha = scalar_of(shape->precision, shape->alpha);
    const union scalar beta = scalar_of(shape->precision, shape->add ? 1.0f : 0.0f);

    return device->state->rocblas.rocblas_gemm_strided_batched_ex(
        device->rocblas, shape->b.transpose ? ROCBLAS_OPERATION_TRANSPOSE : ROCBLAS_OPERATION_NONE,
        shape->a.transpose ? ROCBLAS_OPERATION_TRANSPOSE : ROCBLAS_OPERATION_NONE,
        (int32_t)shape->n, (int32_t)shape->m, (int32_t)shape->k, &alpha,
        (const void *)(uintptr_t)call->b, type_of(shape->b.type), (int32_t)shape->b.stride,
        (int64_t)batch->b_step, (const void *)(uintptr_t)call->a, type_of(shape->a.type),
        (int32_t)shape->a.stride, (int64_t)batch->a_step, &beta, (const void *)(uintptr_t)call->d,
        type_of(shape->c.type), (int32_t)shape->c.stride, (int64_t)batch->c_step,
        (void *)(uintptr_t)call->c, type_of(shape->c.type), (int32_t)shape->c.stride,
        (int64_t)batch->c_step, (int32_t)batch->count, compute_type(shape->precision),
        ROCBLAS_ALGO_STANDARD, 0, 0);
}

/*
 * rocBLAS has no question of the kind "do you have this": a small GEMM of the same types and
 * transpositions is run.
 */
static enum status ask(struct hip_device *device, const struct gemm_shape *shape, struct error *err)
{
    struct gemm_shape small = *shape;
    const struct hip_batch one = {.calls = 1, .count = 1};
    const uint64_t matrix = PROBE_SIDE * PROBE_SIDE * sizeof(double);
    struct hip_call call = {0};
    uint64_t memory = 0;
    enum status status = device->base.driver->memory_alloc(&device->base, 3 * matrix, &memory, err);
    int code;

    TRY(status);
    small.m = small.n = small.k = PROBE_SIDE;
    small.a.stride = small.b.stride = small.c.stride = PROBE_SIDE;
    call.a = memory;
    call.b = memory + matrix;
    call.c = call.d = memory + 2 * matrix;
    code = multiply(device, &small, &one, &call);
    if (code != ROCBLAS_success)
        status = fail(err, "rocblas_gemm_strided_batched_ex", code);
    else
        status = device->base.driver->synchronize(&device->base, err);
    device->base.driver->memory_free(&device->base, memory);
    return status;
}

static enum status create(struct hip_device *device, struct hip_gemm *gemm, struct error *err)
{
    const struct gemm_shape *shape = &gemm->base.desc.gemm;
    struct operation_info *info = &gemm->info;
    const bool own = shape->precision == PRECISION_FP32 || shape->precision == PRECISION_FP64;

    if (type_of(shape->a.type) < 0 || type_of(shape->b.type) < 0 || type_of(shape->c.type) < 0 ||
        shape->precision == PRECISION_TF32)
        return error_set(err, STATUS_UNSUPPORTED, "rocBLAS is not asked for %s",
                         precision_name(shape->precision));
    if (shape->bias)
        return error_set(err, STATUS_UNSUPPORTED, "rocBLAS adds no bias");
    TRY(open_handle(device, err));
    TRY(ask(device, shape, err));
    snprintf(info->library, sizeof(info->library), "rocBLAS");
    if (device->state->rocblas.rocblas_get_version_string(info->version, sizeof(info->version)) !=
        ROCBLAS_success)
        info->version[0] = '\0';
    info->version[sizeof(info->version) - 1] = '\0';
    /* It also does 16 and 8 bits on devices that widen them first, and does not say which. */
    info->support = own ? SUPPORT_NATIVE : SUPPORT_UNKNOWN;
    snprintf(
        info->method, sizeof(info->method),
        own ? "rocblas_gemm_strided_batched_ex ran a small GEMM"
            : "rocblas_gemm_strided_batched_ex ran one; it does not report by which instructions");
    return STATUS_OK;
}

static enum status run(struct hip_device *device, struct hip_gemm *gemm,
                       const struct hip_call *call, struct error *err)
{
    int code = multiply(device, &gemm->base.desc.gemm, &gemm->batch, call);

    return code == ROCBLAS_success ? STATUS_OK : fail(err, "rocblas_gemm_strided_batched_ex", code);
}

const struct hip_library_ops hip_gemm_rocblas = {create, NULL, run, NULL};
