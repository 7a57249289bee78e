/*
 * head_norm: q, k, v side by side, as attention takes them, gains of q and of k (size each) -> the
 * same with the heads of q and k normed as rms_norm does rows (Qwen3), and their reciprocal root
 * mean squares (rows, heads + kv_heads). Attributes: heads, kv_heads, epsilon. head_norm_gradient:
 * the gradient of the result, qkv, both gains, reciprocals -> those of qkv and the gains.
 */
#include <stdlib.h>
#include <string.h>

#include "workloads/check/reference_math.h"
#include "workloads/graph/operators.h"

static enum status shape(const struct graph *graph, const struct graph_node *node,
                         struct graph_shape *ret, struct error *err)
{
    const struct graph_value *x = graph_input(graph, node, 0);
    const uint64_t normed = node->attributes.heads + node->attributes.kv_heads;

    TRY(graph_check_rank(graph, node, 0, 2, err));
    TRY(graph_check_heads(graph, node, 0, err));
    for (size_t i = 1; i < 3; i++) {
        const struct graph_value *gain = graph_input(graph, node, i);

        if (gain->count != graph_head_size(graph, node, 0))
            return error_set(err, STATUS_INVALID, "%s has %llu elements, a head of %s %llu",
                             gain->name, (unsigned long long)gain->count, x->name,
                             (unsigned long long)graph_head_size(graph, node, 0));
    }
    ret[0] = x->shape;
    ret[1] = (struct graph_shape){{graph_size(x, 0), normed}, 2};
    return STATUS_OK;
}

static enum status backward(struct graph *graph, struct graph_node node, struct error *err)
{
    const uint32_t in[] = {graph_gradient_of(graph, &node, 0), node.in[0], node.in[1], node.in[2],
                           node.out[1]};

    return graph_add_gradient(graph, &graph_op_head_norm_gradient, node.attributes, in, 5, node.in,
                              err);
}

/* Of a row: the heads of q, then those of k, then v as it is. */
struct layout {
    uint64_t rows, columns, size, heads, kv_heads;
};

static struct layout layout_of(const struct graph_step *step, size_t input)
{
    const struct graph_value *x = graph_input(step->graph, step->node, input);
    const uint64_t heads = step->node->attributes.heads, kv = step->node->attributes.kv_heads;

    return (struct layout){graph_size(x, 0), graph_size(x, 1),
                           graph_head_size(step->graph, step->node, input), heads, kv};
}

static enum status reference(const struct graph_step *step, struct error *err)
{
    const struct layout at = layout_of(step, 0);
    const double epsilon = step->node->attributes.epsilon;
    const uint64_t keys = at.heads * at.size, values = keys + at.kv_heads * at.size;

    (void)err;
    for (uint64_t r = 0; r < at.rows; r++) {
        const double *x = step->in[0].f64 + r * at.columns;
        double *y = step->out[0] + r * at.columns;
        double *rstd = step->out[1] + r * (at.heads + at.kv_heads);

        reference_rms_forward(x, step->in[1].f32, y, rstd, at.heads, at.size, epsilon);
        reference_rms_forward(x + keys, step->in[2].f32, y + keys, rstd + at.heads, at.kv_heads,
                              at.size, epsilon);
        memcpy(y + values, x + values, at.kv_heads * at.size * sizeof(*y));
    }
    return STATUS_OK;
}

/* `heads` heads of a row from element `first` on, which have gain `input`; `part`: its size. */
static void part_gradient(const struct graph_step *step, const struct layout *at, uint64_t row,
                          bool keys, double *part)
{
    const uint64_t first = row * at->columns + (keys ? at->heads * at->size : 0);
    const uint64_t heads = keys ? at->kv_heads : at->heads;
    const double *rstd =
        step->in[4].f64 + row * (at->heads + at->kv_heads) + (keys ? at->heads : 0);
    double *dgain = step->out[keys ? 2 : 1];

    reference_rms_backward(step->in[1].f64 + first, step->in[keys ? 3 : 2].f32, rstd,
                           step->in[0].f64 + first, step->out[0] + first, part, heads, at->size);
    for (uint64_t i = 0; i < at->size; i++)
        dgain[i] += part[i];
}

static enum status gradient(const struct graph_step *step, struct error *err)
{
    const struct layout at = layout_of(step, 1);
    const uint64_t values = (at.heads + at.kv_heads) * at.size;
    double *part = malloc(at.size * sizeof(*part));

    if (!part)
        return error_no_memory(err);
    if (!step->adds)
        memset(step->out[0], 0, at.rows * at.columns * sizeof(double));
    memset(step->out[1], 0, at.size * sizeof(double));
    memset(step->out[2], 0, at.size * sizeof(double));
    for (uint64_t r = 0; r < at.rows; r++) {
        part_gradient(step, &at, r, false, part);
        part_gradient(step, &at, r, true, part);
        for (uint64_t i = r * at.columns + values; i < (r + 1) * at.columns; i++)
            step->out[0][i] += step->in[0].f64[i];
    }
    free(part);
    return STATUS_OK;
}

const struct graph_op graph_op_head_norm = {
    .name = "head_norm",
    .formula = "x / sqrt(mean(x^2) + epsilon) gain, by heads of q and k",
    .in_least = 3,
    .in_most = 3,
    .outputs = 2,
    .shape = shape,
    .backward = backward,
    .reference = reference,
};

const struct graph_op graph_op_head_norm_gradient = {
    .name = "head_norm_gradient",
    .formula = "as rms_norm_gradient, by heads of q and k",
    .in_least = 5,
    .in_most = 5,
    .outputs = 3,
    .shape = graph_shape_of_operands,
    .reference = gradient,
};
