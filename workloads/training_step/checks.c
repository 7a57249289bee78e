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
#include "workloads/models/gpt2_spot.h"
#include "workloads/training_step/training_step.h"

#define SIGMAS 6.0
#define STREAM_CHECKED 0x636865u

static struct stack_tolerance tolerance_of(const struct workload_case *work, uint64_t tokens)
{
    const struct training_parameters *parameters = work->workload->parameters;

    return gpt2_tolerance_of(work->precision, precision_dtype(work->precision),
                             &parameters->task.shape, tokens);
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
    const struct stack_tolerance tolerance = tolerance_of(work, 1);

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

enum status training_check_passes(const struct workload_case *work,
                                  const struct training_passes *passes, struct check_sink *sink,
                                  struct error *err)
{
    const struct training_parameters *parameters = work->workload->parameters;
    const struct gpt2_task *task = &parameters->task;
    const struct stack_tolerance tolerance = tolerance_of(work, passes->sequences * task->length);
    CLEANUP(stack_reference_drop) struct stack_reference *reference = NULL;

    TRY(gpt2_reference_create(&task->shape, passes->sequences, task->length, true, &reference,
                              err));
    TRY(stack_reference_forward(reference, passes->weights, passes->tokens, passes->targets, err));
    TRY(stack_reference_backward(reference, err));
    return trained_check_passes(&passes->of, reference, &tolerance, sink, err);
}

/* Of step `step`, as the device has what they left. */
static struct trained_passes passes_of(const struct training_instance *instance, uint64_t step,
                                       double inverse)
{
    return (struct trained_passes){.of = &instance->gpt2.model->trained,
                                   .slot = training_loss_slot(step),
                                   .inverse = inverse,
                                   .lead = TRAINING_GRADIENTS};
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
            TRY(trained_gradients_finite(&model->trained, &finite, err));
        if (finite)
            break;
        TRY(trained_update(&model->trained, &adamw, instance->steps + 1, err));
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
    TRY(trained_scaling(&instance->gpt2.model->trained, &state, err));
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
    double inverse;

    if (!weights)
        return error_no_memory(err);
    TRY(gpt2_device_fetch(model, gpt2_device_weights(model), 0, count, weights, err));
    TRY(run_passes(instance, subset, err));
    TRY(loss_scale_inverse(instance, &inverse, err));
    passes.of = passes_of(instance, instance->steps, inverse);
    TRY(training_check_passes(&instance->gpt2.base.work, &passes, sink, err));
    random_init(&random, instance->gpt2.base.work.seed, STREAM_CHECKED);
    TRY(gpt2_check_norms(model, &random, sink, err));
    return training_check_ends(instance, subset->indices, inverse, &random, sink, err);
}

static enum status check_update(struct training_instance *instance, uint64_t sequences,
                                struct check_sink *sink, struct error *err)
{
    const struct trained *trained = &instance->gpt2.model->trained;
    const struct adamw adamw = training_adamw(instance->parameters, instance->steps + 1);
    AUTO_FREE struct adamw_window *windows =
        calloc(trained->layout->count * TRAINED_PIECES, sizeof(*windows));
    CLEANUP(adamw_update_finish) struct adamw_update update = {0};

    if (!windows)
        return error_no_memory(err);
    TRY(trained_begin_update(trained, &adamw, instance->steps + 1, windows,
                             trained_spread_windows(trained, windows), &update, err));
    TRY(adamw_update_gradients(&update, err));
    TRY(trained_update(trained, &adamw, instance->steps + 1, err));
    training_count_step(instance, instance->next_sequence - instance->sequences, sequences);
    return adamw_update_check(&update, trained->scaling != NULL, sink, err);
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
    const struct stack_tolerance tolerance =
        tolerance_of(&instance->gpt2.base.work, instance->gpt2.model->tokens.rows);
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
 * before it reads it gets NaN in drawn places (session_poison), again where the backward pass
 * reuses an array; then the kind's own iteration runs, on the next batch, and counts like any
 * other.
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
#define LOGITS_MAX ((uint64_t)1 << 24) /* more are not fetched for the embedding's check */

struct spot {
    struct training_instance *instance;
    struct random random;
    struct adamw_window *windows; /* one a tensor */
    struct adamw_update update;
    float *weights; /* before the step */
};

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

/* Loss and gradients of the whole batch. */
static enum status check_whole(struct spot *spot, struct check_sink *sink, struct error *err)
{
    struct training_instance *instance = spot->instance;
    const struct training_passes passes = {
        .of = passes_of(instance, instance->steps - 1, spot->update.inverse),
        .tokens = instance->indices,
        .targets = instance->indices + instance->sequences * instance->parameters->task.length,
        .sequences = instance->sequences,
        .weights = spot->weights,
    };

    return training_check_passes(&instance->gpt2.base.work, &passes, sink, err);
}

/* The mean loss of the first positions of a drawn sequence. */
static enum status check_prefix(struct spot *spot, struct check_sink *sink, struct error *err)
{
    struct training_instance *instance = spot->instance;
    const struct gpt2_task *task = &instance->parameters->task;
    const uint64_t count = gpt2_spot_prefix(&task->shape, task->length);
    const uint64_t row = random_next_below(&spot->random, instance->sequences) * task->length;
    const int32_t *tokens = instance->indices + row;
    const struct stack_tolerance tolerance = tolerance_of(&instance->gpt2.base.work, count);
    CLEANUP(stack_reference_drop) struct stack_reference *reference = NULL;

    TRY(gpt2_reference_create(&task->shape, 1, count, false, &reference, err));
    TRY(stack_reference_forward(reference, spot->weights, tokens,
                                tokens + instance->sequences * task->length, err));
    return trained_check_prefix(&instance->gpt2.model->trained, reference, row, &tolerance, sink,
                                err);
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
    TRY(trained_scaling(&spot->instance->gpt2.model->trained, &state, err));
    *ret = state.taken == spot->update.step;
    return STATUS_OK;
}

static enum status run_over_nan(struct spot *spot, struct error *err)
{
    struct gpt2_device *model = spot->instance->gpt2.model;
    CLEANUP(session_end_spot) struct session *session = &model->session;
    const struct session_spot over = {.random = &spot->random,
                                      .rows = model->plan.sequences * model->plan.length};

    TRY(trained_poison(&model->trained, &spot->update, training_loss_slot(spot->instance->steps),
                       err));
    TRY(session_poison(session, over, err));
    return check_iterate_timed(&spot->instance->gpt2.base,
                               model->buffers[gpt2_device_weights(model)], 0, err);
}

static enum status run_step(struct spot *spot, bool *taken, struct error *err)
{
    struct training_instance *instance = spot->instance;
    const struct gpt2_device *model = instance->gpt2.model;
    const struct trained *trained = &model->trained;
    const struct adamw adamw = training_adamw(instance->parameters, instance->steps + 1);
    const uint64_t length = instance->parameters->task.length;

    TRY(training_look_ahead(instance, err));
    trained_draw_windows(trained, instance->ahead.indices, instance->sequences * length, length,
                         &spot->random, spot->windows);
    TRY(trained_begin_update(trained, &adamw, instance->steps + 1, spot->windows,
                             trained->layout->count, &spot->update, err));
    TRY(gpt2_device_fetch(model, gpt2_device_weights(model), 0, trained->layout->elements,
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

    TRY(trained_scaling(&model->trained, &state, err));
    TRY(device_upload(model->buffers[GPT2_SCALING], 0, &scale, sizeof(scale), err));
    TRY(gpt2_device_forward(model, training_loss_slot(instance->steps - 1), err));
    TRY(gpt2_device_backward(model, err));
    TRY(trained_gradients_finite(&model->trained, &finite, err));
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
    /* Of a single position attention has no gradient. */
    trained_report_live(&spot->update,
                        spot->instance->parameters->task.length < 2 ? 0 : spot->update.count, taken,
                        "grad.live", sink);
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
    const struct stack_layout *layout = &instance->gpt2.model->layout;
    CLEANUP(spot_finish)
    struct spot spot = {
        .instance = instance,
        .windows = calloc(layout->count, sizeof(*spot.windows)),
        .weights = malloc(layout->elements * sizeof(*spot.weights)),
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
    TRY(trained_update(&model->trained, &adamw, instance->steps + 1, err));
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
