/* Operators over images: (items, channels, rows, columns). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "workloads/check/reference_math.h"
#include "workloads/onnx/reference.h"

/* How a window goes over rows (0) and columns (1). */
struct window {
    uint64_t size[2], stride[2], pad[2], dilation[2], out[2];
};

static bool read_pair(const struct onnx_step *step, const char *name, size_t count, int64_t least,
                      uint64_t *ret)
{
    const struct onnx_attribute *list = onnx_node_attribute(step->node, name);

    for (size_t i = 0; list && i < count; i++) {
        if (list->count != count || list->list[i] < least || list->list[i] > 1 << 20)
            return false;
        ret[i] = (uint64_t)list->list[i];
    }
    return true;
}

enum padding { GIVEN, SAME_UPPER, SAME_LOWER, VALID, PADDINGS };

/* Of rows (0) or columns (1): how many windows there are, and how far they begin before it. */
static bool lay_windows(struct window *window, int i, uint64_t side, enum padding padding,
                        const uint64_t pads[4], bool ceiling)
{
    const uint64_t reach = window->dilation[i] * (window->size[i] - 1) + 1;
    const uint64_t stride = window->stride[i], room = side + pads[i] + pads[2 + i];

    if (window->size[i] == 0 || side == 0)
        return false;
    if (padding == SAME_UPPER || padding == SAME_LOWER) {
        const uint64_t out = (side + stride - 1) / stride, need = (out - 1) * stride + reach;
        const uint64_t total = need > side ? need - side : 0;

        window->out[i] = out;
        window->pad[i] = padding == SAME_UPPER ? total / 2 : total - total / 2;
        return true;
    }
    if (room < reach)
        return false;
    window->pad[i] = pads[i];
    window->out[i] = (room - reach + (ceiling ? stride - 1 : 0)) / stride + 1;
    /* A last window that lies behind the input has nothing to look at. */
    if (ceiling && (window->out[i] - 1) * stride >= side + pads[i])
        window->out[i]--;
    return true;
}

static enum status read_window(const struct onnx_step *step, uint64_t rows, uint64_t columns,
                               struct window *ret)
{
    const struct onnx_array *in = step->in[0];
    const bool ceiling = onnx_step_whole(step, "ceil_mode", 0) != 0;
    struct window window = {.size = {rows, columns}, .stride = {1, 1}, .dilation = {1, 1}};
    static const char *const names[] = {"NOTSET", "SAME_UPPER", "SAME_LOWER", "VALID", NULL};
    const char *word = onnx_step_word(step, "auto_pad", "");
    const enum padding padding =
        word[0] ? (enum padding)onnx_step_choice(step, "auto_pad", "", names) : GIVEN;
    uint64_t pads[4] = {0};

    if (in->rank != 4)
        return onnx_step_fail(step, "the reference in fp64 has it in two dimensions alone");
    if (padding == PADDINGS || !read_pair(step, "kernel_shape", 2, 1, window.size) ||
        !read_pair(step, "strides", 2, 1, window.stride) ||
        !read_pair(step, "dilations", 2, 1, window.dilation) ||
        !read_pair(step, "pads", 4, 0, pads))
        return onnx_step_fail(step, "an attribute of its window is not valid");
    if (padding != GIVEN)
        memset(pads, 0, sizeof(pads));
    for (int i = 0; i < 2; i++)
        if (!lay_windows(&window, i, in->shape[2 + i], padding, pads, ceiling))
            return onnx_step_fail(step, "its window is larger than its input");
    *ret = window;
    return STATUS_OK;
}

/* The element under place (u, v) of the window at (y, x); NULL: in the padding. */
static const double *under(const struct window *window, const double *image, uint64_t rows,
                           uint64_t columns, uint64_t y, uint64_t x, uint64_t u, uint64_t v)
{
    const uint64_t row = y * window->stride[0] + u * window->dilation[0];
    const uint64_t column = x * window->stride[1] + v * window->dilation[1];

    if (row < window->pad[0] || row - window->pad[0] >= rows || column < window->pad[1] ||
        column - window->pad[1] >= columns)
        return NULL;
    return image + (row - window->pad[0]) * columns + column - window->pad[1];
}

/* Columns of what lies under each place of the window: (channels * places, positions). */
static void unfold(const struct window *window, const double *image, uint64_t channels,
                   uint64_t rows, uint64_t columns, double *ret)
{
    for (uint64_t c = 0; c < channels; c++)
        for (uint64_t u = 0; u < window->size[0]; u++)
            for (uint64_t v = 0; v < window->size[1]; v++)
                for (uint64_t y = 0; y < window->out[0]; y++)
                    for (uint64_t x = 0; x < window->out[1]; x++) {
                        const double *at =
                            under(window, image + c * rows * columns, rows, columns, y, x, u, v);

                        *ret++ = at ? *at : 0.0;
                    }
}

static enum status convolution(struct onnx_step *step)
{
    const struct onnx_array *in = step->in[0], *weights = step->in[1];
    const struct onnx_array *bias = step->count > 2 ? step->in[2] : NULL;
    const uint64_t groups = (uint64_t)onnx_step_whole(step, "group", 1);
    const uint64_t filters = weights->shape[0], depth = weights->shape[1];
    struct window window;
    uint64_t shape[4], positions, terms;
    AUTO_FREE double *unfolded = NULL;

    if (weights->rank != 4 || in->rank != 4 || groups < 1 || depth * groups != in->shape[1] ||
        filters % groups != 0 || (bias && bias->elements != filters))
        return onnx_step_fail(step, "the shapes of its inputs do not fit");
    TRY(read_window(step, weights->shape[2], weights->shape[3], &window));
    if (window.size[0] != weights->shape[2] || window.size[1] != weights->shape[3])
        return onnx_step_fail(step, "its kernel_shape is not that of its weights");
    positions = window.out[0] * window.out[1];
    terms = depth * window.size[0] * window.size[1];
    memcpy(shape, (uint64_t[]){in->shape[0], filters, window.out[0], window.out[1]}, sizeof(shape));
    TRY(onnx_step_shape(step, 4, shape));
    unfolded = malloc((positions * terms + 1) * sizeof(double));
    if (!unfolded)
        return error_no_memory(step->err);
    for (uint64_t i = 0; i < in->shape[0] * groups; i++) {
        const uint64_t group = i % groups, each = filters / groups;
        double *out = step->out->data + i * each * positions;

        unfold(&window, in->data + i * depth * in->shape[2] * in->shape[3], depth, in->shape[2],
               in->shape[3], unfolded);
        TRY(reference_gemm(
            out, positions,
            (struct reference_matrix){.f64 = weights->data + group * each * terms, .stride = terms},
            (struct reference_matrix){.f64 = unfolded, .stride = positions}, each, positions, terms,
            false, step->err));
        for (uint64_t j = 0; bias && j < each * positions; j++)
            out[j] += bias->data[group * each + j / positions];
    }
    return STATUS_OK;
}

/* The largest where the operator has a `pair`, else the mean. */
static enum status pool(struct onnx_step *step)
{
    const struct onnx_array *in = step->in[0];
    const bool padded = onnx_step_whole(step, "count_include_pad", 0) != 0;
    struct window window;
    uint64_t shape[4];

    TRY(read_window(step, 0, 0, &window));
    if (padded && onnx_step_whole(step, "ceil_mode", 0))
        return onnx_step_fail(step, "the reference in fp64 has no mean that counts the padding of "
                                    "windows beyond it (ceil_mode)");
    memcpy(shape, (uint64_t[]){in->shape[0], in->shape[1], window.out[0], window.out[1]},
           sizeof(shape));
    TRY(onnx_step_shape(step, 4, shape));
    for (uint64_t i = 0; i < step->out->elements; i++) {
        const uint64_t x = i % shape[3], y = i / shape[3] % shape[2];
        const double *image = in->data + i / (shape[2] * shape[3]) * in->shape[2] * in->shape[3];
        double sum = 0.0, most = -INFINITY;
        uint64_t count = 0;

        for (uint64_t u = 0; u < window.size[0]; u++)
            for (uint64_t v = 0; v < window.size[1]; v++) {
                const double *at = under(&window, image, in->shape[2], in->shape[3], y, x, u, v);

                sum += at ? *at : 0.0;
                most = at && *at > most ? *at : most;
                count += at || padded;
            }
        step->out->data[i] = step->op->pair ? most : sum / (double)count;
    }
    return STATUS_OK;
}

static enum status batch_norm(struct onnx_step *step)
{
    const struct onnx_array *in = step->in[0];
    const double epsilon = onnx_step_number(step, "epsilon", (double)1e-5f);
    uint64_t area = 1;

    if (in->rank < 2)
        return onnx_step_fail(step, "its input has no channels");
    if (onnx_step_whole(step, "training_mode", 0) || !onnx_step_whole(step, "spatial", 1))
        return onnx_step_fail(step, "the reference in fp64 normalises by channels, with the "
                                    "statistics that are given");
    for (size_t i = 1; i < 5; i++)
        if (step->in[i]->elements != in->shape[1])
            return onnx_step_fail(step, "one of its statistics has another number of channels");
    for (size_t i = 2; i < in->rank; i++)
        area *= in->shape[i];
    TRY(onnx_step_shape(step, in->rank, in->shape));
    for (uint64_t i = 0; i < in->elements; i++) {
        const uint64_t c = i / area % in->shape[1];

        step->out->data[i] = (in->data[i] - step->in[3]->data[c]) /
                                 sqrt(step->in[4]->data[c] + epsilon) * step->in[1]->data[c] +
                             step->in[2]->data[c];
    }
    return STATUS_OK;
}

#define WINDOW "auto_pad ceil_mode dilations kernel_shape pads strides"

const struct onnx_operator onnx_window_operators[] = {
    {"Conv", 2, 3, .run = convolution,
     .attributes = "auto_pad dilations group kernel_shape pads strides"},
    {"MaxPool", 1, 1, .run = pool, .pair = fmax, .attributes = WINDOW " storage_order"},
    {"AveragePool", 1, 1, .run = pool, .attributes = WINDOW " count_include_pad"},
    {"BatchNormalization", 5, 5, .run = batch_norm,
     .attributes = "epsilon momentum spatial training_mode"},
    {0},
};
