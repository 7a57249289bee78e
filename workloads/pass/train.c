/*
 * The step of training: the stack's graph with its gradients in a session, over parameters, moments
 * and gradients that lie in one array each, so that AdamW takes two launches. Batches are drawn
 * anew for each step; targets are the tokens that follow.
 */
#include <stdio.h>
#include <stdlib.h>

#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "harness/core/random.h"
#include "workloads/graph/plan.h"
#include "workloads/pass/pass.h"
#include "workloads/storage.h"

#define TRAIN_STREAM 0x74726169u /* "trai" */

const struct declaration_field pass_train_fields[] = {
    ADAMW_DECLARATION_FIELDS(struct pass_train_section, adamw),
    FIELD_END,
};

/* ---- the declaration ---- */

static enum status check_precisions(const struct declaration *declaration,
                                    const struct workload_declaration *common, struct error *err)
{
    for (uint32_t i = 0; i < common->precisions_count; i++) {
        char path[32];

        snprintf(path, sizeof(path), "precisions[%u]", (unsigned)i);
        if (common->precisions[i] == PRECISION_FP16)
            return declaration_error(declaration, path, err,
                                     "gradients in fp16 need a loss scale, which a stack's step "
                                     "has not; train in fp32 or bf16");
    }
    return STATUS_OK;
}

/* Every block must have one; next to a tie of scores, rounding decides what a router trains. */
static enum status check_derivatives(const struct declaration *declaration,
                                     const struct stack *stack, struct error *err)
{
    for (uint32_t p = 0; p < stack->stack_count; p++)
        for (uint32_t i = 0; i < stack->stack[p].of_count; i++) {
            char path[64];

            if (stack->stack[p].of[i].kind != STACK_MOE ||
                stack->stack[p].of[i].moe.routing.law != MOE_MODEL)
                continue;
            snprintf(path, sizeof(path), "model.stack[%u].of[%u].moe.routing.law", (unsigned)p,
                     (unsigned)i);
            return declaration_error(declaration, path, err,
                                     "a mixture is trained by a law that says which experts a "
                                     "token has; write law: uniform or law: zipf, or remove "
                                     "`train`");
        }
    return STATUS_OK;
}

enum status pass_train_check(const struct declaration *declaration,
                             const struct workload_declaration *common,
                             struct pass_train_section *written, struct pass_parameters *ret,
                             struct error *err)
{
    const struct stack_part *last = &ret->stack.stack[ret->stack.stack_count - 1];
    const struct stack_block *head = &last->of[last->of_count - 1];
    const int64_t tokens = ret->stack.stack[0].of[0].embedding.vocabulary;

    ret->trains = declaration_has(declaration, "train");
    if (!ret->trains)
        return STATUS_OK;
    if (ret->decode.context)
        return declaration_error(declaration, "train", err,
                                 "a step trains whole sequences: remove `decode`, and write "
                                 "`sequence_length`, or remove `train`");
    TRY(check_precisions(declaration, common, err));
    TRY(adamw_declaration_check(declaration, "train", &written->adamw, err));
    ret->adamw = written->adamw;
    TRY(check_derivatives(declaration, &ret->stack, err));
    ret->stack.trains = true;
    if (ret->length < 2)
        return declaration_error(declaration, "sequence_length", err,
                                 "of one token attention has no gradient; write at least 2");
    if (head->kind != STACK_HEAD || head->head.vocabulary < tokens)
        return declaration_error(declaration, "train", err,
                                 "the loss is of the next token: a stack that is trained ends in a "
                                 "head of at least %lld tokens, as many as are embedded",
                                 (long long)tokens);
    return STATUS_OK;
}

/* ---- arrays ---- */

/* What does not lie with other values: probabilities, which are made again, and gradients of
 * parameters. */
static void lend(struct graph *graph)
{
    for (uint32_t i = 0; i < graph->value_count; i++) {
        if (graph->values[i].shape.rank > 2)
            graph_lend(graph, i);
        if (graph->values[i].role == GRAPH_PARAMETER)
            for (uint32_t k = graph->values[i].gradient; k != GRAPH_NONE;
                 k = graph_gradient_before(graph, k))
                graph_lend(graph, k);
    }
}

enum status pass_train_bytes(const struct pass_parameters *parameters, uint64_t sequences,
                             enum dtype storage, unsigned __int128 *ret, uint64_t *ret_largest,
                             struct error *err)
{
    const uint64_t size = dtype_bits(storage) / 8, f32 = sizeof(float);
    CLEANUP(stack_graph_finish) struct stack_graph graph = {0};
    CLEANUP(stack_layout_finish) struct stack_layout layout = {0};
    CLEANUP(graph_plan_finish) struct graph_plan plan = {0};
    uint64_t elements;

    TRY(pass_build(parameters, sequences, parameters->length, &graph, err));
    lend(graph.graph);
    TRY(graph_plan_init(&plan, graph.graph, err));
    TRY(stack_layout_init(&layout, graph.graph, PASS_TRAIN_ALIGN, err));
    elements = layout.elements;
    *ret = (unsigned __int128)elements * (3 * f32 + size + (storage == DTYPE_F32 ? 0 : size)) +
           (unsigned __int128)plan.pool * size +
           OP_TOKENS_LENGTH((unsigned __int128)sequences * parameters->length) * sizeof(int32_t) +
           PASS_LOSS_SLOTS * f32 + pass_moe_bytes(&graph);
    *ret_largest = elements * f32;
    for (uint32_t i = 0; i < graph.graph->value_count; i++)
        if (!graph.graph->values[i].lent && graph.graph->values[i].count * size > *ret_largest)
            *ret_largest = graph.graph->values[i].count * size;
    return STATUS_OK;
}

enum status pass_train_allocate(struct pass_instance *instance, struct error *err)
{
    struct pass_training *training = instance->training = calloc(1, sizeof(*training));
    const uint64_t rows = instance->sequences * instance->length, f32 = sizeof(float);
    const uint64_t size = dtype_bits(instance->type) / 8, elements = instance->layout.elements;

    const struct adamw_arrays *arrays;

    if (!training)
        return error_no_memory(err);
    arrays = &training->of.arrays;
    training->of.graph = &instance->graph;
    training->of.layout = &instance->layout;
    training->of.session = &instance->session;
    training->of.arrays.storage = instance->type;
    training->batch = calloc(OP_TOKENS_LENGTH(rows), sizeof(int32_t));
    training->next = calloc(OP_TOKENS_LENGTH(rows), sizeof(int32_t));
    if (!training->batch || !training->next)
        return error_no_memory(err);
    {
        const struct {
            struct buffer **at;
            uint64_t bytes;
        } wanted[] = {
            {&training->of.arrays.weights, elements * f32},
            {&training->of.arrays.moment1, elements * f32},
            {&training->of.arrays.moment2, elements * f32},
            {&training->of.arrays.gradients, elements * size},
            {&training->of.losses, PASS_LOSS_SLOTS * f32},
            {&training->of.arrays.copy, instance->type == DTYPE_F32 ? 0 : elements * size},
        };

        for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
            if (wanted[i].bytes > 0)
                TRY(device_buffer_alloc(instance->base.device, wanted[i].bytes, BUFFER_READ_WRITE,
                                        wanted[i].at, err));
    }
    for (size_t i = 0; i < instance->layout.count; i++) {
        const struct stack_parameter *parameter = &instance->layout.parameters[i];

        trained_place(&instance->session, parameter, arrays->copy ? arrays->copy : arrays->weights,
                      parameter->offset, arrays->gradients);
    }
    instance->session.places[instance->graph.loss] = (struct session_place){
        .buffer = training->of.losses, .type = DTYPE_F32, .columns = 1, .stride = 1};
    return STATUS_OK;
}

/* The batch of step `steps`. */
static enum status make_next(struct pass_instance *instance, struct error *err)
{
    struct pass_training *training = instance->training;
    const uint64_t rows = instance->sequences * instance->length, length = instance->length;
    const uint64_t first = training->steps * instance->sequences * (length + 1);

    for (uint64_t r = 0; r < rows; r++)
        for (uint64_t k = 0; k < 2; k++)
            training->next[k * rows + r] =
                (int32_t)(random_at(instance->base.work.seed, TRAIN_STREAM,
                                    first + r / length * (length + 1) + r % length + k) %
                          (uint64_t)instance->vocabulary);
    return op_tokens_index(training->next, rows, &training->next_unique, err);
}

enum status pass_train_begin(struct pass_instance *instance, struct error *err)
{
    const struct adamw_arrays *arrays = &instance->training->of.arrays;
    struct buffer *const zeroed[] = {arrays->moment1, arrays->moment2, arrays->gradients};
    const uint64_t size = dtype_bits(instance->type) / 8, elements = instance->layout.elements;

    for (size_t i = 0; i < sizeof(zeroed) / sizeof(zeroed[0]); i++)
        TRY(op_clear(instance->ops, (struct operand){zeroed[i], 0}, zeroed[i]->bytes / size, err));
    TRY(device_synchronize(instance->base.device, err));
    TRY(storage_upload(arrays->weights, DTYPE_F32, 0, instance->weights, elements, err));
    if (arrays->copy)
        TRY(storage_upload(arrays->copy, instance->type, 0, instance->weights, elements, err));
    return make_next(instance, err);
}

void pass_train_finish(struct pass_instance *instance)
{
    struct pass_training *training = instance->training;

    if (!training)
        return;
    device_buffer_free(training->of.arrays.weights);
    device_buffer_free(training->of.arrays.moment1);
    device_buffer_free(training->of.arrays.moment2);
    device_buffer_free(training->of.arrays.gradients);
    device_buffer_free(training->of.arrays.copy);
    device_buffer_free(training->of.losses);
    free(training->batch);
    free(training->next);
    free(training);
}

/* ---- the step ---- */

uint64_t pass_train_slot(uint64_t step)
{
    return step == 0 ? 0 : 1 + (step - 1) % (PASS_LOSS_SLOTS - 1);
}

enum status pass_train_give(struct pass_instance *instance, const int32_t *indices, uint64_t rows,
                            uint64_t length, uint64_t unique, struct error *err)
{
    instance->given = (struct op_tokens){
        .buffer = instance->input, .rows = rows, .length = length, .unique = unique};
    return device_upload(instance->input, 0, indices, OP_TOKENS_LENGTH(rows) * sizeof(*indices),
                         err);
}

enum status pass_train_passes(struct pass_instance *instance, struct error *err)
{
    instance->session.slot = pass_train_slot(instance->training->steps);
    return session_run(&instance->session, 0, instance->graph.graph->node_count, err);
}

enum status pass_train_update(struct pass_instance *instance, struct error *err)
{
    const struct pass_parameters *parameters = instance->base.work.workload->parameters;
    struct pass_training *training = instance->training;

    return trained_update(&training->of, &parameters->adamw, ++training->steps, err);
}

/* AdamW reads the gradients, and reads and writes parameters and moments. */
static struct trace_operation traced_update(const struct pass_instance *instance)
{
    const struct adamw_arrays *arrays = &instance->training->of.arrays;

    return (struct trace_operation){
        .name = "parameters",
        .kind = "adamw",
        .bytes = 2 * (arrays->weights->bytes + arrays->moment1->bytes + arrays->moment2->bytes) +
                 arrays->gradients->bytes + (arrays->copy ? arrays->copy->bytes : 0)};
}

enum status pass_train_iterate(struct pass_instance *instance, struct error *err)
{
    struct pass_training *training = instance->training;
    struct trace *trace = instance->base.trace;
    const struct trace_operation update = traced_update(instance);
    const struct trace_operation copy = {
        .name = "tokens",
        .kind = TRACE_COPY_IN,
        .bytes = OP_TOKENS_LENGTH(instance->sequences * instance->length) * sizeof(int32_t)};
    int32_t *batch = training->next;

    training->next = training->batch;
    training->batch = batch;
    TRY(pass_train_give(instance, batch, instance->sequences * instance->length, instance->length,
                        training->next_unique, err));
    TRY(trace_mark(trace, &copy, err));
    TRY(pass_train_passes(instance, err));
    TRY(pass_train_update(instance, err));
    TRY(trace_mark(trace, &update, err));
    return make_next(instance, err); /* while the device is busy */
}

json_t *pass_train_loss(const struct pass_instance *instance)
{
    const uint64_t steps = instance->training->steps;
    float first = 0.0f, last = 0.0f;

    if (steps == 0 ||
        storage_download(instance->training->of.losses, DTYPE_F32, 0, 1, &first, NULL) !=
            STATUS_OK ||
        storage_download(instance->training->of.losses, DTYPE_F32, pass_train_slot(steps - 1), 1,
                         &last, NULL) != STATUS_OK)
        return NULL;
    return json_pack("{s:I, s:o, s:o}", "steps", (json_int_t)steps, "first_nats",
                     real_or_null((double)first), "last_nats", real_or_null((double)last));
}
