#include "workloads/models/gpt2_graph.h"

#include <stdio.h>

#include "workloads/graph/operators.h"

/* What a graph is built with; `layer` is the one that is added. */
struct builder {
    struct graph *graph;
    const struct gpt2_shape *shape;
    uint64_t layer;
    struct graph_attributes attributes;
    struct error *err;
};

/* The value of a parameter. */
static uint32_t parameter(const struct builder *builder, enum gpt2_tensor_id id)
{
    const uint64_t layers = builder->shape->layers, layer = builder->layer;
    const uint64_t matrices = GPT2_LN1_G - GPT2_ATTN_W, vectors = GPT2_LNF_G - GPT2_LN1_G;

    if (id < GPT2_ATTN_W)
        return (uint32_t)id;
    if (id < GPT2_LN1_G)
        return (uint32_t)(id + layer * matrices);
    if (id < GPT2_LNF_G)
        return (uint32_t)(id + (layers - 1) * matrices + layer * vectors);
    return (uint32_t)(id + (layers - 1) * (matrices + vectors));
}

static enum status give_parameters(const struct builder *builder)
{
    for (size_t i = 0; i < gpt2_tensor_count(builder->shape); i++) {
        const struct gpt2_tensor tensor = gpt2_tensor_at(builder->shape, i);
        const struct graph_shape matrix = {{tensor.rows, tensor.columns}, 2};
        const struct graph_shape vector = {{tensor.columns}, 1};
        uint32_t value;

        TRY(graph_give(builder->graph, GRAPH_PARAMETER, tensor.name, tensor.decay ? matrix : vector,
                       &value, builder->err));
    }
    return STATUS_OK;
}

/* A node named after the layer. */
static enum status add(const struct builder *builder, const struct graph_op *op, const char *name,
                       const uint32_t *in, size_t count, uint32_t *ret)
{
    char full[GRAPH_NAME_MAX];

    snprintf(full, sizeof(full), "h%u.%s", (unsigned)builder->layer, name);
    return graph_add(builder->graph, op, builder->attributes, full, in, count, ret, builder->err);
}

static enum status norm(const struct builder *builder, const char *name, enum gpt2_tensor_id gain,
                        uint32_t x, uint32_t *ret)
{
    const uint32_t in[] = {x, parameter(builder, gain),
                           parameter(builder, (enum gpt2_tensor_id)(gain + 1))};

    return add(builder, &graph_op_layer_norm, name, in, 3, ret);
}

static enum status linear(const struct builder *builder, const char *name,
                          enum gpt2_tensor_id weight, enum gpt2_tensor_id bias, uint32_t x,
                          uint32_t *ret)
{
    const uint32_t in[] = {x, parameter(builder, weight), parameter(builder, bias)};

    return add(builder, &graph_op_linear, name, in, 3, ret);
}

static enum status residual(const struct builder *builder, const char *name, uint32_t branch,
                            uint32_t *x)
{
    const uint32_t in[] = {branch, *x};

    return add(builder, &graph_op_add, name, in, 2, x);
}

/* x, the residual stream, before and behind the layer. */
static enum status add_layer(const struct builder *builder, uint32_t *x)
{
    uint32_t at;

    TRY(norm(builder, "ln1", GPT2_LN1_G, *x, &at));
    TRY(linear(builder, "qkv", GPT2_ATTN_W, GPT2_ATTN_B, at, &at));
    TRY(add(builder, &graph_op_attention, "attn", &at, 1, &at));
    TRY(linear(builder, "attn_proj", GPT2_ATTN_PROJ_W, GPT2_ATTN_PROJ_B, at, &at));
    TRY(residual(builder, "middle", at, x));
    TRY(norm(builder, "ln2", GPT2_LN2_G, *x, &at));
    TRY(linear(builder, "fc", GPT2_FC_W, GPT2_FC_B, at, &at));
    TRY(add(builder, &graph_op_gelu, "gelu", &at, 1, &at));
    TRY(linear(builder, "fc_proj", GPT2_FC_PROJ_W, GPT2_FC_PROJ_B, at, &at));
    return residual(builder, "out", at, x);
}

/* The head is the embedding, the other way round. */
static enum status add_head(const struct builder *builder, struct gpt2_graph *ret, uint32_t x)
{
    const struct graph_attributes tied = {.transposed = true};
    uint32_t hidden[] = {x, GPT2_WTE}, loss[] = {0, ret->targets};

    TRY(norm(builder, "lnf", GPT2_LNF_G, x, &hidden[0]));
    TRY(graph_add(ret->graph, &graph_op_linear, tied, "logits", hidden, 2, &ret->logits,
                  builder->err));
    loss[0] = ret->logits;
    ret->loss_node = ret->graph->node_count;
    TRY(graph_add(ret->graph, &graph_op_cross_entropy, (struct graph_attributes){0}, "loss", loss,
                  2, &ret->loss, builder->err));
    graph_lend(ret->graph, ret->logits);
    graph_lend(ret->graph, ret->loss);
    return STATUS_OK;
}

static enum status build(struct gpt2_graph *ret, struct builder *builder, uint64_t rows)
{
    const struct graph_shape indices = {{rows}, 1};
    uint32_t embedded[] = {0, GPT2_WTE, GPT2_WPE}, x;

    TRY(give_parameters(builder));
    TRY(graph_give(ret->graph, GRAPH_INDICES, "tokens", indices, &ret->tokens, builder->err));
    TRY(graph_give(ret->graph, GRAPH_INDICES, "targets", indices, &ret->targets, builder->err));
    embedded[0] = ret->tokens;
    TRY(graph_add(ret->graph, &graph_op_embedding, builder->attributes, "embedding", embedded, 3,
                  &x, builder->err));
    for (; builder->layer < builder->shape->layers; builder->layer++)
        TRY(add_layer(builder, &x));
    builder->layer--;
    return add_head(builder, ret, x);
}

enum status gpt2_graph_init(struct gpt2_graph *ret, const struct gpt2_shape *shape,
                            uint64_t sequences, uint64_t length, bool training, struct error *err)
{
    struct builder builder = {.shape = shape,
                              .attributes = {.length = length,
                                             .heads = shape->heads,
                                             .kv_heads = shape->heads,
                                             .epsilon = GPT2_NORM_EPSILON},
                              .err = err};

    *ret = (struct gpt2_graph){0};
    TRY(graph_create(&ret->graph, err));
    builder.graph = ret->graph;
    TRY(build(ret, &builder, sequences * length));
    if (!training)
        return STATUS_OK;
    TRY(graph_backward(ret->graph, ret->loss, GRAPH_NONE, err));
    for (size_t i = 0; i < gpt2_tensor_count(shape); i++)
        graph_lend(ret->graph, ret->graph->values[i].gradient);
    return STATUS_OK;
}

void gpt2_graph_finish(struct gpt2_graph *graph)
{
    graph_destroy(graph->graph);
}
