/*
 * embedding: tokens (rows), table (vocabulary, width), positions (context, width; may be left out)
 * -> (rows, width). Attributes: length and first, together not above the context; the gradients
 * take first as 0.
 * embedding_gradient: the gradient of the result, tokens, table (for its shape) -> that of table.
 * position_gradient: the same, positions (for their shape) -> theirs.
 */
#include <string.h>

#include "workloads/graph/operators.h"

static enum status shape(const struct graph *graph, const struct graph_node *node,
                         struct graph_shape *ret, struct error *err)
{
    const struct graph_value *tokens = graph_input(graph, node, 0);
    const struct graph_value *table = graph_input(graph, node, 1);
    const struct graph_value *positions;

    TRY(graph_check_rank(graph, node, 1, 2, err));
    ret[0] = (struct graph_shape){{tokens->count, graph_size(table, 1)}, 2};
    if (node->in_count < 3)
        return STATUS_OK;
    TRY(graph_check_rank(graph, node, 2, 2, err));
    positions = graph_input(graph, node, 2);
    if (graph_size(table, 1) != graph_size(positions, 1))
        return error_set(err, STATUS_INVALID, "a row of %s has %llu elements, one of %s %llu",
                         table->name, (unsigned long long)graph_size(table, 1), positions->name,
                         (unsigned long long)graph_size(positions, 1));
    if (node->attributes.length == 0 ||
        node->attributes.first + node->attributes.length > graph_size(positions, 0))
        return error_set(err, STATUS_INVALID, "%s has %llu positions, a sequence %llu",
                         positions->name, (unsigned long long)graph_size(positions, 0),
                         (unsigned long long)(node->attributes.first + node->attributes.length));
    return STATUS_OK;
}

static enum status backward(struct graph *graph, struct graph_node node, struct error *err)
{
    const uint32_t up = graph_gradient_of(graph, &node, 0);
    const uint32_t table[] = {up, node.in[0], node.in[1]}, positions[] = {up, node.in[2]};

    TRY(graph_add_gradient(graph, &graph_op_embedding_gradient, node.attributes, table, 3,
                           &node.in[1], err));
    if (node.in_count < 3)
        return STATUS_OK;
    return graph_add_gradient(graph, &graph_op_position_gradient, node.attributes, positions, 2,
                              &node.in[2], err);
}

static enum status reference(const struct graph_step *step, struct error *err)
{
    const struct graph_value *y = &step->graph->values[step->node->out[0]];
    const uint64_t width = graph_size(y, 1), length = step->node->attributes.length;
    const uint64_t first = step->node->attributes.first;

    (void)err;
    for (uint64_t r = 0; r < graph_size(y, 0); r++) {
        const float *token = step->in[1].f32 + (uint64_t)step->in[0].i32[r] * width;
        const float *position =
            step->node->in_count > 2 ? step->in[2].f32 + (first + r % length) * width : NULL;

        for (uint64_t i = 0; i < width; i++)
            step->out[0][r * width + i] = (double)token[i] + (position ? (double)position[i] : 0.0);
    }
    return STATUS_OK;
}

/* Of the input whose gradient it is, the last one. */
static enum status gradient_shape(const struct graph *graph, const struct graph_node *node,
                                  struct graph_shape *ret, struct error *err)
{
    (void)err;
    ret[0] = graph_input(graph, node, node->in_count - 1)->shape;
    return STATUS_OK;
}

/* Rows of the result go to rows of the table, by `row_of` where it is not NULL, else by position.
 */
static enum status scatter(const struct graph_step *step, const int32_t *row_of)
{
    const struct graph_value *up = graph_input(step->graph, step->node, 0);
    const uint64_t width = graph_size(up, 1), length = step->node->attributes.length;
    const uint64_t count = step->graph->values[step->node->out[0]].count;

    if (!step->adds)
        memset(step->out[0], 0, count * sizeof(double));
    for (uint64_t r = 0; r < graph_size(up, 0); r++) {
        double *row = step->out[0] + (row_of ? (uint64_t)row_of[r] : r % length) * width;

        for (uint64_t i = 0; i < width; i++)
            row[i] += step->in[0].f64[r * width + i];
    }
    return STATUS_OK;
}

static enum status gradient(const struct graph_step *step, struct error *err)
{
    (void)err;
    return scatter(step, step->in[1].i32);
}

static enum status position_gradient(const struct graph_step *step, struct error *err)
{
    (void)err;
    return scatter(step, NULL);
}

const struct graph_op graph_op_embedding = {
    .name = "embedding",
    .formula = "table[token], and positions[position] where they are embedded",
    .in_least = 2,
    .in_most = 3,
    .outputs = 1,
    .shape = shape,
    .backward = backward,
    .reference = reference,
};

const struct graph_op graph_op_embedding_gradient = {
    .name = "embedding_gradient",
    .formula = "sums of dy over the rows of a token",
    .in_least = 3,
    .in_most = 3,
    .outputs = 1,
    .shape = gradient_shape,
    .reference = gradient,
};

const struct graph_op graph_op_position_gradient = {
    .name = "position_gradient",
    .formula = "sums of dy over the rows of a position",
    .in_least = 2,
    .in_most = 2,
    .outputs = 1,
    .shape = gradient_shape,
    .reference = position_gradient,
};
