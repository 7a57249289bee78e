/* reference - 16-bit floats computed in fp64 from their definition. */
#ifndef ASSAY_TESTS_CONFORMANCE_REFERENCE_H
#define ASSAY_TESTS_CONFORMANCE_REFERENCE_H

#include <stdint.h>

/* IEEE 754 binary interchange rules with these field widths (1 sign bit in front). */
struct small_float {
    int exponent_bits, fraction_bits;
};

extern const struct small_float reference_f16;  /* 5, 10 */
extern const struct small_float reference_bf16; /* 8, 7 */

double reference_decode(const struct small_float *format, uint16_t bits);

/* Round to nearest even; any NaN for NaN. */
uint16_t reference_encode(const struct small_float *format, double value);

int reference_is_nan(const struct small_float *format, uint16_t bits);

/*
 * Distance of `got` from `exact` in units in the last place of an f32 at `exact` (OpenCL 1.2,
 * section 7.4: the distance of the two f32 that enclose it; that of the smallest normal below it).
 */
double reference_ulps(float got, double exact);

#endif
