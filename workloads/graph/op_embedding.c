/*
 * embedding: tokens (rows), table (vocabulary, width), positions (context, width) -> (rows, width).
 * Attribute: length, not above the context.
 * embedding_gradient: the gradient of the result, tokens, table, positions (both for their shape)
 * -> those of table and positions.
 */
#include <string.h>

#include "workloads/graph/operators.h"

static enum status shape(const struct graph *graph, const struct graph_node *node,
                         struct graph_shape *ret, struct error *err)
{
    const struct graph_value *tokens = graph_input(graph, node, 0);
    const struct graph_value *table = graph_input(graph, node, 1);
    const struct graph_value *positions = graph_input(graph, node, 2);

    TRY(graph_check_rank(graph, node, 1, 2, err));
    TRY(graph_check_rank(graph, node, 2, 2, err));
    if (graph_size(table, 1) != graph_size(positions, 1))
        return error_set(err, STATUS_INVALID, "a row of %s has %llu elements, one of %s %llu",
                         table->name, (unsigned long long)graph_size(table, 1), positions->name,
                         (unsigned long long)graph_size(positions, 1));
    if (node->attributes.length == 0 || node->attributes.length > graph_size(positions, 0))
        return error_set(err, STATUS_INVALID, "%s has %llu positions, a sequence %llu",
                         positions->name, (unsigned long long)graph_size(positions, 0),
                         (unsigned long long)node->attributes.length);
    ret[0] = (struct graph_shape){{tokens->count, graph_size(table, 1)}, 2};
    return STATUS_OK;
}

static enum status backward(struct graph *graph, struct graph_node node, struct error *err)
{
    const uint32_t in[] = {graph_gradient_of(graph, &node, 0), node.in[0], node.in[1], node.in[2]};

    return graph_add_gradient(graph, &graph_op_embedding_gradient, node.attributes, in, 4,
                              &node.in[1], err);
}

static enum status reference(const struct graph_step *step, struct error *err)
{
    const struct graph_value *y = &step->graph->values[step->node->out[0]];
    const uint64_t width = graph_size(y, 1), length = step->node->attributes.length;

    (void)err;
    for (uint64_t r = 0; r < graph_size(y, 0); r++) {
        const float *token = step->in[1].f32 + (uint64_t)step->in[0].i32[r] * width;
        const float *position = step->in[2].f32 + r % length * width;

        for (uint64_t i = 0; i < width; i++)
            step->out[0][r * width + i] = (double)token[i] + (double)position[i];
    }
    return STATUS_OK;
}

static enum status gradient_shape(const struct graph *graph, const struct graph_node *node,
                                  struct graph_shape *ret, struct error *err)
{
    (void)err;
    ret[0] = graph_input(graph, node, 2)->shape;
    ret[1] = graph_input(graph, node, 3)->shape;
    return STATUS_OK;
}

static enum status gradient(const struct graph_step *step, struct error *err)
{
    const struct graph_value *up = graph_input(step->graph, step->node, 0);
    const uint64_t width = graph_size(up, 1), length = step->node->attributes.length;

    (void)err;
    if (!step->adds)
        memset(step->out[0], 0,
               graph_input(step->graph, step->node, 2)->count * sizeof(*step->out[0]));
    memset(step->out[1], 0, graph_input(step->graph, step->node, 3)->count * sizeof(double));
    for (uint64_t r = 0; r < graph_size(up, 0); r++) {
        double *token = step->out[0] + (uint64_t)step->in[1].i32[r] * width;
        double *position = step->out[1] + r % length * width;

        for (uint64_t i = 0; i < width; i++) {
            token[i] += step->in[0].f64[r * width + i];
            position[i] += step->in[0].f64[r * width + i];
        }
    }
    return STATUS_OK;
}

const struct graph_op graph_op_embedding = {
    .name = "embedding",
    .formula = "table[token] + positions[position]",
    .in_least = 3,
    .in_most = 3,
    .outputs = 1,
    .shape = shape,
    .backward = backward,
    .reference = reference,
};

const struct graph_op graph_op_embedding_gradient = {
    .name = "embedding_gradient",
    .formula = "sums of dy over the rows of a token, and of a position",
    .in_least = 4,
    .in_most = 4,
    .outputs = 2,
    .shape = gradient_shape,
    .reference = gradient,
};
