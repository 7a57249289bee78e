#include <stdio.h>

#include "workloads/convolution/convolution.h"
#include "workloads/ops/gemm_internal.h"

static struct operation_info portable_info(enum precision precision)
{
    struct operation_info info = {.weights = "as given"};

    gemm_portable_support(NULL, precision, &info);
    snprintf(info.algorithm, sizeof(info.algorithm),
             "workloads/kernels/convolution.h, implicit GEMM");
    return info;
}

/* `prepared`: NULL in the portable implementation. */
static json_t *entry_json(const struct convolution_shape *shape,
                          const struct prepared_operation *prepared)
{
    const struct {
        const char *key;
        uint64_t value;
    } numbers[] = {
        {"batch", shape->batch},
        {"height", shape->height},
        {"width", shape->width},
        {"channels", shape->channels},
        {"filters", shape->filters},
        {"kernel_height", shape->kernel_height},
        {"kernel_width", shape->kernel_width},
        {"stride", shape->stride_y},
        {"padding", shape->pad_y},
        {"dilation", shape->dilation_y},
        {"groups", shape->groups},
    };
    struct operation_info info = portable_info(shape->precision);
    json_t *json;

    if (prepared)
        operation_describe(prepared->operation, &info, NULL);
    json = gemm_info_json(&info);
    if (!json)
        return NULL;
    json_object_update_new(json, json_pack("{s:s, s:s, s:s, s:s, s:I}", "layout", "nhwc", "type",
                                           dtype_name(shape->type), "result",
                                           dtype_name(shape->result_type), "weights", info.weights,
                                           "weights_bytes", (json_int_t)info.weights_bytes));
    if (prepared && info.algorithms > 0)
        json_object_update_new(json,
                               json_pack("{s:I, s:I}", "algorithms", (json_int_t)info.algorithms,
                                         "tried", (json_int_t)prepared->tried));
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        json_object_set_new(json, numbers[i].key, json_integer((json_int_t)numbers[i].value));
    return json;
}

json_t *convolution_facts(const struct convolution_instance *instance)
{
    json_t *list = json_array(), *facts;

    for (size_t i = 0; i < instance->products.count; i++) {
        const struct convolution_shape shape = convolution_shape_at(&instance->products, i);

        json_array_append_new(
            list,
            entry_json(&shape, instance->operations ? &instance->operations->items[i] : NULL));
    }
    facts = json_pack("{s:o, s:o}", "gemm",
                      gemm_summary_json(instance->products.base.work.implementation, list), "gemms",
                      list);
    if (facts && instance->portable)
        convolution_portable_facts(instance->portable, facts);
    else if (facts && json_array_size(instance->operations->candidates) > 0)
        json_object_set(facts, "candidates", instance->operations->candidates);
    return facts;
}
