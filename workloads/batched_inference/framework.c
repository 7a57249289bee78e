/* The model run by a framework: same tokens, weights and checks, none of our operations. */
#include "harness/core/cleanup.h"
#include "workloads/batched_inference/batched_inference.h"
#include "workloads/models/gpt2_onnx.h"

enum status inference_prepare(struct inference_instance *instance, const struct gpt2_onnx *model,
                              struct framework_model *wanted, struct error *err)
{
    CLEANUP(text_finish) struct text onnx = {0};

    text_init(&onnx);
    TRY(gpt2_onnx_write(model, &onnx, err));
    wanted->onnx = onnx.data;
    wanted->length = onnx.length;
    return framework_prepare(instance->gpt2.base.work.framework, wanted, err);
}

enum status inference_take_framework(struct inference_instance *instance, struct error *err)
{
    const struct gpt2_device *model = instance->gpt2.model;
    const struct gpt2_device_plan *plan = &model->plan;
    const int64_t sequences = (int64_t)plan->sequences, length = (int64_t)plan->length;
    const struct framework_array tokens = {
        .name = GPT2_ONNX_TOKENS,
        .type = DTYPE_I32,
        .rank = 2,
        .shape = {sequences, length},
        .buffer = model->buffers[GPT2_TOKENS],
    };
    const struct framework_array logits = {
        .name = GPT2_ONNX_LOGITS,
        .type = DTYPE_F32,
        .rank = 2,
        .shape = {sequences * length, (int64_t)plan->shape.vocabulary},
        .buffer = model->buffers[GPT2_LOGITS],
    };
    struct gpt2_onnx onnx = {.shape = &plan->shape,
                             .pass = GPT2_ONNX_WHOLE,
                             .sequences = plan->sequences,
                             .length = plan->length};
    struct framework_model wanted = workload_framework_model(&instance->gpt2.base);

    TRY(inference_take_weights(instance, err));
    onnx.parameters = instance->weights;
    wanted.inputs = &tokens;
    wanted.outputs = &logits;
    wanted.input_count = wanted.output_count = 1;
    return inference_prepare(instance, &onnx, &wanted, err);
}
