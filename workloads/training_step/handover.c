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

/* Every tensor under that prefix, where gpt2.h has it; of a file of safetensors. */
static enum status take(const struct tensors *outputs, const struct gpt2_shape *shape,
                        const char *prefix, float *ret, struct error *err)
{
    for (size_t i = 0; i < gpt2_tensor_count(shape); i++) {
        const struct gpt2_tensor tensor = gpt2_tensor_at(shape, i);
        const struct tensor wanted = gpt2_handover_tensor(&tensor, prefix);
        const struct tensor *got = NULL;

        TRY(tensors_find(outputs, wanted.name, DTYPE_F32, DTYPE_F32, wanted.rank, wanted.shape,
                         &got, err));
        memcpy(ret + tensor.offset, got->data, got->bytes);
    }
    return STATUS_OK;
}

/* The arrays of a step, one after another, each of `room` elements; padding is 0. */
struct step {
    const struct workload_case *work;
    struct gpt2_device_plan plan;
    float *before, *after; /* heap: ADAMW_ARRAYS each, in one piece */
    const float *loss;
    uint64_t room;
};

static enum status take_step(struct step *step, const struct tensors *outputs, struct error *err)
{
    static const char *const before[ADAMW_ARRAYS] = {"w.", "g.", "m.", "v."};
    static const char *const after[ADAMW_ARRAYS] = {"next.w.", NULL, "next.m.", "next.v."};
    const struct gpt2_shape *shape = &step->plan.shape;
    const struct tensor *loss = NULL;

    step->room = gpt2_array_length(shape);
    step->before = calloc(2 * ADAMW_ARRAYS * step->room, sizeof(*step->before));
    if (!step->before)
        return error_no_memory(err);
    step->after = step->before + ADAMW_ARRAYS * step->room;
    for (size_t i = 0; i < ADAMW_ARRAYS; i++) {
        TRY(take(outputs, shape, before[i], step->before + i * step->room, err));
        if (after[i])
            TRY(take(outputs, shape, after[i], step->after + i * step->room, err));
    }
    TRY(tensors_find(outputs, "loss", DTYPE_F32, DTYPE_F32, 1, (const uint64_t[]){1}, &loss, err));
    step->loss = loss->data;
    return STATUS_OK;
}

static enum status compare_passes(const struct step *step, const int32_t *tokens,
                                  const int32_t *targets, struct check_sink *sink,
                                  struct error *err)
{
    const struct training_passes passes = {
        .of = {.loss = step->loss,
               .gradients = step->before + ADAMW_GRADIENT * step->room,
               .inverse = 1.0,
               .lead = TRAINING_GRADIENTS},
        .tokens = tokens,
        .targets = targets,
        .sequences = step->plan.sequences,
        .weights = step->before + ADAMW_WEIGHT * step->room,
    };

    return training_check_passes(step->work, &passes, sink, err);
}

/* A window of each tensor, with its padding. */
static enum status compare_update(const struct step *step, int64_t iteration,
                                  struct check_sink *sink, struct error *err)
{
    const struct gpt2_shape *shape = &step->plan.shape;
    const size_t count = gpt2_tensor_count(shape);
    AUTO_FREE struct adamw_window *windows = calloc(count, sizeof(*windows));
    const struct adamw_update update = {
        .windows = windows,
        .count = count,
        .room = step->room,
        .adamw = training_adamw(step->work->workload->parameters, (uint64_t)iteration),
        .step = (uint64_t)iteration,
        .inverse = 1.0,
        .before = step->before,
    };

    if (!windows)
        return error_no_memory(err);
    for (size_t i = 0; i < count; i++) {
        const struct gpt2_tensor tensor = gpt2_tensor_at(shape, i);
        const uint64_t end = i + 1 < count ? gpt2_tensor_at(shape, i + 1).offset : step->room;

        windows[i] = (struct adamw_window){tensor.offset, end - tensor.offset, tensor.decay};
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
    const struct training_parameters *parameters = work->workload->parameters;
    CLEANUP(step_finish) struct step step = {.work = work, .plan = training_plan(work)};
    const uint64_t batch = step.plan.sequences * step.plan.length;
    const uint64_t at = ((uint64_t)handed->iteration - 1) % GPT2_HANDOVER_POOL * batch;
    AUTO_FREE int32_t *tokens = malloc(2 * GPT2_HANDOVER_POOL * batch * sizeof(*tokens));
    int32_t *targets;

    if (!tokens)
        return error_no_memory(err);
    targets = tokens + GPT2_HANDOVER_POOL * batch;
    TRY(take_step(&step, handed->outputs, err));
    TRY(gpt2_handover_tokens(&parameters->task, &step.plan, work->seed, handed->secret, tokens,
                             targets, err));
    TRY(compare_passes(&step, tokens + at, targets + at, sink, err));
    return compare_update(&step, handed->iteration, sink, err);
}

const struct workload_handover training_handover = {write_file, judge};
