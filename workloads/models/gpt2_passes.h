/* gpt2_passes - what the files of the passes share: where operands lie. Private to this folder. */
#ifndef ASSAY_WORKLOADS_MODELS_GPT2_PASSES_H
#define ASSAY_WORKLOADS_MODELS_GPT2_PASSES_H

#include "workloads/models/gpt2_device.h"
#include "workloads/models/gpt2_int8.h"

struct operand gpt2_at(const struct gpt2_device *model, enum gpt2_buffer buffer, uint64_t offset);
/* A tensor in the parameters or the gradients. */
struct operand gpt2_operand(const struct gpt2_device *model, enum gpt2_buffer array,
                            enum gpt2_tensor_id id, uint64_t layer);
/* Of kept activations: half layer `half` (2 * layer, + 1 for the MLP, 2 * layers at the end). */
struct operand gpt2_half(const struct gpt2_device *model, enum gpt2_buffer buffer, uint64_t index,
                         uint64_t columns);
struct operand gpt2_layer_at(const struct gpt2_device *model, enum gpt2_buffer buffer,
                             uint64_t layer, uint64_t columns);
struct op_norm gpt2_norm_of(const struct gpt2_device *model, uint64_t index,
                            enum gpt2_buffer array);
/* Calls the caller's `retire`, where there is one. */
enum status gpt2_retire(struct gpt2_device *model, enum gpt2_buffer buffer, struct error *err);
/* From QKV to VALUES. */
enum status gpt2_attention_forward(struct gpt2_device *model, uint64_t layer, struct error *err);

/* gpt2_device_step.c: attention over the cache, with the keys and values of the rows put there. */
enum status gpt2_step_attention(struct gpt2_device *model, uint64_t layer, struct error *err);
/* The rows of the outputs become the first ones of RESIDUAL, and all that there are. */
enum status gpt2_step_outputs(struct gpt2_device *model, struct error *err);
/* The tokens that follow, from the logits. */
enum status gpt2_step_choose(struct gpt2_device *model, struct error *err);

/* gpt2_device_int8.c: from the embedded tokens to the logits, in f32. */
enum status gpt2_forward_int8(struct gpt2_device *model, struct error *err);

#endif
