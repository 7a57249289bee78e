#include "workloads/generation/generation.h"

#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/clock.h"
#include "workloads/kinds.h"

static const char *const request_names[] = {"upload", "prefill", "decode"};
static const char *const decode_names[] = {"upload", "decode"};
static const struct gpt2_stages stages_of[] = {
    [GENERATION_REQUEST] = {request_names, 3, 1},
    [GENERATION_PREFILL] = {request_names, 2, 1},
    [GENERATION_DECODE] = {decode_names, 2, 1},
};
enum { UPLOAD, FIRST, SECOND };

int32_t *generation_prompts(const struct generation_instance *instance, uint64_t index)
{
    return instance->inference.pool + index * instance->count * instance->parameters->prompt;
}

uint64_t generation_outputs(const struct generation_parameters *parameters)
{
    return parameters->measure == GENERATION_PREFILL ? 1 : parameters->output;
}

static void finish(struct workload_instance *base)
{
    struct generation_instance *instance = (struct generation_instance *)base;

    gpt2_instance_finish(&instance->inference.gpt2);
    inference_finish(&instance->inference);
    generation_server_destroy(instance->server);
    generation_framework_destroy(instance->framework);
    free(instance->left);
    free(instance->blocks);
    free(instance->parts);
}

static enum status fill_pool(struct generation_instance *instance, struct error *err)
{
    struct inference_instance *inference = &instance->inference;
    const struct gpt2_device_plan *plan = &inference->gpt2.model->plan;
    const uint64_t prompt = instance->parameters->prompt, count = INFERENCE_POOL * instance->count;
    AUTO_FREE int32_t *targets = malloc(prompt * sizeof(*targets));

    inference->pool = malloc(count * prompt * sizeof(*inference->pool));
    instance->blocks = calloc(plan->slots * plan->pages, sizeof(*instance->blocks));
    instance->left = calloc(plan->slots, sizeof(*instance->left));
    instance->parts = calloc(plan->slots, sizeof(*instance->parts));
    TRY(gpt2_task_open_source(&instance->parameters->inference.task, inference->gpt2.base.work.seed,
                              &inference->source, err));
    if (!(targets && inference->pool && instance->blocks && instance->parts && instance->left))
        return error_no_memory(err);
    for (uint64_t i = 0; i < count; i++)
        token_source_sequence(inference->source, i, prompt, inference->pool + i * prompt, targets);
    /* Blocks of a sequence lie apart, as they do in a server that has run for a while. */
    for (uint64_t i = 0; i < instance->count * plan->pages; i++)
        instance->blocks[instance->first * plan->pages + i] =
            (int32_t)(plan->blocks - instance->count * plan->pages +
                      i % plan->pages * instance->count + i / plan->pages);
    return STATUS_OK;
}

/* Slots [first, first + count): prompts, where there are any, and else what no step would choose.
 */
static enum status fill_tokens(const struct generation_instance *instance, uint64_t first,
                               uint64_t count, const int32_t *prompts, struct error *err)
{
    const struct gpt2_device *model = generation_model(instance);
    const uint64_t stride = gpt2_token_stride(&model->plan), prompt = instance->parameters->prompt;
    const uint64_t bytes = stride * sizeof(int32_t);
    AUTO_FREE int32_t *tokens = malloc(count * bytes);

    if (!tokens)
        return error_no_memory(err);
    for (uint64_t i = 0; i < count * stride; i++)
        tokens[i] = (int32_t)model->plan.shape.vocabulary - 1; /* rare, and leads nowhere */
    for (uint64_t s = 0; prompts && s < count; s++)
        memcpy(tokens + s * stride, prompts + s * prompt, prompt * sizeof(*tokens));
    return device_upload(model->buffers[GPT2_TOKENS], first * bytes, tokens, count * bytes, err);
}

static enum status init(struct workload_instance *base, struct error *err)
{
    const struct workload_case *work = &base->work;
    struct generation_instance *instance = (struct generation_instance *)base;
    struct inference_instance *inference = &instance->inference;
    struct gpt2_device_plan plan = generation_plan(work);

    instance->parameters = work->workload->parameters;
    instance->first = instance->parameters->is_server ? (uint64_t)work->batch : 0;
    instance->count = plan.slots - instance->first;
    plan.padded = instance->parameters->is_server && work->implementation == IMPLEMENTATION_VENDOR;
    inference->parameters = &instance->parameters->inference;
    gpt2_instance_init(&inference->gpt2, &stages_of[instance->parameters->measure]);
    if (work->framework && (instance->parameters->is_server || plan.quantised))
        return error_set(err, STATUS_UNSUPPORTED,
                         "frameworks make tokens in closed loops and in floating point: choose a "
                         "workload whose scenario is single_stream or offline, and another "
                         "precision than int8");
    TRY(inference_make(inference, &plan, err));
    if (plan.bare)
        TRY(generation_take_framework(instance, err));
    TRY(fill_pool(instance, err));
    TRY(fill_tokens(instance, 0, plan.slots, NULL, err));
    if (instance->parameters->is_server)
        TRY(generation_server_create(instance, err));
    return gpt2_instance_add_events(&inference->gpt2, err);
}

enum status generation_begin(struct generation_instance *instance, const int32_t *prompts,
                             struct error *err)
{
    instance->outputs = 0;
    return fill_tokens(instance, instance->first, instance->count, prompts, err);
}

static enum status set_step(struct generation_instance *instance, uint64_t first, uint64_t count,
                            uint64_t output, struct error *err)
{
    struct gpt2_device *model = generation_model(instance);

    instance->served = 0;
    if (instance->framework) {
        generation_framework_set(instance, first, count, output);
        return STATUS_OK;
    }
    for (uint64_t s = 0; s < instance->count; s++)
        instance->parts[s] = (struct gpt2_part){instance->first + s, first, count, output};
    return gpt2_device_set_step(model, instance->parts, instance->count, instance->blocks, err);
}

enum status generation_set_prefill(struct generation_instance *instance, uint64_t from,
                                   uint64_t last, struct error *err)
{
    const uint64_t rest = instance->parameters->prompt - from;
    const uint64_t chunk = instance->parameters->chunk < rest ? instance->parameters->chunk : rest;

    return set_step(instance, from, chunk,
                    last >= from && last < from + chunk ? last : GPT2_NO_OUTPUT, err);
}

enum status generation_set_decode(struct generation_instance *instance, uint64_t position,
                                  struct error *err)
{
    return set_step(instance, position, 1, position, err);
}

enum status generation_run(struct generation_instance *instance, struct error *err)
{
    return instance->framework ? generation_framework_run(instance, err)
                               : gpt2_device_forward(generation_model(instance), 0, err);
}

static enum status prefill(struct generation_instance *instance, struct error *err)
{
    const uint64_t prompt = instance->parameters->prompt;

    for (uint64_t at = 0; at < prompt; at += instance->parameters->chunk) {
        TRY(generation_set_prefill(instance, at, prompt - 1, err));
        TRY(generation_run(instance, err));
    }
    instance->outputs = 1;
    return STATUS_OK;
}

static enum status decode(struct generation_instance *instance, struct error *err)
{
    TRY(generation_run(instance, err));
    instance->outputs++;
    return STATUS_OK;
}

static enum status set_next(struct generation_instance *instance, struct error *err)
{
    return generation_set_decode(instance, instance->parameters->prompt + instance->outputs - 1,
                                 err);
}

enum status generation_replay(struct generation_instance *instance, uint64_t outputs,
                              struct error *err)
{
    TRY(prefill(instance, err));
    while (instance->outputs < outputs) {
        TRY(set_next(instance, err));
        TRY(decode(instance, err));
    }
    return STATUS_OK;
}

static enum status iterate_decode(struct generation_instance *instance, struct error *err)
{
    struct gpt2_instance *gpt2 = &instance->inference.gpt2;
    int64_t start_ns;

    if (instance->outputs == 0) {
        TRY(generation_begin(instance, generation_prompts(instance, 0), err));
        TRY(prefill(instance, err));
    } else if (instance->outputs == instance->parameters->output) {
        instance->outputs = 1; /* the prompt's keys and values, and the first token, are there */
    }
    start_ns = clock_monotonic_ns();
    TRY(set_next(instance, err));
    gpt2->host_ns[UPLOAD] = clock_monotonic_ns() - start_ns;
    TRY(gpt2_instance_mark(gpt2, UPLOAD, err));
    TRY(decode(instance, err));
    return gpt2_instance_mark(gpt2, FIRST, err);
}

static enum status iterate_requests(struct generation_instance *instance, struct error *err)
{
    struct inference_instance *inference = &instance->inference;
    const int64_t start_ns = clock_monotonic_ns();

    inference->current = inference->iterations % INFERENCE_POOL;
    TRY(generation_begin(instance, generation_prompts(instance, inference->current), err));
    inference->gpt2.host_ns[UPLOAD] = clock_monotonic_ns() - start_ns;
    TRY(gpt2_instance_mark(&inference->gpt2, UPLOAD, err));
    TRY(prefill(instance, err));
    TRY(gpt2_instance_mark(&inference->gpt2, FIRST, err));
    if (instance->parameters->measure == GENERATION_PREFILL)
        return STATUS_OK;
    while (instance->outputs < instance->parameters->output) {
        TRY(set_next(instance, err));
        TRY(decode(instance, err));
    }
    return gpt2_instance_mark(&inference->gpt2, SECOND, err);
}

static enum status generation_iterate(struct workload_instance *base, struct error *err)
{
    struct generation_instance *instance = (struct generation_instance *)base;

    TRY(instance->parameters->measure == GENERATION_DECODE ? iterate_decode(instance, err)
                                                           : iterate_requests(instance, err));
    instance->inference.iterations++;
    base->unchecked++;
    return STATUS_OK;
}

static json_t *facts(struct workload_instance *base)
{
    const struct generation_instance *instance = (struct generation_instance *)base;
    const struct gpt2_device *model = generation_model(instance);
    const struct gpt2_device_plan *plan = &model->plan;
    const json_int_t bytes = (json_int_t)model->buffers[GPT2_CACHE]->bytes;
    json_t *ret = inference_facts(base);

    if (ret)
        json_object_set_new(ret, "cache",
                            instance->framework
                                ? json_pack("{s:I, s:I}", "positions",
                                            (json_int_t)(plan->page * plan->pages), "bytes", bytes)
                                : json_pack("{s:I, s:I, s:I}", "page", (json_int_t)plan->page,
                                            "blocks", (json_int_t)plan->blocks, "bytes", bytes));
    return ret;
}

const struct workload_kind workload_generation = {
    .name = "generation",
    .summary = "prefill and token after token of GPT-2 over a cache of keys and values",
    .form = &generation_form,
    .unload = gpt2_task_unload,
    .cost = generation_cost,
    .describe = generation_describe,
    .instance_size = sizeof(struct generation_instance),
    .init = init,
    .iterate = generation_iterate,
    .serve = generation_serve,
    .serves_tokens = true,
    .runs_frameworks = true,
    .admit = generation_admit,
    .stages = gpt2_instance_stages,
    .checks = &generation_checks,
    .artifacts = gpt2_instance_artifacts,
    .choices = gpt2_instance_choices,
    .facts = facts,
    .handover = &generation_handover,
    .finish = finish,
};
