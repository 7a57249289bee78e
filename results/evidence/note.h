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
#ifndef ASSAY_RESULTS_EVIDENCE_NOTE_H
#define ASSAY_RESULTS_EVIDENCE_NOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/core/digest.h"
#include "harness/core/text.h"
#include "results/evidence/key.h"

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

/* Appends a line with such a signature of `size` bytes, at most NOTE_LINE_MAX. */
void note_append_line(struct text *out, const char *name, uint32_t id, const uint8_t *signature,
                      size_t size);

enum status note_sign(const struct note *note, const struct key *key,
                      uint8_t ret[KEY_SIGNATURE_SIZE], struct error *err);
bool note_verify(const struct note *note, const uint8_t public_key[KEY_PUBLIC_SIZE],
                 const uint8_t signature[KEY_SIGNATURE_SIZE]);

/* ---- reading one (note_read.c) ---- */

#define NOTE_TEXT_MAX (1 << 16)        /* bytes that are read of a note */
#define NOTE_LINE_MAX 128              /* bytes of one signature */
#define NOTE_LINE_MARK "\xe2\x80\x94 " /* an em dash */

/* A note of a checkpoint. Pointers lead into the text that it was read from. */
struct note_text {
    struct note note;
    char origin[64], kind[32], campaign[80]; /* what note's strings are */
    const char *body;
    size_t length;     /* of the body, its last newline included */
    const char *lines; /* signatures, each ended by a newline; NUL-terminated */
};

/*
 * Reads a note, and nothing but one: its body is what note_append_body makes of its parts. INVALID,
 * with what is wrong.
 */
enum status note_read(const char *text, struct note_text *ret, struct error *err);

/* A line with a signature. */
struct note_line {
    char name[KEY_NAME_MAX + 1];
    uint32_t id;
    uint8_t signature[NOTE_LINE_MAX];
    size_t size; /* of the signature; KEY_SIGNATURE_SIZE, or COSIGNATURE_SIZE, or another */
};

/* The next of the lines at `*at`; false: there is none. INVALID lines end the text: `*ret_good`. */
bool note_next_line(const char **at, struct note_line *ret, bool *ret_good);
/* How many there are; -1: something else is among them. */
int64_t note_count_lines(const char *lines);
/* Whether a line after the first `length` bytes and an empty one is this key's, as an author. */
bool note_text_is_signed(const char *text, size_t length, const struct key_public *key);

/* Whether this is a name that assay gives a log: no other signed text begins with one. */
bool note_is_log_name(const char *name);

#endif
