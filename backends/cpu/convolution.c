/*
 * convolution - the forward convolution by oneDNN's convolution primitive.
 *
 * Input and output lie channels last, as they are. The weights' layout is oneDNN's own choice: what
 * it makes of them (set_weights) is kept here, and no run has any part of that.
 */
#include "backends/cpu/internal.h"

#include <stdio.h>
#include <stdlib.h>

struct cpu_convolution {
    struct operation base;
    struct dnnl_primitive *primitive, *reorder; /* no reorder: the weights are read as given */
    char algorithm[OPERATION_WORD_MAX];
    unsigned char *scratchpad, *arranged;
    uint64_t scratchpad_bytes, arranged_bytes;
    struct dnnl_memory *input, *weights, *output, *pad, *given;
};

struct layouts {
    struct assay_dnnl_memory_desc *input, *given, *any, *output;
};

static void layouts_finish(const struct onednn *dnnl, struct layouts *layouts)
{
    onednn_layout_destroy(dnnl, layouts->input);
    onednn_layout_destroy(dnnl, layouts->given);
    onednn_layout_destroy(dnnl, layouts->any);
    onednn_layout_destroy(dnnl, layouts->output);
}

/* Logical dimensions are (n, c, h, w); in memory c is innermost. */
static enum status image_layout(const struct onednn *dnnl, uint64_t batch, uint64_t channels,
                                uint64_t height, uint64_t width, unsigned type,
                                struct assay_dnnl_memory_desc **ret, struct error *err)
{
    const int64_t c = (int64_t)channels, h = (int64_t)height, w = (int64_t)width;
    const int64_t dims[ASSAY_DNNL_NDIMS] = {(int64_t)batch, c, h, w};
    const int64_t strides[ASSAY_DNNL_NDIMS] = {h * w * c, 1, w * c, c};

    return onednn_layout_create(dnnl, 4, dims, type, strides, ret, err);
}

static enum status make_layouts(const struct onednn *dnnl, const struct convolution_shape *shape,
                                struct layouts *ret, struct error *err)
{
    const unsigned type = cpu_dnnl_type(dnnl, shape->type);
    const unsigned result = cpu_dnnl_type(dnnl, shape->result_type);
    const int64_t groups = (int64_t)shape->groups;
    const int64_t o = (int64_t)shape->filters / groups, i = (int64_t)shape->channels / groups;
    const int64_t h = (int64_t)shape->kernel_height, w = (int64_t)shape->kernel_width;
    /* (g, o, i, h, w), the first one only where there are groups. */
    const int64_t dims[ASSAY_DNNL_NDIMS] = {groups, o, i, h, w};
    const int64_t strides[ASSAY_DNNL_NDIMS] = {o * h * w * i, h * w * i, 1, w * i, i};
    const int first = groups == 1 ? 1 : 0;

    if (type == 0 || result == 0)
        return error_set(err, STATUS_UNSUPPORTED, "oneDNN %s has no data type %s", dnnl->version,
                         dtype_name(type == 0 ? shape->type : shape->result_type));
    TRY(image_layout(dnnl, shape->batch, shape->channels, shape->height, shape->width, type,
                     &ret->input, err));
    TRY(image_layout(dnnl, shape->batch, shape->filters, convolution_out_height(shape),
                     convolution_out_width(shape), result, &ret->output, err));
    TRY(onednn_layout_create(dnnl, 5 - first, dims + first, type, strides + first, &ret->given,
                             err));
    return onednn_layout_create(dnnl, 5 - first, dims + first, type, NULL, &ret->any, err);
}

/* How weights come from the layout given into the one that `desc` wants. */
static enum status make_weights(const struct onednn *dnnl, const struct layouts *layouts,
                                const struct dnnl_primitive_desc *desc,
                                struct cpu_convolution *convolution, struct error *err)
{
    const struct dnnl_api *api = &dnnl->api;
    const struct assay_dnnl_memory_desc *wanted =
        api->dnnl_primitive_desc_query_md(desc, ASSAY_DNNL_query_weights_md, 0);
    struct dnnl_primitive_desc *reorder = NULL;
    enum status status;
    unsigned code;

    if (wanted == NULL)
        return error_set(err, STATUS_DEVICE,
                         "oneDNN %s: dnnl_primitive_desc_query_md gives no "
                         "layout of weights",
                         dnnl->version);
    if (api->dnnl_memory_desc_equal(wanted, layouts->given))
        return cpu_dnnl_memory(dnnl, layouts->given, NULL, &convolution->weights, err);
    code = api->dnnl_reorder_primitive_desc_create(&reorder, layouts->given, dnnl->engine, wanted,
                                                   dnnl->engine, NULL);
    if (code != ASSAY_DNNL_success || reorder == NULL)
        return onednn_fail(dnnl, "dnnl_reorder_primitive_desc_create", code, err);
    status = cpu_dnnl_primitive(dnnl, reorder, &convolution->reorder, err);
    api->dnnl_primitive_desc_destroy(reorder);
    TRY(status);
    TRY(cpu_dnnl_array(dnnl, wanted, "weights", &convolution->arranged,
                       &convolution->arranged_bytes, err));
    TRY(cpu_dnnl_memory(dnnl, wanted, convolution->arranged, &convolution->weights, err));
    return cpu_dnnl_memory(dnnl, layouts->given, NULL, &convolution->given, err);
}

static enum status make_convolution(const struct onednn *dnnl,
                                    const struct convolution_shape *shape,
                                    const struct layouts *layouts,
                                    struct cpu_convolution *convolution, struct error *err)
{
    const int64_t strides[ASSAY_DNNL_NDIMS] = {(int64_t)shape->stride_y, (int64_t)shape->stride_x};
    const int64_t dilations[ASSAY_DNNL_NDIMS] = {(int64_t)shape->dilation_y - 1,
                                                 (int64_t)shape->dilation_x - 1};
    const int64_t paddings[ASSAY_DNNL_NDIMS] = {(int64_t)shape->pad_y, (int64_t)shape->pad_x};
    struct dnnl_primitive_attr *attributes = NULL;
    struct dnnl_primitive_desc *desc = NULL;
    const struct assay_dnnl_memory_desc *pad;
    enum status status;

    TRY(cpu_dnnl_attributes(dnnl, shape->precision, &attributes, err));
    status = onednn_convolution_create(dnnl, layouts->input, layouts->any, layouts->output, strides,
                                       dilations, paddings, attributes, &desc, err);
    dnnl->api.dnnl_primitive_attr_destroy(attributes);
    TRY(status);
    onednn_algorithm(dnnl, desc, convolution->algorithm, sizeof(convolution->algorithm));
    pad = dnnl->api.dnnl_primitive_desc_query_md(desc, ASSAY_DNNL_query_scratchpad_md, 0);
    status = cpu_dnnl_primitive(dnnl, desc, &convolution->primitive, err);
    if (status == STATUS_OK)
        status = cpu_dnnl_memory(dnnl, layouts->input, NULL, &convolution->input, err);
    if (status == STATUS_OK)
        status = cpu_dnnl_memory(dnnl, layouts->output, NULL, &convolution->output, err);
    if (status == STATUS_OK)
        status = make_weights(dnnl, layouts, desc, convolution, err);
    if (status == STATUS_OK)
        status = cpu_dnnl_array(dnnl, pad, "a scratchpad", &convolution->scratchpad,
                                &convolution->scratchpad_bytes, err);
    if (status == STATUS_OK && convolution->scratchpad != NULL)
        status = cpu_dnnl_memory(dnnl, pad, convolution->scratchpad, &convolution->pad, err);
    dnnl->api.dnnl_primitive_desc_destroy(desc);
    return status;
}

static void destroy(struct operation *operation)
{
    const struct dnnl_api *api = &cpu_device(operation->device)->state->dnnl.api;
    struct cpu_convolution *self = (struct cpu_convolution *)operation;
    struct dnnl_memory *memories[] = {self->input, self->weights, self->output, self->pad,
                                      self->given};

    for (size_t i = 0; i < sizeof(memories) / sizeof(memories[0]); i++)
        if (memories[i] != NULL)
            api->dnnl_memory_destroy(memories[i]);
    if (self->primitive != NULL)
        api->dnnl_primitive_destroy(self->primitive);
    if (self->reorder != NULL)
        api->dnnl_primitive_destroy(self->reorder);
    free(self->scratchpad);
    free(self->arranged);
    free(self);
}

static enum status set_weights(struct operation *operation, const struct operand *weights,
                               struct error *err)
{
    struct cpu_device *device = cpu_device(operation->device);
    struct cpu_convolution *self = (struct cpu_convolution *)operation;
    const struct assay_dnnl_exec_arg args[] = {{ASSAY_DNNL_ARG_SRC, self->given},
                                               {ASSAY_DNNL_ARG_DST, self->weights}};
    struct dnnl_memory *memory = self->reorder != NULL ? self->given : self->weights;
    const enum status status = cpu_dnnl_point(&device->state->dnnl, memory, weights,
                                              operation->desc.convolution.type, err);

    if (status != STATUS_OK || self->reorder == NULL)
        return status;
    return cpu_dnnl_execute(device, self->reorder, 2, args, err);
}

static enum status run(struct operation *operation, const union operands *operands,
                       struct error *err)
{
    struct cpu_device *device = cpu_device(operation->device);
    const struct onednn *dnnl = &device->state->dnnl;
    const struct convolution_shape *shape = &operation->desc.convolution;
    struct cpu_convolution *self = (struct cpu_convolution *)operation;
    const struct assay_dnnl_exec_arg args[] = {{ASSAY_DNNL_ARG_SRC, self->input},
                                               {ASSAY_DNNL_ARG_WEIGHTS, self->weights},
                                               {ASSAY_DNNL_ARG_DST, self->output},
                                               {ASSAY_DNNL_ARG_SCRATCHPAD, self->pad}};

    TRY(cpu_dnnl_point(dnnl, self->input, &operands->convolution.input, shape->type, err));
    TRY(cpu_dnnl_point(dnnl, self->output, &operands->convolution.output, shape->result_type, err));
    return cpu_dnnl_execute(device, self->primitive, self->pad != NULL ? 4 : 3, args, err);
}

static enum status describe(const struct operation *operation, struct operation_info *ret,
                            struct error *err)
{
    const struct cpu_convolution *self = (const struct cpu_convolution *)operation;

    (void)err;
    cpu_dnnl_describe(&cpu_device(operation->device)->state->dnnl,
                      operation->desc.convolution.precision, self->algorithm,
                      self->scratchpad_bytes, ret);
    snprintf(ret->weights, sizeof(ret->weights), "%s",
             self->reorder != NULL ? "reordered once into the layout that oneDNN chose (any)"
                                   : "as given");
    ret->weights_bytes = self->arranged_bytes;
    return STATUS_OK;
}

static enum status prepare(struct operation *operation, struct error *err)
{
    const struct onednn *dnnl = &cpu_device(operation->device)->state->dnnl;
    const struct convolution_shape *shape = &operation->desc.convolution;
    struct cpu_convolution *convolution = (struct cpu_convolution *)operation;
    struct layouts layouts = {0};
    enum status status;

    TRY(cpu_dnnl_knows_precision(dnnl, shape->precision, err));
    status = make_layouts(dnnl, shape, &layouts, err);
    if (status == STATUS_OK)
        status = make_convolution(dnnl, shape, &layouts, convolution, err);
    if (status == STATUS_OK)
        status = cpu_dnnl_takes_precision(dnnl, shape->precision, convolution->algorithm, err);
    layouts_finish(dnnl, &layouts);
    return status;
}

enum status cpu_convolution_create(struct device *device, const struct operation_desc *desc,
                                   struct operation **ret, struct error *err)
{
    static const struct operation_ops ops = {.size = sizeof(struct cpu_convolution),
                                             .prepare = prepare,
                                             .destroy = destroy,
                                             .run = run,
                                             .describe = describe,
                                             .set_weights = set_weights};

    return operation_make(&ops, device, desc, ret, err);
}
