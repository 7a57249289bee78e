/*
 * rope: q, k, v side by side, as attention takes them -> the same with rotated q and k: elements i
 * and i + size/2 of a head by position * rope^(-2 i / size) (Su et al. 2021, the halves as in
 * Llama). Attributes: heads, kv_heads, length, first, rope, inverse. Its gradient is the inverse.
 */
#include <math.h>
#include <stdlib.h>

#include "workloads/graph/operators.h"

static enum status shape(const struct graph *graph, const struct graph_node *node,
                         struct graph_shape *ret, struct error *err)
{
    const struct graph_value *x = graph_input(graph, node, 0);
    const uint64_t all = node->attributes.heads + 2 * node->attributes.kv_heads;

    TRY(graph_check_rank(graph, node, 0, 2, err));
    if (all == 0 || graph_size(x, 1) % (2 * all) != 0)
        return error_set(err, STATUS_INVALID,
                         "a row of %s has %llu elements, which are not %llu heads of an even size",
                         x->name, (unsigned long long)graph_size(x, 1), (unsigned long long)all);
    ret[0] = x->shape;
    return STATUS_OK;
}

static enum status backward(struct graph *graph, struct graph_node node, struct error *err)
{
    const uint32_t up = graph_gradient_of(graph, &node, 0);

    node.attributes.inverse = !node.attributes.inverse;
    return graph_add_gradient(graph, &graph_op_rope, node.attributes, &up, 1, node.in, err);
}

/* Adds to y where it holds what is added to. */
static void rotate(const double *x, double *y, uint64_t half, const double *turns, bool adds)
{
    for (uint64_t i = 0; i < half; i++) {
        const double a = x[i], b = x[half + i], c = turns[2 * i], s = turns[2 * i + 1];

        y[i] = (adds ? y[i] : 0.0) + a * c - b * s;
        y[half + i] = (adds ? y[half + i] : 0.0) + b * c + a * s;
    }
}

static void copy(const double *x, double *y, uint64_t count, bool adds)
{
    for (uint64_t i = 0; i < count; i++)
        y[i] = (adds ? y[i] : 0.0) + x[i];
}

/* Cosine and sine of the angles of a position. */
static void turns_at(const struct graph_attributes *attributes, uint64_t position, uint64_t half,
                     double *ret)
{
    const double sign = attributes->inverse ? -1.0 : 1.0;

    for (uint64_t i = 0; i < half; i++) {
        const double angle = (double)position * pow(attributes->rope, -(double)i / (double)half);

        ret[2 * i] = cos(angle);
        ret[2 * i + 1] = sign * sin(angle);
    }
}

static enum status reference(const struct graph_step *step, struct error *err)
{
    const struct graph_value *x = graph_input(step->graph, step->node, 0);
    const struct graph_attributes *attributes = &step->node->attributes;
    const uint64_t turned = attributes->heads + attributes->kv_heads, columns = graph_size(x, 1);
    const uint64_t size = columns / (turned + attributes->kv_heads);
    double *turns = malloc(size * sizeof(*turns));

    if (!turns)
        return error_no_memory(err);
    for (uint64_t r = 0; r < graph_size(x, 0); r++) {
        const double *in = step->in[0].f64 + r * columns;
        double *out = step->out[0] + r * columns;

        turns_at(attributes, attributes->first + r % attributes->length, size / 2, turns);
        for (uint64_t h = 0; h < turned; h++)
            rotate(in + h * size, out + h * size, size / 2, turns, step->adds);
        copy(in + turned * size, out + turned * size, columns - turned * size, step->adds);
    }
    free(turns);
    return STATUS_OK;
}

const struct graph_op graph_op_rope = {
    .name = "rope",
    .formula = "q and k turned by position * rope^(-2 i / size)",
    .in_least = 1,
    .in_most = 1,
    .outputs = 1,
    .in_place = true,
    .shape = shape,
    .backward = backward,
    .reference = reference,
};
