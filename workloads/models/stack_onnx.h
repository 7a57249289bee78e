/* stack_onnx - a declared stack as an ONNX model, for frameworks: an operator, a few nodes. */
#ifndef ASSAY_WORKLOADS_MODELS_STACK_ONNX_H
#define ASSAY_WORKLOADS_MODELS_STACK_ONNX_H

#include "workloads/models/stack.h"

#define STACK_ONNX_TOKENS "tokens" /* i32, (sequences, length) */
#define STACK_ONNX_OUTPUT "output" /* f32, what the last block gives: (rows, columns) */

/*
 * To be asked first. INVALID: the parameters are more than the format holds; UNSUPPORTED: an
 * operator has no form there.
 */
enum status stack_onnx_check(const struct stack_graph *stack, struct error *err);
/* The model of `stack`, whose parameters are `weights` (stack_fill), appended to `ret`. */
enum status stack_onnx_write(const struct stack_graph *stack, uint64_t length, const float *weights,
                             struct text *ret, struct error *err);

#endif
