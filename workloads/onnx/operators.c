/* Operators that compute element by element, by rows, or by products. */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "workloads/check/reference_math.h"
#include "workloads/onnx/reference.h"

/* The formulas of one element, and of two. */
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
/* clang-format off */
OF_ONE(relu, x > 0.0 ? x : 0.0)
OF_ONE(sigmoid, 1.0 / (1.0 + exp(-x)))
OF_ONE(softplus, x > 0.0 ? x + log1p(exp(-x)) : log1p(exp(x)))
OF_ONE(hard_swish, x * fmax(0.0, fmin(1.0, x / 6.0 + 0.5)))
OF_ONE(negative, -x)
OF_ONE(reciprocal, 1.0 / x)
OF_ONE(same, x)
OF_ONE(is_not, x == 0.0)
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
/* clang-format on */

/* ---- two arrays or more, broadcast ---- */

static enum status divide(struct onnx_step *step)
{
    return onnx_step_fold(step, step->in[0]->whole ? over_whole : over);
}

/* x where the first input is true, y where it is not; all three are broadcast. */
static enum status where(struct onnx_step *step)
{
    const struct onnx_array *which = step->in[0], *x = step->in[1], *y = step->in[2];
    struct onnx_array all = *x;

    if (!onnx_broadcast(x, y, &all.rank, all.shape) ||
        !onnx_broadcast(&all, which, &all.rank, all.shape))
        return onnx_step_fail(step, "the shapes of its inputs do not fit");
    step->out->whole = x->whole;
    TRY(onnx_step_shape(step, all.rank, all.shape));
    for (uint64_t i = 0; i < step->out->elements; i++) {
        const uint64_t at = onnx_place(which, which->rank, all.shape, all.rank, i);
        const struct onnx_array *from = which->data[at] != 0.0 ? x : y;

        step->out->data[i] = from->data[onnx_place(from, from->rank, all.shape, all.rank, i)];
    }
    return STATUS_OK;
}

/* ---- with attributes ---- */

/* Bounds are attributes before version 11 and inputs from then on, each of which may be missing. */
static enum status clip(struct onnx_step *step)
{
    const struct onnx_array *in = step->in[0];
    const struct onnx_array *bounds[2] = {onnx_step_input(step, 1), onnx_step_input(step, 2)};
    double least = onnx_step_number(step, "min", -INFINITY);
    double most = onnx_step_number(step, "max", INFINITY);

    for (int i = 0; i < 2; i++)
        if (bounds[i] && bounds[i]->elements != 1)
            return onnx_step_fail(step, "a bound of it is not one number");
    TRY(onnx_step_shape(step, in->rank, in->shape));
    least = bounds[0] ? bounds[0]->data[0] : least;
    most = bounds[1] ? bounds[1]->data[0] : most;
    for (uint64_t i = 0; i < in->elements; i++) {
        const double x = in->data[i] < least ? least : in->data[i];

        step->out->data[i] = x > most ? most : x;
    }
    return STATUS_OK;
}

static enum status hard_sigmoid(struct onnx_step *step)
{
    const double alpha = onnx_step_number(step, "alpha", (double)0.2f);
    const double beta = onnx_step_number(step, "beta", 0.5);

    TRY(onnx_step_shape(step, step->in[0]->rank, step->in[0]->shape));
    for (uint64_t i = 0; i < step->out->elements; i++)
        step->out->data[i] = fmax(0.0, fmin(1.0, alpha * step->in[0]->data[i] + beta));
    return STATUS_OK;
}

static enum status leaky_relu(struct onnx_step *step)
{
    const double alpha = onnx_step_number(step, "alpha", (double)0.01f);

    TRY(onnx_step_shape(step, step->in[0]->rank, step->in[0]->shape));
    for (uint64_t i = 0; i < step->out->elements; i++) {
        const double x = step->in[0]->data[i];

        step->out->data[i] = x < 0.0 ? alpha * x : x;
    }
    return STATUS_OK;
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
    TRY(onnx_step_shape(step, step->in[0]->rank, step->in[0]->shape));
    for (uint64_t i = 0; i < step->out->elements; i++)
        step->out->data[i] = step->in[0]->data[i];
    return STATUS_OK;
}

static enum status cast(struct onnx_step *step)
{
    const int64_t to = onnx_step_whole(step, "to", 0);
    const bool real = to == ONNX_FLOAT || to == ONNX_DOUBLE;

    if (!real && to != ONNX_INT32 && to != ONNX_INT64 && to != ONNX_BOOL)
        return onnx_step_fail(step, "the reference in fp64 casts to f32, f64, i32, i64 and bool");
    step->out->whole = !real;
    TRY(onnx_step_shape(step, step->in[0]->rank, step->in[0]->shape));
    for (uint64_t i = 0; i < step->out->elements; i++) {
        const double x = step->in[0]->data[i];

        step->out->data[i] = real ? x : to == ONNX_BOOL ? x != 0.0 : trunc(x);
    }
    return STATUS_OK;
}

static enum status gelu(struct onnx_step *step)
{
    const struct onnx_attribute *form = onnx_node_attribute(step->node, "approximate");
    const bool tanh_form = form && !strcmp(form->word, "tanh");

    TRY(onnx_step_shape(step, step->in[0]->rank, step->in[0]->shape));
    for (uint64_t i = 0; i < step->out->elements; i++) {
        const double x = step->in[0]->data[i];

        step->out->data[i] = tanh_form ? reference_gelu(x) : 0.5 * x * (1.0 + erf(x / sqrt(2.0)));
    }
    return STATUS_OK;
}

/* ---- along an axis ---- */

/* Before version 13 all dimensions from the axis on, which is the second, are one row. */
static enum status softmax(struct onnx_step *step)
{
    const bool rows = step->version < 13;
    uint64_t outer, side, inner;
    size_t axis;
    enum status status;

    if (!onnx_step_axis(step, rows ? 1 : -1, &axis))
        return onnx_step_fail(step, "its axis is beyond its input's dimensions");
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

    if (!onnx_step_axis(step, -1, &axis))
        return onnx_step_fail(step, "its axis is beyond its input's dimensions");
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

/* By `pair` from `first` on, over the elements of the axes; `mean`: divided by their number. */
static enum status reduce(struct onnx_step *step, double first, double (*pair)(double, double),
                          bool mean)
{
    const struct onnx_array *in = step->in[0];
    struct onnx_array sums = {.rank = in->rank};
    const bool keep = onnx_step_whole(step, "keepdims", 1) != 0;
    uint64_t kept[ONNX_RANK_MAX];
    unsigned axes = 0;
    size_t rank = 0;

    TRY(reduced_axes(step, &axes));
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

        *sum = pair(*sum, mean ? in->data[i] * each : in->data[i]);
    }
    return STATUS_OK;
}

static enum status reduce_mean(struct onnx_step *step)
{
    return reduce(step, 0.0, plus, true);
}

static enum status reduce_sum(struct onnx_step *step)
{
    return reduce(step, 0.0, plus, false);
}

static enum status reduce_max(struct onnx_step *step)
{
    return reduce(step, -INFINITY, fmax, false);
}

static enum status reduce_min(struct onnx_step *step)
{
    return reduce(step, INFINITY, fmin, false);
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

#define MAP(name, function)                                                                        \
    {                                                                                              \
        name, 1, 1, NULL, function, NULL, NULL, 0, false                                           \
    }
#define PAIR(name, function)                                                                       \
    {                                                                                              \
        name, 2, 2, NULL, NULL, function, NULL, 0, false                                           \
    }
#define TEST(name, function)                                                                       \
    {                                                                                              \
        name, 2, 2, NULL, NULL, function, NULL, 0, false, true                                     \
    }
#define FOLD(name, function)                                                                       \
    {                                                                                              \
        name, 1, ONNX_INPUTS_MAX, NULL, NULL, function, NULL, 0, false                             \
    }
#define RUN(name, least, most, function, attributes)                                               \
    {                                                                                              \
        name, least, most, function, NULL, NULL, attributes, 0, false                              \
    }

const struct onnx_operator onnx_operators[] = {
    MAP("Relu", relu),
    MAP("Tanh", tanh),
    MAP("Sigmoid", sigmoid),
    MAP("HardSwish", hard_swish),
    MAP("Softplus", softplus),
    MAP("Erf", erf),
    MAP("Sqrt", sqrt),
    MAP("Exp", exp),
    MAP("Log", log),
    MAP("Sin", sin),
    MAP("Cos", cos),
    MAP("Abs", fabs),
    MAP("Floor", floor),
    MAP("Ceil", ceil),
    MAP("Neg", negative),
    MAP("Reciprocal", reciprocal),
    MAP("Identity", same),
    MAP("Not", is_not),
    PAIR("Add", plus),
    PAIR("Sub", minus),
    PAIR("Mul", times),
    PAIR("Pow", pow),
    PAIR("And", both),
    PAIR("Or", either),
    FOLD("Max", fmax),
    FOLD("Min", fmin),
    FOLD("Sum", plus),
    RUN("Div", 2, 2, divide, NULL),
    TEST("Equal", equal),
    TEST("Greater", greater),
    TEST("GreaterOrEqual", greater_or_equal),
    TEST("Less", less),
    TEST("LessOrEqual", less_or_equal),
    RUN("Where", 3, 3, where, NULL),
    RUN("Clip", 1, 3, clip, "min max"),
    RUN("HardSigmoid", 1, 1, hard_sigmoid, "alpha beta"),
    RUN("LeakyRelu", 1, 1, leaky_relu, "alpha"),
    RUN("Dropout", 1, 3, dropout, "ratio seed"),
    RUN("Gelu", 1, 1, gelu, "approximate"),
    RUN("Cast", 1, 1, cast, "to saturate round_mode"),
    RUN("Softmax", 1, 1, softmax, "axis"),
    RUN("LayerNormalization", 2, 3, layer_norm, "axis epsilon stash_type"),
    RUN("ReduceMean", 1, 2, reduce_mean, "axes keepdims noop_with_empty_axes"),
    RUN("ReduceSum", 1, 2, reduce_sum, "axes keepdims noop_with_empty_axes"),
    RUN("ReduceMax", 1, 2, reduce_max, "axes keepdims noop_with_empty_axes"),
    RUN("ReduceMin", 1, 2, reduce_min, "axes keepdims noop_with_empty_axes"),
    RUN("MatMul", 2, 2, matrix_product, NULL),
    RUN("Gemm", 2, 3, gemm, "alpha beta transA transB"),
    {0},
};
