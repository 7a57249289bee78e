#include "results/store/series.h"

#include <string.h>

#include "harness/core/digest.h"

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

static void checksum(const uint8_t *chunk, size_t length, uint8_t ret[CHECKSUM_SIZE])
{
    struct digest_state state;
    struct digest digest;

    digest_init(&state);
    digest_update(&state, chunk, CHECKED_SIZE);
    digest_update(&state, chunk + SERIES_HEADER_SIZE, length - SERIES_HEADER_SIZE);
    digest = digest_final(&state);
    memcpy(ret, digest.bytes, CHECKSUM_SIZE);
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

    memcpy(ret, magic, sizeof(magic));
    ret[4] = (uint8_t)width;
    memset(ret + 5, 0, 3);
    put_big_endian(ret + 8, count, 4);
    put_big_endian(ret + 12, (uint64_t)facts.minimum, 8);
    for (size_t i = 0; i < count; i++)
        put_big_endian(ret + SERIES_HEADER_SIZE + i * width,
                       (uint64_t)values[i] - (uint64_t)facts.minimum, width);
    checksum(ret, length, ret + CHECKED_SIZE);
    return length;
}

struct distances {
    uint64_t least, most;
};

/* With a constant width the compiler turns the bytes of a sample into one load. */
static inline struct distances read_as(const uint8_t *from, size_t count, size_t width,
                                       uint64_t minimum, int64_t *ret)
{
    struct distances distances = {UINT64_MAX, 0};

    for (size_t i = 0; i < count; i++) {
        const uint64_t distance = get_big_endian(from + i * width, width);

        distances.most = distance > distances.most ? distance : distances.most;
        distances.least = distance < distances.least ? distance : distances.least;
        ret[i] = (int64_t)(minimum + distance);
    }
    return distances;
}

static struct distances read_distances(const uint8_t *from, size_t count, size_t width,
                                       uint64_t minimum, int64_t *ret)
{
    switch (width) {
    case 2:
        return read_as(from, count, 2, minimum, ret);
    case 3:
        return read_as(from, count, 3, minimum, ret);
    case 4:
        return read_as(from, count, 4, minimum, ret);
    default:
        return read_as(from, count, width, minimum, ret);
    }
}

enum status series_decode(const uint8_t *bytes, size_t length, int64_t *ret, size_t *ret_count,
                          struct error *err)
{
    uint8_t sum[CHECKSUM_SIZE];
    struct distances distances;
    uint64_t minimum;
    size_t width, count;

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
    checksum(bytes, length, sum);
    if (memcmp(sum, bytes + CHECKED_SIZE, sizeof(sum)) != 0)
        return error_set(err, STATUS_CORRUPT, "a chunk of samples does not match its checksum");
    minimum = get_big_endian(bytes + 12, 8);
    distances = read_distances(bytes + SERIES_HEADER_SIZE, count, width, minimum, ret);
    /* A range beyond the largest int64 would have wrapped. */
    if (distances.least != 0 || width_of(distances.most) != width ||
        distances.most > (uint64_t)INT64_MAX - minimum)
        return error_set(err, STATUS_CORRUPT,
                         "a chunk of samples is not in the one form that assay writes");
    *ret_count = count;
    return STATUS_OK;
}
