#include <stdio.h>

#include "workloads/gemm/check.h"
#include "workloads/gemm/gemm.h"
#include "workloads/onnx/write.h"

static void row_of_a(const struct gemm_check *check, uint64_t row, double *ret)
{
    for (uint64_t p = 0; p < check->k; p++)
        ret[p] = gemm_exact(&check->a, GEMM_A, row * check->k + p);
}

static enum status upload_row(const struct gemm_check *check, uint64_t row, struct error *err)
{
    const struct gemm_layer *layer = check->context;

    return gemm_upload(&check->a, GEMM_A, row * check->k, check->k, layer->arrays[GEMM_A].buffer,
                       err);
}

static void column_of_b(const struct gemm_check *check, uint64_t column, double *ret)
{
    for (uint64_t p = 0; p < check->k; p++)
        ret[p] = gemm_exact(&check->b, GEMM_B, column * check->k + p);
}

static void column_of_plain_b(const struct gemm_check *check, uint64_t column, double *ret)
{
    for (uint64_t p = 0; p < check->k; p++)
        ret[p] = gemm_exact(&check->b, GEMM_B, p * check->n + column);
}

static struct gemm_check check_of(const struct workload_instance *base, size_t index)
{
    const struct gemm_instance *instance = (const struct gemm_instance *)base;
    const struct gemm_layer *layer = &instance->layers[index];
    const struct gemm_data data = {.seed = base->work.seed,
                                   .shape = index,
                                   .distribution = instance->parameters->distribution,
                                   .type = instance->operand_type};

    return (struct gemm_check){
        .subject = "gemm",
        .precision = instance->base.work.precision,
        .implementation = instance->base.work.implementation,
        .a = data,
        .b = data,
        .m = layer->m,
        .n = layer->n,
        .k = layer->k,
        .groups = 1,
        .c = layer->arrays[GEMM_C].buffer,
        .result_type = instance->result_type,
        .output = layer->arrays[GEMM_C].tensor.name,
        .output_exact = layer->output_exact,
        .row = row_of_a,
        .upload_row = upload_row,
        .column = instance->parameters->weights == GEMM_PLAIN ? column_of_plain_b : column_of_b,
        .context = layer};
}

static struct gemm_array *arrays_of(struct workload_instance *base, size_t index)
{
    return ((struct gemm_instance *)base)->layers[index].arrays;
}

static void put_nodes(struct workload_instance *base, size_t index, struct text *graph)
{
    const struct gemm_instance *instance = (const struct gemm_instance *)base;
    const struct gemm_array *arrays = instance->layers[index].arrays;
    const struct onnx_setting attributes[] = {
        {"transB", ONNX_WHOLE, .i = instance->parameters->weights == GEMM_TRANSPOSED}, {0}};
    char inputs[2 * TENSOR_NAME_MAX];

    snprintf(inputs, sizeof(inputs), "%s %s", arrays[GEMM_A].tensor.name,
             arrays[GEMM_B].tensor.name);
    onnx_put_node(graph, "Gemm", inputs, arrays[GEMM_C].tensor.name, attributes);
}

static struct gemm_outputs outputs_of(struct workload_instance *base)
{
    struct gemm_instance *instance = (struct gemm_instance *)base;

    return (struct gemm_outputs){.base = base,
                                 .count = instance->layer_count,
                                 .unchecked = &instance->unchecked,
                                 .iterate = gemm_iterate,
                                 .check_of = check_of,
                                 .arrays_of = arrays_of,
                                 .put_nodes = put_nodes};
}

const struct gemm_handover gemm_handover = {GEMM_HANDOVER, gemm_lay_out, outputs_of};

enum status gemm_verify(struct workload_instance *base, workload_check_fn *report, void *context,
                        struct error *err)
{
    const struct gemm_outputs outputs = outputs_of(base);

    return gemm_outputs_verify(&outputs, report, context, err);
}

enum status gemm_spot_check(struct workload_instance *base, uint64_t secret,
                            workload_check_fn *report, void *context, struct error *err)
{
    const struct gemm_outputs outputs = outputs_of(base);

    return gemm_outputs_spot_check(&outputs, secret, report, context, err);
}
