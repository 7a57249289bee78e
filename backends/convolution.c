/* convolution - what a convolution is: its checks, its operands, its name. */
#include "backends/operation.h"

#include <inttypes.h>

#include "harness/core/text.h"

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

static enum status check(const struct convolution_shape *shape, struct error *err)
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

static enum status complete(struct operation_desc *desc, struct error *err)
{
    struct convolution_shape *shape = &desc->convolution;

    shape->stride_y = or_one(shape->stride_y);
    shape->stride_x = or_one(shape->stride_x);
    shape->dilation_y = or_one(shape->dilation_y);
    shape->dilation_x = or_one(shape->dilation_x);
    shape->groups = or_one(shape->groups);
    return check(shape, err);
}

static void extents(const struct operation_desc *desc, struct operation_extent ret[OPERANDS_MAX])
{
    const struct convolution_shape *shape = &desc->convolution;

    ret[0] = (struct operation_extent){"the input", input_elements(shape), shape->type};
    ret[1] = (struct operation_extent){"the weights", weights_elements(shape), shape->type};
    ret[2] = (struct operation_extent){"the output", output_elements(shape), shape->result_type};
}

/*
 * "bf16 to bf16, 8x56x56x64, 64 of 3x3, stride 1x1, padding 1x1, dilation 1x1, groups 1"
 */
static char *key(const struct operation_desc *desc)
{
    const struct convolution_shape *shape = &desc->convolution;
    struct text text;

    text_init(&text);
    text_append_format(&text, "%s to %s, %" PRIu64 "x%" PRIu64 "x%" PRIu64 "x%" PRIu64 ", ",
                       precision_name(shape->precision), dtype_name(shape->result_type),
                       shape->batch, shape->height, shape->width, shape->channels);
    text_append_format(&text, "%" PRIu64 " of %" PRIu64 "x%" PRIu64 ", stride %" PRIu64 "x%" PRIu64,
                       shape->filters, shape->kernel_height, shape->kernel_width, shape->stride_y,
                       shape->stride_x);
    text_append_format(
        &text,
        ", padding %" PRIu64 "x%" PRIu64 ", dilation %" PRIu64 "x%" PRIu64 ", groups %" PRIu64,
        shape->pad_y, shape->pad_x, shape->dilation_y, shape->dilation_x, shape->groups);
    return text_steal(&text);
}

static bool question(enum precision precision, unsigned number, struct operation_desc *ret,
                     const char **ret_other)
{
    const enum dtype type = precision_dtype(precision);
    const enum dtype results[] = {precision == PRECISION_FP64   ? DTYPE_F64
                                  : precision == PRECISION_INT8 ? DTYPE_I32
                                                                : DTYPE_F32,
                                  precision == PRECISION_INT8 ? DTYPE_F32 : type};

    if (number >= sizeof(results) / sizeof(results[0]))
        return false;
    *ret_other = NULL;
    ret->convolution = (struct convolution_shape){.precision = precision,
                                                  .type = type,
                                                  .result_type = results[number],
                                                  .batch = 1,
                                                  .height = 8,
                                                  .width = 8,
                                                  .channels = 64,
                                                  .filters = 64,
                                                  .kernel_height = 3,
                                                  .kernel_width = 3,
                                                  .pad_y = 1,
                                                  .pad_x = 1};
    return true;
}

const struct operation_kind_ops convolution_kind = {
    .name = "convolution",
    .weights = 1,
    .complete = complete,
    .extents = extents,
    .key = key,
    .question = question,
};
