/*
 * element - numbers of every storage type on the host: rounded to nearest even, one at a time.
 *
 * fp8 follows the OCP 8-bit Floating Point Specification (revision 1.0, 2023): e4m3 has no infinity
 * and its largest number is 448, e5m2 has infinities and 57344. The FNUZ kinds (AMD CDNA 3 ISA,
 * section 4.5) have a bias one larger, one zero and one NaN (0x80). What is too large becomes the
 * largest number (saturates); generated data never is.
 */
#ifndef ASSAY_WORKLOADS_DATA_ELEMENT_H
#define ASSAY_WORKLOADS_DATA_ELEMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/core/precision.h"

/* f64, f32, bf16, f16, the four kinds of fp8, i8, i32 and i64; not e2m1. */
bool element_is_known(enum dtype type);
/* Writes `value`, rounded, as element `index` of an array of the type. */
void element_encode(enum dtype type, double value, void *array, uint64_t index);
/* Element `index`, exactly (i64 up to 2^53). */
double element_decode(enum dtype type, const void *array, uint64_t index);

/*
 * What data is generated from, at a place of a stream: uniform in (-1, 1); and normal, by
 * Box-Muller over this stream and the next one.
 */
double element_uniform_at(uint64_t seed, uint64_t stream, uint64_t index);
double element_normal_at(uint64_t seed, uint64_t stream, uint64_t index);

/* Half the distance from 1 to the next number; 0 for integers. */
double element_unit_roundoff(enum dtype type);
/* Half the distance between the smallest numbers: what underflow costs. 0 for integers. */
double element_underflow(enum dtype type);

#endif
