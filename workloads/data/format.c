#include "workloads/data/format.h"

#include <math.h>
#include <string.h>

#include "workloads/data/element.h"

const struct format formats[FORMAT_COUNT] = {
    {"int8", FORMAT_INT8, 1, 0, FORMAT_SCALE_F32,
     "integers of 8 bits; of each output f32, its largest magnitude / 127"},
    {"int4", FORMAT_INT4, 1, 128, FORMAT_SCALE_F16,
     "integers of 4 bits; of each group of inputs f16, its largest magnitude / 7"},
    {"fp8", FORMAT_E4M3, 0, 0, FORMAT_SCALE_MATRIX,
     "e4m3; of each matrix f32, the largest magnitude that it can have / 448"},
    {"fp8_block", FORMAT_E4M3, 128, 128, FORMAT_SCALE_F32,
     "e4m3; of 128 x 128 elements f32, their largest magnitude / 448"},
    {"mxfp8", FORMAT_E4M3, 1, 32, FORMAT_SCALE_E8M0,
     "e4m3; of 32 inputs e8m0, the largest power of two up to their magnitudes / 2^8"},
    {"mxfp4", FORMAT_E2M1, 1, 32, FORMAT_SCALE_E8M0,
     "e2m1; of 32 inputs e8m0, the largest power of two up to their magnitudes / 2^2"},
    {"nvfp4", FORMAT_E2M1, 1, 16, FORMAT_SCALE_E4M3,
     "e2m1; of 16 inputs e4m3, their largest magnitude / 6 / the matrix's scale, which is the "
     "largest magnitude that it can have / 6 / 448"},
};

#define E4M3_LARGEST 448.0f
#define E8M0_BIAS 127

uint32_t format_bits(const struct format *format)
{
    return format->element == FORMAT_INT4 || format->element == FORMAT_E2M1 ? 4 : 8;
}

uint32_t format_scale_bits(const struct format *format)
{
    switch (format->scale) {
    case FORMAT_SCALE_F32:
        return 32;
    case FORMAT_SCALE_F16:
        return 16;
    case FORMAT_SCALE_MATRIX:
        return 0;
    default:
        return 8;
    }
}

float format_largest(const struct format *format)
{
    switch (format->element) {
    case FORMAT_INT8:
        return 127.0f;
    case FORMAT_INT4:
        return 7.0f;
    case FORMAT_E4M3:
        return E4M3_LARGEST;
    default:
        return 6.0f;
    }
}

/* Exponents of the largest number. */
static int exponent_of_largest(const struct format *format)
{
    return ilogbf(format_largest(format));
}

static uint8_t integer(float number, float largest)
{
    return (uint8_t)(int8_t)fmaxf(-largest, fminf(largest, rintf(number)));
}

/* The numbers of e2m1: steps of 0.5 below 2, of 1 below 4, of 2 above. */
static const float e2m1_numbers[] = {0.0f, 0.5f, 1.0f, 1.5f, 2.0f, 3.0f, 4.0f, 6.0f};

static uint8_t e2m1_encode(float number)
{
    const uint8_t sign = signbit(number) ? 8 : 0;
    const float magnitude = fabsf(number);
    uint8_t code = 0;

    while (code < 7) {
        const float middle = 0.5f * (e2m1_numbers[code] + e2m1_numbers[code + 1]);

        if (magnitude < middle || (magnitude == middle && code % 2 == 0))
            break;
        code++;
    }
    return sign | code;
}

static uint8_t e4m3_encode(float number)
{
    uint8_t ret;

    element_encode(DTYPE_E4M3, (double)number, &ret, 0);
    return ret;
}

static float e4m3_decode(uint8_t code)
{
    return (float)element_decode(DTYPE_E4M3, &code, 0);
}

uint8_t format_encode(const struct format *format, float number)
{
    switch (format->element) {
    case FORMAT_INT8:
        return integer(number, 127.0f);
    case FORMAT_INT4:
        return (uint8_t)(integer(number, 7.0f) + 8);
    case FORMAT_E4M3:
        return e4m3_encode(number);
    default:
        return e2m1_encode(number);
    }
}

float format_decode(const struct format *format, uint8_t code)
{
    switch (format->element) {
    case FORMAT_INT8:
        return (float)(int8_t)code;
    case FORMAT_INT4:
        return (float)code - 8.0f;
    case FORMAT_E4M3:
        return e4m3_decode(code);
    default:
        return code & 8 ? -e2m1_numbers[code & 7] : e2m1_numbers[code & 7];
    }
}

float format_matrix_scale(const struct format *format, float bound)
{
    if (format->scale == FORMAT_SCALE_MATRIX)
        return bound / format_largest(format);
    return format->scale == FORMAT_SCALE_E4M3 ? bound / format_largest(format) / E4M3_LARGEST
                                              : 1.0f;
}

uint32_t format_scale_encode(const struct format *format, float largest, float matrix)
{
    const float scale = largest / format_largest(format);
    uint32_t bits = 0;

    switch (format->scale) {
    case FORMAT_SCALE_F32:
        memcpy(&bits, &scale, sizeof(bits));
        return bits;
    case FORMAT_SCALE_F16:
        element_encode(DTYPE_F16, (double)scale, &bits, 0);
        return bits;
    case FORMAT_SCALE_E8M0:
        return largest > 0.0f
                   ? (uint32_t)fmax(1, ilogbf(largest) - exponent_of_largest(format) + E8M0_BIAS)
                   : 1;
    case FORMAT_SCALE_E4M3:
        return e4m3_encode(scale / matrix);
    default:
        return 0;
    }
}

float format_scale_decode(const struct format *format, uint32_t bits, float matrix)
{
    float ret = matrix;

    switch (format->scale) {
    case FORMAT_SCALE_F32:
        memcpy(&ret, &bits, sizeof(ret));
        return ret;
    case FORMAT_SCALE_F16:
        return (float)element_decode(DTYPE_F16, &bits, 0);
    case FORMAT_SCALE_E8M0:
        return ldexpf(1.0f, (int)bits - E8M0_BIAS);
    case FORMAT_SCALE_E4M3:
        return e4m3_decode((uint8_t)bits) * matrix;
    default:
        return ret;
    }
}

float format_inverse(float scale)
{
    return scale > 0.0f ? 1.0f / scale : 0.0f;
}
