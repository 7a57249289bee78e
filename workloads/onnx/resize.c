/*
 * Resize: each axis by itself, since nearest and linear sampling take one after the other. Where an
 * element of the result lies in the input follows from `coordinate_transformation_mode`.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "workloads/onnx/reference.h"
#include "harness/core/cleanup.h"

/* One axis: its length in the input and the output, and the quotient that coordinates go by. */
struct axis {
    double side, out, scale;
};

enum place { HALF, SYMMETRIC, PYTORCH_HALF, ALIGN_CORNERS, ASYMMETRIC, TF_HALF, PLACES };
static const char *const places[] = {"half_pixel",
                                     "half_pixel_symmetric",
                                     "pytorch_half_pixel",
                                     "align_corners",
                                     "asymmetric",
                                     "tf_half_pixel_for_nn",
                                     NULL};

/* Where in the input element x of the result lies. */
static double place_of(enum place place, const struct axis *axis, double x)
{
    const double half = (x + 0.5) / axis->scale - 0.5;

    switch (place) {
    case SYMMETRIC: /* the output's middle stays above the input's where the length was rounded */
        return axis->side / 2.0 * (1.0 - axis->out / (axis->scale * axis->side)) + half;
    case PYTORCH_HALF:
        return axis->out > 1.0 ? half : 0.0;
    case ALIGN_CORNERS:
        return axis->out > 1.0 ? x * (axis->side - 1.0) / (axis->out - 1.0) : 0.0;
    case ASYMMETRIC:
        return x / axis->scale;
    case TF_HALF:
        return (x + 0.5) / axis->scale;
    default:
        return half;
    }
}

enum nearest { PREFER_FLOOR, PREFER_CEIL, FLOOR, CEIL, NEARESTS };
static const char *const nearests[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil",
                                       NULL};

static double nearest_of(enum nearest nearest, double x)
{
    switch (nearest) {
    case PREFER_FLOOR:
        return ceil(x - 0.5);
    case PREFER_CEIL:
        return floor(x + 0.5);
    case FLOOR:
        return floor(x);
    default:
        return ceil(x);
    }
}

struct sampling {
    enum place place;
    enum nearest nearest;
    bool linear;
    bool simple; /* version 10: nearest is the next one where the axis shrinks */
};

static bool read_sampling(const struct onnx_step *step, struct sampling *ret)
{
    const bool old = step->version < 11;
    const char *mode = onnx_step_word(step, "mode", "nearest");

    *ret = (struct sampling){
        .place = (enum place)onnx_step_choice(step, "coordinate_transformation_mode",
                                              old ? "asymmetric" : "half_pixel", places),
        .nearest = (enum nearest)onnx_step_choice(step, "nearest_mode",
                                                  old ? "floor" : "round_prefer_floor", nearests),
        .linear = !strcmp(mode, "linear"),
        .simple = old};
    if (!ret->linear && (strcmp(mode, "nearest") != 0 || ret->nearest == NEARESTS))
        return false;
    return ret->place != PLACES && !onnx_step_whole(step, "antialias", 0) &&
           !onnx_step_whole(step, "exclude_outside", 0);
}

/* ---- how long axes become ---- */

/* Of lengths that keep the ratio: the smallest or the largest of the wanted scales for all. */
static void keep_ratio(struct axis *axes, const bool *given, size_t rank, bool larger)
{
    double scale = larger ? 0.0 : INFINITY;

    for (size_t i = 0; i < rank; i++)
        if (given[i])
            scale = larger ? fmax(scale, axes[i].scale) : fmin(scale, axes[i].scale);
    for (size_t i = 0; i < rank; i++)
        if (given[i]) {
            axes[i].scale = scale;
            axes[i].out = floor(scale * axes[i].side + 0.5);
        }
}

/* `sizes` is the last input, `scales` the one before; one of them is given, for all or some axes.
 */
static enum status read_axes(const struct onnx_step *step, struct axis *axes)
{
    const struct onnx_array *in = step->in[0];
    const size_t at = step->version < 11 ? 1 : 2;
    const struct onnx_array *sizes = onnx_step_input(step, 3);
    const bool by_size = sizes && sizes->elements > 0;
    const char *policy = onnx_step_word(step, "keep_aspect_ratio_policy", "stretch");
    const struct onnx_attribute *some = onnx_node_attribute(step->node, "axes");
    double numbers[ONNX_RANK_MAX];
    bool given[ONNX_RANK_MAX] = {false};
    size_t count = 0, axis;

    if (!by_size && !onnx_step_input(step, at))
        return onnx_step_fail(step, "it has neither scales nor sizes");
    TRY(onnx_step_numbers(step, by_size ? 3 : at, numbers, ONNX_RANK_MAX, &count));
    for (size_t i = 0; i < in->rank; i++)
        axes[i] = (struct axis){(double)in->shape[i], (double)in->shape[i], 1.0};
    if (count != (some ? some->count : in->rank))
        return onnx_step_fail(step, "it has another number of scales or sizes than of axes");
    for (size_t i = 0; i < count; i++) {
        if (!onnx_axis(some ? some->list[i] : (int64_t)i, in->rank, &axis))
            return onnx_step_fail(step, "an axis of it is beyond the dimensions");
        if (!(numbers[i] > 0.0 && numbers[i] <= 0x1p31) || in->shape[axis] == 0)
            return onnx_step_fail(step, "a scale or size of it is not valid");
        axes[axis].scale = by_size ? numbers[i] / axes[axis].side : numbers[i];
        axes[axis].out = by_size ? numbers[i] : floor(axes[axis].side * numbers[i]);
        given[axis] = true;
    }
    if (by_size && strcmp(policy, "stretch") != 0)
        keep_ratio(axes, given, in->rank, !strcmp(policy, "not_smaller"));
    return STATUS_OK;
}

/* ---- sampling ---- */

static double at_end(double place, double side)
{
    return place < 0.0 ? 0.0 : place > side - 1.0 ? side - 1.0 : place;
}

/* Which two elements of the axis make element `x` of the result, and the share of the second. */
static double sample(const struct sampling *sampling, const struct axis *axis, double x,
                     uint64_t *first, uint64_t *second)
{
    const double place = place_of(sampling->place, axis, x);
    double lower;

    if (!sampling->linear) {
        lower = sampling->simple && axis->scale < 1.0 ? ceil(place)
                                                      : nearest_of(sampling->nearest, place);
        *first = *second = (uint64_t)at_end(lower, axis->side);
        return 0.0;
    }
    lower = floor(place);
    *first = (uint64_t)at_end(lower, axis->side);
    *second = (uint64_t)at_end(lower + 1.0, axis->side);
    return place - lower;
}

static void resize_axis(const double *from, const struct sampling *sampling,
                        const struct axis *axis, uint64_t outer, uint64_t inner, double *to)
{
    const uint64_t side = (uint64_t)axis->side, out = (uint64_t)axis->out;

    for (uint64_t x = 0; x < out; x++) {
        uint64_t first, second;
        const double share = sample(sampling, axis, (double)x, &first, &second);

        for (uint64_t o = 0; o < outer; o++)
            for (uint64_t i = 0; i < inner; i++)
                to[(o * out + x) * inner + i] =
                    (1.0 - share) * from[(o * side + first) * inner + i] +
                    share * from[(o * side + second) * inner + i];
    }
}

static bool stays(const struct axis *axis)
{
    return axis->scale == 1.0 && axis->out == axis->side;
}

/* Axis after axis, each into memory of its own. */
static enum status resize_all(struct onnx_step *step, const struct sampling *sampling,
                              const struct axis *axes)
{
    struct onnx_array now = *step->in[0];
    AUTO_FREE double *before = NULL;

    for (size_t d = 0; d < now.rank; d++) {
        uint64_t outer, side, inner;
        double *next;

        if (stays(&axes[d]))
            continue;
        onnx_span(&now, d, &outer, &side, &inner);
        next = malloc((size_t)(outer * (uint64_t)axes[d].out * inner + 1) * sizeof(double));
        if (!next)
            return error_no_memory(step->err);
        resize_axis(now.data, sampling, &axes[d], outer, inner, next);
        free(before);
        before = now.data = next;
        now.shape[d] = (uint64_t)axes[d].out;
    }
    memcpy(step->out->data, now.data, step->out->elements * sizeof(double));
    return STATUS_OK;
}

static enum status resize(struct onnx_step *step)
{
    struct axis axes[ONNX_RANK_MAX];
    struct sampling sampling;
    uint64_t shape[ONNX_RANK_MAX];

    if (!read_sampling(step, &sampling))
        return onnx_step_fail(step, "the reference in fp64 resizes by nearest and linear, without "
                                    "antialias, exclude_outside and tf_crop_and_resize");
    TRY(read_axes(step, axes));
    for (size_t i = 0; i < step->in[0]->rank; i++)
        shape[i] = (uint64_t)axes[i].out;
    TRY(onnx_step_shape(step, step->in[0]->rank, shape));
    return resize_all(step, &sampling, axes);
}

const struct onnx_operator onnx_resize_operators[] = {
    {"Resize", 1, 4, .run = resize,
     .attributes = "antialias axes coordinate_transformation_mode cubic_coeff_a exclude_outside "
                   "extrapolation_value keep_aspect_ratio_policy mode nearest_mode"},
    {0},
};
