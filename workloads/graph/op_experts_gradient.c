/*
 * The gradients of a mixture of experts (op_experts.c). Which experts a row has is no function of
 * the scores that has a slope: elements of gates that are 0 have no gradient.
 * choose_experts_gradient: the gradient of the gates, the gates -> that of the scores.
 * expert_product_gradient: the gradient of the products, x, weights, gates -> those of x and of the
 * weights. An expert without a row has a gradient of 0.
 * combine_experts_gradient: the gradient of the sum, gates -> that of x.
 * gates_gradient: the gradient of the sum, x, gates -> that of the gates; only where those have
 * been computed of scores: what assign_experts is given has none.
 */
#include <string.h>

#include "workloads/graph/experts.h"
#include "workloads/graph/operators.h"

/* ---- which experts ---- */

enum status graph_choose_backward(struct graph *graph, struct graph_node node, struct error *err)
{
    const uint32_t in[] = {graph_gradient_of(graph, &node, 0), node.out[0]};

    return graph_add_gradient(graph, &graph_op_choose_experts_gradient, node.attributes, in, 2,
                              node.in, err);
}

/* That of a softmax; where gates are rounded, their sum is not 1. */
static enum status choose(const struct graph_step *step, struct error *err)
{
    const struct graph_value *gates = graph_input(step->graph, step->node, 1);
    const uint64_t rows = graph_size(gates, 0), experts = graph_size(gates, 1);

    (void)err;
    for (uint64_t r = 0; r < rows; r++) {
        const double *up = step->in[0].f64 + r * experts, *g = step->in[1].f64 + r * experts;
        double *out = step->out[0] + r * experts, sum = 0.0, all = 0.0;

        for (uint64_t e = 0; e < experts; e++) {
            sum += g[e] * up[e];
            all += g[e];
        }
        for (uint64_t e = 0; e < experts; e++)
            out[e] = (step->adds ? out[e] : 0.0) + g[e] * (up[e] - sum / all);
    }
    return STATUS_OK;
}

/* ---- their products ---- */

enum status graph_product_backward(struct graph *graph, struct graph_node node, struct error *err)
{
    const uint32_t in[] = {graph_gradient_of(graph, &node, 0), node.in[0], node.in[1], node.in[2]};

    return graph_add_gradient(graph, &graph_op_expert_product_gradient, node.attributes, in, 4,
                              node.in, err);
}

/* Of one expert and row: dx += dy W^T. */
static void add_inputs(const double *up, const float *w, uint64_t inputs, uint64_t outputs,
                       double *dx)
{
    for (uint64_t p = 0; p < inputs; p++)
        for (uint64_t j = 0; j < outputs; j++)
            dx[p] += up[j] * (double)w[p * outputs + j];
}

/* Of one expert and row: dW += x^T dy. */
static void add_weights(const double *up, const double *x, uint64_t inputs, uint64_t outputs,
                        double *dw)
{
    for (uint64_t p = 0; p < inputs; p++)
        for (uint64_t j = 0; j < outputs; j++)
            dw[p * outputs + j] += x[p] * up[j];
}

/* By experts, each of whose rows come in their order. */
static void product_weights(const struct graph_step *step, uint64_t each)
{
    const struct graph_value *w = graph_input(step->graph, step->node, 2);
    const uint64_t rows = graph_size(graph_input(step->graph, step->node, 1), 0);
    const uint64_t top = step->node->attributes.top, experts = graph_size(w, 0);
    const uint64_t inputs = graph_size(w, 1), outputs = graph_size(w, 2);

    memset(step->out[1], 0, w->count * sizeof(double));
#pragma omp parallel for schedule(static) if (rows * top * inputs * outputs > GRAPH_WORTH_THREADS)
    for (uint64_t e = 0; e < experts; e++)
        for (uint64_t r = 0; r < rows; r++) {
            uint64_t of[GRAPH_TOP_MOST];
            const uint64_t count =
                graph_experts_of(step->in[3].f64 + r * experts, experts, top, of);

            for (uint64_t s = 0; s < count; s++)
                if (of[s] == e)
                    add_weights(step->in[0].f64 + (r * top + s) * outputs,
                                step->in[1].f64 + (r * each + (each > 1 ? s : 0)) * inputs, inputs,
                                outputs, step->out[1] + e * inputs * outputs);
        }
}

static enum status product(const struct graph_step *step, struct error *err)
{
    const struct graph_value *x = graph_input(step->graph, step->node, 1);
    const struct graph_value *w = graph_input(step->graph, step->node, 2);
    const uint64_t top = step->node->attributes.top, rows = graph_size(x, 0);
    const uint64_t experts = graph_size(w, 0), inputs = graph_size(w, 1);
    const uint64_t outputs = graph_size(w, 2), each = graph_size(x, 1) / inputs;

    (void)err;
    if (!step->adds)
        memset(step->out[0], 0, x->count * sizeof(double));
#pragma omp parallel for schedule(static) if (rows * top * inputs * outputs > GRAPH_WORTH_THREADS)
    for (uint64_t r = 0; r < rows; r++) {
        uint64_t of[GRAPH_TOP_MOST];
        const uint64_t count = graph_experts_of(step->in[3].f64 + r * experts, experts, top, of);

        for (uint64_t s = 0; s < count; s++)
            add_inputs(step->in[0].f64 + (r * top + s) * outputs,
                       step->in[2].f32 + of[s] * inputs * outputs, inputs, outputs,
                       step->out[0] + (r * each + (each > 1 ? s : 0)) * inputs);
    }
    product_weights(step, each);
    return STATUS_OK;
}

/* Two products for each of the forward pass. */
static uint64_t product_flops(const struct graph *graph, const struct graph_node *node)
{
    const struct graph_value *w = graph_input(graph, node, 2);
    const uint64_t one =
        graph_flops_of(graph_size(graph_input(graph, node, 1), 0) * node->attributes.top,
                       graph_size(w, 1), graph_size(w, 2));

    return one > UINT64_MAX / 2 ? UINT64_MAX : 2 * one;
}

/* ---- their sum ---- */

/* Whether anything that a gradient reaches makes the gates. */
static bool have_gradient(const struct graph *graph, uint32_t gates)
{
    const struct graph_value *of = &graph->values[gates];

    return of->writer == GRAPH_NONE || graph->nodes[of->writer].op->backward;
}

enum status graph_combine_backward(struct graph *graph, struct graph_node node, struct error *err)
{
    const uint32_t up = graph_gradient_of(graph, &node, 0);
    const uint32_t input[] = {up, node.in[1]}, gates[] = {up, node.in[0], node.in[1]};

    if (have_gradient(graph, node.in[1]))
        TRY(graph_add_gradient(graph, &graph_op_gates_gradient, node.attributes, gates, 3,
                               &node.in[1], err));
    return graph_add_gradient(graph, &graph_op_combine_experts_gradient, node.attributes, input, 2,
                              node.in, err);
}

static enum status combine_shape(const struct graph *graph, const struct graph_node *node,
                                 struct graph_shape *ret, struct error *err)
{
    const struct graph_value *up = graph_input(graph, node, 0);

    (void)err;
    ret[0] = (struct graph_shape){{graph_size(up, 0), node->attributes.top * graph_size(up, 1)}, 2};
    return STATUS_OK;
}

static enum status combine(const struct graph_step *step, struct error *err)
{
    const struct graph_value *up = graph_input(step->graph, step->node, 0);
    const uint64_t experts = graph_size(graph_input(step->graph, step->node, 1), 1);
    const uint64_t top = step->node->attributes.top, outputs = graph_size(up, 1);

    (void)err;
    if (!step->adds)
        memset(step->out[0], 0, top * up->count * sizeof(double));
    for (uint64_t r = 0; r < graph_size(up, 0); r++) {
        const double *gates = step->in[1].f64 + r * experts, *dy = step->in[0].f64 + r * outputs;
        uint64_t of[GRAPH_TOP_MOST];
        const uint64_t count = graph_experts_of(gates, experts, top, of);

        for (uint64_t s = 0; s < count; s++)
            for (uint64_t j = 0; j < outputs; j++)
                step->out[0][(r * top + s) * outputs + j] += gates[of[s]] * dy[j];
    }
    return STATUS_OK;
}

static enum status gates_shape(const struct graph *graph, const struct graph_node *node,
                               struct graph_shape *ret, struct error *err)
{
    (void)err;
    ret[0] = graph_input(graph, node, 2)->shape;
    return STATUS_OK;
}

static enum status gates(const struct graph_step *step, struct error *err)
{
    const struct graph_value *of_gates = graph_input(step->graph, step->node, 2);
    const uint64_t top = step->node->attributes.top, experts = graph_size(of_gates, 1);
    const uint64_t outputs = graph_size(graph_input(step->graph, step->node, 0), 1);

    (void)err;
    if (!step->adds)
        memset(step->out[0], 0, of_gates->count * sizeof(double));
    for (uint64_t r = 0; r < graph_size(of_gates, 0); r++) {
        uint64_t of[GRAPH_TOP_MOST];
        const uint64_t count = graph_experts_of(step->in[2].f64 + r * experts, experts, top, of);

        for (uint64_t s = 0; s < count; s++)
            for (uint64_t j = 0; j < outputs; j++)
                step->out[0][r * experts + of[s]] +=
                    step->in[0].f64[r * outputs + j] * step->in[1].f64[(r * top + s) * outputs + j];
    }
    return STATUS_OK;
}

const struct graph_op graph_op_choose_experts_gradient = {
    .name = "choose_experts_gradient",
    .formula = "g (dg - sum of g dg / sum of g)",
    .in_least = 2,
    .in_most = 2,
    .outputs = 1,
    .shape = graph_shape_of_operands,
    .reference = choose,
};

const struct graph_op graph_op_expert_product_gradient = {
    .name = "expert_product_gradient",
    .formula = "dy W^T and x^T dy of each of a row's experts",
    .in_least = 4,
    .in_most = 4,
    .outputs = 2,
    .shape = graph_shape_of_operands,
    .flops = product_flops,
    .reference = product,
};

const struct graph_op graph_op_combine_experts_gradient = {
    .name = "combine_experts_gradient",
    .formula = "gate dy for each of a row's experts",
    .in_least = 2,
    .in_most = 2,
    .outputs = 1,
    .shape = combine_shape,
    .reference = combine,
};

const struct graph_op graph_op_gates_gradient = {
    .name = "gates_gradient",
    .formula = "sum of x dy for each of a row's experts",
    .in_least = 3,
    .in_most = 3,
    .outputs = 1,
    .shape = gates_shape,
    .reference = gates,
};
