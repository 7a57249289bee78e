/*
 * operation - what a vendor's library does as one call: GEMMs, convolutions, attention. One is
 * described, created, given its operands many times, and destroyed, whatever its kind.
 *
 * A backend has a table of implementations (device_ops.operations, backend.h, which includes this);
 * the functions below check and then go to them. A new kind is a value of enum operation_kind, its
 * members of the two unions, and its checks (struct operation_kind_ops) in a file of its own.
 */
#ifndef ASSAY_BACKENDS_OPERATION_H
#define ASSAY_BACKENDS_OPERATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/core/precision.h"
#include "harness/core/status.h"

struct buffer;
struct device;

/* One array of an operation; `offset` in elements. */
struct operand {
    struct buffer *buffer;
    uint64_t offset;
};

/* ---- GEMM (gemm.c) ---- */

/*
 * How a matrix lies in its buffer. Element (r, c) of op(M) is at offset + r * stride + c, or at
 * offset + c * stride + r when `transpose`; the matrices of a batch are outer_stride and
 * inner_stride apart (0: the same one for all). Everything counts elements of `type`.
 */
struct gemm_matrix {
    enum dtype type;
    bool transpose;
    uint64_t stride;
    uint64_t outer_stride, inner_stride;
};

/*
 * C[m,n] = alpha * op(A)[m,k] op(B)[k,n] + bias[n] + D[m,n] for each of outer * inner matrices.
 * `precision` is what is computed in: fp32 is true fp32 and never tf32; int8 gives i32. Sums are
 * kept in f32 for fp32 and below, f64 for fp64, i32 for int8. C is never transposed. For int8,
 * alpha is 1 and there is no bias and no D.
 */
struct gemm_shape {
    enum precision precision;
    uint64_t m, n, k;
    uint64_t outer, inner; /* 0 counts as 1 */
    struct gemm_matrix a, b, c;
    /*
     * Whoever runs it never writes a B that it has run with, until it is destroyed: the library may
     * keep a copy of each in a layout of its own, made at its first run.
     */
    bool constant_b;
    bool add;  /* reads D, which lies as C does and may be C itself */
    bool bias; /* of bias_type, n elements, the same for all matrices */
    enum dtype bias_type;
    float alpha; /* 0 counts as 1 */
};

struct gemm_operands {
    struct operand a, b, c;
    struct operand bias, d; /* only where the shape has them */
};

/* ---- convolution (convolution.c) ---- */

/*
 * A forward 2-D convolution of a batch of images, as networks have it:
 * output[b, y, x, f] = sum over r, s, c of weights[f, r, s, c]
 *     * input[b, y stride_y + r dilation_y - pad_y, x stride_x + s dilation_x - pad_x, g C + c]
 * where C = channels / groups, g = f / (filters / groups), and input beyond its edge is 0.
 * Channels lie last, without gaps, and weights as (filter, row, column, channel). `precision` is
 * what is computed in, as in struct gemm_shape, and sums are kept as there. What is asked for is
 * this sum: a library's FFT or Winograd forms, whose errors have other bounds, are not used.
 * Weights are given by operation_set_weights.
 */
struct convolution_shape {
    enum precision precision;
    enum dtype type;        /* of input and weights */
    enum dtype result_type; /* of the output: type, or what sums are kept in; f32 for int8, too */
    uint64_t batch, height, width, channels; /* of the input */
    uint64_t filters, kernel_height, kernel_width;
    uint64_t stride_y, stride_x, dilation_y, dilation_x, groups; /* 0 counts as 1 */
    uint64_t pad_y, pad_x;                                       /* on either side */
};

struct convolution_operands {
    struct operand input, weights, output;
};

/* Height and width of the output, 0 where the kernel is larger than the padded image. */
uint64_t convolution_out_height(const struct convolution_shape *shape);
uint64_t convolution_out_width(const struct convolution_shape *shape);

/* ---- scaled dot-product attention (attention.c) ---- */

/* Element (b, h, t, i) is at offset + b * batch + h * head + t * row + i, in elements. */
struct attention_strides {
    uint64_t batch, head, row;
};

/*
 * For each of batch * heads matrices Q, K, V of (length, head_size):
 *   S = scale Q K^T, P = softmax of S's rows, O = P V
 * where with `causal` the row t takes part in columns s <= t alone (Vaswani et al. 2017). The
 * library does it as one operation that writes no P to memory (Dao et al. 2022), and for training
 * writes the statistics instead: for each row log(sum(exp(S))), f32, (batch, heads, length) without
 * gaps. OPERATION_ATTENTION_BACKWARD, from dO, O and the statistics, gives
 *   dV = P^T dO, dS = P (dO V^T - rowsum(dO O)), dQ = scale dS K, dK = scale dS^T Q.
 * Sums, the softmax and the statistics are f32, and P and dS are rounded to the type of the
 * operands before they go into a GEMM.
 */
struct attention_shape {
    enum precision precision; /* what is computed in; operands are stored in it */
    uint64_t batch, heads, length, head_size;
    bool causal;
    bool training; /* forward writes the statistics; always so for backward */
    float scale;   /* 0 counts as 1 / sqrt(head_size) */
    /*
     * Keys of a sequence, 0: length. With more keys than queries (a cache of keys and values), the
     * queries are the last of them: `causal` lets row t take part in s <= keys - length + t.
     */
    uint64_t keys;
    bool lengths; /* each sequence has as many keys as operand `lengths` says, `keys` at most */
    /*
     * 0: none. Else keys and values lie in blocks of so many positions: position s of sequence b is
     * row s % page of block blocks[b * pages + s / page], and `batch` of k and v is the stride from
     * one block to the next.
     */
    uint64_t page, pages;
    /* dQ, dK and dV lie as Q, K and V do, dO as O. */
    struct attention_strides q, k, v, o;
};

/* Those of a gradient count only for backward, `statistics` only when training. */
struct attention_operands {
    struct operand q, k, v, o;
    struct operand statistics; /* f32 */
    struct operand d_q, d_k, d_v, d_o;
    struct operand lengths; /* i32 (batch) */
    struct operand blocks;  /* i32 (batch, pages): the numbers lie within the buffers of k and v */
};

/* ---- an operation, whatever its kind ---- */

enum operation_kind {
    OPERATION_GEMM,
    OPERATION_CONVOLUTION,
    OPERATION_ATTENTION,
    OPERATION_ATTENTION_BACKWARD,
    OPERATION_KINDS
};

struct operation_desc {
    enum operation_kind kind;
    union {
        struct gemm_shape gemm;
        struct convolution_shape convolution;
        struct attention_shape attention; /* of both passes */
    };
};

#define OPERANDS_MAX 11

union operands {
    struct operand at[OPERANDS_MAX];
    struct gemm_operands gemm;
    struct convolution_operands convolution;
    struct attention_operands attention;
};

/* How a device does an operation in a precision, as its library reports. */
enum support { SUPPORT_UNKNOWN, SUPPORT_NATIVE, SUPPORT_EMULATED, SUPPORT_ABSENT };
const char *support_name(enum support support); /* "unknown", "native", "emulated", "absent" */

#define OPERATION_WORD_MAX 128

/* What will run, for provenance. */
struct operation_info {
    char library[OPERATION_WORD_MAX]; /* "cublasLt" */
    char version[OPERATION_WORD_MAX]; /* as the library reports it */
    /* its own name or number for what it chose; "" if not reported */
    char algorithm[OPERATION_WORD_MAX];
    uint64_t workspace_bytes;
    enum support support;
    char method[OPERATION_WORD_MAX * 2]; /* how `support` was learned: the call and its answer */
    uint32_t algorithms;                 /* that select chooses from; 0: the library lists none */
    /* how weights (set_weights, constant_b) are read: "as given", or what was done */
    char weights[OPERATION_WORD_MAX];
    uint64_t weights_bytes; /* of its own copies; 0: it reads the caller's */
};

struct operation;

/* The hooks of an implementation. Arguments are checked before. */
struct operation_ops {
    size_t size; /* of the implementation's struct */
    /*
     * What is left to do of `create` once the operation is there, zeroed but for `struct
     * operation`; where it fails, that is destroyed. Errors as of create.
     */
    enum status (*prepare)(struct operation *operation, struct error *err);
    void (*destroy)(struct operation *operation); /* also one whose preparation failed on the way */
    enum status (*run)(struct operation *operation, const union operands *operands,
                       struct error *err);
    /* `ret` comes zeroed. */
    enum status (*describe)(const struct operation *operation, struct operation_info *ret,
                            struct error *err);
    /*
     * Optional: runs take algorithm `index` of the library's list from now on; the first, which
     * create takes, is the one that it expects to be fastest. Waits for what was enqueued, and
     * provides the workspace, or leaves that to the next run. NULL: the library chooses by itself.
     */
    enum status (*select)(struct operation *operation, uint32_t index, struct error *err);
    /*
     * Kinds with constant weights: does what the library needs with them once (a reordering), so
     * that no run has it; returns when that is done. The buffer stays as it is until the next
     * set_weights or destroy.
     */
    enum status (*set_weights)(struct operation *operation, const struct operand *weights,
                               struct error *err);
};

/* Implementations embed this as their first member; operation_make fills it. */
struct operation {
    const struct operation_ops *ops;
    struct device *device;
    struct operation_desc desc; /* with the 0s that count as something filled in */
    bool has_weights;
};

/* One library's implementation of a kind; a backend's table ends with one that has no `create`. */
struct operation_implementation {
    enum operation_kind kind;
    bool (*present)(const struct device *device); /* whether its library is here; NULL: always */
    /*
     * UNSUPPORTED, with the library's answer, for what it does not do, or UNAVAILABLE: the table's
     * next of this kind is asked. May take long (a search of algorithms, a compiler). Workspace
     * belongs to the operation.
     */
    enum status (*create)(struct device *device, const struct operation_desc *desc,
                          struct operation **ret, struct error *err);
};

/* All that a `create` does of which ops->prepare is the part of its own. */
enum status operation_make(const struct operation_ops *ops, struct device *device,
                           const struct operation_desc *desc, struct operation **ret,
                           struct error *err);

/* ---- operation.c ---- */

const char *operation_kind_name(enum operation_kind kind); /* "GEMM": for messages */
bool device_has_operation(const struct device *device, enum operation_kind kind);
/*
 * Why a device has no GEMM, as its backend left it in the reading "device.gemm", else where to
 * look.
 */
const char *device_no_gemm_reason(const struct device *device);
/*
 * UNSUPPORTED: the device has none of this kind, or no library does this one (the answers are in
 * the message). INVALID: a shape that cannot be: nothing in a dimension, strides that overlap,
 * types that do not belong to the precision.
 */
enum status operation_create(struct device *device, const struct operation_desc *desc,
                             struct operation **ret, struct error *err);
void operation_destroy(struct operation *operation); /* takes NULL */
/* Before the first run of a kind that has weights. Waits. INVALID and INTERNAL as for run. */
enum status operation_set_weights(struct operation *operation, const struct operand *weights,
                                  struct error *err);
/*
 * Enqueues. INVALID: an operand exceeds its buffer. INTERNAL: a buffer of another device, or no
 * weights were set. UNSUPPORTED: the library wants operands at rounder addresses; at multiples of
 * 16 bytes it runs.
 */
enum status operation_run(struct operation *operation, const union operands *operands,
                          struct error *err);
enum status operation_describe(const struct operation *operation, struct operation_info *ret,
                               struct error *err);
/*
 * Lets the operation take algorithm `index`, below operation_info.algorithms; on failure it keeps
 * the one it had. NOT_FOUND: the list is shorter. DEVICE_MEMORY: no room for its workspace.
 * UNSUPPORTED: the library lists none.
 */
enum status operation_select(struct operation *operation, uint32_t index, struct error *err);
/* All of a desc as text, its name in choices: "bf16 4x12x1024x64 forward"; heap, NULL: no memory.
 */
char *operation_key(const struct operation_desc *desc);

/*
 * Asks the library for a small one in the precision. GEMM: 64 x 64 x 64, for fp4 128 x 128 x 128, B
 * transposed as the weights of a linear layer are, C in the type of its sums (f32, f64 or i32);
 * where that is refused, C in the operands' type; fp8 is OCP's, and where the library has AMD's
 * FNUZ kind, too or alone, `method` says so; one in fp4 is asked for with scales a block, and
 * cannot be run. Convolution: 8 x 8 x 64, 64 filters of 3 x 3, the output as it is summed, then in
 * the operands' type. Attention: causal, 8 heads of 64, 512 long, heads inside rows of a common
 * projection as transformers have them; forward for training, and where that is refused, without.
 * `ret` is filled whatever the answer: SUPPORT_ABSENT and SUPPORT_UNKNOWN have the reason in
 * `method`, and a question that failed is listed with one that did not.
 */
void operation_support(struct device *device, enum operation_kind kind, enum precision precision,
                       struct operation_info *ret);

/* What a library said that was asked for one thing in several ways. Starts as zeros. */
struct support_answers {
    struct error refusal; /* the first that says UNSUPPORTED: the plainest question's */
    struct error failure; /* the first of any other kind: it is not known what the library does */
};
void support_answers_add(struct support_answers *answers, enum status status,
                         const struct error *err);
/*
 * Into `ret`, which describes what was granted, or nothing where `granted` is false: why not, and
 * in either case what failed.
 */
void support_answers_tell(const struct support_answers *answers, bool granted,
                          struct operation_info *ret);

/* ---- what a kind is: gemm.c, convolution.c, attention.c ---- */

/* What an operation takes of an operand's buffer. */
struct operation_extent {
    const char *name;           /* "the bias"; NULL: this operand is not there */
    unsigned __int128 elements; /* from the first to after the last */
    enum dtype type;
};

struct operation_kind_ops {
    const char *name;
    int weights; /* which operand set_weights gives, and runs do not; -1: none */
    /* Fills in the 0s that count as something. INVALID: it cannot be. */
    enum status (*complete)(struct operation_desc *desc, struct error *err);
    void (*extents)(const struct operation_desc *desc, struct operation_extent ret[OPERANDS_MAX]);
    char *(*key)(const struct operation_desc *desc);
    /*
     * The questions of operation_support, from number 0 on; false: there are no more.
     * `ret_other`: the name of operands that are another type of the precision than its usual one.
     */
    bool (*question)(enum precision precision, unsigned number, struct operation_desc *ret,
                     const char **ret_other);
};

extern const struct operation_kind_ops gemm_kind, convolution_kind, attention_kind;

#endif
