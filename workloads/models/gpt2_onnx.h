/* gpt2_onnx - a pass of GPT-2 as an ONNX model (graph_onnx.h). */
#ifndef ASSAY_WORKLOADS_MODELS_GPT2_ONNX_H
#define ASSAY_WORKLOADS_MODELS_GPT2_ONNX_H

#include "workloads/models/gpt2.h"
#include "workloads/models/graph_onnx.h"

#define GPT2_ONNX_LOGITS "logits" /* f32 */

/* As in struct graph_onnx. */
struct gpt2_onnx {
    const struct gpt2_shape *shape;
    const float *parameters; /* gpt2_array_length, the weights */
    enum graph_onnx_pass pass;
    uint64_t sequences, length;
    uint64_t room;
    enum dtype cache;
};

/* As graph_onnx_write. */
enum status gpt2_onnx_write(const struct gpt2_onnx *model, const struct framework_model *arrays,
                            struct text *ret, struct error *err);

#endif
