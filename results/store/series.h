/*
 * series - the storage format of raw samples.
 *
 * A chunk is up to SERIES_CHUNK_MAX int64 samples, each kept whole:
 *
 *     bytes 0-3    "ASF1"
 *     byte  4      width: bytes per sample, 0 to 8
 *     bytes 5-7    0
 *     bytes 8-11   count of samples, 1 to SERIES_CHUNK_MAX
 *     bytes 12-19  the smallest sample (two's complement)
 *     bytes 20-27  first 8 bytes of SHA-256 over bytes 0-19 and the samples' bytes
 *     bytes 28-    per sample: its distance from the smallest, unsigned, `width` bytes
 *
 * All numbers are big-endian; `width` is the least that holds the largest distance, so a series of
 * samples has exactly one form. The form was chosen over delta coding with a general compressor
 * because plain SQL can read it (view `samples` in views.sql) at about the same size: 1.5 to 3
 * bytes a sample.
 */
#ifndef ASSAY_RESULTS_STORE_SERIES_H
#define ASSAY_RESULTS_STORE_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/core/digest.h"
#include "harness/core/status.h"

#define SERIES_CHUNK_MAX 1024
#define SERIES_HEADER_SIZE 28
#define SERIES_ENCODED_MAX (SERIES_HEADER_SIZE + 8 * SERIES_CHUNK_MAX)

struct series_facts {
    int64_t minimum, maximum, total;
    bool has_total; /* false: the sum does not fit 64 bits */
};

/* Facts of `count` >= 1 values. */
struct series_facts series_measure(const int64_t *values, size_t count);

/*
 * Writes the chunk of `count` values (1 to SERIES_CHUNK_MAX) to `ret`, which has room for
 * SERIES_ENCODED_MAX bytes; returns its length.
 */
size_t series_encode(const int64_t *values, size_t count, uint8_t *ret);

/*
 * Reads one chunk into `ret` (room for SERIES_CHUNK_MAX), its count into `ret_count` and what
 * series_measure says of it into `ret_facts`, unless that is NULL. The bytes
 * may be hostile: anything that series_encode would not have written is CORRUPT, saying what is
 * wrong. `ret` may have been written to in that case.
 */
enum status series_decode(const uint8_t *bytes, size_t length, int64_t *ret, size_t *ret_count,
                          struct series_facts *ret_facts, struct error *err);
/*
 * The same; `ret_digest` is the chunk's SHA-256, of which it has the first bytes, whatever else is
 * wrong with it. That of a series (record `trial`) is SHA-256 over those of its chunks, in order,
 * so that each byte is hashed once.
 */
enum status series_decode_digest(const uint8_t *bytes, size_t length, int64_t *ret,
                                 size_t *ret_count, struct series_facts *ret_facts,
                                 struct digest *ret_digest, struct error *err);
/* SHA-256 over bytes 0-19 and the samples' bytes; of what is too short over all of it. */
struct digest series_digest(const uint8_t *bytes, size_t length);

#endif
