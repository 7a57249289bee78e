#include "workloads/models/stack_reference.h"

#include <math.h>
#include <stdlib.h>

#include "harness/core/cleanup.h"
#include "workloads/storage.h"

#define FP32_TOLERANCE 1e-4
#define FP32_LOSS_TOLERANCE 1e-5
#define TF32_ROUNDOFF 0x1p-11 /* 10 stored bits of an operand of a product */

static enum status no_memory(const struct stack_reference *ref, uint64_t elements,
                             struct error *err)
{
    return error_set(err, STATUS_NO_MEMORY, "the fp64 reference needs %.1f GiB of host memory",
                     (double)(elements + ref->layout.elements) * sizeof(double) / 0x1p30);
}

static enum status lend_out(struct stack_reference *ref, struct error *err)
{
    const uint64_t count = ref->rows * ref->columns;

    ref->out = malloc(count * sizeof(*ref->out));
    if (!ref->out)
        return no_memory(ref, count, err);
    graph_lend(ref->graph.graph, ref->graph.out);
    return STATUS_OK;
}

/* From a drawn parameter on as many as fit. */
static enum status lend_gradients(struct stack_reference *ref, const struct stack_wanted *wanted,
                                  struct error *err)
{
    const struct graph_value *values = ref->graph.graph->values;
    const size_t count = ref->layout.count;
    const size_t first = wanted->random ? random_next_below(wanted->random, count) : 0;
    uint64_t room = wanted->gradients;

    for (size_t k = 0; k < count; k++) {
        const size_t i = (first + k) % count;
        const struct graph_value *value = &values[ref->layout.parameters[i].value];

        if (value->count > room)
            continue;
        ref->gradients[i] = malloc(value->count * sizeof(**ref->gradients));
        if (!ref->gradients[i])
            return no_memory(ref, ref->rows * ref->columns, err);
        room -= value->count;
        graph_lend(ref->graph.graph, value->gradient);
    }
    return STATUS_OK;
}

/* What callers read is their memory, not the interpreter's. */
static enum status prepare(struct stack_reference *ref, const struct stack_wanted *wanted,
                           struct error *err)
{
    const struct graph *graph = ref->graph.graph;

    TRY(stack_layout_init(&ref->layout, graph, wanted->align, err));
    ref->rows = graph_size(&graph->values[ref->graph.out], 0);
    ref->columns = graph_size(&graph->values[ref->graph.out], 1);
    ref->gradients = calloc(ref->layout.count, sizeof(*ref->gradients));
    if (!ref->gradients)
        return error_no_memory(err);
    if (wanted->out)
        TRY(lend_out(ref, err));
    TRY(lend_gradients(ref, wanted, err));
    if (ref->graph.loss)
        graph_lend(ref->graph.graph, ref->graph.loss);
    TRY(graph_interpreter_create(graph, &ref->interpreter, err));
    if (wanted->out)
        graph_interpreter_lend(ref->interpreter, ref->graph.out, ref->out);
    if (ref->graph.loss)
        graph_interpreter_lend(ref->interpreter, ref->graph.loss, &ref->loss);
    for (size_t i = 0; i < ref->layout.count; i++)
        if (ref->gradients[i])
            graph_interpreter_lend(ref->interpreter,
                                   graph->values[ref->layout.parameters[i].value].gradient,
                                   ref->gradients[i]);
    return STATUS_OK;
}

enum status stack_reference_create(struct stack_graph *graph, const struct stack_wanted *wanted,
                                   struct stack_reference **ret, struct error *err)
{
    CLEANUP(stack_reference_drop) struct stack_reference *ref = calloc(1, sizeof(*ref));

    if (!ref) {
        stack_graph_finish(graph);
        return error_no_memory(err);
    }
    ref->graph = *graph;
    TRY(prepare(ref, wanted, err));
    *ret = ref;
    ref = NULL;
    return STATUS_OK;
}

void stack_reference_destroy(struct stack_reference *reference)
{
    if (!reference)
        return;
    for (size_t i = 0; reference->gradients && i < reference->layout.count; i++)
        free(reference->gradients[i]);
    graph_interpreter_destroy(reference->interpreter);
    stack_layout_finish(&reference->layout);
    stack_graph_finish(&reference->graph);
    free(reference->gradients);
    free(reference->out);
    free(reference);
}

void stack_reference_drop(struct stack_reference **reference)
{
    stack_reference_destroy(*reference);
}

void stack_reference_give(struct stack_reference *ref, const float *weights, const int32_t *tokens,
                          const int32_t *targets)
{
    for (size_t i = 0; weights && i < ref->layout.count; i++) {
        const struct stack_parameter *parameter = &ref->layout.parameters[i];

        graph_interpreter_give(ref->interpreter, parameter->value,
                               (struct graph_array){.f32 = weights + parameter->offset});
    }
    graph_interpreter_give(ref->interpreter, ref->graph.tokens,
                           (struct graph_array){.i32 = tokens});
    if (targets)
        graph_interpreter_give(ref->interpreter, ref->graph.targets,
                               (struct graph_array){.i32 = targets});
}

enum status stack_reference_forward(struct stack_reference *ref, const float *weights,
                                    const int32_t *tokens, const int32_t *targets,
                                    struct error *err)
{
    stack_reference_give(ref, weights, tokens, targets);
    return graph_interpreter_run(ref->interpreter, 0, ref->graph.forward + (targets ? 1 : 0), err);
}

enum status stack_reference_backward(struct stack_reference *ref, struct error *err)
{
    return graph_interpreter_run(ref->interpreter, ref->graph.forward + 1,
                                 ref->graph.graph->node_count, err);
}

/* ---- how far off results may be ---- */

struct stack_tolerance stack_tolerance_of(enum precision precision, enum dtype storage,
                                          uint64_t arrays, uint64_t tokens)
{
    const double narrow =
        precision == PRECISION_TF32 ? TF32_ROUNDOFF : storage_unit_roundoff(storage);
    const double root = narrow * sqrt((double)arrays);
    struct stack_tolerance ret = {
        FP32_TOLERANCE,
        FP32_LOSS_TOLERANCE,
        FP32_TOLERANCE,
        "fp32 rounding (2^-24 an operation) through every layer's sums gives 1e-6; a wrong term "
        "gives 1e-2 and more",
        "a mean of fp32 logarithms: 1e-7 each, and what the logits carry in",
    };

    if (precision == PRECISION_FP32)
        return ret;
    ret.out += 1.6 * root;
    ret.gradient += 2.0 * sqrt(2.0) * root;
    ret.loss += 0.5 * narrow + 1.6 * root / sqrt((double)tokens);
    ret.reason = "a few times the independent roundings of all narrow arrays on the way (twice for "
                 "gradients), besides fp32's";
    ret.loss_reason = "what the logits carry in, over the root of the number of tokens, and half a "
                      "rounding";
    return ret;
}

uint64_t stack_arrays(const struct stack_graph *graph)
{
    uint64_t ret = graph->forward;

    for (size_t i = 0; i < graph->graph->value_count; i++)
        ret += graph->graph->values[i].role == GRAPH_PARAMETER &&
               graph->graph->values[i].shape.rank > 1;
    return ret;
}
