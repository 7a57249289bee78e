/* What the gradients of a mixture of experts launch, and its gates where it is trained. */
#include "workloads/graph/operators.h"
#include "workloads/session/session.h"

/* What no kernel adds to; mixtures have none of those. */
static size_t takes_new(const struct session *session, const struct graph_node *node)
{
    (void)session;
    return node->onto == GRAPH_NONE;
}

/* A choice that is given, the weights alone are the scores'. */
static size_t takes_given(const struct session *session, const struct graph_node *node)
{
    (void)session;
    return node->in_count > 1;
}

static enum status weigh(struct session *session, const struct graph_node *node, struct error *err)
{
    const struct op_experts op = session_experts(session, node, node->out[0]);

    return op_experts_weigh(session->ops, &op, session_at(session, node->in[0]),
                            session->places[node->in[1]].buffer, err);
}

static enum status scores(struct session *session, const struct graph_node *node, struct error *err)
{
    const struct op_experts op = session_experts(session, node, node->in[1]);

    return op_experts_weigh_backward(session->ops, &op, session_at(session, node->in[0]),
                                     session_at(session, node->out[0]), err);
}

static enum status gates(struct session *session, const struct graph_node *node, struct error *err)
{
    const struct op_experts op = session_experts(session, node, node->in[2]);

    return op_experts_gates_backward(
        session->ops, &op, session_at(session, node->in[0]), session_at(session, node->in[1]),
        session_at(session, node->out[0]), session->places[node->in[0]].columns, err);
}

static enum status combine(struct session *session, const struct graph_node *node,
                           struct error *err)
{
    const struct op_experts op = session_experts(session, node, node->in[1]);

    return op_experts_combine_backward(session->ops, &op, session_at(session, node->in[0]),
                                       session_at(session, node->out[0]),
                                       session->places[node->in[0]].columns, err);
}

static enum status product(struct session *session, const struct graph_node *node,
                           struct error *err)
{
    const struct graph_value *w = graph_input(session->graph, node, 2);
    const struct op_experts_backward op = {
        .forward = {.of = session_experts(session, node, node->in[3]),
                    .x = session_at(session, node->in[1]),
                    .w = session_at(session, node->in[2]),
                    .k = graph_size(w, 1),
                    .n = graph_size(w, 2),
                    .each = session->places[node->in[1]].columns != graph_size(w, 1)},
        .dy = session_at(session, node->in[0]),
        .base = node->onto == GRAPH_NONE ? (struct operand){0} : session_at(session, node->onto),
        .dx = session_at(session, node->out[0]),
        .dw = session_at(session, node->out[1]),
    };

    TRY(session_sort_experts(session, node, node->in[3], err));
    return op_experts_product_backward(session->ops, &op, err);
}

const struct lowering session_experts_backward_lowerings[] = {
    {&graph_op_choose_experts, takes_given, weigh, .first_only = true},
    {&graph_op_choose_experts_gradient, takes_new, scores},
    {&graph_op_combine_experts_gradient, takes_new, combine},
    {&graph_op_expert_product_gradient, NULL, product},
    {&graph_op_gates_gradient, takes_new, gates},
    {0},
};
