#include "results/store/series.h"

#include <endian.h>
#include <string.h>

#include "harness/core/digest.h"
#include "harness/core/vector.h"

static const uint8_t magic[4] = {'A', 'S', 'F', '1'};

#define CHECKED_SIZE 20 /* header bytes under the checksum */
#define CHECKSUM_SIZE 8

static void put_big_endian(uint8_t *to, uint64_t value, size_t width)
{
    for (size_t i = width; i-- > 0; value >>= 8)
        to[i] = (uint8_t)value;
}

static uint64_t get_big_endian(const uint8_t *from, size_t width)
{
    uint64_t value = 0;

    for (size_t i = 0; i < width; i++)
        value = value << 8 | from[i];
    return value;
}

static size_t width_of(uint64_t distance)
{
    size_t width = 0;

    for (; distance; distance >>= 8)
        width++;
    return width;
}

struct digest series_digest(const uint8_t *bytes, size_t length)
{
    struct digest_state state;

    if (length < SERIES_HEADER_SIZE)
        return digest_bytes(bytes, length);
    digest_init(&state);
    digest_update(&state, bytes, CHECKED_SIZE);
    digest_update(&state, bytes + SERIES_HEADER_SIZE, length - SERIES_HEADER_SIZE);
    return digest_final(&state);
}

struct series_facts series_measure(const int64_t *values, size_t count)
{
    struct series_facts facts = {values[0], values[0], 0, true};

    for (size_t i = 0; i < count; i++) {
        if (values[i] < facts.minimum)
            facts.minimum = values[i];
        if (values[i] > facts.maximum)
            facts.maximum = values[i];
        if (facts.has_total && __builtin_add_overflow(facts.total, values[i], &facts.total))
            facts.has_total = false;
    }
    return facts;
}

size_t series_encode(const int64_t *values, size_t count, uint8_t *ret)
{
    struct series_facts facts = series_measure(values, count);
    size_t width = width_of((uint64_t)facts.maximum - (uint64_t)facts.minimum);
    size_t length = SERIES_HEADER_SIZE + count * width;
    struct digest digest;

    memcpy(ret, magic, sizeof(magic));
    ret[4] = (uint8_t)width;
    memset(ret + 5, 0, 3);
    put_big_endian(ret + 8, count, 4);
    put_big_endian(ret + 12, (uint64_t)facts.minimum, 8);
    for (size_t i = 0; i < count; i++)
        put_big_endian(ret + SERIES_HEADER_SIZE + i * width,
                       (uint64_t)values[i] - (uint64_t)facts.minimum, width);
    digest = series_digest(ret, length);
    memcpy(ret + CHECKED_SIZE, digest.bytes, CHECKSUM_SIZE);
    return length;
}

struct distances {
    uint64_t least, most, sum;
};

static inline int64_t note(struct distances *distances, uint64_t distance, uint64_t minimum)
{
    distances->most = distance > distances->most ? distance : distances->most;
    distances->least = distance < distances->least ? distance : distances->least;
    distances->sum += distance;
    return (int64_t)(minimum + distance);
}

/* Eight bytes at a time, as long as there are so many; what belongs to the next is shifted out. */
static struct distances read_width(const uint8_t *from, size_t count, size_t width,
                                   uint64_t minimum, int64_t *ret)
{
    struct distances distances = {UINT64_MAX, 0, 0};
    const size_t whole = width > 0 && count * width >= 8 ? (count * width - 8) / width + 1 : 0;
    size_t i;

    for (i = 0; i < whole; i++) {
        uint64_t bytes;

        memcpy(&bytes, from + i * width, sizeof(bytes));
        ret[i] = note(&distances, be64toh(bytes) >> (64 - 8 * width), minimum);
    }
    for (; i < count; i++)
        ret[i] = note(&distances, get_big_endian(from + i * width, width), minimum);
    return distances;
}

/* Of at most three bytes a value: in 32 bits, and without a branch, which vectorises. */
static inline __attribute__((always_inline)) struct distances
read_narrow(const uint8_t *from, size_t count, size_t width, uint64_t minimum, int64_t *ret)
{
    uint32_t least = UINT32_MAX, most = 0;
    uint64_t sum = 0;

    for (size_t i = 0; i < count; i++, from += width) {
        const uint32_t distance = width == 1   ? from[0]
                                  : width == 2 ? (uint32_t)from[0] << 8 | from[1]
                                               : (uint32_t)from[0] << 16 | from[1] << 8 | from[2];

        least = distance < least ? distance : least;
        most = distance > most ? distance : most;
        sum += distance;
        ret[i] = (int64_t)(minimum + distance);
    }
    return (struct distances){least, most, sum};
}

/* Of the usual widths, for which the compiler knows the shift. */
VECTOR_CLONES
static struct distances read_distances(const uint8_t *from, size_t count, size_t width,
                                       uint64_t minimum, int64_t *ret)
{
    switch (width) {
    case 1:
        return read_narrow(from, count, 1, minimum, ret);
    case 2:
        return read_narrow(from, count, 2, minimum, ret);
    case 3:
        return read_narrow(from, count, 3, minimum, ret);
    default:
        return read_width(from, count, width, minimum, ret);
    }
}

/* What series_measure says, from what is known already where it can be no other. */
static struct series_facts facts_of(const struct distances *distances, size_t width,
                                    const int64_t *values, size_t count, int64_t minimum)
{
    struct series_facts facts = {minimum, (int64_t)((uint64_t)minimum + distances->most), 0, true};

    /* So close to each other, values do not pass 64 bits on the way to a sum that fits. */
    if (width > 6 || __builtin_mul_overflow(minimum, (int64_t)count, &facts.total) ||
        __builtin_add_overflow(facts.total, (int64_t)distances->sum, &facts.total))
        return series_measure(values, count);
    return facts;
}

enum status series_decode(const uint8_t *bytes, size_t length, int64_t *ret, size_t *ret_count,
                          struct series_facts *ret_facts, struct error *err)
{
    struct digest digest;

    return series_decode_digest(bytes, length, ret, ret_count, ret_facts, &digest, err);
}

enum status series_decode_digest(const uint8_t *bytes, size_t length, int64_t *ret,
                                 size_t *ret_count, struct series_facts *ret_facts,
                                 struct digest *ret_digest, struct error *err)
{
    struct distances distances;
    uint64_t minimum;
    size_t width, count;

    *ret_digest = series_digest(bytes, length);
    if (length < SERIES_HEADER_SIZE || memcmp(bytes, magic, sizeof(magic)) != 0)
        return error_set(err, STATUS_CORRUPT, "a chunk of samples does not begin with \"ASF1\"");
    width = bytes[4];
    count = (size_t)get_big_endian(bytes + 8, 4);
    if (width > 8 || bytes[5] || bytes[6] || bytes[7] || count < 1 || count > SERIES_CHUNK_MAX ||
        length != SERIES_HEADER_SIZE + count * width)
        return error_set(err, STATUS_CORRUPT,
                         "a chunk of samples has an impossible header (%zu samples of %zu bytes in "
                         "%zu bytes)",
                         count, width, length);
    if (memcmp(ret_digest->bytes, bytes + CHECKED_SIZE, CHECKSUM_SIZE) != 0)
        return error_set(err, STATUS_CORRUPT, "a chunk of samples does not match its checksum");
    minimum = get_big_endian(bytes + 12, 8);
    distances = read_distances(bytes + SERIES_HEADER_SIZE, count, width, minimum, ret);
    /* A range beyond the largest int64 would have wrapped. */
    if (distances.least != 0 || width_of(distances.most) != width ||
        distances.most > (uint64_t)INT64_MAX - minimum)
        return error_set(err, STATUS_CORRUPT,
                         "a chunk of samples is not in the one form that assay writes");
    *ret_count = count;
    if (ret_facts)
        *ret_facts = facts_of(&distances, width, ret, count, (int64_t)minimum);
    return STATUS_OK;
}
