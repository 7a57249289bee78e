/*
 * note - the text of a checkpoint that keys sign (C2SP signed-note and tlog-checkpoint).
 *
 *     <origin>                      name of the log: "assay-log/..."
 *     <size>                        leaves, decimal
 *     <root>                        base64
 *     <kind> <utc_ns> <campaign>    what for, when, uid of the campaign or "-"
 *                                   (an empty line)
 *     — <key name> <base64 of the key id's four bytes and the 64-byte signature>
 *
 * What is signed is everything before the empty line, its newlines included.
 */
#ifndef ASSAY_RESULTS_NOTE_H
#define ASSAY_RESULTS_NOTE_H

#include <stdint.h>

#include "harness/core/digest.h"
#include "harness/core/text.h"
#include "results/key.h"

struct note {
    const char *origin;
    int64_t size;
    struct digest root;
    const char *kind;
    int64_t utc_ns;
    const char *campaign; /* NULL: of no campaign */
};

/* Appends what is signed. */
void note_append_body(struct text *out, const struct note *note);
/* Appends one signature line. */
void note_append_signature(struct text *out, const struct key_public *key,
                           const uint8_t signature[KEY_SIGNATURE_SIZE]);

enum status note_sign(const struct note *note, const struct key *key,
                      uint8_t ret[KEY_SIGNATURE_SIZE], struct error *err);
bool note_verify(const struct note *note, const uint8_t public_key[KEY_PUBLIC_SIZE],
                 const uint8_t signature[KEY_SIGNATURE_SIZE]);

/* What a signed note says; `note` points into `origin`, `kind` and `campaign`. */
struct note_text {
    struct note note;
    char origin[64], kind[32], campaign[80];
    size_t body_length; /* of what is signed */
    int64_t signature_count;
};
/* False: it is no signed note of a log, or more than that. */
bool note_parse(const char *text, struct note_text *ret);
/* Whether this key signed it. */
bool note_is_signed(const char *text, const struct key_public *key);
/* The same of any text, of which `length` bytes are signed, an empty line and signatures follow. */
bool note_text_is_signed(const char *text, size_t length, const struct key_public *key);

/* Whether this is a name that assay gives a ledger: no other signed text begins with one. */
bool note_is_log_name(const char *name);

#endif
