/*
 * Training by another program. Nobody can compute where thousands of steps lead, so what is handed
 * over is one step: weights and moments before it, its loss, the gradients that it took, weights
 * and moments after it. All of it is compared: loss and gradients with the fp64 reference at those
 * weights, every element of the update with the formula.
 */
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "workloads/models/adamw_update.h"
#include "workloads/models/gpt2_handover.h"
#include "workloads/training_step/training_step.h"

static enum status write_file(const struct workload_case *work, const uint64_t *secret,
                              const char *path, struct error *err)
{
    const struct training_parameters *parameters = work->workload->parameters;
    const struct gpt2_device_plan plan = training_plan(work);

    if (plan.scale > 0.0)
        return error_set(err, STATUS_UNSUPPORTED,
                         "fp16 is not handed over: which steps are skipped depends on the loss "
                         "scale before them");
    return gpt2_handover_write(&parameters->task, &plan, work->seed, secret, path, err);
}

/* Every tensor under that prefix, one after another; of a file of safetensors. */
static enum status take(const struct tensors *outputs, const struct gpt2_shape *shape,
                        const char *prefix, float *ret, struct error *err)
{
    for (size_t i = 0; i < gpt2_tensor_count(shape); i++) {
        const struct gpt2_tensor tensor = gpt2_tensor_at(shape, i);
        const struct tensor wanted = gpt2_handover_tensor(&tensor, prefix);
        const struct tensor *got = NULL;

        TRY(tensors_find(outputs, wanted.name, DTYPE_F32, DTYPE_F32, wanted.rank, wanted.shape,
                         &got, err));
        memcpy(ret, got->data, got->bytes);
        ret += tensor.count;
    }
    return STATUS_OK;
}

/* Of the arrays of an update, before it or after it. */
static enum status take_arrays(const struct tensors *outputs, const struct gpt2_shape *shape,
                               const char *const prefixes[ADAMW_ARRAYS], uint64_t room, float *ret,
                               struct error *err)
{
    for (size_t i = 0; i < ADAMW_ARRAYS; i++)
        if (prefixes[i])
            TRY(take(outputs, shape, prefixes[i], ret + i * room, err));
    return STATUS_OK;
}

/* The arrays of a step, one after another, each of `room` elements. */
struct step {
    struct training_instance *instance;
    float *before, *after; /* heap: ADAMW_ARRAYS each, in one piece */
    uint64_t room;
};

static enum status take_step(struct step *step, const struct workload_handed *handed,
                             struct error *err)
{
    static const char *const before[ADAMW_ARRAYS] = {"w.", "g.", "m.", "v."};
    static const char *const after[ADAMW_ARRAYS] = {"next.w.", NULL, "next.m.", "next.v."};
    const struct gpt2_shape *shape = &step->instance->parameters->task.shape;
    const struct tensor *loss = NULL;

    for (size_t i = 0; i < gpt2_tensor_count(shape); i++)
        step->room += gpt2_tensor_at(shape, i).count;
    step->before = calloc(2 * ADAMW_ARRAYS * step->room, sizeof(*step->before));
    if (!step->before)
        return error_no_memory(err);
    step->after = step->before + ADAMW_ARRAYS * step->room;
    TRY(take_arrays(handed->outputs, shape, before, step->room, step->before, err));
    TRY(take_arrays(handed->outputs, shape, after, step->room, step->after, err));
    TRY(tensors_find(handed->outputs, "loss", DTYPE_F32, DTYPE_F32, 1, (const uint64_t[]){1}, &loss,
                     err));
    step->instance->handed = (struct training_handed){
        .loss = loss->data, .gradients = step->before + ADAMW_GRADIENT * step->room};
    return STATUS_OK;
}

/* Loss and gradients at the weights before the step, which have padding in the reference's array.
 */
static enum status compare_passes(const struct step *step, const int32_t *tokens,
                                  const int32_t *targets, struct check_sink *sink,
                                  struct error *err)
{
    const struct gpt2_device_plan *plan = &step->instance->gpt2.model->plan;
    const float *from = step->before + ADAMW_WEIGHT * step->room;
    AUTO_FREE float *weights = calloc(gpt2_array_length(&plan->shape), sizeof(*weights));
    const struct training_passes passes = {.tokens = tokens,
                                           .targets = targets,
                                           .sequences = plan->sequences,
                                           .weights = weights,
                                           .inverse = 1.0};

    if (!weights)
        return error_no_memory(err);
    for (size_t i = 0; i < gpt2_tensor_count(&plan->shape); i++) {
        const struct gpt2_tensor tensor = gpt2_tensor_at(&plan->shape, i);

        memcpy(weights + tensor.offset, from, tensor.count * sizeof(*weights));
        from += tensor.count;
    }
    return training_check_passes(step->instance, &passes, sink, err);
}

static enum status compare_update(const struct step *step, int64_t iteration,
                                  struct check_sink *sink, struct error *err)
{
    const struct training_parameters *parameters = step->instance->parameters;
    const size_t count = gpt2_tensor_count(&parameters->task.shape);
    AUTO_FREE struct adamw_window *windows = calloc(count, sizeof(*windows));
    const struct adamw_update update = {
        .windows = windows,
        .count = count,
        .room = step->room,
        .adamw = training_adamw(parameters, (uint64_t)iteration),
        .step = (uint64_t)iteration,
        .inverse = 1.0,
        .before = step->before,
    };

    if (!windows)
        return error_no_memory(err);
    for (size_t i = 0; i < count; i++) {
        const struct gpt2_tensor tensor = gpt2_tensor_at(&parameters->task.shape, i);

        windows[i] = (struct adamw_window){tensor.offset, tensor.count, tensor.decay};
    }
    adamw_update_compare(&update, step->after, false, sink);
    return STATUS_OK;
}

static void step_finish(struct step *step)
{
    free(step->before);
}

static enum status judge(const struct workload_handed *handed, struct check_sink *sink,
                         struct error *err)
{
    const struct workload_case *work = handed->work;
    struct gpt2_device model = {.plan = training_plan(work)};
    struct training_instance instance = {.gpt2 = {.base.work = *work, .model = &model},
                                         .parameters = work->workload->parameters};
    CLEANUP(step_finish) struct step step = {.instance = &instance};
    const uint64_t batch = model.plan.sequences * model.plan.length;
    const uint64_t at = ((uint64_t)handed->iteration - 1) % GPT2_HANDOVER_POOL * batch;
    AUTO_FREE int32_t *tokens = malloc(2 * GPT2_HANDOVER_POOL * batch * sizeof(*tokens));
    int32_t *targets;

    if (!tokens)
        return error_no_memory(err);
    targets = tokens + GPT2_HANDOVER_POOL * batch;
    model.tokens.rows = batch;
    TRY(take_step(&step, handed, err));
    TRY(gpt2_handover_tokens(&instance.parameters->task, &model.plan, work->seed, handed->secret,
                             tokens, targets, err));
    TRY(compare_passes(&step, tokens + at, targets + at, sink, err));
    return compare_update(&step, handed->iteration, sink, err);
}

const struct workload_handover training_handover = {write_file, judge};
