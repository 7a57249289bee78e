#include "backends/hip/gemm.h"

#include <stdlib.h>

static bool follows(const struct gemm_matrix *matrix, uint64_t inner)
{
    return matrix->outer_stride == inner * matrix->inner_stride;
}

static struct hip_batch plan_batch(const struct gemm_shape *shape)
{
    if (shape->inner == 1)
        return (struct hip_batch){1, shape->outer, shape->a.outer_stride, shape->b.outer_stride,
                                  shape->c.outer_stride};
    if (shape->outer == 1 || (follows(&shape->a, shape->inner) &&
                              follows(&shape->b, shape->inner) && follows(&shape->c, shape->inner)))
        return (struct hip_batch){1, shape->outer * shape->inner, shape->a.inner_stride,
                                  shape->b.inner_stride, shape->c.inner_stride};
    return (struct hip_batch){shape->outer, shape->inner, shape->a.inner_stride,
                              shape->b.inner_stride, shape->c.inner_stride};
}

static enum status check_sizes(const struct gemm_shape *shape, const struct hip_batch *batch,
                               struct error *err)
{
    const uint64_t sizes[] = {shape->m,        shape->n,        shape->k,    shape->a.stride,
                              shape->b.stride, shape->c.stride, batch->count};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        if (sizes[i] > INT32_MAX)
            return error_set(err, STATUS_UNSUPPORTED,
                             "AMD's libraries take sizes up to 2^31 - 1 in a GEMM");
    return STATUS_OK;
}

static void destroy(struct operation *operation)
{
    struct hip_device *device = hip_device(gpu_device(operation->device));
    struct hip_gemm *gemm = (struct hip_gemm *)operation;

    if (gpu_bind(&device->base, NULL) == STATUS_OK && gemm->ops->destroy != NULL)
        gemm->ops->destroy(device, gemm);
    free(gemm);
}

static enum status run(struct operation *operation, const union operands *all, struct error *err)
{
    struct hip_device *device = hip_device(gpu_device(operation->device));
    const struct gemm_operands *operands = &all->gemm;
    struct hip_gemm *gemm = (struct hip_gemm *)operation;
    const struct gemm_shape *shape = &operation->desc.gemm;
    const size_t c_bits = dtype_bits(shape->c.type);
    enum status status = gpu_bind(&device->base, err);

    if (shape->precision == PRECISION_FP4)
        return error_set(err, STATUS_UNSUPPORTED,
                         "a GEMM in fp4 needs a scale for each 32 elements, which this GEMM "
                         "has no place for: hipBLASLt is asked whether it has one, no more");
    for (uint64_t i = 0; i < gemm->batch.calls && status == STATUS_OK; i++) {
        struct operand a = operands->a, b = operands->b, c = operands->c, d = operands->d;
        struct hip_call call = {0};

        a.offset += i * shape->a.outer_stride;
        b.offset += i * shape->b.outer_stride;
        c.offset += i * shape->c.outer_stride;
        d.offset += i * shape->c.outer_stride;
        call.a = gpu_operand_address(&a, dtype_bits(shape->a.type));
        call.b = gpu_operand_address(&b, dtype_bits(shape->b.type));
        call.c = gpu_operand_address(&c, c_bits);
        call.d = shape->add ? gpu_operand_address(&d, c_bits) : call.c;
        if (shape->bias)
            call.bias = gpu_operand_address(&operands->bias, dtype_bits(shape->bias_type));
        status = gemm->ops->run(device, gemm, &call, err);
    }
    return status;
}

static enum status describe(const struct operation *operation, struct operation_info *ret,
                            struct error *err)
{
    (void)err;
    *ret = ((const struct hip_gemm *)operation)->info;
    return STATUS_OK;
}

static enum status select_algorithm(struct operation *operation, uint32_t index, struct error *err)
{
    struct hip_device *device = hip_device(gpu_device(operation->device));
    struct hip_gemm *gemm = (struct hip_gemm *)operation;

    TRY(gpu_bind(&device->base, err));
    return gemm->ops->select(device, gemm, index, err);
}

static enum status prepare(struct operation *operation, const struct hip_library_ops *library,
                           struct error *err)
{
    struct hip_device *device = hip_device(gpu_device(operation->device));
    struct hip_gemm *gemm = (struct hip_gemm *)operation;

    gemm->ops = library;
    gemm->batch = plan_batch(&operation->desc.gemm);
    TRY(gpu_bind(&device->base, err));
    TRY(check_sizes(&operation->desc.gemm, &gemm->batch, err));
    return library->create(device, gemm, err);
}

/* NAME is a library's: its operation_implementation.create. */
#define CREATE(name)                                                                               \
    static enum status prepare_##name(struct operation *operation, struct error *err)              \
    {                                                                                              \
        return prepare(operation, &hip_gemm_##name, err);                                          \
    }                                                                                              \
    enum status hip_##name##_create(struct device *device, const struct operation_desc *desc,      \
                                    struct operation **ret, struct error *err)                     \
    {                                                                                              \
        static const struct operation_ops ops = {.size = sizeof(struct hip_gemm),                  \
                                                 .prepare = prepare_##name,                        \
                                                 .destroy = destroy,                               \
                                                 .run = run,                                       \
                                                 .describe = describe,                             \
                                                 .select = select_algorithm};                      \
                                                                                                   \
        return operation_make(&ops, device, desc, ret, err);                                       \
    }
CREATE(hipblaslt)
CREATE(rocblas)

void hip_gemm_close(struct hip_device *device)
{
    if (device->hipblaslt != NULL)
        device->state->hipblaslt.hipblasLtDestroy(device->hipblaslt);
    if (device->rocblas != NULL)
        device->state->rocblas.rocblas_destroy_handle(device->rocblas);
    device->hipblaslt = device->rocblas = NULL;
}
