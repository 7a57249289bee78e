#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "harness/core/digest.h"
#include "harness/core/cleanup.h"
#include "harness/core/file.h"
#include "harness/core/text.h"
#include "results/evidence/key_internal.h"

#define ALGORITHM_ED25519 1
#define ALGORITHM_COSIGNATURE 4 /* with a time: cosignature.h */

_Static_assert(KEY_PUBLIC_SIZE == crypto_sign_PUBLICKEYBYTES, "Ed25519");
_Static_assert(KEY_SECRET_SIZE == crypto_sign_SECRETKEYBYTES, "Ed25519");
_Static_assert(KEY_SIGNATURE_SIZE == crypto_sign_BYTES, "Ed25519");

enum status key_check_name(const char *name, struct error *err)
{
    size_t length = strlen(name);

    if (length == 0 || length > KEY_NAME_MAX || !text_is_utf8(name, length))
        return error_set(err, STATUS_INVALID, "a key's name has 1 to %d bytes of UTF-8",
                         KEY_NAME_MAX);
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)name[i] <= ' ' || name[i] == '+' || name[i] == 0x7f || name[i] == '/')
            return error_set(err, STATUS_INVALID,
                             "a key's name has no blanks, no '+' and no '/'; write something like "
                             "lab.example.org");
    return STATUS_OK;
}

/* "key-" and the first digits of SHA-256 over the public key: it says nothing of anybody. */
static void name_after_itself(struct key_public *key)
{
    const struct digest digest = digest_bytes(key->bytes, sizeof(key->bytes));
    char hex[DIGEST_HEX_SIZE];

    snprintf(key->name, sizeof(key->name), "key-%.8s", digest_hex(&digest, hex));
}

enum status key_generate(const char *name, struct key *ret, struct error *err)
{
    CLEANUP(key_finish) struct key key = {0};

    TRY(name ? key_check_name(name, err) : STATUS_OK);
    if (sodium_init() < 0)
        return error_set(err, STATUS_INTERNAL, "libsodium does not start");
    crypto_sign_keypair(key.public.bytes, key.secret);
    if (name)
        snprintf(key.public.name, sizeof(key.public.name), "%s", name);
    else
        name_after_itself(&key.public);
    *ret = key;
    return STATUS_OK;
}

enum status key_sign(const struct key *key, const void *bytes, size_t length, uint8_t *ret,
                     struct error *err)
{
    if (key->command[0])
        return key_sign_by_command(key, bytes, length, ret, err);
    crypto_sign_detached(ret, NULL, bytes, length, key->secret);
    return STATUS_OK;
}

static uint32_t id_of(const struct key_public *key, uint8_t algorithm)
{
    const uint8_t mark[2] = {'\n', algorithm};
    struct digest_state state;
    struct digest digest;

    digest_init(&state);
    digest_update(&state, key->name, strlen(key->name));
    digest_update(&state, mark, sizeof(mark));
    digest_update(&state, key->bytes, sizeof(key->bytes));
    digest = digest_final(&state);
    return (uint32_t)digest.bytes[0] << 24 | (uint32_t)digest.bytes[1] << 16 |
           (uint32_t)digest.bytes[2] << 8 | digest.bytes[3];
}

uint32_t key_id(const struct key_public *key)
{
    return id_of(key, ALGORITHM_ED25519);
}

uint32_t key_cosigner_id(const struct key_public *key)
{
    return id_of(key, ALGORITHM_COSIGNATURE);
}

void key_marked_base64(const uint8_t bytes[32], char ret[KEY_BASE64_MAX])
{
    uint8_t marked[33] = {ALGORITHM_ED25519};

    memcpy(marked + 1, bytes, 32);
    sodium_bin2base64(ret, KEY_BASE64_MAX, marked, sizeof(marked), sodium_base64_VARIANT_ORIGINAL);
    sodium_memzero(marked, sizeof(marked));
}

const char *key_public_text(const struct key_public *key, char *ret)
{
    char base64[KEY_BASE64_MAX];

    key_marked_base64(key->bytes, base64);
    snprintf(ret, KEY_TEXT_MAX, "%s+%08x+%s", key->name, key_id(key), base64);
    return ret;
}

bool key_base64_decode(const char *text, size_t length, void *ret, size_t size, size_t *ret_length)
{
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] >= 0x80)
            return false;
    return sodium_base642bin(ret, size, text, length, NULL, ret_length, NULL,
                             sodium_base64_VARIANT_ORIGINAL) == 0;
}

bool key_split_text(const char *word, size_t length, struct key_parts *ret)
{
    const char *first = memchr(word, '+', length);
    uint8_t marked[33];
    size_t got = 0;
    char id[9];
    char *end;

    memset(ret, 0, sizeof(*ret)); /* no rest of the stack behind the name */
    if (!first || first == word || first - word > KEY_NAME_MAX)
        return false;
    if (length - (size_t)(first - word) < 10 || first[9] != '+')
        return false;
    memcpy(id, first + 1, 8);
    id[8] = '\0';
    ret->id = (uint32_t)strtoul(id, &end, 16);
    if (*end || strspn(id, "0123456789abcdef") != 8)
        return false;
    if (!key_base64_decode(first + 10, length - (size_t)(first + 10 - word), marked, sizeof(marked),
                           &got) ||
        got != sizeof(marked) ||
        (marked[0] != ALGORITHM_ED25519 && marked[0] != ALGORITHM_COSIGNATURE))
        return false;
    memcpy(ret->name, word, (size_t)(first - word));
    ret->name[first - word] = '\0';
    ret->is_cosigner = marked[0] == ALGORITHM_COSIGNATURE;
    memcpy(ret->bytes, marked + 1, 32);
    sodium_memzero(marked, sizeof(marked));
    return true;
}

const char *key_trimmed(const char *text, size_t *ret_length)
{
    size_t length;

    text += strspn(text, " \t\r\n");
    length = strlen(text);
    while (length > 0 && strchr(" \t\r\n", text[length - 1]))
        length--;
    *ret_length = length;
    return text;
}

enum status key_public_parse_any(const char *text, struct key_public *ret, struct error *err)
{
    struct key_public key;
    struct key_parts parts;
    size_t length;

    text = key_trimmed(text, &length);
    if (!key_split_text(text, length, &parts) || key_check_name(parts.name, NULL))
        return error_set(
            err, STATUS_INVALID,
            "not a public key; it looks like lab.example.org+1a2b3c4d+AX..., as `assay "
            "key show` prints it");
    memcpy(key.name, parts.name, sizeof(key.name));
    memcpy(key.bytes, parts.bytes, sizeof(key.bytes));
    if (parts.id != (parts.is_cosigner ? key_cosigner_id(&key) : key_id(&key)))
        return error_set(err, STATUS_INVALID,
                         "the public key %s has been changed: its id %08x does not match it",
                         key.name, parts.id);
    *ret = key;
    return STATUS_OK;
}

enum status key_public_parse(const char *text, struct key_public *ret, struct error *err)
{
    struct key_parts parts;
    size_t length;
    const char *word = key_trimmed(text, &length);

    if (key_split_text(word, length, &parts) && parts.is_cosigner)
        return error_set(err, STATUS_INVALID,
                         "that is a witness's key, whose signatures have a time: it belongs into a "
                         "roster (--roster)");
    return key_public_parse_any(text, ret, err);
}

enum status key_public_read(const char *word, struct key_public *ret, struct error *err)
{
    char *bytes;
    size_t length;
    enum status status;

    if (access(word, F_OK) != 0) {
        if (strchr(word, '+'))
            return key_public_parse(word, ret, err);
        return error_set(err, STATUS_NOT_FOUND,
                         "%s: no such file, and not a public key such as `assay key show` prints",
                         word);
    }
    status = file_read(word, 4096, &bytes, &length, err);
    if (status != STATUS_OK)
        return status;
    status = key_public_parse(bytes, ret, err);
    if (status != STATUS_OK)
        error_prefix(err, "%s", word);
    free(bytes);
    return status;
}

void key_finish(struct key *key)
{
    if (key)
        sodium_memzero(key, sizeof(*key));
}
