#include "workloads/memory_bound/memory_bound.h"

#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/random.h"
#include "workloads/storage.h"

#define TILE_ELEMENTS ((uint64_t)1 << 18) /* threads wait for each other after every tile */
#define BLOCK_ELEMENTS 512                /* encoded at once */

void memory_decode(enum memory_type type, enum dtype storage, const void *bytes, uint64_t count,
                   double *ret)
{
    const enum dtype kept = type == MEMORY_STORAGE ? storage : DTYPE_F32;
    const uint64_t size = dtype_bits(kept) / 8;

    if (kept == DTYPE_F64) {
        memcpy(ret, bytes, count * sizeof(*ret));
        return;
    }
#pragma omp parallel for schedule(static) if (count > MEMORY_SERIAL_MOST)
    for (uint64_t i = 0; i < count; ++i) {
        float value;

        storage_decode(kept, (const char *)bytes + i * size, 1, &value);
        ret[i] = (double)value;
    }
}

/* ---- generated data ---- */

static uint64_t seed_of(const struct memory_data *data, size_t array)
{
    return data->changed_arrays >> array & 1 ? data->changed_seed : data->seed;
}

static bool is_storage(const struct memory_data *data, size_t array)
{
    return data->kernel->arrays[array].type == MEMORY_STORAGE;
}

/* An odd number of 2^-53 parts: uniform, never 0, never denormal, with random bits throughout. */
static double raw_value(const struct memory_data *data, size_t array, uint64_t index)
{
    const struct memory_array *what = &data->kernel->arrays[array];
    const uint64_t bits = random_at(seed_of(data, array), array, index);
    const double unit = ((double)(bits >> 12) * 2.0 + 1.0) * 0x1p-53;

    return what->low + (what->high - what->low) * unit;
}

double memory_value(const struct memory_data *data, size_t array, uint64_t index)
{
    const double raw = raw_value(data, array, index);
    const enum dtype kept = is_storage(data, array) ? data->storage : DTYPE_F32;
    float value = (float)raw;
    uint16_t half;

    if (kept == DTYPE_F64)
        return raw;
    if (kept != DTYPE_F32) {
        storage_encode(kept, &value, 1, &half);
        storage_decode(kept, &half, 1, &value);
    }
    return (double)value;
}

uint32_t memory_index(const struct memory_data *data, size_t array, uint64_t index, uint64_t bound)
{
    /* The high half of a 32 by 32 bit product: below `bound`, even enough for rows to look up. */
    return (uint32_t)(((random_at(seed_of(data, array), array, index) >> 32) * bound) >> 32);
}

static void fill(const struct memory_data *data, size_t array, uint64_t begin, uint64_t count,
                 void *ret)
{
    const struct memory_array *what = &data->kernel->arrays[array];
    const enum dtype storage = what->type == MEMORY_STORAGE ? data->storage : DTYPE_F32;
    const uint64_t size = memory_element_bytes(what, storage);
    uint32_t *words = ret;
    double *doubles = ret;

#pragma omp parallel for schedule(static) if (count > MEMORY_SERIAL_MOST)
    for (uint64_t first = 0; first < count; first += BLOCK_ELEMENTS) {
        const uint64_t end = count - first < BLOCK_ELEMENTS ? count : first + BLOCK_ELEMENTS;
        float values[BLOCK_ELEMENTS];

        for (uint64_t i = first; i < end; ++i) {
            if (what->type == MEMORY_U32)
                words[i] = memory_index(data, array, begin + i, data->sizes.vocabulary);
            else if (storage == DTYPE_F64)
                doubles[i] = raw_value(data, array, begin + i);
            else
                values[i - first] = (float)raw_value(data, array, begin + i);
        }
        if (what->type != MEMORY_U32 && storage != DTYPE_F64)
            storage_encode(storage, values, end - first, (char *)ret + first * size);
    }
}

enum status memory_upload(struct memory_instance *instance, const struct memory_data *data,
                          size_t array, uint64_t begin, uint64_t count, struct error *err)
{
    const struct memory_array *what = &instance->data.kernel->arrays[array];
    const uint64_t element_bytes = memory_element_bytes(what, instance->data.storage);
    const uint64_t end = begin + count;
    const uint64_t tile = count < TILE_ELEMENTS ? count : TILE_ELEMENTS;
    AUTO_FREE void *bytes = malloc(tile * element_bytes);

    if (bytes == NULL)
        return error_no_memory(err);
    for (; begin < end; begin += tile) {
        const uint64_t part = end - begin < tile ? end - begin : tile;

        fill(data, array, begin, part, bytes);
        TRY(device_upload(instance->arrays[array], begin * element_bytes, bytes,
                          part * element_bytes, err));
    }
    return STATUS_OK;
}

static uint64_t count_of(const struct memory_instance *instance, size_t array)
{
    return instance->arrays[array]->bytes /
           memory_element_bytes(&instance->data.kernel->arrays[array], instance->data.storage);
}

enum status memory_upload_array(struct memory_instance *instance, size_t array, struct error *err)
{
    return memory_upload(instance, &instance->data, array, 0, count_of(instance, array), err);
}

enum dtype memory_type_of(const struct memory_data *data, size_t array)
{
    const enum memory_type type = data->kernel->arrays[array].type;

    return type == MEMORY_STORAGE ? data->storage : type == MEMORY_F32 ? DTYPE_F32 : DTYPE_I32;
}

enum status memory_poison(struct memory_instance *instance, size_t array, uint64_t begin,
                          uint64_t count, struct error *err)
{
    return storage_poison(instance->arrays[array], memory_type_of(&instance->data, array), begin,
                          count, err);
}

enum status memory_resume(struct workload_instance *base, struct error *err)
{
    struct memory_instance *instance = (struct memory_instance *)base;
    const struct memory_kernel *kernel = instance->data.kernel;

    for (size_t i = 0; i < kernel->array_count; ++i)
        if (kernel->arrays[i].role == MEMORY_OUTPUT)
            TRY(memory_poison(instance, i, 0, count_of(instance, i), err));
    base->unchecked = 0;
    return STATUS_OK;
}
