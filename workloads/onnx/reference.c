#include "workloads/onnx/reference.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ELEMENTS_MAX ((uint64_t)1 << 31)
#define OPERATORS_LEAST 13 /* Softmax of an axis, axes as inputs */

struct slot {
    struct onnx_array array;
    bool fixed;      /* a tensor's: kept from run to run */
    size_t last_use; /* the last node that reads it */
};

struct onnx_reference {
    const struct onnx_model *model;
    struct slot *slots;
    size_t count, fixed; /* the first `fixed` are tensors' */
};

static const struct onnx_operator *find_operator(const char *name)
{
    const struct onnx_operator *const tables[] = {onnx_operators, onnx_window_operators};

    for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]); t++)
        for (const struct onnx_operator *known = tables[t]; known->name; known++)
            if (!strcmp(known->name, name))
                return known;
    return NULL;
}

enum status onnx_reference_check(const struct onnx_model *model, struct error *err)
{
    if (model->operators < OPERATORS_LEAST)
        return error_set(err, STATUS_UNSUPPORTED,
                         "its operators are of version %lld, the reference has those from %d on",
                         (long long)model->operators, OPERATORS_LEAST);
    for (size_t i = 0; i < model->node_count; i++) {
        const struct onnx_node *node = &model->nodes[i];
        const struct onnx_operator *known = find_operator(node->operator);

        if (!known || (node->domain[0] && strcmp(node->domain, "ai.onnx") != 0))
            return error_set(err, STATUS_UNSUPPORTED,
                             "its node \"%s\" is of the operator %s, which the reference in "
                             "fp64 does not have",
                             node->name[0] ? node->name : node->outputs[0], node->operator);
        if (node->input_count < known->least || node->input_count > known->most ||
            node->output_count < 1)
            return error_set(err, STATUS_UNSUPPORTED,
                             "its node \"%s\" has %zu inputs, and %s has %zu to %zu", node->name,
                             node->input_count, known->name, known->least, known->most);
        for (size_t o = 1; o < node->output_count; o++)
            if (node->outputs[o][0])
                return error_set(err, STATUS_UNSUPPORTED,
                                 "its node \"%s\" has %zu outputs, the reference computes one",
                                 node->name, node->output_count);
    }
    return STATUS_OK;
}

static struct slot *find_slot(const struct onnx_reference *reference, const char *name)
{
    for (size_t i = 0; i < reference->count; i++)
        if (!strcmp(reference->slots[i].array.name, name))
            return &reference->slots[i];
    return NULL;
}

static enum status take_tensor(struct onnx_reference *reference, const struct onnx_tensor *tensor,
                               struct error *err)
{
    struct slot *slot = &reference->slots[reference->count];

    *slot =
        (struct slot){.array = {.name = tensor->name,
                                .rank = tensor->rank,
                                .elements = tensor->elements,
                                .whole = tensor->type == ONNX_INT32 || tensor->type == ONNX_INT64},
                      .fixed = true};
    memcpy(slot->array.shape, tensor->shape, sizeof(slot->array.shape));
    slot->array.data = calloc(tensor->elements + 1, sizeof(double));
    if (!slot->array.data)
        return error_set(err, STATUS_NO_MEMORY, "no memory for the reference of a model");
    reference->fixed = ++reference->count;
    return onnx_tensor_values(tensor, slot->array.data, err);
}

enum status onnx_reference_create(const struct onnx_model *model, struct onnx_reference **ret,
                                  struct error *err)
{
    struct onnx_reference *reference = calloc(1, sizeof(*reference));
    enum status status = onnx_reference_check(model, err);

    if (status == STATUS_OK && reference) {
        reference->model = model;
        reference->slots = calloc(model->tensor_count + model->input_count + model->node_count,
                                  sizeof(*reference->slots));
    }
    if (status == STATUS_OK && (!reference || !reference->slots))
        status = error_set(err, STATUS_NO_MEMORY, "no memory for the reference of a model");
    for (size_t i = 0; i < model->tensor_count && status == STATUS_OK; i++)
        status = take_tensor(reference, &model->tensors[i], err);
    if (status == STATUS_OK)
        *ret = reference;
    else
        onnx_reference_destroy(reference);
    return status;
}

/* All but the tensors. */
static void forget(struct onnx_reference *reference)
{
    for (size_t i = reference->fixed; i < reference->count; i++)
        free(reference->slots[i].array.data);
    reference->count = reference->fixed;
}

void onnx_reference_destroy(struct onnx_reference *reference)
{
    if (!reference)
        return;
    reference->fixed = 0;
    forget(reference);
    free(reference->slots);
    free(reference);
}

static void free_unused(struct onnx_reference *reference, const struct onnx_node *node,
                        size_t number)
{
    for (size_t i = 0; i < node->input_count; i++) {
        struct slot *slot = find_slot(reference, node->inputs[i]);

        if (slot && !slot->fixed && slot->last_use == number) {
            free(slot->array.data);
            slot->array.data = NULL;
        }
    }
}

static enum status run_node(struct onnx_reference *reference, size_t number, struct error *err)
{
    const struct onnx_model *model = reference->model;
    const struct onnx_node *node = &model->nodes[number];
    const struct onnx_operator *operator= find_operator(node->operator);
    struct slot *slot = &reference->slots[reference->count];
    struct onnx_step step = {.node = node, .count = node->input_count, .out = &slot->array};
    enum status status = STATUS_OK;

    step.err = err;
    *slot = (struct slot){.array = {.name = node->outputs[0]}, .last_use = SIZE_MAX};
    for (size_t i = 0; i < node->input_count; i++) {
        const struct slot *in = find_slot(reference, node->inputs[i]);

        if (!node->inputs[i][0] && i >= operator->least)
            continue;
        if (!in || !in->array.data)
            return onnx_step_fail(&step, "an input of it is computed by no node before");
        step.in[i] = &in->array;
    }
    slot->array.whole = step.in[0] && step.in[0]->whole;
    if (operator->run)
        status = operator->run(&step);
    else {
        status = onnx_step_shape(&step, step.in[0]->rank, step.in[0]->shape);
        for (uint64_t i = 0; i < slot->array.elements && status == STATUS_OK; i++)
            slot->array.data[i] = operator->map(step.in[0]->data[i]);
    }
    if (status != STATUS_OK) {
        free(slot->array.data);
        return status;
    }
    for (size_t n = number + 1; n < model->node_count; n++)
        for (size_t i = 0; i < model->nodes[n].input_count; i++)
            if (!strcmp(model->nodes[n].inputs[i], node->outputs[0]))
                slot->last_use = n;
    for (size_t i = 0; i < model->output_count; i++)
        if (!strcmp(model->outputs[i].name, node->outputs[0]))
            slot->last_use = SIZE_MAX;
    reference->count++;
    free_unused(reference, node, number);
    return STATUS_OK;
}

static enum status take_input(struct onnx_reference *reference, const struct onnx_array *input,
                              struct error *err)
{
    struct slot *slot = &reference->slots[reference->count];

    *slot = (struct slot){.array = *input, .last_use = SIZE_MAX};
    slot->array.data = malloc((input->elements + 1) * sizeof(double));
    if (!slot->array.data)
        return error_set(err, STATUS_NO_MEMORY, "no memory for the reference of a model");
    memcpy(slot->array.data, input->data, input->elements * sizeof(double));
    reference->count++;
    return STATUS_OK;
}

static enum status give_output(const struct onnx_reference *reference, struct onnx_array *output,
                               struct error *err)
{
    const struct slot *slot = find_slot(reference, output->name);

    if (!slot || !slot->array.data)
        return error_set(err, STATUS_INVALID, "no node of the model computes \"%s\"", output->name);
    if (slot->array.rank != output->rank ||
        memcmp(slot->array.shape, output->shape, output->rank * sizeof(output->shape[0])) != 0)
        return error_set(err, STATUS_INVALID,
                         "with these inputs the model's output \"%s\" has %llu elements in %zu "
                         "dimensions, which is not the shape that is declared",
                         output->name, (unsigned long long)slot->array.elements, slot->array.rank);
    output->data = slot->array.data;
    return STATUS_OK;
}

enum status onnx_reference_run(struct onnx_reference *reference, const struct onnx_array *inputs,
                               size_t input_count, struct onnx_array *outputs, size_t output_count,
                               struct error *err)
{
    enum status status = STATUS_OK;

    forget(reference);
    for (size_t i = 0; i < input_count && i < reference->model->input_count && status == STATUS_OK;
         i++)
        status = take_input(reference, &inputs[i], err);
    for (size_t i = 0; i < reference->model->node_count && status == STATUS_OK; i++)
        status = run_node(reference, i, err);
    for (size_t i = 0; i < output_count && status == STATUS_OK; i++)
        status = give_output(reference, &outputs[i], err);
    return status;
}

/* ---- steps ---- */

enum status onnx_step_fail(const struct onnx_step *step, const char *what)
{
    const struct onnx_node *node = step->node;

    return error_set(step->err, STATUS_INVALID, "node \"%s\" (%s) of the model: %s",
                     node->name[0] ? node->name : node->outputs[0], node->operator, what);
}

enum status onnx_step_shape(struct onnx_step *step, size_t rank, const uint64_t *shape)
{
    struct onnx_array *out = step->out;

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
    out->data = calloc(out->elements + 1, sizeof(double));
    return out->data
               ? STATUS_OK
               : error_set(step->err, STATUS_NO_MEMORY, "no memory for the reference of a model");
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

bool onnx_step_axis(const struct onnx_step *step, int64_t otherwise, size_t *ret)
{
    const int64_t rank = (int64_t)step->in[0]->rank;
    const int64_t axis = onnx_step_whole(step, "axis", otherwise);

    *ret = (size_t)(axis < 0 ? axis + rank : axis);
    return axis >= -rank && axis < rank;
}
