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

static enum status try_library(struct hip_device *device, const struct hip_library_ops *ops,
                               const struct gemm_shape *shape, struct gemm **ret, struct error *err)
{
    struct hip_gemm *gemm = calloc(1, sizeof(*gemm));
    enum status status;

    if (gemm == NULL)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    gemm->shape = *shape;
    gemm->batch = plan_batch(shape);
    gemm->ops = ops;
    status = check_sizes(shape, &gemm->batch, err);
    if (status == STATUS_OK)
        status = ops->create(device, gemm, err);
    if (status != STATUS_OK) {
        free(gemm);
        return status;
    }
    *ret = &gemm->base;
    return STATUS_OK;
}

/* Those after which the other library may still do it. */
static bool may_go_on(enum status status)
{
    return status == STATUS_UNSUPPORTED || status == STATUS_UNAVAILABLE;
}

enum status hip_gemm_create(struct device *base, const struct gemm_shape *shape, struct gemm **ret,
                            struct error *err)
{
    struct hip_device *device = hip_device(gpu_device(base));
    struct error first = ERROR_INIT, second = ERROR_INIT;
    enum status status = gpu_bind(&device->base, err), other;

    if (status != STATUS_OK)
        return status;
    if (shape->precision == PRECISION_FP64) {
        status = error_set(&first, STATUS_UNSUPPORTED, "hipBLASLt: not asked for fp64");
    } else {
        status = try_library(device, &hip_gemm_hipblaslt, shape, ret, &first);
        if (status == STATUS_OK)
            return status;
    }
    if (!may_go_on(status))
        return error_set(err, status, "%s", first.message);
    other = try_library(device, &hip_gemm_rocblas, shape, ret, &second);
    if (other == STATUS_OK)
        return other;
    if (!may_go_on(other))
        return error_set(err, other, "%s", second.message);
    return error_set(err, STATUS_UNSUPPORTED, "%s; %s", first.message, second.message);
}

void hip_gemm_destroy(struct device *base, struct gemm *base_gemm)
{
    struct hip_device *device = hip_device(gpu_device(base));
    struct hip_gemm *gemm = (struct hip_gemm *)base_gemm;

    if (gpu_bind(&device->base, NULL) == STATUS_OK && gemm->ops->destroy != NULL)
        gemm->ops->destroy(device, gemm);
    free(gemm);
}

enum status hip_gemm_run(struct device *base, struct gemm *base_gemm,
                         const struct gemm_operands *operands, struct error *err)
{
    struct hip_device *device = hip_device(gpu_device(base));
    struct hip_gemm *gemm = (struct hip_gemm *)base_gemm;
    const struct gemm_shape *shape = &gemm->shape;
    const size_t c_bits = dtype_bits(shape->c.type);
    enum status status = gpu_bind(&device->base, err);

    if (shape->precision == PRECISION_FP4)
        return error_set(err, STATUS_UNSUPPORTED,
                         "a GEMM in fp4 needs a scale for each 32 elements, which this GEMM "
                         "has no place for: hipBLASLt is asked whether it has one, no more");
    for (uint64_t i = 0; i < gemm->batch.calls && status == STATUS_OK; i++) {
        struct gemm_operand a = operands->a, b = operands->b, c = operands->c, d = operands->d;
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

enum status hip_gemm_describe(struct device *base, const struct gemm *gemm, struct gemm_info *ret,
                              struct error *err)
{
    (void)base;
    (void)err;
    *ret = ((const struct hip_gemm *)gemm)->info;
    return STATUS_OK;
}

enum status hip_gemm_select(struct device *base, struct gemm *base_gemm, uint32_t index,
                            struct error *err)
{
    struct hip_device *device = hip_device(gpu_device(base));
    struct hip_gemm *gemm = (struct hip_gemm *)base_gemm;
    enum status status = gpu_bind(&device->base, err);

    return status == STATUS_OK ? gemm->ops->select(device, gemm, index, err) : status;
}

void hip_gemm_close(struct hip_device *device)
{
    if (device->hipblaslt != NULL)
        device->state->hipblaslt.hipblasLtDestroy(device->hipblaslt);
    if (device->rocblas != NULL)
        device->state->rocblas.rocblas_destroy_handle(device->rocblas);
    device->hipblaslt = device->rocblas = NULL;
}
