#include "backends/cuda/attention_graph.h"

#include <float.h>
#include <math.h>

/* The tensors of one graph are made by these, from the shape. */
struct builder {
    struct cudnn_graph *graph;
    const struct attention_shape *shape;
    unsigned type; /* of the operands */
};

static struct builder builder_of(struct cudnn_graph *graph, const struct attention_shape *shape)
{
    const unsigned type = shape->precision == PRECISION_BF16 ? DNN_BFLOAT16 : DNN_HALF;

    return (struct builder){graph, shape, type};
}

static int64_t stride_of(uint64_t stride, uint64_t count, int64_t otherwise)
{
    return count > 1 ? (int64_t)stride : otherwise; /* a dimension of 1 is never stepped along */
}

/* An array of the caller's as (batch, head, length, head_size), or with the last two exchanged. */
static void *array(const struct builder *b, int64_t id, const struct attention_strides *strides,
                   bool transposed)
{
    const struct attention_shape *s = b->shape;
    const int64_t row = stride_of(strides->row, s->length, (int64_t)s->head_size);
    const int64_t head = stride_of(strides->head, s->heads, (int64_t)s->length * row);
    const struct cudnn_tensor tensor = {
        .id = id,
        .type = b->type,
        .dimensions = {(int64_t)s->batch, (int64_t)s->heads,
                       (int64_t)(transposed ? s->head_size : s->length),
                       (int64_t)(transposed ? s->length : s->head_size)},
        .strides = {stride_of(strides->batch, s->batch, (int64_t)s->heads * head), head,
                    transposed ? 1 : row, transposed ? row : 1},
    };

    return cudnn_graph_tensor(b->graph, &tensor);
}

/* One value a row. */
static void *rows(const struct builder *b, int64_t id)
{
    const int64_t heads = (int64_t)b->shape->heads, length = (int64_t)b->shape->length;
    const struct cudnn_tensor tensor = {.id = id,
                                        .type = DNN_FLOAT,
                                        .dimensions = {(int64_t)b->shape->batch, heads, length, 1},
                                        .strides = {heads * length, length, 1, 1}};

    return cudnn_graph_tensor(b->graph, &tensor);
}

/* Virtual, (length, length) a head; `turned`: the same memory, columns first. */
static void *square(const struct builder *b, unsigned type, bool turned)
{
    const int64_t heads = (int64_t)b->shape->heads, length = (int64_t)b->shape->length;
    const struct cudnn_tensor tensor = {
        .type = type,
        .dimensions = {(int64_t)b->shape->batch, heads, length, length},
        .strides = {heads * length * length, length * length, turned ? 1 : length,
                    turned ? length : 1}};

    return cudnn_graph_tensor(b->graph, &tensor);
}

/* (length, head_size) a head, f32, without gaps. */
static void *wide(const struct builder *b, int64_t id)
{
    const int64_t heads = (int64_t)b->shape->heads, length = (int64_t)b->shape->length;
    const int64_t size = (int64_t)b->shape->head_size;
    const struct cudnn_tensor tensor = {
        .id = id,
        .type = DNN_FLOAT,
        .dimensions = {(int64_t)b->shape->batch, heads, length, size},
        .strides = {heads * length * size, length * size, size, 1}};

    return cudnn_graph_tensor(b->graph, &tensor);
}

static void *scalar(const struct builder *b, int64_t id)
{
    const struct cudnn_tensor tensor = {.id = id,
                                        .type = DNN_FLOAT,
                                        .dimensions = {1, 1, 1, 1},
                                        .strides = {1, 1, 1, 1},
                                        .by_value = true};

    return cudnn_graph_tensor(b->graph, &tensor);
}

/* y = mode(x, with); y is given back. */
static void *apply(const struct builder *b, unsigned mode, void *x, void *with, void *y)
{
    cudnn_graph_pointwise(b->graph, mode, DNN_FLOAT, x, with, NULL, y);
    return y;
}

static void *gemm(const struct builder *b, void *left, void *right, void *result)
{
    cudnn_graph_matmul(b->graph, left, right, result);
    return result;
}

static void *reduced(const struct builder *b, unsigned how, void *x, void *y)
{
    cudnn_graph_reduce(b->graph, how, x, y);
    return y;
}

static void *reshaped(const struct builder *b, void *x, void *y)
{
    cudnn_graph_reshape(b->graph, x, y);
    return y;
}

/* Scores in columns beyond their row's number are replaced by the mask's value. */
static void *masked(const struct builder *b, void *scores)
{
    void *row, *column, *kept, *result;

    if (!b->shape->causal)
        return scores;
    row = square(b, DNN_INT32, false);
    cudnn_graph_index(b->graph, 2, scores, row);
    column = square(b, DNN_INT32, false);
    cudnn_graph_index(b->graph, 3, scores, column);
    kept = square(b, DNN_BOOLEAN, false);
    cudnn_graph_pointwise(b->graph, DNN_CMP_GE, DNN_BOOLEAN, row, column, NULL, kept);
    result = square(b, DNN_FLOAT, false);
    cudnn_graph_pointwise(b->graph, DNN_BINARY_SELECT, DNN_FLOAT, scores,
                          scalar(b, ATTENTION_MASKED), kept, result);
    return result;
}

void cuda_attention_graph_forward(struct cudnn_graph *graph, const struct attention_shape *shape)
{
    const struct builder builder = builder_of(graph, shape), *const b = &builder;
    void *const q = array(b, ATTENTION_Q, &shape->q, false);
    void *const k = array(b, ATTENTION_K, &shape->k, true);
    void *const v = array(b, ATTENTION_V, &shape->v, false);
    void *scores = gemm(b, q, k, square(b, DNN_FLOAT, false));
    void *top, *powers, *sum, *p;

    scores = apply(b, DNN_MUL, scores, scalar(b, ATTENTION_SCALE), square(b, DNN_FLOAT, false));
    scores = masked(b, scores);
    top = reduced(b, DNN_REDUCE_MAX, scores, rows(b, 0));
    powers = apply(b, DNN_SUB, scores, top, square(b, DNN_FLOAT, false));
    powers = apply(b, DNN_EXP, powers, NULL, square(b, DNN_FLOAT, false));
    sum = reduced(b, DNN_REDUCE_ADD, powers, rows(b, 0));
    if (shape->training)
        apply(b, DNN_ADD, top, apply(b, DNN_LOG, sum, NULL, rows(b, 0)),
              rows(b, ATTENTION_STATISTICS));
    p = apply(b, DNN_DIV, powers, sum, square(b, b->type, false));
    gemm(b, p, v, array(b, ATTENTION_O, &shape->o, false));
}

/* P again, from the scores and the statistics. */
static void *probabilities(const struct builder *b, void *q, void *k, void *scale)
{
    void *scores = gemm(b, q, k, square(b, DNN_FLOAT, false));

    scores = apply(b, DNN_MUL, scores, scale, square(b, DNN_FLOAT, false));
    scores = apply(b, DNN_SUB, scores, rows(b, ATTENTION_STATISTICS), square(b, DNN_FLOAT, false));
    return apply(b, DNN_EXP, masked(b, scores), NULL, square(b, DNN_FLOAT, false));
}

void cuda_attention_graph_backward(struct cudnn_graph *graph, const struct attention_shape *shape)
{
    const struct builder builder = builder_of(graph, shape), *const b = &builder;
    void *const q = array(b, ATTENTION_Q, &shape->q, false);
    void *const k = array(b, ATTENTION_K, &shape->k, true);
    void *const v = array(b, ATTENTION_V, &shape->v, true);
    void *const o = array(b, ATTENTION_O, &shape->o, false);
    void *const d_o = array(b, ATTENTION_D_O, &shape->o, false);
    void *const scale = scalar(b, ATTENTION_SCALE);
    void *sums = apply(b, DNN_MUL, d_o, o, wide(b, 0)), *p, *ds, *plain_k;

    sums = reduced(b, DNN_REDUCE_ADD, sums, rows(b, 0));
    sums = apply(b, DNN_MUL, sums, scalar(b, ATTENTION_ONE), rows(b, ATTENTION_ROW_SUMS));
    p = probabilities(b, q, k, scale);
    gemm(b, reshaped(b, p, square(b, b->type, true)), d_o,
         array(b, ATTENTION_D_V, &shape->v, false));

    ds = gemm(b, d_o, v, square(b, DNN_FLOAT, false));
    ds = apply(b, DNN_SUB, ds, sums, square(b, DNN_FLOAT, false));
    ds = apply(b, DNN_MUL, ds, p, square(b, DNN_FLOAT, false));
    ds = apply(b, DNN_MUL, ds, scale, square(b, DNN_FLOAT, false));
    gemm(b, reshaped(b, ds, square(b, b->type, true)), q,
         array(b, ATTENTION_D_K, &shape->k, false));

    plain_k = reshaped(b, k, array(b, 0, &shape->k, false));
    sums = gemm(b, ds, plain_k, wide(b, ATTENTION_D_Q_SUMS));
    apply(b, DNN_IDENTITY, sums, NULL, array(b, ATTENTION_D_Q, &shape->q, false));
}

float cuda_attention_masked(size_t version)
{
    return version < 91000 ? -FLT_MAX : -INFINITY;
}

enum status cuda_attention_check(const struct attention_shape *shape, size_t version,
                                 struct error *err)
{
    if (shape->precision != PRECISION_BF16 && shape->precision != PRECISION_FP16)
        return error_set(err, STATUS_UNSUPPORTED,
                         "cuDNN has attention in bf16 and fp16 (and fp8 with scales), not in %s",
                         precision_name(shape->precision));
    if (version < 90000)
        return error_set(err, STATUS_UNSUPPORTED,
                         "cuDNN %zu composes attention in another way: 9.0 or later is needed",
                         version);
    if (version == 91000 || version == 91001)
        return error_set(err, STATUS_UNSUPPORTED,
                         "cuDNN 9.10.0 and 9.10.1 have known faults in attention: take 9.10.2");
    if ((shape->keys != 0 && shape->keys != shape->length) || shape->lengths || shape->page != 0)
        return error_set(err, STATUS_UNSUPPORTED,
                         "cuDNN is not asked for attention over a cache of keys");
    if (!shape->training)
        return STATUS_OK;
    if (shape->length == 1)
        return error_set(err, STATUS_UNSUPPORTED,
                         "cuDNN has no backward attention over a single position");
    if (version < 90600)
        return error_set(err, STATUS_UNSUPPORTED,
                         "cuDNN before 9.6 wants its sums of dQ cleared for each backward pass");
    if (version <= 91500 && shape->length % 128 != 0)
        return error_set(err, STATUS_UNSUPPORTED,
                         "cuDNN up to 9.15.0 takes a length that is no multiple of 128 backward "
                         "only with a padding mask");
    return STATUS_OK;
}
