/* Rows of logits against the reference. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "workloads/batched_inference/batched_inference.h"

#define SIGMAS 6.0 /* of an element's error, none of which is to be further off */

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
    const struct gpt2_tolerance tolerance = gpt2_tolerance_of(
        work->precision, precision_dtype(work->precision), &parameters->task.shape, 1);

    if (!strcmp(output, "logits.live"))
        return 0.0;
    if (!strcmp(output, "norm.statistics"))
        return 1.0;
    if (work->precision == PRECISION_INT8)
        return !strcmp(metric, "normalised_rms") ? 1.0 : -1.0;
    if (!strcmp(output, "logits.top1"))
        return 2.0 * SIGMAS * tolerance.logits;
    if (!strcmp(output, "logits.blocks"))
        return COMPARISON_BLOCK_FACTOR * tolerance.logits;
    return strncmp(output, "logits.", strlen("logits.")) ? -1.0 : tolerance.logits;
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
    if (findings->last.count)
        check_sink_compare(sink, "logits.last", &findings->last, tolerance.logits,
                           tolerance.reason);
    if (findings->sampled.count)
        check_sink_compare(sink, "logits.sampled", &findings->sampled, tolerance.logits,
                           tolerance.reason);
    check_sink_blocks(sink, "logits.blocks", &findings->blocks, tolerance.logits);
    check_sink_report(sink, top1, "the device's first choice is clearly not the reference's");
}
