/* What the operators of declared stacks launch, forward; rope's gradient is rope. */
#include "workloads/graph/operators.h"
#include "workloads/session/session.h"

static enum status embedding(struct session *session, const struct graph_node *node,
                             struct error *err)
{
    const uint64_t width = session->places[node->out[0]].columns;
    struct operand positions = {0};

    if (node->in_count > 2) {
        positions = session_at(session, node->in[2]);
        positions.offset += node->attributes.first * width;
    }
    return op_table_rows(session->ops, session->tokens, session_at(session, node->in[1]), positions,
                         session_at(session, node->out[0]), width, err);
}

static enum status rms_norm(struct session *session, const struct graph_node *node,
                            struct error *err)
{
    const struct op_rms op = {
        .rows = session->tokens->rows,
        .first = 1,
        .size = session->places[node->in[0]].columns,
        .x = session_at(session, node->in[0]),
        .gain = session_at(session, node->in[1]),
        .y = session_at(session, node->out[0]),
        .epsilon = (float)node->attributes.epsilon,
    };

    return op_rms(session->ops, &op, err);
}

static enum status head_norm(struct session *session, const struct graph_node *node,
                             struct error *err)
{
    const struct op_rms op = {
        .rows = session->tokens->rows,
        .first = node->attributes.heads,
        .second = node->attributes.kv_heads,
        .others = node->attributes.kv_heads,
        .size = graph_head_size(session->graph, node, 0),
        .x = session_at(session, node->in[0]),
        .gain = session_at(session, node->in[1]),
        .other_gain = session_at(session, node->in[2]),
        .y = session_at(session, node->out[0]),
        .epsilon = (float)node->attributes.epsilon,
    };

    return op_rms(session->ops, &op, err);
}

static enum status prepare_rope(const struct session *session, const struct graph_node *node,
                                struct buffer **ret, struct error *err)
{
    return op_rope_turns(session->ops, node->attributes.rope, node->attributes.inverse,
                         node->attributes.first, node->attributes.length,
                         graph_head_size(session->graph, node, 0), ret, err);
}

static enum status rope(struct session *session, const struct graph_node *node, struct error *err)
{
    const struct op_rope op = {
        .rows = session->tokens->rows,
        .length = node->attributes.length,
        .turned = node->attributes.heads + node->attributes.kv_heads,
        .heads = node->attributes.heads + 2 * node->attributes.kv_heads,
        .size = graph_head_size(session->graph, node, 0),
        .x = session_at(session, node->in[0]),
        .y = session_at(session, node->out[0]),
        .turns = session->steps[node - session->graph->nodes].prepared,
    };

    return op_rope(session->ops, &op, err);
}

static enum status attention(struct session *session, const struct graph_node *node,
                             struct error *err)
{
    const struct op_heads op = {
        .sequences = session->tokens->rows / session->tokens->length,
        .length = session->tokens->length,
        .heads = node->attributes.heads,
        .kv_heads = node->attributes.kv_heads,
        .size = graph_head_size(session->graph, node, 0),
        .qkv = session_at(session, node->in[0]),
        .values = session_at(session, node->out[0]),
    };

    return op_heads_forward(session->ops, &op, err);
}

static struct op_cached cached_of(const struct session *session, const struct graph_node *node)
{
    return (struct op_cached){
        .heads = node->attributes.heads,
        .kv_heads = node->attributes.kv_heads,
        .sequences = session->tokens->rows,
        .position = node->attributes.first,
        .pages = graph_size(graph_input(session->graph, node, 2), 1),
        .blocks = session->places[node->in[2]].buffer,
        .x = session_at(session, node->in[0]),
        .cache = session_at(session, node->in[1]),
        .values = session_at(session, node->out[0]),
        .parts = session->steps[node - session->graph->nodes].prepared,
    };
}

static enum status prepare_cached(const struct session *session, const struct graph_node *node,
                                  struct buffer **ret, struct error *err)
{
    const struct op_cached op = cached_of(session, node);

    return op_cached_parts(session->ops, &op, ret, err);
}

static enum status attention_cached(struct session *session, const struct graph_node *node,
                                    struct error *err)
{
    const struct op_cached op = cached_of(session, node);

    return op_cached_attention(session->ops, &op, err);
}

static enum status gate(struct session *session, const struct graph_node *node, struct error *err)
{
    return op_gate(session->ops, session_at(session, node->in[0]), session_at(session, node->in[1]),
                   session_at(session, node->out[0]),
                   session->tokens->rows * session->places[node->out[0]].columns, err);
}

const struct lowering session_stack_lowerings[] = {
    {&graph_op_attention, NULL, attention, .first_only = true},
    {&graph_op_attention_cached, NULL, attention_cached, prepare_cached},
    {&graph_op_embedding, NULL, embedding},
    {&graph_op_gate, NULL, gate},
    {&graph_op_head_norm, NULL, head_norm, .first_only = true},
    {&graph_op_rms_norm, NULL, rms_norm, .first_only = true},
    {&graph_op_rope, NULL, rope, prepare_rope},
    {0},
};
