/*
 * Logits against the fp64 reference at the weights before any rounding: the loss of a precision
 * includes the rounding of weights.
 */
#include <stdlib.h>
#include <string.h>

#include "harness/core/random.h"
#include "workloads/batched_inference/batched_inference.h"
#include "workloads/fingerprint.h"
#include "workloads/models/gpt2_reference.h"
#include "workloads/models/gpt2_spot.h"

#define STREAM_POSITIONS 0x706f73u

/* The last position, then others drawn by seed and sequence; repeats do no harm. */
static uint64_t checked_position(const struct inference_instance *instance, uint64_t sequence,
                                 uint64_t index)
{
    const uint64_t length = instance->gpt2.model->plan.length;

    if (index == 0)
        return length - 1;
    return random_at(instance->gpt2.base.work.seed, STREAM_POSITIONS,
                     sequence * INFERENCE_POSITIONS + index) %
           length;
}

static enum status compare_sequence(struct inference_instance *instance,
                                    const struct gpt2_reference *reference, uint64_t sequence,
                                    struct inference_findings *findings, struct error *err)
{
    const struct gpt2_device_plan *plan = &instance->gpt2.model->plan;
    const uint64_t positions =
        plan->length < INFERENCE_POSITIONS ? plan->length : INFERENCE_POSITIONS;

    for (uint64_t i = 0; i < positions; i++) {
        const uint64_t position = checked_position(instance, sequence, i);

        TRY(inference_compare(instance, sequence, position,
                              reference->logits + position * plan->shape.vocabulary, i == 0,
                              findings, err));
    }
    return STATUS_OK;
}

static enum status look(struct inference_instance *instance, struct gpt2_reference *reference,
                        struct inference_findings *findings, struct error *err)
{
    const struct gpt2_device_plan *plan = &instance->gpt2.model->plan;
    const uint64_t wanted = instance->parameters->verify_sequences;
    const uint64_t checked = wanted < plan->sequences ? wanted : plan->sequences;

    for (uint64_t i = 0; i < checked; i++) {
        /* Spread over the batch, the last sequence first. */
        const uint64_t sequence = plan->sequences - 1 - i * plan->sequences / checked;

        TRY(gpt2_reference_forward(
            reference, instance->weights,
            inference_batch(instance, instance->current) + sequence * plan->length, NULL, err));
        TRY(compare_sequence(instance, reference, sequence, findings, err));
    }
    return STATUS_OK;
}

enum status inference_verify(struct workload_instance *base, workload_check_fn *report_check,
                             void *context, struct error *err)
{
    struct inference_instance *instance = (struct inference_instance *)base;
    struct check_sink sink = {.report = report_check, .context = context, .err = err};
    const struct gpt2_device_plan *plan = &instance->gpt2.model->plan;
    struct inference_findings findings = {0};
    struct random random;
    struct gpt2_reference *reference = NULL;
    enum status status = STATUS_OK;

    random_init(&random, base->work.seed, STREAM_POSITIONS);
    if (instance->iterations == 0)
        status = inference_iterate(base, err);
    if (status == STATUS_OK)
        status = device_synchronize(base->device, err);
    if (status == STATUS_OK)
        status = inference_take_weights(instance, err);
    if (status == STATUS_OK && plan->quantised)
        status = inference_check_weights(instance, instance->weights, &sink, err);
    if (status == STATUS_OK)
        status = gpt2_reference_create(&plan->shape, 1, plan->length, false, &reference, err);
    if (status == STATUS_OK)
        status = look(instance, reference, &findings, err);
    if (status == STATUS_OK) {
        inference_report(instance, &findings, &sink);
        instance->top1_positions = findings.positions;
        instance->top1_agreed = findings.agreed;
        status = gpt2_check_norms(instance->gpt2.model, &random, &sink, err);
    }
    gpt2_reference_destroy(reference);
    if (status == STATUS_OK)
        ops_seal(instance->gpt2.ops); /* an iteration has run every GEMM */
    return status == STATUS_OK ? sink.status : status;
}

/* Rows of the logits may lie apart, with anything in between. */
static enum status fingerprint_logits(const struct gpt2_device *model, char **ret,
                                      struct error *err)
{
    const uint64_t size = dtype_bits(gpt2_device_type(&model->plan, GPT2_LOGITS)) / 8;
    const uint64_t stride = gpt2_logits_stride(&model->plan) * size;
    const uint64_t row = model->plan.shape.vocabulary * size;
    const uint64_t rows = model->plan.sequences * model->plan.length;
    const uint64_t pieces = stride == row ? 1 : rows;
    struct fingerprint fingerprint;

    fingerprint_init(&fingerprint);
    for (uint64_t i = 0; i < pieces; i++)
        TRY(fingerprint_add_buffer(&fingerprint, model->buffers[GPT2_LOGITS], i * stride,
                                   rows / pieces * row, err));
    *ret = fingerprint_text(&fingerprint);
    return *ret ? STATUS_OK : error_no_memory(err);
}

/*
 * All logits of the pool's first batch. How far the window got in the pool differs from trial to
 * trial, so after it that batch runs once more.
 */
enum status inference_recheck(struct workload_instance *base, const char *expected,
                              struct workload_recheck *ret, struct error *err)
{
    struct inference_instance *instance = (struct inference_instance *)base;
    const struct gpt2_device *model = instance->gpt2.model;

    if (instance->iterations > 0 && !expected)
        return STATUS_OK; /* `verify` looks at what the window left */
    instance->iterations += INFERENCE_POOL - 1;
    instance->iterations -= instance->iterations % INFERENCE_POOL;
    TRY(inference_iterate(base, err));
    TRY(device_synchronize(base->device, err));
    TRY(fingerprint_logits(model, &ret->text, err));
    ret->compared = model->plan.sequences * model->plan.length * model->plan.shape.vocabulary;
    ret->same = expected && !strcmp(ret->text, expected);
    if (ret->same)
        ops_seal(instance->gpt2.ops);
    return STATUS_OK;
}
