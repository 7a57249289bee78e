/* add: a, b -> a + b, of one shape; a residual connection. */
#include "workloads/graph/operators.h"

static enum status backward(struct graph *graph, struct graph_node node, struct error *err)
{
    const uint32_t up = graph_gradient_of(graph, &node, 0);

    TRY(graph_pass_gradient(graph, node.in[0], up, err));
    return graph_pass_gradient(graph, node.in[1], up, err);
}

static enum status reference(const struct graph_step *step, struct error *err)
{
    const double *a = step->in[0].f64, *b = step->in[1].f64;
    const uint64_t count = graph_input(step->graph, step->node, 0)->count;

    (void)err;
    for (uint64_t i = 0; i < count; i++)
        step->out[0][i] = a[i] + b[i];
    return STATUS_OK;
}

const struct graph_op graph_op_add = {
    .name = "add",
    .formula = "a + b",
    .in_least = 2,
    .in_most = 2,
    .outputs = 1,
    .in_place = true,
    .shape = graph_shape_of_alike,
    .backward = backward,
    .reference = reference,
};
