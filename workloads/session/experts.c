/* What the operators of a mixture of experts launch. */
#include "workloads/graph/operators.h"
#include "workloads/session/session.h"

static struct op_experts experts_of(const struct session *session, const struct graph_node *node,
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
    const struct op_experts op = experts_of(session, node, node->out[0]);

    return op_experts_choose(session->ops, &op, session_at(session, node->in[0]),
                             session_at(session, node->out[1]), err);
}

static enum status assign(struct session *session, const struct graph_node *node, struct error *err)
{
    const struct op_experts op = experts_of(session, node, node->out[0]);

    return op_experts_assign(session->ops, &op, session->places[node->in[0]].buffer, err);
}

/* Whether a product before it goes by the same gates, whose lists there are then. */
static bool is_sorted(const struct session *session, const struct graph_node *node)
{
    const struct graph_node *first =
        session->graph->nodes + session->graph->values[node->in[2]].writer;

    for (const struct graph_node *i = first + 1; i < node; i++)
        if (i->op == node->op && i->in[2] == node->in[2])
            return true;
    return false;
}

static enum status product(struct session *session, const struct graph_node *node,
                           struct error *err)
{
    const struct graph_value *w = graph_input(session->graph, node, 1);
    const struct op_experts_product op = {
        .of = experts_of(session, node, node->in[2]),
        .x = session_at(session, node->in[0]),
        .w = session_at(session, node->in[1]),
        .y = session_at(session, node->out[0]),
        .k = graph_size(w, 1),
        .n = graph_size(w, 2),
        .each = session->places[node->in[0]].columns != graph_size(w, 1),
    };

    if (!is_sorted(session, node))
        TRY(op_experts_sort(session->ops, &op.of, err));
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
    const struct op_experts op = experts_of(session, node, node->in[1]);

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
