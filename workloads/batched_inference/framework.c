/* The model run by a framework: same tokens, weights and checks, none of our operations. */
#include "harness/core/cleanup.h"
#include "workloads/batched_inference/batched_inference.h"
#include "workloads/models/gpt2_onnx.h"

enum status inference_prepare(struct inference_instance *instance, const struct gpt2_onnx *model,
                              struct framework_model *wanted, struct error *err)
{
    CLEANUP(text_finish) struct text onnx = {0};

    text_init(&onnx);
    TRY(gpt2_onnx_write(model, wanted, &onnx, err));
    wanted->onnx = onnx.data;
    wanted->length = onnx.length;
    return framework_prepare(instance->gpt2.base.work.framework, wanted, err);
}

struct framework_array inference_array(const char *name, enum dtype type, struct buffer *buffer,
                                       uint64_t rows, uint64_t columns)
{
    return (struct framework_array){.name = name,
                                    .type = type,
                                    .rank = 2,
                                    .shape = {(int64_t)rows, (int64_t)columns},
                                    .buffer = buffer};
}

enum status inference_take_framework(struct inference_instance *instance, struct error *err)
{
    const struct gpt2_device *model = instance->gpt2.model;
    const struct gpt2_device_plan *plan = &model->plan;
    const struct framework_array tokens = inference_array(
        GRAPH_ONNX_TOKENS, DTYPE_I32, model->buffers[GPT2_TOKENS], plan->sequences, plan->length);
    const struct framework_array logits =
        inference_array(GPT2_ONNX_LOGITS, DTYPE_F32, model->buffers[GPT2_LOGITS],
                        plan->sequences * plan->length, plan->shape.vocabulary);
    struct gpt2_onnx onnx = {.shape = &plan->shape,
                             .pass = GRAPH_ONNX_WHOLE,
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
