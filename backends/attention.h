/*
 * attention - the vendor library's scaled dot-product attention: shapes, and the calls on a device,
 * which check and then go to its hooks (device_ops, backend.h, which includes this).
 *
 * For each of batch * heads matrices Q, K, V of (length, head_size):
 *   S = scale Q K^T, P = softmax of S's rows, O = P V
 * where with `causal` the row t takes part in columns s <= t alone (Vaswani et al. 2017). The
 * library does it as one operation that writes no P to memory (Dao et al. 2022), and for training
 * writes the statistics instead: for each row log(sum(exp(S))), f32, (batch, heads, length) without
 * gaps. Backward, from dO, O and the statistics, it gives
 *   dV = P^T dO, dS = P (dO V^T - rowsum(dO O)), dQ = scale dS K, dK = scale dS^T Q.
 * Q, K, V, O and their gradients are bf16 or fp16; sums, the softmax and the statistics are f32,
 * and P and dS are rounded to the type of the operands before they go into a GEMM.
 */
#ifndef ASSAY_BACKENDS_ATTENTION_H
#define ASSAY_BACKENDS_ATTENTION_H

#include <stdbool.h>
#include <stdint.h>

#include "backends/gemm.h"

/* Element (b, h, t, i) is at offset + b * batch + h * head + t * row + i, in elements. */
struct attention_strides {
    uint64_t batch, head, row;
};

struct attention_shape {
    enum precision precision; /* what is computed in; operands are stored in it */
    uint64_t batch, heads, length, head_size;
    bool causal;
    bool training; /* forward writes the statistics, and there is a backward */
    float scale;   /* 0 counts as 1 / sqrt(head_size) */
    /* dQ, dK and dV lie as Q, K and V do, dO as O. */
    struct attention_strides q, k, v, o;
};

/* Arrays of one run. Those of a gradient, and `statistics`, count only when training. */
struct attention_operands {
    struct gemm_operand q, k, v, o;
    struct gemm_operand statistics; /* f32 */
    struct gemm_operand d_q, d_k, d_v, d_o;
};

/* What will run, for provenance; each pass has its own list of algorithms. */
struct attention_info {
    struct gemm_info forward;
    struct gemm_info backward; /* empty without training */
};

/* Implementations embed this as their first member; the wrapper fills it when create has succeeded.
 */
struct attention {
    struct device *device;
    struct attention_shape shape; /* with the 0s that count as something filled in */
};

bool device_has_attention(const struct device *device);
/*
 * UNSUPPORTED: the device has no vendor attention, or the library does not do this one (its answer
 * is in the message). INVALID: nothing in a dimension, a dimension beyond 2^31, strides that let
 * rows or heads overlap. May take long (a compiler, a search).
 */
enum status device_attention_create(struct device *device, const struct attention_shape *shape,
                                    struct attention **ret, struct error *err);
void device_attention_destroy(struct attention *attention); /* takes NULL */
/*
 * Both enqueue. INVALID: an operand exceeds its buffer. INTERNAL: a buffer of another device, or
 * backward without training. UNSUPPORTED: an operand lies as the library does not take it (at an
 * address that is no multiple of 16 bytes).
 */
enum status device_attention_forward(struct attention *attention,
                                     const struct attention_operands *operands, struct error *err);
enum status device_attention_backward(struct attention *attention,
                                      const struct attention_operands *operands, struct error *err);
enum status device_attention_describe(const struct attention *attention, struct attention_info *ret,
                                      struct error *err);
/*
 * Lets the pass take algorithm `index`, below its gemm_info.algorithms, as device_gemm_select
 * does. What the algorithm needs is prepared by the next run, which may fail because of it.
 */
enum status device_attention_select(struct attention *attention, bool backward, uint32_t index,
                                    struct error *err);
/*
 * Asks the library for a causal attention of 8 heads of 64, 512 long, heads inside rows of a
 * common projection as transformers have them; backward too, and forward alone where that is
 * refused (then `backward` has the reason). Fills `ret` as device_gemm_support does.
 */
void device_attention_support(struct device *device, enum precision precision,
                              struct attention_info *ret);

#endif
