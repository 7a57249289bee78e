#include "workloads/convolution/convolution.h"

#include <stdio.h>

#include "workloads/kinds.h"
#include "workloads/onnx/write.h"
#include "workloads/ops/gemm_internal.h"

static const struct convolution_parameters *parameters_of(const struct products *products)
{
    return products->base.work.workload->parameters;
}

/* What product `index` is, in the types that it has. */
static struct convolution_shape convolution_shape_at(const struct products *products, size_t index)
{
    return convolution_shape_of(&parameters_of(products)->shapes[index],
                                products->base.work.precision, products->operand_type,
                                products->result_type, products->base.work.batch);
}

static void declare(struct products *products)
{
    const struct convolution_parameters *parameters = parameters_of(products);
    const enum precision precision = products->base.work.precision;

    products->distribution = parameters->distribution;
    products->count = parameters->shape_count;
    products->operand_type = precision_dtype(precision);
    products->result_type = parameters->result == GEMM_RESULT_SUM || precision == PRECISION_INT8
                                ? gemm_sum_type(precision)
                                : products->operand_type;
}

static void shape(struct products *products, size_t index)
{
    const struct convolution_shape of = convolution_shape_at(products, index);
    const uint64_t height = convolution_out_height(&of), width = convolution_out_width(&of);
    const uint64_t channels = of.channels / of.groups;
    struct product *product = &products->items[index];

    product->m = of.batch * height * width;
    product->n = of.filters;
    product->k = of.kernel_height * of.kernel_width * channels;
    product->groups = of.groups;
    product_array_set(products, index, GEMM_A, 4,
                      (const uint64_t[]){of.batch, of.height, of.width, of.channels});
    product_array_set(products, index, GEMM_B, 4,
                      (const uint64_t[]){of.filters, of.kernel_height, of.kernel_width, channels});
    product_array_set(products, index, GEMM_C, 4,
                      (const uint64_t[]){of.batch, height, width, of.filters});
}

/* In the vendor implementation. */
static enum status prepare_operation(struct products *products, size_t index, struct error *err)
{
    struct operations *operations = ((struct convolution_instance *)products)->operations;
    const struct operation_desc desc = {.kind = OPERATION_CONVOLUTION,
                                        .convolution = convolution_shape_at(products, index)};
    const struct operand weights = {products->items[index].arrays[GEMM_B].buffer, 0};

    if (!operations)
        return STATUS_OK;
    TRY(gemm_advise(products->base.device, desc.convolution.precision,
                    operations_add(operations, &desc, err), err));
    return operation_set_weights(operations->items[index].operation, &weights, err);
}

static enum status run(struct products *products, size_t index, struct error *err)
{
    struct convolution_instance *instance = (struct convolution_instance *)products;
    const struct gemm_array *arrays = products->items[index].arrays;
    const struct convolution_shape of = convolution_shape_at(products, index);
    const union operands operands = {
        .convolution = {.input = {arrays[GEMM_A].buffer, 0}, .output = {arrays[GEMM_C].buffer, 0}}};

    return instance->operations ? operations_run(instance->operations, index, &operands, err)
                                : convolution_portable_run(instance->portable, &of, arrays, err);
}

/* ---- patches and filters: the product that a convolution is ---- */

/* Where the patch of an output's pixel begins in the input. */
struct place {
    uint64_t image, y, x; /* beyond the upper edge these wrap round, to more than any height */
};

static struct place place_of(const struct convolution_shape *shape, uint64_t row)
{
    const uint64_t height = convolution_out_height(shape), width = convolution_out_width(shape);
    const uint64_t y = row / width % height, x = row % width;

    return (struct place){.image = row / width / height,
                          .y = y * shape->stride_y - shape->pad_y,
                          .x = x * shape->stride_x - shape->pad_x};
}

static struct convolution_shape shape_of(const struct product_check *check)
{
    return convolution_shape_at(check->products, check->a.shape);
}

/* One pixel's patch, group by group, as each group's weights lie. */
static void patch(const struct product_check *check, uint64_t row, double *ret)
{
    const struct convolution_shape shape = shape_of(check);
    const struct place place = place_of(&shape, row);
    const uint64_t channels = shape.channels / shape.groups;

    for (uint64_t g = 0; g < shape.groups; g++)
        for (uint64_t r = 0; r < shape.kernel_height; r++)
            for (uint64_t s = 0; s < shape.kernel_width; s++) {
                const uint64_t y = place.y + r * shape.dilation_y;
                const uint64_t x = place.x + s * shape.dilation_x;
                const bool inside = y < shape.height && x < shape.width;
                const uint64_t at =
                    ((place.image * shape.height + y) * shape.width + x) * shape.channels +
                    g * channels;

                for (uint64_t c = 0; c < channels; c++)
                    *ret++ = inside ? gemm_exact(&check->a, GEMM_A, at + c) : 0.0;
            }
}

/* All of each row between the patch's edges, with what a dilation leaves out. */
static enum status upload_patch(const struct product_check *check, uint64_t row, struct error *err)
{
    const struct convolution_shape shape = shape_of(check);
    const struct place place = place_of(&shape, row);
    const int64_t reach = (int64_t)((shape.kernel_width - 1) * shape.dilation_x + 1);
    const int64_t width = (int64_t)shape.width, left = (int64_t)place.x, right = left + reach;
    const int64_t begin = left > 0 ? left : 0, end = right < width ? right : width;

    for (uint64_t r = 0; r < shape.kernel_height; r++) {
        const uint64_t y = place.y + r * shape.dilation_y;

        if (y < shape.height && begin < end)
            TRY(gemm_upload(&check->a, GEMM_A,
                            ((place.image * shape.height + y) * shape.width + (uint64_t)begin) *
                                shape.channels,
                            (uint64_t)(end - begin) * shape.channels,
                            check->product->arrays[GEMM_A].buffer, err));
    }
    return STATUS_OK;
}

static void filter(const struct product_check *check, uint64_t column, double *ret)
{
    const uint64_t k = check->product->k;

    for (uint64_t p = 0; p < k; p++)
        ret[p] = gemm_exact(&check->b, GEMM_B, column * k + p);
}

/* ONNX has channels before rows: arrays are turned on the way in and out, weights once. */
static void put_nodes(const struct products *products, size_t index, struct text *graph)
{
    const struct convolution_shape shape = convolution_shape_at(products, index);
    const struct gemm_array *arrays = products->items[index].arrays;
    const int64_t y = (int64_t)shape.pad_y, x = (int64_t)shape.pad_x;
    const struct onnx_attribute first[] = {
        {"perm", ONNX_LIST, .list = (const int64_t[]){0, 3, 1, 2}, .count = 4}, {0}};
    const struct onnx_attribute last[] = {
        {"perm", ONNX_LIST, .list = (const int64_t[]){0, 2, 3, 1}, .count = 4}, {0}};
    const struct onnx_attribute window[] = {
        {"strides", ONNX_LIST,
         .list = (const int64_t[]){(int64_t)shape.stride_y, (int64_t)shape.stride_x}, .count = 2},
        {"dilations", ONNX_LIST,
         .list = (const int64_t[]){(int64_t)shape.dilation_y, (int64_t)shape.dilation_x},
         .count = 2},
        {"pads", ONNX_LIST, .list = (const int64_t[]){y, x, y, x}, .count = 4},
        {"group", ONNX_WHOLE, .whole = (int64_t)shape.groups},
        {0}};
    const char *const output = arrays[GEMM_C].tensor.name;
    char names[3][TENSOR_NAME_MAX + 16], operands[sizeof(names)];

    snprintf(names[0], sizeof(names[0]), "%s.images", output);
    snprintf(names[1], sizeof(names[1]), "%s.filters", output);
    snprintf(names[2], sizeof(names[2]), "%s.planes", output);
    snprintf(operands, sizeof(operands), "%s %s", names[0], names[1]);
    onnx_put_node(graph, "Transpose", arrays[GEMM_A].tensor.name, names[0], first);
    onnx_put_node(graph, "Transpose", arrays[GEMM_B].tensor.name, names[1], first);
    onnx_put_node(graph, "Conv", operands, names[2], window);
    onnx_put_node(graph, "Transpose", names[2], output, last);
}

static const struct product_family family = {
    .hooks = PRODUCTS_HANDOVER,
    .names = {"input", "weights", "output"},
    .declare = declare,
    .shape = shape,
    .prepare = prepare_operation,
    .run = run,
    .row = patch,
    .upload_row = upload_patch,
    .column = filter,
    .put_nodes = put_nodes,
};

static enum status create_operations(struct convolution_instance *instance, struct error *err)
{
    const struct workload_instance *base = &instance->products.base;
    json_auto_t *candidates = json_array();

    operations_destroy(instance->operations);
    instance->operations = NULL;
    return candidates ? operations_create(base->device, &base->work, "convolution", candidates,
                                          &instance->operations, err)
                      : error_no_memory(err);
}

static enum status prepare(struct convolution_instance *instance, struct error *err)
{
    struct products *products = &instance->products;
    const struct workload_case *work = &products->base.work;

    if (!work->framework)
        TRY(work->implementation == IMPLEMENTATION_PORTABLE
                ? convolution_portable_create(products->base.device, work, products->operand_type,
                                              products->result_type, &instance->portable, err)
                : create_operations(instance, err));
    return products_prepare(products, err);
}

/* Where a library keeps no i32, its sums of int8 come as f32, and the facts say so. */
static enum status prepare_any(struct convolution_instance *instance, struct error *err)
{
    struct products *products = &instance->products;
    struct error refusal = ERROR_INIT;
    enum status status = prepare(instance, &refusal);

    if (status == STATUS_UNSUPPORTED && !products->base.work.framework &&
        products->base.work.implementation == IMPLEMENTATION_VENDOR &&
        products->result_type == DTYPE_I32) {
        products->result_type = DTYPE_F32;
        products_shape(products);
        status = prepare(instance, NULL);
    }
    if (status != STATUS_OK && err)
        *err = refusal;
    return status;
}

static enum status init(struct workload_instance *base, struct error *err)
{
    const struct workload_case *work = &base->work;
    struct convolution_instance *instance = (struct convolution_instance *)base;

    if (!work->framework && work->implementation == IMPLEMENTATION_VENDOR &&
        !device_has_operation(base->device, OPERATION_CONVOLUTION))
        return error_set(
            err, STATUS_UNSUPPORTED,
            "%s has no vendor convolution, so no vendor implementation: `assay devices -v` lists "
            "which libraries were tried",
            base->device->info.name);
    TRY(products_lay_out(&instance->products, err));
    return prepare_any(instance, err);
}

static void finish(struct workload_instance *base)
{
    struct convolution_instance *instance = (struct convolution_instance *)base;

    operations_destroy(instance->operations);
    convolution_portable_destroy(instance->portable);
    products_finish(&instance->products);
}

static size_t artifacts(struct workload_instance *base, struct module_artifact *ret,
                        size_t capacity)
{
    struct convolution_instance *instance = (struct convolution_instance *)base;

    return instance->portable ? convolution_portable_artifacts(instance->portable, ret, capacity)
                              : 0;
}

static json_t *choices(struct workload_instance *base)
{
    const struct convolution_instance *instance = (struct convolution_instance *)base;

    return json_pack("{s:o*, s:o*}", "gemm",
                     instance->portable ? convolution_portable_choices(instance->portable) : NULL,
                     "convolution",
                     instance->operations ? operations_choices(instance->operations) : NULL);
}

/* ---- facts ---- */

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

static json_t *convolution_facts(const struct convolution_instance *instance)
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

static json_t *facts(struct workload_instance *base)
{
    const struct convolution_instance *instance = (const struct convolution_instance *)base;

    return base->work.framework ? products_framework_facts(&instance->products)
                                : convolution_facts(instance);
}

const struct workload_kind workload_convolution = {
    .name = "convolution",
    .summary = "2-D convolutions, channels last, in the vendor's library or our own text",
    .form = &convolution_form,
    .cost = convolution_cost,
    .describe = convolution_describe,
    .instance_size = sizeof(struct convolution_instance),
    .init = init,
    .iterate = products_iterate,
    .result = products_result,
    .runs_frameworks = true,
    .checks = &products_checks,
    .artifacts = artifacts,
    .choices = choices,
    .facts = facts,
    .handover = &family.hooks,
    .finish = finish,
};
