/*
 * attention: q, k, v side by side (rows, 3*width) -> values (rows, width), and the probabilities
 * (sequences*heads, length, length). Causal. Attributes: heads, length.
 * attention_gradient: the gradient of the values, qkv, probabilities -> that of qkv, and the
 * scores' (scratch).
 */
#include "workloads/check/reference_math.h"
#include "workloads/graph/operators.h"

static enum status shape(const struct graph *graph, const struct graph_node *node,
                         struct graph_shape *ret, struct error *err)
{
    const struct graph_value *qkv = graph_input(graph, node, 0);
    const uint64_t heads = node->attributes.heads, length = node->attributes.length;

    TRY(graph_check_rank(graph, node, 0, 2, err));
    if (heads == 0 || graph_size(qkv, 1) % (3 * heads) != 0)
        return error_set(
            err, STATUS_INVALID, "a row of %s has %llu elements, no multiple of 3 times %llu heads",
            qkv->name, (unsigned long long)graph_size(qkv, 1), (unsigned long long)heads);
    if (length == 0 || graph_size(qkv, 0) % length != 0)
        return error_set(err, STATUS_INVALID, "%s has %llu rows, no multiple of %llu positions",
                         qkv->name, (unsigned long long)graph_size(qkv, 0),
                         (unsigned long long)length);
    ret[0] = (struct graph_shape){{graph_size(qkv, 0), graph_size(qkv, 1) / 3}, 2};
    ret[1] = (struct graph_shape){{graph_size(qkv, 0) / length * heads, length, length}, 3};
    return STATUS_OK;
}

static enum status backward(struct graph *graph, struct graph_node node, struct error *err)
{
    const uint32_t in[] = {graph_gradient_of(graph, &node, 0), node.in[0], node.out[1]};
    const uint32_t of[] = {node.in[0], GRAPH_NONE};

    return graph_add_gradient(graph, &graph_op_attention_gradient, node.attributes, in, 3, of, err);
}

/* Where the heads lie in an input of q, k and v. */
struct heads {
    uint64_t count, heads, size, width, length; /* of all sequences; of one; of one head ... */
};

static struct heads heads_of(const struct graph_step *step, size_t input)
{
    const struct graph_value *qkv = graph_input(step->graph, step->node, input);
    const uint64_t heads = step->node->attributes.heads, length = step->node->attributes.length;
    const uint64_t width = graph_size(qkv, 1) / 3;

    return (struct heads){graph_size(qkv, 0) / length * heads, heads, width / heads, width, length};
}

/* The first element of head `i` in rows of `columns`. */
static uint64_t place(const struct heads *heads, uint64_t i, uint64_t columns)
{
    return i / heads->heads * heads->length * columns + i % heads->heads * heads->size;
}

static struct reference_head head_at(const struct heads *heads, const double *qkv, uint64_t i)
{
    const double *q = qkv + place(heads, i, 3 * heads->width);

    return (struct reference_head){.q = q,
                                   .k = q + heads->width,
                                   .v = q + 2 * heads->width,
                                   .length = heads->length,
                                   .size = heads->size,
                                   .width = heads->width};
}

/* A head to a thread: the GEMMs inside are small. */
static enum status reference(const struct graph_step *step, struct error *err)
{
    const struct heads heads = heads_of(step, 0);
    const uint64_t square = heads.length * heads.length;
    bool failed = false;

#pragma omp parallel for schedule(static)                                                          \
    reduction(||                                                                                   \
              : failed) if (heads.count * square > GRAPH_WORTH_THREADS)
    for (uint64_t i = 0; i < heads.count; i++) {
        const enum status status =
            reference_head_forward(head_at(&heads, step->in[0].f64, i), step->out[1] + i * square,
                                   step->out[0] + place(&heads, i, heads.width), NULL);

        failed = failed || status != STATUS_OK;
    }
    return failed ? error_no_memory(err) : STATUS_OK;
}

static enum status gradient_shape(const struct graph *graph, const struct graph_node *node,
                                  struct graph_shape *ret, struct error *err)
{
    (void)err;
    ret[0] = graph_input(graph, node, 1)->shape;
    ret[1] = graph_input(graph, node, 2)->shape;
    return STATUS_OK;
}

static enum status gradient(const struct graph_step *step, struct error *err)
{
    const struct heads heads = heads_of(step, 1);
    const uint64_t square = heads.length * heads.length, width = heads.width;
    bool failed = false;

#pragma omp parallel for schedule(static)                                                          \
    reduction(||                                                                                   \
              : failed) if (heads.count * square > GRAPH_WORTH_THREADS)
    for (uint64_t i = 0; i < heads.count; i++) {
        double *dq = step->out[0] + place(&heads, i, 3 * width);
        const enum status status = reference_head_backward(
            head_at(&heads, step->in[1].f64, i), step->in[2].f64 + i * square,
            step->in[0].f64 + place(&heads, i, width), dq, dq + width, dq + 2 * width,
            step->out[1] + i * square, NULL);

        failed = failed || status != STATUS_OK;
    }
    return failed ? error_no_memory(err) : STATUS_OK;
}

const struct graph_op graph_op_attention = {
    .name = "attention",
    .formula = "softmax(q k^T / sqrt(size)) v of each head, over positions up to its own",
    .in_least = 1,
    .in_most = 1,
    .outputs = 2,
    .shape = shape,
    .backward = backward,
    .reference = reference,
};

const struct graph_op graph_op_attention_gradient = {
    .name = "attention_gradient",
    .formula = "dv = p^T dy; ds = p (dy v^T - sum(p dy v^T)); dq = ds k, dk = ds^T q, scaled",
    .in_least = 3,
    .in_most = 3,
    .outputs = 2,
    .shape = gradient_shape,
    .reference = gradient,
};
