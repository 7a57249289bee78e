/* Operators that compute element by element, by rows, by products, or move elements. */
#include <math.h>
#include <string.h>

#include "workloads/models/reference_math.h"
#include "workloads/onnx/reference.h"

static double relu(double x)
{
    return x > 0.0 ? x : 0.0;
}

static double sigmoid(double x)
{
    return 1.0 / (1.0 + exp(-x));
}

static double negative(double x)
{
    return -x;
}

static double reciprocal(double x)
{
    return 1.0 / x;
}

static double same(double x)
{
    return x;
}

/* ---- two arrays, broadcast ---- */

/* Shape of both together; false: they do not fit. */
static bool broadcast(const struct onnx_array *a, const struct onnx_array *b, size_t *ret_rank,
                      uint64_t *ret)
{
    const size_t ra = a->rank, rb = b->rank, rank = ra > rb ? ra : rb;

    for (size_t i = 0; i < rank; i++) {
        const uint64_t x = i + ra < rank ? 1 : a->shape[i + ra - rank];
        const uint64_t y = i + rb < rank ? 1 : b->shape[i + rb - rank];

        if (x != y && x != 1 && y != 1)
            return false;
        ret[i] = x == 1 ? y : x;
    }
    *ret_rank = rank;
    return true;
}

/* Where element `index` of `shape` lies in an array of the first `rank` dimensions of `array`. */
static uint64_t place(const struct onnx_array *array, size_t own, const uint64_t *shape,
                      size_t rank, uint64_t index)
{
    uint64_t at = 0, stride = 1;

    for (size_t i = 0; i < own; i++) {
        const uint64_t side = array->shape[own - 1 - i], whole = shape[rank - 1 - i];

        at += side == 1 ? 0 : index % whole * stride;
        stride *= side;
        index /= whole;
    }
    return at;
}

enum pair { ADD, SUB, MUL, DIV, POW };

static enum status combine(struct onnx_step *step, enum pair pair)
{
    const struct onnx_array *a = step->in[0], *b = step->in[1];
    uint64_t shape[ONNX_RANK_MAX];
    size_t rank = 0;
    enum status status = broadcast(a, b, &rank, shape)
                             ? onnx_step_shape(step, rank, shape)
                             : onnx_step_fail(step, "the shapes of its inputs do not fit");

    for (uint64_t i = 0; i < step->out->elements && status == STATUS_OK; i++) {
        const double x = a->elements == step->out->elements
                             ? a->data[i]
                             : a->data[place(a, a->rank, shape, rank, i)];
        const double y = b->elements == step->out->elements
                             ? b->data[i]
                             : b->data[place(b, b->rank, shape, rank, i)];
        const double quotient = pair == DIV ? x / y : 0.0;

        step->out->data[i] = pair == ADD   ? x + y
                             : pair == SUB ? x - y
                             : pair == MUL ? x * y
                             : pair == POW ? pow(x, y)
                             : a->whole    ? trunc(quotient)
                                           : quotient;
    }
    return status;
}

static enum status add(struct onnx_step *step)
{
    return combine(step, ADD);
}

static enum status subtract(struct onnx_step *step)
{
    return combine(step, SUB);
}

static enum status multiply(struct onnx_step *step)
{
    return combine(step, MUL);
}

static enum status divide(struct onnx_step *step)
{
    return combine(step, DIV);
}

static enum status power(struct onnx_step *step)
{
    return combine(step, POW);
}

static enum status cast(struct onnx_step *step)
{
    const int64_t to = onnx_step_whole(step, "to", 0);
    enum status status = to == ONNX_FLOAT || to == ONNX_INT32 || to == ONNX_INT64
                             ? onnx_step_shape(step, step->in[0]->rank, step->in[0]->shape)
                             : onnx_step_fail(step, "the reference casts to f32, i32 and i64");

    step->out->whole = to != ONNX_FLOAT;
    for (uint64_t i = 0; i < step->out->elements && status == STATUS_OK; i++)
        step->out->data[i] = to == ONNX_FLOAT ? step->in[0]->data[i] : trunc(step->in[0]->data[i]);
    return status;
}

static enum status gelu(struct onnx_step *step)
{
    const struct onnx_attribute *form = onnx_node_attribute(step->node, "approximate");
    const bool tanh_form = form && !strcmp(form->word, "tanh");
    enum status status = onnx_step_shape(step, step->in[0]->rank, step->in[0]->shape);

    for (uint64_t i = 0; i < step->out->elements && status == STATUS_OK; i++) {
        const double x = step->in[0]->data[i];

        step->out->data[i] = tanh_form ? reference_gelu(x) : 0.5 * x * (1.0 + erf(x / sqrt(2.0)));
    }
    return status;
}

/* ---- along an axis ---- */

static void span_of(const struct onnx_array *array, size_t axis, uint64_t *outer, uint64_t *side,
                    uint64_t *inner)
{
    *outer = *inner = 1;
    for (size_t i = 0; i < axis; i++)
        *outer *= array->shape[i];
    *side = axis < array->rank ? array->shape[axis] : 1;
    for (size_t i = axis + 1; i < array->rank; i++)
        *inner *= array->shape[i];
}

static enum status softmax(struct onnx_step *step)
{
    uint64_t outer, side, inner;
    size_t axis;
    enum status status;

    if (!onnx_step_axis(step, -1, &axis))
        return onnx_step_fail(step, "its axis is beyond its input's dimensions");
    status = onnx_step_shape(step, step->in[0]->rank, step->in[0]->shape);
    span_of(step->in[0], axis, &outer, &side, &inner);
    for (uint64_t r = 0; r < outer * inner && status == STATUS_OK; r++) {
        const uint64_t first = r / inner * side * inner + r % inner;
        const double *x = step->in[0]->data + first;
        double *y = step->out->data + first, most = -INFINITY, sum = 0.0;

        for (uint64_t i = 0; i < side; i++)
            most = x[i * inner] > most ? x[i * inner] : most;
        for (uint64_t i = 0; i < side; i++)
            sum += y[i * inner] = exp(x[i * inner] - most);
        for (uint64_t i = 0; i < side; i++)
            y[i * inner] /= sum;
    }
    return status;
}

static enum status layer_norm(struct onnx_step *step)
{
    const struct onnx_array *in = step->in[0], *gain = step->in[1];
    const struct onnx_array *bias = step->count > 2 ? step->in[2] : NULL;
    const double epsilon = onnx_step_number(step, "epsilon", (double)1e-5f);
    uint64_t width = 1;
    size_t axis;
    enum status status;

    if (!onnx_step_axis(step, -1, &axis))
        return onnx_step_fail(step, "its axis is beyond its input's dimensions");
    for (size_t i = axis; i < in->rank; i++)
        width *= in->shape[i];
    if (gain->elements != width || (bias && bias->elements != width))
        return onnx_step_fail(step, "its gain or bias has another length than a row");
    status = onnx_step_shape(step, in->rank, in->shape);
    for (uint64_t r = 0; width && r < in->elements / width && status == STATUS_OK; r++) {
        const double *x = in->data + r * width;
        double mean = 0.0, variance = 0.0;

        for (uint64_t i = 0; i < width; i++)
            mean += x[i] / (double)width;
        for (uint64_t i = 0; i < width; i++)
            variance += (x[i] - mean) * (x[i] - mean) / (double)width;
        for (uint64_t i = 0; i < width; i++)
            step->out->data[r * width + i] =
                (x[i] - mean) / sqrt(variance + epsilon) * gain->data[i] +
                (bias ? bias->data[i] : 0.0);
    }
    return status;
}

static enum status reduce_mean(struct onnx_step *step)
{
    const struct onnx_attribute *list = onnx_node_attribute(step->node, "axes");
    const struct onnx_array *in = step->in[0], *axes = step->count > 1 ? step->in[1] : NULL;
    const size_t count = axes ? (size_t)axes->elements : list ? list->count : 0;
    const bool keep = onnx_step_whole(step, "keepdims", 1) != 0;
    uint64_t shape[ONNX_RANK_MAX], kept[ONNX_RANK_MAX];
    size_t rank = 0;
    enum status status;

    if (count == 0)
        return onnx_step_fail(step, "the reference needs its axes");
    memcpy(shape, in->shape, sizeof(shape));
    for (size_t i = 0; i < count; i++) {
        const int64_t given = axes ? (int64_t)axes->data[i] : list->list[i];
        const int64_t axis = given < 0 ? given + (int64_t)in->rank : given;

        if (axis < 0 || axis >= (int64_t)in->rank)
            return onnx_step_fail(step, "an axis is beyond its input's dimensions");
        shape[axis] = 1;
    }
    for (size_t i = 0; i < in->rank; i++)
        if (keep || shape[i] == in->shape[i])
            kept[rank++] = shape[i];
    status = onnx_step_shape(step, rank, kept);
    if (status == STATUS_OK) {
        struct onnx_array sums = *step->out;

        memcpy(sums.shape, shape, sizeof(shape));
        for (uint64_t i = 0; i < in->elements; i++)
            sums.data[place(&sums, in->rank, in->shape, in->rank, i)] +=
                in->data[i] * (double)sums.elements / (double)in->elements;
    }
    return status;
}

/* ---- products ---- */

static enum status matrix_product(struct onnx_step *step)
{
    const struct onnx_array *a = step->in[0], *b = step->in[1];
    uint64_t shape[ONNX_RANK_MAX + 2], m, n, k, products = 1;
    size_t rank = 0;
    enum status status;

    if (a->rank < 2 || b->rank < 2 || a->shape[a->rank - 1] != b->shape[b->rank - 2])
        return onnx_step_fail(step, "the shapes of its inputs do not fit");
    m = a->shape[a->rank - 2];
    k = a->shape[a->rank - 1];
    n = b->shape[b->rank - 1];
    /* All but the last two dimensions are broadcast. */
    {
        struct onnx_array of_a = *a, of_b = *b;

        of_a.rank -= 2;
        of_b.rank -= 2;
        if (!broadcast(&of_a, &of_b, &rank, shape))
            return onnx_step_fail(step, "the shapes of its inputs do not fit");
    }
    for (size_t i = 0; i < rank; i++)
        products *= shape[i];
    shape[rank] = m;
    shape[rank + 1] = n;
    status = onnx_step_shape(step, rank + 2, shape);
    for (uint64_t p = 0; p < products && status == STATUS_OK; p++) {
        const double *left = a->data + place(a, a->rank - 2, shape, rank, p) * m * k;
        const double *right = b->data + place(b, b->rank - 2, shape, rank, p) * k * n;

        status = reference_gemm(
            step->out->data + p * m * n, n, (struct reference_matrix){.f64 = left, .stride = k},
            (struct reference_matrix){.f64 = right, .stride = n}, m, n, k, false, step->err);
    }
    return status;
}

static enum status gemm(struct onnx_step *step)
{
    const struct onnx_array *a = step->in[0], *b = step->in[1];
    const struct onnx_array *c = step->count > 2 ? step->in[2] : NULL;
    const bool ta = onnx_step_whole(step, "transA", 0) != 0;
    const bool tb = onnx_step_whole(step, "transB", 0) != 0;
    const double alpha = onnx_step_number(step, "alpha", 1.0);
    const double beta = onnx_step_number(step, "beta", 1.0);
    uint64_t shape[2], together[ONNX_RANK_MAX], k;
    size_t rank = 0;
    enum status status;

    if (a->rank != 2 || b->rank != 2 || a->shape[ta ? 0 : 1] != b->shape[tb ? 1 : 0])
        return onnx_step_fail(step, "the shapes of its inputs do not fit");
    shape[0] = a->shape[ta ? 1 : 0];
    shape[1] = b->shape[tb ? 0 : 1];
    k = a->shape[ta ? 0 : 1];
    status = onnx_step_shape(step, 2, shape);
    if (status == STATUS_OK && c &&
        (!broadcast(step->out, c, &rank, together) || rank != 2 || together[0] != shape[0] ||
         together[1] != shape[1]))
        status = onnx_step_fail(step, "the shape of its third input does not fit");
    if (status == STATUS_OK)
        status = reference_gemm(
            step->out->data, shape[1],
            (struct reference_matrix){.f64 = a->data, .stride = a->shape[1], .transpose = ta},
            (struct reference_matrix){.f64 = b->data, .stride = b->shape[1], .transpose = tb},
            shape[0], shape[1], k, false, step->err);
    for (uint64_t i = 0; i < step->out->elements && status == STATUS_OK; i++)
        step->out->data[i] =
            alpha * step->out->data[i] + (c ? beta * c->data[place(c, c->rank, shape, 2, i)] : 0.0);
    return status;
}

/* ---- elements in other places ---- */

static enum status copy_as(struct onnx_step *step, size_t rank, const uint64_t *shape)
{
    enum status status = onnx_step_shape(step, rank, shape);

    if (status == STATUS_OK && step->out->elements != step->in[0]->elements)
        status = onnx_step_fail(step, "its shape has another number of elements");
    if (status == STATUS_OK)
        memcpy(step->out->data, step->in[0]->data, step->out->elements * sizeof(double));
    return status;
}

static enum status reshape(struct onnx_step *step)
{
    const struct onnx_array *in = step->in[0], *wanted = step->in[1];
    uint64_t shape[ONNX_RANK_MAX], known = 1;
    size_t open = ONNX_RANK_MAX;

    if (wanted->elements > ONNX_RANK_MAX || onnx_step_whole(step, "allowzero", 0))
        return onnx_step_fail(step, "the reference does not read such a shape");
    for (size_t i = 0; i < wanted->elements; i++) {
        const double side = wanted->data[i];

        if (side < -1.0 || side > 0x1p31 || (side == 0.0 && i >= in->rank) ||
            (side == -1.0 && open < ONNX_RANK_MAX))
            return onnx_step_fail(step, "its shape is none");
        open = side == -1.0 ? i : open;
        shape[i] = side == 0.0 ? in->shape[i] : side == -1.0 ? 1 : (uint64_t)side;
        if (shape[i] > 0 && known > ONNX_FILE_MAX / shape[i])
            return onnx_step_fail(step, "its shape is none");
        known *= shape[i];
    }
    if (open < ONNX_RANK_MAX)
        shape[open] = known ? in->elements / known : 0;
    return copy_as(step, (size_t)wanted->elements, shape);
}

static enum status flatten(struct onnx_step *step)
{
    uint64_t shape[2] = {1, 1};
    const int64_t given = onnx_step_whole(step, "axis", 1), rank = (int64_t)step->in[0]->rank;
    const int64_t axis = given < 0 ? given + rank : given;

    if (axis < 0 || axis > rank)
        return onnx_step_fail(step, "its axis is beyond its input's dimensions");
    for (int64_t i = 0; i < rank; i++)
        shape[i >= axis] *= step->in[0]->shape[i];
    return copy_as(step, 2, shape);
}

static enum status transpose(struct onnx_step *step)
{
    const struct onnx_array *in = step->in[0];
    const struct onnx_attribute *order = onnx_node_attribute(step->node, "perm");
    uint64_t shape[ONNX_RANK_MAX], stride[ONNX_RANK_MAX], strides[ONNX_RANK_MAX];
    unsigned seen = 0;
    enum status status;

    if (order && order->count != in->rank)
        return onnx_step_fail(step, "its order has another number of dimensions");
    for (size_t i = in->rank, step_by = 1; i-- > 0; step_by *= in->shape[i])
        stride[i] = step_by;
    for (size_t i = 0; i < in->rank; i++) {
        const int64_t from = order ? order->list[i] : (int64_t)(in->rank - 1 - i);

        if (from < 0 || from >= (int64_t)in->rank || seen & 1u << from)
            return onnx_step_fail(step, "its order is none");
        seen |= 1u << from;
        shape[i] = in->shape[from];
        strides[i] = stride[from];
    }
    status = onnx_step_shape(step, in->rank, shape);
    for (uint64_t i = 0; i < in->elements && status == STATUS_OK; i++) {
        uint64_t rest = i, at = 0;

        for (size_t d = in->rank; d-- > 0; rest /= shape[d])
            at += rest % shape[d] * strides[d];
        step->out->data[i] = in->data[at];
    }
    return status;
}

static enum status gather(struct onnx_step *step)
{
    const struct onnx_array *in = step->in[0], *indices = step->in[1];
    uint64_t shape[2 * ONNX_RANK_MAX], outer, side, inner;
    size_t axis, rank = 0;
    enum status status;

    if (!onnx_step_axis(step, 0, &axis))
        return onnx_step_fail(step, "its axis is beyond its input's dimensions");
    for (size_t i = 0; i < axis; i++)
        shape[rank++] = in->shape[i];
    for (size_t i = 0; i < indices->rank; i++)
        shape[rank++] = indices->shape[i];
    for (size_t i = axis + 1; i < in->rank; i++)
        shape[rank++] = in->shape[i];
    span_of(in, axis, &outer, &side, &inner);
    status = onnx_step_shape(step, rank, shape);
    for (uint64_t o = 0; o < outer && status == STATUS_OK; o++)
        for (uint64_t i = 0; i < indices->elements && status == STATUS_OK; i++) {
            const double given = indices->data[i];
            const double index = given < 0.0 ? given + (double)side : given;

            if (!(index >= 0.0 && index < (double)side))
                status = onnx_step_fail(step, "an index is beyond the axis");
            else
                memcpy(step->out->data + (o * indices->elements + i) * inner,
                       in->data + (o * side + (uint64_t)index) * inner, inner * sizeof(double));
        }
    return status;
}

const struct onnx_operator onnx_operators[] = {
    {"Relu", 1, 1, NULL, relu},
    {"Tanh", 1, 1, NULL, tanh},
    {"Sigmoid", 1, 1, NULL, sigmoid},
    {"Erf", 1, 1, NULL, erf},
    {"Sqrt", 1, 1, NULL, sqrt},
    {"Exp", 1, 1, NULL, exp},
    {"Neg", 1, 1, NULL, negative},
    {"Reciprocal", 1, 1, NULL, reciprocal},
    {"Identity", 1, 1, NULL, same},
    {"Gelu", 1, 1, gelu, NULL},
    {"Cast", 1, 1, cast, NULL},
    {"Add", 2, 2, add, NULL},
    {"Sub", 2, 2, subtract, NULL},
    {"Mul", 2, 2, multiply, NULL},
    {"Div", 2, 2, divide, NULL},
    {"Pow", 2, 2, power, NULL},
    {"Softmax", 1, 1, softmax, NULL},
    {"LayerNormalization", 2, 3, layer_norm, NULL},
    {"ReduceMean", 1, 2, reduce_mean, NULL},
    {"MatMul", 2, 2, matrix_product, NULL},
    {"Gemm", 2, 3, gemm, NULL},
    {"Reshape", 2, 2, reshape, NULL},
    {"Flatten", 1, 1, flatten, NULL},
    {"Transpose", 1, 1, transpose, NULL},
    {"Gather", 2, 2, gather, NULL},
    {0},
};
