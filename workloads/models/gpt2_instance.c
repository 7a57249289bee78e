#include "workloads/models/gpt2_instance.h"

#include "harness/core/clock.h"

void gpt2_instance_init(struct gpt2_instance *instance, const struct gpt2_stages *stages)
{
    instance->stages = stages;
    for (size_t i = 0; i < stages->count; i++)
        instance->host_ns[i] = -1;
}

enum status gpt2_instance_add_events(struct gpt2_instance *instance, struct error *err)
{
    const size_t marks = instance->stages->count - instance->stages->host_count + 1;

    if (!device_has_events(instance->base.device))
        return STATUS_OK;
    for (size_t i = 0; i < marks; i++)
        TRY(device_event_create(instance->base.device, &instance->events[i], err));
    return STATUS_OK;
}

void gpt2_instance_finish(struct gpt2_instance *instance)
{
    for (size_t i = 0; i < GPT2_MARKS_MAX; i++)
        device_event_destroy(instance->base.device, instance->events[i]);
    gpt2_device_destroy(instance->model);
    ops_destroy(instance->ops);
}

enum status gpt2_instance_mark(struct gpt2_instance *instance, size_t stage, struct error *err)
{
    const size_t start = instance->stages->host_count - 1;
    struct event *event = instance->events[stage - start];
    enum status status;
    int64_t now_ns;

    if (event)
        return device_event_record(instance->base.device, event, err);
    status = device_synchronize(instance->base.device, err);
    now_ns = clock_monotonic_ns();
    if (stage != start)
        instance->host_ns[stage] = now_ns - instance->mark_ns;
    instance->mark_ns = now_ns;
    return status;
}

enum status gpt2_make_batch(const struct token_source *source, uint64_t first, uint64_t sequences,
                            uint64_t length, int32_t *indices, uint64_t *ret_unique,
                            struct error *err)
{
    const uint64_t rows = sequences * length;

    for (uint64_t s = 0; s < sequences; s++)
        token_source_sequence(source, first + s, length, indices + s * length,
                              indices + rows + s * length);
    return op_tokens_index(indices, rows, ret_unique, err);
}

enum status gpt2_instance_resume(struct workload_instance *base, struct error *err)
{
    (void)err;
    ops_seal(((struct gpt2_instance *)base)->ops);
    return STATUS_OK;
}

enum status gpt2_instance_stages(struct workload_instance *base, struct workload_stages *ret,
                                 struct error *err)
{
    struct gpt2_instance *instance = (struct gpt2_instance *)base;
    const struct gpt2_stages *stages = instance->stages;

    ret->names = stages->names;
    ret->count = stages->count;
    for (size_t i = 0; i < stages->count; i++) {
        ret->ns[i] = instance->host_ns[i];
        ret->host[i] = i < stages->host_count || !instance->events[0];
    }
    for (size_t i = stages->host_count; i < stages->count && instance->events[0]; i++) {
        struct event *const *ends = instance->events + (i - stages->host_count);
        TRY(device_event_elapsed_ns(base->device, ends[0], ends[1], &ret->ns[i], err));
    }
    return STATUS_OK;
}

size_t gpt2_instance_artifacts(struct workload_instance *base, struct module_artifact *ret,
                               size_t capacity)
{
    struct ops *ops = ((struct gpt2_instance *)base)->ops;

    return ops ? ops_artifacts(ops, ret, capacity) : 0;
}

json_t *gpt2_instance_choices(struct workload_instance *base)
{
    struct ops *ops = ((struct gpt2_instance *)base)->ops;

    return ops ? ops_choices(ops) : json_object();
}

json_t *gpt2_instance_facts(struct workload_instance *base)
{
    struct gpt2_instance *instance = (struct gpt2_instance *)base;
    json_t *ret = instance->ops ? ops_facts(instance->ops) : json_object();

    if (ret)
        json_object_update_new(
            ret,
            json_pack("{s:I, s:I}", "parameters",
                      (json_int_t)gpt2_parameter_count(&instance->model->plan.shape),
                      "logits_stride", (json_int_t)gpt2_logits_stride(&instance->model->plan)));
    return ret;
}

enum status gpt2_cost(const struct workload_case *work, const struct gpt2_device_plan *plan,
                      uint64_t passes, struct workload_cost *ret, struct error *err)
{
    const uint64_t forward = gpt2_forward_flops(&plan->shape, plan->sequences, plan->length);
    const uint64_t bytes = gpt2_device_bytes(plan, NULL), tokens = plan->sequences * plan->length;

    if (forward > INT64_MAX / passes || bytes > INT64_MAX || tokens > INT32_MAX)
        return error_set(err, STATUS_INVALID,
                         "%s: an iteration of batch %lld is more than 2^63 FLOPs, 2^63 bytes or "
                         "2^31 tokens: declare a smaller batch, sequence_length or model",
                         work->workload->name, (long long)work->batch);
    *ret = (struct workload_cost){
        .flops = passes * forward,
        .items = tokens,
        .item_name = "token",
        .device_memory_bytes = bytes,
        .working_set_bytes = bytes,
        .headline = "items",
    };
    return STATUS_OK;
}
