/*
 * digest - SHA-256, the identity of everything that assay stores. libcrypto's (OpenSSL 3), by the
 * functions from before EVP, which costs more than a short message.
 */
#ifndef ASSAY_CORE_DIGEST_H
#define ASSAY_CORE_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/core/status.h"

#define DIGEST_SIZE 32
#define DIGEST_HEX_SIZE 65 /* 64 digits and NUL */

struct digest {
    uint8_t bytes[DIGEST_SIZE];
};

/* Streaming form: init, update as often as needed, final. */
struct digest_state {
    uint32_t sha256[28]; /* libcrypto's SHA256_CTX */
};

void digest_init(struct digest_state *state);
void digest_update(struct digest_state *state, const void *bytes, size_t length);
struct digest digest_final(struct digest_state *state);

struct digest digest_bytes(const void *bytes, size_t length);
/* HMAC-SHA256 (RFC 2104) under a key of 32 bytes. */
struct digest digest_hmac(const struct digest *key, const void *bytes, size_t length);

/*
 * The same for a message followed by DIGEST_PADDING writable bytes, which it overwrites: cheaper
 * for short messages.
 */
#define DIGEST_PADDING 72
struct digest digest_padded(uint8_t *message, size_t length);

/* Digest and size of a file's content, streamed. `ret_size` may be NULL. */
enum status digest_file(const char *path, struct digest *ret, uint64_t *ret_size,
                        struct error *err);

/* 64 lower-case hex digits and NUL into `ret`; returns `ret`. */
const char *digest_hex(const struct digest *digest, char ret[DIGEST_HEX_SIZE]);
/* Of exactly those, in lower case, since a digest has one spelling. `hex` may be NULL. */
bool digest_from_hex(const char *hex, struct digest *ret);
/* The same of the first 64 bytes of `hex`, whatever follows; it stops at what is no such digit. */
bool digest_from_digits(const char *hex, struct digest *ret);
bool digest_equal(const struct digest *a, const struct digest *b);

#endif
