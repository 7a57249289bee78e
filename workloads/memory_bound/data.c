#include "workloads/memory_bound/memory_bound.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/random.h"

#define TILE_ELEMENTS ((uint64_t)1 << 20)

/* ---- 16-bit storage, as the kernels' STORE_ macros round: to nearest even ---- */

static uint32_t f32_bits(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static float f32_from_bits(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

static uint16_t bf16_encode(float value)
{
    const uint32_t bits = f32_bits(value);

    return (uint16_t)((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

/* Finite values within the type's range are all that is generated. */
static uint16_t f16_encode(float value)
{
    const uint16_t sign = (uint16_t)((f32_bits(value) >> 16) & 0x8000u);
    const float magnitude = fabsf(value);
    uint32_t bits;

    if (magnitude < 0x1p-14f)
        return (uint16_t)(sign | (uint16_t)lrintf(magnitude * 0x1p24f));
    bits = f32_bits(magnitude) - (112u << 23);
    return (uint16_t)(sign | (uint16_t)((bits + 0xfffu + ((bits >> 13) & 1u)) >> 13));
}

static double f16_decode(uint16_t half)
{
    const double sign = half & 0x8000u ? -1.0 : 1.0;
    const int exponent = (half >> 10) & 31;
    const int mantissa = half & 0x3ff;

    if (exponent == 31)
        return mantissa == 0 ? sign * INFINITY : NAN;
    if (exponent == 0)
        return sign * ldexp(mantissa, -24);
    return sign * ldexp(mantissa + 1024, exponent - 25);
}

static double through_storage(enum dtype storage, float value)
{
    switch (storage) {
    case DTYPE_BF16:
        return (double)f32_from_bits((uint32_t)bf16_encode(value) << 16);
    case DTYPE_F16:
        return f16_decode(f16_encode(value));
    default:
        return (double)value;
    }
}

void memory_decode(enum memory_type type, enum dtype storage, const void *bytes, uint64_t count,
                   double *ret)
{
    const uint16_t *halves = bytes;
    const float *floats = bytes;

#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < count; ++i) {
        if (type != MEMORY_STORAGE || storage == DTYPE_F32)
            ret[i] = (double)floats[i];
        else if (storage == DTYPE_BF16)
            ret[i] = (double)f32_from_bits((uint32_t)halves[i] << 16);
        else
            ret[i] = f16_decode(halves[i]);
    }
}

/* ---- generated data ---- */

static bool is_storage(const struct memory_data *data, size_t array)
{
    return data->kernel->arrays[array].type == MEMORY_STORAGE;
}

/* An odd number of 2^-53 parts: uniform, never 0, never denormal, with random bits throughout. */
static float raw_value(const struct memory_data *data, size_t array, uint64_t index)
{
    const struct memory_array *what = &data->kernel->arrays[array];
    const uint64_t bits = random_at(data->seed, array, index);
    const double unit = ((double)(bits >> 12) * 2.0 + 1.0) * 0x1p-53;

    return (float)(what->low + (what->high - what->low) * unit);
}

double memory_value(const struct memory_data *data, size_t array, uint64_t index)
{
    const float value = raw_value(data, array, index);

    return is_storage(data, array) ? through_storage(data->storage, value) : (double)value;
}

uint32_t memory_index(const struct memory_data *data, size_t array, uint64_t index, uint64_t bound)
{
    /* The high half of a 32 by 32 bit product: below `bound`, even enough for rows to look up. */
    return (uint32_t)(((random_at(data->seed, array, index) >> 32) * bound) >> 32);
}

static void fill(const struct memory_data *data, size_t array, uint64_t begin, uint64_t count,
                 void *ret)
{
    const struct memory_array *what = &data->kernel->arrays[array];
    const enum dtype storage = what->type == MEMORY_STORAGE ? data->storage : DTYPE_F32;
    uint16_t *halves = ret;
    uint32_t *words = ret;
    float *floats = ret;

#pragma omp parallel for schedule(static)
    for (uint64_t i = 0; i < count; ++i) {
        if (what->type == MEMORY_U32)
            words[i] = memory_index(data, array, begin + i, data->sizes.vocabulary);
        else if (storage == DTYPE_BF16)
            halves[i] = bf16_encode(raw_value(data, array, begin + i));
        else if (storage == DTYPE_F16)
            halves[i] = f16_encode(raw_value(data, array, begin + i));
        else
            floats[i] = raw_value(data, array, begin + i);
    }
}

/* Uploads generated data, or NaN where `data` is NULL. */
static enum status upload(struct memory_instance *instance, size_t array, bool poison,
                          struct error *err)
{
    const struct memory_array *what = &instance->data.kernel->arrays[array];
    const uint64_t element_bytes = memory_element_bytes(what, instance->data.storage);
    const uint64_t count = instance->arrays[array]->bytes / element_bytes;
    const uint64_t tile = count < TILE_ELEMENTS ? count : TILE_ELEMENTS;
    void *bytes = malloc(tile * element_bytes);
    enum status status = STATUS_OK;

    if (bytes == NULL)
        return error_set(err, STATUS_NO_MEMORY, "filling array %s: out of memory", what->name);
    memset(bytes, 0xff, tile * element_bytes);
    for (uint64_t begin = 0; begin < count && status == STATUS_OK; begin += tile) {
        const uint64_t part = count - begin < tile ? count - begin : tile;

        if (!poison)
            fill(&instance->data, array, begin, part, bytes);
        status = device_upload(instance->arrays[array], begin * element_bytes, bytes,
                               part * element_bytes, err);
    }
    free(bytes);
    return status;
}

enum status memory_upload_array(struct memory_instance *instance, size_t array, struct error *err)
{
    return upload(instance, array, false, err);
}

enum status memory_poison_outputs(struct memory_instance *instance, struct error *err)
{
    const struct memory_kernel *kernel = instance->data.kernel;
    enum status status = STATUS_OK;

    for (size_t i = 0; i < kernel->array_count && status == STATUS_OK; ++i)
        if (kernel->arrays[i].role == MEMORY_OUTPUT)
            status = upload(instance, i, true, err);
    if (status == STATUS_OK)
        instance->unchecked = 0;
    return status;
}
