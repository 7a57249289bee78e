#include "workloads/gemm/gemm.h"

#include <stdio.h>

#include "workloads/gemm/products.h"
#include "workloads/kinds.h"
#include "workloads/onnx/write.h"

static const struct gemm_parameters *parameters_of(const struct products *products)
{
    return products->base.work.workload->parameters;
}

static void declare(struct products *products)
{
    const struct gemm_parameters *parameters = parameters_of(products);

    products->distribution = parameters->distribution;
    products->count = parameters->shape_count;
    products->operand_type = precision_dtype(products->base.work.precision);
    products->result_type = gemm_result_type(parameters, products->base.work.precision);
}

static void shape(struct products *products, size_t index)
{
    const bool plain = parameters_of(products)->weights == GEMM_PLAIN;
    const struct gemm_size *size = &parameters_of(products)->shapes[index];
    const uint64_t m = (uint64_t)size->m * (uint64_t)products->base.work.batch;
    const uint64_t n = (uint64_t)size->n, k = (uint64_t)size->k;
    struct product *product = &products->items[index];

    product->m = m;
    product->n = n;
    product->k = k;
    product->groups = 1;
    product_array_set(products, index, GEMM_A, 2, (const uint64_t[]){m, k});
    product_array_set(products, index, GEMM_B, 2, (const uint64_t[]){plain ? k : n, plain ? n : k});
    product_array_set(products, index, GEMM_C, 2, (const uint64_t[]){m, n});
}

static enum status run(struct products *products, size_t index, struct error *err)
{
    const struct product *product = &products->items[index];
    const bool transposed = parameters_of(products)->weights == GEMM_TRANSPOSED;
    const struct op_gemm gemm = {
        .m = product->m,
        .n = product->n,
        .k = product->k,
        .a = {.at = {product->arrays[GEMM_A].buffer, 0},
              .type = products->operand_type,
              .stride = product->k},
        .b = {.at = {product->arrays[GEMM_B].buffer, 0},
              .type = products->operand_type,
              .stride = transposed ? product->k : product->n,
              .transpose = transposed},
        .c = {.at = {product->arrays[GEMM_C].buffer, 0},
              .type = products->result_type,
              .stride = product->n},
    };

    return gemms_run(((struct gemm_instance *)products)->gemms, &gemm, err);
}

static void row(const struct product_check *check, uint64_t row, double *ret)
{
    const uint64_t k = check->product->k;

    for (uint64_t p = 0; p < k; p++)
        ret[p] = gemm_exact(&check->a, GEMM_A, row * k + p);
}

static enum status upload_row(const struct product_check *check, uint64_t row, struct error *err)
{
    const uint64_t k = check->product->k;

    return gemm_upload(&check->a, GEMM_A, row * k, k, check->product->arrays[GEMM_A].buffer, err);
}

static void column(const struct product_check *check, uint64_t column, double *ret)
{
    const uint64_t k = check->product->k, n = check->product->n;
    const bool plain = parameters_of(check->products)->weights == GEMM_PLAIN;

    for (uint64_t p = 0; p < k; p++)
        ret[p] = gemm_exact(&check->b, GEMM_B, plain ? p * n + column : column * k + p);
}

static void put_nodes(const struct products *products, size_t index, struct text *graph)
{
    const struct gemm_array *arrays = products->items[index].arrays;
    const struct onnx_attribute attributes[] = {
        {"transB", ONNX_WHOLE, .whole = parameters_of(products)->weights == GEMM_TRANSPOSED}, {0}};
    char inputs[2 * TENSOR_NAME_MAX];

    snprintf(inputs, sizeof(inputs), "%s %s", arrays[GEMM_A].tensor.name,
             arrays[GEMM_B].tensor.name);
    onnx_put_node(graph, "Gemm", inputs, arrays[GEMM_C].tensor.name, attributes);
}

static const struct product_family family = {
    .hooks = PRODUCTS_HANDOVER,
    .names = {"a", "b", "c"},
    .declare = declare,
    .shape = shape,
    .run = run,
    .row = row,
    .upload_row = upload_row,
    .column = column,
    .put_nodes = put_nodes,
};

/* AMD's fp8 before CDNA 4 is another type of the same precision: where OCP's is refused, it is
 * next. */
static enum dtype other_type(enum dtype type)
{
    return type == DTYPE_E4M3   ? DTYPE_E4M3_FNUZ
           : type == DTYPE_E5M2 ? DTYPE_E5M2_FNUZ
                                : DTYPE_COUNT;
}

static enum status prepare_any(struct products *products, struct error *err)
{
    const enum dtype first = products->operand_type, other = other_type(first);
    struct error refusal = ERROR_INIT;
    enum status status = products_prepare(products, &refusal);

    if (status == STATUS_UNSUPPORTED && other != DTYPE_COUNT &&
        products->base.work.implementation == IMPLEMENTATION_VENDOR) {
        products->operand_type = other;
        products_shape(products);
        status = products_prepare(products, NULL);
        if (status != STATUS_OK)
            products->operand_type = first;
    }
    if (status != STATUS_OK && err)
        *err = refusal;
    return status;
}

static enum status init(struct workload_instance *base, struct error *err)
{
    const struct workload_case *work = &base->work;
    struct gemm_instance *instance = (struct gemm_instance *)base;

    TRY(products_lay_out(&instance->products, err));
    if (work->framework)
        return products_prepare(&instance->products, err);
    TRY(gemms_create(base->device, work, &instance->gemms, err));
    TRY(prepare_any(&instance->products, err));
    gemms_seal(instance->gemms);
    return STATUS_OK;
}

static size_t artifacts(struct workload_instance *base, struct module_artifact *ret,
                        size_t capacity)
{
    struct gemms *gemms = ((struct gemm_instance *)base)->gemms;

    return gemms ? gemms_artifacts(gemms, ret, capacity) : 0;
}

static json_t *choices(struct workload_instance *base)
{
    const struct gemms *gemms = ((struct gemm_instance *)base)->gemms;

    return json_pack("{s:o*}", "gemm", gemms ? gemms_choices(gemms) : NULL);
}

static json_t *facts(struct workload_instance *base)
{
    const struct gemm_instance *instance = (const struct gemm_instance *)base;

    return base->work.framework ? products_framework_facts(&instance->products)
                                : gemms_facts(instance->gemms);
}

static void finish(struct workload_instance *base)
{
    struct gemm_instance *instance = (struct gemm_instance *)base;

    gemms_destroy(instance->gemms);
    products_finish(&instance->products);
}

const struct workload_kind workload_gemm = {
    .name = "gemm",
    .summary = "GEMMs of a linear layer's kind, in the vendor's library or our own text",
    .form = &gemm_form,
    .cost = gemm_cost,
    .describe = gemm_describe,
    .instance_size = sizeof(struct gemm_instance),
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
