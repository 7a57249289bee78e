#include "workloads/training_step/training_step.h"

#include <stdlib.h>

#include "harness/core/clock.h"
#include "workloads/kinds.h"

static const char *const stage_names[STAGES] = {
    [STAGE_DATA] = "data",         [STAGE_UPLOAD] = "upload",       [STAGE_FORWARD] = "forward",
    [STAGE_BACKWARD] = "backward", [STAGE_OPTIMIZER] = "optimizer",
};

uint64_t training_loss_slot(uint64_t step)
{
    return step < LOSS_HEAD ? step : LOSS_HEAD + (step - LOSS_HEAD) % (GPT2_LOSS_SLOTS - LOSS_HEAD);
}

struct adamw training_adamw(const struct training_parameters *parameters, uint64_t step)
{
    struct adamw adamw = parameters->adamw;

    if (step < parameters->warmup_steps)
        adamw.rate *= (double)step / (double)parameters->warmup_steps;
    return adamw;
}

static struct gpt2_device_plan plan_of(const struct workload_case *work)
{
    const struct training_parameters *parameters = work->workload->parameters;

    return (struct gpt2_device_plan){
        .shape = parameters->task.shape,
        .sequences = (uint64_t)work->batch,
        .length = parameters->task.length,
        .training = true,
        .storage = precision_dtype(work->precision),
    };
}

static enum status cost(const struct workload_case *work, struct workload_cost *ret,
                        struct error *err)
{
    const struct gpt2_device_plan plan = plan_of(work);
    const uint64_t forward = gpt2_forward_flops(&plan.shape, plan.sequences, plan.length);
    const uint64_t bytes = gpt2_device_bytes(&plan, NULL);

    (void)err;
    *ret = (struct workload_cost){
        .flops = forward > UINT64_MAX / 3 ? UINT64_MAX : 3 * forward,
        .flops_formula = "3 * (sum of 2*m*n*k over the forward pass's matrix products; causal "
                         "scores and values count T(T+1)/2 pairs a head); the backward pass has "
                         "two products for each (Chowdhery et al. 2022, appendix B, without "
                         "masked positions)",
        .items = plan.sequences * plan.length,
        .item_name = "token",
        .device_memory_bytes = bytes,
        .working_set_bytes = bytes - GPT2_LOSS_SLOTS * sizeof(float),
        .headline = "items",
    };
    return STATUS_OK;
}

static void describe(const struct workload *workload, struct text *ret)
{
    const struct training_parameters *parameters = workload->parameters;

    gpt2_task_describe(&parameters->task, ret);
    text_append_format(ret,
                       "optimizer: AdamW, rate %g after %llu warmup steps, beta1 %g, beta2 %g, "
                       "epsilon %g, weight decay %g on matrices and embeddings (not on biases and "
                       "norms)\n"
                       "verified: loss, gradients and an AdamW step on at most %llu sequences of a "
                       "batch; after %llu steps the loss must have fallen by %g %%\n",
                       parameters->adamw.rate, (unsigned long long)parameters->warmup_steps,
                       parameters->adamw.beta1, parameters->adamw.beta2, parameters->adamw.epsilon,
                       parameters->adamw.decay, (unsigned long long)parameters->verify_sequences,
                       (unsigned long long)parameters->loss_steps, 100.0 * parameters->loss_margin);
}

static void destroy(struct workload_instance *base)
{
    struct training_instance *instance = (struct training_instance *)base;

    if (!instance)
        return;
    for (size_t i = 0; i < sizeof(instance->events) / sizeof(instance->events[0]); i++)
        device_event_destroy(base->device, instance->events[i]);
    gpt2_device_destroy(instance->model);
    ops_destroy(instance->ops);
    token_source_destroy(instance->source);
    free(instance->indices);
    free(instance);
}

static enum status build(struct training_instance *instance, struct error *err)
{
    const struct gpt2_device_plan plan = plan_of(&instance->base.work);
    struct device *device = instance->base.device;
    enum status status;

    instance->sequences = plan.sequences;
    instance->indices =
        calloc(OP_TOKENS_LENGTH(plan.sequences * plan.length), sizeof(*instance->indices));
    if (!instance->indices)
        return error_set(err, STATUS_NO_MEMORY, "training_step: out of memory");
    status = gpt2_task_open_source(&instance->parameters->task, instance->base.work.seed,
                                   &instance->source, err);
    if (status == STATUS_OK)
        status = ops_create(device, &instance->base.work, &instance->ops, err);
    if (status == STATUS_OK)
        status = gpt2_device_create(&plan, instance->ops, device, instance->base.work.seed,
                                    &instance->model, err);
    for (size_t i = 0; i < 4 && status == STATUS_OK && device_has_events(device); i++)
        status = device_event_create(device, &instance->events[i], err);
    return status;
}

static enum status create(const struct workload_case *work, struct device *device,
                          struct workload_instance **ret, struct error *err)
{
    struct training_instance *instance = calloc(1, sizeof(*instance));
    enum status status;

    if (!instance)
        return error_set(err, STATUS_NO_MEMORY, "training_step: out of memory");
    instance->base.kind = &workload_training_step;
    instance->base.work = *work;
    instance->base.device = device;
    instance->parameters = work->workload->parameters;
    for (size_t i = 0; i < STAGES; i++)
        instance->host_ns[i] = -1;
    status = build(instance, err);
    if (status != STATUS_OK) {
        destroy(&instance->base);
        return status;
    }
    *ret = &instance->base;
    return STATUS_OK;
}

enum status training_next_batch(struct training_instance *instance, struct error *err)
{
    const uint64_t length = instance->parameters->task.length;
    const uint64_t rows = instance->sequences * length;
    const int64_t start_ns = clock_monotonic_ns();
    int64_t made_ns;
    enum status status;

    for (uint64_t s = 0; s < instance->sequences; s++)
        token_source_sequence(instance->source, instance->next_sequence + s, length,
                              instance->indices + s * length,
                              instance->indices + rows + s * length);
    status = op_tokens_index(instance->indices, rows, &instance->unique, err);
    if (status != STATUS_OK)
        return status;
    instance->next_sequence += instance->sequences;
    made_ns = clock_monotonic_ns();
    status = gpt2_device_set_batch(instance->model, instance->indices, instance->sequences,
                                   instance->unique, err);
    instance->host_ns[STAGE_DATA] = made_ns - start_ns;
    instance->host_ns[STAGE_UPLOAD] = clock_monotonic_ns() - made_ns;
    return status;
}

/*
 * Marks the boundary after stage `stage` (STAGE_UPLOAD: the start of forward). Without events the
 * host waits for the device and reads its own clock.
 */
static enum status mark(struct training_instance *instance, int stage, int64_t *last_ns,
                        struct error *err)
{
    struct event *event = instance->events[stage - STAGE_UPLOAD];
    enum status status;
    int64_t now_ns;

    if (event)
        return device_event_record(instance->base.device, event, err);
    status = device_synchronize(instance->base.device, err);
    now_ns = clock_monotonic_ns();
    if (stage != STAGE_UPLOAD)
        instance->host_ns[stage] = now_ns - *last_ns;
    *last_ns = now_ns;
    return status;
}

static enum status iterate(struct workload_instance *base, struct error *err)
{
    struct training_instance *instance = (struct training_instance *)base;
    const struct adamw adamw = training_adamw(instance->parameters, instance->steps + 1);
    int64_t last_ns = 0;
    enum status status = training_next_batch(instance, err);

    if (status == STATUS_OK)
        status = mark(instance, STAGE_UPLOAD, &last_ns, err);
    if (status == STATUS_OK)
        status = gpt2_device_forward(instance->model, training_loss_slot(instance->steps), err);
    if (status == STATUS_OK)
        status = mark(instance, STAGE_FORWARD, &last_ns, err);
    if (status == STATUS_OK)
        status = gpt2_device_backward(instance->model, err);
    if (status == STATUS_OK)
        status = mark(instance, STAGE_BACKWARD, &last_ns, err);
    if (status == STATUS_OK)
        status = gpt2_device_update(instance->model, &adamw, instance->steps + 1, err);
    if (status == STATUS_OK)
        status = mark(instance, STAGE_OPTIMIZER, &last_ns, err);
    if (status == STATUS_OK)
        instance->steps++;
    return status;
}

static enum status stages(struct workload_instance *base, struct workload_stages *ret,
                          struct error *err)
{
    struct training_instance *instance = (struct training_instance *)base;

    ret->names = stage_names;
    ret->count = STAGES;
    for (size_t i = 0; i < STAGES; i++) {
        ret->ns[i] = instance->host_ns[i];
        ret->host[i] = true;
    }
    for (size_t i = 0; i < 3 && instance->events[0]; i++) {
        enum status status =
            device_event_elapsed_ns(base->device, instance->events[i], instance->events[i + 1],
                                    &ret->ns[STAGE_FORWARD + i], err);

        if (status != STATUS_OK)
            return status;
        ret->host[STAGE_FORWARD + i] = false;
    }
    return STATUS_OK;
}

static size_t artifacts(struct workload_instance *base, struct module_artifact *ret,
                        size_t capacity)
{
    return ops_artifacts(((struct training_instance *)base)->ops, ret, capacity);
}

static json_t *choices(struct workload_instance *base)
{
    return ops_choices(((struct training_instance *)base)->ops);
}

static json_t *facts(struct workload_instance *base)
{
    struct training_instance *instance = (struct training_instance *)base;
    json_t *ret = ops_facts(instance->ops);

    if (!ret)
        return NULL;
    json_object_set_new(
        ret, "parameters",
        json_integer((json_int_t)gpt2_parameter_count(&instance->parameters->task.shape)));
    json_object_set_new(ret, "data", gpt2_source_json(instance->source));
    json_object_set_new(ret, "loss", training_loss_json(instance));
    return ret;
}

const struct workload_kind workload_training_step = {
    .name = "training_step",
    .summary = "one step of training GPT-2: forward, backward, AdamW",
    .load = training_load,
    .unload = training_unload,
    .cost = cost,
    .describe = describe,
    .create = create,
    .iterate = iterate,
    .stages = stages,
    .verify = training_verify,
    .artifacts = artifacts,
    .choices = choices,
    .facts = facts,
    .destroy = destroy,
};
