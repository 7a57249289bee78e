/*
 * gemm - the vendor library's GEMM: shapes, operands, and the calls on a device, which
 * check and then go to its hooks (device_ops, backend.h, which includes this).
 */
#ifndef ASSAY_BACKENDS_GEMM_H
#define ASSAY_BACKENDS_GEMM_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/core/precision.h"
#include "harness/core/status.h"

struct buffer;
struct device;

/* How a device does an operation in a precision, as its library reports. */
enum support { SUPPORT_UNKNOWN, SUPPORT_NATIVE, SUPPORT_EMULATED, SUPPORT_ABSENT };
const char *support_name(enum support support); /* "unknown", "native", "emulated", "absent" */

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
    bool add;  /* reads D, which lies as C does and may be C itself */
    bool bias; /* of bias_type, n elements, the same for all matrices */
    enum dtype bias_type;
    float alpha; /* 0 counts as 1 */
};

/* One array of a GEMM; `offset` in elements. */
struct gemm_operand {
    struct buffer *buffer;
    uint64_t offset;
};
struct gemm_operands {
    struct gemm_operand a, b, c;
    struct gemm_operand bias, d; /* only where the shape has them */
};

#define GEMM_WORD_MAX 128

/* What will run, for provenance. */
struct gemm_info {
    char library[GEMM_WORD_MAX]; /* "cublasLt" */
    char version[GEMM_WORD_MAX]; /* as the library reports it */
    char
        algorithm[GEMM_WORD_MAX]; /* its own name or number for what it chose; "" if not reported */
    uint64_t workspace_bytes;
    enum support support;
    char method[GEMM_WORD_MAX * 2]; /* how `support` was learned: the call and its answer */
    uint32_t algorithms;            /* that select chooses from; 0: the library lists none */
};

/* Implementations embed this as their first member; the wrapper fills it when create has succeeded.
 */
struct gemm {
    struct device *device;
    struct gemm_shape shape; /* with the 0s that count as 1 filled in */
};

bool device_has_gemm(const struct device *device);
/* Why a device has none, as its backend left it in the reading "device.products", else where to
 * look. */
const char *device_no_gemm_reason(const struct device *device);
/*
 * UNSUPPORTED: the device has no vendor GEMM, or the library does not do this one (its answer
 * is in the message). INVALID: an empty matrix, a stride shorter than its rows, a transposed C,
 * types that do not belong to the precision, alpha, bias or D with int8.
 */
enum status device_gemm_create(struct device *device, const struct gemm_shape *shape,
                               struct gemm **ret, struct error *err);
void device_gemm_destroy(struct gemm *gemm); /* takes NULL */
/*
 * Enqueues. INVALID: an operand exceeds its buffer. INTERNAL: a buffer of another device.
 * UNSUPPORTED: the library wants operands at rounder addresses for this GEMM; at multiples of 16
 * bytes it runs.
 */
enum status device_gemm_run(struct gemm *gemm, const struct gemm_operands *operands,
                            struct error *err);
enum status device_gemm_describe(const struct gemm *gemm, struct gemm_info *ret, struct error *err);
/*
 * Lets the GEMM take algorithm `index`, below gemm_info.algorithms; on failure it keeps the
 * one it had. NOT_FOUND: the list is shorter. DEVICE_MEMORY: no room for its workspace.
 * UNSUPPORTED: the library lists none.
 */
enum status device_gemm_select(struct gemm *gemm, uint32_t index, struct error *err);
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
                          struct gemm_info *ret);
/*
 * Asks the library for a small GEMM in the precision (64 x 64 x 64, for fp4 128 x 128 x 128, B
 * transposed as the weights of a linear layer are, C in the type of its sums (f32, f64 or i32);
 * where that is refused, C in the operands' type). fp8 is OCP's; where the library has AMD's FNUZ
 * kind, too or alone, `method` says so. `ret` is filled whatever the answer: SUPPORT_ABSENT and
 * SUPPORT_UNKNOWN have the reason in `method`, and a question that failed is listed with one that
 * did not. A GEMM in fp4 is asked for with scales a block, and cannot be run.
 */
void device_gemm_support(struct device *device, enum precision precision, struct gemm_info *ret);

#endif
