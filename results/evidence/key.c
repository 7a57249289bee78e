#include "results/evidence/key.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "harness/core/cleanup.h"
#include "harness/core/digest.h"
#include "harness/core/file.h"
#include "harness/core/filter.h"
#include "harness/core/secret.h"
#include "harness/core/text.h"

#define KEY_BASE64_MAX 64  /* of 33 bytes, with NUL */
#define KEY_SEALED_MAX 256 /* of a seed under a passphrase, with NUL */

/* name+id+base64 */
struct key_parts {
    char name[KEY_NAME_MAX + 1];
    uint32_t id;
    bool is_cosigner; /* the bytes were marked with 0x04, not 0x01 */
    uint8_t bytes[32];
};

/* ---- in files ---- */

/* Keys in files: who may read them, their three forms, and where they are. */

#define PRIVATE_PREFIX "PRIVATE+KEY+"
#define SEALED_PREFIX "ENCRYPTED+KEY+"
#define COMMAND_PREFIX "COMMAND+KEY+"
#define FILE_MAX (2 * KEY_TEXT_MAX + KEY_COMMAND_MAX)

static void key_marked_base64(const uint8_t bytes[32], char ret[KEY_BASE64_MAX]);
static enum status key_seal(const struct key *key, const char *passphrase, char ret[KEY_SEALED_MAX],
                            struct error *err);
static bool key_split_text(const char *word, size_t length, struct key_parts *ret);
static enum status key_unseal(const char *line, size_t length, const char *passphrase,
                              struct key *key, struct error *err);
static const char *key_trimmed(const char *text, size_t *ret_length);

static enum status make_folder(const char *path, struct error *err)
{
    AUTO_FREE char *folder = strdup(path);
    char *slash = folder ? strrchr(folder, '/') : NULL;
    enum status status = STATUS_OK;

    if (!folder)
        return error_no_memory(err);
    if (slash && slash != folder) {
        *slash = '\0';
        status = file_make_directories(folder, 0700, err);
    }
    return status;
}

/* A new file that its owner alone can read. */
static enum status write_new(const char *path, const char *text, size_t length, struct error *err)
{
    enum status status = make_folder(path, err);
    int fd;

    TRY(status);
    fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 && errno == EEXIST)
        return error_set(
            err, STATUS_INVALID,
            "%s: is there already, and a key is never overwritten; choose another name "
            "or move it away",
            path);
    if (fd < 0)
        return error_set_errno(err, errno, "%s", path);
    status = file_write_all(fd, text, length, err);
    if (status == STATUS_OK && fsync(fd) != 0)
        status = error_set_errno(err, errno, "%s", path);
    close(fd);
    if (status != STATUS_OK)
        unlink(path);
    return status;
}

enum status key_write(const struct key *key, const char *path, struct error *err)
{
    char base64[KEY_BASE64_MAX], public_text[KEY_TEXT_MAX], text[FILE_MAX];
    enum status status;
    int length;

    if (key->command[0]) {
        length = snprintf(text, sizeof(text), COMMAND_PREFIX "%s\n%s\n",
                          key_public_text(&key->public, public_text), key->command);
        return write_new(path, text, (size_t)length, err);
    }
    key_marked_base64(key->secret, base64);
    length = snprintf(text, sizeof(text), PRIVATE_PREFIX "%s+%08x+%s\n", key->public.name,
                      key_id(&key->public), base64);
    status = write_new(path, text, (size_t)length, err);
    sodium_memzero(base64, sizeof(base64));
    sodium_memzero(text, sizeof(text));
    return status;
}

enum status key_write_sealed(const struct key *key, const char *passphrase, const char *path,
                             struct error *err)
{
    char public_text[KEY_TEXT_MAX], sealed[KEY_SEALED_MAX], text[FILE_MAX];

    TRY(key_seal(key, passphrase, sealed, err));
    return write_new(path, text,
                     (size_t)snprintf(text, sizeof(text), SEALED_PREFIX "%s\n%s\n",
                                      key_public_text(&key->public, public_text), sealed),
                     err);
}

static enum status no_key(const char *path, struct error *err)
{
    return error_set(err, STATUS_INVALID,
                     "%s: holds no key of assay; make one with `assay key "
                     "new`",
                     path);
}

static enum status changed_key(const char *path, struct error *err)
{
    return error_set(err, STATUS_INVALID, "%s: the key has been changed: its id does not match it",
                     path);
}

/* `word` is what follows the prefix: the seed in place of a public key. */
static enum status parse_private(const char *path, const char *word, size_t length, struct key *ret,
                                 struct error *err)
{
    struct key key = {0};
    struct key_parts parts;
    enum status status = STATUS_OK;

    if (!key_split_text(word, length, &parts) || parts.is_cosigner ||
        key_check_name(parts.name, NULL) != STATUS_OK)
        return no_key(path, err);
    memcpy(key.public.name, parts.name, sizeof(key.public.name));
    crypto_sign_seed_keypair(key.public.bytes, key.secret, parts.bytes);
    if (parts.id == key_id(&key.public))
        *ret = key;
    else
        status = changed_key(path, err);
    sodium_memzero(&parts, sizeof(parts));
    key_finish(&key);
    return status;
}

/* The first line of the other two forms, after the prefix; `ret_rest` is the second. */
static enum status parse_public(const char *path, const char *text, size_t length, struct key *ret,
                                const char **ret_rest, struct error *err)
{
    const char *end = memchr(text, '\n', length);
    struct key_parts parts;

    if (!end || !key_split_text(text, (size_t)(end - text), &parts) || parts.is_cosigner ||
        key_check_name(parts.name, NULL) != STATUS_OK || !end[1])
        return no_key(path, err);
    memset(ret, 0, sizeof(*ret));
    memcpy(ret->public.name, parts.name, sizeof(parts.name));
    memcpy(ret->public.bytes, parts.bytes, sizeof(parts.bytes));
    *ret_rest = end + 1;
    return parts.id == key_id(&ret->public) ? STATUS_OK : changed_key(path, err);
}

static enum status unseal(const char *path, const char *sealed, size_t length, struct key *key,
                          struct error *err)
{
    char passphrase[KEY_PASSPHRASE_MAX];
    struct error reason = ERROR_INIT;
    enum status status = key_passphrase(key->public.name, false, passphrase, err);

    if (status == STATUS_OK) {
        status = key_unseal(sealed, length, passphrase, key, &reason);
        if (status != STATUS_OK)
            error_set(err, status, "%s: %s", path, reason.message);
    }
    sodium_memzero(passphrase, sizeof(passphrase));
    return status;
}

static enum status take_command(const char *path, const char *command, size_t length,
                                struct key *key, struct error *err)
{
    if (length >= sizeof(key->command) || memchr(command, '\n', length) ||
        !text_is_utf8(command, length))
        return error_set(err, STATUS_INVALID,
                         "%s: its second line is not a command that signs, of up to %d bytes", path,
                         KEY_COMMAND_MAX - 1);
    memcpy(key->command, command, length);
    return STATUS_OK;
}

static bool begins_with(const char *text, size_t length, const char *prefix)
{
    return length >= strlen(prefix) && memcmp(text, prefix, strlen(prefix)) == 0;
}

/* `public_only`: what needs a passphrase is left out. */
static enum status parse(const char *path, const char *text, bool public_only, struct key *ret,
                         struct error *err)
{
    struct key key = {0};
    const char *rest = NULL;
    size_t length;
    enum status status = STATUS_OK;

    text = key_trimmed(text, &length);
    if (begins_with(text, length, PRIVATE_PREFIX))
        return parse_private(path, text + strlen(PRIVATE_PREFIX), length - strlen(PRIVATE_PREFIX),
                             ret, err);
    if (begins_with(text, length, SEALED_PREFIX)) {
        status = parse_public(path, text + strlen(SEALED_PREFIX), length - strlen(SEALED_PREFIX),
                              &key, &rest, err);
        if (status == STATUS_OK && !public_only)
            status = unseal(path, rest, (size_t)(text + length - rest), &key, err);
    } else if (begins_with(text, length, COMMAND_PREFIX)) {
        status = parse_public(path, text + strlen(COMMAND_PREFIX), length - strlen(COMMAND_PREFIX),
                              &key, &rest, err);
        if (status == STATUS_OK)
            status = take_command(path, rest, (size_t)(text + length - rest), &key, err);
    } else {
        return no_key(path, err);
    }
    if (status == STATUS_OK)
        *ret = key;
    key_finish(&key);
    return status;
}

static enum status check_owner(const char *path, int fd, struct error *err)
{
    struct stat st;

    if (sodium_init() < 0)
        return error_set(err, STATUS_INTERNAL, "libsodium does not start");
    if (fstat(fd, &st) != 0)
        return error_set_errno(err, errno, "%s", path);
    if (!S_ISREG(st.st_mode))
        return error_set(err, STATUS_INVALID, "%s: is not a regular file", path);
    if (st.st_mode & 077)
        return error_set(
            err, STATUS_DENIED,
            "%s: users other than you can use this key (mode %03o); chmod 600 it, and make "
            "a new one if another user may have read it",
            path, st.st_mode & 0777);
    if (st.st_uid != geteuid())
        return error_set(err, STATUS_DENIED, "%s: belongs to another user (uid %u)", path,
                         (unsigned)st.st_uid);
    return STATUS_OK;
}

static enum status read_file(const char *path, bool public_only, struct key *ret, struct error *err)
{
    char text[FILE_MAX + 1] = "";
    enum status status;
    ssize_t length;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0 && errno == ENOENT)
        return error_set(err, STATUS_NOT_FOUND,
                         "%s: there is no such key; `assay key new` makes one", path);
    if (fd < 0)
        return error_set_errno(err, errno, "%s", path);
    status = check_owner(path, fd, err);
    length = status == STATUS_OK ? read(fd, text, sizeof(text) - 1) : 0;
    if (length < 0)
        status = error_set_errno(err, errno, "%s", path);
    close(fd);
    if (status == STATUS_OK)
        status = parse(path, text, public_only, ret, err);
    sodium_memzero(text, sizeof(text));
    return status;
}

enum status key_read(const char *path, struct key *ret, struct error *err)
{
    return read_file(path, false, ret, err);
}

enum status key_read_public(const char *path, struct key_public *ret, struct error *err)
{
    CLEANUP(key_finish) struct key key = {0};

    TRY(read_file(path, true, &key, err));
    *ret = key.public;
    return STATUS_OK;
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
    AUTO_FREE char *path = key_path(NULL);

    if (!path)
        return STATUS_NOT_FOUND;
    if (!(asked && *asked) && access(path, F_OK) != 0 && errno == ENOENT)
        TRY(STATUS_NOT_FOUND);
    else
        TRY(key_read(path, ret, err));
    return STATUS_OK;
}

/*
 * A seed under a passphrase, as a line of an ENCRYPTED+KEY+ file:
 *
 *     argon2id <operations> <bytes of memory> <base64 of a 16-byte salt>
 *         <base64 of a 24-byte nonce and the 48-byte box of the seed>          (one line)
 */

/* ---- under a passphrase ---- */

#define SEED_SIZE 32
#define BOXED_SIZE (crypto_secretbox_NONCEBYTES + SEED_SIZE + crypto_secretbox_MACBYTES)
/* What a changed file may cost at most. */
#define OPERATIONS_MAX 16
#define MEMORY_MAX (UINT64_C(1) << 30)

static enum status derive(const char *passphrase, unsigned long long operations, size_t memory,
                          const uint8_t *salt, uint8_t ret[crypto_secretbox_KEYBYTES],
                          struct error *err)
{
    if (crypto_pwhash(ret, crypto_secretbox_KEYBYTES, passphrase, strlen(passphrase), salt,
                      operations, memory, crypto_pwhash_ALG_ARGON2ID13) != 0)
        return error_no_memory(err);
    return STATUS_OK;
}

/* The key's seed under a passphrase, as one line of text. */
static enum status key_seal(const struct key *key, const char *passphrase, char ret[KEY_SEALED_MAX],
                            struct error *err)
{
    uint8_t salt[crypto_pwhash_SALTBYTES], boxed[BOXED_SIZE], box_key[crypto_secretbox_KEYBYTES];
    char salt_text[32], boxed_text[128];
    enum status status;

    randombytes_buf(salt, sizeof(salt));
    randombytes_buf(boxed, crypto_secretbox_NONCEBYTES);
    status = derive(passphrase, crypto_pwhash_OPSLIMIT_MODERATE, crypto_pwhash_MEMLIMIT_MODERATE,
                    salt, box_key, err);
    if (status == STATUS_OK)
        crypto_secretbox_easy(boxed + crypto_secretbox_NONCEBYTES, key->secret, SEED_SIZE, boxed,
                              box_key);
    sodium_memzero(box_key, sizeof(box_key));
    TRY(status);
    sodium_bin2base64(salt_text, sizeof(salt_text), salt, sizeof(salt),
                      sodium_base64_VARIANT_ORIGINAL);
    sodium_bin2base64(boxed_text, sizeof(boxed_text), boxed, sizeof(boxed),
                      sodium_base64_VARIANT_ORIGINAL);
    snprintf(ret, KEY_SEALED_MAX, "argon2id %llu %zu %s %s",
             (unsigned long long)crypto_pwhash_OPSLIMIT_MODERATE,
             (size_t)crypto_pwhash_MEMLIMIT_MODERATE, salt_text, boxed_text);
    return STATUS_OK;
}

/* Fills in the secret of `key`. DENIED: another passphrase, or changed; INVALID: no such line. */
static enum status key_unseal(const char *line, size_t length, const char *passphrase,
                              struct key *key, struct error *err)
{
    uint8_t salt[crypto_pwhash_SALTBYTES], boxed[BOXED_SIZE], box_key[crypto_secretbox_KEYBYTES];
    uint8_t seed[SEED_SIZE], public_bytes[KEY_PUBLIC_SIZE];
    char copy[KEY_SEALED_MAX], salt_text[64], boxed_text[160];
    unsigned long long operations = 0, memory = 0;
    size_t salt_size = 0, boxed_size = 0;
    int end = -1;
    enum status status = STATUS_OK;

    if (length >= sizeof(copy))
        return error_set(err, STATUS_INVALID, "its second line is not a seed under a passphrase");
    memcpy(copy, line, length);
    copy[length] = '\0';
    if (sscanf(copy, "argon2id %llu %llu %63s %159s%n", &operations, &memory, salt_text, boxed_text,
               &end) != 4 ||
        (size_t)end != length || operations < 1 || operations > OPERATIONS_MAX ||
        memory < crypto_pwhash_MEMLIMIT_MIN || memory > MEMORY_MAX ||
        !key_base64_decode(salt_text, strlen(salt_text), salt, sizeof(salt), &salt_size) ||
        !key_base64_decode(boxed_text, strlen(boxed_text), boxed, sizeof(boxed), &boxed_size) ||
        salt_size != sizeof(salt) || boxed_size != sizeof(boxed))
        return error_set(err, STATUS_INVALID, "its second line is not a seed under a passphrase");
    TRY(derive(passphrase, operations, (size_t)memory, salt, box_key, err));
    if (crypto_secretbox_open_easy(seed, boxed + crypto_secretbox_NONCEBYTES,
                                   sizeof(boxed) - crypto_secretbox_NONCEBYTES, boxed,
                                   box_key) != 0)
        status = error_set(err, STATUS_DENIED, "the passphrase is another one");
    sodium_memzero(box_key, sizeof(box_key));
    TRY(status);
    crypto_sign_seed_keypair(public_bytes, key->secret, seed);
    sodium_memzero(seed, sizeof(seed));
    if (memcmp(public_bytes, key->public.bytes, KEY_PUBLIC_SIZE) != 0)
        return error_set(err, STATUS_INVALID, "its public key is not that of its seed");
    return STATUS_OK;
}

/* ---- where a passphrase comes from ---- */

/* The file's first line. */
static enum status read_line(const char *path, char *ret, struct error *err)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    ssize_t length;

    if (fd < 0)
        return error_set_errno(err, errno, "ASSAY_KEY_PASSPHRASE_FILE: %s", path);
    if (fstat(fd, &st) != 0 || (S_ISREG(st.st_mode) && st.st_mode & 077)) {
        close(fd);
        return error_set(err, STATUS_DENIED,
                         "%s: others than you may read this passphrase; chmod 600 it", path);
    }
    length = read(fd, ret, KEY_PASSPHRASE_MAX);
    close(fd);
    if (length < 0)
        return error_set_errno(err, errno, "ASSAY_KEY_PASSPHRASE_FILE: %s", path);
    if (length > 0 && memchr(ret, '\n', (size_t)length))
        length = (char *)memchr(ret, '\n', (size_t)length) - ret;
    if (length == KEY_PASSPHRASE_MAX)
        return error_set(err, STATUS_INVALID, "%s: a passphrase has at most %d bytes", path,
                         KEY_PASSPHRASE_MAX - 1);
    ret[length] = '\0';
    return STATUS_OK;
}

static enum status ask(const char *about, bool is_new, char *ret, struct error *err)
{
    char prompt[KEY_NAME_MAX + 64], again[KEY_PASSPHRASE_MAX];
    enum status status;

    snprintf(prompt, sizeof(prompt), "%s of the key %s: ", is_new ? "New passphrase" : "Passphrase",
             about);
    status = secret_ask(prompt, ret, KEY_PASSPHRASE_MAX, err);
    if (status == STATUS_UNAVAILABLE)
        return error_set(err, status,
                         "the key %s has a passphrase, and there is no terminal to ask for it on: "
                         "name a file that holds it in ASSAY_KEY_PASSPHRASE_FILE",
                         about);
    if (status != STATUS_OK || !is_new)
        return status;
    status = secret_ask("The same again: ", again, sizeof(again), err);
    if (status == STATUS_OK && strcmp(ret, again))
        status = error_set(err, STATUS_INVALID, "the two are not the same; no key was made");
    sodium_memzero(again, sizeof(again));
    return status;
}

enum status key_passphrase(const char *about, bool is_new, char *ret, struct error *err)
{
    const char *path = getenv("ASSAY_KEY_PASSPHRASE_FILE");

    TRY(path && *path ? read_line(path, ret, err) : ask(about, is_new, ret, err));
    if (!*ret)
        return error_set(err, STATUS_INVALID, "the passphrase is empty");
    return STATUS_OK;
}

/* A key that assay never sees, in a token or on another machine: a command signs with it. */

/* ---- behind a command ---- */

#define TIMEOUT_NS INT64_C(120000000000) /* a person may have to touch a token */
#define ANSWER_MAX 4096

/* As key_sign, by key->command. */
static enum status key_sign_by_command(const struct key *key, const void *bytes, size_t length,
                                       uint8_t *ret, struct error *err)
{
    const struct filter filter = {.command = key->command,
                                  .input = bytes,
                                  .length = length,
                                  .timeout_ns = TIMEOUT_NS,
                                  .max_output = ANSWER_MAX,
                                  .wake_fd = -1};
    uint8_t signature[KEY_SIGNATURE_SIZE];
    size_t answered = 0, trimmed, got = 0;
    struct error reason = ERROR_INIT;
    AUTO_FREE char *answer = NULL;
    enum status status = filter_run(&filter, &answer, &answered, &reason);
    const char *word;

    if (status != STATUS_OK)
        return error_set(err, status, "the command that signs for the key %s failed: %s",
                         key->public.name, reason.message);
    word = key_trimmed(answer, &trimmed);
    if (strlen(answer) != answered ||
        !key_base64_decode(word, trimmed, signature, sizeof(signature), &got) ||
        got != sizeof(signature))
        status = error_set(err, STATUS_INVALID,
                           "the command that signs for the key %s printed no signature: 64 bytes "
                           "in base64 are expected",
                           key->public.name);
    else if (crypto_sign_verify_detached(signature, bytes, length, key->public.bytes) != 0)
        status = error_set(err, STATUS_INVALID,
                           "what the command that signs for the key %s printed is not its "
                           "signature; nothing was signed",
                           key->public.name);
    else
        memcpy(ret, signature, sizeof(signature));
    return status;
}

/* ---- names, text and signatures ---- */

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

/* Base64 of 0x01 and the bytes. */
static void key_marked_base64(const uint8_t bytes[32], char ret[KEY_BASE64_MAX])
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

/* False when the text does not have that form. */
static bool key_split_text(const char *word, size_t length, struct key_parts *ret)
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

/* Without white space around it. */
static const char *key_trimmed(const char *text, size_t *ret_length)
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
    AUTO_FREE char *bytes = NULL;
    size_t length;
    enum status status;

    if (access(word, F_OK) != 0) {
        if (strchr(word, '+'))
            return key_public_parse(word, ret, err);
        return error_set(err, STATUS_NOT_FOUND,
                         "%s: no such file, and not a public key such as `assay key show` prints",
                         word);
    }
    TRY(file_read(word, 4096, &bytes, &length, err));
    status = key_public_parse(bytes, ret, err);
    if (status != STATUS_OK)
        error_prefix(err, "%s", word);
    return status;
}

void key_finish(struct key *key)
{
    if (key)
        sodium_memzero(key, sizeof(*key));
}
