#include "workloads/models/gpt2_handover.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/random.h"

#define SPOT_STREAM 0x73706fu
#define SPOT_SEQUENCE ((uint64_t)1 << 41) /* far from those of the pool */

enum status gpt2_handover_tokens(const struct gpt2_task *task, const struct gpt2_device_plan *plan,
                                 uint64_t seed, const uint64_t *secret, int32_t *tokens,
                                 int32_t *targets, struct error *err)
{
    AUTO_FREE int32_t *unused = malloc(plan->length * sizeof(*unused));
    CLEANUP(token_source_drop) struct token_source *source = NULL;
    uint64_t first = 0;

    if (!unused)
        return error_no_memory(err);
    TRY(gpt2_task_open_source(task, seed, &source, err));
    if (secret) {
        struct random random;

        random_init(&random, *secret, SPOT_STREAM);
        first = SPOT_SEQUENCE + random_next_below(&random, SPOT_SEQUENCE);
    }
    for (uint64_t i = 0; i < GPT2_HANDOVER_POOL * plan->sequences; i++)
        token_source_sequence(source, first + i, plan->length, tokens + i * plan->length,
                              targets ? targets + i * plan->length : unused);
    return STATUS_OK;
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
    AUTO_FREE float *weights = NULL;

    TRY(gpt2_handover_tokens(task, plan, seed, secret, file->items[0].data,
                             plan->training ? file->items[1].data : NULL, err));
    if (file->count == first)
        return STATUS_OK;
    weights = malloc(gpt2_array_length(&plan->shape) * sizeof(*weights));
    if (!weights)
        return error_no_memory(err);
    gpt2_initialise(&plan->shape, seed, weights);
    for (size_t i = first; i < file->count; i++)
        memcpy(file->items[i].data, weights + gpt2_tensor_at(&plan->shape, i - first).offset,
               file->items[i].bytes);
    return STATUS_OK;
}

enum status gpt2_handover_write(const struct gpt2_task *task, const struct gpt2_device_plan *plan,
                                uint64_t seed, const uint64_t *secret, const char *path,
                                struct error *err)
{
    const uint64_t shape[] = {GPT2_HANDOVER_POOL, plan->sequences, plan->length};
    const size_t first = plan->training ? 2 : 1;
    const size_t count = first + (secret ? 0 : gpt2_tensor_count(&plan->shape));
    AUTO_FREE struct tensor *items = calloc(count, sizeof(*items));
    CLEANUP(tensors_close) struct tensors file = {0};

    if (plan->quantised)
        return error_set(err, STATUS_UNSUPPORTED,
                         "int8 is not handed over: its scales follow from assay's calibration");
    if (!items)
        return error_no_memory(err);
    items[0] = tensor_new("tokens", DTYPE_I32, 3, shape);
    if (plan->training)
        items[1] = tensor_new("targets", DTYPE_I32, 3, shape);
    for (size_t i = first; i < count; i++) {
        const struct gpt2_tensor tensor = gpt2_tensor_at(&plan->shape, i - first);

        items[i] = gpt2_handover_tensor(&tensor, "");
    }
    TRY(tensors_create(path, items, count, &file, err));
    return fill(task, plan, seed, secret, &file, err);
}
