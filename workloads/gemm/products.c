#include "workloads/gemm/products.h"

#include <stdio.h>
#include <stdlib.h>

#include "workloads/storage.h"

static void free_arrays(struct products *products)
{
    for (size_t i = 0; i < products->count && products->items; i++)
        for (size_t j = 0; j < GEMM_ARRAYS; j++) {
            device_buffer_free(products->items[i].arrays[j].buffer);
            products->items[i].arrays[j].buffer = NULL;
        }
}

void product_array_set(struct products *products, size_t index, enum gemm_input array, size_t rank,
                       const uint64_t *shape)
{
    const char *own = products->family->names[array];
    char name[TENSOR_NAME_MAX];

    if (products->count == 1)
        snprintf(name, sizeof(name), "%s", own);
    else
        snprintf(name, sizeof(name), "%s[%zu]", own, index);
    products->items[index].arrays[array].tensor = tensor_new(
        name, array == GEMM_C ? products->result_type : products->operand_type, rank, shape);
}

void products_shape(struct products *products)
{
    free_arrays(products);
    for (size_t i = 0; i < products->count; i++)
        products->family->shape(products, i);
}

enum status products_lay_out(struct products *products, struct error *err)
{
    products->family = (const struct product_family *)products->base.kind->handover;
    products->family->declare(products);
    products->items = calloc(products->count, sizeof(*products->items));
    if (!products->items)
        return error_no_memory(err);
    products_shape(products);
    return STATUS_OK;
}

static enum status allocate(struct products *products, size_t index, struct error *err)
{
    const struct product_check check = product_check_of(products, index, NULL);
    struct gemm_array *arrays = products->items[index].arrays;

    for (size_t i = 0; i < GEMM_ARRAYS; i++)
        if (i != GEMM_B || !products->base.work.framework)
            TRY(device_buffer_alloc(products->base.device, arrays[i].tensor.bytes,
                                    i == GEMM_C ? BUFFER_READ_WRITE : BUFFER_READ_ONLY,
                                    &arrays[i].buffer, err));
    TRY(gemm_upload(&check.a, GEMM_A, 0, tensor_elements(&arrays[GEMM_A].tensor),
                    arrays[GEMM_A].buffer, err));
    return arrays[GEMM_B].buffer
               ? gemm_upload(&check.b, GEMM_B, 0, tensor_elements(&arrays[GEMM_B].tensor),
                             arrays[GEMM_B].buffer, err)
               : STATUS_OK;
}

static enum status run_all(struct products *products, struct error *err)
{
    if (products->base.work.framework)
        return framework_run(products->base.work.framework, 0, err);
    for (size_t i = 0; i < products->count; i++)
        TRY(products->family->run(products, i, err));
    return STATUS_OK;
}

enum status products_prepare(struct products *products, struct error *err)
{
    for (size_t i = 0; i < products->count; i++)
        TRY(allocate(products, i, err));
    if (products->base.work.framework)
        TRY(products_take_framework(products, err));
    for (size_t i = 0; i < products->count && products->family->prepare; i++)
        TRY(products->family->prepare(products, i, err));
    TRY(run_all(products, err));
    TRY(device_synchronize(products->base.device, err));
    return products_resume(&products->base, err);
}

void products_finish(struct products *products)
{
    free_arrays(products);
    free(products->items);
}

json_t *products_framework_facts(const struct products *products)
{
    return json_pack("{s:o}", "framework", workload_framework_json(&products->base.work));
}

enum status products_iterate(struct workload_instance *base, struct error *err)
{
    TRY(run_all((struct products *)base, err));
    base->unchecked++;
    return STATUS_OK;
}

enum status products_resume(struct workload_instance *base, struct error *err)
{
    struct products *products = (struct products *)base;

    for (size_t i = 0; i < products->count; i++)
        TRY(storage_poison_all(products->items[i].arrays[GEMM_C].buffer, products->result_type,
                               err));
    base->unchecked = 0;
    return STATUS_OK;
}

struct buffer *products_result(struct workload_instance *base)
{
    const struct products *products = (const struct products *)base;

    return products->items[products->count - 1].arrays[GEMM_C].buffer;
}
