#include "workloads/fingerprint.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/text.h"

#define WORD_BYTES sizeof(uint64_t)
#define ROW_BYTES (FINGERPRINT_LANES * WORD_BYTES)
#define PIECE_BYTES ((uint64_t)1 << 20) /* stays in a cache between download and checksum */
#define PRIME 0x9e3779b97f4a7c15u

/* A rotation before the GEMM carries a difference in the highest bit (a sign) to the others. */
static uint64_t mix(uint64_t lane, uint64_t word)
{
    lane ^= word;
    return (lane << 29 | lane >> 35) * PRIME;
}

static void add_row(struct fingerprint *fingerprint, const void *row)
{
    uint64_t words[FINGERPRINT_LANES];

    memcpy(words, row, sizeof(words));
    for (size_t i = 0; i < FINGERPRINT_LANES; i++)
        fingerprint->lanes[i] = mix(fingerprint->lanes[i], words[i]);
}

void fingerprint_init(struct fingerprint *fingerprint)
{
    for (size_t i = 0; i < FINGERPRINT_LANES; i++)
        fingerprint->lanes[i] = PRIME * (i + 1);
    fingerprint->bytes = 0;
}

/* The same bytes in pieces of other lengths give another fingerprint. */
static void fingerprint_add(struct fingerprint *fingerprint, const void *bytes, size_t count)
{
    const char *at = bytes;
    char last[ROW_BYTES] = {0};

    fingerprint->bytes += count;
    for (; count >= ROW_BYTES; count -= ROW_BYTES, at += ROW_BYTES)
        add_row(fingerprint, at);
    memcpy(last, at, count);
    if (count > 0)
        add_row(fingerprint, last);
}

enum status fingerprint_add_buffer(struct fingerprint *fingerprint, struct buffer *buffer,
                                   uint64_t offset, uint64_t bytes, struct error *err)
{
    const uint64_t end = offset + bytes;
    AUTO_FREE void *piece = malloc(bytes < PIECE_BYTES ? bytes + 1 : PIECE_BYTES);

    if (!piece)
        return error_no_memory(err);
    while (offset < end) {
        const uint64_t count = end - offset < PIECE_BYTES ? end - offset : PIECE_BYTES;

        TRY(device_download(buffer, offset, piece, count, err));
        fingerprint_add(fingerprint, piece, count);
        offset += count;
    }
    return STATUS_OK;
}

char *fingerprint_text(const struct fingerprint *fingerprint)
{
    uint64_t all = fingerprint->bytes;

    for (size_t i = 0; i < FINGERPRINT_LANES; i++)
        all = mix(all, fingerprint->lanes[i]);
    all = (all ^ all >> 32) * 0xd6e8feb86659fd93u;
    return text_format("%016" PRIx64, all ^ all >> 32);
}
