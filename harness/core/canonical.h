/*
 * canonical - one spelling of a JSON value, so that its digest is its identity.
 *
 * The form follows RFC 8785 (JCS) with narrowings that make every value exact: object keys are
 * sorted by bytes (equal to JCS for keys in ASCII, the only ones assay writes), and integers are
 * written in full (assay's counters are int64, beyond JCS's 2^53). Reals are the shortest decimal
 * form that reads back to the same double, with an exponent from 2^63 on, where parsers would
 * take a long integer for one that overflows; NaN and infinity do not exist. A whole real reads
 * back as an integer ("2"), so read numbers with json_number_value. No insignificant white space,
 * no trailing newline, UTF-8.
 */
#ifndef ASSAY_CORE_CANONICAL_H
#define ASSAY_CORE_CANONICAL_H

#include <jansson.h>

#include "harness/core/digest.h"
#include "harness/core/status.h"
#include "harness/core/text.h"

/* Heap string (free() it) with the canonical form of `value`. */
enum status canonical_dump(const json_t *value, char **ret, struct error *err);

/* Digest of the canonical form. */
enum status canonical_digest(const json_t *value, struct digest *ret, struct error *err);

/* Appends one string as canonical JSON, quotes included; its bytes are taken as they are. */
void canonical_append_string(struct text *text, const char *string, size_t length);

/*
 * How many of eight bytes, the first one lowest, come before one that a JSON string must escape. A
 * borrow can flag wrongly only bytes above such a byte.
 */
static inline size_t canonical_plain_of_eight(uint64_t bytes)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), highs = ones << 7;
    const uint64_t quotes = bytes ^ ones * '"', slashes = bytes ^ ones * '\\';
    const uint64_t found = (((bytes - ones * 0x20) & ~bytes) | ((quotes - ones) & ~quotes) |
                            ((slashes - ones) & ~slashes)) &
                           highs;

    return found ? (size_t)__builtin_ctzll(found) / 8 : 8;
}

/* Shortest form of a finite double that reads back the same; at most 31 characters and NUL. */
#define CANONICAL_REAL_SIZE 32
const char *canonical_real(double value, char ret[CANONICAL_REAL_SIZE]);

/*
 * Parses JSON from outside: bounded depth (jansson's), duplicate keys refused, at most `length`
 * bytes. New reference in `ret`. `origin` names the input in messages.
 */
enum status canonical_parse(const char *bytes, size_t length, const char *origin, json_t **ret,
                            struct error *err);

#endif
