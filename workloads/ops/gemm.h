/*
 * gemm - GEMMs on one device, in one implementation: the vendor's library or our own text.
 *
 * A `gemms` keeps what was prepared, by shape (vendor) or by the types of the operands
 * (portable), at its first use. gemms_seal ends that: what is timed never waits for a compiler
 * or for a library's search.
 */
#ifndef ASSAY_WORKLOADS_OPS_GEMM_H
#define ASSAY_WORKLOADS_OPS_GEMM_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "backends/backend.h"
#include "workloads/workload.h"

struct gemms;

/* Element (r, c) of op(M) is at offset + r * stride + c, or + c * stride + r when transposed. */
struct op_matrix {
    struct operand at;
    enum dtype type; /* of its elements, in which offset and strides count */
    uint64_t stride;
    bool transpose;
    uint64_t outer_stride, inner_stride; /* between the matrices of a batch */
};

/*
 * Parts of a triangular GEMM that may be left out; the values are those of kernels/gemm.h. The
 * vendor implementation computes the whole GEMM, so what is zero must be stored as zero.
 */
enum op_triangle {
    OP_FULL = 0,
    OP_TRIANGLE_C = 1,  /* C above the diagonal is never read: leave it undefined */
    OP_TRIANGLE_A = 2,  /* op(A) is zero above the diagonal */
    OP_TRIANGLE_AT = 4, /* op(A) is zero below the diagonal */
};

/*
 * C[m,n] = alpha op(A)[m,k] op(B)[k,n] + bias[n] + D[m,n] for each of outer * inner matrices. bias
 * and D are left out when their buffer is NULL; D lies as C does, is of its type and may be C
 * itself. A's type says what is computed in: bf16 is PRECISION_BF16, and f32 is fp32, or tf32 where
 * the case is of that. Sums are kept in f32, f64 or i32, C is rounded once. i8 has no alpha, bias
 * or D and gives i32.
 */
struct op_gemm {
    uint64_t m, n, k;
    struct op_matrix a, b, c;
    struct operand bias, d;
    enum dtype bias_type;  /* DTYPE_F64, which is 0, counts as f32 (except for f64 operands) */
    uint64_t outer, inner; /* 0 counts as 1 */
    float alpha;           /* 0 counts as 1 */
    enum op_triangle triangle;
    bool constant_b; /* weights that nothing changes while the gemms live (struct gemm_shape) */
};

/*
 * Of the case count precision, implementation, emulate and choices ({"gemm": {...}}, as
 * gemms_choices returned them; NULL: the portable implementation measures group sizes and tiles,
 * the vendor implementation the algorithms that the library lists for a GEMM). UNSUPPORTED: the
 * implementation or the precision is not there, or only emulated and `emulate` is not set; the
 * reason is in the message. INVALID: choices that no measurement could have made.
 */
enum status gemms_create(struct device *device, const struct workload_case *work,
                         struct gemms **ret, struct error *err);
void gemms_destroy(struct gemms *gemms); /* takes NULL */

/*
 * Enqueues. The first call of a shape or of types prepares it, and may fail as gemms_create
 * does; after gemms_seal that is INTERNAL.
 */
enum status gemms_run(struct gemms *gemms, const struct op_gemm *gemm, struct error *err);
void gemms_seal(struct gemms *gemms);
enum implementation gemms_implementation(const struct gemms *gemms);

/* One artifact a compiled variant of the portable implementation, at most `capacity`; returns how
 * many. */
size_t gemms_artifacts(struct gemms *gemms, struct module_artifact *ret, size_t capacity);
/*
 * Portable: {"lanes", "register_rows"}. Vendor: {"stack", "algorithms"}, the library with its
 * version and, by the GEMM's shape, {"algorithm", "tried"}. NULL: there was nothing to choose.
 * New object.
 */
json_t *gemms_choices(const struct gemms *gemms);
/*
 * {"gemm": {"implementation", "support", "method", "library", "version", "algorithm",
 * "workspace_bytes"}, "gemms": [{"a", "b", "c", "m", "n", "k", "batch", and the keys of "gemm";
 * "algorithms" and "tried" where the library lists them}], "gemm_tile": {...}, "candidates":
 * [...]}; `gemm` holds what all of them share, `support` the weakest and `workspace_bytes` the
 * largest. New object.
 */
json_t *gemms_facts(const struct gemms *gemms);

/* What GEMMs of the precision add up in: f64, i32, else f32. */
enum dtype gemm_sum_type(enum precision precision);
/*
 * How the portable implementation does a precision, and how that is known; the algorithm is left
 * empty. Native is what our text computes in as well as stores: fp32, and fp64 where the device has
 * f64, which is asked unless `device` is NULL (SUPPORT_UNKNOWN: asking failed).
 */
void gemm_portable_support(struct device *device, enum precision precision,
                           struct operation_info *ret);
/*
 * Appends to the vendor library's refusal (UNSUPPORTED) what measures the precision instead, our
 * own kernel text or another library; other errors, and NULL, stay as they are. Returns `status`.
 */
enum status gemm_advise(struct device *device, enum precision precision, enum status status,
                        struct error *err);

#endif
