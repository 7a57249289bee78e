/*
 * What the path through run_convolution adds to oneDNN's: the same convolution on the same
 * arrays, through us and by bare calls of a convolution primitive with default attributes, in
 * turns.
 *
 * usage: bench_convolution PAIRS IMAGES
 * For the layers of ResNet-50 by which the suite `convolutions` is made, IMAGES at once, in fp32,
 * bf16 and int8, channels last, the weights in oneDNN's own layout, reordered beforehand by either
 * side: one line a pair: name, precision, algorithm, nanoseconds through us, and by bare calls.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/bench/bare_onednn.h"
#include "tests/support/operations.h"

static const struct {
    const char *name;
    uint64_t side, channels, filters, kernel, stride, pad;
} layers[] = {{"stem", 224, 3, 64, 7, 2, 3},         {"3x3_56", 56, 64, 64, 3, 1, 1},
              {"3x3_28", 28, 128, 128, 3, 1, 1},     {"3x3_14", 14, 256, 256, 3, 1, 1},
              {"3x3_7", 7, 512, 512, 3, 1, 1},       {"3x3_stride2", 56, 128, 128, 3, 2, 1},
              {"1x1_reduce", 56, 256, 64, 1, 1, 0},  {"1x1_expand", 14, 256, 1024, 1, 1, 0},
              {"1x1_stride2", 56, 256, 512, 1, 2, 0}};

static const enum precision precisions[] = {PRECISION_FP32, PRECISION_BF16, PRECISION_INT8};

/* What the bare primitive works on: images with their channels last, weights as it wants them. */
struct layouts {
    struct assay_dnnl_memory_desc *input, *output, *given, *any;
};

static enum status image(const struct onednn *dnnl, int64_t n, int64_t c, int64_t h, int64_t w,
                         unsigned type, struct assay_dnnl_memory_desc **ret, struct error *err)
{
    const int64_t dims[] = {n, c, h, w}, strides[] = {h * w * c, 1, w * c, c};

    return onednn_layout_create(dnnl, 4, dims, type, strides, ret, err);
}

static enum status make_layouts(const struct onednn *dnnl, const struct convolution_shape *s,
                                struct layouts *ret, struct error *err)
{
    const unsigned in = bare_operand_type(s->precision);
    const int64_t n = (int64_t)s->batch, i = (int64_t)s->channels, o = (int64_t)s->filters;
    const int64_t h = (int64_t)s->kernel_height, w = (int64_t)s->kernel_width;
    const int64_t dims[] = {o, i, h, w}, strides[] = {h * w * i, 1, w * i, i};
    enum status status =
        image(dnnl, n, i, (int64_t)s->height, (int64_t)s->width, in, &ret->input, err);

    if (status == STATUS_OK)
        status =
            image(dnnl, n, o, (int64_t)convolution_out_height(s), (int64_t)convolution_out_width(s),
                  bare_sum_type(s->precision), &ret->output, err);
    if (status == STATUS_OK)
        status = onednn_layout_create(dnnl, 4, dims, in, strides, &ret->given, err);
    if (status == STATUS_OK)
        status = onednn_layout_create(dnnl, 4, dims, in, NULL, &ret->any, err);
    return status;
}

/* The weights in the layout that the primitive wants, in an array of the yardstick's own. */
static enum status bring_weights(struct bare *bare, const struct layouts *layouts,
                                 const struct dnnl_primitive_desc *desc,
                                 const struct operand *weights, struct error *err)
{
    const struct onednn *dnnl = bare->dnnl;
    const struct assay_dnnl_memory_desc *wanted =
        dnnl->api.dnnl_primitive_desc_query_md(desc, ASSAY_DNNL_query_weights_md, 0);
    struct dnnl_primitive_desc *reorder_desc = NULL;
    struct dnnl_primitive *reorder = NULL;
    struct dnnl_memory *given = NULL;
    unsigned char *own = NULL;
    uint64_t bytes = 0;
    enum status status = cpu_dnnl_array(dnnl, wanted, "weights", &own, &bytes, err);

    bare->own = own;
    if (status == STATUS_OK)
        status = bare_argument(bare, 1, ASSAY_DNNL_ARG_WEIGHTS, wanted, own, err);
    if (status == STATUS_OK)
        status = cpu_dnnl_memory(dnnl, layouts->given, bare_bytes(weights), &given, err);
    if (status == STATUS_OK && dnnl->api.dnnl_reorder_primitive_desc_create(
                                   &reorder_desc, layouts->given, dnnl->engine, wanted,
                                   dnnl->engine, NULL) != ASSAY_DNNL_success)
        status = error_set(err, STATUS_DEVICE, "dnnl_reorder_primitive_desc_create failed");
    if (status == STATUS_OK)
        status = cpu_dnnl_primitive(dnnl, reorder_desc, &reorder, err);
    if (status == STATUS_OK) {
        const struct assay_dnnl_exec_arg args[] = {{ASSAY_DNNL_ARG_SRC, given},
                                                   {ASSAY_DNNL_ARG_DST, bare->args[1].memory}};

        dnnl->api.dnnl_primitive_execute(reorder, dnnl->stream, 2, args);
        dnnl->api.dnnl_stream_wait(dnnl->stream);
    }
    if (reorder != NULL)
        dnnl->api.dnnl_primitive_destroy(reorder);
    if (reorder_desc != NULL)
        dnnl->api.dnnl_primitive_desc_destroy(reorder_desc);
    if (given != NULL)
        dnnl->api.dnnl_memory_destroy(given);
    return status;
}

static enum status bare_init(struct bare *bare, struct device *device,
                             const struct convolution_shape *shape,
                             const struct convolution_operands *operands, struct error *err)
{
    const struct onednn *dnnl = &cpu_device(device)->state->dnnl;
    const int64_t strides[] = {(int64_t)shape->stride_y, (int64_t)shape->stride_x};
    const int64_t dilations[] = {0, 0};
    const int64_t paddings[] = {(int64_t)shape->pad_y, (int64_t)shape->pad_x};
    struct layouts layouts = {0};
    struct dnnl_primitive_desc *desc = NULL;
    enum status status;

    bare->dnnl = dnnl;
    status = make_layouts(dnnl, shape, &layouts, err);
    if (status == STATUS_OK)
        status = onednn_convolution_create(dnnl, layouts.input, layouts.any, layouts.output,
                                           strides, dilations, paddings, NULL, &desc, err);
    if (status == STATUS_OK) {
        status = bare_primitive(bare, desc, err);
        if (status == STATUS_OK)
            status = bring_weights(bare, &layouts, desc, &operands->weights, err);
        dnnl->api.dnnl_primitive_desc_destroy(desc);
    }
    if (status == STATUS_OK)
        status = bare_argument(bare, 0, ASSAY_DNNL_ARG_SRC, layouts.input,
                               bare_bytes(&operands->input), err);
    if (status == STATUS_OK)
        status = bare_argument(bare, 2, ASSAY_DNNL_ARG_DST, layouts.output,
                               bare_bytes(&operands->output), err);
    onednn_layout_destroy(dnnl, layouts.input);
    onednn_layout_destroy(dnnl, layouts.output);
    onednn_layout_destroy(dnnl, layouts.given);
    onednn_layout_destroy(dnnl, layouts.any);
    return status;
}

struct ours {
    struct operation *convolution;
    struct convolution_operands operands;
};

static enum status run(void *operation, struct error *err)
{
    const struct ours *ours = operation;

    return run_convolution(ours->convolution, &ours->operands.input, &ours->operands.output, err);
}

static enum status compare(struct device *device, size_t layer, enum precision precision,
                           uint64_t images, long pairs, struct error *err)
{
    const enum dtype type = precision_dtype(precision);
    const struct convolution_shape shape = {
        .precision = precision,
        .type = type,
        .result_type = precision == PRECISION_INT8 ? DTYPE_I32 : DTYPE_F32,
        .batch = images,
        .height = layers[layer].side,
        .width = layers[layer].side,
        .channels = layers[layer].channels,
        .filters = layers[layer].filters,
        .kernel_height = layers[layer].kernel,
        .kernel_width = layers[layer].kernel,
        .stride_y = layers[layer].stride,
        .stride_x = layers[layer].stride,
        .pad_y = layers[layer].pad,
        .pad_x = layers[layer].pad,
    };
    const uint64_t pixels = convolution_out_height(&shape) * convolution_out_width(&shape);
    struct ours ours = {0};
    struct operation_info info;
    struct bare bare = {0};
    enum status status = create_convolution(device, &shape, &ours.convolution, err);

    if (status == STATUS_OK)
        status = bare_fill(device, type, images * shape.height * shape.width * shape.channels,
                           &ours.operands.input.buffer, err);
    if (status == STATUS_OK)
        status = bare_fill(
            device, type, shape.filters * shape.kernel_height * shape.kernel_width * shape.channels,
            &ours.operands.weights.buffer, err);
    if (status == STATUS_OK)
        status = bare_fill(device, shape.result_type, images * pixels * shape.filters,
                           &ours.operands.output.buffer, err);
    if (status == STATUS_OK)
        status = operation_set_weights(ours.convolution, &ours.operands.weights, err);
    if (status == STATUS_OK)
        status = operation_describe(ours.convolution, &info, err);
    if (status == STATUS_OK)
        status = bare_init(&bare, device, &shape, &ours.operands, err);
    if (status == STATUS_OK) {
        const struct bare_rival rival = {
            .name = layers[layer].name,
            .algorithm = info.algorithm,
            .precision = precision,
            .flops = 2.0 * (double)(images * pixels * shape.filters) *
                     (double)(shape.kernel_height * shape.kernel_width * shape.channels),
            .run = run,
            .operation = &ours,
        };

        status = bare_take_turns(&bare, &rival, pairs, err);
    }
    if (bare.dnnl != NULL)
        bare_finish(&bare);
    operation_destroy(ours.convolution);
    device_buffer_free(ours.operands.input.buffer);
    device_buffer_free(ours.operands.weights.buffer);
    device_buffer_free(ours.operands.output.buffer);
    return status;
}

struct arguments {
    long pairs, images;
};

static enum status compare_all(struct device *device, const void *context, struct error *err)
{
    const struct arguments *arguments = context;
    enum status status = STATUS_OK;

    for (size_t p = 0; p < sizeof(precisions) / sizeof(precisions[0]); p++)
        for (size_t i = 0; i < sizeof(layers) / sizeof(layers[0]) && status == STATUS_OK; i++)
            status = compare(device, i, precisions[p], (uint64_t)arguments->images,
                             arguments->pairs, err);
    return status;
}

int main(int argc, char **argv)
{
    const struct arguments arguments = {.pairs = argc == 3 ? atol(argv[1]) : 0,
                                        .images = argc == 3 ? atol(argv[2]) : 0};

    if (arguments.pairs <= 0 || arguments.images <= 0) {
        fprintf(stderr, "usage: bench_convolution PAIRS IMAGES\n");
        return 2;
    }
    return bare_main("bench_convolution", compare_all, &arguments);
}
