#include "workloads/models/gpt2_graph.h"

#include <stdio.h>

#include "harness/core/cleanup.h"

/* Parameters have the names of gpt2.h. */
static enum status name_parameters(const struct gpt2_shape *shape, struct graph *graph,
                                   struct error *err)
{
    CLEANUP(stack_layout_finish) struct stack_layout layout = {0};

    TRY(stack_layout_init(&layout, graph, GPT2_ALIGN, err));
    for (size_t i = 0; i < layout.count; i++)
        snprintf(graph->values[layout.parameters[i].value].name, GRAPH_NAME_MAX, "%s",
                 gpt2_tensor_at(shape, i).name);
    return STATUS_OK;
}

enum status gpt2_graph_init(struct stack_graph *ret, const struct gpt2_shape *shape,
                            uint64_t sequences, uint64_t length, bool training, struct error *err)
{
    const int64_t heads = (int64_t)shape->heads, vocabulary = (int64_t)shape->vocabulary;
    const struct stack_norm norm = {STACK_LAYER, GPT2_NORM_EPSILON};
    struct stack_block first = {
        .kind = STACK_EMBEDDING,
        .embedding = {vocabulary, (int64_t)shape->context},
    };
    struct stack_block layer[] = {
        {.kind = STACK_ATTENTION,
         .norm = norm,
         .attention = {heads, heads, (int64_t)(shape->width / shape->heads), .bias = true}},
        {.kind = STACK_MLP,
         .norm = norm,
         .mlp = {(int64_t)shape->mlp_width, STACK_GELU, .bias = true}},
    };
    struct stack_block last[] = {
        {.kind = STACK_NORM, .norm = norm},
        {.kind = STACK_HEAD, .head = {vocabulary, .tied = true}},
    };
    struct stack_part parts[] = {{1, &first, 1}, {(int64_t)shape->layers, layer, 2}, {1, last, 2}};
    const struct stack stack = {(int64_t)shape->width, norm, parts, 3};

    TRY(stack_graph_init(ret, &stack, sequences, length, err));
    TRY(name_parameters(shape, ret->graph, err));
    return training ? stack_graph_train(ret, err) : stack_graph_add_loss(ret, err);
}

enum status gpt2_reference_create(const struct gpt2_shape *shape, uint64_t sequences,
                                  uint64_t length, bool training, struct stack_reference **ret,
                                  struct error *err)
{
    const struct stack_wanted wanted = {
        .align = GPT2_ALIGN, .out = true, .gradients = training ? UINT64_MAX : 0};
    struct stack_graph graph = {0};
    const enum status status = gpt2_graph_init(&graph, shape, sequences, length, training, err);

    if (status == STATUS_OK)
        return stack_reference_create(&graph, &wanted, ret, err);
    stack_graph_finish(&graph);
    return status;
}
