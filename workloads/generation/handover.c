/*
 * Tokens by another program: weights and prompts in a file; its tokens and the logits of its latest
 * step against the reference over the tokens that it chose.
 */
#include <math.h>
#include <stdlib.h>

#include "harness/core/cleanup.h"
#include "workloads/data/element.h"
#include "workloads/generation/generation.h"
#include "workloads/models/gpt2_handover.h"
#include "workloads/models/gpt2_graph.h"

static enum status write_file(const struct workload_case *work, const uint64_t *secret,
                              const char *path, struct error *err)
{
    const struct generation_parameters *parameters = work->workload->parameters;
    const struct gpt2_device_plan plan = generation_plan(work);

    return gpt2_handover_write(&parameters->inference.task, &plan, work->seed, secret, path, err);
}

static void finish(struct generation_instance *instance)
{
    inference_finish(&instance->inference);
}

/* Tokens of a foreign program are compared with the vocabulary before they are indices. */
static enum status check_range(const struct generation_instance *instance, struct error *err)
{
    const uint64_t room = instance->handed->shape[1];
    const uint64_t vocabulary = generation_model(instance)->plan.shape.vocabulary;
    const int32_t *tokens = instance->handed->data;

    for (uint64_t i = 0; i < tensor_elements(instance->handed); i++)
        if (i % room < instance->outputs && (tokens[i] < 0 || (uint64_t)tokens[i] >= vocabulary))
            return error_set(err, STATUS_CHECK_FAILED,
                             "output `tokens`: token %llu of sequence %llu is %d, and the "
                             "vocabulary has %llu",
                             (unsigned long long)(i % room), (unsigned long long)(i / room),
                             (int)tokens[i], (unsigned long long)vocabulary);
    return STATUS_OK;
}

/* Of all sequences, as narrow logits may have several largest ones. */
static void check_greedy(const struct generation_instance *instance, struct check_sink *sink)
{
    const struct tensor *logits = instance->inference.handed;
    const uint64_t room = instance->handed->shape[1], vocabulary = logits->shape[1];
    const int32_t *tokens = instance->handed->data;
    struct workload_check greedy = GENERATION_GREEDY;

    greedy.reason = "the token taken is one of the largest logits";
    greedy.compared = instance->count;
    for (uint64_t s = 0; s < instance->count; s++) {
        const uint64_t chosen = (uint64_t)tokens[s * room + instance->outputs - 1];
        double largest = -INFINITY;

        for (uint64_t v = 0; v < vocabulary; v++)
            largest = fmax(largest, element_decode(logits->type, logits->data, s * vocabulary + v));
        greedy.error +=
            !(element_decode(logits->type, logits->data, s * vocabulary + chosen) >= largest);
    }
    check_sink_report(sink, greedy, "a token that is not its largest logit's was taken");
}

static enum status compare(struct generation_instance *instance, uint64_t drawn, bool whole,
                           struct inference_findings *findings, struct error *err)
{
    const struct gpt2_shape *shape = &generation_model(instance)->plan.shape;
    const uint64_t sequences = instance->count;
    const uint64_t wanted = whole ? instance->parameters->inference.verify_sequences : 1;
    const uint64_t checked = wanted < sequences ? wanted : sequences;
    CLEANUP(stack_reference_drop) struct stack_reference *reference = NULL;
    struct workload_check greedy = GENERATION_GREEDY; /* of all: check_greedy */

    TRY(inference_take_weights(&instance->inference, err));
    TRY(gpt2_reference_create(shape, 1, instance->parameters->prompt + instance->outputs - 1, false,
                              &reference, err));
    for (uint64_t i = 0; i < checked; i++)
        TRY(generation_compare(instance, (drawn + i * sequences / checked) % sequences, reference,
                               findings, &greedy, err));
    return STATUS_OK;
}

/* Steps of `decode` go round over the outputs behind the first, over the pool's first prompts. */
static void place(struct generation_instance *instance, int64_t iteration)
{
    const struct generation_parameters *parameters = instance->parameters;
    const uint64_t before = (uint64_t)iteration - 1;
    const bool steps = parameters->measure == GENERATION_DECODE;

    instance->outputs =
        steps ? 2 + before % (parameters->output - 1) : generation_outputs(parameters);
    instance->inference.current = steps ? 0 : before % GPT2_HANDOVER_POOL;
}

static enum status judge(const struct workload_handed *handed, struct check_sink *sink,
                         struct error *err)
{
    const struct workload_case *work = handed->work;
    const struct generation_parameters *parameters = work->workload->parameters;
    struct gpt2_device model = {.plan = generation_plan(work)};
    const struct gpt2_device_plan *plan = &model.plan;
    CLEANUP(finish)
    struct generation_instance instance = {
        .inference = {.gpt2 = {.base.work = *work, .model = &model}},
        .parameters = parameters,
        .count = plan->sequences};
    const uint64_t tokens[] = {plan->sequences, generation_outputs(parameters)};
    const uint64_t logits[] = {plan->sequences, plan->shape.vocabulary};
    const uint64_t drawn = handed->secret ? *handed->secret % plan->sequences : 0;
    struct inference_findings findings = {0};

    instance.inference.pool =
        malloc(GPT2_HANDOVER_POOL * plan->sequences * plan->length * sizeof(int32_t));
    if (!instance.inference.pool)
        return error_no_memory(err);
    TRY(tensors_find(handed->outputs, "tokens", DTYPE_I32, DTYPE_I32, 2, tokens, &instance.handed,
                     err));
    TRY(tensors_find(handed->outputs, "logits", DTYPE_F32, plan->storage, 2, logits,
                     &instance.inference.handed, err));
    TRY(gpt2_handover_tokens(&parameters->inference.task, plan, work->seed, handed->secret,
                             instance.inference.pool, NULL, err));
    place(&instance, handed->iteration);
    TRY(check_range(&instance, err));
    TRY(compare(&instance, (uint64_t)handed->iteration + drawn, handed->whole, &findings, err));
    inference_report_handed(&instance.inference, &findings, sink);
    check_greedy(&instance, sink);
    return STATUS_OK;
}

const struct workload_handover generation_handover = {write_file, judge};
