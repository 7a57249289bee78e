#include "workloads/ops/autotune.h"

#include <inttypes.h>
#include <stdlib.h>

#include "workloads/convolution/convolution.h"

static enum status describe(void *operation, struct gemm_info *ret, struct error *err)
{
    struct convolution_info info = {0};
    const struct convolution_layer *layer = operation;
    enum status status = device_convolution_describe(layer->vendor, &info, err);

    if (status == STATUS_OK)
        *ret = info.library;
    return status;
}

static enum status select_algorithm(void *operation, uint32_t index, struct error *err)
{
    return device_convolution_select(((struct convolution_layer *)operation)->vendor, index, err);
}

static enum status run(void *operation, struct error *err)
{
    const struct convolution_layer *layer = operation;
    const struct gemm_operand input = {layer->input, 0}, output = {layer->output, 0};

    return device_convolution_run(layer->vendor, &input, &output, err);
}

/*
 * All of a shape as text: "bf16 to bf16, 8x56x56x64, 64 of 3x3, stride 1x1, padding 1x1, dilation
 * 1x1, groups 1"; heap, NULL: no memory.
 */
static char *shape_key(const struct convolution_shape *shape)
{
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

enum status convolution_autotune(struct convolution_instance *instance,
                                 struct convolution_layer *layer, struct error *err)
{
    const bool is_given = instance->base.work.choices != NULL;
    char *key = shape_key(&layer->shape);
    json_t *before = json_pack("{s:O}", "algorithms", instance->algorithms);
    struct gemm_info info = {0};
    struct autotune autotune = {.device = instance->base.device,
                                .subject = "convolution",
                                .key = key,
                                .given = is_given ? instance->given : before,
                                .is_given = is_given,
                                .candidates = instance->candidates,
                                .operation = layer,
                                .describe = describe,
                                .select = select_algorithm,
                                .run = run};
    enum status status = key && before
                             ? autotune_algorithm(&autotune, err)
                             : error_set(err, STATUS_NO_MEMORY, "convolution: out of memory");

    layer->tried = autotune.tried;
    if (status == STATUS_OK)
        status = describe(layer, &info, err);
    if (status == STATUS_OK)
        autotune_record(instance->algorithms, key, &info, layer->tried);
    json_decref(before);
    free(key);
    return status;
}

json_t *convolution_autotuned(const struct convolution_instance *instance)
{
    struct gemm_info info = {0};

    if (instance->layer_count > 0 && instance->layers[0].vendor)
        describe(&instance->layers[0], &info, NULL);
    return autotune_choices(json_incref(instance->algorithms), &info);
}
