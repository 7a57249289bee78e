#include <stdlib.h>

#include "harness/core/cleanup.h"
#include "workloads/gemm/gemm.h"
#include "workloads/data/element.h"

#define TILE_ELEMENTS ((uint64_t)1 << 20)
#define TEAM_ELEMENTS 4096 /* fewer are faster by one thread */

double gemm_exact(const struct gemm_data *data, enum gemm_input operand, uint64_t index)
{
    const uint64_t stream = 4 * data->shape + 2 * (uint64_t)operand;

    return data->distribution == GEMM_UNIFORM ? element_uniform_at(data->seed, stream, index)
                                              : element_normal_at(data->seed, stream, index);
}

double gemm_scale(const struct gemm_data *data)
{
    if (data->type != DTYPE_I8)
        return 1.0;
    return (data->distribution == GEMM_UNIFORM ? 1.0 : GEMM_NORMAL_RANGE) / 127.0;
}

double gemm_stored(const struct gemm_data *data, double exact)
{
    const double scale = gemm_scale(data);
    uint64_t cell;

    element_encode(data->type, exact / scale, &cell, 0);
    return element_decode(data->type, &cell, 0) * scale;
}

void gemm_fill(const struct tensor *tensor, const struct gemm_data *data, enum gemm_input input)
{
    const uint64_t count = tensor_elements(tensor);
    const double scale = gemm_scale(data);

#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < count; i++)
        element_encode(tensor->type, gemm_exact(data, input, i) / scale, tensor->data, i);
}

enum status gemm_upload(const struct gemm_data *data, enum gemm_input operand, uint64_t first,
                        uint64_t count, struct buffer *buffer, struct error *err)
{
    const uint64_t end = first + count;
    const uint64_t element_bytes = dtype_bits(data->type) / 8;
    const uint64_t tile = count < TILE_ELEMENTS ? count : TILE_ELEMENTS;
    const double scale = gemm_scale(data);
    AUTO_FREE void *bytes = malloc(tile * element_bytes);

    if (!bytes)
        return error_no_memory(err);
    for (uint64_t begin = first; begin < end; begin += tile) {
        const uint64_t part = end - begin < tile ? end - begin : tile;

#pragma omp parallel for schedule(static) if (part >= TEAM_ELEMENTS)
        for (uint64_t i = 0; i < part; i++)
            element_encode(data->type, gemm_exact(data, operand, begin + i) / scale, bytes, i);
        TRY(device_upload(buffer, begin * element_bytes, bytes, part * element_bytes, err));
    }
    return STATUS_OK;
}
