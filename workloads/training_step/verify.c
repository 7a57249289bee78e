/*
 * Checks of a training step, on the buffers that iterations write: the current batch (or its first
 * `verify.sequences` sequences) runs forward and backward again, loss and gradients are compared
 * with the fp64 reference at the device's own parameters, then one AdamW step is compared element
 * by element. That step counts like any other.
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "workloads/models/compare.h"
#include "workloads/models/gpt2_reference.h"
#include "workloads/storage.h"
#include "workloads/training_step/training_step.h"

#define UPDATE_TOLERANCE 2e-6
#define SCALED_TOLERANCE                                                                           \
    4e-6                    /* bias corrections carried on in fp32, kernels/transformer_scaling.h */
#define BACKOFFS_MAX 24     /* from the largest scale to 1 */
#define SMALLEST 1e-31      /* below this, squares and products leave fp32's normal range */
#define UPDATE_WINDOW 65536 /* elements of each tensor whose update is checked */
#define UPDATE_PIECES 16    /* that they lie in, spread over the tensor */

static const char update_reason[] =
    "a dozen fp32 roundings (2^-24 each) of the terms that a value is made of";
static const char scaled_reason[] = "a dozen fp32 roundings of the terms that a value is made of, "
                                    "and those of the bias corrections";

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
    if (!strcmp(output, "loss"))
        return tolerance.loss;
    if (!strcmp(output, "loss.fall"))
        return 1.0 - parameters->loss_margin;
    if (!strcmp(output, "grad.blocks"))
        return COMPARISON_BLOCK_FACTOR * tolerance.gradient;
    if (!strncmp(output, "grad.", strlen("grad.")))
        return tolerance.gradient;
    if (!strcmp(output, "adamw.copy"))
        return 0.0;
    return strncmp(output, "adamw.", strlen("adamw.")) ? -1.0 : SCALED_TOLERANCE;
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
        return error_set(err, STATUS_NO_MEMORY, "training_step: out of memory");
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

static enum status check_loss(struct training_instance *instance, double expected,
                              struct check_sink *sink, struct error *err)
{
    const struct gpt2_tolerance tolerance = tolerance_of(instance);
    struct comparison comparison = {0};
    float loss;
    enum status status = device_download(instance->gpt2.model->buffers[GPT2_LOSSES],
                                         training_loss_slot(instance->steps) * sizeof(loss), &loss,
                                         sizeof(loss), err);

    if (status != STATUS_OK)
        return status;
    comparison_add(&comparison, &loss, &expected, 1);
    check_sink_compare(sink, "loss", &comparison, tolerance.loss, tolerance.loss_reason);
    return STATUS_OK;
}

/* What takes the loss scale out of the gradients as they lie now; 1 without one. */
static enum status loss_scale_inverse(struct training_instance *instance, float *ret,
                                      struct error *err)
{
    struct op_scaling_state state;
    enum status status;

    if (instance->gpt2.model->plan.scale == 0.0)
        return STATUS_OK;
    status = gpt2_device_scaling(instance->gpt2.model, &state, err);
    if (status == STATUS_OK)
        *ret = 1.0f / state.scale;
    return status;
}

static enum status check_gradients(struct training_instance *instance, const double *expected,
                                   struct check_sink *sink, struct error *err)
{
    const struct gpt2_shape *shape = &instance->parameters->task.shape;
    const struct gpt2_tolerance tolerance = tolerance_of(instance);
    struct block_finding blocks = {0};
    float inverse = 1.0f;
    float *got = NULL;
    enum status status = loss_scale_inverse(instance, &inverse, err);

    for (size_t i = 0; i < gpt2_tensor_count(shape) && status == STATUS_OK; i++) {
        const struct gpt2_tensor tensor = gpt2_tensor_at(shape, i);
        struct comparison comparison = {0};
        char name[GPT2_TENSOR_NAME_MAX + 8] = "grad.";

        got = malloc(tensor.count * sizeof(*got));
        if (!got)
            return error_set(err, STATUS_NO_MEMORY, "training_step: out of memory");
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

    for (int i = 0; i <= BACKOFFS_MAX && status == STATUS_OK; i++) {
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
    float *parameters = malloc(bytes);
    enum status status;

    if (!parameters)
        return error_set(err, STATUS_NO_MEMORY, "training_step: out of memory");
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
        status = check_loss(instance, reference->loss, sink, err);
    if (status == STATUS_OK)
        status = gpt2_reference_backward(reference, parameters, tokens, targets, err);
    if (status == STATUS_OK)
        status = check_gradients(instance, reference->gradients, sink, err);
    gpt2_reference_destroy(reference);
    free(parameters);
    return status;
}

/* A window of one tensor in the four arrays of the optimizer. */
enum { WEIGHT, GRADIENT, MOMENT1, MOMENT2, ARRAYS };

static uint64_t window_length(const struct gpt2_tensor *tensor)
{
    return tensor->count < UPDATE_WINDOW ? tensor->count : UPDATE_WINDOW;
}

/* A small tensor whole; of another so many pieces, from its first element to its last. */
static enum status fetch_window(struct training_instance *instance, enum gpt2_buffer buffer,
                                const struct gpt2_tensor *tensor, float *ret, struct error *err)
{
    const uint64_t pieces = tensor->count > UPDATE_WINDOW ? UPDATE_PIECES : 1;
    const uint64_t size = window_length(tensor) / pieces;
    enum status status = STATUS_OK;

    for (uint64_t i = 0; i < pieces && status == STATUS_OK; i++) {
        const uint64_t at = pieces > 1 ? (tensor->count - size) * i / (pieces - 1) : 0;

        status = gpt2_device_fetch(instance->gpt2.model, buffer, tensor->offset + at, size,
                                   ret + i * size, err);
    }
    return status;
}

static enum status fetch_windows(struct training_instance *instance, float *ret, uint64_t room,
                                 struct error *err)
{
    const enum gpt2_buffer buffers[ARRAYS] = {gpt2_device_weights(instance->gpt2.model),
                                              GPT2_GRADIENTS, GPT2_MOMENT1, GPT2_MOMENT2};
    const struct gpt2_shape *shape = &instance->parameters->task.shape;
    enum status status = STATUS_OK;

    for (size_t a = 0; a < ARRAYS; a++) {
        float *out = ret + a * room;

        for (size_t i = 0; i < gpt2_tensor_count(shape) && status == STATUS_OK; i++) {
            const struct gpt2_tensor tensor = gpt2_tensor_at(shape, i);

            status = fetch_window(instance, buffers[a], &tensor, out, err);
            out += window_length(&tensor);
        }
    }
    return status;
}

/* Largest relative errors of the three arrays that a step writes. */
struct update_errors {
    double error[ARRAYS];
    uint64_t at[ARRAYS], compared;
};

static void note_error(struct update_errors *errors, int array, double got, double wanted,
                       double scale, uint64_t at)
{
    const double error = got == wanted ? 0.0 : fabs(got - wanted) / scale;

    if (error > errors->error[array] || (isnan(error) && !isnan(errors->error[array]))) {
        errors->error[array] = error;
        errors->at[array] = at;
    }
}

/* The step that AdamW's formula counts, and what takes the loss scale out of the gradients. */
struct update_step {
    struct adamw adamw;
    uint64_t step;
    double inverse;
};

static void compare_update(const struct update_step *taken, bool decays, const float *before,
                           const float *after, uint64_t room, uint64_t count,
                           struct update_errors *errors)
{
    const struct adamw *adamw = &taken->adamw;
    const uint64_t step = taken->step;
    const double first = 1.0 - pow(adamw->beta1, (double)step);
    const double second = 1.0 - pow(adamw->beta2, (double)step);
    const double decay = decays ? adamw->decay : 0.0;

    for (uint64_t i = 0; i < count; i++) {
        const double w = before[WEIGHT * room + i];
        const double g = before[GRADIENT * room + i] * taken->inverse;
        double m = before[MOMENT1 * room + i], v = before[MOMENT2 * room + i];
        /* Sums of absolute terms: those of m may cancel, and w carries their rounding on. */
        const double m_terms = adamw->beta1 * fabs(m) + (1.0 - adamw->beta1) * fabs(g);
        const double wanted = adamw_reference(adamw, step, decay, w, g, &m, &v);
        const double w_terms =
            fabs(w) +
            adamw->rate * (m_terms / first / (sqrt(v / second) + adamw->epsilon) + decay * fabs(w));

        note_error(errors, WEIGHT, after[WEIGHT * room + i], wanted, w_terms, errors->compared + i);
        note_error(errors, MOMENT1, after[MOMENT1 * room + i], m, m_terms + SMALLEST,
                   errors->compared + i);
        note_error(errors, MOMENT2, after[MOMENT2 * room + i], v, v + SMALLEST,
                   errors->compared + i);
    }
    errors->compared += count;
}

static void report_update(const struct update_errors *errors, bool scaled, struct check_sink *sink)
{
    static const char *const names[ARRAYS] = {"adamw.parameters", NULL, "adamw.m", "adamw.v"};
    char detail[64];

    for (size_t a = 0; a < ARRAYS; a++) {
        const struct workload_check check = {
            .output = names[a],
            .error = errors->error[a],
            .tolerance = scaled ? SCALED_TOLERANCE : UPDATE_TOLERANCE,
            .metric = "max_scaled",
            .reason = scaled ? scaled_reason : update_reason,
            .compared = errors->compared,
        };

        if (!names[a])
            continue;
        snprintf(detail, sizeof(detail), "worst at element %llu of those compared",
                 (unsigned long long)errors->at[a]);
        check_sink_report(sink, check, detail);
    }
}

/* The parameters are the master weights in `after`, rounded. */
static enum status check_copy(struct training_instance *instance, const float *after,
                              struct check_sink *sink, struct error *err)
{
    const struct gpt2_shape *shape = &instance->parameters->task.shape;
    const enum dtype storage = instance->gpt2.model->plan.storage;
    struct workload_check check = {
        .output = "adamw.copy",
        .metric = "max_absolute",
        .reason = "the narrow parameters are the master weights, rounded to nearest even",
    };
    enum status status = STATUS_OK;

    for (size_t i = 0; i < gpt2_tensor_count(shape) && status == STATUS_OK; i++) {
        const struct gpt2_tensor tensor = gpt2_tensor_at(shape, i);
        const uint64_t count = window_length(&tensor);
        float *got = malloc(count * sizeof(*got)), *wanted = malloc(count * sizeof(*wanted));

        status = got && wanted ? fetch_window(instance, GPT2_PARAMETERS, &tensor, got, err)
                               : error_set(err, STATUS_NO_MEMORY, "training_step: out of memory");
        for (uint64_t j = 0; j < count && status == STATUS_OK; j++) {
            uint16_t narrow;

            storage_encode(storage, &after[j], 1, &narrow);
            storage_decode(storage, &narrow, 1, &wanted[j]);
            check.error = fmax(check.error, fabs((double)got[j] - (double)wanted[j]));
            if (isnan(got[j]) != isnan(wanted[j]))
                check.error = DBL_MAX;
        }
        free(got);
        free(wanted);
        check.compared += count;
        after += count;
    }
    if (status == STATUS_OK)
        check_sink_report(sink, check, "a parameter is not its master weight, rounded");
    return status;
}

static enum status check_update(struct training_instance *instance, uint64_t sequences,
                                struct check_sink *sink, struct error *err)
{
    const struct gpt2_shape *shape = &instance->parameters->task.shape;
    struct update_step step = {training_adamw(instance->parameters, instance->steps + 1),
                               instance->steps + 1, 1.0};
    const bool scaled = instance->gpt2.model->plan.scale > 0.0;
    struct op_scaling_state state;
    struct update_errors errors = {0};
    uint64_t room = 0, at = 0;
    float *before, *after;
    enum status status;

    for (size_t i = 0; i < gpt2_tensor_count(shape); i++) {
        const struct gpt2_tensor tensor = gpt2_tensor_at(shape, i);

        room += window_length(&tensor);
    }
    before = malloc(ARRAYS * room * sizeof(*before));
    after = malloc(ARRAYS * room * sizeof(*after));
    status = before && after ? fetch_windows(instance, before, room, err)
                             : error_set(err, STATUS_NO_MEMORY, "training_step: out of memory");
    if (status == STATUS_OK && scaled) {
        status = gpt2_device_scaling(instance->gpt2.model, &state, err);
        step.step = state.taken + 1;
        step.inverse = 1.0 / (double)state.scale;
    }
    if (status == STATUS_OK)
        status = gpt2_device_update(instance->gpt2.model, &step.adamw, instance->steps + 1, err);
    if (status == STATUS_OK) {
        training_count_step(instance, instance->next_sequence - instance->sequences, sequences);
        status = fetch_windows(instance, after, room, err);
    }
    for (size_t i = 0; i < gpt2_tensor_count(shape) && status == STATUS_OK; i++) {
        const struct gpt2_tensor tensor = gpt2_tensor_at(shape, i);
        const uint64_t count = window_length(&tensor);

        compare_update(&step, tensor.decay, before + at, after + at, room, count, &errors);
        at += count;
    }
    if (status == STATUS_OK)
        report_update(&errors, scaled, sink);
    if (status == STATUS_OK && instance->gpt2.model->buffers[GPT2_MASTER])
        status = check_copy(instance, after, sink, err);
    free(before);
    free(after);
    return status;
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
    enum status status;

    if (instance->steps < instance->parameters->loss_steps)
        return STATUS_OK; /* facts say that it was not judged */
    status = training_loss_ends(instance, &first, &last, err);
    if (status != STATUS_OK)
        return status;
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
