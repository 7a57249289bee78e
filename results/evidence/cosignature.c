#include "results/evidence/cosignature.h"

#include <inttypes.h>

#include <sodium.h>

#include "results/evidence/note.h"

#define SECONDS_SIZE 8

_Static_assert(COSIGNATURE_SIZE == SECONDS_SIZE + KEY_SIGNATURE_SIZE, "seconds and signature");

/* What is signed; text_ok() says whether memory sufficed. */
static void append_signed(struct text *out, int64_t seconds, const char *body, size_t length)
{
    text_append_format(out, "cosignature/v1\ntime %" PRId64 "\n", seconds);
    text_append_bytes(out, body, length);
}

enum status cosignature_make(const struct key *key, const char *body, size_t length,
                             int64_t seconds, uint8_t ret[COSIGNATURE_SIZE], struct error *err)
{
    struct text text = TEXT_INIT;
    enum status status;

    append_signed(&text, seconds, body, length);
    for (int i = 0; i < SECONDS_SIZE; i++)
        ret[i] = (uint8_t)((uint64_t)seconds >> (56 - 8 * i));
    status = text_ok(&text) ? key_sign(key, text.data, text.length, ret + SECONDS_SIZE, err)
                            : error_no_memory(err);
    text_finish(&text);
    return status;
}

int64_t cosignature_seconds(const uint8_t cosignature[COSIGNATURE_SIZE])
{
    uint64_t seconds = 0;

    for (int i = 0; i < SECONDS_SIZE; i++)
        seconds = seconds << 8 | cosignature[i];
    /* From there on nanoseconds do not fit into 64 bits. */
    return seconds <= (uint64_t)INT64_MAX / 1000000000 ? (int64_t)seconds : -1;
}

bool cosignature_verify(const uint8_t public_key[KEY_PUBLIC_SIZE], const char *body, size_t length,
                        const uint8_t cosignature[COSIGNATURE_SIZE])
{
    const int64_t seconds = cosignature_seconds(cosignature);
    struct text text = TEXT_INIT;
    bool good;

    if (seconds < 0)
        return false;
    append_signed(&text, seconds, body, length);
    good = text_ok(&text) &&
           crypto_sign_verify_detached(cosignature + SECONDS_SIZE, (const uint8_t *)text.data,
                                       text.length, public_key) == 0;
    text_finish(&text);
    return good;
}

void cosignature_append(struct text *out, const struct key_public *key,
                        const uint8_t cosignature[COSIGNATURE_SIZE])
{
    note_append_line(out, key->name, key_cosigner_id(key), cosignature, COSIGNATURE_SIZE);
}
