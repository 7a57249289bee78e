#include "harness/core/cleanup.h"
#include "workloads/storage.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PACK_BYTES 16

static uint32_t bits_of(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static float from_bits(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

bool storage_is_known(enum dtype type)
{
    return type == DTYPE_F32 || type == DTYPE_BF16 || type == DTYPE_F16;
}

double storage_unit_roundoff(enum dtype type)
{
    return type == DTYPE_BF16 ? 0x1p-8 : type == DTYPE_F16 ? 0x1p-11 : 0x1p-24;
}

void storage_defines(enum dtype type, struct module_define ret[STORAGE_DEFINES])
{
    static const char *const names[] = {"storage", "LOAD", "STORE"};
    static const char *const values[][STORAGE_DEFINES] = {
        {"store_f32", "LOAD_F32", "STORE_F32"},
        {"store_bf16", "LOAD_BF16", "STORE_BF16"},
        {"store_f16", "LOAD_F16", "STORE_F16"},
        {"f64", "LOAD_F64", "STORE_F64"},
    };
    const size_t row = type == DTYPE_BF16 ? 1 : type == DTYPE_F16 ? 2 : type == DTYPE_F64 ? 3 : 0;

    for (size_t i = 0; i < STORAGE_DEFINES; i++)
        ret[i] = (struct module_define){names[i], values[row][i]};
}

uint32_t storage_pack(enum dtype type, uint64_t columns, uint32_t lanes)
{
    const uint32_t whole = PACK_BYTES * 8 / (uint32_t)dtype_bits(type);

    return lanes > 1 && columns % whole == 0 ? whole : 1;
}

void storage_pack_defines(enum dtype type, uint64_t columns, uint32_t lanes,
                          struct module_define ret[STORAGE_PACK_DEFINES])
{
    static const char *const counts[] = {"1", "1", "2", "3", "4", "5", "6", "7", "8"};
    const uint64_t most = sizeof(counts) / sizeof(counts[0]) - 1;
    const uint32_t pack = storage_pack(type, columns, lanes);
    const uint64_t span = (uint64_t)pack * lanes;
    const uint64_t packs = (columns + span - 1) / span;

    ret[0] = (struct module_define){"PACK", counts[pack]};
    ret[1] = (struct module_define){"KEPT", counts[packs < most ? packs : most]};
}

static uint16_t bf16_encode(float value)
{
    const uint32_t bits = bits_of(value);

    if (isnan(value))
        return (uint16_t)(bits >> 16 | 0x40u);
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

static uint16_t f16_encode(float value)
{
    const uint16_t sign = (uint16_t)(bits_of(value) >> 16 & 0x8000u);
    const float magnitude = fabsf(value);
    uint32_t bits;

    if (isnan(value))
        return (uint16_t)(sign | 0x7e00u);
    if (magnitude >= 65520.0f) /* halfway to what would follow the largest */
        return (uint16_t)(sign | 0x7c00u);
    if (magnitude < 0x1p-14f)
        return (uint16_t)(sign | (uint16_t)lrintf(magnitude * 0x1p24f));
    bits = bits_of(magnitude) - (112u << 23);
    return (uint16_t)(sign | (uint16_t)((bits + 0xfffu + (bits >> 13 & 1u)) >> 13));
}

static float f16_decode(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
    const uint32_t exponent = half >> 10 & 31u, mantissa = half & 0x3ffu;

    if (exponent == 31)
        return from_bits(sign | 0x7f800000u | mantissa << 13);
    if (exponent == 0)
        return (sign ? -1.0f : 1.0f) * (float)mantissa * 0x1p-24f;
    return from_bits(sign | (exponent + 112u) << 23 | mantissa << 13);
}

void storage_encode(enum dtype type, const float *values, uint64_t count, void *ret)
{
    uint16_t *halves = ret;

    if (type == DTYPE_F32) {
        memcpy(ret, values, count * sizeof(*values));
        return;
    }
    for (uint64_t i = 0; i < count; i++)
        halves[i] = type == DTYPE_BF16 ? bf16_encode(values[i]) : f16_encode(values[i]);
}

void storage_decode(enum dtype type, const void *bytes, uint64_t count, float *ret)
{
    const uint16_t *halves = bytes;

    if (type == DTYPE_F32) {
        memcpy(ret, bytes, count * sizeof(*ret));
        return;
    }
    for (uint64_t i = 0; i < count; i++)
        ret[i] = type == DTYPE_BF16 ? from_bits((uint32_t)halves[i] << 16) : f16_decode(halves[i]);
}

#define TILE_ELEMENTS ((uint64_t)1 << 20)

enum status storage_download(struct buffer *buffer, enum dtype type, uint64_t offset,
                             uint64_t count, float *ret, struct error *err)
{
    const uint64_t size = dtype_bits(type) / 8;
    AUTO_FREE void *bytes = NULL;

    if (type == DTYPE_F32)
        return device_download(buffer, offset * size, ret, count * size, err);
    bytes = malloc(count * size);
    if (!bytes)
        return error_no_memory(err);
    TRY(device_download(buffer, offset * size, bytes, count * size, err));
    storage_decode(type, bytes, count, ret);
    return STATUS_OK;
}

enum status storage_upload(struct buffer *buffer, enum dtype type, uint64_t offset,
                           const float *values, uint64_t count, struct error *err)
{
    const uint64_t size = dtype_bits(type) / 8;
    AUTO_FREE void *encoded = NULL;

    if (type == DTYPE_F32)
        return device_upload(buffer, offset * size, values, count * size, err);
    encoded = malloc(count * size);
    if (!encoded)
        return error_no_memory(err);
    storage_encode(type, values, count, encoded);
    return device_upload(buffer, offset * size, encoded, count * size, err);
}

enum status storage_poison(struct buffer *buffer, enum dtype type, uint64_t offset, uint64_t count,
                           struct error *err)
{
    const uint64_t tile = count < TILE_ELEMENTS ? count : TILE_ELEMENTS, end = offset + count;
    const size_t size = dtype_bits(type) / 8;
    const float nan = NAN;
    AUTO_FREE unsigned char *bytes = malloc(tile * size + 1);

    if (!bytes)
        return error_no_memory(err);
    memset(bytes, 0xff, tile * size); /* NaN in f64 and f8, -1 in integers */
    for (uint64_t i = 0; i < tile && storage_is_known(type); i++)
        storage_encode(type, &nan, 1, bytes + i * size);
    for (uint64_t begin = offset; begin < end; begin += tile) {
        const uint64_t part = end - begin < tile ? end - begin : tile;

        TRY(device_upload(buffer, begin * size, bytes, part * size, err));
    }
    return STATUS_OK;
}

enum status storage_poison_all(struct buffer *buffer, enum dtype type, struct error *err)
{
    return storage_poison(buffer, type, 0, buffer->bytes * 8 / dtype_bits(type), err);
}
