/* What the operators of a mixture of experts launch. */
#include "workloads/graph/operators.h"
#include "workloads/session/session.h"

struct op_experts session_experts(const struct session *session, const struct graph_node *node,
                                  uint32_t gates)
{
    return (struct op_experts){
        .rows = session->tokens->rows,
        .experts = session->places[gates].columns,
        .top = node->attributes.top,
        .gates = session_at(session, gates),
    };
}

static enum status choose(struct session *session, const struct graph_node *node, struct error *err)
{
    const struct op_experts op = session_experts(session, node, node->out[0]);

    return op_experts_choose(session->ops, &op, session_at(session, node->in[0]),
                             session_at(session, node->out[1]), err);
}

static enum status assign(struct session *session, const struct graph_node *node, struct error *err)
{
    const struct op_experts op = session_experts(session, node, node->out[0]);

    return op_experts_assign(session->ops, &op, session->places[node->in[0]].buffer, err);
}

/* Whether the lists are there: the latest that needed some went by the same gates. */
static bool is_sorted(const struct session *session, const struct graph_node *node, uint32_t gates)
{
    for (const struct graph_node *i = node; i-- > session->graph->nodes;) {
        if (i->op == &graph_op_expert_product)
            return i->in[2] == gates;
        if (i->op == &graph_op_expert_product_gradient)
            return i->in[3] == gates;
    }
    return false;
}

enum status session_sort_experts(struct session *session, const struct graph_node *node,
                                 uint32_t gates, struct error *err)
{
    const struct op_experts op = session_experts(session, node, gates);

    return is_sorted(session, node, gates) ? STATUS_OK : op_experts_sort(session->ops, &op, err);
}

static enum status product(struct session *session, const struct graph_node *node,
                           struct error *err)
{
    const struct graph_value *w = graph_input(session->graph, node, 1);
    const struct op_experts_product op = {
        .of = session_experts(session, node, node->in[2]),
        .x = session_at(session, node->in[0]),
        .w = session_at(session, node->in[1]),
        .y = session_at(session, node->out[0]),
        .k = graph_size(w, 1),
        .n = graph_size(w, 2),
        .each = session->places[node->in[0]].columns != graph_size(w, 1),
    };

    TRY(session_sort_experts(session, node, node->in[2], err));
    return op_experts_product(session->ops, &op, err);
}

static size_t takes_sum(const struct session *session, const struct graph_node *node)
{
    return session_is_followed(session, node, &graph_op_add) ? 2 : 1;
}

static enum status combine(struct session *session, const struct graph_node *node,
                           struct error *err)
{
    const bool adds = takes_sum(session, node) == 2;
    const uint32_t out = node[adds].out[0];
    const struct op_experts op = session_experts(session, node, node->in[1]);

    return op_experts_combine(session->ops, &op, session_at(session, node->in[0]),
                              adds ? session_at(session, node[1].in[1]) : (struct operand){0},
                              session_at(session, out), session->places[out].columns, err);
}

const struct lowering session_experts_lowerings[] = {
    {&graph_op_assign_experts, NULL, assign},
    {&graph_op_choose_experts, NULL, choose},
    {&graph_op_combine_experts, takes_sum, combine},
    {&graph_op_expert_product, NULL, product},
    {0},
};
