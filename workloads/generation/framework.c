/*
 * Tokens by a framework: a model of the prefill and one of a step (workloads/models/graph_onnx.h),
 * over one cache, which lies as their arrays do: (layers, 2, sequences, heads, room, size). What is
 * left to the host between two runs is to put the keys and values of a step's tokens behind the
 * others, and to choose the token of the largest logit.
 */
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "workloads/generation/generation.h"
#include "workloads/models/gpt2_onnx.h"
#include "workloads/storage.h"

#define SPAN 64   /* elements */
#define BLOCK 256 /* logits */

enum { PREFILL, STEP }; /* the models by their numbers */

/* FRESH: keys and values of a step's tokens, as the cache has them. The last three: the model's. */
enum { PROMPTS, TOKENS, POSITION, FRESH, OWN, TEXT = OWN, CACHE, LOGITS, ARRAYS };

struct generation_framework {
    struct buffer *buffers[ARRAYS];
    void *memory[ARRAYS];
    /* Of the cache's arrays, keys and values of a layer in turn, and then those of the past. */
    char (*names)[GRAPH_ONNX_CACHE_NAME_MAX];
    int model; /* of the pass that is set */
};

void generation_framework_destroy(struct generation_framework *framework)
{
    if (!framework)
        return;
    for (int i = 0; i < OWN; i++)
        device_buffer_free(framework->buffers[i]);
    free(framework->names);
    free(framework);
}

/* Positions that the cache has room for. */
static uint64_t room_of(const struct gpt2_device_plan *plan)
{
    return plan->page * plan->pages;
}

/* Keys and values of a position: one of each layer, sequence and head. */
static uint64_t parts_of(const struct gpt2_device_plan *plan)
{
    return 2 * plan->shape.layers * plan->slots * plan->shape.heads;
}

static uint64_t part_bytes(const struct gpt2_device_plan *plan)
{
    return plan->shape.width / plan->shape.heads * (dtype_bits(plan->storage) / 8);
}

static enum status take_memory(struct generation_framework *framework,
                               const struct gpt2_device *model, struct error *err)
{
    const struct gpt2_device_plan *plan = &model->plan;
    const uint64_t bytes[OWN] = {
        [PROMPTS] = plan->slots * plan->length * sizeof(int32_t),
        [TOKENS] = plan->slots * sizeof(int32_t),
        [POSITION] = sizeof(int32_t),
        [FRESH] = parts_of(plan) * part_bytes(plan),
    };

    for (int i = 0; i < OWN; i++)
        TRY(device_buffer_alloc(model->device, bytes[i], BUFFER_READ_WRITE, &framework->buffers[i],
                                err));
    framework->buffers[TEXT] = model->buffers[GPT2_TOKENS];
    framework->buffers[CACHE] = model->buffers[GPT2_CACHE];
    framework->buffers[LOGITS] = model->buffers[GPT2_LOGITS];
    for (int i = 0; i < ARRAYS; i++)
        TRY(framework_memory(framework->buffers[i], &framework->memory[i], err));
    return STATUS_OK;
}

/* Keys or values of a layer, `index` counts both, of `positions` positions. */
static struct framework_array part_of(const struct gpt2_device_plan *plan, const char *name,
                                      struct buffer *buffer, uint64_t index, uint64_t positions)
{
    const uint64_t heads = plan->shape.heads;

    return (struct framework_array){
        .name = name,
        .type = plan->storage,
        .rank = 4,
        .shape = {(int64_t)plan->slots, (int64_t)heads, (int64_t)positions,
                  (int64_t)(plan->shape.width / heads)},
        .buffer = buffer,
        .offset = index * plan->slots * heads * positions * part_bytes(plan),
    };
}

static enum status prepare(struct generation_instance *instance, int number, struct error *err)
{
    const struct generation_framework *framework = instance->framework;
    const struct gpt2_device_plan *plan = &generation_model(instance)->plan;
    const uint64_t count = 2 * plan->shape.layers, room = room_of(plan);
    const bool step = number == STEP;
    struct framework_array inputs[FRAMEWORK_ARRAYS_MAX], outputs[FRAMEWORK_ARRAYS_MAX];
    struct framework_model wanted = workload_framework_model(&instance->inference.gpt2.base);
    const struct gpt2_onnx onnx = {
        .shape = &plan->shape,
        .parameters = instance->inference.weights,
        .pass = step ? GRAPH_ONNX_STEP : GRAPH_ONNX_PREFILL,
        .sequences = plan->slots,
        .length = step ? 1 : plan->length,
        .room = room,
        .cache = plan->storage,
    };

    inputs[0] =
        inference_array(GRAPH_ONNX_TOKENS, DTYPE_I32, framework->buffers[step ? TOKENS : PROMPTS],
                        plan->slots, onnx.length);
    inputs[1] = inference_array(GRAPH_ONNX_POSITION, DTYPE_I32, framework->buffers[POSITION], 1, 1);
    inputs[1].rank = 1;
    outputs[0] = inference_array(GPT2_ONNX_LOGITS, DTYPE_F32, framework->buffers[LOGITS],
                                 plan->slots, plan->shape.vocabulary);
    for (uint64_t i = 0; i < count; i++) {
        outputs[1 + i] = part_of(plan, framework->names[i],
                                 framework->buffers[step ? FRESH : CACHE], i, step ? 1 : room);
        inputs[2 + i] =
            part_of(plan, framework->names[count + i], framework->buffers[CACHE], i, room);
    }
    wanted.inputs = inputs;
    wanted.input_count = step ? 2 + count : 2;
    wanted.outputs = outputs;
    wanted.output_count = 1 + count;
    return inference_prepare(&instance->inference, &onnx, &wanted, err);
}

enum status generation_take_framework(struct generation_instance *instance, struct error *err)
{
    const struct gpt2_device *model = generation_model(instance);
    const uint64_t count = 2 * model->plan.shape.layers;
    struct generation_framework *framework;

    if (count > FRAMEWORK_ARRAYS_MAX - 2)
        return error_set(err, STATUS_UNSUPPORTED,
                         "a framework is given keys and values of at most %d layers: declare a "
                         "model of fewer than its %llu",
                         FRAMEWORK_ARRAYS_MAX / 2 - 1,
                         (unsigned long long)model->plan.shape.layers);
    framework = instance->framework = calloc(1, sizeof(*framework));
    if (framework)
        framework->names = calloc(2 * count, sizeof(*framework->names));
    if (!framework || !framework->names)
        return error_no_memory(err);
    for (uint64_t i = 0; i < 2 * count; i++)
        graph_onnx_cache_name(i >= count, i % 2, i % count / 2, framework->names[i]);
    TRY(take_memory(framework, model, err));
    TRY(inference_take_weights(&instance->inference, err));
    TRY(prepare(instance, PREFILL, err));
    if (instance->parameters->measure != GENERATION_PREFILL)
        TRY(prepare(instance, STEP, err));
    return STATUS_OK;
}

void generation_framework_set(struct generation_instance *instance, uint64_t first, uint64_t count,
                              uint64_t output)
{
    struct generation_framework *framework = instance->framework;
    struct gpt2_device *model = generation_model(instance);
    const uint64_t slots = model->plan.slots, stride = gpt2_token_stride(&model->plan);
    const int32_t *text = framework->memory[TEXT];
    int32_t *tokens;

    framework->model = first == 0 ? PREFILL : STEP;
    tokens = framework->memory[first == 0 ? PROMPTS : TOKENS];
    for (uint64_t s = 0; s < slots; s++)
        memcpy(tokens + s * count, text + s * stride + first, count * sizeof(*tokens));
    *(int32_t *)framework->memory[POSITION] = (int32_t)output;
    model->step = (struct op_step){.rows = slots * count, .outputs = slots};
}

/* The first of the largest; whole blocks are looked through without a branch for each logit. */
static int32_t choose(const float *logits, uint64_t count)
{
    uint64_t best = 0;

    for (uint64_t at = 0; at < count; at += BLOCK) {
        const uint64_t end = count - at < BLOCK ? count : at + BLOCK;
        const float most = logits[best];
        int above = 0;

        for (uint64_t i = at; i < end; i++)
            above |= logits[i] > most;
        for (uint64_t i = at; above && i < end; i++)
            best = logits[i] > logits[best] ? i : best;
    }
    return (int32_t)best;
}

enum status generation_framework_run(struct generation_instance *instance, struct error *err)
{
    const struct generation_framework *framework = instance->framework;
    const struct gpt2_device_plan *plan = &generation_model(instance)->plan;
    const uint64_t position = (uint64_t) * (const int32_t *)framework->memory[POSITION];
    const uint64_t bytes = part_bytes(plan), vocabulary = plan->shape.vocabulary;
    const unsigned char *fresh = framework->memory[FRESH];
    unsigned char *cache = framework->memory[CACHE];
    int32_t *text = framework->memory[TEXT];

    TRY(framework_run(instance->inference.gpt2.base.work.framework, (size_t)framework->model, err));
    for (uint64_t s = 0; s < plan->slots; s++)
        text[s * gpt2_token_stride(plan) + position + 1] =
            choose((const float *)framework->memory[LOGITS] + s * vocabulary, vocabulary);
    for (uint64_t i = 0; framework->model == STEP && i < parts_of(plan); i++)
        memcpy(cache + (i * room_of(plan) + position) * bytes, fresh + i * bytes, bytes);
    return STATUS_OK;
}

enum status generation_framework_poison(struct generation_instance *instance, struct random *random,
                                        struct error *err)
{
    const struct gpt2_device_plan *plan = &generation_model(instance)->plan;
    const uint64_t layer = 2 * plan->slots * plan->shape.width;
    const uint64_t count = layer < SPAN ? layer : SPAN;

    for (uint64_t i = 0; i < plan->shape.layers; i++)
        TRY(storage_poison(instance->framework->buffers[FRESH], plan->storage,
                           i * layer + random_next_below(random, layer - count + 1), count, err));
    return STATUS_OK;
}

enum status generation_framework_live(const struct generation_instance *instance,
                                      struct workload_check *check, struct error *err)
{
    const struct generation_framework *framework = instance->framework;
    const struct gpt2_device_plan *plan = &generation_model(instance)->plan;
    const uint64_t count = 2 * plan->shape.layers * plan->slots * plan->shape.width;
    AUTO_FREE float *values = NULL;

    if (framework->model != STEP)
        return STATUS_OK;
    values = malloc(count * sizeof(*values));
    if (!values)
        return error_no_memory(err);
    storage_decode(plan->storage, framework->memory[FRESH], count, values);
    check_count_live(values, count, check);
    return STATUS_OK;
}
