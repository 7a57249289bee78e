/*
 * Training by another program. Nobody can compute where thousands of steps lead, so what is handed
 * over is one step: weights and moments before it, its loss, the gradients that it took, weights
 * and moments after it. All of it is compared: loss and gradients with the fp64 reference at those
 * weights, every element of the update with the formula.
 */
#include <stdlib.h>
#include <string.h>

#include "workloads/models/gpt2_handover.h"
#include "harness/core/cleanup.h"
#include "workloads/models/gpt2_reference.h"
#include "workloads/training_step/training_step.h"

static enum status write_file(const struct workload_case *work, bool inputs_only,
                              const uint64_t *secret, const char *path, struct error *err)
{
    const struct training_parameters *parameters = work->workload->parameters;
    const struct gpt2_device_plan plan = training_plan(work);

    if (plan.scale > 0.0)
        return error_set(err, STATUS_UNSUPPORTED,
                         "fp16 is not handed over: which steps are skipped depends on the loss "
                         "scale before them");
    return gpt2_handover_write(&parameters->task, &plan, work->seed, inputs_only, secret, path,
                               err);
}

/* Every tensor under that prefix, one after another; of a file of safetensors. */
static enum status take(const struct tensors *outputs, const struct gpt2_shape *shape,
                        const char *prefix, float *ret, struct error *err)
{
    enum status status = STATUS_OK;

    for (size_t i = 0; i < gpt2_tensor_count(shape) && status == STATUS_OK; i++) {
        const struct gpt2_tensor tensor = gpt2_tensor_at(shape, i);
        const struct tensor wanted = gpt2_handover_tensor(&tensor, prefix);
        const struct tensor *got = NULL;

        status = tensors_find(outputs, wanted.name, DTYPE_F32, DTYPE_F32, wanted.rank, wanted.shape,
                              &got, err);
        if (status == STATUS_OK)
            memcpy(ret, got->data, got->bytes);
        ret += tensor.count;
    }
    return status;
}

/* Of the arrays of an update, before it or after it. */
static enum status take_arrays(const struct tensors *outputs, const struct gpt2_shape *shape,
                               const char *const prefixes[TRAINING_ARRAYS], uint64_t room,
                               float *ret, struct error *err)
{
    for (size_t i = 0; i < TRAINING_ARRAYS; i++)
        if (prefixes[i])
            TRY(take(outputs, shape, prefixes[i], ret + i * room, err));
    return STATUS_OK;
}

struct step {
    const struct workload_case *work;
    struct gpt2_device_plan plan;
    const struct tensors *outputs;
    const float *before; /* the arrays of the update */
    uint64_t room;
    const int32_t *tokens, *targets; /* of the batch */
    struct gpt2_tolerance tolerance;
};

/* The reference's arrays have padding, those of the update have none. */
static void compare_gradients(const struct step *step, const double *expected,
                              struct check_sink *sink)
{
    const float *got = step->before + TRAINING_GRADIENT * step->room;
    struct block_finding blocks = {0};

    for (size_t i = 0; i < gpt2_tensor_count(&step->plan.shape); i++) {
        const struct gpt2_tensor tensor = gpt2_tensor_at(&step->plan.shape, i);
        struct comparison comparison = {0};
        char name[GPT2_TENSOR_NAME_MAX + 8] = "grad.";

        strcat(name, tensor.name);
        comparison_add(&comparison, got, expected + tensor.offset, tensor.count);
        check_sink_compare(sink, name, &comparison, step->tolerance.gradient,
                           step->tolerance.reason);
        block_finding_add(&blocks, name, got, expected + tensor.offset, tensor.count);
        got += tensor.count;
    }
    check_sink_blocks(sink, "grad.blocks", &blocks, step->tolerance.gradient);
}

static enum status compare_passes(const struct step *step, struct check_sink *sink,
                                  struct error *err)
{
    const struct gpt2_device_plan *plan = &step->plan;
    const struct tensor *loss = NULL;
    const float *from = step->before + TRAINING_WEIGHT * step->room;
    struct comparison comparison = {0};
    struct gpt2_reference *reference = NULL;
    float *weights = calloc(gpt2_array_length(&plan->shape), sizeof(*weights));
    enum status status = weights ? tensors_find(step->outputs, "loss", DTYPE_F32, DTYPE_F32, 1,
                                                (const uint64_t[]){1}, &loss, err)
                                 : error_no_memory(err);

    for (size_t i = 0; i < gpt2_tensor_count(&plan->shape) && status == STATUS_OK; i++) {
        const struct gpt2_tensor tensor = gpt2_tensor_at(&plan->shape, i);

        memcpy(weights + tensor.offset, from, tensor.count * sizeof(*weights));
        from += tensor.count;
    }
    if (status == STATUS_OK)
        status = gpt2_reference_create(&plan->shape, plan->sequences, plan->length, true,
                                       &reference, err);
    if (status == STATUS_OK)
        status = gpt2_reference_forward(reference, weights, step->tokens, step->targets, err);
    if (status == STATUS_OK) {
        comparison_add(&comparison, loss->data, &reference->loss, 1);
        check_sink_compare(sink, "loss", &comparison, step->tolerance.loss,
                           step->tolerance.loss_reason);
        status = gpt2_reference_backward(reference, weights, step->tokens, step->targets, err);
    }
    if (status == STATUS_OK)
        compare_gradients(step, reference->gradients, sink);
    gpt2_reference_destroy(reference);
    free(weights);
    return status;
}

static enum status compare_update(const struct step *step, int64_t iteration, const float *after,
                                  struct check_sink *sink, struct error *err)
{
    const struct training_parameters *parameters = step->work->workload->parameters;
    const size_t count = gpt2_tensor_count(&step->plan.shape);
    struct training_window *windows = calloc(count, sizeof(*windows));
    const struct training_update update = {
        .windows = windows,
        .count = count,
        .room = step->room,
        .adamw = training_adamw(parameters, (uint64_t)iteration),
        .step = (uint64_t)iteration,
        .inverse = 1.0,
        .before = (float *)step->before,
    };

    if (!windows)
        return error_no_memory(err);
    for (size_t i = 0; i < count; i++) {
        const struct gpt2_tensor tensor = gpt2_tensor_at(&step->plan.shape, i);

        windows[i] = (struct training_window){tensor.offset, tensor.count, tensor.decay};
    }
    training_update_compare(&update, after, false, sink);
    free(windows);
    return STATUS_OK;
}

static enum status judge(const struct workload_case *work, const uint64_t *secret,
                         const struct tensors *outputs, int64_t iteration, bool whole,
                         workload_check_fn *report, void *context, struct error *err)
{
    static const char *const before[TRAINING_ARRAYS] = {"w.", "g.", "m.", "v."};
    static const char *const after[TRAINING_ARRAYS] = {"next.w.", NULL, "next.m.", "next.v."};
    const struct training_parameters *parameters = work->workload->parameters;
    struct step step = {.work = work, .plan = training_plan(work), .outputs = outputs};
    const struct gpt2_shape *shape = &step.plan.shape;
    const uint64_t batch = step.plan.sequences * step.plan.length;
    const uint64_t at = ((uint64_t)iteration - 1) % GPT2_HANDOVER_POOL * batch;
    struct check_sink sink = {.report = report, .context = context, .err = err};
    AUTO_FREE int32_t *tokens = malloc(2 * GPT2_HANDOVER_POOL * batch * sizeof(*tokens));
    AUTO_FREE float *arrays = NULL;

    (void)whole;
    for (size_t i = 0; i < gpt2_tensor_count(shape); i++)
        step.room += gpt2_tensor_at(shape, i).count;
    arrays = calloc(2 * TRAINING_ARRAYS * step.room, sizeof(*arrays));
    step.before = arrays;
    step.tokens = tokens + at;
    step.targets = tokens + GPT2_HANDOVER_POOL * batch + at;
    step.tolerance = gpt2_tolerance_of(work->precision, step.plan.storage, shape, batch);
    TRY(tokens && arrays ? take_arrays(outputs, shape, before, step.room, arrays, err)
                         : error_no_memory(err));
    TRY(take_arrays(outputs, shape, after, step.room, arrays + TRAINING_ARRAYS * step.room, err));
    TRY(gpt2_handover_tokens(&parameters->task, &step.plan, work->seed, secret, tokens,
                             tokens + GPT2_HANDOVER_POOL * batch, err));
    TRY(compare_passes(&step, &sink, err));
    TRY(compare_update(&step, iteration, arrays + TRAINING_ARRAYS * step.room, &sink, err));
    return sink.status;
}

const struct workload_handover training_handover = {write_file, judge};
