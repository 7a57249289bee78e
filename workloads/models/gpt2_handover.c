#include "workloads/models/gpt2_handover.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/random.h"

#define SPOT_STREAM 0x73706fu
#define SPOT_SEQUENCE ((uint64_t)1 << 41) /* far from those of the pool */

enum status gpt2_handover_tokens(const struct gpt2_task *task, const struct gpt2_device_plan *plan,
                                 uint64_t seed, const uint64_t *secret, int32_t *tokens,
                                 int32_t *targets, struct error *err)
{
    int32_t *unused = malloc(plan->length * sizeof(*unused));
    struct token_source *source = NULL;
    uint64_t first = 0;
    enum status status =
        unused ? gpt2_task_open_source(task, seed, &source, err) : error_no_memory(err);

    if (secret) {
        struct random random;

        random_init(&random, *secret, SPOT_STREAM);
        first = SPOT_SEQUENCE + random_next_below(&random, SPOT_SEQUENCE);
    }
    for (uint64_t i = 0; i < GPT2_HANDOVER_POOL * plan->sequences && status == STATUS_OK; i++)
        token_source_sequence(source, first + i, plan->length, tokens + i * plan->length,
                              targets ? targets + i * plan->length : unused);
    token_source_destroy(source);
    free(unused);
    return status;
}

struct tensor gpt2_handover_tensor(const struct gpt2_tensor *tensor, const char *prefix)
{
    const uint64_t matrix[] = {tensor->rows, tensor->columns};
    char name[TENSOR_NAME_MAX];

    snprintf(name, sizeof(name), "%s%s", prefix, tensor->name);
    return tensor_new(name, DTYPE_F32, tensor->rows > 1 ? 2 : 1,
                      tensor->rows > 1 ? matrix : &tensor->columns);
}

static enum status fill(const struct gpt2_task *task, const struct gpt2_device_plan *plan,
                        uint64_t seed, const uint64_t *secret, const struct tensors *file,
                        struct error *err)
{
    const size_t first = plan->training ? 2 : 1;
    float *weights;
    enum status status = gpt2_handover_tokens(task, plan, seed, secret, file->items[0].data,
                                              plan->training ? file->items[1].data : NULL, err);

    if (status != STATUS_OK || file->count == first)
        return status;
    weights = malloc(gpt2_array_length(&plan->shape) * sizeof(*weights));
    if (!weights)
        return error_no_memory(err);
    gpt2_initialise(&plan->shape, seed, weights);
    for (size_t i = first; i < file->count; i++)
        memcpy(file->items[i].data, weights + gpt2_tensor_at(&plan->shape, i - first).offset,
               file->items[i].bytes);
    free(weights);
    return STATUS_OK;
}

enum status gpt2_handover_write(const struct gpt2_task *task, const struct gpt2_device_plan *plan,
                                uint64_t seed, bool inputs_only, const uint64_t *secret,
                                const char *path, struct error *err)
{
    const uint64_t shape[] = {GPT2_HANDOVER_POOL, plan->sequences, plan->length};
    const size_t first = plan->training ? 2 : 1;
    const size_t count = first + (inputs_only ? 0 : gpt2_tensor_count(&plan->shape));
    struct tensor *items = calloc(count, sizeof(*items));
    struct tensors file = {0};
    enum status status;

    if (!items)
        return error_no_memory(err);
    items[0] = tensor_new("tokens", DTYPE_I32, 3, shape);
    if (plan->training)
        items[1] = tensor_new("targets", DTYPE_I32, 3, shape);
    for (size_t i = first; i < count; i++) {
        const struct gpt2_tensor tensor = gpt2_tensor_at(&plan->shape, i - first);

        items[i] = gpt2_handover_tensor(&tensor, "");
    }
    status = tensors_create(path, items, count, &file, err);
    if (status == STATUS_OK)
        status = fill(task, plan, seed, secret, &file, err);
    tensors_close(&file);
    free(items);
    return status;
}
