/*
 * gpt2_onnx - a pass of the model as an ONNX model (onnx.ai, version 20 of the operators), for
 * frameworks, for one shape of batch: tokens in, logits out, and keys and values where they are
 * kept for later passes.
 *
 * Written plainly, in the operators that the paper's formulas have: Gather, LayerNormalization,
 * Gemm (a bias added in it), Split, Transpose, MatMul, Softmax of scores to which a mask of 0 and
 * -inf is added, Gelu (tanh). What of it a framework fuses is its own work.
 *
 * Keys and values of earlier positions are inputs of a step, (sequences, heads, room, size) for
 * each layer and of one shape for all steps: positions that are not there yet are masked. Those of
 * the step's own tokens are outputs, and whoever runs it puts them into their place. So no step
 * copies a cache, as Concat would, and none has a shape that a framework would have to prepare for.
 */
#ifndef ASSAY_WORKLOADS_MODELS_GPT2_ONNX_H
#define ASSAY_WORKLOADS_MODELS_GPT2_ONNX_H

#include "harness/core/precision.h"
#include "harness/core/text.h"
#include "workloads/models/gpt2.h"

enum gpt2_onnx_pass {
    GPT2_ONNX_WHOLE,   /* logits of every position: (sequences * length, vocabulary) */
    GPT2_ONNX_PREFILL, /* those of one position, (sequences, vocabulary), and keys and values */
    GPT2_ONNX_STEP,    /* likewise, of one token of each sequence behind those that were kept */
};

struct gpt2_onnx {
    const struct gpt2_shape *shape;
    const float *parameters; /* gpt2_array_length, the weights */
    enum gpt2_onnx_pass pass;
    uint64_t sequences, length; /* of a step 1 */
    /* Not of GPT2_ONNX_WHOLE: positions that are kept, and their type, f32 or bf16. */
    uint64_t room;
    enum dtype cache;
};

#define GPT2_ONNX_TOKENS "tokens" /* i32 (sequences, length) */
#define GPT2_ONNX_LOGITS "logits" /* f32 */
/* i32 (1), not of GPT2_ONNX_WHOLE: of the logits; that of a step's tokens, at least 1. */
#define GPT2_ONNX_POSITION "position"

/*
 * Names of a layer's keys (which 0) and values (1): outputs of a prefill, (sequences, heads, room,
 * size) with zeros behind its length, and of a step, (sequences, heads, 1, size); with `past`,
 * inputs of a step, which takes those of positions before its own and reads the others, too, so
 * that they have to be finite.
 */
void gpt2_onnx_cache_name(bool past, int which, uint64_t layer, char ret[GPT2_TENSOR_NAME_MAX]);

/*
 * Appends the model to `ret`, which is not ok (text_ok) where there was no memory. INVALID: more
 * than the 2 GiB that the format holds.
 */
enum status gpt2_onnx_write(const struct gpt2_onnx *model, struct text *ret, struct error *err);

#endif
