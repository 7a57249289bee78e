#include "tests/conformance/array.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/random.h"
#include "tests/conformance/reference.h"

/* Small values that every fp8 type has: code in e4m3 and in e5m2 (bias 7 and 15). */
static const struct {
    double value;
    uint8_t e4m3, e5m2;
} eights[] = {{0, 0x00, 0x00}, {0.5, 0x30, 0x38}, {1, 0x38, 0x3c},  {1.5, 0x3c, 0x3e},
              {2, 0x40, 0x40}, {3, 0x44, 0x42},   {-1, 0xb8, 0xbc}, {-2, 0xc0, 0xc0}};

void array_put(struct array *array, uint64_t at, double value)
{
    unsigned char *to = array->bytes + at * (dtype_bits(array->type) / 8);
    uint16_t half;
    float single;
    int32_t whole;

    switch (array->type) {
    case DTYPE_F64:
        memcpy(to, &value, 8);
        break;
    case DTYPE_F32:
        single = (float)value;
        memcpy(to, &single, 4);
        value = (double)single;
        break;
    case DTYPE_BF16:
    case DTYPE_F16: {
        const struct small_float *format =
            array->type == DTYPE_BF16 ? &reference_bf16 : &reference_f16;

        half = reference_encode(format, value);
        memcpy(to, &half, 2);
        value = reference_decode(format, half);
        break;
    }
    case DTYPE_I8:
        *(int8_t *)to = (int8_t)value;
        break;
    case DTYPE_I32:
        whole = (int32_t)value;
        memcpy(to, &whole, 4);
        break;
    default: {
        const size_t pick = (size_t)(fabs(value) * 4096) % (sizeof(eights) / sizeof(eights[0]));

        *to = array->type == DTYPE_E5M2 ? eights[pick].e5m2 : eights[pick].e4m3;
        value = eights[pick].value;
    }
    }
    array->values[at] = value;
}

double array_get(const struct array *array, uint64_t at)
{
    const unsigned char *from = array->bytes + at * (dtype_bits(array->type) / 8);
    uint16_t half;
    double value;
    float single;
    int32_t whole;

    switch (array->type) {
    case DTYPE_F64:
        memcpy(&value, from, 8);
        return value;
    case DTYPE_F32:
        memcpy(&single, from, 4);
        return (double)single;
    case DTYPE_I32:
        memcpy(&whole, from, 4);
        return whole;
    default:
        memcpy(&half, from, 2);
        return reference_decode(array->type == DTYPE_BF16 ? &reference_bf16 : &reference_f16, half);
    }
}

struct array array_make(struct conformance *c, const struct array_source *source, enum dtype type,
                        uint64_t count, uint64_t offset, uint64_t stream)
{
    struct array array = {.type = type, .offset = offset, .count = count + offset + ARRAY_GUARD};
    const uint64_t bytes = array.count * dtype_bits(type) / 8;
    struct random random;

    array.values = calloc(array.count, sizeof(double));
    array.bytes = malloc(bytes);
    assert_true(array.values != NULL && array.bytes != NULL);
    memset(array.bytes, 0x55, bytes);
    random_init(&random, source->seed, stream);
    for (uint64_t i = 0; i < array.count && type != DTYPE_I32; i++) {
        const double u = random_next_unit(&random);

        array_put(&array, i,
                  type == DTYPE_I8 ? floor(u * (128 - source->least)) + source->least : 2 * u - 1);
    }
    array.buffer = conformance_buffer(c, array.bytes, bytes);
    return array;
}

void array_free(struct array *array)
{
    device_buffer_free(array->buffer);
    free(array->values);
    free(array->bytes);
}

void array_upload(struct conformance *c, struct array *array)
{
    expect_ok(c, device_upload(array->buffer, 0, array->bytes,
                               array->count * dtype_bits(array->type) / 8, &c->err));
}

static double unit_roundoff(enum dtype type)
{
    return type == DTYPE_F64    ? 0x1p-53
           : type == DTYPE_F32  ? 0x1p-24
           : type == DTYPE_F16  ? 0x1p-11
           : type == DTYPE_BF16 ? 0x1p-8
                                : 0;
}

/* Of the sum itself, in units of the absolute values that are added. */
static double sum_roundoff(enum precision precision, bool matrix_units, double terms)
{
    switch (precision) {
    case PRECISION_FP64:
        return (terms + 4) * 0x1p-53;
    case PRECISION_TF32:
        return matrix_units ? (terms + 4) * 0x1p-23 + 2 * 0x1p-10 + 0x1p-20
                            : (terms + 4) * 0x1p-24 + 0x1p-10;
    case PRECISION_FP8_E4M3:
    case PRECISION_FP8_E5M2:
        return matrix_units ? (terms / 32 + 1) * 0x1p-13 + 4 * 0x1p-24 : (terms + 4) * 0x1p-24;
    case PRECISION_BF16:
    case PRECISION_FP16:
        return (terms + 4) * (matrix_units ? 0x1p-23 : 0x1p-24);
    default:
        return (terms + 4) * 0x1p-24;
    }
}

double array_bound(const struct conformance *c, enum precision precision, enum dtype type,
                   uint64_t terms, double exact, double sum)
{
    const bool matrix_units = c->device->info.type == DEVICE_GPU;

    if (type == DTYPE_I32)
        return 0;
    return sum_roundoff(precision, matrix_units, (double)terms) * sum +
           unit_roundoff(type) * fabs(exact) + 0x1p-140;
}

bool array_agrees(double got, double exact, double bound)
{
    if (isfinite(exact))
        return fabs(got - exact) <= bound;
    return isnan(exact) ? isnan(got) : got == exact;
}
