#include "workloads/convolution/convolution.h"

#include "workloads/kinds.h"

static const struct convolution_parameters *parameters_of(const struct products *products)
{
    return products->base.work.workload->parameters;
}

struct convolution_shape convolution_shape_at(const struct products *products, size_t index)
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

static const struct product_family family = {
    .hooks = PRODUCTS_HANDOVER,
    .names = {"input", "weights", "output"},
    .declare = declare,
    .shape = shape,
    .prepare = prepare_operation,
    .run = run,
    .row = convolution_row,
    .upload_row = convolution_upload_row,
    .column = convolution_column,
    .put_nodes = convolution_put_nodes,
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

static json_t *facts(struct workload_instance *base)
{
    const struct convolution_instance *instance = (const struct convolution_instance *)base;

    return base->work.framework ? products_framework_facts(&instance->products)
                                : convolution_facts(instance);
}

const struct workload_kind workload_convolution = {
    .name = "convolution",
    .summary = "2-D convolutions, channels last, in the vendor's library or our own text",
    .load = convolution_load,
    .cost = convolution_cost,
    .describe = convolution_describe,
    .instance_size = sizeof(struct convolution_instance),
    .init = init,
    .iterate = products_iterate,
    .runs_frameworks = true,
    .checks = &products_checks,
    .artifacts = artifacts,
    .choices = choices,
    .facts = facts,
    .handover = &family.hooks,
    .finish = finish,
};
