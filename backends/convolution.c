/* convolution - the vendor library's convolution: the checks in front of the hooks. */
#include "backends/backend.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define SIDE_MAX ((uint64_t)1 << 31) /* libraries take int */
#define ELEMENTS_MAX ((unsigned __int128)1 << 62)

static uint64_t out_side(uint64_t side, uint64_t pad, uint64_t kernel, uint64_t dilation,
                         uint64_t stride)
{
    const uint64_t reach = (kernel - 1) * dilation + 1, padded = side + 2 * pad;

    return padded < reach ? 0 : (padded - reach) / stride + 1;
}

static uint64_t or_one(uint64_t value)
{
    return value != 0 ? value : 1;
}

uint64_t convolution_out_height(const struct convolution_shape *shape)
{
    return out_side(shape->height, shape->pad_y, shape->kernel_height, or_one(shape->dilation_y),
                    or_one(shape->stride_y));
}

uint64_t convolution_out_width(const struct convolution_shape *shape)
{
    return out_side(shape->width, shape->pad_x, shape->kernel_width, or_one(shape->dilation_x),
                    or_one(shape->stride_x));
}

bool device_has_convolutions(const struct device *device)
{
    return device->ops->convolution_create != NULL;
}

static enum status refuse(struct error *err, const char *what)
{
    return error_set(err, STATUS_INVALID, "convolution: %s", what);
}

static bool types_fit(const struct convolution_shape *shape)
{
    const enum dtype result = shape->result_type;

    if (shape->type != precision_dtype(shape->precision))
        return false;
    switch (shape->precision) {
    case PRECISION_FP64:
        return result == DTYPE_F64;
    case PRECISION_INT8:
        return result == DTYPE_I32 || result == DTYPE_F32;
    default:
        return result == DTYPE_F32 || result == shape->type;
    }
}

static unsigned __int128 input_elements(const struct convolution_shape *shape)
{
    return (unsigned __int128)shape->batch * shape->height * shape->width * shape->channels;
}

static unsigned __int128 weights_elements(const struct convolution_shape *shape)
{
    return (unsigned __int128)shape->filters * shape->kernel_height * shape->kernel_width *
           (shape->channels / shape->groups);
}

static unsigned __int128 output_elements(const struct convolution_shape *shape)
{
    return (unsigned __int128)shape->batch * convolution_out_height(shape) *
           convolution_out_width(shape) * shape->filters;
}

static enum status check_shape(const struct convolution_shape *shape, struct error *err)
{
    const uint64_t sides[] = {shape->batch,        shape->height,     shape->width,
                              shape->channels,     shape->filters,    shape->kernel_height,
                              shape->kernel_width, shape->stride_y,   shape->stride_x,
                              shape->dilation_y,   shape->dilation_x, shape->groups,
                              shape->pad_y + 1,    shape->pad_x + 1};

    for (size_t i = 0; i < sizeof(sides) / sizeof(sides[0]); i++) {
        if (sides[i] == 0)
            return refuse(err, "every dimension must be at least 1");
        if (sides[i] >= SIDE_MAX)
            return refuse(err, "a dimension of 2^31 or more");
    }
    if (shape->channels % shape->groups != 0 || shape->filters % shape->groups != 0)
        return refuse(err, "the groups do not divide channels and filters");
    if (convolution_out_height(shape) == 0 || convolution_out_width(shape) == 0)
        return refuse(err, "the kernel is larger than the padded image");
    if (input_elements(shape) > ELEMENTS_MAX / 8 || output_elements(shape) > ELEMENTS_MAX / 8 ||
        weights_elements(shape) > ELEMENTS_MAX / 8)
        return refuse(err, "an array is too large to be addressed");
    if (!types_fit(shape))
        return error_set(err, STATUS_INVALID, "convolution: %s to %s is not one in %s",
                         dtype_name(shape->type), dtype_name(shape->result_type),
                         precision_name(shape->precision));
    return STATUS_OK;
}

enum status device_convolution_create(struct device *device, const struct convolution_shape *shape,
                                      struct convolution **ret, struct error *err)
{
    struct convolution_shape whole = *shape;
    struct convolution *convolution = NULL;
    enum status status;

    if (!device_has_convolutions(device))
        return error_set(err, STATUS_UNSUPPORTED, "%s has no vendor convolution",
                         device->info.name);
    whole.stride_y = or_one(whole.stride_y);
    whole.stride_x = or_one(whole.stride_x);
    whole.dilation_y = or_one(whole.dilation_y);
    whole.dilation_x = or_one(whole.dilation_x);
    whole.groups = or_one(whole.groups);
    status = check_shape(&whole, err);
    if (status == STATUS_OK)
        status = device->ops->convolution_create(device, &whole, &convolution, err);
    if (status != STATUS_OK)
        return status;
    convolution->device = device;
    convolution->shape = whole;
    convolution->has_weights = false;
    *ret = convolution;
    return STATUS_OK;
}

void device_convolution_destroy(struct convolution *convolution)
{
    if (convolution != NULL)
        convolution->device->ops->convolution_destroy(convolution->device, convolution);
}

static enum status check_operand(const struct convolution *convolution, const char *name,
                                 const struct gemm_operand *operand, enum dtype type,
                                 unsigned __int128 count, struct error *err)
{
    if (operand->buffer == NULL || operand->buffer->device != convolution->device)
        return error_set(err, STATUS_INTERNAL, "convolution: %s is not a buffer of this device",
                         name);
    if ((count + operand->offset) * (dtype_bits(type) / 8) > operand->buffer->bytes)
        return error_set(err, STATUS_INVALID,
                         "convolution: %s at offset %" PRIu64 " goes beyond its buffer of %" PRIu64
                         " bytes",
                         name, operand->offset, operand->buffer->bytes);
    return STATUS_OK;
}

enum status device_convolution_set_weights(struct convolution *convolution,
                                           const struct gemm_operand *weights, struct error *err)
{
    enum status status = check_operand(convolution, "the weights", weights, convolution->shape.type,
                                       weights_elements(&convolution->shape), err);

    if (status == STATUS_OK)
        status = convolution->device->ops->convolution_set_weights(convolution->device, convolution,
                                                                   weights, err);
    if (status == STATUS_OK)
        convolution->has_weights = true;
    return status;
}

enum status device_convolution_run(struct convolution *convolution,
                                   const struct gemm_operand *input,
                                   const struct gemm_operand *output, struct error *err)
{
    const struct convolution_shape *shape = &convolution->shape;
    enum status status =
        check_operand(convolution, "the input", input, shape->type, input_elements(shape), err);

    if (status == STATUS_OK)
        status = check_operand(convolution, "the output", output, shape->result_type,
                               output_elements(shape), err);
    if (status == STATUS_OK && !convolution->has_weights)
        status = error_set(err, STATUS_INTERNAL, "convolution: run before it was given weights");
    if (status != STATUS_OK)
        return status;
    return convolution->device->ops->convolution_run(convolution->device, convolution, input,
                                                     output, err);
}

enum status device_convolution_describe(const struct convolution *convolution,
                                        struct convolution_info *ret, struct error *err)
{
    struct convolution_info info = {0};
    enum status status = convolution->device->ops->convolution_describe(convolution->device,
                                                                        convolution, &info, err);

    if (status == STATUS_OK)
        *ret = info;
    return status;
}

enum status device_convolution_select(struct convolution *convolution, uint32_t index,
                                      struct error *err)
{
    struct convolution_info info = {0};
    enum status status = device_convolution_describe(convolution, &info, err);

    if (status != STATUS_OK)
        return status;
    if (convolution->device->ops->convolution_select == NULL || info.library.algorithms == 0)
        return error_set(err, STATUS_UNSUPPORTED,
                         "convolution: %s lists no algorithms to choose from",
                         info.library.library);
    if (index >= info.library.algorithms)
        return error_set(err, STATUS_NOT_FOUND,
                         "convolution: %s lists %" PRIu32
                         " algorithms, there is no number %" PRIu32,
                         info.library.library, info.library.algorithms, index);
    return convolution->device->ops->convolution_select(convolution->device, convolution, index,
                                                        err);
}

void device_convolution_support(struct device *device, enum precision precision,
                                struct convolution_info *ret)
{
    const enum dtype type = precision_dtype(precision);
    const enum dtype results[] = {precision == PRECISION_FP64   ? DTYPE_F64
                                  : precision == PRECISION_INT8 ? DTYPE_I32
                                                                : DTYPE_F32,
                                  precision == PRECISION_INT8 ? DTYPE_F32 : type};
    struct convolution_shape shape = {.precision = precision,
                                      .type = type,
                                      .batch = 1,
                                      .height = 8,
                                      .width = 8,
                                      .channels = 64,
                                      .filters = 64,
                                      .kernel_height = 3,
                                      .kernel_width = 3,
                                      .pad_y = 1,
                                      .pad_x = 1};
    struct convolution *convolution = NULL;
    struct support_answers answers = {0};
    enum status status = STATUS_UNSUPPORTED;

    memset(ret, 0, sizeof(*ret));
    for (size_t i = 0; i < sizeof(results) / sizeof(results[0]) && status != STATUS_OK; i++) {
        struct error err = ERROR_INIT;

        shape.result_type = results[i];
        status = device_convolution_create(device, &shape, &convolution, &err);
        if (status == STATUS_OK)
            status = device_convolution_describe(convolution, ret, &err);
        support_answers_add(&answers, status, &err);
        device_convolution_destroy(convolution);
        convolution = NULL;
    }
    support_answers_tell(&answers, status == STATUS_OK, &ret->library);
}
