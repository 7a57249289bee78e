/*
 * array - operands of products and convolutions: their values in fp64, the same in their type on
 * the device, and the error bound of a sum of their products.
 */
#ifndef ASSAY_TESTS_CONFORMANCE_ARRAY_H
#define ASSAY_TESTS_CONFORMANCE_ARRAY_H

#include "tests/conformance/conformance.h"

#define ARRAY_GUARD 3 /* elements after the operand's own */

/* One operand: its values in fp64, and the same in its type, with the surrounding memory. */
struct array {
    enum dtype type;
    uint64_t offset, count; /* elements; the first `offset` are not the operand's */
    double *values;
    unsigned char *bytes;
    struct buffer *buffer;
};

/* Where an area's values come from. */
struct array_source {
    uint64_t seed;
    int least; /* of an i8; the largest is 127 */
};

/*
 * `count` seeded random elements from `offset` on, on the device too: in [-1, 1), whole numbers for
 * i8, and for i32, which is written and never read, bytes that no sum leaves by chance. Arrays of
 * one source differ by `stream`. Fails the test where there is no memory; array_free frees.
 */
struct array array_make(struct conformance *c, const struct array_source *source, enum dtype type,
                        uint64_t count, uint64_t offset, uint64_t stream);
void array_free(struct array *array);

/* Stores `value` as near as the type can, and what was stored in values. On the host only. */
void array_put(struct array *array, uint64_t at, double value);
/* What bytes hold at `at`; the type is no fp8. */
double array_get(const struct array *array, uint64_t at);
/* All of bytes to the device. */
void array_upload(struct conformance *c, struct array *array);

/*
 * How far a result of `type` may lie from `exact`, a sum of `terms` products whose absolute values
 * add up to `sum`: (terms + 4) u sum for a sum kept in a type with unit roundoff u in any order
 * (Higham, Accuracy and Stability of Numerical Algorithms, 2002, section 3.1, to first order; 4 for
 * alpha, bias, D and the conversions), and the unit roundoff of `type` times the value for storing
 * it. A product of two bf16, f16 or fp8 is exact in f32. tf32 may round each factor to 11 bits
 * first. An i32 is exact.
 *
 * Matrix units of a GPU may truncate where they align and add (Fasi et al., Numerical behavior of
 * NVIDIA tensor cores, 2021): u is 2^-23 for bf16, fp16 and tf32, whose factors may be cut to 11
 * bits instead. A sum of 32 products of fp8 may keep 14 bits (DeepSeek-V3 technical report, 2024,
 * section 3.3.2).
 */
double array_bound(const struct conformance *c, enum precision precision, enum dtype type,
                   uint64_t terms, double exact, double sum);

/* Within the bound; what is not finite is the same. */
bool array_agrees(double got, double exact, double bound);

#endif
