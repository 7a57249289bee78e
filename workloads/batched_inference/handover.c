/* Prefill by another program: weights and tokens in a file, its logits against the reference. */
#include <math.h>
#include <stdlib.h>

#include "harness/core/cleanup.h"
#include "workloads/batched_inference/batched_inference.h"
#include "workloads/data/element.h"
#include "workloads/models/gpt2_handover.h"

static enum status write_file(const struct workload_case *work, const uint64_t *secret,
                              const char *path, struct error *err)
{
    const struct inference_parameters *parameters = work->workload->parameters;
    const struct gpt2_device_plan plan = inference_plan(work);

    return gpt2_handover_write(&parameters->task, &plan, work->seed, secret, path, err);
}

void inference_report_handed(struct inference_instance *instance,
                             const struct inference_findings *findings, struct check_sink *sink)
{
    const struct tensor *logits = instance->handed;
    struct workload_check live = {
        .output = "logits.live",
        .metric = "count",
        .reason = "every logit of the batch was written, and is a finite number",
        .compared = tensor_elements(logits),
    };

    for (uint64_t i = 0; i < live.compared; i++)
        live.error += !isfinite(element_decode(logits->type, logits->data, i));
    check_sink_report(sink, live, "logits that are not finite numbers");
    inference_report(instance, findings, sink);
}

static enum status judge(const struct workload_handed *handed, struct check_sink *sink,
                         struct error *err)
{
    const struct workload_case *work = handed->work;
    struct gpt2_device model = {.plan = inference_plan(work)};
    CLEANUP(inference_finish)
    struct inference_instance instance = {.gpt2 = {.base.work = *work, .model = &model},
                                          .parameters = work->workload->parameters};
    const struct gpt2_device_plan *plan = &model.plan;
    const uint64_t batch = plan->sequences * plan->length;
    const uint64_t before = (uint64_t)handed->iteration - 1;
    const uint64_t shape[] = {plan->sequences, plan->length, plan->shape.vocabulary};
    const uint64_t drawn = handed->secret ? *handed->secret % plan->sequences : 0;
    struct inference_findings findings = {0};

    instance.pool = malloc(GPT2_HANDOVER_POOL * batch * sizeof(*instance.pool));
    if (!instance.pool)
        return error_no_memory(err);
    TRY(tensors_find(handed->outputs, "logits", DTYPE_F32, plan->storage, 3, shape,
                     &instance.handed, err));
    TRY(gpt2_handover_tokens(&instance.parameters->task, plan, work->seed, handed->secret,
                             instance.pool, NULL, err));
    TRY(inference_compare(&instance, instance.pool + before % GPT2_HANDOVER_POOL * batch,
                          (uint64_t)handed->iteration + drawn, handed->whole, &findings, err));
    inference_report_handed(&instance, &findings, sink);
    return STATUS_OK;
}

const struct workload_handover inference_handover = {write_file, judge};
