/*
 * linear: x (rows, inputs), weight (inputs, outputs), bias (outputs; may be left out) -> (rows,
 * outputs). Attribute: transposed, the weight is (outputs, inputs). The gradient of x is a linear
 * of the same weight the other way round.
 * weight_gradient: the gradient of y, x -> that of the weight.
 * column_sum: the gradient of y -> that of the bias.
 */
#include <string.h>

#include "workloads/check/reference_math.h"
#include "workloads/graph/operators.h"

static enum status shape(const struct graph *graph, const struct graph_node *node,
                         struct graph_shape *ret, struct error *err)
{
    const struct graph_value *x = graph_input(graph, node, 0), *w = graph_input(graph, node, 1);
    const bool transposed = node->attributes.transposed;

    TRY(graph_check_rank(graph, node, 0, 2, err));
    TRY(graph_check_rank(graph, node, 1, 2, err));
    if (graph_size(x, 1) != graph_size(w, transposed))
        return error_set(err, STATUS_INVALID, "a row of %s has %llu elements, %s takes %llu",
                         x->name, (unsigned long long)graph_size(x, 1), w->name,
                         (unsigned long long)graph_size(w, transposed));
    ret[0] = (struct graph_shape){{graph_size(x, 0), graph_size(w, !transposed)}, 2};
    if (node->in_count > 2 && graph_input(graph, node, 2)->count != ret[0].of[1])
        return error_set(err, STATUS_INVALID, "%s has %llu elements, a row of the result %llu",
                         graph_input(graph, node, 2)->name,
                         (unsigned long long)graph_input(graph, node, 2)->count,
                         (unsigned long long)ret[0].of[1]);
    return STATUS_OK;
}

static enum status backward(struct graph *graph, struct graph_node node, struct error *err)
{
    const uint32_t up = graph_gradient_of(graph, &node, 0);
    const uint32_t input[] = {up, node.in[1]}, weight[] = {up, node.in[0]};
    const struct graph_attributes turned = {.transposed = !node.attributes.transposed};

    /* The order is nothing to the values; GPT-2's launches have it from before there was a graph.
     */
    for (int i = 0; i < 2; i++)
        TRY((i == 0) == node.attributes.transposed
                ? graph_add_gradient(graph, &graph_op_weight_gradient, node.attributes, weight, 2,
                                     &node.in[1], err)
                : graph_add_gradient(graph, &graph_op_linear, turned, input, 2, &node.in[0], err));
    if (node.in_count < 3)
        return STATUS_OK;
    return graph_add_gradient(graph, &graph_op_column_sum, node.attributes, &up, 1, &node.in[2],
                              err);
}

static struct reference_matrix matrix(const struct graph_step *step, size_t input, bool transpose)
{
    const struct graph_array array = step->in[input];

    return (struct reference_matrix){.f64 = array.f64,
                                     .f32 = array.f32,
                                     .stride =
                                         graph_size(graph_input(step->graph, step->node, input), 1),
                                     .transpose = transpose};
}

static enum status reference(const struct graph_step *step, struct error *err)
{
    const struct graph_value *y = &step->graph->values[step->node->out[0]];
    const uint64_t rows = graph_size(y, 0), outputs = graph_size(y, 1);

    TRY(reference_gemm(step->out[0], outputs, matrix(step, 0, false),
                       matrix(step, 1, step->node->attributes.transposed), rows, outputs,
                       graph_size(graph_input(step->graph, step->node, 0), 1), step->adds, err));
    if (step->node->in_count > 2)
        reference_bias_add(step->out[0], step->in[2].f32, rows, outputs);
    return STATUS_OK;
}

static uint64_t flops(const struct graph *graph, const struct graph_node *node)
{
    const struct graph_value *x = graph_input(graph, node, 0);

    return graph_flops_of(graph_size(x, 0), graph_size(x, 1),
                          graph_size(&graph->values[node->out[0]], 1));
}

static uint64_t weight_flops(const struct graph *graph, const struct graph_node *node)
{
    return graph_flops_of(graph_size(graph_input(graph, node, 0), 0),
                          graph->values[node->out[0]].count, 1);
}

static enum status weight_shape(const struct graph *graph, const struct graph_node *node,
                                struct graph_shape *ret, struct error *err)
{
    const uint64_t outputs = graph_size(graph_input(graph, node, 0), 1);
    const uint64_t inputs = graph_size(graph_input(graph, node, 1), 1);

    (void)err;
    ret[0] = node->attributes.transposed ? (struct graph_shape){{outputs, inputs}, 2}
                                         : (struct graph_shape){{inputs, outputs}, 2};
    return STATUS_OK;
}

static enum status weight(const struct graph_step *step, struct error *err)
{
    const struct graph_value *w = &step->graph->values[step->node->out[0]];
    const bool transposed = step->node->attributes.transposed;

    return reference_gemm(step->out[0], graph_size(w, 1), matrix(step, !transposed, true),
                          matrix(step, transposed, false), graph_size(w, 0), graph_size(w, 1),
                          graph_size(graph_input(step->graph, step->node, 0), 0), step->adds, err);
}

static enum status column_shape(const struct graph *graph, const struct graph_node *node,
                                struct graph_shape *ret, struct error *err)
{
    (void)err;
    ret[0] = (struct graph_shape){{graph_size(graph_input(graph, node, 0), -1)}, 1};
    return STATUS_OK;
}

static enum status column_sum(const struct graph_step *step, struct error *err)
{
    const struct graph_value *up = graph_input(step->graph, step->node, 0);

    (void)err;
    if (!step->adds)
        memset(step->out[0], 0, graph_size(up, 1) * sizeof(double));
    reference_column_sum(step->in[0].f64, step->out[0], graph_size(up, 0), graph_size(up, 1));
    return STATUS_OK;
}

const struct graph_op graph_op_linear = {
    .name = "linear",
    .formula = "x W + b",
    .in_least = 2,
    .in_most = 3,
    .outputs = 1,
    .shape = shape,
    .backward = backward,
    .flops = flops,
    .reference = reference,
};

const struct graph_op graph_op_weight_gradient = {
    .name = "weight_gradient",
    .formula = "x^T dy",
    .in_least = 2,
    .in_most = 2,
    .outputs = 1,
    .shape = weight_shape,
    .flops = weight_flops,
    .reference = weight,
};

const struct graph_op graph_op_column_sum = {
    .name = "column_sum",
    .formula = "sum of dy over rows",
    .in_least = 1,
    .in_most = 1,
    .outputs = 1,
    .shape = column_shape,
    .reference = column_sum,
};
