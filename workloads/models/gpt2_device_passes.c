/*
 * The passes: the model's graph in a session, and where each of its values lies.
 *
 * What training keeps of each layer lies in one buffer a tensor, layer after layer; else all layers
 * use the same memory, as all gradients of activations do.
 */
#include <stdlib.h>
#include <string.h>

#include "workloads/models/gpt2_passes.h"

#define LOGITS_ALIGNMENT 64 /* elements */

uint64_t gpt2_logits_stride(const struct gpt2_device_plan *plan)
{
    const uint64_t count = plan->shape.vocabulary;

    return plan->dense_logits
               ? count
               : (count + LOGITS_ALIGNMENT - 1) / LOGITS_ALIGNMENT * LOGITS_ALIGNMENT;
}

/*
 * Columns that the products with the embedding compute: the stride, where the positions' embedding,
 * which follows the tokens', has as many rows as the padding; else the vocabulary. An odd number of
 * columns costs cuBLASLt its fast kernels (H200, bf16, 8192 x 50257 x 768: 6.2 ms instead of 0.9).
 * What lies between the rows is products with positions, which nothing reads, and after the
 * loss's gradient 0, by which the products of the backward pass lose nothing.
 */
static uint64_t gpt2_logits_columns(const struct gpt2_device_plan *plan)
{
    const uint64_t stride = gpt2_logits_stride(plan), vocabulary = plan->shape.vocabulary;

    return plan->quantised || stride - vocabulary > plan->shape.context ? vocabulary : stride;
}

/* What a node writes, by its name without the block, and the gradients of it; 0: no place. */
static const struct {
    const char *name;
    enum gpt2_buffer outputs[GRAPH_OUTPUTS_MAX], gradients[GRAPH_OUTPUTS_MAX];
} tensors[] = {
    {"embedding", {GPT2_RESIDUAL}, {GPT2_D_RESIDUAL}},
    {"out", {GPT2_RESIDUAL}, {GPT2_D_RESIDUAL}},
    {"norm", {GPT2_NORM, GPT2_MEAN, GPT2_RSTD}, {GPT2_D_NARROW}},
    {"qkv", {GPT2_QKV}, {GPT2_D_QKV, GPT2_D_SCORES}},
    {"attention", {GPT2_VALUES, GPT2_SCORES}, {GPT2_D_NARROW}},
    {"up", {GPT2_FC}, {GPT2_D_FC}},
    {"gelu", {GPT2_GELU}, {GPT2_D_FC}},
    {"head", {GPT2_LOGITS}, {GPT2_LOGITS}},
    {"loss", {GPT2_LOSSES, GPT2_ROW_LOSS, GPT2_TOTAL}, {0}},
};

static bool is_gradient(const char *name)
{
    return !strncmp(name, "d.", 2);
}

static enum gpt2_buffer buffer_of(const struct gpt2_device_plan *plan, const struct graph *graph,
                                  uint32_t value)
{
    const uint32_t first = graph->nodes[graph->values[value].writer].out[0];
    const char *name = graph->values[first].name, *block = strrchr(name, '.');
    const bool gradient = is_gradient(name);
    enum gpt2_buffer ret = 0;

    for (size_t i = 0; i < sizeof(tensors) / sizeof(tensors[0]); i++)
        if (!strcmp(tensors[i].name, block ? block + 1 : name))
            ret = (gradient ? tensors[i].gradients : tensors[i].outputs)[value - first];
    if (plan->fused && ret == GPT2_SCORES)
        return GPT2_STATISTICS;
    return plan->quantised && (ret == GPT2_NORM || ret == GPT2_GELU) ? GPT2_INPUT8 : ret;
}

/* A computed value; `before` has how many of each buffer come before. */
static void place(struct gpt2_device *model, uint32_t value, uint64_t before[GPT2_BUFFERS])
{
    const struct gpt2_device_plan *plan = &model->plan;
    const struct graph *graph = model->graph.graph;
    const struct graph_shape *shape = &graph->values[value].shape;
    const enum gpt2_buffer buffer = buffer_of(plan, graph, value);
    const bool kept = plan->training && !is_gradient(graph->values[value].name);
    const uint64_t part = kept ? before[buffer]++ : 0;
    struct session_place *ret = &model->session.places[value];

    if (!buffer)
        return;
    *ret = (struct session_place){.buffer = model->buffers[buffer],
                                  .type = gpt2_device_type(plan, buffer),
                                  .columns = shape->rank == 2 ? shape->of[1] : 1,
                                  .rows = buffer != GPT2_LOSSES};
    ret->stride = ret->columns;
    if (shape->rank ==
        3) { /* of each row the first, since what is above the diagonal is 0 anyway */
        ret->rows = plan->shape.heads;
        ret->stride = buffer == GPT2_STATISTICS ? 1 : plan->length;
    }
    if (buffer == GPT2_LOGITS) {
        ret->columns = gpt2_logits_columns(plan);
        ret->stride = gpt2_logits_stride(plan);
        ret->by_output = plan->page > 0;
    }
    if (buffer == GPT2_STATISTICS)
        ret->offset = part * gpt2_statistics_length(plan);
    else
        ret->by_row = part * ret->rows * ret->stride;
}

/* A quantised model has the matrices of the layers elsewhere. */
static void place_parameters(struct gpt2_device *model)
{
    const uint64_t left_out = model->plan.quantised ? gpt2_int8_left_out(&model->plan.shape) : 0;

    for (size_t i = 0; i < model->layout.count; i++) {
        const struct stack_parameter *parameter = &model->layout.parameters[i];

        trained_place(&model->session, parameter, model->buffers[GPT2_PARAMETERS],
                      parameter->offset - (parameter->decay ? 0 : left_out),
                      model->buffers[GPT2_GRADIENTS]);
    }
}

static struct trained trained_of(const struct gpt2_device *model)
{
    struct buffer *const *buffers = model->buffers;

    return (struct trained){
        .graph = &model->graph,
        .layout = &model->layout,
        .arrays = {.weights = buffers[gpt2_device_weights(model)],
                   .moment1 = buffers[GPT2_MOMENT1],
                   .moment2 = buffers[GPT2_MOMENT2],
                   .gradients = buffers[GPT2_GRADIENTS],
                   .copy = buffers[GPT2_MASTER] ? buffers[GPT2_PARAMETERS] : NULL,
                   .storage = model->plan.storage},
        .losses = buffers[GPT2_LOSSES],
        .scaling = buffers[GPT2_SCALING],
        .partials = buffers[GPT2_SCALING_PARTIALS],
        .scale_interval = model->plan.scale_interval,
    };
}

enum status gpt2_take_graph(struct gpt2_device *model, struct error *err)
{
    const struct gpt2_device_plan *plan = &model->plan;
    struct session *session = &model->session;
    uint64_t before[GPT2_BUFFERS] = {0};
    size_t own = 0;

    TRY(gpt2_graph_init(&model->graph, &plan->shape, 1, plan->page ? 1 : plan->length,
                        plan->training, err));
    TRY(stack_layout_init(&model->layout, model->graph.graph, GPT2_ALIGN, err));
    if (plan->page)
        model->lowerings[own++] = gpt2_step_lowerings;
    if (plan->quantised)
        model->lowerings[own++] = gpt2_int8_lowerings;
    *session = (struct session){
        .graph = model->graph.graph,
        .ops = model->ops,
        .storage = plan->storage,
        .training = plan->training,
        .fused = plan->fused,
        .tokens = &model->tokens,
        .own = model->lowerings,
        .model = model,
        .places = calloc(model->graph.graph->value_count, sizeof(*session->places)),
        .scaling = model->buffers[GPT2_SCALING],
    };
    if (!session->places)
        return error_no_memory(err);
    for (uint32_t i = 0; i < session->graph->value_count; i++)
        if (session->graph->values[i].role == GRAPH_COMPUTED)
            place(model, i, before);
    place_parameters(model);
    model->trained = trained_of(model);
    model->trained.session = session;
    return session_prepare(session, err);
}

/* A step without outputs, a part of a prompt, ends behind its layers: it wants keys and values. */
enum status gpt2_device_forward(struct gpt2_device *model, uint64_t slot, struct error *err)
{
    const struct gpt2_device_plan *plan = &model->plan;
    const size_t end = model->graph.forward, hidden = end - GPT2_HEAD_NODES;

    model->session.slot = slot % GPT2_LOSS_SLOTS;
    if (!plan->page)
        return session_run(&model->session, 0, plan->training ? end + 1 : end, err);
    TRY(session_run(&model->session, 0, hidden, err));
    if (model->step.outputs == 0)
        return STATUS_OK;
    TRY(gpt2_step_outputs(model, err));
    TRY(session_run(&model->session, hidden, end, err));
    return gpt2_step_choose(model, err);
}

enum status gpt2_device_backward(struct gpt2_device *model, struct error *err)
{
    return session_run(&model->session, model->graph.forward + 1, model->session.graph->node_count,
                       err);
}
