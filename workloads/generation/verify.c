/*
 * Teacher-forced: the reference takes the tokens that the device chose, so its logits are those of
 * the same text at every position. Compared are the logits that the window left and those of drawn
 * steps of a replay of the same prompts; every token must be as good a choice as the tolerance can
 * tell. Keys or values that are wrong at one place of the cache show in all that follows it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/random.h"
#include "workloads/fingerprint.h"
#include "workloads/generation/generation.h"
#include "workloads/models/gpt2_reference.h"
#include "workloads/models/gpt2_spot.h"

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

struct replay {
    struct passage *left, *made; /* of the checked sequences */
    uint64_t checked;
};

static uint64_t slot_of(const struct generation_instance *instance, uint64_t index,
                        uint64_t checked)
{
    const uint64_t slots = instance->count;

    return slots - 1 - index * slots / checked; /* spread over the batch, the last first */
}

/* The logits that are on the device. */
static enum status fetch_row(const struct generation_instance *instance, struct passage *text,
                             struct error *err)
{
    const struct gpt2_device *model = generation_model(instance);
    const uint64_t vocabulary = model->plan.shape.vocabulary;
    struct row *row = &text->rows[text->count];

    row->outputs = instance->outputs;
    row->logits = malloc(vocabulary * sizeof(*row->logits));
    if (!row->logits)
        return error_no_memory(err);
    text->count++;
    return gpt2_device_fetch(model, GPT2_LOGITS, text->slot * gpt2_logits_stride(&model->plan),
                             vocabulary, row->logits, err);
}

static enum status fetch_tokens(const struct generation_instance *instance, struct passage *text,
                                struct error *err)
{
    const struct gpt2_device *model = generation_model(instance);
    const uint64_t stride = gpt2_token_stride(&model->plan);

    text->prompt = instance->parameters->prompt;
    text->outputs = instance->outputs;
    text->tokens = calloc(stride, sizeof(*text->tokens));
    if (!text->tokens)
        return error_no_memory(err);
    return device_download(model->buffers[GPT2_TOKENS],
                           (instance->first + text->slot) * stride * sizeof(*text->tokens),
                           text->tokens, stride * sizeof(*text->tokens), err);
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
    enum status status = generation_replay(instance, 1, err);

    while (status == STATUS_OK) {
        const bool is_last = instance->outputs == all;

        if (is_drawn(instance, instance->outputs, all))
            status = fetch_all(instance, replay->made, replay->checked, is_last, err);
        if (is_last || status != STATUS_OK)
            break;
        status = generation_set_decode(instance,
                                       instance->parameters->prompt + instance->outputs - 1, err);
        if (status == STATUS_OK)
            status = generation_run(instance, err);
        instance->outputs++;
    }
    return status;
}

void generation_note_choices(const int32_t *text, uint64_t prompt, uint64_t outputs,
                             const struct gpt2_reference *reference,
                             struct inference_findings *findings)
{
    const uint64_t vocabulary = reference->shape.vocabulary;

    for (uint64_t i = 0; i < outputs; i++) {
        const double *row = reference->logits + (prompt + i - 1) * vocabulary;
        const uint64_t chosen = (uint64_t)text[prompt + i];
        uint64_t best = 0;

        for (uint64_t v = 1; v < vocabulary; v++)
            best = row[v] > row[best] ? v : best;
        findings->positions++;
        findings->agreed += chosen == best;
        findings->regret =
            fmax(findings->regret, chosen < vocabulary ? row[best] - row[chosen] : INFINITY);
    }
}

void generation_check_choice(const float *logits, uint64_t vocabulary, int32_t token,
                             struct workload_check *check)
{
    uint64_t best = 0;

    for (uint64_t v = 1; v < vocabulary; v++)
        best = logits[v] > logits[best] ? v : best;
    check->error += (uint64_t)token != best;
    check->compared++;
}

static void compare(const struct generation_instance *instance, const struct passage *text,
                    const struct gpt2_reference *reference, struct inference_findings *findings,
                    struct workload_check *greedy)
{
    const uint64_t prompt = instance->parameters->prompt;
    const uint64_t vocabulary = reference->shape.vocabulary;
    const uint64_t all = generation_outputs(instance->parameters);

    for (size_t i = 0; i < text->count; i++) {
        const struct row *row = &text->rows[i];
        const uint64_t position = prompt + row->outputs - 2;

        inference_compare_row(row->logits, reference->logits + position * vocabulary, vocabulary,
                              text->slot, position, row->outputs == all, findings);
        generation_check_choice(row->logits, vocabulary, text->tokens[prompt + row->outputs - 1],
                                greedy);
    }
    generation_note_choices(text->tokens, text->prompt, text->outputs, reference, findings);
}

static void finish(struct passage *texts, uint64_t count)
{
    for (uint64_t i = 0; texts && i < count; i++) {
        for (size_t r = 0; r < texts[i].count; r++)
            free(texts[i].rows[r].logits);
        free(texts[i].tokens);
    }
    free(texts);
}

/* The reference's logits over `length` tokens of a slot of a server. */
static enum status refer(struct generation_instance *instance, uint64_t slot, uint64_t length,
                         struct passage *ret_text, struct gpt2_reference **ret, struct error *err)
{
    const struct gpt2_device *model = generation_model(instance);
    const uint64_t bytes = gpt2_token_stride(&model->plan) * sizeof(*ret_text->tokens);
    enum status status = gpt2_reference_create(&model->plan.shape, 1, length, false, ret, err);

    ret_text->slot = slot;
    ret_text->tokens = malloc(bytes);
    if (status == STATUS_OK)
        status = ret_text->tokens ? device_download(model->buffers[GPT2_TOKENS], slot * bytes,
                                                    ret_text->tokens, bytes, err)
                                  : error_no_memory(err);
    if (status == STATUS_OK)
        status =
            gpt2_reference_forward(*ret, instance->inference.weights, ret_text->tokens, NULL, err);
    return status;
}

/* Logits that are there of the latest step that served requests; `wanted` of them, the last ones.
 */
static enum status compare_latest(struct generation_instance *instance, uint64_t wanted,
                                  struct inference_findings *findings, struct error *err)
{
    const struct gpt2_device *model = generation_model(instance);
    const uint64_t vocabulary = model->plan.shape.vocabulary,
                   stride = gpt2_logits_stride(&model->plan);
    float *got = malloc(vocabulary * sizeof(*got));
    uint64_t row = 0;
    enum status status = got ? STATUS_OK : error_no_memory(err);

    for (uint64_t p = 0; p < instance->served && status == STATUS_OK; p++) {
        const struct gpt2_part part = instance->parts[p];
        struct passage text = {0};
        struct gpt2_reference *reference = NULL;

        if (part.output == GPT2_NO_OUTPUT || row++ + wanted < model->step.outputs)
            continue;
        status = gpt2_device_fetch(model, GPT2_LOGITS, (row - 1) * stride, vocabulary, got, err);
        if (status == STATUS_OK)
            status = refer(instance, part.slot, part.output + 1, &text, &reference, err);
        if (status == STATUS_OK)
            inference_compare_row(got, reference->logits + part.output * vocabulary, vocabulary,
                                  part.slot, part.output, false, findings);
        gpt2_reference_destroy(reference);
        free(text.tokens);
    }
    free(got);
    return status;
}

/*
 * What requests of the window left: the logits of the latest step, and all tokens of the latest
 * request of drawn slots, each made in steps together with others.
 */
static enum status compare_served(struct generation_instance *instance, uint64_t wanted,
                                  struct inference_findings *findings, struct error *err)
{
    struct random random;
    enum status status = compare_latest(instance, wanted, findings, err);

    random_init(&random, instance->inference.gpt2.base.work.seed, STREAM_STEPS);
    for (uint64_t i = 0; i < 4 * wanted && wanted > 0 && status == STATUS_OK; i++) {
        const uint64_t slot = random_next_below(&random, instance->first);
        const struct generation_text *left = &instance->left[slot];
        struct passage text = {.prompt = left->prompt, .outputs = left->output};
        struct gpt2_reference *reference = NULL;

        if (left->prompt == 0)
            continue;
        wanted--;
        status = refer(instance, slot, text.prompt + text.outputs - 1, &text, &reference, err);
        if (status == STATUS_OK)
            generation_note_choices(text.tokens, text.prompt, text.outputs, reference, findings);
        gpt2_reference_destroy(reference);
        free(text.tokens);
    }
    return status;
}

/* A library prepares each shape before it is timed. */
static enum status prepare_shapes(struct generation_instance *instance, struct error *err)
{
    struct gpt2_device *model = generation_model(instance);
    enum status status = STATUS_OK;

    for (uint64_t rows = 1; model->plan.padded && rows <= model->plan.length; rows *= 2) {
        status = generation_set_decode(instance, 0, err);
        model->tokens.rows = rows;
        model->outputs =
            gpt2_step_planned(&model->plan, rows < model->plan.slots ? rows : model->plan.slots);
        if (status == STATUS_OK)
            status = generation_run(instance, err);
        if (status != STATUS_OK)
            break;
    }
    return status;
}

/* What the window left has a reference of its own, unless the replay made the same tokens. */
static enum status compare_all(struct generation_instance *instance, const struct replay *replay,
                               struct inference_findings found, struct check_sink *sink,
                               struct error *err)
{
    const struct gpt2_device_plan *plan = &generation_model(instance)->plan;
    const uint64_t prompt = instance->parameters->prompt;
    const uint64_t length = prompt + generation_outputs(instance->parameters) - 1;
    struct inference_findings findings = found;
    struct workload_check greedy = GENERATION_GREEDY;
    struct gpt2_reference *reference = NULL;
    enum status status = gpt2_reference_create(&plan->shape, 1, length, false, &reference, err);

    for (uint64_t i = 0; i < replay->checked && status == STATUS_OK; i++) {
        const struct passage *made = &replay->made[i], *left = &replay->left[i];
        const float *weights = instance->inference.weights;

        status = gpt2_reference_forward(reference, weights, made->tokens, NULL, err);
        if (status != STATUS_OK)
            break;
        compare(instance, made, reference, &findings, &greedy);
        if (left->tokens &&
            memcmp(made->tokens, left->tokens, (prompt + left->outputs) * sizeof(*left->tokens)))
            status = gpt2_reference_forward(reference, weights, left->tokens, NULL, err);
        if (status == STATUS_OK)
            compare(instance, left, reference, &findings, &greedy);
        if (status == STATUS_OK && plan->quantised && i == 0)
            status = inference_check_head(&instance->inference, made->slot,
                                          made->rows[made->count - 1].logits, &findings.head, err);
    }
    gpt2_reference_destroy(reference);
    if (status != STATUS_OK)
        return status;
    instance->inference.top1_positions = findings.positions;
    instance->inference.top1_agreed = findings.agreed;
    inference_report(&instance->inference, &findings, sink);
    check_sink_report(sink, greedy, "the device took another token than its largest logit's");
    return STATUS_OK;
}

enum status generation_verify(struct workload_instance *base, workload_check_fn *report,
                              void *context, struct error *err)
{
    struct generation_instance *instance = (struct generation_instance *)base;
    struct inference_instance *inference = &instance->inference;
    const struct gpt2_device_plan *plan = &generation_model(instance)->plan;
    const uint64_t wanted = instance->parameters->inference.verify_sequences;
    struct check_sink sink = {.report = report, .context = context, .err = err};
    struct replay replay = {.checked = wanted < instance->count ? wanted : instance->count};
    struct inference_findings findings = {0};
    struct random random;
    enum status status = STATUS_OK;

    random_init(&random, base->work.seed, STREAM_STEPS);
    if (inference->iterations == 0)
        status = prepare_shapes(instance, err);
    if (status == STATUS_OK && inference->iterations == 0)
        status = generation_iterate(base, err);
    if (status == STATUS_OK)
        status = device_synchronize(base->device, err);
    if (status == STATUS_OK)
        status = inference_take_weights(inference, err);
    if (status == STATUS_OK && plan->quantised)
        status = inference_check_weights(inference, inference->weights, &sink, err);
    replay.left = calloc(replay.checked, sizeof(*replay.left));
    replay.made = calloc(replay.checked, sizeof(*replay.made));
    if (status == STATUS_OK && !(replay.left && replay.made))
        status = error_no_memory(err);
    if (status == STATUS_OK && instance->server)
        status = compare_served(instance, wanted, &findings, err);
    if (status == STATUS_OK && !instance->server) /* whose last step was of others */
        status = fetch_all(instance, replay.left, replay.checked, true, err);
    if (status == STATUS_OK)
        status = make_again(instance, &replay, err);
    if (status == STATUS_OK)
        status = compare_all(instance, &replay, findings, &sink, err);
    if (status == STATUS_OK)
        status = gpt2_check_norms(generation_model(instance), &random, &sink, err);
    finish(replay.left, replay.checked);
    finish(replay.made, replay.checked);
    if (status == STATUS_OK)
        ops_seal(inference->gpt2.ops); /* an iteration has run every GEMM */
    return status == STATUS_OK ? sink.status : status;
}

double generation_tolerance(const struct workload_case *work, const char *output,
                            const char *metric)
{
    return strcmp(output, "tokens.greedy") ? inference_tolerance(work, output, metric) : 0.0;
}

/* Tokens and the last logits of all sequences, over the pool's first prompts. */
static enum status take_fingerprint(const struct generation_instance *instance, char **ret,
                                    struct error *err)
{
    const struct gpt2_device *model = generation_model(instance);
    const uint64_t size = dtype_bits(gpt2_device_type(&model->plan, GPT2_LOGITS)) / 8;
    const uint64_t tokens = gpt2_token_stride(&model->plan) * sizeof(int32_t);
    struct fingerprint fingerprint;

    fingerprint_init(&fingerprint);
    TRY(fingerprint_add_buffer(&fingerprint, model->buffers[GPT2_TOKENS], instance->first * tokens,
                               instance->count * tokens, err));
    for (uint64_t s = 0; s < instance->count; s++)
        TRY(fingerprint_add_buffer(&fingerprint, model->buffers[GPT2_LOGITS],
                                   s * gpt2_logits_stride(&model->plan) * size,
                                   model->plan.shape.vocabulary * size, err));
    *ret = fingerprint_text(&fingerprint);
    return *ret ? STATUS_OK : error_no_memory(err);
}

enum status generation_recheck(struct workload_instance *base, const char *expected,
                               struct workload_recheck *ret, struct error *err)
{
    struct generation_instance *instance = (struct generation_instance *)base;
    const struct gpt2_device_plan *plan = &generation_model(instance)->plan;

    if (instance->inference.iterations > 0 && !expected)
        return STATUS_OK; /* `verify` looks at what the window left */
    TRY(prepare_shapes(instance, err));
    TRY(generation_begin(instance, generation_prompts(instance, 0), err));
    TRY(generation_replay(instance, generation_outputs(instance->parameters), err));
    TRY(device_synchronize(base->device, err));
    TRY(take_fingerprint(instance, &ret->text, err));
    ret->compared = instance->count * (plan->shape.vocabulary + gpt2_token_stride(plan));
    ret->same = expected && !strcmp(ret->text, expected);
    if (ret->same)
        ops_seal(instance->inference.gpt2.ops);
    return STATUS_OK;
}
