#include "results/store/series.h"

#include <stddef.h>
#include <string.h>

#include "harness/core/digest.h"
#include "harness/core/random.h"
#include "tests/support/unit.h"

static void check_round_trip(const int64_t *values, size_t count, size_t expected_width)
{
    uint8_t chunk[SERIES_ENCODED_MAX];
    int64_t back[SERIES_CHUNK_MAX];
    size_t length = series_encode(values, count, chunk), read = 0;
    const struct series_facts facts = series_measure(values, count);
    struct series_facts told;

    assert_int_equal(length, SERIES_HEADER_SIZE + count * expected_width);
    assert_int_equal(series_decode(chunk, length, back, &read, &told, NULL), STATUS_OK);
    assert_int_equal(read, count);
    assert_true(told.minimum == facts.minimum && told.maximum == facts.maximum);
    assert_true(told.has_total == facts.has_total);
    assert_true(!facts.has_total || told.total == facts.total);
    assert_memory_equal(back, values, count * sizeof(*values));
}

TEST(every_width_round_trips)
{
    int64_t values[SERIES_CHUNK_MAX];

    for (size_t width = 0; width <= 8; width++) {
        uint64_t mask = width == 0 ? 0 : UINT64_MAX >> (64 - 8 * width);

        for (size_t count = 1; count <= SERIES_CHUNK_MAX; count = count * 3 + 1) {
            uint64_t base = width == 8 ? (uint64_t)INT64_MIN : random_at(width, 1, count) >> 9;

            for (size_t i = 0; i < count; i++)
                values[i] = (int64_t)(base + (random_at(width, 2, i) & mask));
            values[0] = (int64_t)base;
            values[count - 1] = (int64_t)(base + (count > 1 ? mask : 0));
            check_round_trip(values, count, count > 1 ? width : 0);
        }
    }
}

TEST(extremes_round_trip)
{
    const int64_t extremes[] = {INT64_MAX, INT64_MIN, 0, -1, 1};
    const int64_t least[] = {INT64_MIN, INT64_MIN}, most[] = {INT64_MAX};

    check_round_trip(extremes, 5, 8);
    check_round_trip(least, 2, 0);
    check_round_trip(most, 1, 0);
}

TEST(facts_of_values)
{
    const int64_t values[] = {3, -5, 10}, large[] = {INT64_MAX, 1};
    struct series_facts facts = series_measure(values, 3);

    assert_int_equal(facts.minimum, -5);
    assert_int_equal(facts.maximum, 10);
    assert_true(facts.has_total);
    assert_int_equal(facts.total, 8);
    assert_false(series_measure(large, 2).has_total);
}

static size_t example(uint8_t *chunk)
{
    int64_t values[9];

    for (int i = 0; i < 9; i++)
        values[i] = 1000000 + 77 * i;
    return series_encode(values, 9, chunk);
}

TEST(every_changed_bit_is_found)
{
    uint8_t chunk[SERIES_ENCODED_MAX];
    int64_t back[SERIES_CHUNK_MAX];
    size_t length = example(chunk), read;

    for (size_t bit = 0; bit < 8 * length; bit++) {
        chunk[bit / 8] ^= (uint8_t)(1 << bit % 8);
        assert_int_equal(series_decode(chunk, length, back, &read, NULL, NULL), STATUS_CORRUPT);
        chunk[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    assert_int_equal(series_decode(chunk, length, back, &read, NULL, NULL), STATUS_OK);
}

TEST(every_other_length_is_refused)
{
    uint8_t chunk[SERIES_ENCODED_MAX + 64] = {0};
    int64_t back[SERIES_CHUNK_MAX];
    size_t length = example(chunk), read;

    for (size_t other = 0; other < length + 32; other++) {
        if (other != length)
            assert_int_equal(series_decode(chunk, other, back, &read, NULL, NULL), STATUS_CORRUPT);
    }
}

/* Puts the right checksum on a forged chunk, so that the other checks are reached. */
static void reseal(uint8_t *chunk, size_t length)
{
    struct digest_state state;
    struct digest digest;

    digest_init(&state);
    digest_update(&state, chunk, 20);
    digest_update(&state, chunk + SERIES_HEADER_SIZE, length - SERIES_HEADER_SIZE);
    digest = digest_final(&state);
    memcpy(chunk + 20, digest.bytes, 8);
}

TEST(other_spellings_are_refused)
{
    uint8_t chunk[SERIES_ENCODED_MAX];
    int64_t back[SERIES_CHUNK_MAX], values[2] = {5, 9};
    size_t read, length;

    /* The smallest distance is not 0. */
    length = series_encode(values, 2, chunk);
    chunk[SERIES_HEADER_SIZE] = 1;
    reseal(chunk, length);
    assert_int_equal(series_decode(chunk, length, back, &read, NULL, NULL), STATUS_CORRUPT);
    /* More bytes a sample than needed. */
    length = series_encode(values, 2, chunk);
    chunk[4] = 2;
    memcpy(chunk + SERIES_HEADER_SIZE, "\0\0\0\4", 4);
    reseal(chunk, SERIES_HEADER_SIZE + 4);
    assert_int_equal(series_decode(chunk, SERIES_HEADER_SIZE + 4, back, &read, NULL, NULL),
                     STATUS_CORRUPT);
    /* The largest sample lies beyond int64. */
    values[0] = INT64_MAX - 1;
    values[1] = INT64_MAX;
    length = series_encode(values, 2, chunk);
    chunk[SERIES_HEADER_SIZE + 1] = 2;
    reseal(chunk, length);
    assert_int_equal(series_decode(chunk, length, back, &read, NULL, NULL), STATUS_CORRUPT);
    /* Too many samples for a chunk, all of width 0. */
    values[1] = values[0];
    length = series_encode(values, 2, chunk);
    chunk[10] = 4;
    chunk[11] = 1;
    reseal(chunk, length);
    assert_int_equal(series_decode(chunk, length, back, &read, NULL, NULL), STATUS_CORRUPT);
}
