/* Products by a framework: a model in which B is a constant, run on the arrays of A and C. */
#include <stdlib.h>

#include "harness/core/cleanup.h"
#include "workloads/gemm/products.h"
#include "workloads/onnx/write.h"

static enum status put_product(const struct products *products, size_t index, struct text *graph,
                               struct error *err)
{
    const struct product_check check = product_check_of(products, index, NULL);
    const struct gemm_array *arrays = products->items[index].arrays;
    const struct tensor *a = &arrays[GEMM_A].tensor, *c = &arrays[GEMM_C].tensor;
    struct tensor b = arrays[GEMM_B].tensor;

    if (c->type != a->type)
        return error_set(err, STATUS_UNSUPPORTED,
                         "frameworks store %s in the type of the operands: declare `result: "
                         "storage`",
                         c->name);
    b.data = malloc(b.bytes);
    if (!b.data)
        return error_no_memory(err);
    gemm_fill(&b, &check.b, GEMM_B);
    onnx_put_tensor(graph, b.name, b.type, b.rank, b.shape, b.data, b.bytes);
    free(b.data);
    products->family->put_nodes(products, index, graph);
    return STATUS_OK;
}

static struct framework_array bind(const struct gemm_array *array)
{
    struct framework_array ret = {.name = array->tensor.name,
                                  .type = array->tensor.type,
                                  .rank = array->tensor.rank,
                                  .buffer = array->buffer};

    for (size_t i = 0; i < ret.rank; i++)
        ret.shape[i] = (int64_t)array->tensor.shape[i];
    return ret;
}

enum status products_take_framework(struct products *products, struct error *err)
{
    const struct workload_instance *base = &products->base;
    struct framework_array inputs[FRAMEWORK_ARRAYS_MAX], results[FRAMEWORK_ARRAYS_MAX];
    struct framework_model wanted = workload_framework_model(base);
    CLEANUP(text_finish) struct text graph = {0}, file = {0};
    uint64_t bytes = 0;

    for (size_t i = 0; i < products->count; i++)
        bytes += products->items[i].arrays[GEMM_B].tensor.bytes;
    TRY(onnx_write_check(bytes, err));
    text_init(&graph);
    text_init(&file);
    for (size_t i = 0; i < products->count; i++) {
        inputs[i] = bind(&products->items[i].arrays[GEMM_A]);
        results[i] = bind(&products->items[i].arrays[GEMM_C]);
        TRY(put_product(products, i, &graph, err));
    }
    wanted.inputs = inputs;
    wanted.outputs = results;
    wanted.input_count = wanted.output_count = products->count;
    onnx_put_arrays(&graph, &wanted);
    TRY(onnx_write(&graph, base->kind->name, &file, err));
    wanted.onnx = file.data;
    wanted.length = file.length;
    return framework_prepare(base->work.framework, &wanted, err);
}
