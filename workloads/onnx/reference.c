#include "workloads/onnx/reference.h"
#include "harness/core/cleanup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OPERATORS_LEAST 7 /* from which on two arrays are broadcast as they are today */

struct slot {
    struct onnx_array array;
    bool fixed;      /* a tensor's: kept from run to run */
    size_t last_use; /* the last node that reads it */
};

struct onnx_reference {
    const struct onnx_model *model;
    struct slot *slots;
    size_t count, fixed; /* the first `fixed` are tensors' */
    bool shapes_alone;
};

static const struct onnx_operator *find_operator(const struct onnx_node *node)
{
    const struct onnx_operator *const tables[] = {onnx_operators, onnx_move_operators,
                                                  onnx_window_operators, onnx_resize_operators};

    if (node->domain[0] && strcmp(node->domain, "ai.onnx") != 0)
        return NULL;
    for (size_t t = 0; t < sizeof(tables) / sizeof(tables[0]); t++)
        for (const struct onnx_operator *known = tables[t]; known->name; known++)
            if (!strcmp(known->name, node->operator))
                return known;
    return NULL;
}

/* Whether `word` is one of those in `words`, which blanks separate. */
static bool is_among(const char *word, const char *words)
{
    const size_t length = strlen(word);

    for (const char *at = words; at && *at; at += strcspn(at, " "), at += *at == ' ')
        if (strcspn(at, " ") == length && !strncmp(at, word, length))
            return true;
    return false;
}

static enum status check_node(const struct onnx_node *node, struct error *err)
{
    const struct onnx_operator *known = find_operator(node);
    const char *name = onnx_node_name(node);

    if (!known)
        return error_set(err, STATUS_UNSUPPORTED,
                         "its node \"%s\" is of the operator %s%s%s, which the reference in fp64 "
                         "does not have",
                         name, node->domain, node->domain[0] ? "." : "", node->operator);
    if (node->input_count < known->least || node->input_count > known->most ||
        node->output_count < 1)
        return error_set(err, STATUS_UNSUPPORTED,
                         "its node \"%s\" (%s) has %zu inputs, and the reference in fp64 takes %zu "
                         "to %zu",
                         name, known->name, node->input_count, known->least, known->most);
    for (size_t i = 0; i < node->attribute_count; i++)
        if (!is_among(node->attributes[i].name, known->attributes))
            return error_set(err, STATUS_UNSUPPORTED,
                             "its node \"%s\" (%s) has the attribute %s, which the reference in "
                             "fp64 does not know",
                             name, known->name, node->attributes[i].name);
    if (known->outputs && node->output_count > known->outputs)
        return error_set(err, STATUS_UNSUPPORTED,
                         "its node \"%s\" (%s) has %zu outputs, and the reference in fp64 computes "
                         "%zu at most",
                         name, known->name, node->output_count, known->outputs);
    return STATUS_OK;
}

static enum status check_nodes(const struct onnx_model *model, struct error *err)
{
    if (model->operators < OPERATORS_LEAST)
        return error_set(err, STATUS_UNSUPPORTED,
                         "its operators are of version %lld, the reference in fp64 has those from "
                         "%d on",
                         (long long)model->operators, OPERATORS_LEAST);
    for (size_t i = 0; i < model->node_count; i++)
        TRY(check_node(&model->nodes[i], err));
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

    *slot = (struct slot){.array = {.name = tensor->name,
                                    .rank = tensor->rank,
                                    .elements = tensor->elements,
                                    .whole = onnx_type_is_whole(tensor->type)},
                          .fixed = true};
    memcpy(slot->array.shape, tensor->shape, sizeof(slot->array.shape));
    reference->fixed = ++reference->count;
    if (reference->shapes_alone && tensor->elements > ONNX_KNOWN_MAX)
        return onnx_tensor_check(tensor, err);
    slot->array.data = calloc(tensor->elements + 1, sizeof(double));
    return slot->array.data ? onnx_tensor_values(tensor, slot->array.data, err)
                            : error_no_memory(err);
}

static size_t count_slots(const struct onnx_model *model)
{
    size_t count = model->tensor_count + model->input_count;

    for (size_t i = 0; i < model->node_count; i++)
        count += model->nodes[i].output_count;
    return count;
}

static void drop(struct onnx_reference **reference)
{
    onnx_reference_destroy(*reference);
}

static enum status create(const struct onnx_model *model, bool shapes_alone,
                          struct onnx_reference **ret, struct error *err)
{
    CLEANUP(drop) struct onnx_reference *reference = NULL;

    TRY(check_nodes(model, err));
    reference = calloc(1, sizeof(*reference));
    if (!reference)
        return error_no_memory(err);
    reference->model = model;
    reference->shapes_alone = shapes_alone;
    reference->slots = calloc(count_slots(model), sizeof(*reference->slots));
    if (!reference->slots)
        return error_no_memory(err);
    for (size_t i = 0; i < model->tensor_count; i++)
        TRY(take_tensor(reference, &model->tensors[i], err));
    *ret = reference;
    reference = NULL;
    return STATUS_OK;
}

enum status onnx_reference_create(const struct onnx_model *model, struct onnx_reference **ret,
                                  struct error *err)
{
    return create(model, false, ret, err);
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

/* ---- a run ---- */

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

static size_t last_use_of(const struct onnx_model *model, const char *name, size_t number)
{
    size_t last = number;

    for (size_t i = 0; i < model->output_count; i++)
        if (!strcmp(model->outputs[i].name, name))
            return SIZE_MAX;
    for (size_t n = number + 1; n < model->node_count; n++)
        for (size_t i = 0; i < model->nodes[n].input_count; i++)
            if (!strcmp(model->nodes[n].inputs[i], name))
                last = n;
    return last;
}

static enum status take_inputs(const struct onnx_reference *reference, struct onnx_step *step)
{
    const struct onnx_node *node = step->node;

    step->known = true;
    for (size_t i = 0; i < node->input_count; i++) {
        const struct slot *in = find_slot(reference, node->inputs[i]);

        if (!node->inputs[i][0] && i >= step->op->least)
            continue;
        if (!in || (!in->array.data && !reference->shapes_alone))
            return error_set(step->err, STATUS_INVALID,
                             "node \"%s\" (%s) of the model: the reference in fp64 computes its "
                             "input \"%s\" at no node before it",
                             onnx_node_name(node), node->operator, node->inputs[i]);
        step->in[i] = &in->array;
        step->known = step->known && (in->array.data || step->op->of_shapes);
    }
    return STATUS_OK;
}

static enum status run_operator(struct onnx_step *step)
{
    const struct onnx_operator *op = step->op;
    enum status status;

    step->out->whole |= op->truth;
    status = op->run   ? op->run(step)
             : op->map ? onnx_step_map(step, op->map)
                       : onnx_step_fold(step, op->pair);
    return status == ONNX_SHAPE_ALONE && step->shapes_alone ? STATUS_OK : status;
}

static enum status run_node(struct onnx_reference *reference, size_t number, struct error *err)
{
    const struct onnx_model *model = reference->model;
    const struct onnx_node *node = &model->nodes[number];
    const struct onnx_operator *op = find_operator(node);
    struct onnx_array outs[ONNX_OUTPUTS_MAX];
    struct onnx_step step = {.node = node,
                             .version = model->operators,
                             .count = node->input_count,
                             .out = outs,
                             .out_count = op->outputs ? node->output_count : 1,
                             .shapes_alone = reference->shapes_alone,
                             .op = op,
                             .err = err};
    enum status status = take_inputs(reference, &step);

    for (size_t i = 0; i < step.out_count; i++)
        outs[i] =
            (struct onnx_array){.name = node->outputs[i], .whole = step.in[0] && step.in[0]->whole};
    if (status == STATUS_OK)
        status = run_operator(&step);
    for (size_t i = 0; i < step.out_count; i++)
        if (status == STATUS_OK)
            reference->slots[reference->count++] = (struct slot){
                .array = outs[i], .last_use = last_use_of(model, node->outputs[i], number)};
        else
            free(outs[i].data);
    if (status == STATUS_OK && !reference->shapes_alone)
        free_unused(reference, node, number);
    return status;
}

static enum status take_input(struct onnx_reference *reference, const struct onnx_array *input,
                              struct error *err)
{
    struct slot *slot = &reference->slots[reference->count];

    *slot = (struct slot){.array = *input, .last_use = SIZE_MAX};
    slot->array.data = NULL;
    reference->count++;
    if (reference->shapes_alone)
        return STATUS_OK;
    slot->array.data = malloc((input->elements + 1) * sizeof(double));
    if (!slot->array.data)
        return error_no_memory(err);
    memcpy(slot->array.data, input->data, input->elements * sizeof(double));
    return STATUS_OK;
}

static enum status give_output(const struct onnx_reference *reference, struct onnx_array *output,
                               struct error *err)
{
    const struct slot *slot = find_slot(reference, output->name);

    if (!slot || (!slot->array.data && !reference->shapes_alone))
        return error_set(err, STATUS_INVALID,
                         "the reference in fp64 computes the model's output \"%s\" at no node",
                         output->name);
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
    forget(reference);
    for (size_t i = 0; i < input_count && i < reference->model->input_count; i++)
        TRY(take_input(reference, &inputs[i], err));
    for (size_t i = 0; i < reference->model->node_count; i++)
        TRY(run_node(reference, i, err));
    for (size_t i = 0; i < output_count; i++)
        TRY(give_output(reference, &outputs[i], err));
    return STATUS_OK;
}

enum status onnx_reference_check(const struct onnx_model *model, const struct onnx_array *inputs,
                                 size_t input_count, struct onnx_array *outputs,
                                 size_t output_count, struct error *err)
{
    CLEANUP(drop) struct onnx_reference *reference = NULL;
    enum status status;

    TRY(create(model, true, &reference, err));
    status = onnx_reference_run(reference, inputs, input_count, outputs, output_count, err);
    for (size_t i = 0; i < output_count; i++)
        outputs[i].data = NULL;
    return status;
}
