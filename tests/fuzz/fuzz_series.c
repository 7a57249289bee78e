/*
 * Chunks of samples: hostile bytes are refused with a message, and what is accepted is exactly what
 * the encoder writes. The input is tried unchanged, with its checksum corrected (so that the later
 * checks are reached), and as samples to encode.
 */
#include "fuzz.h"

#include "harness/core/digest.h"
#include "results/store/series.h"

static void check_decode(const uint8_t *bytes, size_t length)
{
    static int64_t values[SERIES_CHUNK_MAX];
    static uint8_t again[SERIES_ENCODED_MAX];
    struct error err = ERROR_INIT;
    struct series_facts told, facts;
    size_t count = 0;
    enum status status = series_decode(bytes, length, values, &count, &told, &err);

    if (status != STATUS_OK) {
        fuzz_require_good_message(&err, status);
        FUZZ_REQUIRE(status == STATUS_CORRUPT && count == 0);
        return;
    }
    FUZZ_REQUIRE(count >= 1 && count <= SERIES_CHUNK_MAX);
    FUZZ_REQUIRE(series_encode(values, count, again) == length);
    FUZZ_REQUIRE(memcmp(again, bytes, length) == 0);
    facts = series_measure(values, count);
    FUZZ_REQUIRE(told.minimum == facts.minimum && told.maximum == facts.maximum);
    FUZZ_REQUIRE(told.has_total == facts.has_total);
    FUZZ_REQUIRE(!facts.has_total || told.total == facts.total);
}

static void check_resealed(const uint8_t *data, size_t size)
{
    struct digest_state state;
    struct digest digest;
    uint8_t *copy = malloc(size);

    if (!copy)
        return;
    memcpy(copy, data, size);
    memcpy(copy, "ASF1", 4);
    digest_init(&state);
    digest_update(&state, copy, 20);
    digest_update(&state, copy + SERIES_HEADER_SIZE, size - SERIES_HEADER_SIZE);
    digest = digest_final(&state);
    memcpy(copy + 20, digest.bytes, 8);
    check_decode(copy, size);
    free(copy);
}

static void check_encode(const uint8_t *data, size_t size)
{
    static int64_t values[SERIES_CHUNK_MAX];
    static uint8_t chunk[SERIES_ENCODED_MAX];
    size_t count = size / sizeof(*values);

    if (count > SERIES_CHUNK_MAX)
        count = SERIES_CHUNK_MAX;
    if (count == 0)
        return;
    memcpy(values, data, count * sizeof(*values));
    check_decode(chunk, series_encode(values, count, chunk));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_decode(data, size);
    if (size >= SERIES_HEADER_SIZE)
        check_resealed(data, size);
    check_encode(data, size);
    return 0;
}
