/*
 * One pass in the middle of the window, checked, over a batch that the device has not seen before:
 * sequences of the source that the secret draws. What the pass writes has NaN in drawn places
 * before, and again where the next layer writes it, too. The logits of a drawn sequence's first
 * positions, which depend on nothing behind them, are compared with the reference; drawn places of
 * all other rows must have been written. Then the pool's next batch runs once more, as in the
 * window.
 *
 * So no logits of an earlier pass can be served, every launch that fills an array of floats was run
 * in every layer, the first positions were computed from these tokens, and drawn places of the
 * whole batch were written. Values at late positions of a long sequence are not compared, and
 * inputs in i8 cannot hold a NaN: `verify` has the first, the logits alone show the second. Outputs
 * that a library keeps by their inputs would not be found either, since the window repeats the
 * pool's batches.
 */
#include <math.h>
#include <stdlib.h>

#include "workloads/batched_inference/batched_inference.h"
#include "workloads/models/gpt2_reference.h"
#include "workloads/models/gpt2_spot.h"

#define LIVE_ROWS 16
#define LIVE_SPAN 64 /* elements */

static enum status retire(void *observer, enum gpt2_buffer buffer, struct error *err)
{
    struct inference_instance *instance = observer;

    return gpt2_poison_drawn(instance->gpt2.model, buffer, instance->spot, err);
}

struct place {
    uint64_t offset, count;
};

static enum status poison(const struct gpt2_device *model, struct random *random,
                          struct place places[LIVE_ROWS], struct error *err)
{
    const uint64_t rows = model->plan.sequences * model->plan.length;
    const uint64_t vocabulary = model->plan.shape.vocabulary;
    const uint64_t count = vocabulary < LIVE_SPAN ? vocabulary : LIVE_SPAN;

    TRY(gpt2_poison_all(model, random, err));
    for (int i = 0; i < LIVE_ROWS; i++) {
        /* The last position of the batch among them. */
        const uint64_t row = i == 0 ? rows - 1 : random_next_below(random, rows);

        places[i] = (struct place){row * gpt2_logits_stride(&model->plan) +
                                       random_next_below(random, vocabulary - count + 1),
                                   count};
        TRY(gpt2_poison(model, GPT2_LOGITS, places[i].offset, count, err));
    }
    return STATUS_OK;
}

static enum status check_live(const struct gpt2_device *model, const struct place places[LIVE_ROWS],
                              struct check_sink *sink, struct error *err)
{
    struct workload_check check = {
        .output = "logits.live",
        .metric = "count",
        .reason = "a pass writes every logit, and each is finite",
    };
    float got[LIVE_SPAN];

    for (int i = 0; i < LIVE_ROWS; i++) {
        TRY(gpt2_device_fetch(model, GPT2_LOGITS, places[i].offset, places[i].count, got, err));
        for (uint64_t j = 0; j < places[i].count; j++)
            check.error += !isfinite(got[j]);
        check.compared += places[i].count;
    }
    check_sink_report(sink, check, "logits that the pass did not write");
    return STATUS_OK;
}

/* The first positions of sequence `sequence`. */
static enum status check_logits(struct inference_instance *instance, const int32_t *indices,
                                uint64_t sequence, struct check_sink *sink, struct error *err)
{
    const struct gpt2_device_plan *plan = &instance->gpt2.model->plan;
    const uint64_t count = gpt2_spot_prefix(&plan->shape, plan->length);
    struct inference_findings findings = {0};
    struct gpt2_reference *reference = NULL;
    enum status status = inference_take_weights(instance, err);

    if (status == STATUS_OK)
        status = gpt2_reference_create(&plan->shape, 1, count, false, &reference, err);
    if (status == STATUS_OK)
        status = gpt2_reference_forward(reference, instance->weights,
                                        indices + sequence * plan->length, NULL, err);
    for (uint64_t i = 0; i < count && status == STATUS_OK; i++)
        status =
            inference_compare(instance, sequence, i, reference->logits + i * plan->shape.vocabulary,
                              i + 1 == count, &findings, err);
    if (status == STATUS_OK)
        inference_report(instance, &findings, sink);
    gpt2_reference_destroy(reference);
    return status;
}

enum status inference_spot_check(struct workload_instance *base, uint64_t secret,
                                 workload_check_fn *report, void *context, struct error *err)
{
    struct inference_instance *instance = (struct inference_instance *)base;
    struct gpt2_device *model = instance->gpt2.model;
    const struct gpt2_device_plan *plan = &model->plan;
    struct check_sink sink = {.report = report, .context = context, .err = err};
    struct place places[LIVE_ROWS];
    struct random random;
    uint64_t unique = 0;
    int32_t *indices = calloc(OP_TOKENS_LENGTH(plan->sequences * plan->length), sizeof(*indices));
    enum status status;

    if (!indices)
        return error_no_memory(err);
    random_init(&random, secret, INFERENCE_SPOT_STREAM);
    status = gpt2_make_batch(instance->source,
                             INFERENCE_SPOT_SEQUENCE +
                                 random_next_below(&random, INFERENCE_SPOT_SEQUENCE),
                             plan->sequences, plan->length, indices, &unique, err);
    if (status == STATUS_OK)
        status = poison(model, &random, places, err);
    instance->spot = &random;
    model->retire = retire;
    model->observer = instance;
    if (status == STATUS_OK)
        status = inference_run(instance, indices, unique, err);
    model->retire = NULL;
    model->observer = NULL;
    if (status == STATUS_OK)
        status = device_synchronize(base->device, err);
    if (status == STATUS_OK)
        status = check_live(model, places, &sink, err);
    if (status == STATUS_OK)
        status = check_logits(instance, indices, random_next_below(&random, plan->sequences), &sink,
                              err);
    if (status == STATUS_OK)
        status = gpt2_check_norms(model, &random, &sink, err);
    if (status == STATUS_OK)
        status = inference_iterate(base, err);
    if (status == STATUS_OK)
        status = device_synchronize(base->device, err);
    free(indices);
    return status == STATUS_OK ? sink.status : status;
}
