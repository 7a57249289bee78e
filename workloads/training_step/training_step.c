#include "workloads/training_step/training_step.h"

#include <stdlib.h>

#include "harness/core/clock.h"
#include "harness/core/member.h"
#include "workloads/kinds.h"

static const char *const stage_names[STAGES] = {
    [STAGE_DATA] = "data",         [STAGE_UPLOAD] = "upload",       [STAGE_FORWARD] = "forward",
    [STAGE_BACKWARD] = "backward", [STAGE_OPTIMIZER] = "optimizer",
};
static const struct gpt2_stages stages = {stage_names, STAGES, STAGE_FORWARD};

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

struct gpt2_device_plan training_plan(const struct workload_case *work)
{
    const struct training_parameters *parameters = work->workload->parameters;

    return (struct gpt2_device_plan){
        .shape = parameters->task.shape,
        .sequences = (uint64_t)work->batch,
        .length = parameters->task.length,
        .training = true,
        .storage = precision_dtype(work->precision),
        .scale = work->precision == PRECISION_FP16 ? parameters->scale : 0.0,
        .scale_interval = parameters->scale_interval,
    };
}

static enum status cost(const struct workload_case *work, struct workload_cost *ret,
                        struct error *err)
{
    const struct gpt2_device_plan plan = training_plan(work);

    TRY(gpt2_cost(work, &plan, 3, ret, err));
    ret->flops_formula = "3 * (sum of 2*m*n*k over the forward pass's GEMMs; causal "
                         "scores and values count T(T+1)/2 pairs a head); the backward pass has "
                         "two GEMMs for each (Chowdhery et al. 2022, appendix B, without "
                         "masked positions)";
    ret->working_set_bytes -= GPT2_LOSS_SLOTS * sizeof(float);
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
                       "batch; after %llu steps the loss must have fallen by %g %%; below fp32 the "
                       "first %llu losses are compared with those of the same training in fp32\n",
                       parameters->adamw.rate, (unsigned long long)parameters->warmup_steps,
                       parameters->adamw.beta1, parameters->adamw.beta2, parameters->adamw.epsilon,
                       parameters->adamw.decay, (unsigned long long)parameters->verify_sequences,
                       (unsigned long long)parameters->loss_steps, 100.0 * parameters->loss_margin,
                       (unsigned long long)parameters->fp32_steps);
    gpt2_recipes_describe(workload, training_plan, ret);
}

static void finish(struct workload_instance *base)
{
    struct training_instance *instance = (struct training_instance *)base;

    gpt2_instance_finish(&instance->gpt2);
    token_source_destroy(instance->source);
    free(instance->fp32_missing);
    free(instance->indices);
    free(instance->ahead.indices);
}

/*
 * Every GEMM of a whole batch runs once, since the verification may cover only a part of one. The
 * passes leave no data that a step reads.
 */
static enum status prepare_gemm(struct training_instance *instance, struct error *err)
{
    if (instance->parameters->verify_sequences >= instance->sequences)
        return STATUS_OK;
    TRY(training_next_batch(instance, err));
    instance->next_sequence = 0;
    TRY(gpt2_device_forward(instance->gpt2.model, 0, err));
    TRY(gpt2_device_backward(instance->gpt2.model, err));
    return device_synchronize(instance->gpt2.base.device, err);
}

static enum status init(struct workload_instance *base, struct error *err)
{
    const struct workload_case *work = &base->work;
    struct training_instance *instance = (struct training_instance *)base;
    struct gpt2_device_plan plan = training_plan(work);
    const uint64_t length = OP_TOKENS_LENGTH(plan.sequences * plan.length);
    struct device *device = base->device;

    gpt2_instance_init(&instance->gpt2, &stages);
    instance->parameters = work->workload->parameters;
    instance->sequences = plan.sequences;
    instance->indices = calloc(length, sizeof(*instance->indices));
    instance->ahead.indices = calloc(length, sizeof(*instance->ahead.indices));
    instance->ahead.made_ns = -1;
    if (!instance->indices || !instance->ahead.indices)
        return error_no_memory(err);
    TRY(gpt2_task_open_source(&instance->parameters->task, work->seed, &instance->source, err));
    TRY(ops_create(device, work, plan.storage, plan.shape.width, &instance->gpt2.ops, err));
    if (work->precision != PRECISION_FP32)
        TRY(training_run_fp32(instance, err));
    TRY(gpt2_device_fuse(&plan, instance->gpt2.ops, err));
    TRY(gpt2_device_create(&plan, instance->gpt2.ops, device, work->seed, &instance->gpt2.model,
                           err));
    TRY(prepare_gemm(instance, err));
    return gpt2_instance_add_events(&instance->gpt2, err);
}

static enum status make_ahead(struct training_instance *instance, struct error *err)
{
    const int64_t start_ns = clock_monotonic_ns();
    struct training_ahead *ahead = &instance->ahead;

    ahead->made_ns = -1;
    ahead->first_sequence = instance->next_sequence;
    TRY(gpt2_make_batch(instance->source, ahead->first_sequence, instance->sequences,
                        instance->parameters->task.length, ahead->indices, &ahead->unique, err));
    ahead->made_ns = clock_monotonic_ns() - start_ns;
    return STATUS_OK;
}

enum status training_look_ahead(struct training_instance *instance, struct error *err)
{
    const struct training_ahead *ahead = &instance->ahead;

    return ahead->made_ns >= 0 && ahead->first_sequence == instance->next_sequence
               ? STATUS_OK
               : make_ahead(instance, err);
}

enum status training_next_batch(struct training_instance *instance, struct error *err)
{
    struct training_ahead *ahead = &instance->ahead;
    int32_t *indices = instance->indices;
    int64_t start_ns;

    TRY(training_look_ahead(instance, err));
    instance->gpt2.host_ns[STAGE_DATA] = ahead->made_ns;
    instance->indices = ahead->indices;
    instance->unique = ahead->unique;
    instance->next_sequence += instance->sequences;
    ahead->indices = indices;
    ahead->made_ns = -1;
    start_ns = clock_monotonic_ns();
    TRY(gpt2_device_set_batch(instance->gpt2.model, instance->indices, instance->sequences,
                              instance->unique, err));
    instance->gpt2.host_ns[STAGE_UPLOAD] = clock_monotonic_ns() - start_ns;
    return STATUS_OK;
}

void training_count_step(struct training_instance *instance, uint64_t first_sequence,
                         uint64_t sequences)
{
    if (instance->steps < LOSS_HEAD)
        instance->history[instance->steps] = (struct training_batch){first_sequence, sequences};
    instance->steps++;
}

static enum status training_iterate(struct workload_instance *base, struct error *err)
{
    struct training_instance *instance = (struct training_instance *)base;
    struct gpt2_instance *gpt2 = &instance->gpt2;
    const struct adamw adamw = training_adamw(instance->parameters, instance->steps + 1);

    TRY(training_next_batch(instance, err));
    TRY(gpt2_instance_mark(gpt2, STAGE_UPLOAD, err));
    TRY(gpt2_device_forward(gpt2->model, training_loss_slot(instance->steps), err));
    TRY(gpt2_instance_mark(gpt2, STAGE_FORWARD, err));
    TRY(gpt2_device_backward(gpt2->model, err));
    TRY(gpt2_instance_mark(gpt2, STAGE_BACKWARD, err));
    TRY(trained_update(&gpt2->model->trained, &adamw, instance->steps + 1, err));
    TRY(gpt2_instance_mark(gpt2, STAGE_OPTIMIZER, err));
    training_count_step(instance, instance->next_sequence - instance->sequences,
                        instance->sequences);
    return make_ahead(instance, err);
}

/* What became of the loss scale; null where the device does not report. */
static json_t *scaling_json(const struct gpt2_device *model)
{
    struct op_scaling_state state;

    if (trained_scaling(&model->trained, &state, NULL) != STATUS_OK)
        return json_null();
    return json_pack("{s:f, s:o, s:I, s:I, s:I, s:o}", "initial", model->plan.scale, "last",
                     real_or_null((double)state.scale), "growth_interval",
                     (json_int_t)model->plan.scale_interval, "steps_taken", (json_int_t)state.taken,
                     "steps_skipped", (json_int_t)state.skipped, "steps_before_first_skipped",
                     state.skipped > 0 ? json_integer(state.first_skipped) : json_null());
}

static json_t *facts(struct workload_instance *base)
{
    struct training_instance *instance = (struct training_instance *)base;
    const struct gpt2_device *model = instance->gpt2.model;
    json_t *ret = gpt2_instance_facts(base);

    if (!ret)
        return NULL;
    json_object_set_new(ret, "recipe", gpt2_recipe_json(base->work.precision, &model->plan));
    json_object_set_new(ret, "data", gpt2_source_json(instance->source));
    json_object_set_new(ret, "loss", training_loss_json(instance));
    if (model->plan.scale > 0.0)
        json_object_set_new(ret, "loss_scale", scaling_json(model));
    return ret;
}

static struct buffer *result(struct workload_instance *base)
{
    const struct gpt2_device *model = ((struct training_instance *)base)->gpt2.model;

    return model->buffers[gpt2_device_weights(model)];
}

const struct workload_kind workload_training_step = {
    .name = "training_step",
    .summary = "one step of training GPT-2: forward, backward, AdamW",
    .form = &training_form,
    .unload = gpt2_task_unload,
    .cost = cost,
    .describe = describe,
    .instance_size = sizeof(struct training_instance),
    .init = init,
    .iterate = training_iterate,
    .result = result,
    .stages = gpt2_instance_stages,
    .checks = &training_checks,
    .artifacts = gpt2_instance_artifacts,
    .choices = gpt2_instance_choices,
    .facts = facts,
    .handover = &training_handover,
    .finish = finish,
};
