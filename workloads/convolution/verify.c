/* The questions of gemm/compare.c, asked of a convolution as the product that it is. */
#include <stdio.h>

#include "workloads/convolution/convolution.h"
#include "workloads/gemm/check.h"
#include "workloads/onnx/write.h"

/* Where the patch of an output's pixel begins in the input. */
struct place {
    uint64_t image, y, x; /* beyond the upper edge these wrap round, to more than any height */
};

static struct place place_of(const struct convolution_layer *layer, uint64_t row)
{
    const struct convolution_shape *shape = &layer->shape;
    const uint64_t y = row / layer->out_width % layer->out_height, x = row % layer->out_width;

    return (struct place){.image = row / layer->out_width / layer->out_height,
                          .y = y * shape->stride_y - shape->pad_y,
                          .x = x * shape->stride_x - shape->pad_x};
}

/* One pixel's patch, group by group, as each group's weights lie. */
static void patch(const struct gemm_check *check, uint64_t row, double *ret)
{
    const struct convolution_layer *layer = check->context;
    const struct convolution_shape *shape = &layer->shape;
    const struct place place = place_of(layer, row);
    const uint64_t channels = shape->channels / shape->groups;

    for (uint64_t g = 0; g < shape->groups; g++)
        for (uint64_t r = 0; r < shape->kernel_height; r++)
            for (uint64_t s = 0; s < shape->kernel_width; s++) {
                const uint64_t y = place.y + r * shape->dilation_y;
                const uint64_t x = place.x + s * shape->dilation_x;
                const bool inside = y < shape->height && x < shape->width;
                const uint64_t at =
                    ((place.image * shape->height + y) * shape->width + x) * shape->channels +
                    g * channels;

                for (uint64_t c = 0; c < channels; c++)
                    *ret++ = inside ? gemm_exact(&check->a, GEMM_A, at + c) : 0.0;
            }
}

/* All of each row between the patch's edges, with what a dilation leaves out. */
static enum status upload_patch(const struct gemm_check *check, uint64_t row, struct error *err)
{
    const struct convolution_layer *layer = check->context;
    const struct convolution_shape *shape = &layer->shape;
    const struct place place = place_of(layer, row);
    const int64_t reach = (int64_t)((shape->kernel_width - 1) * shape->dilation_x + 1);
    const int64_t width = (int64_t)shape->width, left = (int64_t)place.x, right = left + reach;
    const int64_t begin = left > 0 ? left : 0, end = right < width ? right : width;

    for (uint64_t r = 0; r < shape->kernel_height; r++) {
        const uint64_t y = place.y + r * shape->dilation_y;

        if (y < shape->height && begin < end)
            TRY(gemm_upload(&check->a, GEMM_A,
                            ((place.image * shape->height + y) * shape->width + (uint64_t)begin) *
                                shape->channels,
                            (uint64_t)(end - begin) * shape->channels, layer->arrays[GEMM_A].buffer,
                            err));
    }
    return STATUS_OK;
}

static void filter(const struct gemm_check *check, uint64_t column, double *ret)
{
    for (uint64_t p = 0; p < check->k; p++)
        ret[p] = gemm_exact(&check->b, GEMM_B, column * check->k + p);
}

/* A layer as the product that it is. */
static struct gemm_check check_of(const struct workload_instance *base, size_t index)
{
    const struct convolution_instance *instance = (const struct convolution_instance *)base;
    const struct convolution_layer *layer = &instance->layers[index];
    const struct convolution_shape *shape = &layer->shape;
    const struct gemm_data data = {.seed = base->work.seed,
                                   .shape = index,
                                   .distribution = instance->parameters->distribution,
                                   .type = instance->operand_type};

    return (struct gemm_check){
        .subject = "convolution",
        .precision = shape->precision,
        .implementation = instance->base.work.implementation,
        .a = data,
        .b = data,
        .m = shape->batch * layer->out_height * layer->out_width,
        .n = shape->filters,
        .k = shape->kernel_height * shape->kernel_width * (shape->channels / shape->groups),
        .groups = shape->groups,
        .c = layer->arrays[GEMM_C].buffer,
        .result_type = instance->result_type,
        .output = layer->arrays[GEMM_C].tensor.name,
        .output_exact = layer->output_exact,
        .row = patch,
        .upload_row = upload_patch,
        .column = filter,
        .context = layer,
    };
}

static struct gemm_array *arrays_of(struct workload_instance *base, size_t index)
{
    return ((struct convolution_instance *)base)->layers[index].arrays;
}

/* ONNX has channels before rows: arrays are turned on the way in and out, weights once. */
static void put_nodes(struct workload_instance *base, size_t index, struct text *graph)
{
    const struct convolution_layer *layer = &((struct convolution_instance *)base)->layers[index];
    const struct convolution_shape *shape = &layer->shape;
    const int64_t y = (int64_t)shape->pad_y, x = (int64_t)shape->pad_x;
    const struct onnx_setting first[] = {
        {"perm", ONNX_LIST, .ints = (const int64_t[]){0, 3, 1, 2}, .count = 4}, {0}};
    const struct onnx_setting last[] = {
        {"perm", ONNX_LIST, .ints = (const int64_t[]){0, 2, 3, 1}, .count = 4}, {0}};
    const struct onnx_setting window[] = {
        {"strides", ONNX_LIST,
         .ints = (const int64_t[]){(int64_t)shape->stride_y, (int64_t)shape->stride_x}, .count = 2},
        {"dilations", ONNX_LIST,
         .ints = (const int64_t[]){(int64_t)shape->dilation_y, (int64_t)shape->dilation_x},
         .count = 2},
        {"pads", ONNX_LIST, .ints = (const int64_t[]){y, x, y, x}, .count = 4},
        {"group", ONNX_WHOLE, .i = (int64_t)shape->groups},
        {0}};
    const char *const output = layer->arrays[GEMM_C].tensor.name;
    char names[3][TENSOR_NAME_MAX + 16], operands[sizeof(names)];

    snprintf(names[0], sizeof(names[0]), "%s.images", output);
    snprintf(names[1], sizeof(names[1]), "%s.filters", output);
    snprintf(names[2], sizeof(names[2]), "%s.planes", output);
    snprintf(operands, sizeof(operands), "%s %s", names[0], names[1]);
    onnx_put_node(graph, "Transpose", layer->arrays[GEMM_A].tensor.name, names[0], first);
    onnx_put_node(graph, "Transpose", layer->arrays[GEMM_B].tensor.name, names[1], first);
    onnx_put_node(graph, "Conv", operands, names[2], window);
    onnx_put_node(graph, "Transpose", names[2], output, last);
}

static struct gemm_outputs outputs_of(struct workload_instance *base)
{
    struct convolution_instance *instance = (struct convolution_instance *)base;

    return (struct gemm_outputs){.base = base,
                                 .count = instance->layer_count,
                                 .unchecked = &instance->unchecked,
                                 .iterate = convolution_iterate,
                                 .check_of = check_of,
                                 .arrays_of = arrays_of,
                                 .put_nodes = put_nodes};
}

const struct gemm_handover convolution_handover = {GEMM_HANDOVER, convolution_lay_out, outputs_of};

enum status convolution_verify(struct workload_instance *base, workload_check_fn *report,
                               void *context, struct error *err)
{
    const struct gemm_outputs outputs = outputs_of(base);

    return gemm_outputs_verify(&outputs, report, context, err);
}

enum status convolution_spot_check(struct workload_instance *base, uint64_t secret,
                                   workload_check_fn *report, void *context, struct error *err)
{
    const struct gemm_outputs outputs = outputs_of(base);

    return gemm_outputs_spot_check(&outputs, secret, report, context, err);
}
