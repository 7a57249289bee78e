/* Products with weights in few bits (ops/packed.h): x W + b, and what the next node adds to it. */
#include "workloads/graph/operators.h"
#include "workloads/session/session.h"

const struct op_packed *session_packed(const struct session *session, const struct graph_node *node)
{
    return session->packed && node->op == &graph_op_linear && session->packed[node->in[1]].format
               ? &session->packed[node->in[1]]
               : NULL;
}

static size_t takes(const struct session *session, const struct graph_node *node)
{
    if (!session_packed(session, node))
        return 0;
    return session_is_followed(session, node, &graph_op_add) ? 2 : 1;
}

static enum status linear(struct session *session, const struct graph_node *node, struct error *err)
{
    const bool adds = session_is_followed(session, node, &graph_op_add);
    struct op_packed_product op = {
        .rows = session->tokens->rows,
        .x = session_at(session, node->in[0]),
        .y = session_at(session, node[adds].out[0]),
        .same_x = node > session->graph->nodes && session_packed(session, node - 1) &&
                  node[-1].in[0] == node->in[0],
    };

    if (node->in_count > 2)
        op.bias = session_at(session, node->in[2]);
    if (adds)
        op.d = session_at(session, node[1].in[1]);
    return op_packed_product(session->ops, session_packed(session, node), &op, err);
}

const struct lowering session_packed_lowerings[] = {
    {&graph_op_linear, takes, linear},
    {0},
};
