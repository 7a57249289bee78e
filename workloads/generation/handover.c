/*
 * Tokens by another program: weights and prompts in a file; its tokens and the logits of its latest
 * step against the reference over the tokens that it chose.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "workloads/data/element.h"
#include "harness/core/cleanup.h"
#include "workloads/generation/generation.h"
#include "workloads/models/gpt2_handover.h"
#include "workloads/models/gpt2_reference.h"

static enum status write_file(const struct workload_case *work, bool inputs_only,
                              const uint64_t *secret, const char *path, struct error *err)
{
    const struct generation_parameters *parameters = work->workload->parameters;
    const struct gpt2_device_plan plan = generation_plan(work);

    if (plan.quantised)
        return error_set(err, STATUS_UNSUPPORTED,
                         "int8 is not handed over: its scales follow from assay's calibration");
    return gpt2_handover_write(&parameters->inference.task, &plan, work->seed, inputs_only, secret,
                               path, err);
}

/* What is compared: what an iteration left. */
struct handed {
    const struct workload_case *work;
    const struct generation_parameters *parameters;
    struct gpt2_device_plan plan;
    const struct tensor *tokens, *logits;
    const int32_t *prompts; /* (batch, prompt), that it began with */
    const float *weights;
    uint64_t made; /* tokens of each sequence; the logits gave the last of them */
    struct inference_findings findings;
};

/* Tokens of a foreign program are compared with the vocabulary before they are indices. */
static enum status check_range(const struct handed *handed, struct error *err)
{
    const uint64_t room = handed->tokens->shape[1], vocabulary = handed->plan.shape.vocabulary;
    const int32_t *tokens = handed->tokens->data;

    for (uint64_t i = 0; i < tensor_elements(handed->tokens); i++)
        if (i % room < handed->made && (tokens[i] < 0 || (uint64_t)tokens[i] >= vocabulary))
            return error_set(err, STATUS_CHECK_FAILED,
                             "output `tokens`: token %llu of sequence %llu is %d, and the "
                             "vocabulary has %llu",
                             (unsigned long long)(i % room), (unsigned long long)(i / room),
                             (int)tokens[i], (unsigned long long)vocabulary);
    return STATUS_OK;
}

static void check_greedy(const struct handed *handed, struct check_sink *sink)
{
    const uint64_t room = handed->tokens->shape[1], vocabulary = handed->plan.shape.vocabulary;
    const int32_t *tokens = handed->tokens->data;
    struct workload_check greedy = GENERATION_GREEDY;

    greedy.reason = "the token taken is one of the largest logits";
    for (uint64_t s = 0; s < handed->plan.sequences; s++) {
        const uint64_t chosen = (uint64_t)tokens[s * room + handed->made - 1];
        double largest = -INFINITY;

        for (uint64_t v = 0; v < vocabulary; v++)
            largest = fmax(largest, element_decode(handed->logits->type, handed->logits->data,
                                                   s * vocabulary + v));
        greedy.error += !(element_decode(handed->logits->type, handed->logits->data,
                                         s * vocabulary + chosen) >= largest);
        greedy.compared++;
    }
    check_sink_report(sink, greedy, "a token that is not its largest logit's was taken");
}

/* One sequence: prompt and tokens through the reference. */
static enum status compare_sequence(struct handed *handed, struct gpt2_reference *reference,
                                    uint64_t sequence, int32_t *text, float *row, struct error *err)
{
    const uint64_t vocabulary = handed->plan.shape.vocabulary, prompt = handed->parameters->prompt;
    const uint64_t position = reference->length - 1;

    memcpy(text, handed->prompts + sequence * prompt, prompt * sizeof(*text));
    memcpy(text + prompt,
           (const int32_t *)handed->tokens->data + sequence * handed->tokens->shape[1],
           handed->made * sizeof(*text));
    TRY(gpt2_reference_forward(reference, handed->weights, text, NULL, err));
    for (uint64_t v = 0; v < vocabulary; v++)
        row[v] = (float)element_decode(handed->logits->type, handed->logits->data,
                                       sequence * vocabulary + v);
    inference_compare_row(row, reference->logits + position * vocabulary, vocabulary, sequence,
                          position, handed->made == generation_outputs(handed->parameters),
                          &handed->findings);
    generation_note_choices(text, prompt, handed->made, reference, &handed->findings);
    return STATUS_OK;
}

static enum status compare(struct handed *handed, uint64_t drawn, bool whole, struct error *err)
{
    const uint64_t sequences = handed->plan.sequences,
                   length = handed->parameters->prompt + handed->made - 1;
    const uint64_t wanted = whole ? handed->parameters->inference.verify_sequences : 1;
    const uint64_t checked = wanted < sequences ? wanted : sequences;
    int32_t *text = malloc((length + 1) * sizeof(*text));
    float *row = malloc(handed->plan.shape.vocabulary * sizeof(*row));
    struct gpt2_reference *reference = NULL;
    enum status status =
        text && row ? gpt2_reference_create(&handed->plan.shape, 1, length, false, &reference, err)
                    : error_no_memory(err);

    for (uint64_t i = 0; i < checked && status == STATUS_OK; i++)
        status = compare_sequence(handed, reference, (drawn + i * sequences / checked) % sequences,
                                  text, row, err);
    gpt2_reference_destroy(reference);
    free(row);
    free(text);
    return status;
}

/* Steps of `decode` go round over the outputs behind the first, over the pool's first prompts. */
static void place(struct handed *handed, int64_t iteration, const int32_t *pool)
{
    const struct generation_parameters *parameters = handed->parameters;
    const uint64_t before = (uint64_t)iteration - 1;
    const bool steps = parameters->measure == GENERATION_DECODE;

    handed->made = steps ? 2 + before % (parameters->output - 1) : generation_outputs(parameters);
    handed->prompts =
        pool +
        (steps ? 0 : before % GPT2_HANDOVER_POOL * handed->plan.sequences * parameters->prompt);
}

static enum status judge(const struct workload_case *work, const uint64_t *secret,
                         const struct tensors *outputs, int64_t iteration, bool whole,
                         workload_check_fn *report, void *context, struct error *err)
{
    struct handed handed = {
        .work = work, .parameters = work->workload->parameters, .plan = generation_plan(work)};
    const struct gpt2_device_plan *plan = &handed.plan;
    const uint64_t sequences = plan->sequences;
    const uint64_t tokens[] = {sequences, generation_outputs(handed.parameters)};
    const uint64_t logits[] = {sequences, plan->shape.vocabulary};
    struct check_sink sink = {.report = report, .context = context, .err = err};
    AUTO_FREE int32_t *pool = malloc(GPT2_HANDOVER_POOL * sequences * plan->length * sizeof(*pool));
    AUTO_FREE float *weights = malloc(gpt2_array_length(&plan->shape) * sizeof(*weights));

    if (!(pool && weights))
        return error_no_memory(err);
    TRY(tensors_find(outputs, "tokens", DTYPE_I32, DTYPE_I32, 2, tokens, &handed.tokens, err));
    TRY(tensors_find(outputs, "logits", DTYPE_F32, plan->storage, 2, logits, &handed.logits, err));
    TRY(gpt2_handover_tokens(&handed.parameters->inference.task, plan, work->seed, secret, pool,
                             NULL, err));
    gpt2_initialise(&plan->shape, work->seed, weights);
    handed.weights = weights;
    place(&handed, iteration, pool);
    TRY(check_range(&handed, err));
    TRY(compare(&handed, (uint64_t)iteration + (secret ? *secret % sequences : 0), whole, err));
    inference_report_handed(work, plan, handed.logits, &handed.findings, &sink);
    check_greedy(&handed, &sink);
    TRY(sink.status);
    return STATUS_OK;
}

const struct workload_handover generation_handover = {write_file, judge};
