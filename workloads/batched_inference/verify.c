#include <stdlib.h>

#include "harness/core/random.h"
#include "workloads/batched_inference/batched_inference.h"
#include "workloads/models/compare.h"
#include "workloads/models/gpt2_reference.h"

#define LOGITS_TOLERANCE 1e-4
#define STREAM_POSITIONS 0x706f73u

/* The last position, then others drawn by seed and sequence; repeats do no harm. */
static uint64_t checked_position(const struct inference_instance *instance, uint64_t sequence,
                                 uint64_t index)
{
    const uint64_t length = instance->model->plan.length;

    if (index == 0)
        return length - 1;
    return random_at(instance->base.work.seed, STREAM_POSITIONS,
                     sequence * INFERENCE_POSITIONS + index) %
           length;
}

static enum status compare_sequence(struct inference_instance *instance,
                                    const struct gpt2_reference *reference, uint64_t sequence,
                                    struct comparison *last, struct comparison *sampled,
                                    struct error *err)
{
    const uint64_t length = instance->model->plan.length;
    const uint64_t vocabulary = instance->model->plan.shape.vocabulary;
    const uint64_t positions = length < INFERENCE_POSITIONS ? length : INFERENCE_POSITIONS;
    float *row = malloc(vocabulary * sizeof(*row));
    enum status status = STATUS_OK;

    if (!row)
        return error_set(err, STATUS_NO_MEMORY, "batched_inference: out of memory");
    for (uint64_t i = 0; i < positions && status == STATUS_OK; i++) {
        const uint64_t position = checked_position(instance, sequence, i);

        status = device_download(instance->model->buffers[GPT2_LOGITS],
                                 (sequence * length + position) * vocabulary * sizeof(*row), row,
                                 vocabulary * sizeof(*row), err);
        if (status == STATUS_OK)
            comparison_add(i == 0 ? last : sampled, row, reference->logits + position * vocabulary,
                           vocabulary);
    }
    free(row);
    return status;
}

enum status inference_verify(struct workload_instance *base, workload_check_fn *report,
                             void *context, struct error *err)
{
    static const char reason[] = "fp32 rounding (2^-24 an operation) through every layer's sums "
                                 "gives 1e-6; a wrong term gives 1e-2 and more";
    struct inference_instance *instance = (struct inference_instance *)base;
    struct check_sink sink = {.report = report, .context = context, .err = err};
    const struct gpt2_device_plan *plan = &instance->model->plan;
    const uint64_t wanted = instance->parameters->verify_sequences;
    const uint64_t checked = wanted < plan->sequences ? wanted : plan->sequences;
    const uint64_t bytes = gpt2_array_length(&plan->shape) * sizeof(float);
    struct comparison last = {0}, sampled = {0};
    struct gpt2_reference *reference = NULL;
    float *parameters = malloc(bytes);
    enum status status = STATUS_OK;

    if (!parameters)
        return error_set(err, STATUS_NO_MEMORY, "batched_inference: out of memory");
    if (instance->iterations == 0)
        status = inference_iterate(base, err);
    if (status == STATUS_OK)
        status = device_synchronize(base->device, err);
    if (status == STATUS_OK)
        status =
            device_download(instance->model->buffers[GPT2_PARAMETERS], 0, parameters, bytes, err);
    if (status == STATUS_OK)
        status = gpt2_reference_create(&plan->shape, 1, plan->length, false, &reference, err);
    for (uint64_t i = 0; i < checked && status == STATUS_OK; i++) {
        /* Spread over the batch, the last sequence first. */
        const uint64_t sequence = plan->sequences - 1 - i * plan->sequences / checked;

        status = gpt2_reference_forward(
            reference, parameters,
            inference_batch(instance, instance->current) + sequence * plan->length, NULL, err);
        if (status == STATUS_OK)
            status = compare_sequence(instance, reference, sequence, &last, &sampled, err);
    }
    if (status == STATUS_OK)
        check_sink_compare(&sink, "logits.last", &last, LOGITS_TOLERANCE, reason);
    if (status == STATUS_OK && sampled.count)
        check_sink_compare(&sink, "logits.sampled", &sampled, LOGITS_TOLERANCE, reason);
    gpt2_reference_destroy(reference);
    free(parameters);
    return status == STATUS_OK ? sink.status : status;
}
