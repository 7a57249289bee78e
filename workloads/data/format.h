/*
 * format - weights in few bits: codes of elements, and scales that blocks of them share.
 *
 * A matrix lies as (outputs, inputs), and a block goes along the inputs. All formats are symmetric:
 * none has a zero point. An element is its code's number times the block's scale, of NVFP4 times
 * the matrix's, too. Sources: OCP Microscaling Formats (MX) 1.0, 2023, sections 5.3.1 and 5.3.3
 * (e4m3, e2m1), 5.4.1 (e8m0) and 6.3 (its rule); DeepSeek-V3 Technical Report, 2024, section 3.3.2
 * (128 x 128); NVIDIA, "Introducing NVFP4", 2025 (16 elements, e4m3, f32).
 */
#ifndef ASSAY_WORKLOADS_DATA_FORMAT_H
#define ASSAY_WORKLOADS_DATA_FORMAT_H

#include <stddef.h>
#include <stdint.h>

/* The values are those of kernels/packed.h. */
enum format_element { FORMAT_INT8 = 1, FORMAT_INT4, FORMAT_E4M3, FORMAT_E2M1 };
enum format_scale {
    FORMAT_SCALE_MATRIX = 1, /* none but the matrix's, f32 */
    FORMAT_SCALE_F32,
    FORMAT_SCALE_F16,
    FORMAT_SCALE_E8M0, /* a power of two */
    FORMAT_SCALE_E4M3, /* times the matrix's, f32 */
};

struct format {
    const char *name; /* in declarations */
    enum format_element element;
    uint64_t rows, cols; /* outputs and inputs of a scale's block; 0: all of the matrix */
    enum format_scale scale;
    const char *text; /* for people: elements, and the rule that picks a scale */
};

#define FORMAT_COUNT 7
extern const struct format formats[FORMAT_COUNT];

/* Bits of a code: 4 or 8; those of a block's scale: 0 to 32. */
uint32_t format_bits(const struct format *format);
uint32_t format_scale_bits(const struct format *format);
/* The largest number of the element: 127, 7, 448, 6. */
float format_largest(const struct format *format);

/* The code of a number, to nearest even, saturated; and the number. Codes of NaN are not made. */
uint8_t format_encode(const struct format *format, float number);
float format_decode(const struct format *format, uint8_t code);

/*
 * The matrix's scale, where no element is larger than `bound`: what makes it the largest number,
 * times the largest scale of e4m3. 1 of formats that have none.
 */
float format_matrix_scale(const struct format *format, float bound);
/* The bits of a block's scale by the format's rule, where its largest magnitude is `largest`. */
uint32_t format_scale_encode(const struct format *format, float largest, float matrix);
/* What codes are multiplied with, the matrix's scale included. */
float format_scale_decode(const struct format *format, uint32_t bits, float matrix);
/* By what elements are multiplied before they are encoded: 1 / scale, or 0. */
float format_inverse(float scale);

#endif
