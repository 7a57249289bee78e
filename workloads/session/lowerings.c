/* What each operator launches. */
#include <math.h>

#include "workloads/graph/operators.h"
#include "workloads/session/session.h"

static const struct session_place *place_of(const struct session *session, uint32_t value)
{
    return &session->places[value];
}

static struct buffer *buffer_of(const struct session *session, uint32_t value)
{
    return session->places[value].buffer;
}

/* ---- tokens ---- */

static size_t takes_positions(const struct session *session, const struct graph_node *node)
{
    (void)session;
    return node->in_count > 2;
}

static enum status embedding(struct session *session, const struct graph_node *node,
                             struct error *err)
{
    return op_embedding(session->ops, session->tokens, session_at(session, node->in[1]),
                        session_at(session, node->in[2]), session_at(session, node->out[0]),
                        place_of(session, node->out[0])->columns, err);
}

/* Both gradients, of tokens and of positions. */
static size_t takes_gradients(const struct session *session, const struct graph_node *node)
{
    return node + 1 < session->graph->nodes + session->graph->node_count &&
                   node[1].op == &graph_op_position_gradient
               ? 2
               : 0;
}

static enum status embedding_gradient(struct session *session, const struct graph_node *node,
                                      struct error *err)
{
    return op_embedding_backward(session->ops, session->tokens, buffer_of(session, node->in[0]),
                                 session_at(session, node->out[0]),
                                 session_at(session, node[1].out[0]),
                                 place_of(session, node->in[0])->columns, err);
}

static struct op_logits logits_of(const struct session *session, const struct graph_node *node)
{
    const struct graph_value *logits = graph_input(session->graph, node, 0);

    return (struct op_logits){buffer_of(session, node->in[0]), graph_size(logits, -1),
                              place_of(session, node->in[0])->stride};
}

static enum status cross_entropy(struct session *session, const struct graph_node *node,
                                 struct error *err)
{
    const struct op_logits logits = logits_of(session, node);
    struct buffer *losses = buffer_of(session, node->out[1]);

    TRY(op_cross_entropy(session->ops, session->tokens, &logits, buffer_of(session, node->out[2]),
                         losses, err));
    return op_mean(session->ops, losses, session->tokens->rows, buffer_of(session, node->out[0]),
                   session->slot, err);
}

static enum status cross_entropy_gradient(struct session *session, const struct graph_node *node,
                                          struct error *err)
{
    const struct op_logits logits = logits_of(session, node);

    return op_cross_entropy_backward(session->ops, session->tokens, &logits,
                                     buffer_of(session, node->in[2]), session->scaling, err);
}

/* ---- norms, GELU ---- */

struct op_norm session_norm(const struct session *session, const struct graph_node *node,
                            const uint32_t *values)
{
    return (struct op_norm){
        .rows = session->tokens->rows,
        .width = place_of(session, values[1])->columns,
        .x = session_at(session, values[0]),
        .gain = session_at(session, values[1]),
        .bias = session_at(session, values[2]),
        .mean = session_at(session, values[3]),
        .rstd = session_at(session, values[4]),
        .epsilon = (float)node->attributes.epsilon,
    };
}

static enum status layer_norm(struct session *session, const struct graph_node *node,
                              struct error *err)
{
    const uint32_t values[] = {node->in[0], node->in[1], node->in[2], node->out[1], node->out[2]};
    const struct op_norm norm = session_norm(session, node, values);

    return op_norm_forward(session->ops, &norm, session_at(session, node->out[0]), err);
}

/* Gradients of gain and bias lie in theirs as those do in the parameters. */
static enum status layer_norm_gradient(struct session *session, const struct graph_node *node,
                                       struct error *err)
{
    const uint32_t values[] = {node->in[1], node->in[2], node->out[2], node->in[3], node->in[4]};
    const struct op_norm norm = session_norm(session, node, values);

    return op_norm_backward(session->ops, &norm, buffer_of(session, node->in[0]),
                            buffer_of(session, node->out[0]), node->onto != GRAPH_NONE,
                            norm.bias.buffer, err);
}

static enum status gelu(struct session *session, const struct graph_node *node, struct error *err)
{
    return op_gelu(session->ops, session_at(session, node->in[0]), buffer_of(session, node->out[0]),
                   session->tokens->rows * place_of(session, node->in[0])->columns, err);
}

static enum status gelu_gradient(struct session *session, const struct graph_node *node,
                                 struct error *err)
{
    return op_gelu_backward(session->ops, session_at(session, node->in[1]),
                            buffer_of(session, node->out[0]),
                            session->tokens->rows * place_of(session, node->in[1])->columns, err);
}

/* ---- GEMMs with weights ---- */

static bool adds_next(const struct session *session, const struct graph_node *node)
{
    return node->onto == GRAPH_NONE && session_is_followed(session, node, &graph_op_add);
}

static size_t takes_sum(const struct session *session, const struct graph_node *node)
{
    return adds_next(session, node) ? 2 : 1;
}

/* x W + b, and what the next node adds to it; or, a gradient, onto what there is. */
static enum status linear(struct session *session, const struct graph_node *node, struct error *err)
{
    const bool adds = adds_next(session, node);
    const uint32_t out = node[adds].out[0];
    struct op_gemm gemm = {
        .m = session->tokens->rows,
        .n = place_of(session, out)->columns,
        .k = place_of(session, node->in[0])->columns,
        .a = session_matrix(session, node->in[0], false),
        .b = session_matrix(session, node->in[1], node->attributes.transposed),
        .c = session_matrix(session, out, false),
        .constant_b = !session->training,
    };

    if (node->in_count > 2) {
        gemm.bias = session_at(session, node->in[2]);
        gemm.bias_type = session->storage;
    }
    if (adds || node->onto != GRAPH_NONE)
        gemm.d = session_at(session, adds ? node[1].in[1] : node->onto);
    if (session->observe)
        TRY(session->observe(session->observer, gemm.a.at, gemm.m * gemm.k, err));
    return op_gemm(session->ops, &gemm, err);
}

/* x^T dy, or dy^T x. */
static enum status weight_gradient(struct session *session, const struct graph_node *node,
                                   struct error *err)
{
    const bool transposed = node->attributes.transposed;
    const uint32_t a = node->in[!transposed], b = node->in[transposed];
    const struct op_gemm gemm = {
        .m = place_of(session, a)->columns,
        .n = place_of(session, b)->columns,
        .k = session->tokens->rows,
        .a = session_matrix(session, a, true),
        .b = session_matrix(session, b, false),
        .c = session_matrix(session, node->out[0], false),
    };

    return op_gemm(session->ops, &gemm, err);
}

static enum status column_sum(struct session *session, const struct graph_node *node,
                              struct error *err)
{
    return op_column_sum(session->ops, session_at(session, node->in[0]),
                         session_at(session, node->out[0]), session->tokens->rows,
                         place_of(session, node->in[0])->columns, err);
}

/* ---- attention ---- */

/* Operands of the GEMMs of all heads: one matrix a sequence and head. */
struct heads {
    uint64_t length, sequences, heads, size;
    struct op_matrix q, k, v, values, scores;
};

static struct heads heads_of(const struct session *session, const struct graph_node *node,
                             uint32_t qkv, uint32_t values, uint32_t scores)
{
    const uint64_t length = node->attributes.length, heads = node->attributes.heads;
    const uint64_t size = place_of(session, values)->columns / heads;
    struct heads ret = {.length = length,
                        .sequences = session->tokens->rows / length,
                        .heads = heads,
                        .size = size,
                        .q = session_matrix(session, qkv, false),
                        .values = session_matrix(session, values, false),
                        .scores = session_matrix(session, scores, false)};

    ret.q.outer_stride = length * ret.q.stride;
    ret.values.outer_stride = length * ret.values.stride;
    ret.q.inner_stride = ret.values.inner_stride = size;
    ret.scores.outer_stride = heads * length * length;
    ret.scores.inner_stride = length * length;
    ret.k = ret.v = ret.q;
    ret.k.at.offset += heads * size;
    ret.v.at.offset += 2 * heads * size;
    return ret;
}

static struct op_matrix transposed(struct op_matrix matrix)
{
    matrix.transpose = true;
    return matrix;
}

/* C = alpha op(A) op(B), of (length, n), summed over k, for every sequence and head. */
static enum status head_gemm(struct session *session, const struct heads *heads, struct op_matrix a,
                             struct op_matrix b, struct op_matrix c, bool sums_positions,
                             float alpha, enum op_triangle triangle, struct error *err)
{
    const struct op_gemm gemm = {
        .m = heads->length,
        .n = sums_positions ? heads->size : heads->length,
        .k = sums_positions ? heads->length : heads->size,
        .a = a,
        .b = b,
        .c = c,
        .outer = heads->sequences,
        .inner = heads->heads,
        .alpha = alpha,
        .triangle = triangle,
    };

    return op_gemm(session->ops, &gemm, err);
}

static float scale_of(const struct heads *heads)
{
    return (float)(1.0 / sqrt((double)heads->size));
}

static struct op_attention fused_of(const struct session *session, const struct heads *heads)
{
    return (struct op_attention){
        .shape = {heads->sequences, heads->length, heads->heads, heads->size, session->training},
        .qkv = heads->q.at,
        .values = heads->values.at,
        .statistics = heads->scores.at,
    };
}

static enum status attention(struct session *session, const struct graph_node *node,
                             struct error *err)
{
    const struct heads at = heads_of(session, node, node->in[0], node->out[0], node->out[1]);
    const struct op_attention fused = fused_of(session, &at);

    if (session->fused)
        return op_attention_forward(session->ops, &fused, err);
    TRY(head_gemm(session, &at, at.q, transposed(at.k), at.scores, false, scale_of(&at),
                  OP_TRIANGLE_C, err));
    TRY(op_causal_softmax(session->ops, at.scores.at, at.sequences * at.heads, at.length, err));
    return head_gemm(session, &at, at.scores, at.v, at.values, true, 1.0f, OP_TRIANGLE_A, err);
}

static enum status attention_gradient(struct session *session, const struct graph_node *node,
                                      struct error *err)
{
    const struct graph *graph = session->graph;
    const uint32_t values = graph->nodes[graph->values[node->in[2]].writer].out[0];
    const struct heads in = heads_of(session, node, node->in[1], values, node->in[2]);
    const struct heads up = heads_of(session, node, node->out[0], node->in[0], node->out[1]);
    struct op_attention fused = fused_of(session, &in);

    fused.d_qkv = up.q.at;
    fused.d_values = up.values.at;
    if (session->fused)
        return op_attention_backward(session->ops, &fused, err);
    TRY(head_gemm(session, &in, up.values, transposed(in.v), up.scores, false, 1.0f, OP_TRIANGLE_C,
                  err));
    TRY(head_gemm(session, &in, transposed(in.scores), up.values, up.v, true, 1.0f, OP_TRIANGLE_AT,
                  err));
    TRY(op_causal_softmax_backward(session->ops, in.scores.at, up.scores.at.buffer,
                                   in.sequences * in.heads, in.length, err));
    TRY(head_gemm(session, &in, up.scores, in.k, up.q, true, scale_of(&in), OP_TRIANGLE_A, err));
    return head_gemm(session, &in, transposed(up.scores), in.q, up.k, true, scale_of(&in),
                     OP_TRIANGLE_AT, err);
}

const struct lowering session_lowerings[] = {
    {&graph_op_attention, NULL, attention},
    {&graph_op_attention_gradient, NULL, attention_gradient},
    {&graph_op_column_sum, NULL, column_sum},
    {&graph_op_cross_entropy, NULL, cross_entropy},
    {&graph_op_cross_entropy_gradient, NULL, cross_entropy_gradient, .in_place = true},
    {&graph_op_embedding, takes_positions, embedding},
    {&graph_op_embedding_gradient, takes_gradients, embedding_gradient},
    {&graph_op_gelu, NULL, gelu},
    {&graph_op_gelu_gradient, NULL, gelu_gradient, .in_place = true},
    {&graph_op_layer_norm, NULL, layer_norm},
    {&graph_op_layer_norm_gradient, NULL, layer_norm_gradient, .in_place = true},
    {&graph_op_linear, takes_sum, linear},
    {&graph_op_weight_gradient, NULL, weight_gradient},
    {0},
};
