/* What the gradients of declared stacks launch, besides those of session_lowerings. */
#include "workloads/graph/operators.h"
#include "workloads/session/session.h"

static struct buffer *prepared(const struct session *session, const struct graph_node *node)
{
    return session->steps[node - session->graph->nodes].prepared;
}

static struct operand at_or_none(const struct session *session, uint32_t value)
{
    return value == GRAPH_NONE ? (struct operand){0} : session_at(session, value);
}

/* What no kernel adds to; declared stacks have none of those. */
static size_t takes_new(const struct session *session, const struct graph_node *node)
{
    (void)session;
    return node->onto == GRAPH_NONE;
}

/* ---- norms ---- */

static enum status prepare_norm(const struct session *session, const struct graph_node *node,
                                struct buffer **ret, struct error *err)
{
    const uint64_t heads = node->attributes.heads + 2 * node->attributes.kv_heads;

    return op_backward_statistics(session->ops, session->tokens->rows * (heads ? heads : 1), ret,
                                  err);
}

static enum status rms_norm(struct session *session, const struct graph_node *node,
                            struct error *err)
{
    const struct op_rms_backward op = {
        .forward = {.rows = session->tokens->rows,
                    .first = 1,
                    .size = session->places[node->in[1]].columns,
                    .x = session_at(session, node->in[1]),
                    .gain = session_at(session, node->in[2]),
                    .epsilon = (float)node->attributes.epsilon},
        .dy = session_at(session, node->in[0]),
        .base = at_or_none(session, node->onto),
        .dx = session_at(session, node->out[0]),
        .d_gain = session_at(session, node->out[1]),
        .statistics = prepared(session, node),
    };

    return op_rms_backward(session->ops, &op, err);
}

static enum status head_norm(struct session *session, const struct graph_node *node,
                             struct error *err)
{
    const struct op_rms_backward op = {
        .forward = {.rows = session->tokens->rows,
                    .first = node->attributes.heads,
                    .second = node->attributes.kv_heads,
                    .others = node->attributes.kv_heads,
                    .size = graph_head_size(session->graph, node, 1),
                    .x = session_at(session, node->in[1]),
                    .gain = session_at(session, node->in[2]),
                    .other_gain = session_at(session, node->in[3]),
                    .epsilon = (float)node->attributes.epsilon},
        .dy = session_at(session, node->in[0]),
        .base = at_or_none(session, node->onto),
        .dx = session_at(session, node->out[0]),
        .d_gain = session_at(session, node->out[1]),
        .d_other_gain = session_at(session, node->out[2]),
        .statistics = prepared(session, node),
    };

    return op_rms_backward(session->ops, &op, err);
}

/* ---- attention, gate ---- */

static enum status prepare_attention(const struct session *session, const struct graph_node *node,
                                     struct buffer **ret, struct error *err)
{
    return op_backward_statistics(session->ops, session->tokens->rows * 2 * node->attributes.heads,
                                  ret, err);
}

static enum status attention(struct session *session, const struct graph_node *node,
                             struct error *err)
{
    const struct op_heads_backward op = {
        .forward = {.sequences = session->tokens->rows / session->tokens->length,
                    .length = session->tokens->length,
                    .heads = node->attributes.heads,
                    .kv_heads = node->attributes.kv_heads,
                    .size = graph_head_size(session->graph, node, 1),
                    .qkv = session_at(session, node->in[1]),
                    .values = session_at(session, node->in[0])},
        .d_qkv = session_at(session, node->out[0]),
        .statistics = prepared(session, node),
    };

    return op_heads_backward(session->ops, &op, err);
}

static enum status gate(struct session *session, const struct graph_node *node, struct error *err)
{
    const struct op_gate_backward op = {
        .dy = session_at(session, node->in[0]),
        .g = session_at(session, node->in[1]),
        .x = session_at(session, node->in[2]),
        .dg = session_at(session, node->out[0]),
        .dx = session_at(session, node->out[1]),
        .count = session->tokens->rows * session->places[node->in[1]].columns,
    };

    return op_gate_backward(session->ops, &op, err);
}

/* ---- the table, and the positions where there are some ---- */

static size_t takes_table(const struct session *session, const struct graph_node *node)
{
    return node + 1 < session->graph->nodes + session->graph->node_count &&
                   node[1].op == &graph_op_position_gradient
               ? 2
               : 1;
}

static enum status clear(struct session *session, uint32_t gradient, struct error *err)
{
    return op_clear(session->ops, session_at(session, gradient),
                    session->graph->values[gradient].count, err);
}

/* Rows of tokens and positions that a pass has not are 0. */
static enum status table(struct session *session, const struct graph_node *node, struct error *err)
{
    const uint32_t positions = takes_table(session, node) == 2 ? node[1].out[0] : GRAPH_NONE;

    if (node->onto == GRAPH_NONE)
        TRY(clear(session, node->out[0], err));
    if (positions != GRAPH_NONE)
        TRY(clear(session, positions, err));
    return op_embedding_backward(session->ops, session->tokens, session->places[node->in[0]].buffer,
                                 session_at(session, node->out[0]), at_or_none(session, positions),
                                 session->places[node->in[0]].columns, err);
}

const struct lowering session_stack_backward_lowerings[] = {
    {&graph_op_attention_gradient, takes_new, attention, prepare_attention, .first_only = true},
    {&graph_op_embedding_gradient, takes_table, table, .in_place = true},
    {&graph_op_gate_gradient, takes_new, gate},
    {&graph_op_head_norm_gradient, NULL, head_norm, prepare_norm},
    {&graph_op_rms_norm_gradient, NULL, rms_norm, prepare_norm},
    {0},
};
