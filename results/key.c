#include "results/key.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "harness/core/digest.h"
#include "harness/core/file.h"
#include "harness/core/text.h"

#define ALGORITHM_ED25519 1
#define PRIVATE_PREFIX "PRIVATE+KEY+"
#define BASE64_MAX 64 /* of 33 bytes, with NUL */

_Static_assert(KEY_PUBLIC_SIZE == crypto_sign_PUBLICKEYBYTES, "Ed25519");
_Static_assert(KEY_SECRET_SIZE == crypto_sign_SECRETKEYBYTES, "Ed25519");
_Static_assert(KEY_SIGNATURE_SIZE == crypto_sign_BYTES, "Ed25519");

static enum status check_name(const char *name, struct error *err)
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
    struct key key = {0};
    enum status status = name ? check_name(name, err) : STATUS_OK;

    if (status != STATUS_OK)
        return status;
    if (sodium_init() < 0)
        return error_set(err, STATUS_INTERNAL, "libsodium does not start");
    crypto_sign_keypair(key.public.bytes, key.secret);
    if (name)
        snprintf(key.public.name, sizeof(key.public.name), "%s", name);
    else
        name_after_itself(&key.public);
    *ret = key;
    key_finish(&key);
    return STATUS_OK;
}

void key_sign(const struct key *key, const void *bytes, size_t length, uint8_t *ret)
{
    crypto_sign_detached(ret, NULL, bytes, length, key->secret);
}

uint32_t key_id(const struct key_public *key)
{
    static const uint8_t mark[2] = {'\n', ALGORITHM_ED25519};
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

static void marked_base64(const uint8_t bytes[32], char ret[BASE64_MAX])
{
    uint8_t marked[33] = {ALGORITHM_ED25519};

    memcpy(marked + 1, bytes, 32);
    sodium_bin2base64(ret, BASE64_MAX, marked, sizeof(marked), sodium_base64_VARIANT_ORIGINAL);
    sodium_memzero(marked, sizeof(marked));
}

const char *key_public_text(const struct key_public *key, char *ret)
{
    char base64[BASE64_MAX];

    marked_base64(key->bytes, base64);
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

/* Splits name+id+base64 into its parts. False when it does not have that form. */
static bool split_text(const char *word, size_t length, char name[KEY_NAME_MAX + 1],
                       uint32_t *ret_id, uint8_t ret_bytes[32])
{
    const char *first = memchr(word, '+', length);
    uint8_t marked[33];
    size_t got = 0;
    char id[9];
    char *end;

    if (!first || first == word || first - word > KEY_NAME_MAX)
        return false;
    if (length - (size_t)(first - word) < 10 || first[9] != '+')
        return false;
    memcpy(id, first + 1, 8);
    id[8] = '\0';
    *ret_id = (uint32_t)strtoul(id, &end, 16);
    if (*end || strspn(id, "0123456789abcdef") != 8)
        return false;
    if (!key_base64_decode(first + 10, length - (size_t)(first + 10 - word), marked, sizeof(marked),
                           &got) ||
        got != sizeof(marked) || marked[0] != ALGORITHM_ED25519)
        return false;
    memcpy(name, word, (size_t)(first - word));
    name[first - word] = '\0';
    memcpy(ret_bytes, marked + 1, 32);
    sodium_memzero(marked, sizeof(marked));
    return true;
}

static const char *trimmed(const char *text, size_t *ret_length)
{
    size_t length;

    text += strspn(text, " \t\r\n");
    length = strlen(text);
    while (length > 0 && strchr(" \t\r\n", text[length - 1]))
        length--;
    *ret_length = length;
    return text;
}

enum status key_public_parse(const char *text, struct key_public *ret, struct error *err)
{
    struct key_public key;
    size_t length;
    uint32_t id;

    text = trimmed(text, &length);
    if (!split_text(text, length, key.name, &id, key.bytes) || check_name(key.name, NULL))
        return error_set(
            err, STATUS_INVALID,
            "not a public key; it looks like lab.example.org+1a2b3c4d+AX..., as `assay "
            "key show` prints it");
    if (id != key_id(&key))
        return error_set(err, STATUS_INVALID,
                         "the public key %s has been changed: its id %08x does not match it",
                         key.name, id);
    *ret = key;
    return STATUS_OK;
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

/* ---- files ---- */

static enum status make_folder(const char *path, struct error *err)
{
    char *folder = strdup(path);
    char *slash = folder ? strrchr(folder, '/') : NULL;
    enum status status = STATUS_OK;

    if (!folder)
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    if (slash && slash != folder) {
        *slash = '\0';
        status = file_make_directories(folder, 0700, err);
    }
    free(folder);
    return status;
}

enum status key_write(const struct key *key, const char *path, struct error *err)
{
    char base64[BASE64_MAX], text[KEY_TEXT_MAX];
    enum status status = make_folder(path, err);
    int length, fd;

    if (status != STATUS_OK)
        return status;
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 && errno == EEXIST)
        return error_set(
            err, STATUS_INVALID,
            "%s: is there already, and a key is never overwritten; choose another name "
            "or move it away",
            path);
    if (fd < 0)
        return error_set_errno(err, errno, "%s", path);
    marked_base64(key->secret, base64);
    length = snprintf(text, sizeof(text), PRIVATE_PREFIX "%s+%08x+%s\n", key->public.name,
                      key_id(&key->public), base64);
    status = file_write_all(fd, text, (size_t)length, err);
    if (status == STATUS_OK && fsync(fd) != 0)
        status = error_set_errno(err, errno, "%s", path);
    close(fd);
    if (status != STATUS_OK)
        unlink(path);
    sodium_memzero(base64, sizeof(base64));
    sodium_memzero(text, sizeof(text));
    return status;
}

static enum status parse_private(const char *path, const char *text, struct key *ret,
                                 struct error *err)
{
    struct key key = {0};
    uint8_t seed[32];
    uint32_t id;
    size_t length;
    const size_t prefix = strlen(PRIVATE_PREFIX);

    text = trimmed(text, &length);
    if (length < prefix || memcmp(text, PRIVATE_PREFIX, prefix) != 0 ||
        !split_text(text + prefix, length - prefix, key.public.name, &id, seed) ||
        check_name(key.public.name, NULL) != STATUS_OK)
        return error_set(err, STATUS_INVALID,
                         "%s: holds no key of assay; make one with `assay key "
                         "new`",
                         path);
    crypto_sign_seed_keypair(key.public.bytes, key.secret, seed);
    sodium_memzero(seed, sizeof(seed));
    if (id != key_id(&key.public)) {
        key_finish(&key);
        return error_set(err, STATUS_INVALID,
                         "%s: the key has been changed: its id does not match it", path);
    }
    *ret = key;
    key_finish(&key);
    return STATUS_OK;
}

enum status key_read(const char *path, struct key *ret, struct error *err)
{
    char text[2 * KEY_TEXT_MAX] = "";
    struct stat st;
    enum status status;
    ssize_t length;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0 && errno == ENOENT)
        return error_set(err, STATUS_NOT_FOUND,
                         "%s: there is no such key; `assay key new` makes one", path);
    if (fd < 0)
        return error_set_errno(err, errno, "%s", path);
    if (sodium_init() < 0)
        status = error_set(err, STATUS_INTERNAL, "libsodium does not start");
    else if (fstat(fd, &st) != 0)
        status = error_set_errno(err, errno, "%s", path);
    else if (!S_ISREG(st.st_mode))
        status = error_set(err, STATUS_INVALID, "%s: is not a regular file", path);
    else if (st.st_mode & 077)
        status =
            error_set(err, STATUS_DENIED,
                      "%s: others than you may use this key (mode %03o); chmod 600 it, and make "
                      "a new one if somebody may have read it",
                      path, st.st_mode & 0777);
    else if (st.st_uid != geteuid())
        status = error_set(err, STATUS_DENIED, "%s: belongs to another user (uid %u)", path,
                           (unsigned)st.st_uid);
    else
        status = STATUS_OK;
    length = status == STATUS_OK ? read(fd, text, sizeof(text) - 1) : 0;
    if (length < 0)
        status = error_set_errno(err, errno, "%s", path);
    close(fd);
    if (status == STATUS_OK)
        status = parse_private(path, text, ret, err);
    sodium_memzero(text, sizeof(text));
    return status;
}

char *key_folder(void)
{
    const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

    if (config && *config == '/')
        return text_format("%s/assay", config);
    return home && *home ? text_format("%s/.config/assay", home) : NULL;
}

char *key_path(const char *name)
{
    const char *asked = getenv("ASSAY_KEY");
    char *folder, *path;

    if (!name && asked && *asked)
        return strdup(asked);
    folder = key_folder();
    path = folder ? text_format("%s/%s.key", folder, name ? name : "default") : NULL;
    free(folder);
    return path;
}

enum status key_read_default(struct key *ret, struct error *err)
{
    const char *asked = getenv("ASSAY_KEY");
    char *path = key_path(NULL);
    enum status status;

    if (!path)
        return STATUS_NOT_FOUND;
    if (!(asked && *asked) && access(path, F_OK) != 0 && errno == ENOENT)
        status = STATUS_NOT_FOUND;
    else
        status = key_read(path, ret, err);
    free(path);
    return status;
}
