/*
 * Checks of a training step, on the buffers that iterations write: the current batch (or its first
 * `verify.sequences` sequences) runs forward and backward again, loss and gradients are compared
 * with the fp64 reference at the device's own parameters, then one AdamW step is compared element
 * by element. That step counts like any other.
 */
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "workloads/models/adamw_update.h"
#include "workloads/models/gpt2_graph.h"
#include "workloads/models/gpt2_spot.h"
#include "workloads/training_step/training_step.h"

#define SIGMAS 6.0
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

/*
 * No model predicts a token better than its source does, which is off the entropy rate by the
 * deviation of a mean over so many tokens. Of k outcomes the information has at most the variance
 * ln(k-1)^2 / 4 + 1 (Reeb and Wolf 2015); and what a model may gain on n tokens by luck is more
 * than 20 / n nats a token with a probability below e^-20.
 */
static double floor_tolerance(const struct workload_case *work)
{
    const struct training_parameters *parameters = work->workload->parameters;
    const double tokens = (double)work->batch * (double)parameters->task.length;
    const double choices = log((double)parameters->task.successors);

    if (parameters->task.source != GPT2_DATA_MARKOV)
        return 0.0;
    return SIGMAS * sqrt((0.25 * choices * choices + 1.0) / tokens) + 20.0 / tokens;
}

static double tolerance(const struct workload_case *work, const char *output, const char *metric)
{
    const struct training_parameters *parameters = work->workload->parameters;
    const struct gpt2_tolerance tolerance = gpt2_tolerance_of(
        work->precision, precision_dtype(work->precision), &parameters->task.shape, 1);

    (void)metric;
    if (!strcmp(output, "loss") || !strcmp(output, "loss.prefix"))
        return tolerance.loss;
    if (!strcmp(output, "loss.floor"))
        return floor_tolerance(work);
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
    if (!strcmp(output, "loss.fp32"))
        return -1.0;
    return strncmp(output, "adamw.", strlen("adamw.")) ? WORKLOAD_NO_CHECK : ADAMW_UPDATE_TOLERANCE;
}

/* The part of the batch that is checked, uploaded. */
struct subset {
    int32_t *indices; /* heap */
    uint64_t sequences, unique;
};

static void subset_finish(struct subset *subset)
{
    free(subset->indices);
}

static enum status take_subset(struct training_instance *instance, struct subset *ret,
                               struct error *err)
{
    const uint64_t length = instance->parameters->task.length;
    const uint64_t wanted = instance->parameters->verify_sequences;
    const uint64_t rows = (wanted < instance->sequences ? wanted : instance->sequences) * length;

    if (instance->next_sequence == 0)
        TRY(training_next_batch(instance, err));
    ret->sequences = rows / length;
    ret->indices = calloc(OP_TOKENS_LENGTH(rows), sizeof(*ret->indices));
    if (!ret->indices)
        return error_no_memory(err);
    memcpy(ret->indices, instance->indices, rows * sizeof(*ret->indices));
    memcpy(ret->indices + rows, instance->indices + instance->sequences * length,
           rows * sizeof(*ret->indices));
    TRY(op_tokens_index(ret->indices, rows, &ret->unique, err));
    return gpt2_device_set_batch(instance->gpt2.model, ret->indices, ret->sequences, ret->unique,
                                 err);
}

static enum status check_loss(struct training_instance *instance, uint64_t step, double expected,
                              struct check_sink *sink, struct error *err)
{
    const struct gpt2_tolerance tolerance = tolerance_of(instance);
    struct comparison comparison = {0};
    float loss;

    if (instance->handed.loss)
        loss = *instance->handed.loss;
    else
        TRY(gpt2_device_fetch(instance->gpt2.model, GPT2_LOSSES, training_loss_slot(step), 1, &loss,
                              err));
    comparison_add(&comparison, &loss, &expected, 1);
    check_sink_compare(sink, "loss", &comparison, tolerance.loss, tolerance.loss_reason);
    return STATUS_OK;
}

static enum status check_gradients(struct training_instance *instance, float inverse,
                                   double *const *expected, struct check_sink *sink,
                                   struct error *err)
{
    const struct gpt2_shape *shape = &instance->parameters->task.shape;
    const struct gpt2_tolerance tolerance = tolerance_of(instance);
    const float *handed = instance->handed.gradients;
    struct block_finding blocks = {0};

    for (size_t i = 0; i < gpt2_tensor_count(shape); i++) {
        const struct gpt2_tensor tensor = gpt2_tensor_at(shape, i);
        struct comparison comparison = {0};
        char name[GPT2_TENSOR_NAME_MAX + 8] = "grad.";
        AUTO_FREE float *got = malloc(tensor.count * sizeof(*got));

        if (!got)
            return error_no_memory(err);
        if (!handed)
            TRY(gpt2_device_fetch(instance->gpt2.model, GPT2_GRADIENTS, tensor.offset, tensor.count,
                                  got, err));
        for (uint64_t j = 0; j < tensor.count; j++)
            got[j] = handed ? *handed++ : got[j] * inverse; /* a power of two */
        comparison_add(&comparison, got, expected[i], tensor.count);
        strcat(name, tensor.name);
        check_sink_compare(sink, name, &comparison, tolerance.gradient, tolerance.reason);
        block_finding_add(&blocks, name, got, expected[i], tensor.count);
    }
    check_sink_blocks(sink, "grad.blocks", &blocks, tolerance.gradient);
    return STATUS_OK;
}

enum status training_check_passes(struct training_instance *instance,
                                  const struct training_passes *passes, struct check_sink *sink,
                                  struct error *err)
{
    const struct gpt2_task *task = &instance->parameters->task;
    CLEANUP(stack_reference_drop) struct stack_reference *reference = NULL;

    TRY(gpt2_reference_create(&task->shape, passes->sequences, task->length, true, &reference,
                              err));
    TRY(stack_reference_forward(reference, passes->weights, passes->tokens, passes->targets, err));
    TRY(check_loss(instance, passes->step, reference->loss, sink, err));
    TRY(stack_reference_backward(reference, err));
    return check_gradients(instance, (float)passes->inverse, reference->gradients, sink, err);
}

/*
 * Forward and backward on the device. Where the loss scale is too large for these gradients, the
 * update skips and halves it, as in training, and the passes run again.
 */
static enum status run_passes(struct training_instance *instance, const struct subset *subset,
                              struct error *err)
{
    struct gpt2_device *model = instance->gpt2.model;
    const uint64_t first = instance->next_sequence - instance->sequences;

    for (int i = 0; i <= TRAINING_BACKOFFS_MAX; i++) {
        const struct adamw adamw = training_adamw(instance->parameters, instance->steps + 1);
        bool finite = true;

        TRY(gpt2_device_forward(model, training_loss_slot(instance->steps), err));
        TRY(gpt2_device_backward(model, err));
        if (model->plan.scale > 0.0)
            TRY(gpt2_device_gradients_finite(model, &finite, err));
        if (finite)
            break;
        TRY(gpt2_device_update(model, &adamw, instance->steps + 1, err));
        training_count_step(instance, first, subset->sequences);
    }
    return device_synchronize(instance->gpt2.base.device, err);
}

/* What takes the loss scale out of the gradients as they lie now; 1 without one. */
static enum status loss_scale_inverse(struct training_instance *instance, double *ret,
                                      struct error *err)
{
    struct op_scaling_state state;

    *ret = 1.0;
    if (instance->gpt2.model->plan.scale == 0.0)
        return STATUS_OK;
    TRY(gpt2_device_scaling(instance->gpt2.model, &state, err));
    *ret = (double)(1.0f / state.scale);
    return STATUS_OK;
}

/* Forward and backward on the device and in the reference, at the same (master) weights. */
static enum status check_passes(struct training_instance *instance, const struct subset *subset,
                                struct check_sink *sink, struct error *err)
{
    const struct gpt2_task *task = &instance->parameters->task;
    const struct gpt2_device *model = instance->gpt2.model;
    const uint64_t count = gpt2_array_length(&task->shape);
    AUTO_FREE float *weights = malloc(count * sizeof(*weights));
    struct training_passes passes = {.tokens = subset->indices,
                                     .targets = subset->indices + subset->sequences * task->length,
                                     .sequences = subset->sequences,
                                     .weights = weights};
    struct random random;

    if (!weights)
        return error_no_memory(err);
    TRY(gpt2_device_fetch(model, gpt2_device_weights(model), 0, count, weights, err));
    TRY(run_passes(instance, subset, err));
    passes.step = instance->steps;
    TRY(loss_scale_inverse(instance, &passes.inverse, err));
    TRY(training_check_passes(instance, &passes, sink, err));
    random_init(&random, instance->gpt2.base.work.seed, STREAM_CHECKED);
    TRY(gpt2_check_norms(model, &random, sink, err));
    return training_check_ends(instance, subset->indices, passes.inverse, &random, sink, err);
}

/* Before a step: its windows of the model's arrays, fetched. */
static enum status begin_update(struct training_instance *instance,
                                const struct adamw_window *windows, size_t count,
                                struct adamw_update *ret, struct error *err)
{
    const struct gpt2_device *model = instance->gpt2.model;
    struct op_scaling_state state;

    *ret = (struct adamw_update){
        .windows = windows,
        .count = count,
        .adamw = training_adamw(instance->parameters, instance->steps + 1),
        .step = instance->steps + 1,
        .inverse = 1.0,
        .arrays = {.weights = model->buffers[gpt2_device_weights(model)],
                   .moment1 = model->buffers[GPT2_MOMENT1],
                   .moment2 = model->buffers[GPT2_MOMENT2],
                   .gradients = model->buffers[GPT2_GRADIENTS],
                   .copy = model->buffers[GPT2_MASTER] ? model->buffers[GPT2_PARAMETERS] : NULL,
                   .storage = model->plan.storage},
    };
    TRY(adamw_update_begin(ret, err));
    if (model->plan.scale == 0.0)
        return STATUS_OK;
    TRY(gpt2_device_scaling(model, &state, err));
    ret->step = state.taken + 1;
    ret->inverse = 1.0 / (double)state.scale;
    return STATUS_OK;
}

/* Of a tensor up to UPDATE_WINDOW elements: a small one whole, of another so many pieces, from its
 * first element to its last. */
static uint64_t windows_of(const struct gpt2_tensor *tensor, struct adamw_window *ret)
{
    const uint64_t pieces = tensor->count > UPDATE_WINDOW ? UPDATE_PIECES : 1;
    const uint64_t size = pieces > 1 ? UPDATE_WINDOW / pieces : tensor->count;

    for (uint64_t i = 0; i < pieces; i++)
        ret[i] = (struct adamw_window){
            tensor->offset + (pieces > 1 ? (tensor->count - size) * i / (pieces - 1) : 0), size,
            tensor->decay};
    return pieces;
}

static enum status check_update(struct training_instance *instance, uint64_t sequences,
                                struct check_sink *sink, struct error *err)
{
    const struct gpt2_shape *shape = &instance->parameters->task.shape;
    const size_t tensors = gpt2_tensor_count(shape);
    AUTO_FREE struct adamw_window *windows = calloc(tensors * UPDATE_PIECES, sizeof(*windows));
    CLEANUP(adamw_update_finish) struct adamw_update update = {0};
    uint64_t count = 0;

    if (!windows)
        return error_no_memory(err);
    for (size_t i = 0; i < tensors; i++) {
        const struct gpt2_tensor tensor = gpt2_tensor_at(shape, i);

        count += windows_of(&tensor, windows + count);
    }
    TRY(begin_update(instance, windows, count, &update, err));
    TRY(adamw_update_gradients(&update, err));
    TRY(gpt2_device_update(instance->gpt2.model, &update.adamw, instance->steps + 1, err));
    training_count_step(instance, instance->next_sequence - instance->sequences, sequences);
    return adamw_update_check(&update, instance->gpt2.model->plan.scale > 0.0, sink, err);
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

    if (instance->fp32_steps == 0)
        return STATUS_OK;
    TRY(training_fp32_difference(instance, &difference, err));
    if (difference.steps == 0)
        return STATUS_OK; /* facts say why they are not compared */
    check.error = difference.relative;
    check.tolerance = tolerance.loss + tolerance.gradient * difference.moved;
    check.compared = difference.steps;
    check_sink_report(sink, check, "a loss is too far from fp32's at the same step");
    return STATUS_OK;
}

static enum status verify(struct workload_instance *base, struct check_sink *sink,
                          struct error *err)
{
    struct training_instance *instance = (struct training_instance *)base;
    CLEANUP(subset_finish) struct subset subset = {0};

    TRY(take_subset(instance, &subset, err));
    TRY(check_passes(instance, &subset, sink, err));
    TRY(check_update(instance, subset.sequences, sink, err));
    TRY(check_fp32(instance, sink, err));
    return check_fall(instance, sink, err);
}

/* ---- spot checks ---- */

/*
 * One step of the window, in the middle of it, checked. Before it, everything that the step writes
 * before it reads it gets NaN in drawn places (gpt2_spot.h), again where the backward pass reuses
 * an array; then the kind's own iteration runs, on the next batch, and counts like any other.
 *
 * What it shows: every launch that fills an array ran, in every layer and both passes, since a NaN
 * that is left reaches the loss, the gradients or the weights; the optimizer moved drawn parts of
 * every tensor by AdamW's formula; the losses belong to these weights and tokens (of a small model
 * all of them and all gradients, against the reference; of a large one the loss of the first
 * positions of a drawn sequence); norms and the gradients of logits and embeddings are what follows
 * from arrays that are still on the device.
 *
 * What it does not show for a large model: values of the gradients inside the layers, where an
 * operation in place (softmax, GELU's gradient) may be left out and leaves a number, and losses of
 * late positions. `verify` has these, before the warmup and after the window.
 */
#define STREAM_SPOT 0x73706fu
#define WINDOW 256                     /* elements of each tensor */
#define LOGITS_MAX ((uint64_t)1 << 24) /* more are not fetched for the embedding's check */

struct spot {
    struct training_instance *instance;
    struct random random;
    struct adamw_window *windows; /* one a tensor */
    struct adamw_update update;
    float *weights; /* before the step */
};

/* ---- what is drawn ---- */

/* A token of the batch that the next step makes. */
static enum status draw_token(struct spot *spot, uint64_t *ret, struct error *err)
{
    const struct training_instance *instance = spot->instance;
    const uint64_t length = instance->parameters->task.length;
    AUTO_FREE int32_t *tokens = malloc(2 * length * sizeof(*tokens));

    if (!tokens)
        return error_no_memory(err);
    token_source_sequence(instance->source,
                          instance->next_sequence +
                              random_next_below(&spot->random, instance->sequences),
                          length, tokens, tokens + length);
    *ret = (uint64_t)tokens[random_next_below(&spot->random, length)];
    return STATUS_OK;
}

/*
 * A window of each tensor whose gradients are not zero by themselves: of embeddings a row that the
 * step uses, and of the bias of queries, keys and values not the keys', to which softmax is blind.
 */
static enum status draw_windows(struct spot *spot, struct error *err)
{
    const struct gpt2_task *task = &spot->instance->parameters->task;
    const uint64_t d = task->shape.width;
    uint64_t token = 0;

    TRY(draw_token(spot, &token, err));
    for (size_t i = 0; i < gpt2_tensor_count(&task->shape); i++) {
        const struct gpt2_tensor tensor = gpt2_tensor_at(&task->shape, i);
        const bool row = tensor.id == GPT2_WTE || tensor.id == GPT2_WPE;
        const uint64_t room = row || tensor.id == GPT2_ATTN_B ? d : tensor.count;
        const uint64_t count = room < WINDOW ? room : WINDOW;
        uint64_t at = random_next_below(&spot->random, room - count + 1);

        if (tensor.id == GPT2_WTE)
            at += token * d;
        else if (tensor.id == GPT2_WPE)
            at += random_next_below(&spot->random, task->length) * d;
        else if (tensor.id == GPT2_ATTN_B)
            at += 2 * d; /* the values' */
        spot->windows[i] = (struct adamw_window){tensor.offset + at, count, tensor.decay};
    }
    return STATUS_OK;
}

/* What only the caller of gpt2_spot_begin knows that a step writes. */
static enum status poison(const struct spot *spot, struct error *err)
{
    const struct training_instance *instance = spot->instance;
    const struct gpt2_device *model = instance->gpt2.model;

    TRY(gpt2_poison(model, GPT2_LOSSES, training_loss_slot(instance->steps), 1, err));
    if (model->buffers[GPT2_SCALING])
        TRY(gpt2_poison(model, GPT2_SCALING_PARTIALS, 0, 1, err));
    for (size_t i = 0; i < spot->update.count; i++)
        TRY(gpt2_poison(model, GPT2_GRADIENTS, spot->windows[i].offset, spot->windows[i].count,
                        err));
    return STATUS_OK;
}

/* ---- what is checked ---- */

/* The loss of the latest step: a number above zero, and not below what the data allows. */
static enum status check_floor(struct training_instance *instance, struct workload_check *ret,
                               struct error *err)
{
    const struct token_facts facts = token_source_facts(instance->source);
    float loss;

    TRY(gpt2_device_fetch(instance->gpt2.model, GPT2_LOSSES,
                          training_loss_slot(instance->steps - 1), 1, &loss, err));
    *ret = (struct workload_check){
        .output = "loss.floor",
        .error = fmax(0.0, facts.entropy_rate - (double)loss),
        .tolerance = floor_tolerance(&instance->gpt2.base.work),
        .metric = "nats_below",
        .reason = "the mean over a batch is off the source's entropy by chance alone",
        .compared = 1,
    };
    if (!(loss > 0.0f && isfinite(loss)))
        ret->error = DBL_MAX;
    return STATUS_OK;
}

static void report_live(const struct spot *spot, bool taken, struct check_sink *sink)
{
    const float *gradient = adamw_update_gradient(&spot->update);
    struct workload_check check = {
        .output = "grad.live",
        .metric = "count",
        .reason = "the step writes finite gradients to every tensor, and not all are zero",
        .compared = spot->update.room,
    };

    for (size_t i = 0; i < spot->update.count; i++) {
        bool finite = true, some = spot->instance->parameters->task.length < 2;

        for (uint64_t j = 0; j < spot->windows[i].count; j++) {
            finite &= isfinite(gradient[j]) != 0;
            some |= gradient[j] != 0.0f;
        }
        gradient += spot->windows[i].count;
        check.error += !taken || !finite || !some;
    }
    check_sink_report(sink, check,
                      taken ? "tensors with gradients that no backward pass gives"
                            : "the step was skipped, and not because of its loss scale");
}

/* Loss and gradients of the whole batch. */
static enum status check_whole(struct spot *spot, struct check_sink *sink, struct error *err)
{
    struct training_instance *instance = spot->instance;
    const struct training_passes passes = {
        .tokens = instance->indices,
        .targets = instance->indices + instance->sequences * instance->parameters->task.length,
        .sequences = instance->sequences,
        .weights = spot->weights,
        .step = instance->steps - 1,
        .inverse = spot->update.inverse,
    };

    return training_check_passes(instance, &passes, sink, err);
}

/* The mean loss of the first positions of a drawn sequence. */
static enum status check_prefix(struct spot *spot, struct check_sink *sink, struct error *err)
{
    struct training_instance *instance = spot->instance;
    const struct gpt2_device *model = instance->gpt2.model;
    const struct gpt2_task *task = &instance->parameters->task;
    const uint64_t count = gpt2_spot_prefix(&task->shape, task->length);
    const uint64_t row = random_next_below(&spot->random, instance->sequences) * task->length;
    const int32_t *tokens = instance->indices + row;
    const struct gpt2_tolerance tolerance = gpt2_tolerance_of(
        instance->gpt2.base.work.precision, model->plan.storage, &task->shape, count);
    CLEANUP(stack_reference_drop) struct stack_reference *reference = NULL;
    struct comparison comparison = {0};
    float losses[GPT2_SPOT_PREFIX], mean = 0.0f;

    TRY(gpt2_reference_create(&task->shape, 1, count, false, &reference, err));
    TRY(stack_reference_forward(reference, spot->weights, tokens,
                                tokens + instance->sequences * task->length, err));
    TRY(gpt2_device_fetch(model, GPT2_ROW_LOSS, row, count, losses, err));
    for (uint64_t i = 0; i < count; i++)
        mean += losses[i] / (float)count;
    comparison_add(&comparison, &mean, &reference->loss, 1);
    check_sink_compare(sink, "loss.prefix", &comparison, tolerance.loss, tolerance.loss_reason);
    return STATUS_OK;
}

static enum status check_step(struct spot *spot, struct check_sink *sink, struct error *err)
{
    struct training_instance *instance = spot->instance;
    const struct gpt2_device_plan *plan = &instance->gpt2.model->plan;
    const uint64_t rows = plan->sequences * plan->length;
    const bool whole =
        gpt2_parameter_count(&plan->shape) * 3 <= GPT2_SPOT_WORK / rows; /* three products each */

    TRY(adamw_update_check(&spot->update, plan->scale > 0.0, sink, err));
    TRY(whole ? check_whole(spot, sink, err) : check_prefix(spot, sink, err));
    TRY(gpt2_check_norms(instance->gpt2.model, &spot->random, sink, err));
    if (rows <= LOGITS_MAX / plan->shape.vocabulary)
        TRY(training_check_ends(instance, instance->indices, spot->update.inverse, &spot->random,
                                sink, err));
    return STATUS_OK;
}

/* ---- the step ---- */

/* Whether the step was taken: with a loss scale, gradients may overflow, and it is skipped. */
static enum status was_taken(const struct spot *spot, bool *ret, struct error *err)
{
    struct op_scaling_state state;

    *ret = true;
    if (spot->instance->gpt2.model->plan.scale == 0.0)
        return STATUS_OK;
    TRY(gpt2_device_scaling(spot->instance->gpt2.model, &state, err));
    *ret = state.taken == spot->update.step;
    return STATUS_OK;
}

static enum status run_over_nan(struct spot *spot, struct error *err)
{
    CLEANUP(gpt2_spot_end) struct gpt2_device *model = spot->instance->gpt2.model;

    TRY(gpt2_spot_begin(model, &spot->random, err));
    TRY(poison(spot, err));
    return check_iterate_timed(&spot->instance->gpt2.base,
                               model->buffers[gpt2_device_weights(model)], 0, err);
}

static enum status run_step(struct spot *spot, bool *taken, struct error *err)
{
    struct training_instance *instance = spot->instance;
    const struct gpt2_device *model = instance->gpt2.model;
    const struct gpt2_shape *shape = &instance->parameters->task.shape;

    TRY(draw_windows(spot, err));
    TRY(begin_update(instance, spot->windows, gpt2_tensor_count(shape), &spot->update, err));
    TRY(gpt2_device_fetch(model, gpt2_device_weights(model), 0, gpt2_array_length(shape),
                          spot->weights, err));
    TRY(run_over_nan(spot, err));
    TRY(was_taken(spot, taken, err));
    return adamw_update_gradients(&spot->update, err);
}

/*
 * After a skipped step, which left the weights as they were: the same passes at the same loss scale
 * and without NaN beforehand overflow again. Else it was a NaN that some launch did not replace.
 */
static enum status overflows(struct spot *spot, bool *ret, struct error *err)
{
    struct training_instance *instance = spot->instance;
    struct gpt2_device *model = instance->gpt2.model;
    const float scale = (float)(1.0 / spot->update.inverse);
    struct op_scaling_state state;
    bool finite = false;

    TRY(gpt2_device_scaling(model, &state, err));
    TRY(device_upload(model->buffers[GPT2_SCALING], 0, &scale, sizeof(scale), err));
    TRY(gpt2_device_forward(model, training_loss_slot(instance->steps - 1), err));
    TRY(gpt2_device_backward(model, err));
    TRY(gpt2_device_gradients_finite(model, &finite, err));
    TRY(device_upload(model->buffers[GPT2_SCALING], 0, &state, sizeof(state), err));
    *ret = !finite;
    return STATUS_OK;
}

static enum status run(struct spot *spot, struct check_sink *sink, struct error *err)
{
    struct workload_check loss = {0};
    bool taken = false, again = true;

    for (int i = 0; i <= TRAINING_BACKOFFS_MAX && again; i++) {
        adamw_update_finish(&spot->update);
        TRY(run_step(spot, &taken, err));
        TRY(check_floor(spot->instance, &loss, err));
        again = !taken && loss.error <= loss.tolerance;
        if (again)
            TRY(overflows(spot, &again, err));
    }
    check_sink_report(sink, loss, "the loss of the step");
    report_live(spot, taken, sink);
    return check_step(spot, sink, err);
}

static void spot_finish(struct spot *spot)
{
    adamw_update_finish(&spot->update);
    free(spot->windows);
    free(spot->weights);
}

static enum status spot_check(struct workload_instance *base, uint64_t secret,
                              struct check_sink *sink, struct error *err)
{
    struct training_instance *instance = (struct training_instance *)base;
    const struct gpt2_shape *shape = &instance->parameters->task.shape;
    CLEANUP(spot_finish)
    struct spot spot = {
        .instance = instance,
        .windows = calloc(gpt2_tensor_count(shape), sizeof(*spot.windows)),
        .weights = malloc(gpt2_array_length(shape) * sizeof(*spot.weights)),
    };

    random_init(&spot.random, secret, STREAM_SPOT);
    return spot.windows && spot.weights ? run(&spot, sink, err) : error_no_memory(err);
}

/* ---- recheck ---- */

/*
 * A training step without the reference, against another trial's that was verified. Before the
 * warmup: loss and gradients at the initial weights, bit for bit; then the same update as `verify`
 * makes, so that both continue alike. After the window: the losses of all steps that both made. A
 * loss depends on all updates before it, so each step but the last is covered.
 */
#define LOSS_DIGITS 9 /* of one loss in the text: 8 hex digits and a blank */

static enum status recheck_first(struct training_instance *instance, struct recheck *recheck,
                                 struct error *err)
{
    struct gpt2_device *model = instance->gpt2.model;
    const uint64_t count = gpt2_array_length(&instance->parameters->task.shape);
    struct check_output loss = {.buffer = model->buffers[GPT2_LOSSES],
                                .type = DTYPE_F32,
                                .rows = 1,
                                .columns = 1,
                                .stride = 1};
    const struct check_output gradients = {.buffer = model->buffers[GPT2_GRADIENTS],
                                           .type = gpt2_device_type(&model->plan, GPT2_GRADIENTS),
                                           .rows = 1,
                                           .columns = count,
                                           .stride = count};
    CLEANUP(subset_finish) struct subset subset = {0};
    struct adamw adamw;

    TRY(take_subset(instance, &subset, err));
    TRY(run_passes(instance, &subset, err));
    loss.first = training_loss_slot(instance->steps);
    TRY(recheck_add(recheck, &loss, err));
    TRY(recheck_add(recheck, &gradients, err));
    TRY(recheck_conclude(recheck, err));
    if (!recheck->ret->same)
        return STATUS_OK;
    adamw = training_adamw(instance->parameters, instance->steps + 1);
    TRY(gpt2_device_update(model, &adamw, instance->steps + 1, err));
    training_count_step(instance, instance->next_sequence - instance->sequences, subset.sequences);
    return STATUS_OK;
}

static enum status recheck_losses(struct training_instance *instance, struct recheck *recheck,
                                  struct error *err)
{
    struct workload_recheck *ret = recheck->ret;
    float losses[LOSS_HEAD];
    size_t count = 0, common;

    TRY(training_loss_head(instance, losses, &count, err));
    ret->text = malloc(count * LOSS_DIGITS + 1);
    if (!ret->text)
        return error_no_memory(err);
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;

        memcpy(&bits, &losses[i], sizeof(bits));
        snprintf(ret->text + i * LOSS_DIGITS, LOSS_DIGITS + 1, "%08" PRIx32 " ", bits);
    }
    ret->compared = count;
    if (!recheck->expected)
        return STATUS_OK;
    common = strlen(recheck->expected) / LOSS_DIGITS;
    common = common < count ? common : count;
    ret->compared = common;
    /* The first is the check's own step; one of the window's must be among them. */
    ret->same = common >= 2 && !strncmp(ret->text, recheck->expected, common * LOSS_DIGITS);
    return STATUS_OK;
}

static enum status recheck(struct workload_instance *base, struct recheck *recheck,
                           struct error *err)
{
    struct training_instance *instance = (struct training_instance *)base;

    return instance->steps == 0 ? recheck_first(instance, recheck, err)
                                : recheck_losses(instance, recheck, err);
}

const struct workload_checks training_checks = {
    .verify = verify,
    .spot_check = spot_check,
    .tolerance = tolerance,
    .recheck = recheck,
    .resume = gpt2_instance_resume,
};
