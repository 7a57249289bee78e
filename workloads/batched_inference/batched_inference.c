#include "workloads/batched_inference/batched_inference.h"

#include <stdlib.h>

#include "harness/core/clock.h"
#include "workloads/kinds.h"

static const char *const stage_names[INFERENCE_STAGES] = {"upload", "forward"};

struct verify_section {
    int64_t sequences;
};

struct inference_declaration {
    struct workload_declaration common;
    struct gpt2_declaration gpt2;
    struct verify_section verify;
};

static const cyaml_schema_field_t verify_fields[] = {
    CYAML_FIELD_INT("sequences", CYAML_FLAG_OPTIONAL, struct verify_section, sequences),
    CYAML_FIELD_END,
};

static const cyaml_schema_field_t fields[] = {
    WORKLOAD_DECLARATION_FIELDS(struct inference_declaration),
    GPT2_DECLARATION_FIELDS(struct inference_declaration),
    CYAML_FIELD_MAPPING("verify", CYAML_FLAG_OPTIONAL, struct inference_declaration, verify,
                        verify_fields),
    CYAML_FIELD_END,
};

static const cyaml_schema_value_t schema = {
    CYAML_VALUE_MAPPING(CYAML_FLAG_POINTER, struct inference_declaration, fields)};

static enum status check(const struct declaration *declaration, struct workload *workload,
                         struct error *err)
{
    struct inference_declaration *data = declaration->data;
    struct inference_parameters *parameters;
    enum status status;

    if (!declaration_has(declaration, "verify.sequences"))
        data->verify.sequences = 1;
    status = workload_declaration_check_count(declaration, "verify.sequences",
                                              data->verify.sequences, 1 << 20, "sequences", err);
    if (status != STATUS_OK)
        return status;
    parameters = calloc(1, sizeof(*parameters));
    if (!parameters)
        return error_set(err, STATUS_NO_MEMORY, "loading a workload: out of memory");
    status = gpt2_declaration_check(declaration, &data->gpt2, &parameters->task, err);
    if (status != STATUS_OK) {
        free(parameters);
        return status;
    }
    parameters->verify_sequences = (uint64_t)data->verify.sequences;
    workload->parameters = parameters;
    return STATUS_OK;
}

static enum status load(struct workload *workload, const char *origin, const char *yaml,
                        size_t length, struct error *err)
{
    return workload_declaration_load(workload, origin, yaml, length, &schema, check, err);
}

static void unload(struct workload *workload)
{
    struct inference_parameters *parameters = workload->parameters;

    if (parameters)
        gpt2_task_finish(&parameters->task);
    free(parameters);
    workload->parameters = NULL;
}

static struct gpt2_device_plan plan_of(const struct workload_case *work)
{
    const struct inference_parameters *parameters = work->workload->parameters;

    return (struct gpt2_device_plan){
        .shape = parameters->task.shape,
        .sequences = (uint64_t)work->batch,
        .length = parameters->task.length,
        .training = false,
        .storage = precision_dtype(work->precision),
    };
}

static enum status cost(const struct workload_case *work, struct workload_cost *ret,
                        struct error *err)
{
    const struct gpt2_device_plan plan = plan_of(work);
    const uint64_t bytes = gpt2_device_bytes(&plan, NULL);

    (void)err;
    *ret = (struct workload_cost){
        .flops = gpt2_forward_flops(&plan.shape, plan.sequences, plan.length),
        .flops_formula = "sum of 2*m*n*k over the forward pass's matrix products; causal scores "
                         "and values count T(T+1)/2 pairs a head; logits of every position",
        .items = plan.sequences * plan.length,
        .item_name = "token",
        .device_memory_bytes = bytes,
        .working_set_bytes = bytes,
        .headline = "items",
    };
    return STATUS_OK;
}

static void describe(const struct workload *workload, struct text *ret)
{
    const struct inference_parameters *parameters = workload->parameters;

    gpt2_task_describe(&parameters->task, ret);
    text_append_format(ret,
                       "task: prefill, logits of every position; a sample is one batch's latency\n"
                       "verified: logits of %d positions in at most %llu sequences of a batch\n",
                       INFERENCE_POSITIONS, (unsigned long long)parameters->verify_sequences);
}

static void destroy(struct workload_instance *base)
{
    struct inference_instance *instance = (struct inference_instance *)base;

    if (!instance)
        return;
    for (size_t i = 0; i < 2; i++)
        device_event_destroy(base->device, instance->events[i]);
    gpt2_device_destroy(instance->model);
    ops_destroy(instance->ops);
    json_decref(instance->source);
    free(instance->pool);
    free(instance);
}

int32_t *inference_batch(const struct inference_instance *instance, uint64_t index)
{
    const uint64_t rows = instance->model->plan.sequences * instance->model->plan.length;

    return instance->pool + index * OP_TOKENS_LENGTH(rows);
}

static enum status fill_pool(struct inference_instance *instance, struct error *err)
{
    const uint64_t length = instance->model->plan.length;
    const uint64_t sequences = instance->model->plan.sequences, rows = sequences * length;
    struct token_source *source = NULL;
    enum status status =
        gpt2_task_open_source(&instance->parameters->task, instance->base.work.seed, &source, err);

    if (status != STATUS_OK)
        return status;
    instance->pool = calloc(INFERENCE_POOL * OP_TOKENS_LENGTH(rows), sizeof(*instance->pool));
    if (!instance->pool)
        status = error_set(err, STATUS_NO_MEMORY, "batched_inference: out of memory");
    for (uint64_t i = 0; i < INFERENCE_POOL && status == STATUS_OK; i++) {
        int32_t *batch = inference_batch(instance, i);

        for (uint64_t s = 0; s < sequences; s++)
            token_source_sequence(source, i * sequences + s, length, batch + s * length,
                                  batch + rows + s * length);
        status = op_tokens_index(batch, rows, &instance->unique[i], err);
    }
    instance->source = gpt2_source_json(source);
    token_source_destroy(source);
    return status;
}

static enum status build(struct inference_instance *instance, struct error *err)
{
    const struct gpt2_device_plan plan = plan_of(&instance->base.work);
    struct device *device = instance->base.device;
    enum status status = ops_create(device, &instance->base.work, &instance->ops, err);

    if (status == STATUS_OK)
        status = gpt2_device_create(&plan, instance->ops, device, instance->base.work.seed,
                                    &instance->model, err);
    if (status == STATUS_OK)
        status = fill_pool(instance, err);
    for (size_t i = 0; i < 2 && status == STATUS_OK && device_has_events(device); i++)
        status = device_event_create(device, &instance->events[i], err);
    return status;
}

static enum status create(const struct workload_case *work, struct device *device,
                          struct workload_instance **ret, struct error *err)
{
    struct inference_instance *instance = calloc(1, sizeof(*instance));
    enum status status;

    if (!instance)
        return error_set(err, STATUS_NO_MEMORY, "batched_inference: out of memory");
    instance->base.kind = &workload_batched_inference;
    instance->base.work = *work;
    instance->base.device = device;
    instance->parameters = work->workload->parameters;
    instance->host_ns[INFERENCE_UPLOAD] = instance->host_ns[INFERENCE_FORWARD] = -1;
    status = build(instance, err);
    if (status != STATUS_OK) {
        destroy(&instance->base);
        return status;
    }
    *ret = &instance->base;
    return STATUS_OK;
}

enum status inference_iterate(struct workload_instance *base, struct error *err)
{
    struct inference_instance *instance = (struct inference_instance *)base;
    const int64_t start_ns = clock_monotonic_ns();
    int64_t uploaded_ns;
    enum status status;

    instance->current = instance->iterations % INFERENCE_POOL;
    status = gpt2_device_set_batch(instance->model, inference_batch(instance, instance->current),
                                   instance->model->plan.sequences,
                                   instance->unique[instance->current], err);
    uploaded_ns = clock_monotonic_ns();
    if (status == STATUS_OK && instance->events[0])
        status = device_event_record(base->device, instance->events[0], err);
    if (status == STATUS_OK)
        status = gpt2_device_forward(instance->model, 0, err);
    if (status == STATUS_OK && instance->events[1])
        status = device_event_record(base->device, instance->events[1], err);
    else if (status == STATUS_OK)
        status = device_synchronize(base->device, err);
    instance->host_ns[INFERENCE_UPLOAD] = uploaded_ns - start_ns;
    instance->host_ns[INFERENCE_FORWARD] = clock_monotonic_ns() - uploaded_ns;
    if (status == STATUS_OK)
        instance->iterations++;
    return status;
}

static enum status stages(struct workload_instance *base, struct workload_stages *ret,
                          struct error *err)
{
    struct inference_instance *instance = (struct inference_instance *)base;

    ret->names = stage_names;
    ret->count = INFERENCE_STAGES;
    for (size_t i = 0; i < INFERENCE_STAGES; i++) {
        ret->ns[i] = instance->host_ns[i];
        ret->host[i] = true;
    }
    if (!instance->events[0])
        return STATUS_OK;
    ret->host[INFERENCE_FORWARD] = false;
    return device_event_elapsed_ns(base->device, instance->events[0], instance->events[1],
                                   &ret->ns[INFERENCE_FORWARD], err);
}

static size_t artifacts(struct workload_instance *base, struct module_artifact *ret,
                        size_t capacity)
{
    return ops_artifacts(((struct inference_instance *)base)->ops, ret, capacity);
}

static json_t *choices(struct workload_instance *base)
{
    return ops_choices(((struct inference_instance *)base)->ops);
}

static json_t *facts(struct workload_instance *base)
{
    struct inference_instance *instance = (struct inference_instance *)base;
    json_t *ret = ops_facts(instance->ops);

    if (!ret)
        return NULL;
    json_object_set_new(
        ret, "parameters",
        json_integer((json_int_t)gpt2_parameter_count(&instance->parameters->task.shape)));
    json_object_set(ret, "data", instance->source);
    json_object_set_new(ret, "batches_in_pool", json_integer(INFERENCE_POOL));
    return ret;
}

const struct workload_kind workload_batched_inference = {
    .name = "batched_inference",
    .summary = "prefill of GPT-2 over a batch of sequences",
    .load = load,
    .unload = unload,
    .cost = cost,
    .describe = describe,
    .create = create,
    .iterate = inference_iterate,
    .stages = stages,
    .verify = inference_verify,
    .artifacts = artifacts,
    .choices = choices,
    .facts = facts,
    .destroy = destroy,
};
