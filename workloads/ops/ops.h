/*
 * ops - the operations of the transformer as launches on one device.
 *
 * An `ops` holds the compiled modules and what was chosen for the device: the group size of the
 * kernels that go over rows, by measurement at creation, and the GEMMs (gemm.h), the
 * one place where a vendor library's implementation takes over. Every function below enqueues and
 * returns; offsets and strides are in elements. Operands are in the storage type of the `ops`
 * unless said otherwise; sums and arithmetic are f32.
 */
#ifndef ASSAY_WORKLOADS_OPS_OPS_H
#define ASSAY_WORKLOADS_OPS_OPS_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "backends/backend.h"
#include "workloads/ops/gemm.h"
#include "workloads/workload.h"

struct ops;

/*
 * Compiles every kernel for `device`. With the case's `choices` NULL it tries each group size that
 * the device suggests (and each tile of the portable GEMM) on a small task and keeps the
 * fastest; else it takes what ops_choices returned before. Of the case count precision,
 * implementation, choices and emulate, as gemms_create says. UNSUPPORTED for an implementation or
 * precision that is not there, INVALID for choices that no measurement could have made. `storage`:
 * f32, bf16 or f16. `width`: of the model's rows, in elements; every offset, count and row length
 * of operands but logits is a multiple of it.
 */
enum status ops_create(struct device *device, const struct workload_case *work, enum dtype storage,
                       uint64_t width, struct ops **ret, struct error *err);
void ops_destroy(struct ops *ops); /* takes NULL */
void ops_drop(struct ops **ops);   /* the same for CLEANUP */

/* From now on a GEMM that was not asked for before is INTERNAL: call it when all has run once.
 */
void ops_seal(struct ops *ops); /* takes NULL */

/* One artifact a module that is kept, at most `capacity`; returns how many. */
size_t ops_artifacts(struct ops *ops, struct module_artifact *ret, size_t capacity);
/*
 * {"lanes": {"gemm": 1, ...}, "candidates": [{..., "ns": ...}]} and those of gemms_facts; after
 * ops_fuse_attention also "attention": {"implementation", "fused", "algorithm"} with "library",
 * "version", "support", "method", "workspace_bytes", "algorithms" and "tried" where it is fused,
 * else with the "reason". New object.
 */
json_t *ops_facts(const struct ops *ops);
/*
 * {"gemm": {"lanes", "register_rows"}, "rows": {"lanes"}} and, where the library lists algorithms
 * of its attention, "attention": {"stack", "algorithms"}; new object.
 */
json_t *ops_choices(const struct ops *ops);

/* ---- gemm.h: struct op_gemm ---- */

enum status op_gemm(struct ops *ops, const struct op_gemm *gemm, struct error *err);

/* ---- op_norm.c: rows of `width` ---- */

struct op_norm {
    uint64_t rows, width;
    struct operand x;          /* (rows, width) */
    struct operand gain, bias; /* (width) */
    struct operand mean, rstd; /* (rows), f32 */
    float epsilon;             /* added to the variance */
};
/* y = norm(x) gain + bias; writes mean and rstd. */
enum status op_norm_forward(struct ops *ops, const struct op_norm *norm, struct operand y,
                            struct error *err);
/*
 * Writes dx (offset 0), or adds to it when `add`; writes the gradients of gain and bias into
 * `gradients` at their offsets.
 */
enum status op_norm_backward(struct ops *ops, const struct op_norm *norm, struct buffer *dy,
                             struct buffer *dx, bool add, struct buffer *gradients,
                             struct error *err);
/* out[c] = sum over rows of dy[r, c]. */
enum status op_column_sum(struct ops *ops, struct operand dy, struct operand out, uint64_t rows,
                          uint64_t width, struct error *err);

/* ---- op_attention.c: causal attention as one operation, the library's or our own ---- */

struct op_attention_shape {
    uint64_t sequences, length, heads, size; /* size of a head */
    bool training;                           /* there is a backward */
};
struct op_attention {
    struct op_attention_shape shape;
    struct operand qkv;             /* (sequences * length, 3 * heads * size): a row's Q, K and V */
    struct operand values;          /* (sequences * length, heads * size) */
    struct operand statistics;      /* (sequences, heads, length), f32; training only */
    struct operand d_qkv, d_values; /* backward only */
};
/*
 * Whether this attention is one operation, which is then prepared: of the library, where the case's
 * implementation is the vendor's and the library does it, else of our own text (attention.h), for
 * inference where a group has one lane. The answer and the reason go into the facts. Fails only
 * where asking does.
 */
enum status ops_fuse_attention(struct ops *ops, const struct op_attention_shape *shape, bool *ret,
                               struct error *err);
/*
 * values = softmax(Q K^T / sqrt(size), s <= t) V of each head; writes the statistics when training.
 * Fewer sequences than were prepared are part of those, whose arrays the operands must have room
 * for; what follows is overwritten. More are prepared at their first use; INTERNAL after ops_seal.
 * The first use also chooses among the library's algorithms, as GEMMs do.
 */
enum status op_attention_forward(struct ops *ops, const struct op_attention *attention,
                                 struct error *err);
/* d_qkv from d_values, and from what forward read and wrote. */
enum status op_attention_backward(struct ops *ops, const struct op_attention *attention,
                                  struct error *err);

/* (rows, classes), with `stride` elements from one row to the next. */
struct op_logits {
    struct buffer *buffer;
    uint64_t classes, stride;
};

/* ---- op_generation.c, op_attention.c: steps over a cache, kernels/transformer_generation.h ----
 */

/*
 * A step as its table says it (i32, from these places on): of each row the place of its token in
 * `tokens`, its position and its row in the cache; of each output the row whose logits are wanted;
 * of each sequence how many keys it has, its own of this step among them, and the blocks of the
 * cache that hold them. A row of the cache is a key and a value, 2 * width.
 */
struct op_step {
    struct buffer *tokens, *table;
    uint64_t rows, outputs;
    uint64_t at, position, place; /* (rows) */
    uint64_t row;                 /* (outputs) */
    uint64_t lengths, blocks;     /* (sequences), (sequences, pages) */
    uint64_t page, pages;         /* positions of a block; blocks of a sequence at most */
};

/* x[r] = wte[token] + wpe[position]. */
enum status op_step_embedding(struct ops *ops, const struct op_step *step, struct operand wte,
                              struct operand wpe, struct operand x, uint64_t width,
                              struct error *err);
/* Keys and values of qkv (rows, 3 * width) into their rows of the cache. */
enum status op_step_keep(struct ops *ops, const struct op_step *step, struct operand qkv,
                         struct operand cache, uint64_t width, struct error *err);
/* Row o of y = the row of x that output o wants; row o itself when `in_order`. */
enum status op_step_gather(struct ops *ops, const struct op_step *step, struct operand x,
                           struct operand y, uint64_t width, bool in_order, struct error *err);
/* The token after the row's, of each output: the first of the largest logits (greedy). */
enum status op_step_choose(struct ops *ops, const struct op_step *step,
                           const struct op_logits *logits, bool f32, struct error *err);

/* `sequences` of the step that have `length` rows each: its rows and sequences from these on. */
struct op_step_attention {
    uint64_t row, sequence, sequences, length, heads, size;
    struct operand qkv, cache, values; /* of the layer */
};
/*
 * Compiles attention over a cache, from our own text for any number of lanes (attention.h), for
 * heads of `size`; op_step_attention needs it. UNSUPPORTED as attention_text_create.
 */
enum status ops_cache_attention(struct ops *ops, uint64_t size, struct error *err);
/* values = attention of the rows over all keys of their sequences at and before their positions. */
enum status op_step_attend(struct ops *ops, const struct op_step *step,
                           const struct op_step_attention *attention, struct error *err);

/* ---- op_elementwise.c ---- */

/* Softmax over s <= t in each row t of `matrices` length x length matrices, in place. */
enum status op_causal_softmax(struct ops *ops, struct operand p, uint64_t matrices, uint64_t length,
                              struct error *err);
/* dp (offset 0) becomes the gradient of the scores. */
enum status op_causal_softmax_backward(struct ops *ops, struct operand p, struct buffer *dp,
                                       uint64_t matrices, uint64_t length, struct error *err);
/* y = gelu(x); both at the same offset. */
enum status op_gelu(struct ops *ops, struct operand x, struct buffer *y, uint64_t count,
                    struct error *err);
/* dy (offset 0) becomes dx. */
enum status op_gelu_backward(struct ops *ops, struct operand x, struct buffer *dy, uint64_t count,
                             struct error *err);

struct op_adamw {
    double rate, beta1, beta2, epsilon, decay;
    uint64_t step; /* from 1 */
    uint64_t offset, count;
    struct buffer *weights, *m, *v; /* f32 */
    struct buffer *gradients;
    struct buffer *copy;    /* of the weights, in storage; NULL: weights are read as they are */
    struct buffer *scaling; /* only with a copy: op_scaling_step decided on the step; or NULL */
};
enum status op_adamw(struct ops *ops, const struct op_adamw *adamw, struct error *err);

/* ---- op_scaling.c: dynamic loss scaling, kernels/transformer_scaling.h ---- */

/* The buffer of 4-byte words that holds its state on the device. */
struct op_scaling_state {
    float scale;   /* of the next backward pass */
    float inverse; /* of the gradients of the latest step */
    float apply;   /* 0: the latest step was skipped */
    float rest1, rest2;
    uint32_t good, taken, skipped;
    uint32_t first_skipped; /* steps before the first that was skipped, where one was */
};

#define OP_SCALING_PARTIALS 8192 /* groups that a check of gradients never exceeds */

/*
 * `ret_count` numbers into `partial` (OP_SCALING_PARTIALS f32): each 0, or NaN where a gradient is
 * infinite or NaN.
 */
enum status op_gradients_check(struct ops *ops, struct buffer *partial, struct buffer *gradients,
                               uint64_t count, uint64_t *ret_count, struct error *err);
/*
 * Before op_adamw: looks for an infinity or NaN among `count` gradients, decides on the step and
 * sets the next scale. `partial` as above.
 */
enum status op_scaling_step(struct ops *ops, struct buffer *scaling, struct buffer *partial,
                            struct buffer *gradients, uint64_t count, double beta1, double beta2,
                            uint32_t interval, struct error *err);

/* ---- op_int8.c: around GEMMs of i8, kernels/transformer_int8.h ---- */

/* y = x / scale, rounded and kept within -127..127; y from offset 0. */
enum status op_int8_quantise(struct ops *ops, struct operand x, struct buffer *y, uint64_t count,
                             float scale, struct error *err);
/* y = norm(x) gain + bias, quantised by `scale`; mean and rstd are not kept. */
enum status op_int8_norm(struct ops *ops, const struct op_norm *norm, struct buffer *y, float scale,
                         struct error *err);

/* The i32 sums of a GEMM, and the value of each: sums * scale * scales[column] + bias. */
struct op_int8_sums {
    uint64_t rows, width;
    struct buffer *sums;   /* (rows, width), i32 */
    struct operand scales; /* (width), f32: of the weights */
    struct operand bias;   /* (width) */
    float scale;           /* of the GEMM's other input */
};
/* y = that value (+ d, left out when its buffer is NULL; it may be y). */
enum status op_int8_dequantise(struct ops *ops, const struct op_int8_sums *sums, struct operand d,
                               struct operand y, struct error *err);
/* y (i8, from offset 0) = gelu of it, quantised by `scale`. */
enum status op_int8_gelu(struct ops *ops, const struct op_int8_sums *sums, struct buffer *y,
                         float scale, struct error *err);
/* The sums, whose rows are `stride` elements apart here, become f32 in place; there is no bias. */
enum status op_int8_logits(struct ops *ops, const struct op_int8_sums *sums, uint64_t stride,
                           struct error *err);

/* ---- op_tokens.c ---- */

/*
 * A batch as it lies in one i32 buffer of OP_TOKENS_LENGTH(rows) elements: tokens, targets, then
 * what the embedding's gradient needs: positions sorted by token, the tokens that occur, and where
 * each one's run begins (with the end of the last).
 */
#define OP_TOKENS_LENGTH(rows) (5 * (rows) + 1)
struct op_tokens {
    struct buffer *buffer;
    uint64_t rows, length; /* rows = sequences * length */
    uint64_t unique;
};
/* Fills the last three parts of `indices` from its tokens; reports the number of unique tokens. */
enum status op_tokens_index(int32_t *indices, uint64_t rows, uint64_t *ret_unique,
                            struct error *err);

/* x[r] = wte[token[r]] + wpe[r % length]; both in one buffer. */
enum status op_embedding(struct ops *ops, const struct op_tokens *tokens, struct operand wte,
                         struct operand wpe, struct operand x, uint64_t width, struct error *err);
/*
 * Adds to the gradient of wte; writes the first `length` rows of that of wpe, which is left out
 * when its buffer is NULL.
 */
enum status op_embedding_backward(struct ops *ops, const struct op_tokens *tokens,
                                  struct buffer *dx, struct operand dwte, struct operand dwpe,
                                  uint64_t width, struct error *err);
/* Per row: total = log(sum(exp(logits))), loss = total - logits[target]; both f32. */
enum status op_cross_entropy(struct ops *ops, const struct op_tokens *tokens,
                             const struct op_logits *logits, struct buffer *total,
                             struct buffer *loss, struct error *err);
/* Logits become the gradient of the mean loss, times the loss scale unless `scaling` is NULL. */
enum status op_cross_entropy_backward(struct ops *ops, const struct op_tokens *tokens,
                                      const struct op_logits *logits, struct buffer *total,
                                      struct buffer *scaling, struct error *err);
/* ret[slot] = mean of the first `count` elements of x; both f32. */
enum status op_mean(struct ops *ops, struct buffer *x, uint64_t count, struct buffer *ret,
                    uint64_t slot, struct error *err);

/* ---- op_stack.c, op_attention.c: what declared stacks have besides, kernels/stack.h ---- */

/* Compiles the texts, which the operations below need. */
enum status ops_stack(struct ops *ops, struct error *err);
/* Compiles attention, from our own text, for heads of `size`. UNSUPPORTED as attention_text_create.
 */
enum status ops_heads_attention(struct ops *ops, uint64_t size, struct error *err);

/*
 * y = x over the root of its mean square, times a gain, of each part of a row: of the first `first`
 * and the next `second` parts with a gain each, and `others` as they are. y may be x.
 */
struct op_rms {
    uint64_t rows, first, second, others, size; /* rows of (first + second + others) * size */
    struct operand x, gain, other_gain, y;      /* other_gain: where there are `second` */
    float epsilon;                              /* added to the mean square */
};
enum status op_rms(struct ops *ops, const struct op_rms *op, struct error *err);

/*
 * Cosines and sines of position * base^(-2 i / size), of the negative angles when `inverse`, for
 * `length` positions from `first` on, from fp64. A new buffer, which may be there on failure, too.
 * Blocks.
 */
enum status op_rope_turns(struct ops *ops, double base, bool inverse, uint64_t first,
                          uint64_t length, uint64_t size, struct buffer **ret, struct error *err);
/* The first `turned` of a row's heads turned by their positions, row % length. y may be x. */
struct op_rope {
    uint64_t rows, length, turned, heads, size;
    struct operand x, y;
    struct buffer *turns; /* op_rope_turns */
};
enum status op_rope(struct ops *ops, const struct op_rope *op, struct error *err);

/* y = g / (1 + e^-g) x. */
enum status op_gate(struct ops *ops, struct operand g, struct operand x, struct operand y,
                    uint64_t count, struct error *err);
/* op_embedding of tables in any buffers; positions are left out when theirs is NULL. */
enum status op_table_rows(struct ops *ops, const struct op_tokens *tokens, struct operand table,
                          struct operand positions, struct operand x, uint64_t width,
                          struct error *err);

/* ---- op_cache.c: a token of each sequence over a cache of keys and values, kernels/cache.h ----
 */

/* How keys and values lie: graph/cached.h. */
struct op_cache_shape {
    uint64_t heads, kv_heads, size, page; /* positions of a block */
};
/* Compiles the texts. UNSUPPORTED: `size` or `page` is no multiple of 16 up to 256. */
enum status ops_cache(struct ops *ops, const struct op_cache_shape *shape, struct error *err);

/*
 * Elements [first, first + count) of a layer's cache: each one of the 128 multiples of 1/32 from -2
 * on, by op_cache_number of its place.
 */
enum status op_cache_fill(struct ops *ops, struct operand cache, uint64_t first, uint64_t count,
                          uint64_t seed, uint64_t stream, struct error *err);
float op_cache_number(uint64_t seed, uint64_t stream, uint64_t index);

struct op_cached {
    uint64_t heads, kv_heads;            /* those that ops_cache has compiled */
    uint64_t sequences, position, pages; /* of the tokens; blocks of each sequence */
    struct buffer *blocks;               /* (sequences, pages), i32 */
    struct operand x, cache, values;     /* (sequences, (heads + 2 kv_heads) size): q, k and v */
    struct buffer *parts;                /* op_cached_parts */
};
/* Room for what groups know of a part of the positions each. A new buffer. */
enum status op_cached_parts(struct ops *ops, const struct op_cached *op, struct buffer **ret,
                            struct error *err);
/*
 * Puts keys and values of x into the cache at their position, then values = attention of x over all
 * positions up to it, read from the cache once for each 8 heads of queries that share them.
 */
enum status op_cached_attention(struct ops *ops, const struct op_cached *op, struct error *err);

/* Causal attention of rows of (heads + 2 * kv_heads) * size; heads / kv_heads share keys. */
struct op_heads {
    uint64_t sequences, length, heads, kv_heads, size;
    struct operand qkv, values;
};
enum status op_heads_forward(struct ops *ops, const struct op_heads *op, struct error *err);

/* ---- op_stack_backward.c: gradients of those, kernels/stack_backward.h ---- */

/* Compiles the text, which the operations below need. */
enum status ops_stack_backward(struct ops *ops, struct error *err);
/*
 * A new buffer of f32 for what an operation makes for itself: one a row and part of a norm, two a
 * row and head of attention.
 */
enum status op_backward_statistics(struct ops *ops, uint64_t count, struct buffer **ret,
                                   struct error *err);
/* x = 0. */
enum status op_clear(struct ops *ops, struct operand x, uint64_t count, struct error *err);

/* Of op_rms: dx = its gradient (+ base, left out when its buffer is NULL), and those of the gains.
 */
struct op_rms_backward {
    struct op_rms forward; /* without y */
    struct operand dy, base, dx, d_gain, d_other_gain;
    struct buffer *statistics;
};
enum status op_rms_backward(struct ops *ops, const struct op_rms_backward *op, struct error *err);
/* Of op_gate, from dy: dg and dx. */
struct op_gate_backward {
    struct operand dy, g, x, dg, dx;
    uint64_t count;
};
enum status op_gate_backward(struct ops *ops, const struct op_gate_backward *op, struct error *err);
/*
 * Of op_heads_forward: d_qkv from qkv and the gradient of its values, which `forward.values` is
 * here. The probabilities are made again.
 */
struct op_heads_backward {
    struct op_heads forward;
    struct operand d_qkv;
    struct buffer *statistics;
};
enum status op_heads_backward(struct ops *ops, const struct op_heads_backward *op,
                              struct error *err);

/* ---- op_experts.c: mixtures of experts, graph/op_experts.c, kernels/experts.h ---- */

/*
 * Compiles the text, which the operations below need, and makes the lists of up to `rows` rows and
 * `experts` experts.
 */
enum status ops_experts(struct ops *ops, uint64_t rows, uint64_t experts, struct error *err);
/* No expert has a row, until op_experts_sort: what it does not list, no product makes. */
enum status op_experts_forget(struct ops *ops, uint64_t experts, struct error *err);
/* Bytes of those lists; at most UINT64_MAX. */
uint64_t op_experts_bytes(uint64_t rows, uint64_t experts);

struct op_experts {
    uint64_t rows, experts, top;
    struct operand gates; /* (rows, experts) */
};
/* The gates and, (rows, top) in f32, the choice that follows from the scores (rows, experts). */
enum status op_experts_choose(struct ops *ops, const struct op_experts *op, struct operand scores,
                              struct operand choice, struct error *err);
/* The gates from routing (rows, 2 top), i32. */
enum status op_experts_assign(struct ops *ops, const struct op_experts *op, struct buffer *routing,
                              struct error *err);
/* Which rows each expert has by the gates, for the products until the next one. */
enum status op_experts_sort(struct ops *ops, const struct op_experts *op, struct error *err);
/*
 * y (rows, top n) = the products of each row's experts, w (experts, k, n), with x, which is (rows,
 * k), or with `each` (rows, top k).
 */
struct op_experts_product {
    struct op_experts of;
    struct operand x, w, y;
    uint64_t k, n;
    bool each;
};
enum status op_experts_product(struct ops *ops, const struct op_experts_product *op,
                               struct error *err);
/* y (rows, n) = the sum of x (rows, top n) by the gates' weights (+ base, unless its buffer is
 * NULL).
 */
enum status op_experts_combine(struct ops *ops, const struct op_experts *op, struct operand x,
                               struct operand base, struct operand y, uint64_t n,
                               struct error *err);

/* ---- op_experts_backward.c: their gradients, kernels/experts_backward.h ---- */

/* Compiles the text, which the operations below need, besides ops_experts. */
enum status ops_experts_backward(struct ops *ops, struct error *err);
/*
 * The gates of training: of routing (rows, 2 top), i32, the first `top` are experts, whose weights
 * are the softmax of their scores (rows, experts).
 */
enum status op_experts_weigh(struct ops *ops, const struct op_experts *op, struct operand scores,
                             struct buffer *routing, struct error *err);
/* `out`, the gradient of the scores, from that of the gates in f32; each (rows, experts). */
enum status op_experts_weigh_backward(struct ops *ops, const struct op_experts *op,
                                      struct operand up, struct operand out, struct error *err);
/* Of op_experts_combine: `out`, the gradient of the gates in f32, from that of y, and x. */
enum status op_experts_gates_backward(struct ops *ops, const struct op_experts *op,
                                      struct operand dy, struct operand x, struct operand out,
                                      uint64_t n, struct error *err);
/* The same, that of x. */
enum status op_experts_combine_backward(struct ops *ops, const struct op_experts *op,
                                        struct operand dy, struct operand dx, uint64_t n,
                                        struct error *err);
/*
 * The gradients of a product from that of its y, by the lists (op_experts_sort): dx, to which
 * `base` is added unless its buffer is NULL, and dw, 0 of experts without a row.
 */
struct op_experts_backward {
    struct op_experts_product forward; /* but for its y */
    struct operand dy, base, dx, dw;
};
enum status op_experts_product_backward(struct ops *ops, const struct op_experts_backward *op,
                                        struct error *err);

#endif
