#include "harness/core/digest.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

_Static_assert(DIGEST_SIZE == crypto_hash_sha256_BYTES, "digest is SHA-256");

void digest_init(struct digest_state *state)
{
    crypto_hash_sha256_init(&state->sha256);
}

void digest_update(struct digest_state *state, const void *bytes, size_t length)
{
    if (length > 0)
        crypto_hash_sha256_update(&state->sha256, bytes, length);
}

struct digest digest_final(struct digest_state *state)
{
    struct digest digest;

    crypto_hash_sha256_final(&state->sha256, digest.bytes);
    return digest;
}

struct digest digest_bytes(const void *bytes, size_t length)
{
    struct digest_state state;

    digest_init(&state);
    digest_update(&state, bytes, length);
    return digest_final(&state);
}

enum status digest_file(const char *path, struct digest *ret, uint64_t *ret_size, struct error *err)
{
    unsigned char buffer[65536];
    struct digest_state state;
    uint64_t size = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return error_set_errno(err, errno, "%s", path);
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
    static const char digits[] = "0123456789abcdef";

    for (int i = 0; i < DIGEST_SIZE; ++i) {
        ret[2 * i] = digits[digest->bytes[i] >> 4];
        ret[2 * i + 1] = digits[digest->bytes[i] & 15];
    }
    ret[2 * DIGEST_SIZE] = '\0';
    return ret;
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

bool digest_from_hex(const char *hex, struct digest *ret)
{
    struct digest digest;

    if (!hex || strlen(hex) != 2 * DIGEST_SIZE)
        return false;
    for (int i = 0; i < DIGEST_SIZE; ++i) {
        int high = hex_value(hex[2 * i]), low = hex_value(hex[2 * i + 1]);

        if (high < 0 || low < 0)
            return false;
        digest.bytes[i] = (uint8_t)(high << 4 | low);
    }
    *ret = digest;
    return true;
}

bool digest_equal(const struct digest *a, const struct digest *b)
{
    return !memcmp(a->bytes, b->bytes, DIGEST_SIZE);
}
