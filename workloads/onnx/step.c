/* What operators are made of: their inputs, attributes and outputs, and where elements lie. */
#include "workloads/onnx/reference.h"

#include <stdlib.h>
#include <string.h>

#define ELEMENTS_MAX ((uint64_t)1 << 31)

const char *onnx_node_name(const struct onnx_node *node)
{
    return node->name[0] ? node->name : node->output_count > 0 ? node->outputs[0] : "?";
}

enum status onnx_step_fail(const struct onnx_step *step, const char *what)
{
    return error_set(step->err, STATUS_INVALID, "node \"%s\" (%s) of the model: %s",
                     onnx_node_name(step->node), step->node->operator, what);
}

enum status onnx_step_shape_of(struct onnx_step *step, size_t output, size_t rank,
                               const uint64_t *shape)
{
    struct onnx_array *out = &step->out[output];

    if (rank > ONNX_RANK_MAX)
        return onnx_step_fail(step, "its result has more than 8 dimensions");
    out->rank = rank;
    out->elements = 1;
    for (size_t i = 0; i < rank; i++) {
        if (shape[i] > 0 && out->elements > ELEMENTS_MAX / shape[i])
            return onnx_step_fail(step, "its result is too large");
        out->shape[i] = shape[i];
        out->elements *= shape[i];
    }
    if (step->shapes_alone && (!step->known || out->elements > ONNX_KNOWN_MAX))
        return STATUS_OK;
    out->data = calloc(out->elements + 1, sizeof(double));
    return out->data ? STATUS_OK : error_no_memory(step->err);
}

enum status onnx_step_ready(const struct onnx_step *step)
{
    bool ready = true;

    for (size_t i = 0; i < step->out_count; i++)
        ready = ready && step->out[i].data;
    for (size_t i = 0; i < step->out_count && !ready; i++) {
        free(step->out[i].data);
        step->out[i].data = NULL;
    }
    return ready ? STATUS_OK : ONNX_SHAPE_ALONE;
}

enum status onnx_step_shape(struct onnx_step *step, size_t rank, const uint64_t *shape)
{
    TRY(onnx_step_shape_of(step, 0, rank, shape));
    return onnx_step_ready(step);
}

int64_t onnx_step_whole(const struct onnx_step *step, const char *attribute, int64_t otherwise)
{
    const struct onnx_attribute *found = onnx_node_attribute(step->node, attribute);

    return found ? found->whole : otherwise;
}

double onnx_step_number(const struct onnx_step *step, const char *attribute, double otherwise)
{
    const struct onnx_attribute *found = onnx_node_attribute(step->node, attribute);

    return found ? (double)found->number : otherwise;
}

const char *onnx_step_word(const struct onnx_step *step, const char *attribute,
                           const char *otherwise)
{
    const struct onnx_attribute *found = onnx_node_attribute(step->node, attribute);

    return found ? found->word : otherwise;
}

size_t onnx_step_choice(const struct onnx_step *step, const char *attribute, const char *otherwise,
                        const char *const *words)
{
    const char *word = onnx_step_word(step, attribute, otherwise);
    size_t number = 0;

    while (words[number] && strcmp(word, words[number]) != 0)
        number++;
    return number;
}

const struct onnx_array *onnx_step_input(const struct onnx_step *step, size_t number)
{
    return number < step->count ? step->in[number] : NULL;
}

enum status onnx_step_numbers(const struct onnx_step *step, size_t input, double *ret,
                              size_t capacity, size_t *ret_count)
{
    const struct onnx_array *in = step->in[input];

    if (in->elements > capacity)
        return onnx_step_fail(step, "an input of it has more numbers than there are dimensions");
    if (!in->data)
        return onnx_step_fail(step, "its shape depends on what an input of the model holds, which "
                                    "the reference in fp64 must know beforehand");
    for (uint64_t i = 0; i < in->elements; i++)
        ret[i] = in->data[i] > 0x1p53 ? 0x1p53 : in->data[i] < -0x1p53 ? -0x1p53 : in->data[i];
    *ret_count = (size_t)in->elements;
    return STATUS_OK;
}

enum status onnx_step_list(const struct onnx_step *step, const char *attribute, size_t input,
                           int64_t *ret, size_t capacity, size_t *ret_count)
{
    const struct onnx_attribute *list = onnx_node_attribute(step->node, attribute);
    double numbers[ONNX_INPUTS_MAX];
    size_t count = ONNX_ABSENT;

    capacity = capacity < ONNX_INPUTS_MAX ? capacity : ONNX_INPUTS_MAX;
    if (onnx_step_input(step, input)) {
        TRY(onnx_step_numbers(step, input, numbers, capacity, &count));
        for (size_t i = 0; i < count; i++)
            ret[i] = (int64_t)numbers[i];
    } else if (list) {
        count = list->count;
        if (count > capacity)
            return onnx_step_fail(step, "an attribute of it has more numbers than dimensions");
        for (size_t i = 0; i < count; i++)
            ret[i] = list->list[i];
    }
    *ret_count = count;
    return STATUS_OK;
}

bool onnx_axis(int64_t axis, size_t rank, size_t *ret)
{
    const int64_t dimensions = (int64_t)rank;

    *ret = (size_t)(axis < 0 ? axis + dimensions : axis);
    return axis >= -dimensions && axis < dimensions;
}

enum status onnx_step_axis(const struct onnx_step *step, int64_t otherwise, size_t *ret)
{
    return onnx_axis(onnx_step_whole(step, "axis", otherwise), step->in[0]->rank, ret)
               ? STATUS_OK
               : onnx_step_fail(step, "its axis is beyond its input's dimensions");
}

/* ---- where elements lie ---- */

bool onnx_broadcast(const struct onnx_array *a, const struct onnx_array *b, size_t *ret_rank,
                    uint64_t *ret)
{
    const size_t ra = a->rank, rb = b->rank, rank = ra > rb ? ra : rb;
    uint64_t shape[ONNX_RANK_MAX];

    for (size_t i = 0; i < rank; i++) {
        const uint64_t x = i + ra < rank ? 1 : a->shape[i + ra - rank];
        const uint64_t y = i + rb < rank ? 1 : b->shape[i + rb - rank];

        if (x != y && x != 1 && y != 1)
            return false;
        shape[i] = x == 1 ? y : x;
    }
    memcpy(ret, shape, rank * sizeof(shape[0]));
    *ret_rank = rank;
    return true;
}

uint64_t onnx_place(const struct onnx_array *array, size_t own, const uint64_t *shape, size_t rank,
                    uint64_t index)
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

void onnx_span(const struct onnx_array *array, size_t axis, uint64_t *outer, uint64_t *side,
               uint64_t *inner)
{
    *outer = *inner = 1;
    for (size_t i = 0; i < axis; i++)
        *outer *= array->shape[i];
    *side = axis < array->rank ? array->shape[axis] : 1;
    for (size_t i = axis + 1; i < array->rank; i++)
        *inner *= array->shape[i];
}

/* ---- element by element ---- */

enum status onnx_step_together(struct onnx_step *step)
{
    struct onnx_array all = *step->in[0];

    for (size_t k = 1; k < step->count; k++)
        if (!step->in[k] || !onnx_broadcast(&all, step->in[k], &all.rank, all.shape))
            return onnx_step_fail(step, "the shapes of its inputs do not fit");
    return onnx_step_shape(step, all.rank, all.shape);
}

double onnx_step_at(const struct onnx_step *step, size_t k, uint64_t index)
{
    const struct onnx_array *in = step->in[k], *out = step->out;

    return in->data[in->elements == out->elements
                        ? index
                        : onnx_place(in, in->rank, out->shape, out->rank, index)];
}

enum status onnx_step_fold(struct onnx_step *step, double (*pair)(double x, double y))
{
    TRY(onnx_step_together(step));
    for (uint64_t i = 0; i < step->out->elements; i++) {
        step->out->data[i] = onnx_step_at(step, 0, i);
        for (size_t k = 1; k < step->count; k++)
            step->out->data[i] = pair(step->out->data[i], onnx_step_at(step, k, i));
    }
    return STATUS_OK;
}

enum status onnx_step_map(struct onnx_step *step, double (*map)(double x))
{
    TRY(onnx_step_shape(step, step->in[0]->rank, step->in[0]->shape));
    for (uint64_t i = 0; i < step->out->elements; i++)
        step->out->data[i] = map(step->in[0]->data[i]);
    return STATUS_OK;
}

enum status onnx_step_map_with(struct onnx_step *step, double (*map)(double x, double a, double b),
                               double a, double b)
{
    TRY(onnx_step_shape(step, step->in[0]->rank, step->in[0]->shape));
    for (uint64_t i = 0; i < step->out->elements; i++)
        step->out->data[i] = map(step->in[0]->data[i], a, b);
    return STATUS_OK;
}
