/*
 * The vendor's GEMM. cuBLASLt counts by columns, we by rows: our C[m,n] = A B is its
 * C'[n,m] = B' A', so its A is our B and the other way round, and "transposed" means the same in
 * both, since each of our matrices is the transpose of what it sees.
 */
#include "backends/cuda/gemm.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static bool type_of(enum dtype type, unsigned *ret)
{
    switch (type) {
    case DTYPE_F64:
        *ret = LT_R_64F;
        return true;
    case DTYPE_F32:
        *ret = LT_R_32F;
        return true;
    case DTYPE_BF16:
        *ret = LT_R_16BF;
        return true;
    case DTYPE_F16:
        *ret = LT_R_16F;
        return true;
    case DTYPE_E4M3:
        *ret = LT_R_8F_E4M3;
        return true;
    case DTYPE_E5M2:
        *ret = LT_R_8F_E5M2;
        return true;
    case DTYPE_E2M1:
        *ret = LT_R_4F_E2M1;
        return true;
    case DTYPE_I8:
        *ret = LT_R_8I;
        return true;
    case DTYPE_I32:
        *ret = LT_R_32I;
        return true;
    default:
        return false;
    }
}

static void compute_of(enum precision precision, unsigned *ret_compute, unsigned *ret_scale)
{
    switch (precision) {
    case PRECISION_FP64:
        *ret_compute = LT_COMPUTE_64F;
        *ret_scale = LT_R_64F;
        break;
    case PRECISION_INT8:
        *ret_compute = LT_COMPUTE_32I;
        *ret_scale = LT_R_32I;
        break;
    case PRECISION_TF32:
        *ret_compute = LT_COMPUTE_32F_FAST_TF32;
        *ret_scale = LT_R_32F;
        break;
    default:
        *ret_compute = LT_COMPUTE_32F;
        *ret_scale = LT_R_32F;
        break;
    }
}

struct batch {
    uint64_t count, loops;
    bool loops_outer; /* what is looped over; the other is the library's strided batch */
};

static bool merges(const struct gemm_shape *shape, const struct gemm_matrix *matrix)
{
    return matrix->outer_stride == shape->inner * matrix->inner_stride;
}

/* One strided batch where the two strides allow it, else loops over the smaller of the two. */
static struct batch plan_batch(const struct gemm_shape *shape)
{
    if (shape->outer == 1 || (shape->inner > 1 && merges(shape, &shape->a) &&
                              merges(shape, &shape->b) && merges(shape, &shape->c)))
        return (struct batch){shape->outer * shape->inner, 1, true};
    if (shape->inner == 1)
        return (struct batch){shape->outer, 1, false};
    if (shape->outer <= shape->inner)
        return (struct batch){shape->inner, shape->outer, true};
    return (struct batch){shape->outer, shape->inner, false};
}

static uint64_t step_of(const struct gemm_matrix *matrix, const struct batch *batch)
{
    const uint64_t stride = batch->loops_outer ? matrix->outer_stride : matrix->inner_stride;

    return stride * dtype_bits(matrix->type) / 8;
}

/* A matrix of `lines` lines of `length` elements: length rows and `lines` columns to the library.
 */
static enum status make_layout(const struct cublaslt_api *api, const struct gemm_matrix *matrix,
                               uint64_t rows, uint64_t columns, const struct batch *batch,
                               LT_LAYOUT *ret, struct error *err)
{
    const uint64_t lines = matrix->transpose ? columns : rows;
    const uint64_t length = matrix->transpose ? rows : columns;
    const int64_t offset =
        (int64_t)(batch->loops_outer ? matrix->inner_stride : matrix->outer_stride);
    const int32_t count = (int32_t)batch->count;
    unsigned type = 0;

    if (!type_of(matrix->type, &type))
        return error_set(err, STATUS_UNSUPPORTED, "cuBLASLt has no GEMM of %s",
                         dtype_name(matrix->type));
    if (batch->count > INT32_MAX || matrix->stride > INT64_MAX)
        return error_set(err, STATUS_UNSUPPORTED, "a batch of %" PRIu64 " matrices is too many",
                         batch->count);
    LT_MAKE(*ret, cublasLtMatrixLayoutCreate, ret, type, length, lines, (int64_t)matrix->stride);
    if (batch->count > 1) {
        LT(cublasLtMatrixLayoutSetAttribute, *ret, LT_LAYOUT_BATCH_COUNT, &count, sizeof(count));
        LT(cublasLtMatrixLayoutSetAttribute, *ret, LT_LAYOUT_STRIDED_BATCH_OFFSET, &offset,
           sizeof(offset));
    }
    return STATUS_OK;
}

/*
 * fp4 has a scale in e4m3 for each 16 elements along k. It is asked for, and not run: the library
 * looks at the scales' addresses, whose alignment these have, and reads none of them.
 */
static enum status set_block_scales(const struct cublaslt_api *api, struct cuda_gemm *gemm,
                                    struct error *err)
{
    const uint64_t address = CUDA_GEMM_ALIGNMENT;
    const int32_t mode = LT_SCALE_VEC16_UE4M3;

    LT(cublasLtMatmulDescSetAttribute, gemm->desc, LT_DESC_A_SCALE_MODE, &mode, sizeof(mode));
    LT(cublasLtMatmulDescSetAttribute, gemm->desc, LT_DESC_B_SCALE_MODE, &mode, sizeof(mode));
    LT(cublasLtMatmulDescSetAttribute, gemm->desc, LT_DESC_A_SCALE_POINTER, &address,
       sizeof(address));
    LT(cublasLtMatmulDescSetAttribute, gemm->desc, LT_DESC_B_SCALE_POINTER, &address,
       sizeof(address));
    return STATUS_OK;
}

static enum status make_desc(const struct cublaslt_api *api, const struct gemm_shape *shape,
                             struct cuda_gemm *gemm, struct error *err)
{
    const int32_t transpose_a = shape->b.transpose ? LT_OP_T : LT_OP_N;
    const int32_t transpose_b = shape->a.transpose ? LT_OP_T : LT_OP_N;
    const uint32_t epilogue = LT_EPILOGUE_BIAS;
    unsigned compute, scale, bias_type = 0;

    compute_of(shape->precision, &compute, &scale);
    LT_MAKE(gemm->desc, cublasLtMatmulDescCreate, &gemm->desc, compute, scale);
    LT(cublasLtMatmulDescSetAttribute, gemm->desc, LT_DESC_TRANSA, &transpose_a,
       sizeof(transpose_a));
    LT(cublasLtMatmulDescSetAttribute, gemm->desc, LT_DESC_TRANSB, &transpose_b,
       sizeof(transpose_b));
    if (shape->precision == PRECISION_FP4)
        return set_block_scales(api, gemm, err);
    if (!shape->bias)
        return STATUS_OK;
    if (!type_of(shape->bias_type, &bias_type))
        return error_set(err, STATUS_UNSUPPORTED, "cuBLASLt has no bias of %s",
                         dtype_name(shape->bias_type));
    LT(cublasLtMatmulDescSetAttribute, gemm->desc, LT_DESC_EPILOGUE, &epilogue, sizeof(epilogue));
    if (shape->bias_type != shape->c.type)
        LT(cublasLtMatmulDescSetAttribute, gemm->desc, LT_DESC_BIAS_DATA_TYPE, &bias_type,
           sizeof(bias_type));
    return STATUS_OK;
}

/* As many bytes as the algorithms that may run now want, and no more. */
static enum status alloc_workspace(struct cuda_device *device, struct cuda_gemm *gemm,
                                   uint64_t bytes, struct error *err)
{
    if (gemm->has_unaligned && gemm->unaligned.workspace_bytes > bytes)
        bytes = gemm->unaligned.workspace_bytes;
    return gpu_workspace_resize(&device->base, &gemm->workspace, bytes, err);
}

static enum status take_algorithm(struct cuda_device *device, struct cuda_gemm *gemm,
                                  const struct gemm_shape *shape, uint32_t index, struct error *err)
{
    const struct cuda_algorithm *algorithm = &gemm->list.at[index];
    char text[OPERATION_WORD_MAX];

    TRY(cuda_gemm_algorithm_text(&device->state->cublaslt, algorithm, text, err));
    TRY(alloc_workspace(device, gemm, algorithm->workspace_bytes, err));
    cuda_gemm_take_algorithm(gemm, shape, index, text);
    return STATUS_OK;
}

static void destroy(struct operation *operation)
{
    struct cuda_device *device = cuda_device(gpu_device(operation->device));
    struct cuda_gemm *gemm = (struct cuda_gemm *)operation;
    const struct cublaslt_api *api = &device->state->cublaslt;

    if (gpu_bind(&device->base, NULL) == STATUS_OK)
        gpu_workspace_free(&device->base, &gemm->workspace);
    if (gemm->c != NULL)
        api->cublasLtMatrixLayoutDestroy(gemm->c);
    if (gemm->b != NULL)
        api->cublasLtMatrixLayoutDestroy(gemm->b);
    if (gemm->a != NULL)
        api->cublasLtMatrixLayoutDestroy(gemm->a);
    if (gemm->desc != NULL)
        api->cublasLtMatmulDescDestroy(gemm->desc);
    free(gemm);
}

/* The largest power of two up to CUDA_GEMM_ALIGNMENT that every address and every step keeps. */
static uint32_t alignment_of(const struct cuda_gemm *gemm, uint64_t a, uint64_t b, uint64_t c,
                             uint64_t d, uint64_t bias)
{
    const uint64_t all = a | b | c | d | bias | CUDA_GEMM_ALIGNMENT |
                         (gemm->loops > 1 ? gemm->a_step | gemm->b_step | gemm->c_step : 0);

    return (uint32_t)(all & -all);
}

/* An odd offset: another algorithm, looked for once and kept. */
static enum status provide_unaligned(struct cuda_device *device, struct cuda_gemm *gemm,
                                     uint32_t alignment, struct error *err)
{
    const uint64_t aligned = gemm->list.at[gemm->selected].workspace_bytes;
    struct cuda_algorithm_list list;
    enum status status;

    if (gemm->has_unaligned && alignment >= gemm->unaligned_to)
        return STATUS_OK;
    status = cuda_gemm_list(device, gemm, &gemm->base.desc.gemm, alignment, &list, err);
    if (status != STATUS_OK && err != NULL)
        error_prefix(err, "operands at multiples of %" PRIu32 " bytes, not of %" PRIu32, alignment,
                     gemm->aligned_to);
    TRY(status);
    TRY(device->base.driver->synchronize(&device->base, err));
    TRY(alloc_workspace(device, gemm,
                        list.at[0].workspace_bytes > aligned ? list.at[0].workspace_bytes : aligned,
                        err));
    gemm->unaligned = list.at[0];
    gemm->has_unaligned = true;
    gemm->unaligned_to = alignment;
    return STATUS_OK;
}

static enum status select_algorithm(struct operation *operation, uint32_t index, struct error *err)
{
    struct cuda_device *device = cuda_device(gpu_device(operation->device));
    struct cuda_gemm *gemm = (struct cuda_gemm *)operation;

    TRY(gpu_bind(&device->base, err));
    TRY(device->base.driver->synchronize(&device->base, err));
    return take_algorithm(device, gemm, &operation->desc.gemm, index, err);
}

static enum status run(struct operation *operation, const union operands *all, struct error *err)
{
    struct cuda_device *device = cuda_device(gpu_device(operation->device));
    const struct gemm_operands *operands = &all->gemm;
    struct cuda_gemm *gemm = (struct cuda_gemm *)operation;
    const struct cublaslt_api *api = &device->state->cublaslt;
    const struct gemm_shape *shape = &operation->desc.gemm;
    const uint64_t a = gpu_operand_address(&operands->a, dtype_bits(shape->a.type));
    const uint64_t b = gpu_operand_address(&operands->b, dtype_bits(shape->b.type));
    const uint64_t c = gpu_operand_address(&operands->c, dtype_bits(shape->c.type));
    const uint64_t d =
        shape->add ? gpu_operand_address(&operands->d, dtype_bits(shape->c.type)) : c;
    const uint64_t bias =
        shape->bias ? gpu_operand_address(&operands->bias, dtype_bits(shape->bias_type)) : 0;
    const uint32_t alignment = alignment_of(gemm, a, b, c, d, bias);
    const double alpha64 = gemm->alpha, beta64 = shape->add ? 1.0 : 0.0;
    const float alpha32 = (float)alpha64, beta32 = (float)beta64;
    const int32_t alpha_int = 1, beta_int = 0;
    const void *alpha = &alpha32, *beta = &beta32;
    const LT_ALGORITHM *algorithm = &gemm->list.at[gemm->selected].algorithm;

    TRY(gpu_bind(&device->base, err));
    if (shape->precision == PRECISION_FP4)
        return error_set(err, STATUS_UNSUPPORTED,
                         "a GEMM in fp4 needs a scale for each 16 elements, which this GEMM "
                         "has no place for: cuBLASLt is asked whether it has one, no more");
    if (alignment < gemm->aligned_to) {
        TRY(provide_unaligned(device, gemm, alignment, err));
        algorithm = &gemm->unaligned.algorithm;
    }
    if (shape->precision == PRECISION_FP64) {
        alpha = &alpha64;
        beta = &beta64;
    } else if (shape->precision == PRECISION_INT8) {
        alpha = &alpha_int;
        beta = &beta_int;
    }
    if (shape->bias && bias != gemm->bias) {
        LT(cublasLtMatmulDescSetAttribute, gemm->desc, LT_DESC_BIAS_POINTER, &bias, sizeof(bias));
        gemm->bias = bias;
    }
    for (uint64_t i = 0; i < gemm->loops; i++)
        LT(cublasLtMatmul, device->cublaslt, gemm->desc, alpha,
           (const void *)(uintptr_t)(b + i * gemm->b_step), gemm->b,
           (const void *)(uintptr_t)(a + i * gemm->a_step), gemm->a, beta,
           (const void *)(uintptr_t)(d + i * gemm->c_step), gemm->c,
           (void *)(uintptr_t)(c + i * gemm->c_step), gemm->c, algorithm,
           (void *)(uintptr_t)gemm->workspace.address, gemm->workspace.bytes, device->stream);
    return STATUS_OK;
}

static enum status describe(const struct operation *operation, struct operation_info *ret,
                            struct error *err)
{
    const struct cuda_device *device = cuda_device(gpu_device(operation->device));
    const struct cuda_gemm *gemm = (const struct cuda_gemm *)operation;

    (void)err;
    snprintf(ret->library, sizeof(ret->library), "cublasLt");
    snprintf(ret->version, sizeof(ret->version), "%s", device->state->cublaslt_version);
    snprintf(ret->algorithm, sizeof(ret->algorithm), "%s", gemm->algorithm_text);
    ret->workspace_bytes = gemm->workspace.bytes;
    ret->algorithms = gemm->list.count;
    ret->support = gemm->support;
    snprintf(ret->method, sizeof(ret->method), "%s", gemm->method);
    return STATUS_OK;
}

static enum status prepare(struct operation *operation, struct error *err)
{
    struct cuda_device *device = cuda_device(gpu_device(operation->device));
    struct cuda_gemm *gemm = (struct cuda_gemm *)operation;
    const struct gemm_shape *shape = &operation->desc.gemm;
    const struct cublaslt_api *api = &device->state->cublaslt;
    const struct batch batch = plan_batch(shape);

    gemm->alpha = (double)shape->alpha;
    gemm->loops = batch.loops;
    gemm->a_step = step_of(&shape->a, &batch);
    gemm->b_step = step_of(&shape->b, &batch);
    gemm->c_step = step_of(&shape->c, &batch);
    gemm->aligned_to = alignment_of(gemm, 0, 0, 0, 0, 0);
    TRY(gpu_bind(&device->base, err));
    TRY(make_desc(api, shape, gemm, err));
    TRY(make_layout(api, &shape->a, shape->m, shape->k, &batch, &gemm->a, err));
    TRY(make_layout(api, &shape->b, shape->k, shape->n, &batch, &gemm->b, err));
    TRY(make_layout(api, &shape->c, shape->m, shape->n, &batch, &gemm->c, err));
    TRY(cuda_gemm_list(device, gemm, shape, gemm->aligned_to, &gemm->list, err));
    return take_algorithm(device, gemm, shape, 0, err);
}

enum status cuda_gemm_create(struct device *device, const struct operation_desc *desc,
                             struct operation **ret, struct error *err)
{
    static const struct operation_ops ops = {.size = sizeof(struct cuda_gemm),
                                             .prepare = prepare,
                                             .destroy = destroy,
                                             .run = run,
                                             .describe = describe,
                                             .select = select_algorithm};

    return operation_make(&ops, device, desc, ret, err);
}
