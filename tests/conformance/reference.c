#include "tests/conformance/reference.h"

#include <float.h>
#include <math.h>

const struct small_float reference_f16 = {5, 10};
const struct small_float reference_bf16 = {8, 7};

static int bias(const struct small_float *format)
{
    return (1 << (format->exponent_bits - 1)) - 1;
}

double reference_decode(const struct small_float *format, uint16_t bits)
{
    const int top = (1 << format->exponent_bits) - 1;
    const int exponent = (bits >> format->fraction_bits) & top;
    const int fraction = bits & ((1 << format->fraction_bits) - 1);
    double value;

    if (exponent == top)
        value = fraction != 0 ? (double)NAN : (double)INFINITY;
    else if (exponent == 0)
        value = ldexp(fraction, 1 - bias(format) - format->fraction_bits);
    else
        value = ldexp((1 << format->fraction_bits) + fraction,
                      exponent - bias(format) - format->fraction_bits);
    return bits & 0x8000 ? -value : value;
}

int reference_is_nan(const struct small_float *format, uint16_t bits)
{
    return isnan(reference_decode(format, bits));
}

uint16_t reference_encode(const struct small_float *format, double value)
{
    const uint16_t sign = signbit(value) ? 0x8000 : 0;
    const int top = (1 << format->exponent_bits) - 1;
    double magnitude = fabs(value), quotient;
    int exponent;

    if (isnan(value))
        return (uint16_t)(top << format->fraction_bits | 1 << (format->fraction_bits - 1));
    if (isinf(value))
        return (uint16_t)(sign | top << format->fraction_bits);
    if (magnitude == 0)
        return sign;
    exponent = ilogb(magnitude);
    if (exponent < 1 - bias(format))
        exponent = 1 - bias(format);
    /* Number of steps of the format at this exponent; nearbyint rounds halves to even. */
    quotient = nearbyint(ldexp(magnitude, format->fraction_bits - exponent));
    if (quotient >= ldexp(1, format->fraction_bits + 1)) {
        quotient /= 2;
        exponent++;
    }
    if (exponent > bias(format))
        return (uint16_t)(sign | top << format->fraction_bits);
    if (quotient < ldexp(1, format->fraction_bits))
        return (uint16_t)(sign | (uint16_t)quotient);
    return (uint16_t)(sign | (exponent + bias(format)) << format->fraction_bits |
                      ((uint16_t)quotient & ((1 << format->fraction_bits) - 1)));
}

double reference_ulps(float got, double exact)
{
    const double magnitude = fabs(exact);
    double ulp;

    if (isnan(exact) || isnan(got))
        return isnan(exact) && isnan(got) ? 0 : INFINITY;
    if (isinf(got) && (isinf(exact) || magnitude > FLT_MAX))
        return !signbit(got) == !signbit(exact) ? 0 : INFINITY;
    if (isinf(got) || isinf(exact))
        return INFINITY;
    ulp = magnitude < (double)FLT_MIN ? ldexp(1, -149) : ldexp(1, ilogb(magnitude) - 23);
    return fabs((double)got - exact) / ulp;
}
