/*
 * gate: g, x of one shape -> silu(g) x, of each element; silu(g) = g / (1 + exp(-g)) (Shazeer 2020,
 * SwiGLU).
 * gate_gradient: the gradient of the result, g, x -> those of g and x.
 */
#include <math.h>

#include "workloads/graph/operators.h"

static enum status backward(struct graph *graph, struct graph_node node, struct error *err)
{
    const uint32_t in[] = {graph_gradient_of(graph, &node, 0), node.in[0], node.in[1]};

    return graph_add_gradient(graph, &graph_op_gate_gradient, node.attributes, in, 3, node.in, err);
}

static enum status reference(const struct graph_step *step, struct error *err)
{
    const double *g = step->in[0].f64, *x = step->in[1].f64;
    const uint64_t count = graph_input(step->graph, step->node, 0)->count;
    double *y = step->out[0];

    (void)err;
#pragma omp parallel for schedule(static) if (count > GRAPH_WORTH_THREADS)
    for (uint64_t i = 0; i < count; i++)
        y[i] = g[i] / (1.0 + exp(-g[i])) * x[i];
    return STATUS_OK;
}

static enum status gradient(const struct graph_step *step, struct error *err)
{
    const double *up = step->in[0].f64, *g = step->in[1].f64, *x = step->in[2].f64;
    const uint64_t count = graph_input(step->graph, step->node, 0)->count;
    double *dg = step->out[0], *dx = step->out[1];
    const bool adds = step->adds;

    (void)err;
#pragma omp parallel for schedule(static) if (count > GRAPH_WORTH_THREADS)
    for (uint64_t i = 0; i < count; i++) {
        const double s = 1.0 / (1.0 + exp(-g[i])), slope = s * (1.0 + g[i] * (1.0 - s));

        dx[i] = up[i] * g[i] * s;
        dg[i] = (adds ? dg[i] : 0.0) + up[i] * x[i] * slope;
    }
    return STATUS_OK;
}

const struct graph_op graph_op_gate = {
    .name = "gate",
    .formula = "g / (1 + exp(-g)) x",
    .in_least = 2,
    .in_most = 2,
    .outputs = 1,
    .in_place = true,
    .shape = graph_shape_of_alike,
    .backward = backward,
    .reference = reference,
};

const struct graph_op graph_op_gate_gradient = {
    .name = "gate_gradient",
    .formula = "dy silu'(g) x; dy silu(g)",
    .in_least = 3,
    .in_most = 3,
    .outputs = 2,
    .shape = graph_shape_of_operands,
    .reference = gradient,
};
