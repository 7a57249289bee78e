/*
 * Logits against the fp64 reference at the weights before any rounding: the loss of a precision
 * includes the rounding of weights.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/random.h"
#include "workloads/batched_inference/batched_inference.h"
#include "workloads/models/gpt2_graph.h"
#include "workloads/models/gpt2_spot.h"
#include "workloads/storage.h"

#define SIGMAS 6.0 /* of an element's error, none of which is to be further off */
#define STREAM_POSITIONS 0x706f73u

/* ---- rows of logits ---- */

static void note_first_choice(struct inference_findings *findings, const float *got,
                              const double *expected, uint64_t count)
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

void inference_compare_row(const float *got, const double *expected, uint64_t vocabulary,
                           uint64_t sequence, uint64_t position, bool last,
                           struct inference_findings *findings)
{
    char name[64];

    comparison_add(last ? &findings->last : &findings->sampled, got, expected, vocabulary);
    snprintf(name, sizeof(name), "position %llu of sequence %llu", (unsigned long long)position,
             (unsigned long long)sequence);
    block_finding_add(&findings->blocks, name, got, expected, vocabulary);
    note_first_choice(findings, got, expected, vocabulary);
}

struct check_output inference_logits(const struct inference_instance *instance, uint64_t rows)
{
    const struct gpt2_device *model = instance->gpt2.model;
    const struct tensor *handed = instance->handed;
    const uint64_t vocabulary = model->plan.shape.vocabulary;

    return (struct check_output){
        .buffer = model->buffers[GPT2_LOGITS],
        .data = handed ? handed->data : NULL,
        .type = handed ? handed->type : gpt2_device_type(&model->plan, GPT2_LOGITS),
        .rows = rows,
        .columns = vocabulary,
        .stride = handed ? vocabulary : gpt2_logits_stride(&model->plan),
    };
}

enum status inference_take_weights(struct inference_instance *instance, struct error *err)
{
    const struct gpt2_device *model = instance->gpt2.model;
    const uint64_t count = gpt2_array_length(&model->plan.shape);
    AUTO_FREE float *weights = NULL;

    if (instance->weights)
        return STATUS_OK;
    weights = malloc(count * sizeof(*weights));
    if (!weights)
        return error_no_memory(err);
    if (model->buffers[GPT2_PARAMETERS] && instance->gpt2.base.work.precision == PRECISION_FP32)
        TRY(gpt2_device_fetch(model, GPT2_PARAMETERS, 0, count, weights, err));
    else
        gpt2_initialise(&model->plan.shape, instance->gpt2.base.work.seed, weights);
    instance->weights = weights;
    weights = NULL;
    return STATUS_OK;
}

/* What quantisation adds follows from the calibration; at 1 an output of zeros would pass. */
double inference_tolerance(const struct workload_case *work, const char *output, const char *metric)
{
    const struct inference_parameters *parameters = work->workload->parameters;
    const struct stack_tolerance tolerance = gpt2_tolerance_of(
        work->precision, precision_dtype(work->precision), &parameters->task.shape, 1);
    const bool is_of_logits = !strncmp(output, "logits.", strlen("logits."));

    if (!strcmp(output, "logits.live"))
        return 0.0;
    if (!strcmp(output, "norm.statistics"))
        return 1.0;
    if (work->precision == PRECISION_INT8 && (is_of_logits || !strcmp(output, "weights.int8")))
        return !strcmp(metric, "normalised_rms") ? 1.0 : -1.0;
    if (!strcmp(output, "logits.top1"))
        return 2.0 * SIGMAS * tolerance.out;
    if (!strcmp(output, "logits.blocks"))
        return COMPARISON_BLOCK_FACTOR * tolerance.out;
    return is_of_logits ? tolerance.out : WORKLOAD_NO_CHECK;
}

static double rms_expected(const struct inference_findings *findings)
{
    return sqrt((findings->last.expected_squares + findings->sampled.expected_squares) /
                (double)(findings->last.count + findings->sampled.count));
}

void inference_report(struct inference_instance *instance,
                      const struct inference_findings *findings, struct check_sink *sink)
{
    const struct gpt2_device_plan *plan = &instance->gpt2.model->plan;
    struct stack_tolerance tolerance =
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
        tolerance.out += inference_int8_tolerance(instance);
        tolerance.reason =
            "the root of the summed squares of the rounding noise of every quantised "
            "input and weight, besides the storage's roundings";
        check_sink_report(sink, findings->head, "the head's product or scales are wrong");
    }
    top1.tolerance = 2.0 * SIGMAS * tolerance.out;
    if (findings->last.count)
        check_sink_compare(sink, "logits.last", &findings->last, tolerance.out, tolerance.reason);
    if (findings->sampled.count)
        check_sink_compare(sink, "logits.sampled", &findings->sampled, tolerance.out,
                           tolerance.reason);
    check_sink_blocks(sink, "logits.blocks", &findings->blocks, tolerance.out);
    check_sink_report(sink, top1, "the device's first choice is clearly not the reference's");
}

/* ---- before the warmup and after the window ---- */

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

/* Quantised: with the head's GEMM, at one of the positions. */
static enum status compare_sequence(struct inference_instance *instance,
                                    const struct stack_reference *reference, uint64_t sequence,
                                    bool whole, struct inference_findings *findings,
                                    struct error *err)
{
    const struct gpt2_device_plan *plan = &instance->gpt2.model->plan;
    const uint64_t vocabulary = plan->shape.vocabulary, length = plan->length;
    const uint64_t drawn = length < INFERENCE_POSITIONS ? length : INFERENCE_POSITIONS;
    const uint64_t positions = whole ? drawn : reference->rows;
    const struct check_output logits = inference_logits(instance, plan->sequences * length);
    AUTO_FREE float *got = malloc(vocabulary * sizeof(*got));

    if (!got)
        return error_no_memory(err);
    for (uint64_t i = 0; i < positions; i++) {
        const uint64_t position = whole ? checked_position(instance, sequence, i) : i;
        const uint64_t row = sequence * length + position;

        TRY(check_output_row(&logits, row, got, err));
        inference_compare_row(got, reference->out + position * vocabulary, vocabulary, sequence,
                              position, position + 1 == length, findings);
        if (plan->quantised && i == (whole ? 0 : positions - 1))
            TRY(inference_check_head(instance, row, got, &findings->head, err));
    }
    return STATUS_OK;
}

enum status inference_compare(struct inference_instance *instance, const int32_t *tokens,
                              uint64_t first, bool whole, struct inference_findings *findings,
                              struct error *err)
{
    const struct gpt2_device_plan *plan = &instance->gpt2.model->plan;
    const uint64_t wanted = whole ? instance->parameters->verify_sequences : 1;
    const uint64_t checked = wanted < plan->sequences ? wanted : plan->sequences;
    const uint64_t length = whole ? plan->length : gpt2_spot_prefix(&plan->shape, plan->length);
    CLEANUP(stack_reference_drop) struct stack_reference *reference = NULL;

    TRY(inference_take_weights(instance, err));
    TRY(gpt2_reference_create(&plan->shape, 1, length, false, &reference, err));
    for (uint64_t i = 0; i < checked; i++) {
        const uint64_t sequence =
            (first + plan->sequences - i * plan->sequences / checked) % plan->sequences;

        TRY(stack_reference_forward(reference, instance->weights, tokens + sequence * plan->length,
                                    NULL, err));
        TRY(compare_sequence(instance, reference, sequence, whole, findings, err));
    }
    return STATUS_OK;
}

static enum status verify(struct workload_instance *base, struct check_sink *sink,
                          struct error *err)
{
    struct inference_instance *instance = (struct inference_instance *)base;
    const uint64_t last = instance->gpt2.model->plan.sequences - 1;
    struct inference_findings findings = {0};
    struct random random;

    random_init(&random, base->work.seed, STREAM_POSITIONS);
    TRY(check_settle(base, err));
    TRY(inference_check_weights(instance, sink, err));
    TRY(inference_compare(instance, inference_batch(instance, instance->current), last, true,
                          &findings, err));
    inference_report(instance, &findings, sink);
    instance->top1_positions = findings.positions;
    instance->top1_agreed = findings.agreed;
    return gpt2_check_norms(instance->gpt2.model, &random, sink, err);
}

/*
 * All logits of the pool's first batch. How far the window got in the pool differs from trial to
 * trial, so after it that batch runs once more.
 */
static enum status recheck(struct workload_instance *base, struct recheck *recheck,
                           struct error *err)
{
    struct inference_instance *instance = (struct inference_instance *)base;
    const struct gpt2_device_plan *plan = &instance->gpt2.model->plan;
    const struct check_output logits = inference_logits(instance, plan->sequences * plan->length);

    if (instance->iterations > 0 && !recheck->expected)
        return STATUS_OK; /* `verify` looks at what the window left */
    instance->iterations += INFERENCE_POOL - 1;
    instance->iterations -= instance->iterations % INFERENCE_POOL;
    TRY(check_iterate(base, err));
    return recheck_add(recheck, &logits, err);
}

/* ---- spot checks ---- */

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
#define SPOT_STREAM 0x73706fu
#define SPOT_SEQUENCE ((uint64_t)1 << 41) /* far from those of the pool and of calibration */
#define LIVE_ROWS 16
#define LIVE_SPAN 64 /* elements */

struct place {
    uint64_t offset, count;
};

static enum status poison(const struct gpt2_device *model, struct random *random,
                          struct place places[LIVE_ROWS], struct error *err)
{
    const uint64_t rows = model->plan.sequences * model->plan.length;
    const uint64_t vocabulary = model->plan.shape.vocabulary;
    const uint64_t count = vocabulary < LIVE_SPAN ? vocabulary : LIVE_SPAN;

    for (int i = 0; i < LIVE_ROWS; i++) {
        /* The last position of the batch among them. */
        const uint64_t row = i == 0 ? rows - 1 : random_next_below(random, rows);

        places[i] = (struct place){row * gpt2_logits_stride(&model->plan) +
                                       random_next_below(random, vocabulary - count + 1),
                                   count};
        TRY(storage_poison(model->buffers[GPT2_LOGITS], gpt2_device_type(&model->plan, GPT2_LOGITS),
                           places[i].offset, count, err));
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
        check_count_live(got, places[i].count, &check);
    }
    check_sink_report(sink, check, "logits that the pass did not write");
    return STATUS_OK;
}

static enum status run_over_nan(struct inference_instance *instance, const int32_t *indices,
                                uint64_t unique, struct random *random,
                                struct place places[LIVE_ROWS], struct error *err)
{
    struct gpt2_device *model = instance->gpt2.model;
    CLEANUP(session_end_spot) struct session *session = &model->session;

    TRY(session_poison(session, gpt2_spot_of(model, random), err));
    TRY(poison(model, random, places, err));
    TRY(check_time_begin(&instance->gpt2.base, err));
    TRY(inference_run(instance, indices, unique, err));
    return check_time_end(&instance->gpt2.base, model->buffers[GPT2_LOGITS], 0, err);
}

static enum status spot_check(struct workload_instance *base, uint64_t secret,
                              struct check_sink *sink, struct error *err)
{
    struct inference_instance *instance = (struct inference_instance *)base;
    const struct gpt2_device *model = instance->gpt2.model;
    const struct gpt2_device_plan *plan = &model->plan;
    AUTO_FREE int32_t *indices =
        calloc(OP_TOKENS_LENGTH(plan->sequences * plan->length), sizeof(*indices));
    struct inference_findings findings = {0};
    struct place places[LIVE_ROWS];
    struct random random;
    uint64_t unique = 0;

    if (!indices)
        return error_no_memory(err);
    random_init(&random, secret, SPOT_STREAM);
    TRY(gpt2_make_batch(instance->source, SPOT_SEQUENCE + random_next_below(&random, SPOT_SEQUENCE),
                        plan->sequences, plan->length, indices, &unique, err));
    TRY(run_over_nan(instance, indices, unique, &random, places, err));
    TRY(check_live(model, places, sink, err));
    TRY(inference_compare(instance, indices, random_next_below(&random, plan->sequences), false,
                          &findings, err));
    inference_report(instance, &findings, sink);
    TRY(gpt2_check_norms(model, &random, sink, err));
    return check_iterate(base, err);
}

const struct workload_checks inference_checks = {
    .verify = verify,
    .spot_check = spot_check,
    .tolerance = inference_tolerance,
    .recheck = recheck,
    .resume = gpt2_instance_resume,
};
