/* Operators that compute element by element, by rows, or by products. */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "workloads/check/reference_math.h"
#include "workloads/onnx/reference.h"

/* The formulas of one element, of two, and of one and two numbers. */
#define OF_ONE(name, formula)                                                                      \
    static double name(double x)                                                                   \
    {                                                                                              \
        return formula;                                                                            \
    }
#define OF_TWO(name, formula)                                                                      \
    static double name(double x, double y)                                                         \
    {                                                                                              \
        return formula;                                                                            \
    }
#define OF_WITH(name, formula)                                                                     \
    static double name(double x, double a, double b)                                               \
    {                                                                                              \
        return formula;                                                                            \
    }
/* clang-format off */
OF_ONE(relu, x > 0.0 ? x : 0.0)
OF_ONE(sigmoid, 1.0 / (1.0 + exp(-x)))
OF_ONE(softplus, x > 0.0 ? x + log1p(exp(-x)) : log1p(exp(x)))
OF_ONE(hard_swish, x * fmax(0.0, fmin(1.0, x / 6.0 + 0.5)))
OF_ONE(negative, -x)
OF_ONE(reciprocal, 1.0 / x)
OF_ONE(same, x)
OF_ONE(is_not, x == 0.0)
OF_ONE(is_true, x != 0.0)
OF_ONE(exact_gelu, 0.5 * x * (1.0 + erf(x / sqrt(2.0))))
OF_TWO(plus, x + y)
OF_TWO(minus, x - y)
OF_TWO(times, x * y)
OF_TWO(both, x != 0.0 && y != 0.0)
OF_TWO(either, x != 0.0 || y != 0.0)
OF_TWO(over, x / y)
OF_TWO(over_whole, trunc(x / y))
OF_TWO(equal, x == y)
OF_TWO(greater, x > y)
OF_TWO(less, x < y)
OF_TWO(greater_or_equal, x >= y)
OF_TWO(less_or_equal, x <= y)
OF_WITH(clipped, x < a ? fmin(a, b) : x > b ? b : x)
OF_WITH(hard, fmax(0.0, fmin(1.0, a * x + b)))
OF_WITH(leaky, x < b ? a * x : x)
/* clang-format on */

/* ---- two arrays or more, broadcast ---- */

static enum status divide(struct onnx_step *step)
{
    return onnx_step_fold(step, step->in[0]->whole ? over_whole : over);
}

/* x where the first input is true, y where it is not; all three are broadcast. */
static enum status where(struct onnx_step *step)
{
    step->out->whole = step->in[1]->whole;
    TRY(onnx_step_together(step));
    for (uint64_t i = 0; i < step->out->elements; i++)
        step->out->data[i] = onnx_step_at(step, onnx_step_at(step, 0, i) != 0.0 ? 1 : 2, i);
    return STATUS_OK;
}

/* ---- with attributes ---- */

/* Bounds are attributes before version 11 and inputs from then on, each of which may be missing. */
static enum status clip(struct onnx_step *step)
{
    double bounds[2] = {onnx_step_number(step, "min", -INFINITY),
                        onnx_step_number(step, "max", INFINITY)};

    for (size_t i = 0; i < 2; i++) {
        const struct onnx_array *given = onnx_step_input(step, i + 1);

        if (given && given->elements != 1)
            return onnx_step_fail(step, "a bound of it is not one number");
        if (given && given->data)
            bounds[i] = given->data[0];
    }
    return onnx_step_map_with(step, clipped, bounds[0], bounds[1]);
}

static enum status hard_sigmoid(struct onnx_step *step)
{
    return onnx_step_map_with(step, hard, onnx_step_number(step, "alpha", (double)0.2f),
                              onnx_step_number(step, "beta", 0.5));
}

static enum status leaky_relu(struct onnx_step *step)
{
    return onnx_step_map_with(step, leaky, onnx_step_number(step, "alpha", (double)0.01f), 0.0);
}

/* In inference it copies; its mask, all true, is what nobody asks for then. */
static enum status dropout(struct onnx_step *step)
{
    const struct onnx_array *training = onnx_step_input(step, 2);
    double value[1] = {0.0};
    size_t count;

    TRY(training ? onnx_step_numbers(step, 2, value, 1, &count) : STATUS_OK);
    if (value[0] != 0.0)
        return onnx_step_fail(step, "it drops values at random, as in training");
    return onnx_step_map(step, same);
}

static enum status cast(struct onnx_step *step)
{
    const int64_t to = onnx_step_whole(step, "to", 0);
    const bool real = to == ONNX_FLOAT || to == ONNX_DOUBLE;

    if (!real && to != ONNX_INT32 && to != ONNX_INT64 && to != ONNX_BOOL)
        return onnx_step_fail(step, "the reference in fp64 casts to f32, f64, i32, i64 and bool");
    step->out->whole = !real;
    return onnx_step_map(step, real ? same : to == ONNX_BOOL ? is_true : trunc);
}

static enum status gelu(struct onnx_step *step)
{
    const bool tanh_form = !strcmp(onnx_step_word(step, "approximate", "none"), "tanh");

    return onnx_step_map(step, tanh_form ? reference_gelu : exact_gelu);
}

/* ---- along an axis ---- */

/* Before version 13 all dimensions from the axis on, which is the second, are one row. */
static enum status softmax(struct onnx_step *step)
{
    const bool rows = step->version < 13;
    uint64_t outer, side, inner;
    size_t axis;
    enum status status;

    TRY(onnx_step_axis(step, rows ? 1 : -1, &axis));
    status = onnx_step_shape(step, step->in[0]->rank, step->in[0]->shape);
    onnx_span(step->in[0], axis, &outer, &side, &inner);
    if (rows) {
        side *= inner;
        inner = 1;
    }
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

    TRY(onnx_step_axis(step, -1, &axis));
    for (size_t i = axis; i < in->rank; i++)
        width *= in->shape[i];
    if (gain->elements != width || (bias && bias->elements != width))
        return onnx_step_fail(step, "its gain or bias has another length than a row");
    TRY(onnx_step_shape(step, in->rank, in->shape));
    for (uint64_t r = 0; width && r < in->elements / width; r++) {
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
    return STATUS_OK;
}

/* Bits of the axes to be reduced: of an attribute or an input; all where none are given. */
static enum status reduced_axes(const struct onnx_step *step, unsigned *ret)
{
    int64_t axes[ONNX_RANK_MAX];
    size_t count, axis;

    TRY(onnx_step_list(step, "axes", 1, axes, ONNX_RANK_MAX, &count));
    *ret = 0;
    if (count == ONNX_ABSENT || count == 0) {
        *ret = onnx_step_whole(step, "noop_with_empty_axes", 0) ? 0 : UINT_MAX;
        return STATUS_OK;
    }
    for (size_t i = 0; i < count; i++) {
        if (!onnx_axis(axes[i], step->in[0]->rank, &axis))
            return onnx_step_fail(step, "an axis is beyond its input's dimensions");
        *ret |= 1u << axis;
    }
    return STATUS_OK;
}

/* By the operator's `pair` over the elements of these axes; without one their mean. */
static enum status fold_axes(struct onnx_step *step, unsigned axes, bool keep)
{
    double (*const pair)(double, double) = step->op->pair ? step->op->pair : plus;
    const double first = pair == fmax ? -INFINITY : pair == fmin ? INFINITY : 0.0;
    const struct onnx_array *in = step->in[0];
    struct onnx_array sums = {.rank = in->rank};
    uint64_t kept[ONNX_RANK_MAX];
    size_t rank = 0;

    for (size_t i = 0; i < in->rank; i++) {
        sums.shape[i] = axes & 1u << i ? 1 : in->shape[i];
        if (keep || !(axes & 1u << i))
            kept[rank++] = sums.shape[i];
    }
    TRY(onnx_step_shape(step, rank, kept));
    for (uint64_t i = 0; i < step->out->elements; i++)
        step->out->data[i] = first;
    for (uint64_t i = 0; i < in->elements; i++) {
        double *sum = &step->out->data[onnx_place(&sums, in->rank, in->shape, in->rank, i)];
        const double each = (double)step->out->elements / (double)in->elements;

        *sum = pair(*sum, step->op->pair ? in->data[i] : in->data[i] * each);
    }
    return STATUS_OK;
}

static enum status reduce(struct onnx_step *step)
{
    unsigned axes = 0;

    TRY(reduced_axes(step, &axes));
    return fold_axes(step, axes, onnx_step_whole(step, "keepdims", 1) != 0);
}

/* Over all that lies behind the channels. */
static enum status pool_all(struct onnx_step *step)
{
    if (step->in[0]->rank < 3 || step->in[0]->elements == 0)
        return onnx_step_fail(step, "its input is not an image");
    return fold_axes(step, ~3u, true);
}

/* ---- products ---- */

static enum status matrix_product(struct onnx_step *step)
{
    const struct onnx_array *a = step->in[0], *b = step->in[1];
    uint64_t shape[ONNX_RANK_MAX + 2], m, n, k, products = 1;
    size_t rank = 0;

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
        if (!onnx_broadcast(&of_a, &of_b, &rank, shape))
            return onnx_step_fail(step, "the shapes of its inputs do not fit");
    }
    for (size_t i = 0; i < rank; i++)
        products *= shape[i];
    shape[rank] = m;
    shape[rank + 1] = n;
    TRY(onnx_step_shape(step, rank + 2, shape));
    for (uint64_t p = 0; p < products; p++) {
        const double *left = a->data + onnx_place(a, a->rank - 2, shape, rank, p) * m * k;
        const double *right = b->data + onnx_place(b, b->rank - 2, shape, rank, p) * k * n;

        TRY(reference_gemm(
            step->out->data + p * m * n, n, (struct reference_matrix){.f64 = left, .stride = k},
            (struct reference_matrix){.f64 = right, .stride = n}, m, n, k, false, step->err));
    }
    return STATUS_OK;
}

static enum status gemm(struct onnx_step *step)
{
    const struct onnx_array *a = step->in[0], *b = step->in[1];
    const struct onnx_array *c = step->count > 2 ? step->in[2] : NULL;
    const bool ta = onnx_step_whole(step, "transA", 0) != 0;
    const bool tb = onnx_step_whole(step, "transB", 0) != 0;
    const double alpha = onnx_step_number(step, "alpha", 1.0);
    const double beta = onnx_step_number(step, "beta", 1.0);
    struct onnx_array product = {.rank = 2};
    uint64_t shape[2], together[ONNX_RANK_MAX], k;
    size_t rank = 0;

    if (a->rank != 2 || b->rank != 2 || a->shape[ta ? 0 : 1] != b->shape[tb ? 1 : 0])
        return onnx_step_fail(step, "the shapes of its inputs do not fit");
    shape[0] = a->shape[ta ? 1 : 0];
    shape[1] = b->shape[tb ? 0 : 1];
    k = a->shape[ta ? 0 : 1];
    product.shape[0] = shape[0];
    product.shape[1] = shape[1];
    if (c && (!onnx_broadcast(&product, c, &rank, together) || rank != 2 ||
              together[0] != shape[0] || together[1] != shape[1]))
        return onnx_step_fail(step, "the shape of its third input does not fit");
    TRY(onnx_step_shape(step, 2, shape));
    TRY(reference_gemm(
        step->out->data, shape[1],
        (struct reference_matrix){.f64 = a->data, .stride = a->shape[1], .transpose = ta},
        (struct reference_matrix){.f64 = b->data, .stride = b->shape[1], .transpose = tb}, shape[0],
        shape[1], k, false, step->err));
    for (uint64_t i = 0; i < step->out->elements; i++)
        step->out->data[i] = alpha * step->out->data[i] +
                             (c ? beta * c->data[onnx_place(c, c->rank, shape, 2, i)] : 0.0);
    return STATUS_OK;
}

#define REDUCED "axes keepdims noop_with_empty_axes"

const struct onnx_operator onnx_operators[] = {
    {"Relu", 1, 1, .map = relu},
    {"Tanh", 1, 1, .map = tanh},
    {"Sigmoid", 1, 1, .map = sigmoid},
    {"HardSwish", 1, 1, .map = hard_swish},
    {"Softplus", 1, 1, .map = softplus},
    {"Erf", 1, 1, .map = erf},
    {"Sqrt", 1, 1, .map = sqrt},
    {"Exp", 1, 1, .map = exp},
    {"Log", 1, 1, .map = log},
    {"Sin", 1, 1, .map = sin},
    {"Cos", 1, 1, .map = cos},
    {"Abs", 1, 1, .map = fabs},
    {"Floor", 1, 1, .map = floor},
    {"Ceil", 1, 1, .map = ceil},
    {"Neg", 1, 1, .map = negative},
    {"Reciprocal", 1, 1, .map = reciprocal},
    {"Identity", 1, 1, .map = same},
    {"Not", 1, 1, .map = is_not},
    {"Add", 2, 2, .pair = plus},
    {"Sub", 2, 2, .pair = minus},
    {"Mul", 2, 2, .pair = times},
    {"Pow", 2, 2, .pair = pow},
    {"And", 2, 2, .pair = both},
    {"Or", 2, 2, .pair = either},
    {"Max", 1, ONNX_INPUTS_MAX, .pair = fmax},
    {"Min", 1, ONNX_INPUTS_MAX, .pair = fmin},
    {"Sum", 1, ONNX_INPUTS_MAX, .pair = plus},
    {"Div", 2, 2, .run = divide},
    {"Equal", 2, 2, .pair = equal, .truth = true},
    {"Greater", 2, 2, .pair = greater, .truth = true},
    {"GreaterOrEqual", 2, 2, .pair = greater_or_equal, .truth = true},
    {"Less", 2, 2, .pair = less, .truth = true},
    {"LessOrEqual", 2, 2, .pair = less_or_equal, .truth = true},
    {"Where", 3, 3, .run = where},
    {"Clip", 1, 3, .run = clip, .attributes = "min max"},
    {"HardSigmoid", 1, 1, .run = hard_sigmoid, .attributes = "alpha beta"},
    {"LeakyRelu", 1, 1, .run = leaky_relu, .attributes = "alpha"},
    {"Dropout", 1, 3, .run = dropout, .attributes = "ratio seed"},
    {"Gelu", 1, 1, .run = gelu, .attributes = "approximate"},
    {"Cast", 1, 1, .run = cast, .attributes = "to saturate round_mode"},
    {"Softmax", 1, 1, .run = softmax, .attributes = "axis"},
    {"LayerNormalization", 2, 3, .run = layer_norm, .attributes = "axis epsilon stash_type"},
    {"ReduceMean", 1, 2, .run = reduce, .attributes = REDUCED},
    {"ReduceSum", 1, 2, .run = reduce, .pair = plus, .attributes = REDUCED},
    {"ReduceMax", 1, 2, .run = reduce, .pair = fmax, .attributes = REDUCED},
    {"ReduceMin", 1, 2, .run = reduce, .pair = fmin, .attributes = REDUCED},
    {"GlobalAveragePool", 1, 1, .run = pool_all},
    {"GlobalMaxPool", 1, 1, .run = pool_all, .pair = fmax},
    {"MatMul", 2, 2, .run = matrix_product},
    {"Gemm", 2, 3, .run = gemm, .attributes = "alpha beta transA transB"},
    {0},
};
