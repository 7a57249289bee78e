/* Prefill by another program: weights and tokens in a file, its logits against the reference. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "workloads/batched_inference/batched_inference.h"
#include "harness/core/cleanup.h"
#include "workloads/data/element.h"
#include "workloads/models/gpt2_handover.h"
#include "workloads/models/gpt2_reference.h"
#include "workloads/models/gpt2_spot.h"

static enum status write_file(const struct workload_case *work, bool inputs_only,
                              const uint64_t *secret, const char *path, struct error *err)
{
    const struct inference_parameters *parameters = work->workload->parameters;
    const struct gpt2_device_plan plan = inference_plan(work);

    if (plan.quantised)
        return error_set(err, STATUS_UNSUPPORTED,
                         "int8 is not handed over: its scales follow from assay's calibration");
    return gpt2_handover_write(&parameters->task, &plan, work->seed, inputs_only, secret, path,
                               err);
}

/* ---- judging ---- */

/* What is compared: one batch's logits, in memory. */
struct handed {
    const struct workload_case *work;
    struct gpt2_device_plan plan;
    const struct tensor *logits;
    const int32_t *tokens; /* of the batch */
    const float *weights;
    struct inference_findings findings;
};

static enum status compare_rows(struct handed *handed, const struct gpt2_reference *reference,
                                uint64_t sequence, bool whole, struct error *err)
{
    const uint64_t vocabulary = handed->plan.shape.vocabulary, length = handed->plan.length;
    const uint64_t count =
        whole && reference->length > INFERENCE_POSITIONS ? INFERENCE_POSITIONS : reference->length;
    float *row = malloc(vocabulary * sizeof(*row));

    if (!row)
        return error_no_memory(err);
    for (uint64_t i = 0; i < count; i++) {
        /* The last, and others spread before it. */
        const uint64_t position = reference->length - 1 - i * reference->length / count;

        for (uint64_t j = 0; j < vocabulary; j++)
            row[j] = (float)element_decode(handed->logits->type, handed->logits->data,
                                           (sequence * length + position) * vocabulary + j);
        inference_compare_row(row, reference->logits + position * vocabulary, vocabulary, sequence,
                              position, position + 1 == length, &handed->findings);
    }
    free(row);
    return STATUS_OK;
}

static enum status compare(struct handed *handed, uint64_t drawn, bool whole, struct error *err)
{
    const struct inference_parameters *parameters = handed->work->workload->parameters;
    const struct gpt2_device_plan *plan = &handed->plan;
    const uint64_t length = whole ? plan->length : gpt2_spot_prefix(&plan->shape, plan->length);
    const uint64_t wanted = whole ? parameters->verify_sequences : 1;
    const uint64_t checked = wanted < plan->sequences ? wanted : plan->sequences;
    struct gpt2_reference *reference = NULL;
    enum status status = gpt2_reference_create(&plan->shape, 1, length, false, &reference, err);

    for (uint64_t i = 0; i < checked && status == STATUS_OK; i++) {
        const uint64_t sequence = (drawn + i * plan->sequences / checked) % plan->sequences;

        status = gpt2_reference_forward(reference, handed->weights,
                                        handed->tokens + sequence * plan->length, NULL, err);
        if (status == STATUS_OK)
            status = compare_rows(handed, reference, sequence, whole, err);
    }
    gpt2_reference_destroy(reference);
    return status;
}

void inference_report_handed(const struct workload_case *work, const struct gpt2_device_plan *plan,
                             const struct tensor *logits, const struct inference_findings *findings,
                             struct check_sink *sink)
{
    struct gpt2_device model = {.plan = *plan};
    struct inference_instance instance = {.gpt2 = {.base.work = *work, .model = &model}};
    struct workload_check live = {
        .output = "logits.live",
        .metric = "count",
        .reason = "every logit of the batch was written, and is a finite number",
        .compared = tensor_elements(logits),
    };

    for (uint64_t i = 0; i < live.compared; i++)
        live.error += !isfinite(element_decode(logits->type, logits->data, i));
    check_sink_report(sink, live, "logits that are not finite numbers");
    inference_report(&instance, findings, sink);
}

static enum status judge(const struct workload_case *work, const uint64_t *secret,
                         const struct tensors *outputs, int64_t iteration, bool whole,
                         workload_check_fn *report, void *context, struct error *err)
{
    const struct inference_parameters *parameters = work->workload->parameters;
    struct handed handed = {.work = work, .plan = inference_plan(work)};
    const struct gpt2_device_plan *plan = &handed.plan;
    const uint64_t batch = plan->sequences * plan->length;
    const uint64_t shape[] = {plan->sequences, plan->length, plan->shape.vocabulary};
    struct check_sink sink = {.report = report, .context = context, .err = err};
    AUTO_FREE int32_t *pool = malloc(GPT2_HANDOVER_POOL * batch * sizeof(*pool));
    AUTO_FREE float *weights = malloc(gpt2_array_length(&plan->shape) * sizeof(*weights));

    if (!(pool && weights))
        return error_no_memory(err);
    TRY(tensors_find(outputs, "logits", DTYPE_F32, plan->storage, 3, shape, &handed.logits, err));
    TRY(gpt2_handover_tokens(&parameters->task, plan, work->seed, secret, pool, NULL, err));
    gpt2_initialise(&plan->shape, work->seed, weights);
    handed.weights = weights;
    handed.tokens = pool + ((uint64_t)iteration - 1) % GPT2_HANDOVER_POOL * batch;
    TRY(compare(&handed, (uint64_t)iteration + (secret ? *secret % plan->sequences : 0), whole,
                err));
    inference_report_handed(work, plan, handed.logits, &handed.findings, &sink);
    TRY(sink.status);
    return STATUS_OK;
}

const struct workload_handover inference_handover = {write_file, judge};
