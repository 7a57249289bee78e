#include <stdio.h>
#include <string.h>

#include "backends/hip/gemm.h"

#define WORKSPACE_MOST ((uint64_t)64 << 20)

static enum status fail(struct error *err, const char *function, int code)
{
    const enum status status = code == HIPBLAS_NOT_SUPPORTED || code == HIPBLAS_ARCH_MISMATCH ||
                                       code == HIPBLAS_INVALID_ENUM || code == HIPBLAS_INVALID_VALUE
                                   ? STATUS_UNSUPPORTED
                               : code == HIPBLAS_ALLOC_FAILED ? STATUS_DEVICE_MEMORY
                                                              : STATUS_DEVICE;

    if (code == HIPBLAS_SUCCESS)
        return error_set(err, STATUS_DEVICE, "%s: succeeded, but gave nothing", function);
    return error_set(err, status, "%s: %s (%d)", function, hipblaslt_status_name(code), code);
}

/* The device's handle, made once; an old library's types have other numbers. */
static enum status open_handle(struct hip_device *device, int *ret_version, struct error *err)
{
    struct hip_state *state = device->state;
    void *handle = NULL;
    int code;

    hip_hipblaslt_open(state);
    if (state->hipblaslt_lib.status != STATUS_OK)
        return error_set(err, STATUS_UNAVAILABLE, "hipBLASLt: %s",
                         state->hipblaslt_lib.error.message);
    if (device->hipblaslt == NULL) {
        code = state->hipblaslt.hipblasLtCreate(&handle);
        if (code != HIPBLAS_SUCCESS || handle == NULL)
            return fail(err, "hipblasLtCreate", code);
        device->hipblaslt = handle;
    }
    code = state->hipblaslt.hipblasLtGetVersion(device->hipblaslt, ret_version);
    if (code != HIPBLAS_SUCCESS)
        return fail(err, "hipblasLtGetVersion", code);
    if (*ret_version < HIPBLASLT_VERSION_LEAST)
        return error_set(err, STATUS_UNSUPPORTED,
                         "hipBLASLt: its version is %d; 0.6.0 (%d, of ROCm 6.0) is the least",
                         *ret_version, HIPBLASLT_VERSION_LEAST);
    return STATUS_OK;
}

/* -1: the library has no such type. */
static int type_of(enum dtype type)
{
    switch (type) {
    case DTYPE_F64:
        return HIP_R_64F;
    case DTYPE_F32:
        return HIP_R_32F;
    case DTYPE_BF16:
        return HIP_R_16BF;
    case DTYPE_F16:
        return HIP_R_16F;
    case DTYPE_E4M3:
        return HIP_R_8F_E4M3;
    case DTYPE_E5M2:
        return HIP_R_8F_E5M2;
    case DTYPE_E4M3_FNUZ:
        return HIP_R_8F_E4M3_FNUZ;
    case DTYPE_E5M2_FNUZ:
        return HIP_R_8F_E5M2_FNUZ;
    case DTYPE_E2M1:
        return HIP_R_4F_E2M1;
    case DTYPE_I8:
        return HIP_R_8I;
    case DTYPE_I32:
        return HIP_R_32I;
    default:
        return -1;
    }
}

/* MXFP4: a scale in e8m0 for each 32 elements along k. Asked for, not run, so no scale is read. */
static int set_block_scales(const struct hip_hipblaslt *api, void *desc)
{
    static const int modes[] = {HIPBLASLT_DESC_A_SCALE_MODE, HIPBLASLT_DESC_B_SCALE_MODE};
    static const int pointers[] = {HIPBLASLT_DESC_A_SCALE_POINTER, HIPBLASLT_DESC_B_SCALE_POINTER};
    const void *address = (const void *)(uintptr_t)256;
    const uint32_t mode = HIPBLASLT_SCALE_VEC32_UE8M0;
    int code = HIPBLAS_SUCCESS;

    for (size_t i = 0; i < 2 && code == HIPBLAS_SUCCESS; i++) {
        code = api->hipblasLtMatmulDescSetAttribute(desc, modes[i], &mode, sizeof(mode));
        if (code == HIPBLAS_SUCCESS)
            code =
                api->hipblasLtMatmulDescSetAttribute(desc, pointers[i], &address, sizeof(address));
    }
    return code;
}

static enum status create_desc(const struct hip_hipblaslt *api, struct hip_gemm *gemm,
                               struct error *err)
{
    const struct gemm_shape *shape = &gemm->base.desc.gemm;
    const int compute = shape->precision == PRECISION_INT8   ? HIPBLAS_COMPUTE_32I
                        : shape->precision == PRECISION_TF32 ? HIPBLAS_COMPUTE_32F_FAST_TF32
                                                             : HIPBLAS_COMPUTE_32F;
    const int scale = shape->precision == PRECISION_INT8 ? HIP_R_32I : HIP_R_32F;
    const int32_t transpose_a = shape->b.transpose ? HIPBLAS_OP_T : HIPBLAS_OP_N;
    const int32_t transpose_b = shape->a.transpose ? HIPBLAS_OP_T : HIPBLAS_OP_N;
    const uint32_t epilogue = HIPBLASLT_EPILOGUE_BIAS;
    const int32_t bias_type = type_of(shape->bias_type);
    int code = api->hipblasLtMatmulDescCreate(&gemm->desc, compute, scale);

    if (code != HIPBLAS_SUCCESS || gemm->desc == NULL)
        return fail(err, "hipblasLtMatmulDescCreate", code);
    code = api->hipblasLtMatmulDescSetAttribute(gemm->desc, HIPBLASLT_DESC_TRANSA, &transpose_a,
                                                sizeof(transpose_a));
    if (code == HIPBLAS_SUCCESS)
        code = api->hipblasLtMatmulDescSetAttribute(gemm->desc, HIPBLASLT_DESC_TRANSB, &transpose_b,
                                                    sizeof(transpose_b));
    if (code == HIPBLAS_SUCCESS && shape->precision == PRECISION_FP4)
        code = set_block_scales(api, gemm->desc);
    if (code == HIPBLAS_SUCCESS && shape->bias)
        code = api->hipblasLtMatmulDescSetAttribute(gemm->desc, HIPBLASLT_DESC_EPILOGUE, &epilogue,
                                                    sizeof(epilogue));
    if (code == HIPBLAS_SUCCESS && shape->bias)
        code = api->hipblasLtMatmulDescSetAttribute(gemm->desc, HIPBLASLT_DESC_BIAS_TYPE,
                                                    &bias_type, sizeof(bias_type));
    return code == HIPBLAS_SUCCESS ? STATUS_OK : fail(err, "hipblasLtMatmulDescSetAttribute", code);
}

/* A matrix that lies in lines of `length` elements, `lines` of them, read by columns. */
static enum status create_layout(const struct hip_hipblaslt *api, const struct gemm_matrix *matrix,
                                 uint64_t rows, uint64_t columns, uint64_t count, uint64_t step,
                                 void **ret, struct error *err)
{
    const uint64_t lines = matrix->transpose ? columns : rows;
    const uint64_t length = matrix->transpose ? rows : columns;
    const int32_t batch = (int32_t)count;
    const int64_t stride = (int64_t)step;
    const int type = type_of(matrix->type);
    int code;

    if (type < 0)
        return error_set(err, STATUS_UNSUPPORTED, "hipBLASLt has no type %s",
                         dtype_name(matrix->type));
    code = api->hipblasLtMatrixLayoutCreate(ret, type, length, lines, (int64_t)matrix->stride);
    if (code != HIPBLAS_SUCCESS || *ret == NULL)
        return fail(err, "hipblasLtMatrixLayoutCreate", code);
    if (count == 1)
        return STATUS_OK;
    code = api->hipblasLtMatrixLayoutSetAttribute(*ret, HIPBLASLT_LAYOUT_BATCH_COUNT, &batch,
                                                  sizeof(batch));
    if (code == HIPBLAS_SUCCESS)
        code = api->hipblasLtMatrixLayoutSetAttribute(*ret, HIPBLASLT_LAYOUT_BATCH_STRIDE, &stride,
                                                      sizeof(stride));
    return code == HIPBLAS_SUCCESS ? STATUS_OK
                                   : fail(err, "hipblasLtMatrixLayoutSetAttribute", code);
}

static enum status create_layouts(const struct hip_hipblaslt *api, struct hip_gemm *gemm,
                                  struct error *err)
{
    const struct gemm_shape *shape = &gemm->base.desc.gemm;
    const struct hip_batch *batch = &gemm->batch;

    TRY(create_layout(api, &shape->b, shape->k, shape->n, batch->count, batch->b_step,
                      &gemm->layout_a, err));
    TRY(create_layout(api, &shape->a, shape->m, shape->k, batch->count, batch->a_step,
                      &gemm->layout_b, err));
    return create_layout(api, &shape->c, shape->m, shape->n, batch->count, batch->c_step,
                         &gemm->layout_c, err);
}

/* Keeps of the library's list what is an algorithm and fits; an answer of none is UNSUPPORTED. */
static enum status keep_fitting(struct hip_gemm *gemm, int count, struct error *err)
{
    size_t refused = 0;

    for (int i = 0; i < count && i < HIP_GEMM_ALGORITHMS; i++) {
        if (gemm->list[i].state != HIPBLAS_SUCCESS)
            continue;
        if (gemm->list[i].workspace_bytes <= WORKSPACE_MOST)
            gemm->list[gemm->listed++] = gemm->list[i];
        else if (refused == 0)
            refused = gemm->list[i].workspace_bytes;
    }
    if (gemm->listed > 0)
        return STATUS_OK;
    if (refused > 0)
        return error_set(err, STATUS_DEVICE,
                         "hipblasLtMatmulAlgoGetHeuristic: it wants %zu bytes of workspace",
                         refused);
    return error_set(err, STATUS_UNSUPPORTED,
                     "hipblasLtMatmulAlgoGetHeuristic: it knows no algorithm for this GEMM");
}

/* The library's list, which is ordered by the time that it expects. */
static enum status ask(struct hip_device *device, struct hip_gemm *gemm, struct error *err)
{
    const struct hip_hipblaslt *api = &device->state->hipblaslt;
    const uint64_t most = WORKSPACE_MOST;
    void *preference = NULL;
    int count = 0;
    int code = api->hipblasLtMatmulPreferenceCreate(&preference);

    if (code != HIPBLAS_SUCCESS || preference == NULL)
        return fail(err, "hipblasLtMatmulPreferenceCreate", code);
    code = api->hipblasLtMatmulPreferenceSetAttribute(preference, HIPBLASLT_PREF_WORKSPACE, &most,
                                                      sizeof(most));
    if (code != HIPBLAS_SUCCESS) {
        api->hipblasLtMatmulPreferenceDestroy(preference);
        return fail(err, "hipblasLtMatmulPreferenceSetAttribute", code);
    }
    code = api->hipblasLtMatmulAlgoGetHeuristic(
        device->hipblaslt, gemm->desc, gemm->layout_a, gemm->layout_b, gemm->layout_c,
        gemm->layout_c, preference, HIP_GEMM_ALGORITHMS, gemm->list, &count);
    api->hipblasLtMatmulPreferenceDestroy(preference);
    if (code != HIPBLAS_SUCCESS)
        return fail(err, "hipblasLtMatmulAlgoGetHeuristic", code);
    snprintf(gemm->info.method, sizeof(gemm->info.method),
             "hipblasLtMatmulAlgoGetHeuristic gave an algorithm%s",
             gemm->base.desc.gemm.precision == PRECISION_FP4 ? ", a scale each 32 elements" : "");
    return keep_fitting(gemm, count, err);
}

/* Takes an algorithm of the list, with as much workspace as it wants. */
static enum status take(struct hip_device *device, struct hip_gemm *gemm, uint32_t index,
                        struct error *err)
{
    const size_t bytes = gemm->list[index].workspace_bytes;
    int solution = 0;

    TRY(gpu_workspace_resize(&device->base, &gemm->workspace, bytes, err));
    gemm->selected = index;
    memcpy(&solution, gemm->list[index].algo.data, sizeof(solution));
    snprintf(gemm->info.algorithm, sizeof(gemm->info.algorithm), "solution %d", solution);
    gemm->info.workspace_bytes = bytes;
    return STATUS_OK;
}

static enum status choose(struct hip_device *device, struct hip_gemm *gemm, uint32_t index,
                          struct error *err)
{
    TRY(device->base.driver->synchronize(&device->base, err));
    return take(device, gemm, index, err);
}

static void destroy(struct hip_device *device, struct hip_gemm *gemm)
{
    const struct hip_hipblaslt *api = &device->state->hipblaslt;
    void *layouts[] = {gemm->layout_a, gemm->layout_b, gemm->layout_c};

    for (size_t i = 0; i < 3; i++)
        if (layouts[i] != NULL)
            api->hipblasLtMatrixLayoutDestroy(layouts[i]);
    if (gemm->desc != NULL)
        api->hipblasLtMatmulDescDestroy(gemm->desc);
    gpu_workspace_free(&device->base, &gemm->workspace);
}

static enum status create(struct hip_device *device, struct hip_gemm *gemm, struct error *err)
{
    const struct hip_hipblaslt *api = &device->state->hipblaslt;
    int version = 0;

    if (gemm->base.desc.gemm.precision == PRECISION_FP64)
        return error_set(err, STATUS_UNSUPPORTED, "hipBLASLt: not asked for fp64");
    TRY(open_handle(device, &version, err));
    TRY(create_desc(api, gemm, err));
    TRY(create_layouts(api, gemm, err));
    TRY(ask(device, gemm, err));
    TRY(take(device, gemm, 0, err));
    snprintf(gemm->info.library, sizeof(gemm->info.library), "hipBLASLt");
    hipblaslt_version_text(version, gemm->info.version, sizeof(gemm->info.version));
    gemm->info.algorithms = gemm->listed;
    gemm->info.support = SUPPORT_NATIVE;
    return STATUS_OK;
}

static enum status run(struct hip_device *device, struct hip_gemm *gemm,
                       const struct hip_call *call, struct error *err)
{
    const struct hip_hipblaslt *api = &device->state->hipblaslt;
    const bool integer = gemm->base.desc.gemm.precision == PRECISION_INT8;
    const float alpha = gemm->base.desc.gemm.alpha, beta = gemm->base.desc.gemm.add ? 1.0f : 0.0f;
    const int32_t one = 1, zero = 0;
    const void *bias = (const void *)(uintptr_t)call->bias;
    int code;

    if (gemm->base.desc.gemm.bias && gemm->bias != call->bias) {
        code = api->hipblasLtMatmulDescSetAttribute(gemm->desc, HIPBLASLT_DESC_BIAS_POINTER, &bias,
                                                    sizeof(bias));
        if (code != HIPBLAS_SUCCESS)
            return fail(err, "hipblasLtMatmulDescSetAttribute", code);
        gemm->bias = call->bias;
    }
    code = api->hipblasLtMatmul(
        device->hipblaslt, gemm->desc, integer ? (const void *)&one : &alpha,
        (const void *)(uintptr_t)call->b, gemm->layout_a, (const void *)(uintptr_t)call->a,
        gemm->layout_b, integer ? (const void *)&zero : &beta, (const void *)(uintptr_t)call->d,
        gemm->layout_c, (void *)(uintptr_t)call->c, gemm->layout_c,
        &gemm->list[gemm->selected].algo, (void *)(uintptr_t)gemm->workspace.address,
        gemm->workspace.bytes, device->stream);
    return code == HIPBLAS_SUCCESS ? STATUS_OK : fail(err, "hipblasLtMatmul", code);
}

const struct hip_library_ops hip_gemm_hipblaslt = {create, destroy, run, choose};
