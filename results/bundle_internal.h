/* bundle_internal - what the files of the bundle's reader share. For results/bundle_*.c alone. */
#ifndef ASSAY_RESULTS_BUNDLE_INTERNAL_H
#define ASSAY_RESULTS_BUNDLE_INTERNAL_H

#include <inttypes.h>

#include "results/bundle.h"
#include "results/merkle.h"
#include "results/note.h"
#include "results/witnessing.h"

/* A leaf with a second proof, under an earlier head, which shows that it was there before. */
struct bundle_early {
    size_t head; /* of bundle_reader.heads */
    int64_t leaf;
    const json_t *path;
    bool seen;
    struct digest content; /* the row is of `content`: its digest */
    bool is_content;
};

/* An earlier head of the same ledger. */
struct bundle_earlier {
    int64_t size;
    struct digest root;
};

/* A campaign of the bundle, and when it was planned. */
struct bundle_planned {
    const char *uid;
    int64_t id;   /* its row there; 0: not read yet */
    int64_t size; /* of the head of its plan; 0: there is none */
    size_t head;
    bool holds, early_trial;
    bool imported; /* another program measured it */
    struct digest plan;
    struct witnessing witnessing;
};

struct bundle_reader {
    const char *path;
    FILE *file;
    const struct bundle_visitor *visitor;
    const struct verify_options *options;
    struct bundle_head head;
    json_t *heads; /* as the first line has them */
    struct bundle_earlier *earlier;
    struct bundle_planned *planned;
    struct bundle_early *early; /* by leaf */
    size_t earlier_count, planned_count, early_count, early_next;
    struct digest_state sha256;
    char *line;
    size_t capacity;
    uint64_t number, bytes, total; /* of the line; read; of the file */
    int64_t rows, withheld, last_leaf;
    bool has_head, has_end, cut;
    const char *damage; /* the latest argument of bundle_damaged; NULL: none */
    char *seal;         /* as the last line has it; NULL: none */
    char seal_body[128];
};

void bundle_found(const struct bundle_reader *reader, enum verify_level level,
                  enum verify_check check, const char *table, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
#define BUNDLE_WRONG(reader, check, table, ...)                                                    \
    bundle_found(reader, VERIFY_WRONG, VERIFY_##check, table, __VA_ARGS__)

/* CORRUPT: the line is none of a bundle. It becomes a finding, so no error is filled. */
enum status bundle_damaged(struct bundle_reader *reader, const char *what);

/* A member of an object that is a text; NULL: it is not there, or something else. */
const char *bundle_text(const json_t *object, const char *key);
/* False when the object has members beyond `names`, or lacks one of those before the NULL. */
bool bundle_members_are(const json_t *object, const char *const *needed,
                        const char *const *possible);
/* An array of hex digests, at most MERKLE_HEIGHT_MAX + 1. */
bool bundle_path(const json_t *path, struct digest ret[MERKLE_HEIGHT_MAX + 1], size_t *ret_count);

/* ---- bundle_row.c ---- */

enum status bundle_take_row(struct bundle_reader *reader, const json_t *line, struct error *err);

/* ---- bundle_note.c ---- */

/* The note's parts; strings in `kind` and `campaign`. False: it is none of this ledger. */
bool bundle_parse_note(const struct bundle_head *head, const char *text, char kind[32],
                       char campaign[STORE_UID_SIZE], struct note *ret);
/* Whether the key (NULL: anybody or no one) signed this text, whose body is that of the note. */
bool bundle_note_is_signed(const char *text, const struct note *note, const struct key_public *key);
/* The head's note and the seal; the head that is expected. */
void bundle_check_notes(struct bundle_reader *reader);

/* ---- bundle_plan.c: earlier heads, and the leaves under them ---- */

enum status bundle_take_heads(struct bundle_reader *reader, const json_t *line, struct error *err);
/* A row whose proof holds. */
void bundle_look_at_row(struct bundle_reader *reader, const struct bundle_row *row,
                        const struct digest *leaf);
/* When all rows are read: was each campaign planned before it was run? */
void bundle_check_plans(struct bundle_reader *reader);
void bundle_finish_heads(struct bundle_reader *reader);

#endif
