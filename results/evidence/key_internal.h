/* key_internal - what the files of keys share. For results/key*.c alone. */
#ifndef ASSAY_RESULTS_EVIDENCE_KEY_INTERNAL_H
#define ASSAY_RESULTS_EVIDENCE_KEY_INTERNAL_H

#include "results/evidence/key.h"

#define KEY_BASE64_MAX 64  /* of 33 bytes, with NUL */
#define KEY_SEALED_MAX 256 /* of a seed under a passphrase, with NUL */

/* name+id+base64 */
struct key_parts {
    char name[KEY_NAME_MAX + 1];
    uint32_t id;
    bool is_cosigner; /* the bytes were marked with 0x04, not 0x01 */
    uint8_t bytes[32];
};
/* False when the text does not have that form. */
bool key_split_text(const char *word, size_t length, struct key_parts *ret);
/* Base64 of 0x01 and the bytes. */
void key_marked_base64(const uint8_t bytes[32], char ret[KEY_BASE64_MAX]);
/* Without white space around it. */
const char *key_trimmed(const char *text, size_t *ret_length);

/* ---- key_sealed.c ---- */

/* The key's seed under a passphrase, as one line of text. */
enum status key_seal(const struct key *key, const char *passphrase, char ret[KEY_SEALED_MAX],
                     struct error *err);
/* Fills in the secret of `key`. DENIED: another passphrase, or changed; INVALID: no such line. */
enum status key_unseal(const char *line, size_t length, const char *passphrase, struct key *key,
                       struct error *err);

/* ---- key_signer.c ---- */

/* As key_sign, by key->command. */
enum status key_sign_by_command(const struct key *key, const void *bytes, size_t length,
                                uint8_t *ret, struct error *err);

#endif
