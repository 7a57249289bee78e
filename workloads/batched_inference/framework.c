/* The model run by a framework: same tokens, weights and checks, none of our operations. */
#include <stdlib.h>

#include "workloads/batched_inference/batched_inference.h"
#include "workloads/models/gpt2_onnx.h"

/* The reference takes the weights before rounding, and so does the framework. */
static enum status write_model(struct inference_instance *instance, struct text *ret,
                               struct error *err)
{
    const struct gpt2_device_plan *plan = &instance->gpt2.model->plan;

    instance->weights = malloc(gpt2_array_length(&plan->shape) * sizeof(*instance->weights));
    if (!instance->weights)
        return error_set(err, STATUS_NO_MEMORY, "batched_inference: out of memory");
    gpt2_initialise(&plan->shape, instance->gpt2.base.work.seed, instance->weights);
    return gpt2_onnx_write(&plan->shape, instance->weights, plan->sequences, plan->length, ret,
                           err);
}

enum status inference_take_framework(struct inference_instance *instance, struct error *err)
{
    const struct gpt2_device *model = instance->gpt2.model;
    const int64_t sequences = (int64_t)model->plan.sequences, length = (int64_t)model->plan.length;
    const struct framework_array tokens = {
        GPT2_ONNX_TOKENS, DTYPE_I32, 2, {sequences, length}, model->buffers[GPT2_TOKENS]};
    const struct framework_array logits = {
        GPT2_ONNX_LOGITS,
        DTYPE_F32,
        2,
        {sequences * length, (int64_t)model->plan.shape.vocabulary},
        model->buffers[GPT2_LOGITS]};
    struct framework_model wanted = workload_framework_model(&instance->gpt2.base);
    struct text onnx;
    enum status status;

    text_init(&onnx);
    status = write_model(instance, &onnx, err);
    wanted.onnx = onnx.data;
    wanted.length = onnx.length;
    wanted.inputs = &tokens;
    wanted.outputs = &logits;
    wanted.input_count = wanted.output_count = 1;
    if (status == STATUS_OK)
        status = framework_prepare(instance->gpt2.base.work.framework, &wanted, err);
    text_finish(&onnx);
    return status;
}
