/*
 * layer_norm: x (rows, width), gain, bias -> y, and the rows' means and reciprocal deviations.
 * Attribute: epsilon.
 * layer_norm_gradient: the gradient of y, x, gain, mean, rstd -> those of x, gain and bias.
 * rms_norm, rms_norm_gradient: the same without mean and bias (Zhang and Sennrich 2019).
 */
#include <string.h>

#include "workloads/check/reference_math.h"
#include "workloads/graph/operators.h"

static enum status shape(const struct graph *graph, const struct graph_node *node,
                         struct graph_shape *ret, struct error *err)
{
    const struct graph_value *x = graph_input(graph, node, 0);

    TRY(graph_check_rank(graph, node, 0, 2, err));
    for (size_t i = 1; i < node->in_count; i++) {
        const struct graph_value *vector = graph_input(graph, node, i);

        if (vector->count != graph_size(x, -1))
            return error_set(err, STATUS_INVALID, "%s has %llu elements, a row of %s has %llu",
                             vector->name, (unsigned long long)vector->count, x->name,
                             (unsigned long long)graph_size(x, -1));
    }
    ret[0] = x->shape;
    ret[1] = ret[2] = (struct graph_shape){{x->shape.of[0]}, 1};
    return STATUS_OK;
}

static enum status backward(struct graph *graph, struct graph_node node, struct error *err)
{
    const uint32_t in[] = {graph_gradient_of(graph, &node, 0), node.in[0], node.in[1], node.out[1],
                           node.out[2]};

    return graph_add_gradient(graph, &graph_op_layer_norm_gradient, node.attributes, in, 5, node.in,
                              err);
}

static enum status reference(const struct graph_step *step, struct error *err)
{
    const struct graph_value *x = graph_input(step->graph, step->node, 0);

    (void)err;
    reference_norm_forward(step->in[0].f64, step->in[1].f32, step->in[2].f32, step->out[0],
                           step->out[1], step->out[2], x->shape.of[0], x->shape.of[1],
                           step->node->attributes.epsilon);
    return STATUS_OK;
}

static enum status gradient_shape(const struct graph *graph, const struct graph_node *node,
                                  struct graph_shape *ret, struct error *err)
{
    (void)err;
    ret[0] = graph_input(graph, node, 1)->shape;
    ret[1] = ret[2] = graph_input(graph, node, 2)->shape;
    return STATUS_OK;
}

static enum status gradient(const struct graph_step *step, struct error *err)
{
    const struct graph_value *x = graph_input(step->graph, step->node, 1);

    (void)err;
    if (!step->adds)
        memset(step->out[0], 0, x->count * sizeof(double));
    reference_norm_backward(step->in[1].f64, step->in[2].f32, step->in[3].f64, step->in[4].f64,
                            step->in[0].f64, step->out[0], step->out[1], step->out[2],
                            x->shape.of[0], x->shape.of[1]);
    return STATUS_OK;
}

static enum status rms_backward(struct graph *graph, struct graph_node node, struct error *err)
{
    const uint32_t in[] = {graph_gradient_of(graph, &node, 0), node.in[0], node.in[1], node.out[1]};

    return graph_add_gradient(graph, &graph_op_rms_norm_gradient, node.attributes, in, 4, node.in,
                              err);
}

static enum status rms_reference(const struct graph_step *step, struct error *err)
{
    const struct graph_value *x = graph_input(step->graph, step->node, 0);

    (void)err;
    reference_rms_forward(step->in[0].f64, step->in[1].f32, step->out[0], step->out[1],
                          x->shape.of[0], x->shape.of[1], step->node->attributes.epsilon);
    return STATUS_OK;
}

static enum status rms_gradient(const struct graph_step *step, struct error *err)
{
    const struct graph_value *x = graph_input(step->graph, step->node, 1);

    (void)err;
    if (!step->adds)
        memset(step->out[0], 0, x->count * sizeof(double));
    reference_rms_backward(step->in[1].f64, step->in[2].f32, step->in[3].f64, step->in[0].f64,
                           step->out[0], step->out[1], x->shape.of[0], x->shape.of[1]);
    return STATUS_OK;
}

const struct graph_op graph_op_layer_norm = {
    .name = "layer_norm",
    .formula = "(x - mean) / sqrt(variance + epsilon) gain + bias, by rows",
    .in_least = 3,
    .in_most = 3,
    .outputs = 3,
    .shape = shape,
    .backward = backward,
    .reference = reference,
};

const struct graph_op graph_op_layer_norm_gradient = {
    .name = "layer_norm_gradient",
    .formula = "rstd (g - mean(g) - u mean(g u)), g = dy gain, u = (x - mean) rstd; sums of dy u "
               "and dy",
    .in_least = 5,
    .in_most = 5,
    .outputs = 3,
    .shape = gradient_shape,
    .reference = gradient,
};

const struct graph_op graph_op_rms_norm = {
    .name = "rms_norm",
    .formula = "x / sqrt(mean(x^2) + epsilon) gain, by rows",
    .in_least = 2,
    .in_most = 2,
    .outputs = 2,
    .shape = shape,
    .backward = rms_backward,
    .reference = rms_reference,
};

const struct graph_op graph_op_rms_norm_gradient = {
    .name = "rms_norm_gradient",
    .formula = "rstd (g - u mean(g u)), g = dy gain, u = x rstd; sums of dy u",
    .in_least = 4,
    .in_most = 4,
    .outputs = 2,
    .shape = gradient_shape,
    .reference = rms_gradient,
};
