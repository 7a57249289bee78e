/*
 * gpt2_onnx - the forward pass as an ONNX model (onnx.ai, version 20 of the operators), for
 * frameworks: tokens in, logits of every position out, for one shape of batch.
 *
 * Written plainly, in the operators that the paper's formulas have: Gather, LayerNormalization,
 * Gemm (a bias added in it), Split, Transpose, MatMul, Softmax of scores to which a mask of 0 and
 * -inf is added, Gelu (tanh). What of it a framework fuses is its own work.
 */
#ifndef ASSAY_WORKLOADS_MODELS_GPT2_ONNX_H
#define ASSAY_WORKLOADS_MODELS_GPT2_ONNX_H

#include "harness/core/text.h"
#include "workloads/models/gpt2.h"

#define GPT2_ONNX_TOKENS "tokens" /* i32 (sequences, length) */
#define GPT2_ONNX_LOGITS "logits" /* f32 (sequences * length, vocabulary) */

/*
 * Appends the model, with `parameters` (gpt2_array_length) as its weights, to `ret`, which is not
 * ok (text_ok) where there was no memory. INVALID: more than the 2 GiB that the format holds.
 */
enum status gpt2_onnx_write(const struct gpt2_shape *shape, const float *parameters,
                            uint64_t sequences, uint64_t length, struct text *ret,
                            struct error *err);

#endif
