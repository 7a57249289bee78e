#include <stdlib.h>

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

static struct product_check check_of(const struct matmul_instance *instance, size_t index)
{
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

/*
 * C holds NaN (or -1) until an iteration writes it: at the start, and again after each check. So
 * what is compared here was written since, in the warmup or the window when they lie between.
 */
enum status matmul_verify(struct workload_instance *base, workload_check_fn *report, void *context,
                          struct error *err)
{
    struct matmul_instance *instance = (struct matmul_instance *)base;
    struct product_check *checks = NULL;
    enum status status = STATUS_OK;

    if (instance->unchecked == 0)
        status = matmul_iterate(base, err);
    if (status == STATUS_OK)
        status = device_synchronize(base->device, err);
    if (status != STATUS_OK)
        return status;
    checks = calloc(instance->layer_count, sizeof(*checks));
    if (!checks)
        return error_set(err, STATUS_NO_MEMORY, "checking a product: out of memory");
    for (size_t i = 0; i < instance->layer_count; i++)
        checks[i] = check_of(instance, i);
    status = product_checks_run(checks, instance->layer_count, report, context, err);
    free(checks);
    if (status == STATUS_OK)
        instance->unchecked = 0;
    return status;
}
