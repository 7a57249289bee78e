/*
 * Steps in the middle of the window, checked, over prompts that the device has not seen before,
 * which the secret draws: the prefill of all of them, of which the logits of an early position are
 * wanted, and the step behind that one. What both write has NaN in drawn places before, the cache
 * too, and again where the next layer writes it. Logits of all sequences must be finite, and those
 * of a drawn one are compared with the reference, which that early takes few multiply-adds.
 * Then the prompts of the window are there again, and an iteration runs over NaN.
 *
 * The launches are those of the window but for the number of keys: so none was left out, in any
 * layer, and no token or logits were kept from before.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "workloads/generation/generation.h"
#include "workloads/models/gpt2_reference.h"
#include "workloads/models/gpt2_spot.h"

#define STREAM_SPOT 0x73706fu
#define FIRST_SEQUENCE ((uint64_t)1 << 41) /* far from those of the pool and of calibration */
#define SPAN 64                            /* elements */
#define PLACES 2                           /* of the cache, in each layer */

struct spot {
    struct generation_instance *instance;
    struct random random;
    uint64_t slot; /* whose logits are compared */
    int32_t *prompts;
    struct workload_check live, greedy;
    struct inference_findings findings;
};

static enum status retire(void *observer, enum gpt2_buffer buffer, struct error *err)
{
    struct spot *spot = observer;

    return gpt2_poison_drawn(generation_model(spot->instance), buffer, &spot->random, err);
}

/*
 * Drawn places of the keys and values of positions [first, end). A framework's prefill writes the
 * whole cache, wherever they are there, and its step what is put into the cache afterwards.
 */
static enum status poison_cache(struct spot *spot, uint64_t first, uint64_t end, struct error *err)
{
    const struct gpt2_device *model = generation_model(spot->instance);
    const struct gpt2_device_plan *plan = &model->plan;
    const uint64_t row = 2 * plan->shape.width, count = row < SPAN ? row : SPAN;

    if (spot->instance->framework && first > 0)
        return generation_framework_poison(spot->instance, &spot->random, err);
    for (uint64_t i = 0; i < PLACES * plan->shape.layers; i++) {
        const uint64_t slot =
            spot->instance->first + random_next_below(&spot->random, spot->instance->count);
        const uint64_t position = first + random_next_below(&spot->random, end - first);
        const uint64_t block =
            (uint64_t)spot->instance->blocks[slot * plan->pages + position / plan->page];

        TRY(gpt2_poison(model, GPT2_CACHE,
                        ((i / PLACES * plan->blocks + block) * plan->page + position % plan->page) *
                                row +
                            random_next_below(&spot->random, row - count + 1),
                        count, err));
    }
    return STATUS_OK;
}

/* The step that is set, over NaN; then a drawn span of the logits of every sequence. */
static enum status run_over_nan(struct spot *spot, struct error *err)
{
    struct gpt2_device *model = generation_model(spot->instance);
    const uint64_t vocabulary = model->plan.shape.vocabulary;
    const uint64_t count = vocabulary < SPAN ? vocabulary : SPAN;
    float got[SPAN];
    enum status status = gpt2_poison_all(model, &spot->random, err);

    model->retire = retire;
    model->observer = spot;
    if (status == STATUS_OK)
        status = generation_run(spot->instance, err);
    model->retire = NULL;
    model->observer = NULL;
    if (status == STATUS_OK)
        status = device_synchronize(model->device, err);
    for (uint64_t s = 0; s < model->step.outputs && status == STATUS_OK; s++) {
        const uint64_t at = s * gpt2_logits_stride(&model->plan) +
                            random_next_below(&spot->random, vocabulary - count + 1);

        status = gpt2_device_fetch(model, GPT2_LOGITS, at, count, got, err);
        for (uint64_t j = 0; j < count && status == STATUS_OK; j++)
            spot->live.error += !isfinite(got[j]);
        spot->live.compared += count;
    }
    if (status == STATUS_OK && spot->instance->framework)
        status = generation_framework_live(spot->instance, &spot->live, err);
    return status;
}

/* The drawn sequence's logits at the last of `length` tokens, and the next, which goes there. */
static enum status compare(struct spot *spot, int32_t *tokens, uint64_t length, bool last,
                           struct error *err)
{
    struct inference_instance *inference = &spot->instance->inference;
    const struct gpt2_device *model = inference->gpt2.model;
    const uint64_t vocabulary = model->plan.shape.vocabulary;
    float *got = malloc(vocabulary * sizeof(*got));
    struct gpt2_reference *reference = NULL;
    enum status status = got ? inference_take_weights(inference, err) : error_no_memory(err);

    if (status == STATUS_OK)
        status =
            gpt2_device_fetch(model, GPT2_LOGITS, spot->slot * gpt2_logits_stride(&model->plan),
                              vocabulary, got, err);
    if (status == STATUS_OK)
        status = device_download(
            model->buffers[GPT2_TOKENS],
            ((spot->instance->first + spot->slot) * gpt2_token_stride(&model->plan) + length) *
                sizeof(*tokens),
            tokens + length, sizeof(*tokens), err);
    if (status == STATUS_OK)
        generation_check_choice(got, vocabulary, tokens[length], &spot->greedy);
    if (status == STATUS_OK)
        status = gpt2_reference_create(&model->plan.shape, 1, length, false, &reference, err);
    if (status == STATUS_OK)
        status = gpt2_reference_forward(reference, inference->weights, tokens, NULL, err);
    if (status == STATUS_OK)
        inference_compare_row(got, reference->logits + (length - 1) * vocabulary, vocabulary,
                              spot->slot, length - 1, last, &spot->findings);
    if (status == STATUS_OK && last && model->plan.quantised)
        status = inference_check_head(inference, spot->slot, got, &spot->findings.head, err);
    gpt2_reference_destroy(reference);
    free(got);
    return status;
}

/* Prefill and, where the iteration has one, a step; `count` tokens of the prompts count. */
static enum status check_steps(struct spot *spot, uint64_t count, bool decode, struct error *err)
{
    struct generation_instance *instance = spot->instance;
    const uint64_t prompt = instance->parameters->prompt;
    int32_t *tokens = malloc((count + 2) * sizeof(*tokens));
    enum status status = generation_begin(instance, spot->prompts, err);

    if (!tokens)
        return error_no_memory(err);
    memcpy(tokens, spot->prompts + spot->slot * prompt, count * sizeof(*tokens));
    if (status == STATUS_OK)
        status = poison_cache(spot, 0, count, err);
    for (uint64_t at = 0; at < count && status == STATUS_OK; at += instance->parameters->chunk) {
        status = generation_set_prefill(instance, at, count - 1, err);
        if (status == STATUS_OK)
            status = run_over_nan(spot, err);
    }
    if (status == STATUS_OK)
        status = compare(spot, tokens, count, !decode, err);
    if (status == STATUS_OK && decode)
        status = generation_set_decode(instance, count, err);
    if (status == STATUS_OK && decode)
        status = poison_cache(spot, count, count + 1, err);
    if (status == STATUS_OK && decode)
        status = run_over_nan(spot, err);
    if (status == STATUS_OK && decode)
        status = compare(spot, tokens, count + 1, true, err);
    free(tokens);
    return status;
}

/* The window's prompts again, and an iteration, over NaN where it is a step. */
static enum status go_on(struct spot *spot, struct error *err)
{
    struct generation_instance *instance = spot->instance;
    enum status status;

    if (instance->parameters->measure != GENERATION_DECODE) {
        status = generation_iterate(&instance->inference.gpt2.base, err);
        return status == STATUS_OK ? device_synchronize(instance->inference.gpt2.base.device, err)
                                   : status;
    }
    status = generation_begin(instance, generation_prompts(instance, 0), err);
    if (status == STATUS_OK)
        status = generation_replay(instance, 1, err);
    if (status == STATUS_OK)
        status = generation_set_decode(instance, instance->parameters->prompt, err);
    if (status == STATUS_OK)
        status =
            poison_cache(spot, instance->parameters->prompt, instance->parameters->prompt + 1, err);
    if (status == STATUS_OK)
        status = run_over_nan(spot, err);
    instance->outputs = 2;
    return status;
}

enum status generation_spot_check(struct workload_instance *base, uint64_t secret,
                                  workload_check_fn *report, void *context, struct error *err)
{
    struct generation_instance *instance = (struct generation_instance *)base;
    const struct gpt2_device_plan *plan = &generation_model(instance)->plan;
    const uint64_t prompt = instance->parameters->prompt;
    const bool decode = generation_outputs(instance->parameters) > 1;
    const uint64_t prefix = gpt2_spot_prefix(&plan->shape, prompt + decode);
    struct check_sink sink = {.report = report, .context = context, .err = err};
    struct spot spot = {
        .instance = instance,
        .prompts = malloc(instance->count * prompt * sizeof(*spot.prompts)),
        .greedy = GENERATION_GREEDY,
        .live = {.output = "logits.live",
                 .metric = "count",
                 .reason = "a step writes every logit, and each is finite"},
    };
    int32_t *targets = malloc(prompt * sizeof(*targets));
    enum status status = STATUS_OK;

    if (!spot.prompts || !targets)
        status = error_no_memory(err);
    random_init(&spot.random, secret, STREAM_SPOT);
    for (uint64_t s = 0; s < instance->count && status == STATUS_OK; s++)
        token_source_sequence(instance->inference.source,
                              FIRST_SEQUENCE + random_next_below(&spot.random, FIRST_SEQUENCE),
                              prompt, spot.prompts + s * prompt, targets);
    spot.slot = random_next_below(&spot.random, instance->count);
    if (status == STATUS_OK)
        status = check_steps(&spot, prefix - decode, decode, err);
    if (status == STATUS_OK)
        status = go_on(&spot, err);
    if (status == STATUS_OK) {
        check_sink_report(&sink, spot.live, "logits that the step did not write");
        check_sink_report(&sink, spot.greedy, "the device took another token");
        inference_report(&instance->inference, &spot.findings, &sink);
        status = gpt2_check_norms(generation_model(instance), &spot.random, &sink, err);
    }
    free(targets);
    free(spot.prompts);
    return status == STATUS_OK ? sink.status : status;
}
