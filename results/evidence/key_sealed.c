/*
 * A seed under a passphrase, as a line of an ENCRYPTED+KEY+ file:
 *
 *     argon2id <operations> <bytes of memory> <base64 of a 16-byte salt>
 *         <base64 of a 24-byte nonce and the 48-byte box of the seed>          (one line)
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sodium.h>

#include "harness/core/secret.h"
#include "results/evidence/key_internal.h"

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

enum status key_seal(const struct key *key, const char *passphrase, char ret[KEY_SEALED_MAX],
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
    if (status != STATUS_OK)
        return status;
    sodium_bin2base64(salt_text, sizeof(salt_text), salt, sizeof(salt),
                      sodium_base64_VARIANT_ORIGINAL);
    sodium_bin2base64(boxed_text, sizeof(boxed_text), boxed, sizeof(boxed),
                      sodium_base64_VARIANT_ORIGINAL);
    snprintf(ret, KEY_SEALED_MAX, "argon2id %llu %zu %s %s",
             (unsigned long long)crypto_pwhash_OPSLIMIT_MODERATE,
             (size_t)crypto_pwhash_MEMLIMIT_MODERATE, salt_text, boxed_text);
    return STATUS_OK;
}

enum status key_unseal(const char *line, size_t length, const char *passphrase, struct key *key,
                       struct error *err)
{
    uint8_t salt[crypto_pwhash_SALTBYTES], boxed[BOXED_SIZE], box_key[crypto_secretbox_KEYBYTES];
    uint8_t seed[SEED_SIZE], public_bytes[KEY_PUBLIC_SIZE];
    char copy[KEY_SEALED_MAX], salt_text[64], boxed_text[160];
    unsigned long long operations = 0, memory = 0;
    size_t salt_size = 0, boxed_size = 0;
    int end = -1;
    enum status status;

    if (length >= sizeof(copy))
        return error_set(err, STATUS_INVALID, "its second line is no seed under a passphrase");
    memcpy(copy, line, length);
    copy[length] = '\0';
    if (sscanf(copy, "argon2id %llu %llu %63s %159s%n", &operations, &memory, salt_text, boxed_text,
               &end) != 4 ||
        (size_t)end != length || operations < 1 || operations > OPERATIONS_MAX ||
        memory < crypto_pwhash_MEMLIMIT_MIN || memory > MEMORY_MAX ||
        !key_base64_decode(salt_text, strlen(salt_text), salt, sizeof(salt), &salt_size) ||
        !key_base64_decode(boxed_text, strlen(boxed_text), boxed, sizeof(boxed), &boxed_size) ||
        salt_size != sizeof(salt) || boxed_size != sizeof(boxed))
        return error_set(err, STATUS_INVALID, "its second line is no seed under a passphrase");
    status = derive(passphrase, operations, (size_t)memory, salt, box_key, err);
    if (status != STATUS_OK)
        return status;
    if (crypto_secretbox_open_easy(seed, boxed + crypto_secretbox_NONCEBYTES,
                                   sizeof(boxed) - crypto_secretbox_NONCEBYTES, boxed,
                                   box_key) != 0)
        status = error_set(err, STATUS_DENIED, "the passphrase is another one");
    sodium_memzero(box_key, sizeof(box_key));
    if (status != STATUS_OK)
        return status;
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
