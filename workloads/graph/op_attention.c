/*
 * attention: q, k, v side by side (rows, (heads + 2 kv_heads) size) -> values (rows, heads size),
 * and the probabilities (sequences heads, length, length). Causal. heads / kv_heads heads of
 * queries share each of keys and values (Ainslie et al. 2023). Attributes: heads, kv_heads, length.
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
    TRY(graph_check_heads(graph, node, 0, err));
    if (length == 0 || graph_size(qkv, 0) % length != 0)
        return error_set(err, STATUS_INVALID, "%s has %llu rows, no multiple of %llu positions",
                         qkv->name, (unsigned long long)graph_size(qkv, 0),
                         (unsigned long long)length);
    ret[0] = (struct graph_shape){{graph_size(qkv, 0), graph_head_size(graph, node, 0) * heads}, 2};
    ret[1] = (struct graph_shape){{graph_size(qkv, 0) / length * heads, length, length}, 3};
    return STATUS_OK;
}

/* Two products of each unmasked pair, length (length + 1) / 2 of a head and sequence. */
static uint64_t flops(const struct graph *graph, const struct graph_node *node)
{
    const struct graph_value *values = &graph->values[node->out[0]];

    return graph_flops_of(values->count, node->attributes.length + 1, 1);
}

/* Four of them. */
static uint64_t gradient_flops(const struct graph *graph, const struct graph_node *node)
{
    const struct graph_value *up = graph_input(graph, node, 0);

    return graph_flops_of(up->count, node->attributes.length + 1, 2);
}

static enum status backward(struct graph *graph, struct graph_node node, struct error *err)
{
    const uint32_t in[] = {graph_gradient_of(graph, &node, 0), node.in[0], node.out[1]};
    const uint32_t of[] = {node.in[0], GRAPH_NONE};

    return graph_add_gradient(graph, &graph_op_attention_gradient, node.attributes, in, 3, of, err);
}

/* Where the heads lie in an input of q, k and v. */
struct heads {
    uint64_t sequences, heads, kv_heads, group, size, stride, width, length;
};

static struct heads heads_of(const struct graph_step *step, size_t input)
{
    const struct graph_value *qkv = graph_input(step->graph, step->node, input);
    const struct graph_attributes *attributes = &step->node->attributes;
    const uint64_t heads = attributes->heads, kv_heads = attributes->kv_heads;
    const uint64_t size = graph_head_size(step->graph, step->node, input);

    return (struct heads){.sequences = graph_size(qkv, 0) / attributes->length,
                          .heads = heads,
                          .kv_heads = kv_heads,
                          .group = heads / kv_heads,
                          .size = size,
                          .stride = graph_size(qkv, 1),
                          .width = heads * size,
                          .length = attributes->length};
}

/* Where head `i` of all sequences, and its keys and values, begin in rows of q, k and v. */
static struct head_place {
    uint64_t q, k, v, values, square;
} place(const struct heads *heads, uint64_t i)
{
    const uint64_t row = i / heads->heads * heads->length, head = i % heads->heads;
    const uint64_t first = row * heads->stride, kv = head / heads->group;

    return (struct head_place){
        .q = first + head * heads->size,
        .k = first + (heads->heads + kv) * heads->size,
        .v = first + (heads->heads + heads->kv_heads + kv) * heads->size,
        .values = row * heads->width + head * heads->size,
        .square = i * heads->length * heads->length,
    };
}

static struct reference_head head_at(const struct heads *heads, const double *qkv,
                                     struct head_place at)
{
    return (struct reference_head){.q = qkv + at.q,
                                   .k = qkv + at.k,
                                   .v = qkv + at.v,
                                   .length = heads->length,
                                   .size = heads->size,
                                   .stride = heads->stride,
                                   .width = heads->width};
}

static bool worth_threads(const struct heads *heads)
{
    return heads->sequences * heads->heads * heads->length * heads->length > GRAPH_WORTH_THREADS;
}

/* A head to a thread: the GEMMs inside are small. */
static enum status reference(const struct graph_step *step, struct error *err)
{
    const struct heads heads = heads_of(step, 0);
    bool failed = false;

#pragma omp parallel for schedule(static) reduction(|| : failed) if (worth_threads(&heads))
    for (uint64_t i = 0; i < heads.sequences * heads.heads; i++) {
        const struct head_place at = place(&heads, i);
        const enum status status =
            reference_head_forward(head_at(&heads, step->in[0].f64, at), step->out[1] + at.square,
                                   step->out[0] + at.values, NULL);

        failed = failed || status != STATUS_OK;
    }
    return failed ? error_no_memory(err) : STATUS_OK;
}

/* Heads that share keys and values to a thread, one after the other. */
static enum status gradient(const struct graph_step *step, struct error *err)
{
    const struct heads heads = heads_of(step, 1);
    double *dqkv = step->out[0];
    bool failed = false;

#pragma omp parallel for schedule(static) reduction(|| : failed) if (worth_threads(&heads))
    for (uint64_t group = 0; group < heads.sequences * heads.kv_heads; group++) {
        for (uint64_t i = group * heads.group; i < (group + 1) * heads.group; i++) {
            const struct head_place at = place(&heads, i);
            const enum status status = reference_head_backward(
                head_at(&heads, step->in[1].f64, at), step->in[2].f64 + at.square,
                step->in[0].f64 + at.values, dqkv + at.q, dqkv + at.k, dqkv + at.v,
                step->out[1] + at.square, i % heads.group > 0, NULL);

            failed = failed || status != STATUS_OK;
        }
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
    .flops = flops,
    .reference = reference,
};

const struct graph_op graph_op_attention_gradient = {
    .name = "attention_gradient",
    .formula = "dv = p^T dy; ds = p (dy v^T - sum(p dy v^T)); dq = ds k, dk = ds^T q, scaled",
    .in_least = 3,
    .in_most = 3,
    .outputs = 2,
    .shape = graph_shape_of_operands,
    .flops = gradient_flops,
    .reference = gradient,
};
