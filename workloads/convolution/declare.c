#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "workloads/convolution/convolution.h"
#include "workloads/gemm/operands.h"

struct section {
    struct convolution_layer_shape *shapes;
    uint32_t shapes_count;
    int64_t layout, distribution, result;
};

struct convolution_declaration {
    struct workload_declaration common;
    struct section convolution;
};

static const struct declaration_name layouts[] = {{"nhwc", CONVOLUTION_NHWC}};

#define SIDE(name, flags) FIELD_INT(#name, flags, struct convolution_layer_shape, name)

static const struct declaration_field shape_fields[] = {
    SIDE(height, FIELD_REQUIRED),   SIDE(width, FIELD_REQUIRED),
    SIDE(channels, FIELD_REQUIRED), SIDE(filters, FIELD_REQUIRED),
    SIDE(kernel, FIELD_REQUIRED),   SIDE(stride, FIELD_OPTIONAL),
    SIDE(padding, FIELD_OPTIONAL),  SIDE(dilation, FIELD_OPTIONAL),
    SIDE(groups, FIELD_OPTIONAL),   FIELD_END,
};

static const struct declaration_schema shape_entry = {
    ENTRY_GROUP(struct convolution_layer_shape, shape_fields)};

static const struct declaration_field section_fields[] = {
    FIELD_LIST("shapes", FIELD_REQUIRED, struct section, shapes, &shape_entry, 1,
               CONVOLUTION_SHAPES_MAX),
    FIELD_ENUM("layout", FIELD_OPTIONAL, struct section, layout, layouts, 1),
    GEMM_INPUT_FIELDS(struct section),
    FIELD_END,
};

static const struct declaration_field fields[] = {
    WORKLOAD_DECLARATION_FIELDS(struct convolution_declaration),
    FIELD_GROUP("convolution", FIELD_REQUIRED, struct convolution_declaration, convolution,
                section_fields),
    FIELD_END,
};

static const struct declaration_schema schema = {
    ENTRY_GROUP(struct convolution_declaration, fields)};

struct convolution_shape convolution_shape_of(const struct convolution_layer_shape *shape,
                                              enum precision precision, enum dtype type,
                                              enum dtype result_type, int64_t batch)
{
    return (struct convolution_shape){
        .precision = precision,
        .type = type,
        .result_type = result_type,
        .batch = (uint64_t)batch,
        .height = (uint64_t)shape->height,
        .width = (uint64_t)shape->width,
        .channels = (uint64_t)shape->channels,
        .filters = (uint64_t)shape->filters,
        .kernel_height = (uint64_t)shape->kernel,
        .kernel_width = (uint64_t)shape->kernel,
        .stride_y = (uint64_t)shape->stride,
        .stride_x = (uint64_t)shape->stride,
        .dilation_y = (uint64_t)shape->dilation,
        .dilation_x = (uint64_t)shape->dilation,
        .pad_y = (uint64_t)shape->padding,
        .pad_x = (uint64_t)shape->padding,
        .groups = (uint64_t)shape->groups,
    };
}

/* Sizes of one image's convolution in elements. */
struct sizes {
    unsigned __int128 input, weights, output, pixels, depth;
};

static struct sizes sizes_of(const struct convolution_layer_shape *shape)
{
    const struct convolution_shape whole =
        convolution_shape_of(shape, PRECISION_FP32, DTYPE_F32, DTYPE_F32, 1);
    const unsigned __int128 depth = (unsigned __int128)whole.kernel_height * whole.kernel_width *
                                    (whole.channels / whole.groups);
    const unsigned __int128 pixels =
        (unsigned __int128)convolution_out_height(&whole) * convolution_out_width(&whole);

    return (struct sizes){
        .input = (unsigned __int128)whole.height * whole.width * whole.channels,
        .weights = depth * whole.filters,
        .output = pixels * whole.filters,
        .pixels = pixels,
        .depth = depth,
    };
}

static enum status check_shape(const struct declaration *declaration, uint32_t index,
                               struct convolution_layer_shape *shape, struct error *err)
{
    const struct {
        const char *key;
        int64_t value, most;
    } sides[] = {
        {"height", shape->height, CONVOLUTION_SIDE_MAX},
        {"width", shape->width, CONVOLUTION_SIDE_MAX},
        {"channels", shape->channels, CONVOLUTION_SIDE_MAX},
        {"filters", shape->filters, CONVOLUTION_SIDE_MAX},
        {"kernel", shape->kernel, CONVOLUTION_KERNEL_MAX},
        {"stride", shape->stride, CONVOLUTION_KERNEL_MAX},
        {"dilation", shape->dilation, CONVOLUTION_KERNEL_MAX},
        {"groups", shape->groups, CONVOLUTION_SIDE_MAX},
        {"padding", shape->padding + 1, CONVOLUTION_KERNEL_MAX + 1},
    };
    char path[64];
    struct sizes sizes;

    for (size_t i = 0; i < sizeof(sides) / sizeof(sides[0]); i++) {

        snprintf(path, sizeof(path), "convolution.shapes[%u].%s", index, sides[i].key);
        TRY(workload_declaration_check_count(declaration, path, sides[i].value, sides[i].most,
                                             "elements", err));
    }
    snprintf(path, sizeof(path), "convolution.shapes[%u].groups", index);
    if (shape->channels % shape->groups != 0 || shape->filters % shape->groups != 0)
        return declaration_error(
            declaration, path, err,
            "%lld groups do not divide %lld channels and %lld filters; write a "
            "divisor of both",
            (long long)shape->groups, (long long)shape->channels, (long long)shape->filters);
    snprintf(path, sizeof(path), "convolution.shapes[%u].kernel", index);
    sizes = sizes_of(shape);
    if (sizes.pixels == 0)
        return declaration_error(
            declaration, path, err,
            "a kernel of %lld reaches over more than the padded image; write a "
            "smaller one, or more padding",
            (long long)shape->kernel);
    snprintf(path, sizeof(path), "convolution.shapes[%u].height", index);
    if (sizes.input > CONVOLUTION_ELEMENTS_MAX || sizes.output > CONVOLUTION_ELEMENTS_MAX ||
        sizes.weights > CONVOLUTION_ELEMENTS_MAX)
        return declaration_error(
            declaration, path, err,
            "one image, its output or the weights are more than %lld elements; "
            "write a smaller shape",
            (long long)CONVOLUTION_ELEMENTS_MAX);
    return STATUS_OK;
}

static enum status check_common(const struct declaration *declaration,
                                const struct workload_declaration *common,
                                const struct section *section, struct error *err)
{
    static const enum precision precisions[] = {PRECISION_FP64, PRECISION_FP32, PRECISION_TF32,
                                                PRECISION_BF16, PRECISION_FP16, PRECISION_INT8};
    char path[32];

    TRY(workload_declaration_check_precisions(declaration, common, precisions,
                                              sizeof(precisions) / sizeof(precisions[0]), err));
    for (uint32_t i = 0; i < common->batches_count; i++) {
        snprintf(path, sizeof(path), "batches[%u]", i);
        for (uint32_t s = 0; s < section->shapes_count; s++) {
            const struct sizes sizes = sizes_of(&section->shapes[s]);

            if ((unsigned __int128)common->batches[i] * sizes.pixels >= CONVOLUTION_PIXELS_MAX)
                return declaration_error(
                    declaration, path, err,
                    "%lld images have more than %lld pixels in an output; write a smaller batch",
                    (long long)common->batches[i], (long long)CONVOLUTION_PIXELS_MAX - 1);
        }
    }
    return STATUS_OK;
}

static void fill_defaults(struct section *section)
{
    for (uint32_t i = 0; i < section->shapes_count; i++) {
        struct convolution_layer_shape *shape = &section->shapes[i];

        shape->stride = shape->stride ? shape->stride : 1;
        shape->dilation = shape->dilation ? shape->dilation : 1;
        shape->groups = shape->groups ? shape->groups : 1;
    }
}

static enum status check_declaration(const struct declaration *declaration,
                                     struct workload *workload, struct error *err)
{
    struct convolution_declaration *data = declaration->data;
    struct section *section = &data->convolution;
    const size_t shapes_size = section->shapes_count * sizeof(*section->shapes);
    struct convolution_parameters *parameters;

    fill_defaults(section);
    for (uint32_t i = 0; i < section->shapes_count; i++)
        TRY(check_shape(declaration, i, &section->shapes[i], err));
    TRY(check_common(declaration, &data->common, section, err));
    parameters = calloc(1, sizeof(*parameters) + shapes_size);
    if (!parameters)
        return error_no_memory(err);
    memcpy(parameters->shapes, section->shapes, shapes_size);
    parameters->shape_count = section->shapes_count;
    parameters->distribution = (enum gemm_distribution)section->distribution;
    parameters->result = (enum gemm_result)section->result;
    workload->parameters = parameters;
    return STATUS_OK;
}

const struct workload_form convolution_form = {&schema, check_declaration};

enum status convolution_cost(const struct workload_case *work, struct workload_cost *ret,
                             struct error *err)
{
    const struct convolution_parameters *parameters = work->workload->parameters;
    const enum dtype type = precision_dtype(work->precision);
    const bool summed = parameters->result == GEMM_RESULT_SUM || work->precision == PRECISION_INT8;
    const uint64_t in = dtype_bits(type) / 8;
    const uint64_t out = dtype_bits(summed ? gemm_sum_type(work->precision) : type) / 8;
    const unsigned __int128 batch = (uint64_t)work->batch;
    struct gemm_work sums = {.items = parameters->shape_count,
                             .item_name = "convolution",
                             .flops_formula = "2*b*y*x*f*(r*s*c/groups) a convolution: the "
                                              "direct sum, its terms in the padding included"};

    for (size_t i = 0; i < parameters->shape_count; i++) {
        const struct sizes sizes = sizes_of(&parameters->shapes[i]);

        sums.flops += 2 * batch * sizes.output * sizes.depth;
        sums.memory_bytes +=
            (batch * sizes.input + sizes.weights) * in + batch * sizes.output * out;
    }
    return gemm_work_cost(work, &sums, ret, err);
}

void convolution_describe(const struct workload *workload, struct text *ret)
{
    const struct convolution_parameters *parameters = workload->parameters;

    for (size_t i = 0; i < parameters->shape_count; i++) {
        const struct convolution_layer_shape *shape = &parameters->shapes[i];
        const struct convolution_shape whole =
            convolution_shape_of(shape, PRECISION_FP32, DTYPE_F32, DTYPE_F32, 1);

        text_append_format(
            ret,
            "convolution: %lld x %lld x %lld to %llu x %llu x %lld, kernel %lld x "
            "%lld, stride %lld, padding %lld, dilation %lld, groups %lld\n",
            (long long)shape->height, (long long)shape->width, (long long)shape->channels,
            (unsigned long long)convolution_out_height(&whole),
            (unsigned long long)convolution_out_width(&whole), (long long)shape->filters,
            (long long)shape->kernel, (long long)shape->kernel, (long long)shape->stride,
            (long long)shape->padding, (long long)shape->dilation, (long long)shape->groups);
    }
    text_append_format(ret, "layout: nhwc, weights as (filter, row, column, channel)\n");
    text_append_format(ret, "operands: %s\n", gemm_distribution_words(parameters->distribution));
    text_append_format(ret, "result: %s\n",
                       parameters->result == GEMM_RESULT_SUM
                           ? "in the type that sums are kept in"
                           : "in the operands' type; i32 for int8");
}
