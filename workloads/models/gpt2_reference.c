#include "workloads/models/gpt2_reference.h"

#include <stdlib.h>

#include "harness/core/cleanup.h"
#include "workloads/graph/interpreter.h"
#include "workloads/models/gpt2_graph.h"

struct gpt2_reference_state {
    struct gpt2_graph model;
    struct graph_interpreter *interpreter;
};

static enum status no_memory(const struct gpt2_reference *ref, struct error *err)
{
    const uint64_t logits = ref->sequences * ref->length * ref->shape.vocabulary;

    return error_set(err, STATUS_NO_MEMORY, "the fp64 reference needs %.1f GiB of host memory",
                     (double)(logits + gpt2_array_length(&ref->shape)) * sizeof(double) / 0x1p30);
}

/* What callers read is their memory, not the interpreter's. */
static enum status prepare(struct gpt2_reference *ref, bool training, struct error *err)
{
    struct gpt2_graph *model = &ref->state->model;

    ref->logits = malloc(ref->sequences * ref->length * ref->shape.vocabulary * sizeof(double));
    if (training)
        ref->gradients = calloc(gpt2_array_length(&ref->shape), sizeof(double));
    if (!ref->logits || (training && !ref->gradients))
        return no_memory(ref, err);
    TRY(gpt2_graph_init(model, &ref->shape, ref->sequences, ref->length, training, err));
    TRY(graph_interpreter_create(model->graph, &ref->state->interpreter, err));
    graph_interpreter_lend(ref->state->interpreter, model->logits, ref->logits);
    graph_interpreter_lend(ref->state->interpreter, model->loss, &ref->loss);
    for (size_t i = 0; training && i < gpt2_tensor_count(&ref->shape); i++)
        graph_interpreter_lend(ref->state->interpreter, model->graph->values[i].gradient,
                               ref->gradients + gpt2_tensor_at(&ref->shape, i).offset);
    return STATUS_OK;
}

enum status gpt2_reference_create(const struct gpt2_shape *shape, uint64_t sequences,
                                  uint64_t length, bool training, struct gpt2_reference **ret,
                                  struct error *err)
{
    CLEANUP(gpt2_reference_drop) struct gpt2_reference *ref = calloc(1, sizeof(*ref));

    if (!ref)
        return error_no_memory(err);
    ref->shape = *shape;
    ref->sequences = sequences;
    ref->length = length;
    ref->state = calloc(1, sizeof(*ref->state));
    if (!ref->state)
        return error_no_memory(err);
    TRY(prepare(ref, training, err));
    *ret = ref;
    ref = NULL;
    return STATUS_OK;
}

void gpt2_reference_destroy(struct gpt2_reference *reference)
{
    if (!reference)
        return;
    if (reference->state) {
        graph_interpreter_destroy(reference->state->interpreter);
        gpt2_graph_finish(&reference->state->model);
    }
    free(reference->state);
    free(reference->logits);
    free(reference->gradients);
    free(reference);
}

void gpt2_reference_drop(struct gpt2_reference **reference)
{
    gpt2_reference_destroy(*reference);
}

static void give(struct gpt2_reference *ref, const float *parameters, const int32_t *tokens,
                 const int32_t *targets)
{
    struct graph_interpreter *interpreter = ref->state->interpreter;

    for (size_t i = 0; i < gpt2_tensor_count(&ref->shape); i++)
        graph_interpreter_give(
            interpreter, (uint32_t)i,
            (struct graph_array){.f32 = parameters + gpt2_tensor_at(&ref->shape, i).offset});
    graph_interpreter_give(interpreter, ref->state->model.tokens,
                           (struct graph_array){.i32 = tokens});
    graph_interpreter_give(interpreter, ref->state->model.targets,
                           (struct graph_array){.i32 = targets});
}

enum status gpt2_reference_forward(struct gpt2_reference *ref, const float *parameters,
                                   const int32_t *tokens, const int32_t *targets, struct error *err)
{
    give(ref, parameters, tokens, targets);
    return graph_interpreter_run(ref->state->interpreter, 0,
                                 ref->state->model.loss_node + (targets ? 1 : 0), err);
}

enum status gpt2_reference_backward(struct gpt2_reference *ref, const float *parameters,
                                    const int32_t *tokens, const int32_t *targets,
                                    struct error *err)
{
    give(ref, parameters, tokens, targets);
    return graph_interpreter_run(ref->state->interpreter, ref->state->model.loss_node + 1,
                                 ref->state->model.graph->node_count, err);
}
