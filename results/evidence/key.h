/*
 * key - Ed25519 keys that sign checkpoints, each in its own file.
 *
 * The text forms are those of signed notes (C2SP signed-note; Go's golang.org/x/mod/sumdb/note):
 *
 *     PRIVATE+KEY+<name>+<id>+<base64 of 0x01 and the 32-byte seed>     the file, one line
 *     <name>+<id>+<base64 of 0x01 and the 32-byte public key>           what others are given
 *
 * <id> is eight hex digits: the first four bytes of SHA-256 over name, newline, 0x01, public key. A
 * witness's public key may also be given with 0x04 in place of both 0x01 (C2SP tlog-cosignature).
 *
 * Two other files begin with the public key. The second line of the first is the seed under a
 * passphrase, that of the second a command that signs: it gets the
 * bytes on its standard input and prints the signature in base64.
 *
 *     ENCRYPTED+KEY+<name>+<id>+<base64 of 0x01 and the public key>
 *     COMMAND+KEY+<name>+<id>+<base64 of 0x01 and the public key>
 */
#ifndef ASSAY_RESULTS_EVIDENCE_KEY_H
#define ASSAY_RESULTS_EVIDENCE_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/core/status.h"

#define KEY_NAME_MAX 100 /* bytes */
#define KEY_TEXT_MAX 256 /* of either text form, with NUL */
#define KEY_PUBLIC_SIZE 32
#define KEY_SECRET_SIZE 64
#define KEY_SIGNATURE_SIZE 64
#define KEY_COMMAND_MAX 2048    /* of a signer's command line, with NUL */
#define KEY_PASSPHRASE_MAX 1024 /* with NUL */

struct key_public {
    char name[KEY_NAME_MAX + 1]; /* no blanks, no '+', not empty */
    uint8_t bytes[KEY_PUBLIC_SIZE];
};

struct key {
    struct key_public public;
    uint8_t secret[KEY_SECRET_SIZE]; /* seed and public key, as libsodium has it */
    char command[KEY_COMMAND_MAX];   /* signs in place of `secret`; "": there is none */
};

/*
 * INVALID for a bad name; `ret` is a new random key. NULL names it after itself, "key-" and the
 * first 8 hex digits of SHA-256 over its public key, since its name is in whatever it signs.
 */
enum status key_generate(const char *name, struct key *ret, struct error *err);

/* The first four bytes of the id's hash, big-endian. */
uint32_t key_id(const struct key_public *key);
/* The same with 0x04 in place of 0x01: the id of its cosignatures. */
uint32_t key_cosigner_id(const struct key_public *key);

/*
 * Base64 (RFC 4648, padded) into `ret` of `size` bytes. False for anything else, also for bytes
 * beyond ASCII, which libsodium's decoder takes for the letters that they are without their top
 * bit.
 */
bool key_base64_decode(const char *text, size_t length, void *ret, size_t size, size_t *ret_length);

/* Text forms; `ret` has KEY_TEXT_MAX bytes. */
const char *key_public_text(const struct key_public *key, char *ret);
/* INVALID: not such a text, or its id does not match its key. White space around it is fine. */
enum status key_public_parse(const char *text, struct key_public *ret, struct error *err);
/* The same, and also the form with 0x04 that other programs write for a witness's key. */
enum status key_public_parse_any(const char *text, struct key_public *ret, struct error *err);
/* `word` is the text itself, or the name of a file that holds it. */
enum status key_public_read(const char *word, struct key_public *ret, struct error *err);

/* INVALID: no key can have this name. */
enum status key_check_name(const char *name, struct error *err);

/*
 * Ed25519 signature of the bytes (RFC 8032, pure); `ret` has KEY_SIGNATURE_SIZE bytes. Errors are
 * those of a command that signs: UNAVAILABLE, TIMEOUT, and INVALID for what is not a signature by
 * the key.
 */
enum status key_sign(const struct key *key, const void *bytes, size_t length, uint8_t *ret,
                     struct error *err);

/* Overwrites the secret. Takes NULL. */
void key_finish(struct key *key);

/*
 * Writes a new file (mode 0600) that no one else can read; its folder is made when absent (0700).
 * INVALID when the file is there already: a key is never overwritten.
 */
enum status key_write(const struct key *key, const char *path, struct error *err);
/*
 * The same, under a passphrase: Argon2id makes a key of it for XSalsa20-Poly1305 (libsodium's
 * crypto_pwhash and crypto_secretbox). Takes about a second and 256 MiB.
 */
enum status key_write_sealed(const struct key *key, const char *passphrase, const char *path,
                             struct error *err);
/*
 * A passphrase: the first line of the file that ASSAY_KEY_PASSPHRASE_FILE names, else asked for on
 * the terminal; where `is_new`, twice. `ret` has KEY_PASSPHRASE_MAX bytes. DENIED where others may
 * read the file; UNAVAILABLE: there is neither; INVALID: it is empty or too long, or two differ.
 */
enum status key_passphrase(const char *about, bool is_new, char *ret, struct error *err);

/*
 * Reads a key file, with the passphrase of one that has it (key_passphrase). DENIED when group or
 * others may read or write it, or somebody else owns it, or the passphrase is another; INVALID when
 * it holds no key; NOT_FOUND.
 */
enum status key_read(const char *path, struct key *ret, struct error *err);
/* Its public half alone, which needs no passphrase. */
enum status key_read_public(const char *path, struct key_public *ret, struct error *err);

/*
 * Path of the key: ASSAY_KEY, else assay/<name>.key under XDG_CONFIG_HOME or ~/.config; NULL
 * name: "default". Heap; NULL when out of memory or no home is known. ASSAY_KEY counts only for a
 * NULL name.
 */
char *key_path(const char *name);
/* The folder of the above, without ASSAY_KEY; heap. */
char *key_folder(void);

/*
 * The key that signs when the user names none: NOT_FOUND (no message) when there is no file and
 * ASSAY_KEY names none; other errors as key_read.
 */
enum status key_read_default(struct key *ret, struct error *err);

#endif
