/*
 * graph_onnx - a graph forward as an ONNX model (onnx.ai, version 20 of the operators), for
 * frameworks, for one shape of batch: tokens in, what the last node gives out, and keys and values
 * where they are kept for later passes.
 *
 * Written plainly, in the operators that the papers' formulas have: Gather, LayerNormalization,
 * Gemm (a bias added in it), Split, Transpose, MatMul, Softmax of scores to which a mask of 0 and
 * -inf is added, Gelu (tanh). What of it a framework fuses is its own work.
 *
 * Keys and values of earlier positions are inputs of a step, (sequences, heads, room, size) for
 * each attention and of one shape for all steps: positions that are not there yet are masked. Those
 * of the step's own tokens are outputs, and whoever runs it puts them into their place. So no step
 * copies a cache, as Concat would, and none has a shape that a framework would have to prepare for.
 */
#ifndef ASSAY_WORKLOADS_MODELS_GRAPH_ONNX_H
#define ASSAY_WORKLOADS_MODELS_GRAPH_ONNX_H

#include "backends/backend.h"
#include "harness/core/precision.h"
#include "harness/core/text.h"
#include "workloads/models/stack.h"

#define GRAPH_ONNX_TOKENS "tokens" /* i32, (sequences, length) */
/* i32 (1), not of GRAPH_ONNX_WHOLE: of the output; that of a step's tokens, at least 1. */
#define GRAPH_ONNX_POSITION "position"
#define GRAPH_ONNX_CACHE_NAME_MAX 32

enum graph_onnx_pass {
    GRAPH_ONNX_WHOLE,   /* every position: (sequences * length, columns) */
    GRAPH_ONNX_PREFILL, /* one position, (sequences, columns), and keys and values */
    GRAPH_ONNX_STEP,    /* likewise, of one token of each sequence behind those that were kept */
};

struct graph_onnx {
    const struct graph *graph; /* whose indices are the tokens, named so, of all sequences */
    const char *name;          /* of the model */
    uint32_t out;              /* the value that the first output is, in f32 */
    size_t nodes;              /* the first so many are written */
    const float *weights;
    const struct stack_layout
        *layout; /* of them; NULL: in the graph's order, one behind the other */
    enum graph_onnx_pass pass;
    uint64_t length; /* positions of a sequence; of a step 1 */
    /*
     * Not of GRAPH_ONNX_WHOLE, which alone has attentions whose heads share keys and values:
     * positions that are kept, and their type, f32 or bf16.
     */
    uint64_t room;
    enum dtype cache;
    size_t head; /* of a prefill: the first of the nodes that see the one position alone */
};

/*
 * Names of an attention's keys (which 0) and values (1): outputs of a prefill, (sequences, heads,
 * room, size) with zeros behind its length, and of a step, (sequences, heads, 1, size); with
 * `past`, inputs of a step, which takes those of positions before its own and reads the others,
 * too, so that they have to be finite.
 */
void graph_onnx_cache_name(bool past, int which, uint64_t attention,
                           char ret[GRAPH_ONNX_CACHE_NAME_MAX]);
/*
 * To be asked before there are weights. INVALID: the parameters are more than the 2 GiB that the
 * format holds; UNSUPPORTED: an operator has no form there.
 */
enum status graph_onnx_check(const struct graph_onnx *model, struct error *err);
/*
 * Appends the model, with the inputs and outputs of `arrays`, to `ret`, which is not ok (text_ok)
 * where there was no memory. As above.
 */
enum status graph_onnx_write(const struct graph_onnx *model, const struct framework_model *arrays,
                             struct text *ret, struct error *err);

#endif
