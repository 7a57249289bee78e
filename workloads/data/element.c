#include "workloads/data/element.h"

#include <float.h>
#include <math.h>
#include <stddef.h>

#include "harness/core/random.h"

#define PI 3.14159265358979323846

/* A binary format of at most 16 bits: exponent bits, mantissa bits, bias, and what is special. */
struct format {
    int exponent, mantissa, bias;
    bool infinity; /* the largest exponent is kept for infinity and NaN */
    bool fnuz;     /* no negative zero: that pattern is NaN */
};

static const struct format formats[DTYPE_COUNT] = {
    [DTYPE_BF16] = {8, 7, 127, true, false},    [DTYPE_F16] = {5, 10, 15, true, false},
    [DTYPE_E4M3] = {4, 3, 7, false, false},     [DTYPE_E5M2] = {5, 2, 15, true, false},
    [DTYPE_E4M3_FNUZ] = {4, 3, 8, false, true}, [DTYPE_E5M2_FNUZ] = {5, 2, 16, false, true},
};

/* NULL: of more bits, or none of floating point. */
static const struct format *format_of(enum dtype type)
{
    return type < DTYPE_COUNT && formats[type].exponent > 0 ? &formats[type] : NULL;
}

bool element_is_known(enum dtype type)
{
    return format_of(type) || type == DTYPE_F64 || type == DTYPE_F32 || type == DTYPE_I8 ||
           type == DTYPE_I32 || type == DTYPE_I64;
}

/* Pattern of the largest finite magnitude. e4m3 keeps one mantissa of its last exponent for NaN. */
static unsigned largest(const struct format *format)
{
    const unsigned all = (1u << (format->exponent + format->mantissa)) - 1;

    if (format->infinity)
        return all - (1u << format->mantissa);
    return format->fnuz ? all : all - 1;
}

static double magnitude_of(const struct format *format, unsigned pattern)
{
    const int exponent = (int)(pattern >> format->mantissa);
    const int mantissa = (int)(pattern & ((1u << format->mantissa) - 1));

    if (exponent == 0)
        return ldexp(mantissa, 1 - format->bias - format->mantissa);
    return ldexp(mantissa + (1 << format->mantissa), exponent - format->bias - format->mantissa);
}

static unsigned format_encode(const struct format *format, double value)
{
    const unsigned sign = signbit(value) ? 1u << (format->exponent + format->mantissa) : 0;
    const unsigned top = largest(format);
    const double magnitude = fabs(value);
    unsigned pattern;
    int exponent;
    double steps;

    if (isnan(value))
        return format->fnuz ? 1u << (format->exponent + format->mantissa)
                            : top + 1 + (format->infinity ? 1 : 0);
    if (magnitude >= magnitude_of(format, top))
        return sign | top;
    frexp(magnitude, &exponent); /* magnitude is in [2^(exponent-1), 2^exponent) */
    if (exponent - 1 < 1 - format->bias)
        exponent = 2 - format->bias; /* subnormal spacing */
    steps = nearbyint(ldexp(magnitude, format->mantissa - (exponent - 1)));
    /* Steps of the binade from its beginning; a carry moves to the next one by itself. */
    pattern = magnitude < ldexp(1.0, 1 - format->bias)
                  ? (unsigned)steps
                  : ((unsigned)(exponent - 1 + format->bias) << format->mantissa) +
                        (unsigned)steps - (1u << format->mantissa);
    return format->fnuz && pattern == 0 ? 0 : sign | pattern;
}

static double format_decode(const struct format *format, unsigned bits)
{
    const unsigned sign_bit = 1u << (format->exponent + format->mantissa);
    const unsigned pattern = bits & (sign_bit - 1);
    const double sign = bits & sign_bit ? -1.0 : 1.0;

    if (format->fnuz && bits == sign_bit)
        return NAN;
    if (pattern > largest(format))
        return format->infinity && pattern == largest(format) + 1 ? sign * INFINITY : NAN;
    return sign * magnitude_of(format, pattern);
}

void element_encode(enum dtype type, double value, void *array, uint64_t index)
{
    const struct format *format = format_of(type);

    if (format && dtype_bits(type) == 16)
        ((uint16_t *)array)[index] = (uint16_t)format_encode(format, value);
    else if (format)
        ((uint8_t *)array)[index] = (uint8_t)format_encode(format, value);
    else if (type == DTYPE_F64)
        ((double *)array)[index] = value;
    else if (type == DTYPE_F32)
        ((float *)array)[index] = (float)value;
    else if (type == DTYPE_I8)
        ((int8_t *)array)[index] = (int8_t)fmax(-127.0, fmin(127.0, nearbyint(value)));
    else if (type == DTYPE_I64)
        ((int64_t *)array)[index] = (int64_t)nearbyint(value);
    else
        ((int32_t *)array)[index] = (int32_t)nearbyint(value);
}

double element_decode(enum dtype type, const void *array, uint64_t index)
{
    const struct format *format = format_of(type);

    if (format && dtype_bits(type) == 16)
        return format_decode(format, ((const uint16_t *)array)[index]);
    if (format)
        return format_decode(format, ((const uint8_t *)array)[index]);
    switch (type) {
    case DTYPE_F64:
        return ((const double *)array)[index];
    case DTYPE_F32:
        return (double)((const float *)array)[index];
    case DTYPE_I8:
        return ((const int8_t *)array)[index];
    case DTYPE_I64:
        return (double)((const int64_t *)array)[index];
    default:
        return ((const int32_t *)array)[index];
    }
}

double element_unit_roundoff(enum dtype type)
{
    const struct format *format = format_of(type);

    if (format)
        return ldexp(1.0, -format->mantissa - 1);
    return type == DTYPE_F64 ? 0x1p-53 : type == DTYPE_F32 ? 0x1p-24 : 0.0;
}

double element_underflow(enum dtype type)
{
    const struct format *format = format_of(type);

    if (format)
        return ldexp(1.0, -format->bias - format->mantissa);
    return type == DTYPE_F64 ? DBL_TRUE_MIN : type == DTYPE_F32 ? 0x1p-150 : 0.0;
}

/* An odd number of 2^-53 parts: uniform in (0, 1), never 0. */
static double unit_at(uint64_t seed, uint64_t stream, uint64_t index)
{
    return ((double)(random_at(seed, stream, index) >> 12) * 2.0 + 1.0) * 0x1p-53;
}

double element_uniform_at(uint64_t seed, uint64_t stream, uint64_t index)
{
    return 2.0 * unit_at(seed, stream, index) - 1.0;
}

double element_normal_at(uint64_t seed, uint64_t stream, uint64_t index)
{
    return sqrt(-2.0 * log(unit_at(seed, stream, index))) *
           cos(2.0 * PI * unit_at(seed, stream + 1, index));
}
