/*
 * cross_entropy: logits (rows, vocabulary), targets (rows) -> the mean of the rows' losses in nats
 * (1), those (rows), and the rows' log(sum(exp(logits))). Its own gradient is 1.
 * cross_entropy_gradient: logits, targets, those sums -> the gradient of the logits.
 */
#include <math.h>

#include "workloads/graph/operators.h"

static enum status shape(const struct graph *graph, const struct graph_node *node,
                         struct graph_shape *ret, struct error *err)
{
    const struct graph_value *logits = graph_input(graph, node, 0);
    const struct graph_value *targets = graph_input(graph, node, 1);

    TRY(graph_check_rank(graph, node, 0, 2, err));
    if (graph_size(logits, 0) != targets->count)
        return error_set(err, STATUS_INVALID, "%s has %llu rows, %s %llu elements", logits->name,
                         (unsigned long long)graph_size(logits, 0), targets->name,
                         (unsigned long long)targets->count);
    ret[0] = (struct graph_shape){{1}, 1};
    ret[1] = ret[2] = targets->shape;
    return STATUS_OK;
}

static enum status backward(struct graph *graph, struct graph_node node, struct error *err)
{
    const uint32_t in[] = {node.in[0], node.in[1], node.out[2]};

    if (graph_gradient_of(graph, &node, 0) != GRAPH_NONE)
        return error_set(err, STATUS_INVALID, "%s is no loss: something is computed from it",
                         graph->values[node.out[0]].name);
    return graph_add_gradient(graph, &graph_op_cross_entropy_gradient, node.attributes, in, 3,
                              node.in, err);
}

/* log(sum(exp(logits))) of a row. */
static double log_sum(const double *logits, uint64_t count)
{
    double top = -INFINITY, sum = 0.0;

    for (uint64_t i = 0; i < count; i++)
        top = logits[i] > top ? logits[i] : top;
    for (uint64_t i = 0; i < count; i++)
        sum += exp(logits[i] - top);
    return top + log(sum);
}

static enum status reference(const struct graph_step *step, struct error *err)
{
    const struct graph_value *logits = graph_input(step->graph, step->node, 0);
    const uint64_t rows = graph_size(logits, 0), width = graph_size(logits, 1);
    double *losses = step->out[1], *totals = step->out[2], sum = 0.0;

    (void)err;
#pragma omp parallel for schedule(static) if (rows * width > GRAPH_WORTH_THREADS)
    for (uint64_t r = 0; r < rows; r++) {
        const double *row = step->in[0].f64 + r * width;

        totals[r] = log_sum(row, width);
        losses[r] = totals[r] - row[step->in[1].i32[r]];
    }
    for (uint64_t r = 0; r < rows; r++)
        sum += losses[r];
    step->out[0][0] = sum / (double)rows;
    return STATUS_OK;
}

static enum status gradient(const struct graph_step *step, struct error *err)
{
    const struct graph_value *logits = graph_input(step->graph, step->node, 0);
    const uint64_t rows = graph_size(logits, 0), width = graph_size(logits, 1);
    const bool adds = step->adds;

    (void)err;
#pragma omp parallel for schedule(static) if (rows * width > GRAPH_WORTH_THREADS)
    for (uint64_t r = 0; r < rows; r++) {
        const double *row = step->in[0].f64 + r * width, total = step->in[2].f64[r];
        const uint64_t target = (uint64_t)step->in[1].i32[r];
        double *up = step->out[0] + r * width;

        for (uint64_t i = 0; i < width; i++)
            up[i] = (adds ? up[i] : 0.0) +
                    (exp(row[i] - total) - (i == target ? 1.0 : 0.0)) / (double)rows;
    }
    return STATUS_OK;
}

const struct graph_op graph_op_cross_entropy = {
    .name = "cross_entropy",
    .formula = "mean over rows of log(sum(exp(logits))) - logits[target]",
    .in_least = 2,
    .in_most = 2,
    .outputs = 3,
    .shape = shape,
    .backward = backward,
    .reference = reference,
};

const struct graph_op graph_op_cross_entropy_gradient = {
    .name = "cross_entropy_gradient",
    .formula = "(softmax(logits) - onehot(target)) / rows",
    .in_least = 3,
    .in_most = 3,
    .outputs = 1,
    .in_place = true,
    .shape = graph_shape_of_first,
    .reference = gradient,
};
