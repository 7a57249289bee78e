/* Inputs as workloads/data/GENERATOR.md says them, or out of a file. */
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/random.h"
#include "workloads/data/element.h"
#include "workloads/onnx/onnx.h"

#define STREAMS 4 /* an input has so many streams of the seed, and uses two */

static double value_at(const struct onnx_declared *input, uint64_t seed, uint64_t stream,
                       uint64_t index)
{
    switch (input->values) {
    case ONNX_UNIFORM:
        return element_uniform_at(seed, stream, index);
    case ONNX_NORMAL:
        return element_normal_at(seed, stream, index);
    default:
        return (double)(input->min + (int64_t)(random_at(seed, stream, index) %
                                               (uint64_t)(input->max - input->min + 1)));
    }
}

static enum status read_input(const struct onnx_declared *input, uint64_t bytes, void *ret,
                              struct error *err)
{
    CLEANUP(tensors_close) struct tensors file = {0};
    const struct tensor *tensor = NULL;

    TRY(onnx_file_tensors(&input->file, "an input's file", &file, err));
    TRY(tensors_find(&file, input->name, input->type, input->type, input->rank, input->shape,
                     &tensor, err));
    memcpy(ret, tensor->data, bytes);
    return STATUS_OK;
}

enum status onnx_input(const struct onnx_instance *instance, size_t number, const uint64_t *secret,
                       void **ret, struct error *err)
{
    const struct onnx_parameters *parameters = instance->parameters;
    const struct onnx_declared *input = &parameters->inputs[number];
    const uint64_t seed = secret                 ? *secret
                          : parameters->has_seed ? parameters->seed
                                                 : instance->base.work.seed;
    const uint64_t bytes = input->elements * (dtype_bits(input->type) / 8);
    AUTO_FREE void *values = malloc(bytes);

    if (!values)
        return error_no_memory(err);
    if (input->has_file)
        TRY(read_input(input, bytes, values, err));
    for (uint64_t i = 0; i < input->elements && !input->has_file; i++)
        element_encode(input->type, value_at(input, seed, STREAMS * (uint64_t)number, i), values,
                       i);
    *ret = values;
    values = NULL;
    return STATUS_OK;
}
