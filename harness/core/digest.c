#include "harness/core/digest.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/core/dynlib.h"

_Static_assert(DIGEST_SIZE == crypto_hash_sha256_BYTES, "digest is SHA-256");

/* SHA256_Init and its like: deprecated for EVP in OpenSSL 3, which costs more than a short message.
 */
static struct {
    int (*SHA256_Init)(void *context);
    int (*SHA256_Update)(void *context, const void *bytes, size_t length);
    int (*SHA256_Final)(unsigned char *ret, void *context);
} crypto;

static atomic_bool is_fast;
static atomic_bool takes_blocks; /* and keeps its state as expected */

static void open_crypto(void)
{
    static const char *const sonames[] = {"libcrypto.so.3", NULL};
    static const struct dynlib_symbol symbols[] = {
        {"SHA256_Init", offsetof(__typeof__(crypto), SHA256_Init), true},
        {"SHA256_Update", offsetof(__typeof__(crypto), SHA256_Update), true},
        {"SHA256_Final", offsetof(__typeof__(crypto), SHA256_Final), true},
    };
    static const struct dynlib_spec spec = {"crypto", sonames, symbols, 3};
    static struct dynlib library; /* never closed */
    uint8_t message[3 + DIGEST_PADDING] = "abc";
    struct digest digest, expected;

    if (dynlib_open(&spec, &library, &crypto, NULL) != STATUS_OK)
        return;
    is_fast = true;
    digest = digest_bytes("abc", 3);
    digest_from_hex("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", &expected);
    is_fast = digest_equal(&digest, &expected);
    takes_blocks = is_fast;
    digest = digest_padded(message, 3);
    takes_blocks = is_fast && digest_equal(&digest, &expected);
}

bool digest_accelerate(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, open_crypto);
    return is_fast;
}

void digest_init(struct digest_state *state)
{
    state->fast = is_fast;
    if (state->fast)
        crypto.SHA256_Init(&state->sha256);
    else
        crypto_hash_sha256_init(&state->sha256.sodium);
}

void digest_update(struct digest_state *state, const void *bytes, size_t length)
{
    if (length == 0)
        return;
    if (state->fast)
        crypto.SHA256_Update(&state->sha256, bytes, length);
    else
        crypto_hash_sha256_update(&state->sha256.sodium, bytes, length);
}

struct digest digest_final(struct digest_state *state)
{
    struct digest digest;

    if (state->fast)
        crypto.SHA256_Final(digest.bytes, &state->sha256);
    else
        crypto_hash_sha256_final(&state->sha256.sodium, digest.bytes);
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
    struct digest_state state;
    struct digest digest;
    uint32_t words[8];

    if (!takes_blocks)
        return digest_bytes(message, length);
    message[length] = 0x80;
    memset(message + length + 1, 0, end - length - 9);
    memcpy(message + end - 8, &bits, 8);
    crypto.SHA256_Init(&state.sha256);
    crypto.SHA256_Update(&state.sha256, message, end);
    memcpy(words, &state.sha256, sizeof(words)); /* SHA256_CTX begins with them */
    for (int i = 0; i < 8; i++)
        words[i] = htobe32(words[i]);
    memcpy(digest.bytes, words, sizeof(words));
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
