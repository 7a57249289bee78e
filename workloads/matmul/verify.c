#include "workloads/matmul/check.h"
#include "workloads/matmul/matmul.h"

static void row_of_a(const struct product_check *check, uint64_t row, double *ret)
{
    for (uint64_t p = 0; p < check->k; p++)
        ret[p] = matmul_exact(&check->data, MATMUL_A, row * check->k + p);
}

static void column_of_b(const struct product_check *check, uint64_t column, double *ret)
{
    const struct matmul_instance *instance = check->context;
    const bool plain = instance->parameters->weights == MATMUL_PLAIN;

    for (uint64_t p = 0; p < check->k; p++)
        ret[p] = matmul_exact(&check->data, MATMUL_B,
                              plain ? p * check->n + column : column * check->k + p);
}

static struct product_check check_of(const struct workload_instance *base, size_t index)
{
    const struct matmul_instance *instance = (const struct matmul_instance *)base;
    const struct matmul_layer *layer = &instance->layers[index];

    return (struct product_check){.subject = "matmul",
                                  .precision = instance->base.work.precision,
                                  .arm = instance->base.work.arm,
                                  .data = matmul_data_of(instance, index),
                                  .m = layer->m,
                                  .n = layer->n,
                                  .k = layer->k,
                                  .groups = 1,
                                  .c = layer->c,
                                  .result_type = instance->result_type,
                                  .output = layer->output,
                                  .output_exact = layer->output_exact,
                                  .row = row_of_a,
                                  .column = column_of_b,
                                  .context = instance};
}

enum status matmul_verify(struct workload_instance *base, workload_check_fn *report, void *context,
                          struct error *err)
{
    struct matmul_instance *instance = (struct matmul_instance *)base;
    const struct product_outputs outputs = {.base = base,
                                            .count = instance->layer_count,
                                            .unchecked = &instance->unchecked,
                                            .iterate = matmul_iterate,
                                            .check_of = check_of};

    return product_outputs_verify(&outputs, report, context, err);
}
