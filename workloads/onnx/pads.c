/* Pad: borders around an array, or less of it. */
#include <string.h>

#include "workloads/onnx/reference.h"

enum border { CONSTANT, REFLECT, EDGE, WRAP };

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

static bool read_border(const struct onnx_step *step, enum border *ret)
{
    static const char *const names[] = {"constant", "reflect", "edge", "wrap"};
    const char *word = onnx_step_word(step, "mode", "constant");

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (!strcmp(word, names[i])) {
            *ret = (enum border)i;
            return true;
        }
    return false;
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
    const struct onnx_array *in = step->in[0], *given = onnx_step_input(step, 2);
    int64_t before[ONNX_RANK_MAX] = {0};
    uint64_t shape[ONNX_RANK_MAX] = {0};
    enum border border = CONSTANT;
    double value = onnx_step_number(step, "value", 0.0);

    if (!read_border(step, &border))
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

const struct onnx_operator onnx_pad_operators[] = {
    {"Pad", 1, 4, pad, NULL, NULL, "mode pads value", 0, false},
    {0},
};
