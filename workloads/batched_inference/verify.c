/*
 * Logits against the fp64 reference at the weights before any rounding: the loss of a precision
 * includes the rounding of weights.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/random.h"
#include "workloads/batched_inference/batched_inference.h"
#include "workloads/fingerprint.h"
#include "workloads/models/compare.h"
#include "workloads/models/gpt2_reference.h"

#define STREAM_POSITIONS 0x706f73u
#define SIGMAS 6.0 /* of an element's error, none of which is to be further off */

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

/* What is found out about the logits. */
struct findings {
    struct comparison last, sampled;
    uint64_t positions, agreed; /* where the largest logit is the reference's */
    struct block_finding blocks;
    double regret;              /* what the reference's lead is over the device's choice, at most */
    struct workload_check head; /* int8: its GEMM at the last position */
};

static void note_first_choice(struct findings *findings, const float *got, const double *expected,
                              uint64_t count)
{
    uint64_t mine = 0, best = 0;

    for (uint64_t i = 1; i < count; i++) {
        mine = got[i] > got[mine] ? i : mine;
        best = expected[i] > expected[best] ? i : best;
    }
    findings->positions++;
    findings->agreed += mine == best;
    findings->regret = fmax(findings->regret, expected[best] - expected[mine]);
}

static enum status compare_sequence(struct inference_instance *instance,
                                    const struct gpt2_reference *reference, uint64_t sequence,
                                    struct findings *findings, struct error *err)
{
    const struct gpt2_device *model = instance->gpt2.model;
    const uint64_t length = model->plan.length, vocabulary = model->plan.shape.vocabulary;
    const uint64_t stride = gpt2_logits_stride(&model->plan);
    const uint64_t positions = length < INFERENCE_POSITIONS ? length : INFERENCE_POSITIONS;
    float *row = malloc(vocabulary * sizeof(*row));
    enum status status = STATUS_OK;

    if (!row)
        return error_set(err, STATUS_NO_MEMORY, "batched_inference: out of memory");
    for (uint64_t i = 0; i < positions && status == STATUS_OK; i++) {
        const uint64_t position = checked_position(instance, sequence, i);
        const double *expected = reference->logits + position * vocabulary;
        char name[64];

        status = gpt2_device_fetch(model, GPT2_LOGITS, (sequence * length + position) * stride,
                                   vocabulary, row, err);
        if (status != STATUS_OK)
            break;
        comparison_add(i == 0 ? &findings->last : &findings->sampled, row, expected, vocabulary);
        snprintf(name, sizeof(name), "position %llu of sequence %llu", (unsigned long long)position,
                 (unsigned long long)sequence);
        block_finding_add(&findings->blocks, name, row, expected, vocabulary);
        note_first_choice(findings, row, expected, vocabulary);
        if (i == 0 && model->plan.quantised)
            status = inference_check_head(instance, sequence * length + position, row,
                                          &findings->head, err);
    }
    free(row);
    return status;
}

/* The device's own in fp32; else those that it rounded. */
static enum status unrounded_weights(struct inference_instance *instance, float *ret,
                                     struct error *err)
{
    const struct gpt2_device *model = instance->gpt2.model;

    if (instance->gpt2.base.work.precision == PRECISION_FP32)
        return gpt2_device_fetch(model, GPT2_PARAMETERS, 0, gpt2_array_length(&model->plan.shape),
                                 ret, err);
    gpt2_initialise(&model->plan.shape, instance->gpt2.base.work.seed, ret);
    return STATUS_OK;
}

static enum status look(struct inference_instance *instance, struct gpt2_reference *reference,
                        const float *weights, struct findings *findings, struct error *err)
{
    const struct gpt2_device_plan *plan = &instance->gpt2.model->plan;
    const uint64_t wanted = instance->parameters->verify_sequences;
    const uint64_t checked = wanted < plan->sequences ? wanted : plan->sequences;
    enum status status = STATUS_OK;

    for (uint64_t i = 0; i < checked && status == STATUS_OK; i++) {
        /* Spread over the batch, the last sequence first. */
        const uint64_t sequence = plan->sequences - 1 - i * plan->sequences / checked;

        status = gpt2_reference_forward(
            reference, weights,
            inference_batch(instance, instance->current) + sequence * plan->length, NULL, err);
        if (status == STATUS_OK)
            status = compare_sequence(instance, reference, sequence, findings, err);
    }
    return status;
}

/* What quantisation adds follows from the calibration; at 1 an output of zeros would pass. */
double inference_tolerance(const struct workload_case *work, const char *output, const char *metric)
{
    const struct inference_parameters *parameters = work->workload->parameters;
    const struct gpt2_tolerance tolerance = gpt2_tolerance_of(
        work->precision, precision_dtype(work->precision), &parameters->task.shape, 1);

    if (work->precision == PRECISION_INT8)
        return !strcmp(metric, "normalised_rms") ? 1.0 : -1.0;
    if (!strcmp(output, "logits.top1"))
        return 2.0 * SIGMAS * tolerance.logits;
    if (!strcmp(output, "logits.blocks"))
        return COMPARISON_BLOCK_FACTOR * tolerance.logits;
    return strncmp(output, "logits.", strlen("logits.")) ? -1.0 : tolerance.logits;
}

static double rms_expected(const struct findings *findings)
{
    return sqrt((findings->last.expected_squares + findings->sampled.expected_squares) /
                (double)(findings->last.count + findings->sampled.count));
}

static void report(struct inference_instance *instance, const struct findings *findings,
                   struct check_sink *sink)
{
    const struct gpt2_device_plan *plan = &instance->gpt2.model->plan;
    struct gpt2_tolerance tolerance =
        gpt2_tolerance_of(instance->gpt2.base.work.precision, plan->storage, &plan->shape, 1);
    struct workload_check top1 = {
        .output = "logits.top1",
        .error = findings->regret / rms_expected(findings),
        .metric = "regret",
        .reason = "the first choice may differ only where two logits are closer than six times "
                  "the tolerated error of each",
        .compared = findings->positions,
    };

    if (plan->quantised) {
        tolerance.logits += inference_int8_tolerance(instance);
        tolerance.reason =
            "the root of the summed squares of the rounding noise of every quantised "
            "input and weight, besides the storage's roundings";
        check_sink_report(sink, findings->head, "the head's product or scales are wrong");
    }
    top1.tolerance = 2.0 * SIGMAS * tolerance.logits;
    check_sink_compare(sink, "logits.last", &findings->last, tolerance.logits, tolerance.reason);
    if (findings->sampled.count)
        check_sink_compare(sink, "logits.sampled", &findings->sampled, tolerance.logits,
                           tolerance.reason);
    check_sink_blocks(sink, "logits.blocks", &findings->blocks, tolerance.logits);
    check_sink_report(sink, top1, "the device's first choice is clearly not the reference's");
    instance->top1_positions = findings->positions;
    instance->top1_agreed = findings->agreed;
}

enum status inference_verify(struct workload_instance *base, workload_check_fn *report_check,
                             void *context, struct error *err)
{
    struct inference_instance *instance = (struct inference_instance *)base;
    struct check_sink sink = {.report = report_check, .context = context, .err = err};
    const struct gpt2_device_plan *plan = &instance->gpt2.model->plan;
    struct findings findings = {0};
    struct gpt2_reference *reference = NULL;
    float *weights = malloc(gpt2_array_length(&plan->shape) * sizeof(*weights));
    enum status status = STATUS_OK;

    if (!weights)
        return error_set(err, STATUS_NO_MEMORY, "batched_inference: out of memory");
    if (instance->iterations == 0)
        status = inference_iterate(base, err);
    if (status == STATUS_OK)
        status = device_synchronize(base->device, err);
    if (status == STATUS_OK)
        status = unrounded_weights(instance, weights, err);
    if (status == STATUS_OK && plan->quantised)
        status = inference_check_weights(instance, weights, &sink, err);
    if (status == STATUS_OK)
        status = gpt2_reference_create(&plan->shape, 1, plan->length, false, &reference, err);
    if (status == STATUS_OK)
        status = look(instance, reference, weights, &findings, err);
    if (status == STATUS_OK)
        report(instance, &findings, &sink);
    gpt2_reference_destroy(reference);
    free(weights);
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
    enum status status = STATUS_OK;

    fingerprint_init(&fingerprint);
    for (uint64_t i = 0; i < pieces && status == STATUS_OK; i++)
        status = fingerprint_add_buffer(&fingerprint, model->buffers[GPT2_LOGITS], i * stride,
                                        rows / pieces * row, err);
    if (status != STATUS_OK)
        return status;
    *ret = fingerprint_text(&fingerprint);
    return *ret ? STATUS_OK : error_set(err, STATUS_NO_MEMORY, "batched_inference: out of memory");
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
    enum status status;

    if (instance->iterations > 0 && !expected)
        return STATUS_OK; /* `verify` looks at what the window left */
    instance->iterations += INFERENCE_POOL - 1;
    instance->iterations -= instance->iterations % INFERENCE_POOL;
    status = inference_iterate(base, err);
    if (status == STATUS_OK)
        status = device_synchronize(base->device, err);
    if (status == STATUS_OK)
        status = fingerprint_logits(model, &ret->text, err);
    if (status != STATUS_OK)
        return status;
    ret->compared = model->plan.sequences * model->plan.length * model->plan.shape.vocabulary;
    ret->same = expected && !strcmp(ret->text, expected);
    if (ret->same)
        ops_seal(instance->gpt2.ops);
    return STATUS_OK;
}
