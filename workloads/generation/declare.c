/* The declaration, and what follows from it without a device: memory, FLOPs, bytes. */
#include <math.h>
#include <stdlib.h>

#include "workloads/generation/generation.h"
#include "harness/core/cleanup.h"

#define PAGE_DEFAULT 16
#define CHUNK_DEFAULT 256
#define PAGE_MAX 4096
#define LENGTH_MAX (1 << 20)

struct generation_section {
    int64_t prompt, output, page, blocks;
    enum generation_measure measure;
};

struct generation_declaration {
    struct workload_declaration common;
    struct gpt2_declaration gpt2;
    struct generation_section generation;
    int64_t prompt, output; /* of a request; a server's longest */
    struct inference_sections sections;
};

static const struct declaration_name measures[] = {
    {"request", GENERATION_REQUEST},
    {"prefill", GENERATION_PREFILL},
    {"decode", GENERATION_DECODE},
};

static const struct declaration_field generation_fields[] = {
    FIELD_INT("prompt", FIELD_OPTIONAL, struct generation_section, prompt),
    FIELD_INT("output", FIELD_OPTIONAL, struct generation_section, output),
    FIELD_INT("page", FIELD_OPTIONAL, struct generation_section, page),
    FIELD_INT("blocks", FIELD_OPTIONAL, struct generation_section, blocks),
    FIELD_ENUM("measure", FIELD_OPTIONAL, struct generation_section, measure, measures, 3),
    FIELD_END,
};

static const struct declaration_field fields[] = {
    WORKLOAD_DECLARATION_FIELDS(struct generation_declaration),
    FIELD_GROUP("model", FIELD_REQUIRED, struct generation_declaration, gpt2.model,
                gpt2_model_fields),
    FIELD_GROUP("data", FIELD_OPTIONAL, struct generation_declaration, gpt2.data, gpt2_data_fields),
    FIELD_GROUP("generation", FIELD_OPTIONAL, struct generation_declaration, generation,
                generation_fields),
    INFERENCE_FIELDS(struct generation_declaration),
    FIELD_END,
};

static const struct declaration_schema schema = {
    ENTRY_GROUP(struct generation_declaration, fields)};

static int64_t longest(const struct serving_length *length)
{
    return length->law == SERVING_FIXED ? (int64_t)ceil(length->mean) : length->max;
}

/* Lengths of a server's requests are part of its load: `prompt` and `output` get the longest. */
static enum status check_server(const struct declaration *declaration,
                                struct generation_declaration *data, struct error *err)
{
    static const char *const foreign[] = {"generation.prompt", "generation.output",
                                          "generation.measure"};
    const struct serving_lengths *lengths = &data->common.serving.load.lengths;

    if (data->common.serving.batching.policy != SERVING_CONTINUOUS)
        return declaration_error(declaration, "batching.policy", err,
                                 "requests join and leave between steps; write continuous");
    for (size_t i = 0; i < 3; i++)
        if (declaration_has(declaration, foreign[i]))
            return declaration_error(declaration, foreign[i], err,
                                     "a server's requests are those of `load.lengths`; remove `%s`",
                                     foreign[i]);
    if (lengths->prompt.law == SERVING_NONE || lengths->output.law == SERVING_NONE)
        return declaration_error(declaration, "load", err,
                                 "requests need `lengths` with `prompt` and `output`, such as "
                                 "{law: uniform, min: 8, max: 32}");
    data->prompt = longest(&lengths->prompt);
    data->output = longest(&lengths->output);
    return STATUS_OK;
}

/* Defaults of the batches and the cache, which hold a step of every request, and all of one. */
static enum status check_room(const struct declaration *declaration,
                              struct generation_declaration *data, struct error *err)
{
    struct serving_batching *batching = &data->common.serving.batching;
    struct generation_section *section = &data->generation;
    const int64_t pages = (data->prompt + data->output + section->page - 1) / section->page;

    if (!declaration_has(declaration, "batching.chunk"))
        batching->chunk = data->prompt < CHUNK_DEFAULT ? data->prompt : CHUNK_DEFAULT;
    if (!declaration_has(declaration, "batching.max_tokens"))
        batching->max_tokens = batching->max_batch + batching->chunk;
    if (!declaration_has(declaration, "generation.blocks"))
        section->blocks = batching->max_batch * pages;
    if (batching->chunk < 1 || batching->chunk > batching->max_tokens)
        return declaration_error(declaration, "batching.chunk", err,
                                 "`chunk` is %lld; write how many tokens of a prompt a step takes "
                                 "in, 1 to `max_tokens`, which is %lld",
                                 (long long)batching->chunk, (long long)batching->max_tokens);
    if (batching->max_tokens <= batching->max_batch || batching->max_tokens > LENGTH_MAX)
        return declaration_error(declaration, "batching.max_tokens", err,
                                 "`max_tokens` is %lld; write how many tokens a step takes, more "
                                 "than `max_batch`, up to %d",
                                 (long long)batching->max_tokens, LENGTH_MAX);
    if (section->blocks < pages || section->blocks > LENGTH_MAX)
        return declaration_error(declaration, "generation.blocks", err,
                                 "`blocks` is %lld; write how many blocks of %lld positions the "
                                 "cache has: %lld, which the longest request takes, up to %d",
                                 (long long)section->blocks, (long long)section->page,
                                 (long long)pages, LENGTH_MAX);
    return STATUS_OK;
}

static enum status check_lengths(const struct declaration *declaration,
                                 struct generation_declaration *data, struct error *err)
{
    struct generation_section *section = &data->generation;
    const bool is_server = data->common.scenario == SCENARIO_SERVER;
    const int64_t context = data->gpt2.model.context;
    const char *const where[] = {is_server ? "load.lengths.prompt" : "generation.prompt",
                                 is_server ? "load.lengths.output" : "generation.output"};

    TRY(is_server ? check_server(declaration, data, err) : STATUS_OK);
    if (!is_server && declaration_has(declaration, "generation.blocks"))
        return declaration_error(declaration, "generation.blocks", err,
                                 "only a server's requests wait for blocks; remove `blocks`");
    if (!declaration_has(declaration, "generation.page"))
        section->page = PAGE_DEFAULT;
    if (!declaration_has(declaration, "generation.measure") && !is_server)
        section->measure = GENERATION_REQUEST;
    if (!is_server) {
        data->prompt = section->prompt;
        data->output = section->output;
    }
    TRY(workload_declaration_check_count(declaration, where[0], data->prompt, LENGTH_MAX, "tokens",
                                         err));
    TRY(workload_declaration_check_count(declaration, where[1], data->output, LENGTH_MAX, "tokens",
                                         err));
    TRY(workload_declaration_check_count(declaration, "generation.page", section->page, PAGE_MAX,
                                         "positions", err));
    if (section->measure == GENERATION_DECODE && data->output < 2)
        return declaration_error(declaration, "generation.output", err,
                                 "the first output comes from the prefill, so `measure: decode` "
                                 "needs 2 or more");
    if (declaration_has(declaration, "model.context") && data->prompt + data->output > context)
        return declaration_error(declaration, where[1], err,
                                 "prompt and output are %lld tokens, but the model embeds %lld "
                                 "positions; write fewer, or a larger model.context",
                                 (long long)(data->prompt + data->output), (long long)context);
    data->gpt2.sequence_length = data->prompt + data->output;
    return is_server ? check_room(declaration, data, err) : STATUS_OK;
}

static enum status check(const struct declaration *declaration, struct workload *workload,
                         struct error *err)
{
    struct generation_declaration *data = declaration->data;
    AUTO_FREE struct generation_parameters *parameters = calloc(1, sizeof(*parameters));

    if (!parameters)
        return error_no_memory(err);
    TRY(check_lengths(declaration, data, err));
    TRY(inference_check(declaration, &data->common, &data->gpt2, &data->sections,
                        &parameters->inference, err));
    parameters->measure =
        workload->scenario == SCENARIO_SERVER ? GENERATION_DECODE : data->generation.measure;
    parameters->prompt = (uint64_t)data->prompt;
    parameters->output = (uint64_t)data->output;
    parameters->page = (uint64_t)data->generation.page;
    parameters->is_server = workload->scenario == SCENARIO_SERVER;
    parameters->chunk = parameters->prompt;
    if (parameters->is_server) {
        parameters->chunk = (uint64_t)data->common.serving.batching.chunk;
        parameters->max_tokens = (uint64_t)data->common.serving.batching.max_tokens;
        parameters->blocks = (uint64_t)data->generation.blocks;
        workload->serving->batching = data->common.serving.batching;
    }
    workload->parameters = parameters;
    parameters = NULL;
    return STATUS_OK;
}

const struct workload_form generation_form = {&schema, check};

struct gpt2_device_plan generation_plan(const struct workload_case *work)
{
    const struct generation_parameters *parameters = work->workload->parameters;
    const bool int8 = work->precision == PRECISION_INT8;
    const uint64_t batch = (uint64_t)work->batch;
    const uint64_t pages =
        (parameters->prompt + parameters->output + parameters->page - 1) / parameters->page;

    uint64_t rows = 1;

    while (rows < parameters->max_tokens)
        rows *= 2;
    return (struct gpt2_device_plan){
        .shape = parameters->inference.task.shape,
        .sequences = parameters->is_server ? 1 : batch,
        .length = parameters->is_server ? rows : parameters->prompt,
        .storage = int8 ? parameters->inference.int8_storage : precision_dtype(work->precision),
        .quantised = int8,
        .page = parameters->page,
        .pages = pages,
        .blocks = parameters->is_server ? parameters->blocks + pages : batch * pages,
        .slots = parameters->is_server ? batch + 1 : batch,
    };
}

/* ---- cost: of a pass over `rows` of each sequence, the last of `keys` ---- */

struct work {
    unsigned __int128 flops, bytes;
};

static void add_pass(const struct gpt2_device_plan *plan, uint64_t batch, uint64_t rows,
                     uint64_t keys, struct work *ret)
{
    const struct gpt2_shape *s = &plan->shape;
    const unsigned __int128 tokens = (unsigned __int128)batch * rows;
    const unsigned __int128 pairs =
        (unsigned __int128)batch * ((uint64_t)rows * (2 * keys - rows + 1) / 2);
    const uint64_t size = dtype_bits(plan->storage) / 8;
    const uint64_t matrices = s->layers * (4 * s->width * s->width + 2 * s->width * s->mlp_width);
    const uint64_t head = s->vocabulary * s->width;
    const uint64_t vectors =
        gpt2_parameter_count(s) - matrices - head - s->context * s->width; /* biases and norms */

    ret->flops += 2 * (tokens * matrices + (unsigned __int128)batch * head +
                       2 * pairs * s->width * s->layers);
    ret->bytes += (unsigned __int128)(matrices + head) * (plan->quantised ? 1 : size) +
                  vectors * size + (plan->quantised ? 4 * gpt2_int8_scale_count(s) : 0) +
                  (batch * (unsigned __int128)keys + tokens) * 2 * s->width * s->layers * size;
}

enum status generation_cost(const struct workload_case *work, struct workload_cost *ret,
                            struct error *err)
{
    const struct generation_parameters *parameters = work->workload->parameters;
    const struct gpt2_device_plan plan = generation_plan(work);
    const uint64_t bytes = gpt2_device_bytes(&plan, NULL), steps = parameters->output - 1;
    const uint64_t batch = (uint64_t)work->batch;
    struct work sum = {0, 0};

    if (parameters->measure != GENERATION_DECODE)
        add_pass(&plan, batch, parameters->prompt, parameters->prompt, &sum);
    if (parameters->measure != GENERATION_PREFILL)
        for (uint64_t i = 1; i <= steps; i++)
            add_pass(&plan, batch, 1, parameters->prompt + i, &sum);
    if (parameters->measure == GENERATION_DECODE) {
        sum.flops /= steps;
        sum.bytes /= steps;
    }
    if (sum.flops > INT64_MAX || sum.bytes > INT64_MAX || bytes > INT64_MAX ||
        plan.slots * gpt2_token_stride(&plan) > INT32_MAX || plan.blocks * plan.page > INT32_MAX)
        return error_set(err, STATUS_INVALID,
                         "%s: an iteration of batch %lld is more than 2^63 FLOPs, 2^63 bytes or "
                         "2^31 tokens: declare a smaller batch, prompt, output or model",
                         work->workload->name, (long long)work->batch);
    *ret = (struct workload_cost){
        .flops = (uint64_t)sum.flops,
        .flops_formula = "each pass: 2*m*n*k of the layers' GEMMs over its tokens and of the head "
                         "over one token a sequence; scores and values of the keys that a token "
                         "sees, 4*width a layer; decode: the mean of its steps",
        .bytes = (uint64_t)sum.bytes,
        .bytes_formula = "each pass: all weights once (embeddings as the head's), the keys and "
                         "values of its sequences read once and the new ones written, "
                         "2*width*layers a token; decode: the mean of its steps",
        .items = batch * (parameters->measure == GENERATION_DECODE    ? 1
                          : parameters->measure == GENERATION_PREFILL ? parameters->prompt
                                                                      : parameters->output),
        .item_name = "token",
        .device_memory_bytes = bytes,
        .working_set_bytes = bytes,
        .headline = "items",
    };
    return STATUS_OK;
}

void generation_describe(const struct workload *workload, struct text *ret)
{
    static const char *const iterations[] = {
        [GENERATION_REQUEST] = "a batch of requests, from its prompts to the last token",
        [GENERATION_PREFILL] = "a batch of prompts, to the first token of each",
        [GENERATION_DECODE] = "a step: one token of each sequence of a batch",
    };
    const struct generation_parameters *parameters = workload->parameters;

    gpt2_task_describe(&parameters->inference.task, ret);
    text_append_format(ret,
                       "request: %llu prompt tokens, %llu output tokens, each the largest logit's\n"
                       "iteration: %s\n"
                       "cache: keys and values in the storage type, in blocks of %llu positions\n"
                       "verified: logits of drawn steps and the choice of every token, of at most "
                       "%llu sequences of a batch\n",
                       (unsigned long long)parameters->prompt,
                       (unsigned long long)parameters->output, iterations[parameters->measure],
                       (unsigned long long)parameters->page,
                       (unsigned long long)parameters->inference.verify_sequences);
    gpt2_recipes_describe(workload, generation_plan, ret);
}
