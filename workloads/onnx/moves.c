/* Operators that put elements in other places, or say what shape an array has. */
#include <string.h>

#include "workloads/onnx/reference.h"

/* An output whose element (i, j, ...) is that at `first` + i strides[0] + j strides[1] + ... of
 * `in`. */
static void copy_strided(const struct onnx_array *in, int64_t first, const int64_t *strides,
                         struct onnx_array *out)
{
    for (uint64_t i = 0; i < out->elements; i++) {
        uint64_t rest = i;
        int64_t at = first;

        for (size_t d = out->rank; d-- > 0; rest /= out->shape[d])
            at += (int64_t)(rest % out->shape[d]) * strides[d];
        out->data[i] = in->data[at];
    }
}

/* How far apart neighbours along each axis are. */
static void strides_of(const struct onnx_array *array, int64_t *ret)
{
    for (size_t i = array->rank, by = 1; i-- > 0; by *= (size_t)array->shape[i])
        ret[i] = (int64_t)by;
}

static enum status copy_as(struct onnx_step *step, size_t rank, const uint64_t *shape)
{
    uint64_t elements = 1;

    for (size_t i = 0; i < rank; i++)
        elements *= shape[i];
    if (elements != step->in[0]->elements)
        return onnx_step_fail(step, "its shape has another number of elements");
    TRY(onnx_step_shape(step, rank, shape));
    memcpy(step->out->data, step->in[0]->data, step->out->elements * sizeof(double));
    return STATUS_OK;
}

static enum status reshape(struct onnx_step *step)
{
    const struct onnx_array *in = step->in[0];
    const bool zeros = onnx_step_whole(step, "allowzero", 0) != 0;
    double wanted[ONNX_RANK_MAX];
    uint64_t shape[ONNX_RANK_MAX], known = 1;
    size_t open = ONNX_RANK_MAX, count = 0;

    TRY(onnx_step_numbers(step, 1, wanted, ONNX_RANK_MAX, &count));
    for (size_t i = 0; i < count; i++) {
        const double side = wanted[i];
        const bool copied = side == 0.0 && !zeros;

        if (side < -1.0 || side > 0x1p31 || (copied && i >= in->rank) ||
            (side == -1.0 && open < ONNX_RANK_MAX))
            return onnx_step_fail(step, "its shape is not valid");
        open = side == -1.0 ? i : open;
        shape[i] = copied ? in->shape[i] : side == -1.0 ? 1 : (uint64_t)side;
        if (shape[i] > 0 && known > ONNX_FILE_MAX / shape[i])
            return onnx_step_fail(step, "its shape is not valid");
        known *= shape[i];
    }
    if (open < ONNX_RANK_MAX)
        shape[open] = known ? in->elements / known : 0;
    return copy_as(step, count, shape);
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

/*
 * Bits of the axes in an attribute `axes` or in the second input, and how many they are or
 * ONNX_ABSENT; with `adds` they count in an array that has them besides those of the first input.
 */
static enum status take_axes(const struct onnx_step *step, bool adds, unsigned *ret,
                             size_t *ret_count)
{
    int64_t axes[ONNX_RANK_MAX];
    size_t axis, count, rank = step->in[0]->rank;

    TRY(onnx_step_list(step, "axes", 1, axes, ONNX_RANK_MAX, ret_count));
    count = *ret_count == ONNX_ABSENT ? 0 : *ret_count;
    rank += adds ? count : 0;
    if (rank > ONNX_RANK_MAX)
        return onnx_step_fail(step, "its result has more than 8 dimensions");
    *ret = 0;
    for (size_t i = 0; i < count; i++) {
        if (!onnx_axis(axes[i], rank, &axis) || *ret & 1u << axis)
            return onnx_step_fail(step, "an axis of it is beyond the dimensions, or given twice");
        *ret |= 1u << axis;
    }
    return STATUS_OK;
}

static enum status squeeze(struct onnx_step *step)
{
    const struct onnx_array *in = step->in[0];
    uint64_t shape[ONNX_RANK_MAX];
    unsigned axes = 0;
    size_t count = 0, rank = 0;

    TRY(take_axes(step, false, &axes, &count));
    for (size_t i = 0; i < in->rank; i++) {
        const bool goes = count != ONNX_ABSENT ? axes & 1u << i : in->shape[i] == 1;

        if (goes && in->shape[i] != 1)
            return onnx_step_fail(step, "an axis that it removes is longer than 1");
        if (!goes)
            shape[rank++] = in->shape[i];
    }
    return copy_as(step, rank, shape);
}

static enum status unsqueeze(struct onnx_step *step)
{
    const struct onnx_array *in = step->in[0];
    uint64_t shape[ONNX_RANK_MAX];
    unsigned axes = 0;
    size_t count = 0, from = 0;

    TRY(take_axes(step, true, &axes, &count));
    if (count == ONNX_ABSENT)
        return onnx_step_fail(step, "its axes are missing");
    for (size_t i = 0; i < in->rank + count; i++)
        shape[i] = axes & 1u << i ? 1 : in->shape[from++];
    return copy_as(step, in->rank + count, shape);
}

static enum status transpose(struct onnx_step *step)
{
    const struct onnx_array *in = step->in[0];
    const struct onnx_attribute *order = onnx_node_attribute(step->node, "perm");
    int64_t own[ONNX_RANK_MAX], strides[ONNX_RANK_MAX];
    uint64_t shape[ONNX_RANK_MAX];
    unsigned seen = 0;

    if (order && order->count != in->rank)
        return onnx_step_fail(step, "its order has another number of dimensions");
    strides_of(in, own);
    for (size_t i = 0; i < in->rank; i++) {
        const int64_t from = order ? order->list[i] : (int64_t)(in->rank - 1 - i);

        if (from < 0 || from >= (int64_t)in->rank || seen & 1u << from)
            return onnx_step_fail(step, "its order is not valid");
        seen |= 1u << from;
        shape[i] = in->shape[from];
        strides[i] = own[from];
    }
    TRY(onnx_step_shape(step, in->rank, shape));
    copy_strided(in, 0, strides, step->out);
    return STATUS_OK;
}

/* The shape that an input says. */
static enum status take_shape(const struct onnx_step *step, size_t input, uint64_t *ret,
                              size_t *ret_rank)
{
    double sides[ONNX_RANK_MAX];

    TRY(onnx_step_numbers(step, input, sides, ONNX_RANK_MAX, ret_rank));
    for (size_t i = 0; i < *ret_rank; i++) {
        if (!(sides[i] >= 0.0 && sides[i] <= 0x1p31))
            return onnx_step_fail(step, "its shape is not valid");
        ret[i] = (uint64_t)sides[i];
    }
    return STATUS_OK;
}

static enum status expand(struct onnx_step *step)
{
    const struct onnx_array *in = step->in[0];
    struct onnx_array wanted = {0}, all = {0};

    TRY(take_shape(step, 1, wanted.shape, &wanted.rank));
    if (!onnx_broadcast(in, &wanted, &all.rank, all.shape))
        return onnx_step_fail(step, "its input does not fit the shape");
    TRY(onnx_step_shape(step, all.rank, all.shape));
    for (uint64_t i = 0; i < step->out->elements; i++)
        step->out->data[i] = in->data[onnx_place(in, in->rank, all.shape, all.rank, i)];
    return STATUS_OK;
}

static enum status tile(struct onnx_step *step)
{
    const struct onnx_array *in = step->in[0];
    double times[ONNX_RANK_MAX];
    uint64_t shape[ONNX_RANK_MAX];
    size_t count = 0;

    TRY(onnx_step_numbers(step, 1, times, ONNX_RANK_MAX, &count));
    if (count != in->rank)
        return onnx_step_fail(step, "it repeats another number of dimensions than its input has");
    for (size_t i = 0; i < count; i++) {
        if (!(times[i] >= 0.0 && times[i] <= 0x1p31))
            return onnx_step_fail(step, "it repeats a dimension less than no times, or too often");
        if (in->shape[i] > 0 && times[i] > 0x1p31 / (double)in->shape[i])
            return onnx_step_fail(step, "its result is too large");
        shape[i] = in->shape[i] * (uint64_t)times[i];
    }
    TRY(onnx_step_shape(step, in->rank, shape));
    for (uint64_t i = 0; i < step->out->elements; i++) {
        uint64_t rest = i, at = 0, by = 1;

        for (size_t d = in->rank; d-- > 0; rest /= shape[d], by *= in->shape[d])
            at += rest % shape[d] % in->shape[d] * by;
        step->out->data[i] = in->data[at];
    }
    return STATUS_OK;
}

/* ---- parts ---- */

/* As far as it is known what the indices are, or between what they lie. */
static bool indices_fit(const struct onnx_array *indices, int64_t side)
{
    if (indices->has_range)
        return indices->least >= -side && indices->most < side;
    for (uint64_t i = 0; i < indices->elements && indices->data; i++)
        if (!(indices->data[i] >= (double)-side && indices->data[i] < (double)side))
            return false;
    return true;
}

static enum status gather(struct onnx_step *step)
{
    const struct onnx_array *in = step->in[0], *indices = step->in[1];
    uint64_t shape[2 * ONNX_RANK_MAX], outer, side, inner;
    size_t axis, rank = 0;

    TRY(onnx_step_axis(step, 0, &axis));
    for (size_t i = 0; i < axis; i++)
        shape[rank++] = in->shape[i];
    for (size_t i = 0; i < indices->rank; i++)
        shape[rank++] = indices->shape[i];
    for (size_t i = axis + 1; i < in->rank; i++)
        shape[rank++] = in->shape[i];
    onnx_span(in, axis, &outer, &side, &inner);
    if (!indices_fit(indices, (int64_t)side))
        return onnx_step_fail(step, "an index, or the declared range of them, is beyond the axis");
    TRY(onnx_step_shape(step, rank, shape));
    for (uint64_t o = 0; o < outer; o++)
        for (uint64_t i = 0; i < indices->elements; i++) {
            const double given = indices->data[i];
            const uint64_t index = (uint64_t)(given < 0.0 ? given + (double)side : given);

            memcpy(step->out->data + (o * indices->elements + i) * inner,
                   in->data + (o * side + index) * inner, inner * sizeof(double));
        }
    return STATUS_OK;
}

static enum status concat(struct onnx_step *step)
{
    uint64_t shape[ONNX_RANK_MAX], outer, side, inner, at = 0;
    size_t axis;

    TRY(onnx_step_axis(step, 0, &axis));
    memcpy(shape, step->in[0]->shape, sizeof(shape));
    shape[axis] = 0;
    for (size_t k = 0; k < step->count; k++) {
        const struct onnx_array *in = step->in[k];

        if (!in || in->rank != step->in[0]->rank)
            return onnx_step_fail(step, "its inputs have different numbers of dimensions");
        for (size_t i = 0; i < in->rank; i++)
            if (i != axis && in->shape[i] != shape[i])
                return onnx_step_fail(step, "its inputs differ beside the axis");
        shape[axis] += in->shape[axis];
    }
    TRY(onnx_step_shape(step, step->in[0]->rank, shape));
    for (size_t k = 0; k < step->count; k++) {
        const struct onnx_array *in = step->in[k];

        onnx_span(in, axis, &outer, &side, &inner);
        for (uint64_t o = 0; o < outer; o++)
            memcpy(step->out->data + o * shape[axis] * inner + at, in->data + o * side * inner,
                   side * inner * sizeof(double));
        at += side * inner;
    }
    return STATUS_OK;
}

/*
 * How long the parts are: as an attribute before version 13 or an input says; else all are equal,
 * of which from version 18 on the last may be shorter.
 */
static enum status part_sizes(const struct onnx_step *step, uint64_t side, uint64_t *ret)
{
    const uint64_t parts = step->out_count;
    const uint64_t each = parts ? (side + parts - 1) / parts : 0;
    int64_t given[ONNX_OUTPUTS_MAX];
    uint64_t sum = 0;
    size_t count;

    TRY(onnx_step_list(step, "split", 1, given, ONNX_OUTPUTS_MAX, &count));
    if (count != ONNX_ABSENT && count != step->out_count)
        return onnx_step_fail(step, "it has another number of outputs than of sizes");
    if (onnx_step_whole(step, "num_outputs", (int64_t)parts) != (int64_t)parts)
        return onnx_step_fail(step, "it has another number of outputs than `num_outputs` says");
    if (count == ONNX_ABSENT && step->version < 18 && side % parts != 0)
        return onnx_step_fail(step, "its axis cannot be divided into parts of one length");
    for (size_t i = 0; i < parts; i++) {
        const uint64_t left = side > sum ? side - sum : 0;

        if (count != ONNX_ABSENT && (given[i] < 0 || given[i] > (int64_t)left))
            return onnx_step_fail(step, "its parts together are not its axis");
        ret[i] = count != ONNX_ABSENT ? (uint64_t)given[i] : each < left ? each : left;
        sum += ret[i];
    }
    return sum == side ? STATUS_OK : onnx_step_fail(step, "its parts together are not its axis");
}

static enum status split(struct onnx_step *step)
{
    const struct onnx_array *in = step->in[0];
    uint64_t sizes[ONNX_OUTPUTS_MAX], shape[ONNX_RANK_MAX], outer, side, inner, at = 0;
    size_t axis;

    TRY(onnx_step_axis(step, 0, &axis));
    onnx_span(in, axis, &outer, &side, &inner);
    TRY(part_sizes(step, side, sizes));
    memcpy(shape, in->shape, sizeof(shape));
    for (size_t k = 0; k < step->out_count; k++) {
        shape[axis] = sizes[k];
        TRY(onnx_step_shape_of(step, k, in->rank, shape));
    }
    TRY(onnx_step_ready(step));
    for (size_t k = 0; k < step->out_count; at += sizes[k++])
        for (uint64_t o = 0; o < outer; o++)
            memcpy(step->out[k].data + o * sizes[k] * inner, in->data + (o * side + at) * inner,
                   sizes[k] * inner * sizeof(double));
    return STATUS_OK;
}

/* Where a slice of an axis begins, and how many elements it has. */
struct cut {
    int64_t first;
    uint64_t count;
};

/* Ends are cut to the axis: a step back ends before the first element. */
static struct cut cut_axis(int64_t side, int64_t start, int64_t end, int64_t step)
{
    const int64_t least = step < 0 ? -1 : 0, most = step < 0 ? side - 1 : side;
    int64_t length;

    start = start < 0 ? start + side : start;
    end = end < 0 ? end + side : end;
    start = start < 0 ? 0 : start > most ? most : start;
    end = end < least ? least : end > most ? most : end;
    length = step < 0 ? start - end : end - start;
    step = step < 0 ? -step : step;
    return (struct cut){start, length > 0 ? 1 + (uint64_t)(length - 1) / (uint64_t)step : 0};
}

/* `starts`, `ends`, `axes` and `steps` are attributes before version 10, and inputs from then on.
 */
static enum status slice(struct onnx_step *step)
{
    static const char *const names[] = {"starts", "ends", "axes", "steps"};
    const struct onnx_array *in = step->in[0];
    int64_t lists[4][ONNX_RANK_MAX], strides[ONNX_RANK_MAX], first = 0;
    uint64_t shape[ONNX_RANK_MAX];
    size_t counts[4] = {0}, axis;
    unsigned seen = 0;

    for (size_t k = 0; k < 4; k++)
        TRY(onnx_step_list(step, names[k], 1 + k, lists[k], ONNX_RANK_MAX, &counts[k]));
    if (counts[0] == ONNX_ABSENT || counts[1] != counts[0] ||
        (counts[2] != ONNX_ABSENT && counts[2] != counts[0]) ||
        (counts[3] != ONNX_ABSENT && counts[3] != counts[0]))
        return onnx_step_fail(step, "it has not as many starts as ends, axes and steps");
    strides_of(in, strides);
    memcpy(shape, in->shape, sizeof(shape));
    for (size_t i = 0; i < counts[0]; i++) {
        const int64_t by = counts[3] == ONNX_ABSENT ? 1 : lists[3][i];
        struct cut cut;

        if (!onnx_axis(counts[2] == ONNX_ABSENT ? (int64_t)i : lists[2][i], in->rank, &axis) ||
            seen & 1u << axis)
            return onnx_step_fail(step, "an axis of it is beyond the dimensions, or given twice");
        if (by == 0)
            return onnx_step_fail(step, "a step of it is 0");
        seen |= 1u << axis;
        cut = cut_axis((int64_t)in->shape[axis], lists[0][i], lists[1][i], by);
        first += cut.first * strides[axis];
        strides[axis] *= cut.count > 1 ? by : 0;
        shape[axis] = cut.count;
    }
    TRY(onnx_step_shape(step, in->rank, shape));
    copy_strided(in, first, strides, step->out);
    return STATUS_OK;
}

/* ---- borders around an array, or less of it ---- */

enum border { CONSTANT, REFLECT, EDGE, WRAP, BORDERS };

/* Where an element beyond `side` comes from; -1: from nowhere. */
static int64_t beyond(enum border border, int64_t at, int64_t side)
{
    const int64_t period = border == REFLECT ? 2 * side - 2 : side;

    if ((at >= 0 && at < side) || border == CONSTANT || side == 0)
        return at >= 0 && at < side ? at : -1;
    if (border == EDGE || period == 0)
        return at < 0 ? 0 : side - 1;
    at = (at % period + period) % period;
    return border == REFLECT && at >= side ? period - at : at;
}

/* How many elements are added before and behind each axis; fewer than none cuts some off. */
static enum status read_pads(const struct onnx_step *step, int64_t before[ONNX_RANK_MAX],
                             uint64_t shape[ONNX_RANK_MAX])
{
    const struct onnx_array *in = step->in[0];
    int64_t pads[2 * ONNX_RANK_MAX], axes[ONNX_RANK_MAX];
    size_t count = 0, axis_count = 0, axis;

    TRY(onnx_step_list(step, "pads", 1, pads, 2 * ONNX_RANK_MAX, &count));
    TRY(onnx_step_list(step, "axes", 3, axes, ONNX_RANK_MAX, &axis_count));
    if (axis_count == ONNX_ABSENT)
        for (axis_count = 0; axis_count < in->rank; axis_count++)
            axes[axis_count] = (int64_t)axis_count;
    if (count != 2 * axis_count)
        return onnx_step_fail(step, "its pads are not two for each axis");
    memcpy(shape, in->shape, sizeof(in->shape));
    for (size_t i = 0; i < axis_count; i++) {
        const int64_t behind = pads[axis_count + i];

        if (!onnx_axis(axes[i], in->rank, &axis))
            return onnx_step_fail(step, "an axis of it is beyond the dimensions");
        if (pads[i] < -(1 << 30) || pads[i] > 1 << 30 || behind < -(1 << 30) || behind > 1 << 30 ||
            (int64_t)in->shape[axis] + pads[i] + behind < 0)
            return onnx_step_fail(step, "its pads leave no axis, or make it too long");
        before[axis] = pads[i];
        shape[axis] = (uint64_t)((int64_t)in->shape[axis] + pads[i] + behind);
    }
    return STATUS_OK;
}

/* Before version 11 pads and value are attributes. */
static enum status pad(struct onnx_step *step)
{
    static const char *const names[] = {"constant", "reflect", "edge", "wrap", NULL};
    const struct onnx_array *in = step->in[0], *given = onnx_step_input(step, 2);
    const enum border border = (enum border)onnx_step_choice(step, "mode", names[0], names);
    int64_t before[ONNX_RANK_MAX] = {0};
    uint64_t shape[ONNX_RANK_MAX] = {0};
    double value = onnx_step_number(step, "value", 0.0);

    if (border == BORDERS)
        return onnx_step_fail(step,
                              "the reference in fp64 pads by constant, reflect, edge and wrap");
    if (given && given->elements != 1)
        return onnx_step_fail(step, "the value that it pads with is not one number");
    TRY(read_pads(step, before, shape));
    TRY(onnx_step_shape(step, in->rank, shape));
    value = given ? given->data[0] : value;
    for (uint64_t i = 0; i < step->out->elements; i++) {
        uint64_t rest = i;
        int64_t at = 0, by = 1;

        for (size_t d = in->rank; d-- > 0; rest /= shape[d], by *= (int64_t)in->shape[d]) {
            const int64_t place =
                beyond(border, (int64_t)(rest % shape[d]) - before[d], (int64_t)in->shape[d]);

            at = place < 0 || at < 0 ? -1 : at + place * by;
        }
        step->out->data[i] = at < 0 ? value : in->data[at];
    }
    return STATUS_OK;
}

/* ---- shapes and constants ---- */

/* From version 15 on a part of it, whose ends are cut to the dimensions there are. */
static enum status shape_of(struct onnx_step *step)
{
    const struct onnx_array *in = step->in[0];
    const int64_t rank = (int64_t)in->rank;
    const struct cut cut =
        cut_axis(rank, onnx_step_whole(step, "start", 0), onnx_step_whole(step, "end", rank), 1);

    step->out->whole = true;
    TRY(onnx_step_shape(step, 1, &cut.count));
    for (uint64_t i = 0; i < cut.count; i++)
        step->out->data[i] = (double)in->shape[(uint64_t)cut.first + i];
    return STATUS_OK;
}

static enum status size_of(struct onnx_step *step)
{
    step->out->whole = true;
    TRY(onnx_step_shape(step, 0, NULL));
    step->out->data[0] = (double)step->in[0]->elements;
    return STATUS_OK;
}

static enum status constant_of_shape(struct onnx_step *step)
{
    const struct onnx_attribute *given = onnx_node_attribute(step->node, "value");
    uint64_t shape[ONNX_RANK_MAX];
    double value = 0.0;
    size_t rank = 0;

    TRY(take_shape(step, 0, shape, &rank));
    if (given && (!given->tensor || given->tensor->elements != 1))
        return onnx_step_fail(step, "its value is not one number");
    if (given)
        TRY(onnx_tensor_values(given->tensor, &value, step->err));
    step->out->whole = given && onnx_type_is_whole(given->tensor->type);
    TRY(onnx_step_shape(step, rank, shape));
    for (uint64_t i = 0; i < step->out->elements; i++)
        step->out->data[i] = value;
    return STATUS_OK;
}

static enum status constant_tensor(struct onnx_step *step, const struct onnx_tensor *tensor)
{
    TRY(onnx_tensor_check(tensor, step->err));
    step->out->whole = onnx_type_is_whole(tensor->type);
    TRY(onnx_step_shape(step, tensor->rank, tensor->shape));
    return onnx_tensor_values(tensor, step->out->data, step->err);
}

/* One attribute has it: a tensor, a number, or a list of numbers. */
static enum status constant(struct onnx_step *step)
{
    const struct onnx_attribute *value =
        step->node->attribute_count == 1 ? &step->node->attributes[0] : NULL;
    const bool real = value && !strncmp(value->name, "value_float", 11);
    const bool list = value && value->name[strlen(value->name) - 1] == 's';
    const uint64_t count = !value ? 0 : real ? value->number_count : value->count;

    if (!value)
        return onnx_step_fail(step, "it has no value, or several");
    if (!strcmp(value->name, "value"))
        return value->tensor ? constant_tensor(step, value->tensor)
                             : onnx_step_fail(step, "its value is not a tensor");
    step->out->whole = !real;
    TRY(onnx_step_shape(step, list, &count));
    if (!list)
        step->out->data[0] = real ? (double)value->number : (double)value->whole;
    for (uint64_t i = 0; i < count && list; i++)
        step->out->data[i] = real ? (double)value->numbers[i] : (double)value->list[i];
    return STATUS_OK;
}

const struct onnx_operator onnx_move_operators[] = {
    {"Reshape", 2, 2, .run = reshape, .attributes = "allowzero"},
    {"Flatten", 1, 1, .run = flatten, .attributes = "axis"},
    {"Squeeze", 1, 2, .run = squeeze, .attributes = "axes"},
    {"Unsqueeze", 1, 2, .run = unsqueeze, .attributes = "axes"},
    {"Transpose", 1, 1, .run = transpose, .attributes = "perm"},
    {"Expand", 2, 2, .run = expand},
    {"Tile", 2, 2, .run = tile},
    {"Gather", 2, 2, .run = gather, .attributes = "axis"},
    {"Concat", 1, ONNX_INPUTS_MAX, .run = concat, .attributes = "axis"},
    {"Slice", 1, 5, .run = slice, .attributes = "starts ends axes"},
    {"ConstantOfShape", 1, 1, .run = constant_of_shape, .attributes = "value"},
    {"Constant", 0, 0, .run = constant,
     .attributes = "value value_float value_floats value_int value_ints"},
    {"Pad", 1, 4, .run = pad, .attributes = "mode pads value"},
    {"Split", 1, 2, .run = split, .attributes = "axis split num_outputs",
     .outputs = ONNX_OUTPUTS_MAX},
    {"Shape", 1, 1, .run = shape_of, .attributes = "start end", .of_shapes = true},
    {"Size", 1, 1, .run = size_of, .of_shapes = true},
    {0},
};
