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
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "workloads/models/gpt2_reference.h"
#include "workloads/models/gpt2_spot.h"
#include "workloads/training_step/training_step.h"

#define STREAM_SPOT 0x73706fu
#define WINDOW 256                     /* elements of each tensor */
#define LOGITS_MAX ((uint64_t)1 << 24) /* more are not fetched for the embedding's check */
#define SIGMAS 6.0

struct spot {
    struct training_instance *instance;
    struct random random;
    struct training_window *windows; /* one a tensor */
    struct training_update update;
    float *weights; /* before the step */
};

/* ---- what is drawn ---- */

/* A token of the batch that the next step makes. */
static enum status draw_token(struct spot *spot, uint64_t *ret, struct error *err)
{
    const struct training_instance *instance = spot->instance;
    const uint64_t length = instance->parameters->task.length;
    int32_t *tokens = malloc(2 * length * sizeof(*tokens));

    if (!tokens)
        return error_no_memory(err);
    token_source_sequence(instance->source,
                          instance->next_sequence +
                              random_next_below(&spot->random, instance->sequences),
                          length, tokens, tokens + length);
    *ret = (uint64_t)tokens[random_next_below(&spot->random, length)];
    free(tokens);
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
    enum status status = draw_token(spot, &token, err);

    for (size_t i = 0; i < gpt2_tensor_count(&task->shape) && status == STATUS_OK; i++) {
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
        spot->windows[i] = (struct training_window){tensor.offset + at, count, tensor.decay};
    }
    return status;
}

static enum status retire(void *observer, enum gpt2_buffer buffer, struct error *err)
{
    struct spot *spot = observer;

    return gpt2_poison_drawn(spot->instance->gpt2.model, buffer, &spot->random, err);
}

static enum status poison(struct spot *spot, struct error *err)
{
    struct training_instance *instance = spot->instance;
    struct gpt2_device *model = instance->gpt2.model;

    TRY(gpt2_poison_all(model, &spot->random, err));
    TRY(gpt2_poison(model, GPT2_LOSSES, training_loss_slot(instance->steps), 1, err));
    if (model->buffers[GPT2_SCALING])
        TRY(gpt2_poison(model, GPT2_SCALING_PARTIALS, 0, 1, err));
    for (size_t i = 0; i < spot->update.count; i++)
        TRY(gpt2_poison(model, GPT2_GRADIENTS, spot->windows[i].offset, spot->windows[i].count,
                        err));
    return STATUS_OK;
}

/* ---- what is checked ---- */

/*
 * No model predicts a token better than its source does, which is off the entropy rate by the
 * deviation of a mean over so many tokens. Of k outcomes the information has at most the variance
 * ln(k-1)^2 / 4 + 1 (Reeb and Wolf 2015); and what a model may gain on n tokens by luck is more
 * than 20 / n nats a token with a probability below e^-20.
 */
double training_floor_tolerance(const struct workload_case *work)
{
    const struct training_parameters *parameters = work->workload->parameters;
    const double tokens = (double)work->batch * (double)parameters->task.length;
    const double choices = log((double)parameters->task.successors);

    if (parameters->task.source != GPT2_DATA_MARKOV)
        return 0.0;
    return SIGMAS * sqrt((0.25 * choices * choices + 1.0) / tokens) + 20.0 / tokens;
}

/* The loss of the latest step: a number above zero, and not below what the data allows. */
static enum status check_floor(struct training_instance *instance, struct workload_check *ret,
                               struct error *err)
{
    const struct token_facts facts = token_source_facts(instance->source);
    float loss = 0.0f;
    enum status status = gpt2_device_fetch(instance->gpt2.model, GPT2_LOSSES,
                                           training_loss_slot(instance->steps - 1), 1, &loss, err);

    *ret = (struct workload_check){
        .output = "loss.floor",
        .error = fmax(0.0, facts.entropy_rate - (double)loss),
        .tolerance = training_floor_tolerance(&instance->gpt2.base.work),
        .metric = "nats_below",
        .reason = "the mean over a batch is off the source's entropy by chance alone",
        .compared = 1,
    };
    if (!(loss > 0.0f && isfinite(loss)))
        ret->error = DBL_MAX;
    return status;
}

static void report_live(const struct spot *spot, bool taken, struct check_sink *sink)
{
    const float *gradient = training_update_gradient(&spot->update);
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
    const struct gpt2_task *task = &instance->parameters->task;
    const int32_t *tokens = instance->indices;
    const int32_t *targets = tokens + instance->sequences * task->length;
    struct gpt2_reference *reference = NULL;
    enum status status = gpt2_reference_create(&task->shape, instance->sequences, task->length,
                                               true, &reference, err);

    if (status == STATUS_OK)
        status = gpt2_reference_forward(reference, spot->weights, tokens, targets, err);
    if (status == STATUS_OK)
        status = training_check_loss(instance, instance->steps - 1, reference->loss, sink, err);
    if (status == STATUS_OK)
        status = gpt2_reference_backward(reference, spot->weights, tokens, targets, err);
    if (status == STATUS_OK)
        status = training_check_gradients(instance, (float)spot->update.inverse,
                                          reference->gradients, sink, err);
    gpt2_reference_destroy(reference);
    return status;
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
    struct gpt2_reference *reference = NULL;
    struct comparison comparison = {0};
    float losses[GPT2_SPOT_PREFIX], mean = 0.0f;
    enum status status = gpt2_reference_create(&task->shape, 1, count, false, &reference, err);

    if (status == STATUS_OK)
        status = gpt2_reference_forward(reference, spot->weights, tokens,
                                        tokens + instance->sequences * task->length, err);
    if (status == STATUS_OK)
        status = gpt2_device_fetch(model, GPT2_ROW_LOSS, row, count, losses, err);
    if (status == STATUS_OK) {
        for (uint64_t i = 0; i < count; i++)
            mean += losses[i] / (float)count;
        comparison_add(&comparison, &mean, &reference->loss, 1);
        check_sink_compare(sink, "loss.prefix", &comparison, tolerance.loss, tolerance.loss_reason);
    }
    gpt2_reference_destroy(reference);
    return status;
}

static enum status check_step(struct spot *spot, struct check_sink *sink, struct error *err)
{
    struct training_instance *instance = spot->instance;
    const struct gpt2_device_plan *plan = &instance->gpt2.model->plan;
    const uint64_t rows = plan->sequences * plan->length;
    const bool whole =
        gpt2_parameter_count(&plan->shape) * 3 <= GPT2_SPOT_WORK / rows; /* three products each */

    TRY(training_update_check(instance, &spot->update, sink, err));
    TRY(whole ? check_whole(spot, sink, err) : check_prefix(spot, sink, err));
    TRY(gpt2_check_norms(instance->gpt2.model, &spot->random, sink, err));
    if (rows <= LOGITS_MAX / plan->shape.vocabulary)
        TRY(training_check_ends(instance, instance->indices, spot->update.inverse, &spot->random,
                                sink, err));
    return STATUS_OK;
}

/* ---- the step ---- */

/* Whether the step was taken: with a loss scale, gradients may overflow, and it is skipped. */
static enum status was_taken(struct spot *spot, bool *ret, struct error *err)
{
    struct op_scaling_state state;
    enum status status = STATUS_OK;

    *ret = true;
    if (spot->instance->gpt2.model->plan.scale == 0.0)
        return STATUS_OK;
    status = gpt2_device_scaling(spot->instance->gpt2.model, &state, err);
    *ret = status == STATUS_OK && state.taken == spot->update.step;
    return status;
}

static enum status run_step(struct spot *spot, bool *taken, struct error *err)
{
    struct training_instance *instance = spot->instance;
    struct gpt2_device *model = instance->gpt2.model;
    const struct gpt2_shape *shape = &instance->parameters->task.shape;
    enum status status = draw_windows(spot, err);

    if (status == STATUS_OK)
        status = training_update_begin(instance, spot->windows, gpt2_tensor_count(shape),
                                       &spot->update, err);
    if (status == STATUS_OK)
        status = gpt2_device_fetch(model, gpt2_device_weights(model), 0, gpt2_array_length(shape),
                                   spot->weights, err);
    if (status == STATUS_OK)
        status = poison(spot, err);
    model->retire = retire;
    model->observer = spot;
    if (status == STATUS_OK)
        status = training_iterate(&instance->gpt2.base, err);
    model->retire = NULL;
    model->observer = NULL;
    if (status == STATUS_OK)
        status = device_synchronize(instance->gpt2.base.device, err);
    if (status == STATUS_OK)
        status = was_taken(spot, taken, err);
    return status == STATUS_OK ? training_update_gradients(instance, &spot->update, err) : status;
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
    enum status status = gpt2_device_scaling(model, &state, err);

    if (status == STATUS_OK)
        status = device_upload(model->buffers[GPT2_SCALING], 0, &scale, sizeof(scale), err);
    if (status == STATUS_OK)
        status = gpt2_device_forward(model, training_loss_slot(instance->steps - 1), err);
    if (status == STATUS_OK)
        status = gpt2_device_backward(model, err);
    if (status == STATUS_OK)
        status = gpt2_device_gradients_finite(model, &finite, err);
    if (status == STATUS_OK)
        status = device_upload(model->buffers[GPT2_SCALING], 0, &state, sizeof(state), err);
    *ret = !finite;
    return status;
}

static enum status run(struct spot *spot, struct check_sink *sink, struct error *err)
{
    struct workload_check loss = {0};
    bool taken = false, again = true;

    for (int i = 0; i <= TRAINING_BACKOFFS_MAX && again; i++) {
        training_update_finish(&spot->update);
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

enum status training_spot_check(struct workload_instance *base, uint64_t secret,
                                workload_check_fn *report, void *context, struct error *err)
{
    struct training_instance *instance = (struct training_instance *)base;
    const struct gpt2_shape *shape = &instance->parameters->task.shape;
    struct check_sink sink = {.report = report, .context = context, .err = err};
    struct spot spot = {
        .instance = instance,
        .windows = calloc(gpt2_tensor_count(shape), sizeof(*spot.windows)),
        .weights = malloc(gpt2_array_length(shape) * sizeof(*spot.weights)),
    };
    enum status status = STATUS_NO_MEMORY;

    random_init(&spot.random, secret, STREAM_SPOT);
    if (spot.windows && spot.weights)
        status = run(&spot, &sink, err);
    else
        error_no_memory(err);
    training_update_finish(&spot.update);
    free(spot.windows);
    free(spot.weights);
    return status == STATUS_OK ? sink.status : status;
}
