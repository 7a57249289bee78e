/*
 * Teacher-forced: the reference takes the tokens that the device chose, so its logits are those of
 * the same text at every position. Compared are the logits that the window left and those of drawn
 * steps of a replay of the same prompts; every token must be as good a choice as the tolerance can
 * tell. Keys or values that are wrong at one place of the cache show in all that follows it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/random.h"
#include "workloads/generation/generation.h"
#include "workloads/models/gpt2_graph.h"
#include "workloads/models/gpt2_spot.h"
#include "workloads/storage.h"

#define STREAM_STEPS 0x737465u
#define STEPS 6 /* of a checked replay: the first, the last, and others drawn by the seed */

/* Logits that were fetched from the device, of one checked sequence. */
struct row {
    uint64_t outputs; /* made by then: the logits are those of position prompt + outputs - 2 */
    float *logits;
};

struct passage {
    uint64_t slot, prompt, outputs;
    int32_t *tokens; /* prompt, and what was made */
    struct row rows[STEPS];
    size_t count;
};

static void passage_finish(struct passage *text)
{
    for (size_t r = 0; r < text->count; r++)
        free(text->rows[r].logits);
    free(text->tokens);
}

struct replay {
    struct passage *left, *made; /* of the checked sequences */
    uint64_t checked;
};

static void replay_finish(struct replay *replay)
{
    for (uint64_t i = 0; i < replay->checked; i++) {
        if (replay->left)
            passage_finish(&replay->left[i]);
        if (replay->made)
            passage_finish(&replay->made[i]);
    }
    free(replay->left);
    free(replay->made);
}

static uint64_t slot_of(const struct generation_instance *instance, uint64_t index,
                        uint64_t checked)
{
    const uint64_t slots = instance->count;

    return slots - 1 - index * slots / checked; /* spread over the batch, the last first */
}

/* The logits as they are. */
static enum status fetch_row(const struct generation_instance *instance, struct passage *text,
                             struct error *err)
{
    const struct check_output logits = inference_logits(&instance->inference, instance->count);
    struct row *row = &text->rows[text->count];

    row->outputs = instance->outputs;
    row->logits = malloc(logits.columns * sizeof(*row->logits));
    if (!row->logits)
        return error_no_memory(err);
    text->count++;
    return check_output_row(&logits, text->slot, row->logits, err);
}

/* All tokens of slot `slot` of the device. */
static enum status download_tokens(const struct generation_instance *instance, uint64_t slot,
                                   int32_t *ret, struct error *err)
{
    const struct gpt2_device *model = generation_model(instance);
    const uint64_t bytes = gpt2_token_stride(&model->plan) * sizeof(*ret);

    return device_download(model->buffers[GPT2_TOKENS], slot * bytes, ret, bytes, err);
}

static enum status fetch_tokens(const struct generation_instance *instance, struct passage *text,
                                struct error *err)
{
    const uint64_t prompt = instance->parameters->prompt;
    const struct tensor *handed = instance->handed;

    text->prompt = prompt;
    text->outputs = instance->outputs;
    text->tokens =
        calloc(gpt2_token_stride(&generation_model(instance)->plan), sizeof(*text->tokens));
    if (!text->tokens)
        return error_no_memory(err);
    if (!handed)
        return download_tokens(instance, instance->first + text->slot, text->tokens, err);
    memcpy(text->tokens,
           generation_prompts(instance, instance->inference.current) + text->slot * prompt,
           prompt * sizeof(*text->tokens));
    memcpy(text->tokens + prompt, (const int32_t *)handed->data + text->slot * handed->shape[1],
           text->outputs * sizeof(*text->tokens));
    return STATUS_OK;
}

static bool is_drawn(const struct generation_instance *instance, uint64_t outputs, uint64_t all)
{
    const uint64_t seed = instance->inference.gpt2.base.work.seed;

    if (outputs == 1 || outputs == all)
        return true;
    for (uint64_t i = 2; i < STEPS; i++)
        if (random_at(seed, STREAM_STEPS, i) % all + 1 == outputs)
            return true;
    return false;
}

static enum status fetch_all(const struct generation_instance *instance, struct passage *texts,
                             uint64_t checked, bool tokens, struct error *err)
{
    for (uint64_t i = 0; i < checked; i++) {
        texts[i].slot = slot_of(instance, i, checked);
        TRY(fetch_row(instance, &texts[i], err));
        if (tokens)
            TRY(fetch_tokens(instance, &texts[i], err));
    }
    return STATUS_OK;
}

/* The same prompts from the beginning, with the logits of drawn steps. */
static enum status make_again(struct generation_instance *instance, struct replay *replay,
                              struct error *err)
{
    const uint64_t all = generation_outputs(instance->parameters);

    TRY(generation_replay(instance, 1, err));
    for (;;) {
        const bool is_last = instance->outputs == all;

        if (is_drawn(instance, instance->outputs, all))
            TRY(fetch_all(instance, replay->made, replay->checked, is_last, err));
        if (is_last)
            return STATUS_OK;
        TRY(generation_set_decode(instance, instance->parameters->prompt + instance->outputs - 1,
                                  err));
        TRY(generation_run(instance, err));
        instance->outputs++;
    }
}

/* Every token behind the prompt against the reference's logits at its position. */
static void note_choices(const struct passage *text, const struct stack_reference *reference,
                         struct inference_findings *findings)
{
    const uint64_t vocabulary = reference->columns;

    for (uint64_t i = 0; i < text->outputs; i++) {
        const double *row = reference->out + (text->prompt + i - 1) * vocabulary;
        const uint64_t chosen = (uint64_t)text->tokens[text->prompt + i];
        uint64_t best = 0;

        for (uint64_t v = 1; v < vocabulary; v++)
            best = row[v] > row[best] ? v : best;
        findings->positions++;
        findings->agreed += chosen == best;
        findings->regret =
            fmax(findings->regret, chosen < vocabulary ? row[best] - row[chosen] : INFINITY);
    }
}

static void check_choice(const float *logits, uint64_t vocabulary, int32_t token,
                         struct workload_check *check)
{
    uint64_t best = 0;

    for (uint64_t v = 1; v < vocabulary; v++)
        best = logits[v] > logits[best] ? v : best;
    check->error += (uint64_t)token != best;
    check->compared++;
}

static void compare(const struct generation_instance *instance, const struct passage *text,
                    const struct stack_reference *reference, struct inference_findings *findings,
                    struct workload_check *greedy)
{
    const uint64_t prompt = instance->parameters->prompt;
    const uint64_t vocabulary = reference->columns;
    const uint64_t all = generation_outputs(instance->parameters);

    for (size_t i = 0; i < text->count; i++) {
        const struct row *row = &text->rows[i];
        const uint64_t position = prompt + row->outputs - 2;

        inference_compare_row(row->logits, reference->out + position * vocabulary, vocabulary,
                              text->slot, position, row->outputs == all, findings);
        check_choice(row->logits, vocabulary, text->tokens[prompt + row->outputs - 1], greedy);
    }
    note_choices(text, reference, findings);
}

enum status generation_compare(struct generation_instance *instance, uint64_t slot,
                               struct stack_reference *reference,
                               struct inference_findings *findings, struct workload_check *greedy,
                               struct error *err)
{
    CLEANUP(passage_finish) struct passage text = {.slot = slot};

    TRY(fetch_row(instance, &text, err));
    TRY(fetch_tokens(instance, &text, err));
    TRY(stack_reference_forward(reference, instance->inference.weights, text.tokens, NULL, err));
    compare(instance, &text, reference, findings, greedy);
    return STATUS_OK;
}

/* The reference's logits over `length` tokens of a slot of a server. */
static enum status refer(struct generation_instance *instance, uint64_t slot, uint64_t length,
                         struct passage *ret_text, struct stack_reference **ret, struct error *err)
{
    const struct gpt2_device_plan *plan = &generation_model(instance)->plan;

    ret_text->tokens = malloc(gpt2_token_stride(plan) * sizeof(*ret_text->tokens));
    if (!ret_text->tokens)
        return error_no_memory(err);
    TRY(download_tokens(instance, slot, ret_text->tokens, err));
    TRY(gpt2_reference_create(&plan->shape, 1, length, false, ret, err));
    return stack_reference_forward(*ret, instance->inference.weights, ret_text->tokens, NULL, err);
}

/* Logits that are there of the latest step that served requests; `wanted` of them, the last ones.
 */
static enum status compare_latest(struct generation_instance *instance, uint64_t wanted,
                                  struct inference_findings *findings, struct error *err)
{
    const uint64_t outputs = generation_model(instance)->step.outputs;
    const struct check_output logits = inference_logits(&instance->inference, outputs);
    AUTO_FREE float *got = malloc(logits.columns * sizeof(*got));
    uint64_t row = 0;

    if (!got)
        return error_no_memory(err);
    for (uint64_t p = 0; p < instance->served; p++) {
        const struct gpt2_part part = instance->parts[p];
        CLEANUP(passage_finish) struct passage text = {0};
        CLEANUP(stack_reference_drop) struct stack_reference *reference = NULL;

        if (part.output == GPT2_NO_OUTPUT || row++ + wanted < outputs)
            continue;
        TRY(check_output_row(&logits, row - 1, got, err));
        TRY(refer(instance, part.slot, part.output + 1, &text, &reference, err));
        inference_compare_row(got, reference->out + part.output * logits.columns, logits.columns,
                              part.slot, part.output, false, findings);
    }
    return STATUS_OK;
}

/*
 * What requests of the window left: the logits of the latest step, and all tokens of the latest
 * request of drawn slots, each made in steps together with others.
 */
static enum status compare_served(struct generation_instance *instance, uint64_t wanted,
                                  struct inference_findings *findings, struct error *err)
{
    struct random random;

    TRY(compare_latest(instance, wanted, findings, err));
    random_init(&random, instance->inference.gpt2.base.work.seed, STREAM_STEPS);
    for (uint64_t i = 0; i < 4 * wanted && wanted > 0; i++) {
        const uint64_t slot = random_next_below(&random, instance->first);
        const struct generation_text *left = &instance->left[slot];
        CLEANUP(passage_finish)
        struct passage text = {.prompt = left->prompt, .outputs = left->output};
        CLEANUP(stack_reference_drop) struct stack_reference *reference = NULL;

        if (left->prompt == 0)
            continue;
        wanted--;
        TRY(refer(instance, slot, text.prompt + text.outputs - 1, &text, &reference, err));
        note_choices(&text, reference, findings);
    }
    return STATUS_OK;
}

/* A library prepares each shape before it is timed. */
static enum status prepare_shapes(struct generation_instance *instance, struct error *err)
{
    struct gpt2_device *model = generation_model(instance);

    for (uint64_t rows = 1; model->plan.padded && rows <= model->plan.length; rows *= 2) {
        TRY(generation_set_decode(instance, 0, err));
        model->tokens.rows = rows;
        model->outputs =
            gpt2_step_planned(&model->plan, rows < model->plan.slots ? rows : model->plan.slots);
        TRY(generation_run(instance, err));
    }
    return STATUS_OK;
}

/* What the window left has a reference of its own, unless the replay made the same tokens. */
static enum status compare_all(struct generation_instance *instance, const struct replay *replay,
                               struct inference_findings *findings, struct workload_check *greedy,
                               struct error *err)
{
    const struct gpt2_device_plan *plan = &generation_model(instance)->plan;
    const float *weights = instance->inference.weights;
    const uint64_t prompt = instance->parameters->prompt;
    const uint64_t length = prompt + generation_outputs(instance->parameters) - 1;
    CLEANUP(stack_reference_drop) struct stack_reference *reference = NULL;

    TRY(gpt2_reference_create(&plan->shape, 1, length, false, &reference, err));
    for (uint64_t i = 0; i < replay->checked; i++) {
        const struct passage *made = &replay->made[i], *left = &replay->left[i];

        TRY(stack_reference_forward(reference, weights, made->tokens, NULL, err));
        compare(instance, made, reference, findings, greedy);
        if (left->tokens &&
            memcmp(made->tokens, left->tokens, (prompt + left->outputs) * sizeof(*left->tokens)))
            TRY(stack_reference_forward(reference, weights, left->tokens, NULL, err));
        compare(instance, left, reference, findings, greedy);
        if (plan->quantised && i == 0)
            TRY(inference_check_head(&instance->inference, made->slot,
                                     made->rows[made->count - 1].logits, &findings->head, err));
    }
    return STATUS_OK;
}

static enum status verify(struct workload_instance *base, struct check_sink *sink,
                          struct error *err)
{
    struct generation_instance *instance = (struct generation_instance *)base;
    struct inference_instance *inference = &instance->inference;
    const uint64_t wanted = instance->parameters->inference.verify_sequences;
    const uint64_t checked = wanted < instance->count ? wanted : instance->count;
    CLEANUP(replay_finish)
    struct replay replay = {.left = calloc(checked, sizeof(*replay.left)),
                            .made = calloc(checked, sizeof(*replay.made)),
                            .checked = checked};
    struct workload_check greedy = GENERATION_GREEDY;
    struct inference_findings findings = {0};
    struct random random;

    if (!(replay.left && replay.made))
        return error_no_memory(err);
    random_init(&random, base->work.seed, STREAM_STEPS);
    if (base->unchecked == 0)
        TRY(prepare_shapes(instance, err));
    TRY(check_settle(base, err));
    TRY(inference_take_weights(inference, err));
    TRY(inference_check_weights(inference, sink, err));
    TRY(instance->server /* whose last step was of others */
            ? compare_served(instance, wanted, &findings, err)
            : fetch_all(instance, replay.left, checked, true, err));
    TRY(make_again(instance, &replay, err));
    TRY(compare_all(instance, &replay, &findings, &greedy, err));
    inference->top1_positions = findings.positions;
    inference->top1_agreed = findings.agreed;
    inference_report(inference, &findings, sink);
    check_sink_report(sink, greedy, "the device took another token than its largest logit's");
    return gpt2_check_norms(generation_model(instance), &random, sink, err);
}

static double tolerance(const struct workload_case *work, const char *output, const char *metric)
{
    return strcmp(output, "tokens.greedy") ? inference_tolerance(work, output, metric) : 0.0;
}

/* Tokens and the last logits of all sequences, over the pool's first prompts. */
static enum status recheck(struct workload_instance *base, struct recheck *recheck,
                           struct error *err)
{
    struct generation_instance *instance = (struct generation_instance *)base;
    const struct gpt2_device *model = generation_model(instance);
    const uint64_t stride = gpt2_token_stride(&model->plan);
    const struct check_output tokens = {.buffer = model->buffers[GPT2_TOKENS],
                                        .type = DTYPE_I32,
                                        .first = instance->first * stride,
                                        .rows = instance->count,
                                        .columns = stride,
                                        .stride = stride};
    const struct check_output logits = inference_logits(&instance->inference, instance->count);

    if (instance->inference.iterations > 0 && !recheck->expected)
        return STATUS_OK; /* `verify` looks at what the window left */
    TRY(prepare_shapes(instance, err));
    TRY(generation_begin(instance, generation_prompts(instance, 0), err));
    TRY(generation_replay(instance, generation_outputs(instance->parameters), err));
    TRY(device_synchronize(base->device, err));
    TRY(recheck_add(recheck, &tokens, err));
    return recheck_add(recheck, &logits, err);
}

/* ---- spot checks ---- */

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

        TRY(storage_poison(
            model->buffers[GPT2_CACHE], plan->storage,
            ((i / PLACES * plan->blocks + block) * plan->page + position % plan->page) * row +
                random_next_below(&spot->random, row - count + 1),
            count, err));
    }
    return STATUS_OK;
}

static enum status run_over_nan(struct spot *spot, struct error *err)
{
    struct gpt2_device *model = generation_model(spot->instance);
    CLEANUP(session_end_spot) struct session *session = &model->session;

    TRY(session_poison(session, gpt2_spot_of(model, &spot->random), err));
    TRY(generation_run(spot->instance, err));
    return device_synchronize(model->device, err);
}

/* The step that is set, over NaN; then a drawn span of the logits of every sequence. */
static enum status check_step(struct spot *spot, struct error *err)
{
    const struct gpt2_device *model = generation_model(spot->instance);
    const uint64_t vocabulary = model->plan.shape.vocabulary;
    const uint64_t count = vocabulary < SPAN ? vocabulary : SPAN;
    float got[SPAN];

    TRY(run_over_nan(spot, err));
    for (uint64_t s = 0; s < model->step.outputs; s++) {
        const uint64_t at = s * gpt2_logits_stride(&model->plan) +
                            random_next_below(&spot->random, vocabulary - count + 1);

        TRY(gpt2_device_fetch(model, GPT2_LOGITS, at, count, got, err));
        check_count_live(got, count, &spot->live);
    }
    return spot->instance->framework ? generation_framework_live(spot->instance, &spot->live, err)
                                     : STATUS_OK;
}

/* The drawn sequence's logits at the last of `length` tokens, and the next, which goes there. */
static enum status compare_drawn(struct spot *spot, int32_t *tokens, uint64_t length, bool last,
                                 struct error *err)
{
    struct inference_instance *inference = &spot->instance->inference;
    const struct gpt2_device *model = inference->gpt2.model;
    const struct check_output logits = inference_logits(inference, spot->instance->count);
    const uint64_t vocabulary = logits.columns;
    const uint64_t at = (spot->instance->first + spot->slot) * gpt2_token_stride(&model->plan);
    AUTO_FREE float *got = malloc(vocabulary * sizeof(*got));
    CLEANUP(stack_reference_drop) struct stack_reference *reference = NULL;

    if (!got)
        return error_no_memory(err);
    TRY(inference_take_weights(inference, err));
    TRY(check_output_row(&logits, spot->slot, got, err));
    TRY(device_download(model->buffers[GPT2_TOKENS], (at + length) * sizeof(*tokens),
                        tokens + length, sizeof(*tokens), err));
    check_choice(got, vocabulary, tokens[length], &spot->greedy);
    TRY(gpt2_reference_create(&model->plan.shape, 1, length, false, &reference, err));
    TRY(stack_reference_forward(reference, inference->weights, tokens, NULL, err));
    inference_compare_row(got, reference->out + (length - 1) * vocabulary, vocabulary, spot->slot,
                          length - 1, last, &spot->findings);
    return last && model->plan.quantised
               ? inference_check_head(inference, spot->slot, got, &spot->findings.head, err)
               : STATUS_OK;
}

/* Prefill and, where the iteration has one, a step; `count` tokens of the prompts count. */
static enum status check_steps(struct spot *spot, uint64_t count, bool decode, struct error *err)
{
    struct generation_instance *instance = spot->instance;
    const uint64_t prompt = instance->parameters->prompt;
    AUTO_FREE int32_t *tokens = malloc((count + 2) * sizeof(*tokens));

    if (!tokens)
        return error_no_memory(err);
    TRY(generation_begin(instance, spot->prompts, err));
    memcpy(tokens, spot->prompts + spot->slot * prompt, count * sizeof(*tokens));
    TRY(poison_cache(spot, 0, count, err));
    for (uint64_t at = 0; at < count; at += instance->parameters->chunk) {
        TRY(generation_set_prefill(instance, at, count - 1, err));
        TRY(check_step(spot, err));
    }
    TRY(compare_drawn(spot, tokens, count, !decode, err));
    if (!decode)
        return STATUS_OK;
    TRY(generation_set_decode(instance, count, err));
    TRY(poison_cache(spot, count, count + 1, err));
    TRY(check_step(spot, err));
    return compare_drawn(spot, tokens, count + 1, true, err);
}

/* The window's prompts again, and an iteration, over NaN where it is a step. */
static enum status go_on(struct spot *spot, struct error *err)
{
    struct generation_instance *instance = spot->instance;
    const uint64_t prompt = instance->parameters->prompt;

    if (instance->parameters->measure != GENERATION_DECODE)
        return check_iterate(&instance->inference.gpt2.base, err);
    TRY(generation_begin(instance, generation_prompts(instance, 0), err));
    TRY(generation_replay(instance, 1, err));
    TRY(generation_set_decode(instance, prompt, err));
    TRY(poison_cache(spot, prompt, prompt + 1, err));
    TRY(check_step(spot, err));
    instance->outputs = 2;
    return STATUS_OK;
}

static enum status spot_check(struct workload_instance *base, uint64_t secret,
                              struct check_sink *sink, struct error *err)
{
    struct generation_instance *instance = (struct generation_instance *)base;
    const struct gpt2_device *model = generation_model(instance);
    const uint64_t prompt = instance->parameters->prompt;
    const bool decode = generation_outputs(instance->parameters) > 1;
    const uint64_t prefix = gpt2_spot_prefix(&model->plan.shape, prompt + decode);
    AUTO_FREE int32_t *targets = malloc(prompt * sizeof(*targets));
    AUTO_FREE int32_t *prompts = malloc(instance->count * prompt * sizeof(*prompts));
    struct spot spot = {
        .instance = instance,
        .prompts = prompts,
        .greedy = GENERATION_GREEDY,
        .live = {.output = "logits.live",
                 .metric = "count",
                 .reason = "a step writes every logit, and each is finite"},
    };

    if (!prompts || !targets)
        return error_no_memory(err);
    random_init(&spot.random, secret, STREAM_SPOT);
    for (uint64_t s = 0; s < instance->count; s++)
        token_source_sequence(instance->inference.source,
                              FIRST_SEQUENCE + random_next_below(&spot.random, FIRST_SEQUENCE),
                              prompt, prompts + s * prompt, targets);
    spot.slot = random_next_below(&spot.random, instance->count);
    TRY(check_steps(&spot, prefix - decode, decode, err));
    TRY(go_on(&spot, err));
    check_sink_report(sink, spot.live, "logits that the step did not write");
    check_sink_report(sink, spot.greedy, "the device took another token");
    inference_report(&instance->inference, &spot.findings, sink);
    return gpt2_check_norms(model, &spot.random, sink, err);
}

const struct workload_checks generation_checks = {
    .verify = verify,
    .spot_check = spot_check,
    .tolerance = tolerance,
    .recheck = recheck,
    .resume = gpt2_instance_resume,
};
