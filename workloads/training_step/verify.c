/*
 * Checks of a training step, on the buffers that iterations write: the current batch (or its first
 * `verify.sequences` sequences) runs forward and backward again, loss and gradients are compared
 * with the fp64 reference at the device's own parameters, then one AdamW step is compared element
 * by element. That step counts like any other.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "workloads/models/gpt2_reference.h"
#include "harness/core/cleanup.h"
#include "workloads/models/gpt2_spot.h"
#include "workloads/training_step/training_step.h"

#define STREAM_CHECKED 0x636865u
#define UPDATE_WINDOW 65536 /* elements of each tensor whose update is checked */
#define UPDATE_PIECES 16    /* that they lie in, spread over the tensor */

/* For the batch that is set. */
static struct gpt2_tolerance tolerance_of(const struct training_instance *instance)
{
    const struct gpt2_device *model = instance->gpt2.model;

    return gpt2_tolerance_of(instance->gpt2.base.work.precision, model->plan.storage,
                             &model->plan.shape, model->tokens.rows);
}

double training_tolerance(const struct workload_case *work, const char *output, const char *metric)
{
    const struct training_parameters *parameters = work->workload->parameters;
    const struct gpt2_tolerance tolerance = gpt2_tolerance_of(
        work->precision, precision_dtype(work->precision), &parameters->task.shape, 1);

    (void)metric;
    if (!strcmp(output, "loss") || !strcmp(output, "loss.prefix"))
        return tolerance.loss;
    if (!strcmp(output, "loss.floor"))
        return training_floor_tolerance(work);
    if (!strcmp(output, "norm.statistics") || !strcmp(output, "grad.embedding") ||
        !strcmp(output, "grad.logits"))
        return 1.0;
    if (!strcmp(output, "grad.live") || !strcmp(output, "adamw.still"))
        return 0.0;
    if (!strcmp(output, "loss.fall"))
        return 1.0 - parameters->loss_margin;
    if (!strcmp(output, "grad.blocks"))
        return COMPARISON_BLOCK_FACTOR * tolerance.gradient;
    if (!strncmp(output, "grad.", strlen("grad.")))
        return tolerance.gradient;
    if (!strcmp(output, "adamw.copy"))
        return 0.0;
    return strncmp(output, "adamw.", strlen("adamw.")) ? -1.0 : TRAINING_UPDATE_TOLERANCE;
}

enum status training_take_subset(struct training_instance *instance, struct training_subset *ret,
                                 struct error *err)
{
    const uint64_t length = instance->parameters->task.length;
    const uint64_t wanted = instance->parameters->verify_sequences;
    const uint64_t sequences = wanted < instance->sequences ? wanted : instance->sequences;
    const uint64_t rows = sequences * length;
    struct training_subset subset = {.sequences = sequences};
    enum status status = STATUS_OK;

    if (instance->next_sequence == 0)
        status = training_next_batch(instance, err);
    if (status != STATUS_OK)
        return status;
    subset.indices = calloc(OP_TOKENS_LENGTH(rows), sizeof(*subset.indices));
    if (!subset.indices)
        return error_no_memory(err);
    memcpy(subset.indices, instance->indices, rows * sizeof(*subset.indices));
    memcpy(subset.indices + rows, instance->indices + instance->sequences * length,
           rows * sizeof(*subset.indices));
    status = op_tokens_index(subset.indices, rows, &subset.unique, err);
    if (status == STATUS_OK)
        status = gpt2_device_set_batch(instance->gpt2.model, subset.indices, sequences,
                                       subset.unique, err);
    if (status == STATUS_OK)
        *ret = subset;
    else
        free(subset.indices);
    return status;
}

enum status training_check_loss(struct training_instance *instance, uint64_t step, double expected,
                                struct check_sink *sink, struct error *err)
{
    const struct gpt2_tolerance tolerance = tolerance_of(instance);
    struct comparison comparison = {0};
    float loss;

    TRY(device_download(instance->gpt2.model->buffers[GPT2_LOSSES],
                        training_loss_slot(step) * sizeof(loss), &loss, sizeof(loss), err));
    comparison_add(&comparison, &loss, &expected, 1);
    check_sink_compare(sink, "loss", &comparison, tolerance.loss, tolerance.loss_reason);
    return STATUS_OK;
}

enum status training_check_gradients(struct training_instance *instance, float inverse,
                                     const double *expected, struct check_sink *sink,
                                     struct error *err)
{
    const struct gpt2_shape *shape = &instance->parameters->task.shape;
    const struct gpt2_tolerance tolerance = tolerance_of(instance);
    struct block_finding blocks = {0};
    float *got = NULL;
    enum status status = STATUS_OK;

    for (size_t i = 0; i < gpt2_tensor_count(shape) && status == STATUS_OK; i++) {
        const struct gpt2_tensor tensor = gpt2_tensor_at(shape, i);
        struct comparison comparison = {0};
        char name[GPT2_TENSOR_NAME_MAX + 8] = "grad.";

        got = malloc(tensor.count * sizeof(*got));
        if (!got)
            return error_no_memory(err);
        status = gpt2_device_fetch(instance->gpt2.model, GPT2_GRADIENTS, tensor.offset,
                                   tensor.count, got, err);
        if (status == STATUS_OK) {
            for (uint64_t j = 0; j < tensor.count; j++)
                got[j] *= inverse; /* a power of two */
            comparison_add(&comparison, got, expected + tensor.offset, tensor.count);
            strcat(name, tensor.name);
            check_sink_compare(sink, name, &comparison, tolerance.gradient, tolerance.reason);
            block_finding_add(&blocks, name, got, expected + tensor.offset, tensor.count);
        }
        free(got);
    }
    if (status == STATUS_OK)
        check_sink_blocks(sink, "grad.blocks", &blocks, tolerance.gradient);
    return status;
}

enum status training_run_passes(struct training_instance *instance,
                                const struct training_subset *subset, struct error *err)
{
    struct gpt2_device *model = instance->gpt2.model;
    const uint64_t first = instance->next_sequence - instance->sequences;
    enum status status = STATUS_OK;

    for (int i = 0; i <= TRAINING_BACKOFFS_MAX && status == STATUS_OK; i++) {
        const struct adamw adamw = training_adamw(instance->parameters, instance->steps + 1);
        bool finite = true;

        status = gpt2_device_forward(model, training_loss_slot(instance->steps), err);
        if (status == STATUS_OK)
            status = gpt2_device_backward(model, err);
        if (status == STATUS_OK && model->plan.scale > 0.0)
            status = gpt2_device_gradients_finite(model, &finite, err);
        if (status != STATUS_OK || finite)
            break;
        status = gpt2_device_update(model, &adamw, instance->steps + 1, err);
        training_count_step(instance, first, subset->sequences);
    }
    return status == STATUS_OK ? device_synchronize(instance->gpt2.base.device, err) : status;
}

/* What takes the loss scale out of the gradients as they lie now; 1 without one. */
static enum status loss_scale_inverse(struct training_instance *instance, float *ret,
                                      struct error *err)
{
    struct op_scaling_state state;

    if (instance->gpt2.model->plan.scale == 0.0)
        return STATUS_OK;
    TRY(gpt2_device_scaling(instance->gpt2.model, &state, err));
    *ret = 1.0f / state.scale;
    return STATUS_OK;
}

/* Forward and backward on the device and in the reference, at the same (master) weights. */
static enum status check_passes(struct training_instance *instance,
                                const struct training_subset *subset, struct check_sink *sink,
                                struct error *err)
{
    const struct gpt2_task *task = &instance->parameters->task;
    const uint64_t bytes = gpt2_array_length(&task->shape) * sizeof(float);
    const int32_t *tokens = subset->indices;
    const int32_t *targets = tokens + subset->sequences * task->length;
    struct gpt2_reference *reference = NULL;
    struct random random;
    float inverse = 1.0f, *parameters = malloc(bytes);
    enum status status;

    if (!parameters)
        return error_no_memory(err);
    status = gpt2_device_fetch(instance->gpt2.model, gpt2_device_weights(instance->gpt2.model), 0,
                               gpt2_array_length(&task->shape), parameters, err);
    if (status == STATUS_OK)
        status = gpt2_reference_create(&task->shape, subset->sequences, task->length, true,
                                       &reference, err);
    if (status == STATUS_OK)
        status = training_run_passes(instance, subset, err);
    if (status == STATUS_OK)
        status = gpt2_reference_forward(reference, parameters, tokens, targets, err);
    if (status == STATUS_OK)
        status = training_check_loss(instance, instance->steps, reference->loss, sink, err);
    if (status == STATUS_OK)
        status = gpt2_reference_backward(reference, parameters, tokens, targets, err);
    if (status == STATUS_OK)
        status = loss_scale_inverse(instance, &inverse, err);
    if (status == STATUS_OK)
        status = training_check_gradients(instance, inverse, reference->gradients, sink, err);
    random_init(&random, instance->gpt2.base.work.seed, STREAM_CHECKED);
    if (status == STATUS_OK)
        status = gpt2_check_norms(instance->gpt2.model, &random, sink, err);
    if (status == STATUS_OK)
        status =
            training_check_ends(instance, subset->indices, (double)inverse, &random, sink, err);
    gpt2_reference_destroy(reference);
    free(parameters);
    return status;
}

/* Of a tensor up to UPDATE_WINDOW elements: a small one whole, of another so many pieces, from its
 * first element to its last. */
static uint64_t windows_of(const struct gpt2_tensor *tensor, struct training_window *ret)
{
    const uint64_t pieces = tensor->count > UPDATE_WINDOW ? UPDATE_PIECES : 1;
    const uint64_t size = pieces > 1 ? UPDATE_WINDOW / pieces : tensor->count;

    for (uint64_t i = 0; i < pieces; i++)
        ret[i] = (struct training_window){
            tensor->offset + (pieces > 1 ? (tensor->count - size) * i / (pieces - 1) : 0), size,
            tensor->decay};
    return pieces;
}

static enum status check_update(struct training_instance *instance, uint64_t sequences,
                                struct check_sink *sink, struct error *err)
{
    const struct gpt2_shape *shape = &instance->parameters->task.shape;
    const size_t tensors = gpt2_tensor_count(shape);
    AUTO_FREE struct training_window *windows = calloc(tensors * UPDATE_PIECES, sizeof(*windows));
    CLEANUP(training_update_finish) struct training_update update = {0};
    uint64_t count = 0;

    if (!windows)
        return error_no_memory(err);
    for (size_t i = 0; i < tensors; i++) {
        const struct gpt2_tensor tensor = gpt2_tensor_at(shape, i);

        count += windows_of(&tensor, windows + count);
    }
    TRY(training_update_begin(instance, windows, count, &update, err));
    TRY(training_update_gradients(instance, &update, err));
    TRY(gpt2_device_update(instance->gpt2.model, &update.adamw, instance->steps + 1, err));
    training_count_step(instance, instance->next_sequence - instance->sequences, sequences);
    TRY(training_update_check(instance, &update, sink, err));
    return STATUS_OK;
}

static enum status check_fall(struct training_instance *instance, struct check_sink *sink,
                              struct error *err)
{
    struct workload_check check = {
        .output = "loss.fall",
        .tolerance = 1.0 - instance->parameters->loss_margin,
        .metric = "last_over_first",
        .reason = "training must lower the loss by the declared margin",
        .compared = instance->steps,
    };
    double first, last;

    if (instance->steps < instance->parameters->loss_steps)
        return STATUS_OK; /* facts say that it was not judged */
    TRY(training_loss_ends(instance, &first, &last, err));
    check.error = last / first;
    check_sink_report(sink, check, "means over the first and the last steps");
    return STATUS_OK;
}

/*
 * The losses of the first steps against those of fp32 at the same steps. They differ for two
 * reasons: the loss's own error at given weights, and gradients whose errors have moved the
 * weights; the second shifts the loss by no more than that part of what training has changed.
 */
static enum status check_fp32(struct training_instance *instance, struct check_sink *sink,
                              struct error *err)
{
    const struct gpt2_tolerance tolerance = tolerance_of(instance);
    struct workload_check check = {
        .output = "loss.fp32",
        .metric = "max_relative",
        .reason = "the loss's own tolerance, and the gradients' of what training has changed",
    };
    struct training_difference difference;
    enum status status;

    if (instance->fp32_steps == 0)
        return STATUS_OK;
    status = training_fp32_difference(instance, &difference, err);
    if (status != STATUS_OK || difference.steps == 0)
        return status; /* facts say why they are not compared */
    check.error = difference.relative;
    check.tolerance = tolerance.loss + tolerance.gradient * difference.moved;
    check.compared = difference.steps;
    check_sink_report(sink, check, "a loss is too far from fp32's at the same step");
    return STATUS_OK;
}

enum status training_verify(struct workload_instance *base, workload_check_fn *report,
                            void *context, struct error *err)
{
    struct training_instance *instance = (struct training_instance *)base;
    struct check_sink sink = {.report = report, .context = context, .err = err};
    struct training_subset subset = {0};
    enum status status = training_take_subset(instance, &subset, err);

    if (status != STATUS_OK)
        return status;
    status = check_passes(instance, &subset, &sink, err);
    if (status == STATUS_OK)
        status = check_update(instance, subset.sequences, &sink, err);
    if (status == STATUS_OK)
        status = check_fp32(instance, &sink, err);
    if (status == STATUS_OK)
        status = check_fall(instance, &sink, err);
    free(subset.indices);
    if (status == STATUS_OK)
        ops_seal(instance->gpt2.ops);
    return status == STATUS_OK ? sink.status : status;
}
