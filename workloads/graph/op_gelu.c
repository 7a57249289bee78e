/*
 * gelu: x -> GELU of each element, tanh form (Hendrycks and Gimpel 2016).
 * gelu_gradient: the result's gradient, x -> that of x.
 */
#include "workloads/check/reference_math.h"
#include "workloads/graph/operators.h"

static enum status backward(struct graph *graph, struct graph_node node, struct error *err)
{
    const uint32_t in[] = {graph_gradient_of(graph, &node, 0), node.in[0]};

    return graph_add_gradient(graph, &graph_op_gelu_gradient, node.attributes, in, 2, node.in, err);
}

static enum status reference(const struct graph_step *step, struct error *err)
{
    const double *x = step->in[0].f64;
    const uint64_t count = graph_input(step->graph, step->node, 0)->count;
    double *y = step->out[0];

    (void)err;
#pragma omp parallel for schedule(static) if (count > GRAPH_WORTH_THREADS)
    for (uint64_t i = 0; i < count; i++)
        y[i] = reference_gelu(x[i]);
    return STATUS_OK;
}

static enum status gradient(const struct graph_step *step, struct error *err)
{
    const double *up = step->in[0].f64, *x = step->in[1].f64;
    const uint64_t count = graph_input(step->graph, step->node, 0)->count;
    const bool adds = step->adds;
    double *dx = step->out[0];

    (void)err;
#pragma omp parallel for schedule(static) if (count > GRAPH_WORTH_THREADS)
    for (uint64_t i = 0; i < count; i++)
        dx[i] = (adds ? dx[i] : 0.0) + up[i] * reference_gelu_derivative(x[i]);
    return STATUS_OK;
}

const struct graph_op graph_op_gelu = {
    .name = "gelu",
    .formula = "0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))",
    .in_least = 1,
    .in_most = 1,
    .outputs = 1,
    .in_place = true,
    .shape = graph_shape_of_first,
    .backward = backward,
    .reference = reference,
};

const struct graph_op graph_op_gelu_gradient = {
    .name = "gelu_gradient",
    .formula = "dy gelu'(x)",
    .in_least = 2,
    .in_most = 2,
    .outputs = 1,
    .in_place = true,
    .shape = graph_shape_of_first,
    .reference = gradient,
};
