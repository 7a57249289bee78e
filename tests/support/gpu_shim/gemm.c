#include "tests/support/gpu_shim/core.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

size_t core_type_bytes(enum core_type type)
{
    switch (type) {
    case CORE_F64:
        return 8;
    case CORE_F32:
    case CORE_I32:
        return 4;
    case CORE_F16:
    case CORE_BF16:
        return 2;
    default:
        return 1;
    }
}

/*
 * A float of `exponent` and `mantissa` bits with this bias. FNUZ: no infinity, no negative zero,
 * and 0x80 is the one NaN. E4M3 (OCP 8-bit floating point specification 1.0) has no infinity and
 * NaN where all bits are set.
 */
static double decode(unsigned bits, int exponent, int mantissa, int bias, enum core_type type)
{
    const unsigned sign = bits >> (exponent + mantissa);
    const unsigned e = bits >> mantissa & ((1u << exponent) - 1);
    const unsigned m = bits & ((1u << mantissa) - 1);
    const bool fnuz = type == CORE_E4M3_FNUZ || type == CORE_E5M2_FNUZ;
    double value;

    if (fnuz && bits == 0x80)
        return NAN;
    if (type == CORE_E4M3 && e == 15 && m == 7)
        return NAN;
    if (!fnuz && type != CORE_E4M3 && e == (1u << exponent) - 1)
        value = m != 0 ? NAN : INFINITY;
    else if (e == 0)
        value = ldexp((double)m, 1 - bias - mantissa);
    else
        value = ldexp((double)(m | 1u << mantissa), (int)e - bias - mantissa);
    return sign ? -value : value;
}

double core_load(enum core_type type, const void *data, uint64_t index)
{
    const char *at = (const char *)data + index * core_type_bytes(type);
    uint16_t half;
    float f32;
    double f64;
    int32_t i32;

    switch (type) {
    case CORE_F64:
        memcpy(&f64, at, sizeof(f64));
        return f64;
    case CORE_F32:
        memcpy(&f32, at, sizeof(f32));
        return (double)f32;
    case CORE_I32:
        memcpy(&i32, at, sizeof(i32));
        return i32;
    case CORE_I8:
        return *(const signed char *)at;
    case CORE_F16:
        memcpy(&half, at, sizeof(half));
        return decode(half, 5, 10, 15, type);
    case CORE_BF16:
        memcpy(&half, at, sizeof(half));
        return decode(half, 8, 7, 127, type);
    case CORE_E4M3:
        return decode(*(const unsigned char *)at, 4, 3, 7, type);
    case CORE_E5M2:
        return decode(*(const unsigned char *)at, 5, 2, 15, type);
    case CORE_E4M3_FNUZ:
        return decode(*(const unsigned char *)at, 4, 3, 8, type);
    case CORE_E5M2_FNUZ:
        return decode(*(const unsigned char *)at, 5, 2, 16, type);
    }
    return 0.0;
}

/* To a 16-bit float, nearest even: scaled so that its last place is 1, then by nearbyint. */
static uint16_t encode(double value, int exponent, int mantissa, int bias)
{
    const unsigned sign = signbit(value) ? 1u << 15 : 0;
    const int top = (1 << exponent) - 1;
    int e = 0;
    double scaled;

    if (isnan(value))
        return (uint16_t)(sign | (unsigned)top << mantissa | 1u << (mantissa - 1));
    value = fabs(value);
    if (isinf(value))
        return (uint16_t)(sign | (unsigned)top << mantissa);
    if (value != 0.0)
        e = ilogb(value);
    if (e < 1 - bias)
        e = 1 - bias;
    scaled = nearbyint(ldexp(value, mantissa - e));
    if (scaled >= (double)(2u << mantissa)) {
        scaled /= 2;
        e++;
    }
    if (e + bias >= top)
        return (uint16_t)(sign | (unsigned)top << mantissa);
    if (scaled < (double)(1u << mantissa))
        return (uint16_t)(sign | (unsigned)scaled);
    return (uint16_t)(sign | (unsigned)(e + bias) << mantissa |
                      ((unsigned)scaled - (1u << mantissa)));
}

bool core_store(enum core_type type, void *data, uint64_t index, double value)
{
    char *at = (char *)data + index * core_type_bytes(type);
    const float f32 = (float)value;
    const int32_t i32 = (int32_t)(int64_t)value;
    uint16_t half;

    switch (type) {
    case CORE_F64:
        memcpy(at, &value, sizeof(value));
        return true;
    case CORE_F32:
        memcpy(at, &f32, sizeof(f32));
        return true;
    case CORE_I32:
        memcpy(at, &i32, sizeof(i32));
        return true;
    case CORE_F16:
        half = encode((double)f32, 5, 10, 15);
        break;
    case CORE_BF16:
        half = encode((double)f32, 8, 7, 127);
        break;
    default:
        return false;
    }
    memcpy(at, &half, sizeof(half));
    return true;
}

static double element(const struct core_matrix *matrix, uint64_t z, uint64_t row, uint64_t column)
{
    const uint64_t at =
        matrix->transpose ? column + row * matrix->stride : row + column * matrix->stride;

    return core_load(matrix->type, matrix->data, z * matrix->batch_stride + at);
}

/* Columns of op(M) one after the other; NULL without memory. */
static double *decoded(const struct core_matrix *matrix, uint64_t z, uint64_t rows,
                       uint64_t columns)
{
    double *values = malloc((size_t)(rows * columns) * sizeof(*values));

    for (uint64_t column = 0; column < columns && values != NULL; column++)
        for (uint64_t row = 0; row < rows; row++)
            values[row + column * rows] = element(matrix, z, row, column);
    return values;
}

/* Offset of the end of a matrix's last element, in bytes. */
static bool inside(const struct core_gemm *gemm, const struct core_matrix *matrix, uint64_t rows,
                   uint64_t columns)
{
    const uint64_t lines = matrix->transpose ? rows : columns;
    const uint64_t length = matrix->transpose ? columns : rows;
    const uint64_t extent =
        (gemm->batch - 1) * matrix->batch_stride + (lines - 1) * matrix->stride + length;

    return matrix->stride >= length &&
           core_bytes_at(matrix->data) >= extent * core_type_bytes(matrix->type);
}

static bool store_column(const struct core_gemm *gemm, uint64_t z, uint64_t column,
                         const double *sums)
{
    for (uint64_t i = 0; i < gemm->m; i++) {
        double sum = sums[i] * gemm->alpha;

        if (gemm->bias != NULL)
            sum += core_load(gemm->bias_type, gemm->bias, i);
        if (gemm->beta != 0.0)
            sum += gemm->beta * element(&gemm->c, z, i, column);
        if (gemm->d.type != CORE_F64 && gemm->d.type != CORE_I32)
            sum = (double)(float)sum;
        if (!core_store(gemm->d.type, (void *)gemm->d.data,
                        z * gemm->d.batch_stride + i + column * gemm->d.stride, sum))
            return false;
    }
    return true;
}

/* Each sum goes over k in order. */
static bool multiply(const struct core_gemm *gemm, uint64_t z)
{
    double *a = decoded(&gemm->a, z, gemm->m, gemm->k);
    double *b = decoded(&gemm->b, z, gemm->k, gemm->n);
    double *sums = malloc((size_t)gemm->m * sizeof(*sums));
    bool stored = a != NULL && b != NULL && sums != NULL;

    for (uint64_t j = 0; j < gemm->n && stored; j++) {
        memset(sums, 0, (size_t)gemm->m * sizeof(*sums));
        for (uint64_t p = 0; p < gemm->k; p++)
            for (uint64_t i = 0; i < gemm->m; i++)
                sums[i] += a[i + p * gemm->m] * b[p + j * gemm->k];
        stored = store_column(gemm, z, j, sums);
    }
    free(a);
    free(b);
    free(sums);
    return stored;
}

enum core_result core_gemm_run(const struct core_gemm *gemm)
{
    if (!inside(gemm, &gemm->a, gemm->m, gemm->k) || !inside(gemm, &gemm->b, gemm->k, gemm->n) ||
        !inside(gemm, &gemm->d, gemm->m, gemm->n) ||
        (gemm->beta != 0.0 && !inside(gemm, &gemm->c, gemm->m, gemm->n)) ||
        (gemm->bias != NULL &&
         core_bytes_at(gemm->bias) < gemm->m * core_type_bytes(gemm->bias_type)))
        return CORE_INVALID;
    if (core_synchronize() != CORE_OK)
        return CORE_FAILED;
    for (uint64_t z = 0; z < gemm->batch; z++)
        if (!multiply(gemm, z))
            return CORE_INVALID;
    return CORE_OK;
}
