/*
 * attention_graph - scaled dot-product attention as cuDNN's engines know it, operation by
 * operation.
 *
 * An engine takes a graph by its pattern, so the order of operations, which tensors are virtual and
 * their types are as NVIDIA's own front end (cudnn-frontend 1.x, nodes "sdpa" and "sdpa_backward")
 * composes them for cuDNN 9. K is an operand transposed, in the backward pass V too.
 */
#ifndef ASSAY_BACKENDS_CUDA_ATTENTION_GRAPH_H
#define ASSAY_BACKENDS_CUDA_ATTENTION_GRAPH_H

#include "backends/backend.h"
#include "backends/cuda/cudnn_graph.h"

/* What an execution calls the arrays. */
enum cuda_attention_id {
    ATTENTION_Q = 1,
    ATTENTION_K,
    ATTENTION_V,
    ATTENTION_O,
    ATTENTION_STATISTICS,
    ATTENTION_D_O,
    ATTENTION_D_Q,
    ATTENTION_D_K,
    ATTENTION_D_V,
    ATTENTION_ROW_SUMS, /* f32, (batch, heads, length): rowsum(dO O); scratch */
    ATTENTION_D_Q_SUMS, /* f32, (batch, heads, length, head_size): dQ on its way; scratch */
    ATTENTION_SCALE,    /* f32 from the host, as are the next two */
    ATTENTION_MASKED,   /* what a masked score is */
    ATTENTION_ONE,
    ATTENTION_IDS
};

/* Both add their operations; a failure is in graph->status. The precision is bf16 or fp16. */
void cuda_attention_graph_forward(struct cudnn_graph *graph, const struct attention_shape *shape);
void cuda_attention_graph_backward(struct cudnn_graph *graph, const struct attention_shape *shape);

/* What cuDNN `version` (91900) wants as a masked score: -inf, or the lowest finite before 9.10. */
float cuda_attention_masked(size_t version);

/*
 * What is known of `version` in addition to what its engines report. UNSUPPORTED with the reason:
 * not bf16 or fp16, a version before 9.0 or with known faults, for training also lengths that it
 * miscomputes.
 */
enum status cuda_attention_check(const struct attention_shape *shape, size_t version,
                                 struct error *err);

#endif
