#include "harness/core/digest.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/core/file.h"
#include "tests/support/unit.h"

/* FIPS 180-4's example messages (NIST, "SHA256.pdf"), and a million times "a". */
static const struct {
    const char *message, *hex;
} examples[] = {
    {"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
    {"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
    {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
     "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
};
static const char million_hex[] =
    "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";

TEST(examples)
{
    char hex[DIGEST_HEX_SIZE];

    for (size_t i = 0; i < sizeof(examples) / sizeof(*examples); ++i) {
        struct digest digest = digest_bytes(examples[i].message, strlen(examples[i].message));

        assert_string_equal(digest_hex(&digest, hex), examples[i].hex);
    }
}

TEST(stream_and_file)
{
    char path[] = "/tmp/assay-digest-XXXXXX", hex[DIGEST_HEX_SIZE];
    char *million = malloc(1000000);
    struct digest_state stream;
    struct digest digest;
    struct error err = ERROR_INIT;
    uint64_t size = 0;
    int fd = mkstemp(path);

    assert_non_null(million);
    memset(million, 'a', 1000000);
    digest_init(&stream);
    for (size_t at = 0, step = 1; at < 1000000; at += step, step = 2 * step + 1) {
        if (step > 1000000 - at)
            step = 1000000 - at;
        digest_update(&stream, million + at, step);
        digest_update(&stream, NULL, 0);
    }
    digest = digest_final(&stream);
    assert_string_equal(digest_hex(&digest, hex), million_hex);

    assert_true(fd >= 0);
    assert_int_equal(file_write_all(fd, million, 1000000, &err), STATUS_OK);
    close(fd);
    memset(&digest, 0, sizeof(digest));
    assert_int_equal(digest_file(path, &digest, &size, &err), STATUS_OK);
    assert_string_equal(digest_hex(&digest, hex), million_hex);
    assert_true(size == 1000000);
    assert_int_equal(digest_file(path, &digest, NULL, NULL), STATUS_OK);
    unlink(path);
    free(million);
    assert_int_equal(digest_file(path, &digest, &size, &err), STATUS_NOT_FOUND);
    assert_non_null(strstr(err.message, path));
    assert_int_equal(digest_file("/", &digest, &size, &err), STATUS_IO);
}

TEST(hex)
{
    char hex[DIGEST_HEX_SIZE], upper[DIGEST_HEX_SIZE];
    struct digest digest, other;

    memset(&other, 0, sizeof(other));
    assert_true(digest_from_hex(million_hex, &digest));
    assert_string_equal(digest_hex(&digest, hex), million_hex);
    for (size_t i = 0; i < sizeof(upper); ++i)
        upper[i] = hex[i] >= 'a' ? (char)(hex[i] - 32) : hex[i];
    assert_false(digest_from_hex(upper, &other)); /* one spelling */
    assert_true(digest_from_hex(hex, &other));
    assert_true(digest_equal(&digest, &other));
    other.bytes[31] ^= 1;
    assert_false(digest_equal(&digest, &other));
    assert_false(digest_from_hex("", &other));
    assert_false(digest_from_hex(NULL, &other));
    assert_false(digest_from_hex(hex + 1, &other));
    hex[10] = 'g';
    assert_false(digest_from_hex(hex, &other));
}

/* Messages that end at every position of a block, followed by other bytes in memory. */
TEST(padded)
{
    uint8_t message[200 + DIGEST_PADDING], copy[200];

    for (size_t length = 0; length <= sizeof(copy); length++) {
        struct digest padded, expected;

        memset(message, 0xa5, sizeof(message));
        memset(message, (int)length, length);
        memcpy(copy, message, sizeof(copy));
        expected = digest_bytes(copy, length);
        padded = digest_padded(message, length);
        assert_true(digest_equal(&padded, &expected));
        assert_memory_equal(message, copy, length);
    }
}
