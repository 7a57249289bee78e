/*
 * The losses that fp32 gives at the same steps: the same model, seed, data and rates. The first
 * step of a run is the check's, on a part of the first batch; those that follow take whole batches.
 */
#include <stdlib.h>
#include <string.h>

#include "workloads/training_step/training_step.h"
#include "harness/core/cleanup.h"

static struct training_batch batch_of(const struct training_instance *instance, uint64_t step)
{
    const uint64_t wanted = instance->parameters->verify_sequences;
    const uint64_t checked = wanted < instance->sequences ? wanted : instance->sequences;

    return (struct training_batch){step * instance->sequences,
                                   step == 0 ? checked : instance->sequences};
}

static enum status train(struct training_instance *instance, struct gpt2_device *model,
                         struct error *err)
{
    for (uint64_t step = 0; step < instance->fp32_steps; step++) {
        const struct training_batch batch = batch_of(instance, step);
        const struct adamw adamw = training_adamw(instance->parameters, step + 1);
        uint64_t unique = 0;

        instance->fp32_history[step] = batch;
        TRY(gpt2_make_batch(instance->source, batch.first_sequence, batch.sequences,
                            instance->parameters->task.length, instance->indices, &unique, err));
        TRY(gpt2_device_set_batch(model, instance->indices, batch.sequences, unique, err));
        TRY(gpt2_device_forward(model, step, err));
        TRY(gpt2_device_backward(model, err));
        TRY(trained_update(&model->trained, &adamw, step + 1, err));
    }
    return gpt2_device_fetch(model, GPT2_LOSSES, 0, instance->fp32_steps, instance->fp32_losses,
                             err);
}

/* Group sizes and tiles are those chosen for the precision measured: nothing here is timed. */
static enum status run(struct training_instance *instance, struct error *err)
{
    struct workload_case work = instance->gpt2.base.work;
    struct device *device = instance->gpt2.base.device;
    json_auto_t *choices = ops_choices(instance->gpt2.ops);
    CLEANUP(ops_drop) struct ops *ops = NULL;
    CLEANUP(gpt2_device_drop) struct gpt2_device *model = NULL; /* freed before the operations */
    struct gpt2_device_plan plan;

    work.precision = PRECISION_FP32;
    work.choices = choices;
    plan = training_plan(&work);
    TRY(ops_create(device, &work, DTYPE_F32, plan.shape.width, &ops, err));
    TRY(gpt2_device_create(&plan, ops, device, work.seed, &model, err));
    return train(instance, model, err);
}

enum status training_run_fp32(struct training_instance *instance, struct error *err)
{
    struct error mine = ERROR_INIT;
    enum status status;

    instance->fp32_steps = instance->parameters->fp32_steps;
    status = run(instance, &mine);
    if (status == STATUS_OK)
        return status;
    instance->fp32_steps = 0;
    if (status != STATUS_DEVICE_MEMORY && status != STATUS_UNSUPPORTED)
        return error_set(err, status, "losses in fp32: %s", mine.message);
    instance->fp32_missing = strdup(mine.message);
    return instance->fp32_missing ? STATUS_OK : error_no_memory(err);
}

uint64_t training_fp32_comparable(const struct training_instance *instance)
{
    uint64_t count = 0;

    while (count < instance->fp32_steps && count < instance->steps &&
           memcmp(&instance->history[count], &instance->fp32_history[count],
                  sizeof(struct training_batch)) == 0)
        count++;
    return count;
}
