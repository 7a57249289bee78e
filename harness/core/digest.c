#include "harness/core/digest.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <openssl/sha.h>
#include <sodium.h>

_Static_assert(DIGEST_SIZE == SHA256_DIGEST_LENGTH, "digest is SHA-256");
_Static_assert(sizeof(struct digest_state) == sizeof(SHA256_CTX), "as libcrypto's state");

static SHA256_CTX *context_of(struct digest_state *state)
{
    return (SHA256_CTX *)state->sha256;
}

void digest_init(struct digest_state *state)
{
    SHA256_Init(context_of(state));
}

void digest_update(struct digest_state *state, const void *bytes, size_t length)
{
    SHA256_Update(context_of(state), bytes, length);
}

struct digest digest_final(struct digest_state *state)
{
    struct digest digest;

    SHA256_Final(digest.bytes, context_of(state));
    return digest;
}

struct digest digest_bytes(const void *bytes, size_t length)
{
    struct digest_state state;

    digest_init(&state);
    digest_update(&state, bytes, length);
    return digest_final(&state);
}

struct digest digest_hmac(const struct digest *key, const void *bytes, size_t length)
{
    uint8_t inner[64], outer[64];
    struct digest_state state;
    struct digest digest;

    memset(inner, 0x36, sizeof(inner));
    memset(outer, 0x5c, sizeof(outer));
    for (size_t i = 0; i < DIGEST_SIZE; i++) {
        inner[i] ^= key->bytes[i];
        outer[i] ^= key->bytes[i];
    }
    digest_init(&state);
    digest_update(&state, inner, sizeof(inner));
    digest_update(&state, bytes, length);
    digest = digest_final(&state);
    digest_init(&state);
    digest_update(&state, outer, sizeof(outer));
    digest_update(&state, digest.bytes, DIGEST_SIZE);
    return digest_final(&state);
}

/* FIPS 180-4, 5.1.1: whole blocks need no finishing, whose state is the digest. */
struct digest digest_padded(uint8_t *message, size_t length)
{
    const size_t end = (length + 9 + 63) / 64 * 64;
    const uint64_t bits = htobe64((uint64_t)length * 8);
    SHA256_CTX state;
    struct digest digest;

    message[length] = 0x80;
    memset(message + length + 1, 0, end - length - 9);
    memcpy(message + end - 8, &bits, 8);
    SHA256_Init(&state);
    SHA256_Update(&state, message, end);
    for (int i = 0; i < 8; i++)
        state.h[i] = htobe32(state.h[i]);
    memcpy(digest.bytes, state.h, DIGEST_SIZE);
    return digest;
}

enum status digest_file(const char *path, struct digest *ret, uint64_t *ret_size, struct error *err)
{
    unsigned char buffer[65536];
    struct digest_state state;
    uint64_t size = 0;
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

    if (fd < 0)
        return error_set_errno(err, errno, "%s", path);
    if (fstat(fd, &st) == 0 && S_ISFIFO(st.st_mode)) {
        close(fd);
        return error_set(err, STATUS_INVALID, "%s: is a pipe, not a file", path);
    }
    digest_init(&state);
    for (;;) {
        ssize_t got = read(fd, buffer, sizeof(buffer));

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0) {
            enum status status = error_set_errno(err, errno, "%s", path);

            close(fd);
            return status;
        }
        if (got == 0)
            break;
        digest_update(&state, buffer, (size_t)got);
        size += (uint64_t)got;
    }
    close(fd);
    *ret = digest_final(&state);
    if (ret_size)
        *ret_size = size;
    return STATUS_OK;
}

const char *digest_hex(const struct digest *digest, char ret[DIGEST_HEX_SIZE])
{
    return sodium_bin2hex(ret, DIGEST_HEX_SIZE, digest->bytes, DIGEST_SIZE);
}

static int digit_of(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool digest_from_digits(const char *hex, struct digest *ret)
{
    for (size_t i = 0; i < DIGEST_SIZE; i++) {
        const int high = digit_of(hex[2 * i]), low = high < 0 ? -1 : digit_of(hex[2 * i + 1]);

        if (low < 0)
            return false;
        ret->bytes[i] = (uint8_t)(high * 16 + low);
    }
    return true;
}

bool digest_from_hex(const char *hex, struct digest *ret)
{
    return hex && digest_from_digits(hex, ret) && !hex[DIGEST_HEX_SIZE - 1];
}

bool digest_equal(const struct digest *a, const struct digest *b)
{
    return !memcmp(a->bytes, b->bytes, DIGEST_SIZE);
}
