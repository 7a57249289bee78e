#include "results/evidence/ledger_witness.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/clock.h"
#include "results/evidence/cosignature.h"
#include "results/evidence/merkle_levels.h"
#include "results/evidence/note.h"
#include "results/store/store_internal.h"
#include "results/evidence/witness.h"

#define SECOND_NS INT64_C(1000000000)

#define CLOCKS_APART_NS INT64_C(60000000000) /* largest difference of two honest clocks */

/* The body of a checkpoint's note, which is what is signed. */
static void append_body(struct text *out, const struct ledger_checkpoint *checkpoint)
{
    const struct note note = ledger_note_of(checkpoint);

    note_append_body(out, &note);
}

/* ---- storing ---- */

static enum status cosign(struct store *store, const struct ledger_checkpoint *checkpoint,
                          const struct key *key, int64_t seconds, struct error *err)
{
    uint8_t cosignature[COSIGNATURE_SIZE];
    CLEANUP(text_finish) struct text body = {0};
    bool stored = false;

    text_init(&body);
    append_body(&body, checkpoint);
    if (!text_ok(&body))
        return error_no_memory(err);
    TRY(ledger_check_root(store, checkpoint, "no signature was stored", err));
    TRY(ledger_has_signature(store, checkpoint->id, key->public.bytes, COSIGNATURE_SIZE, &stored,
                             err));
    if (stored)
        return error_set(err, STATUS_INVALID, "checkpoint %" PRId64 " is cosigned by %s already",
                         checkpoint->id, key->public.name);
    TRY(cosignature_make(key, body.data, body.length, seconds, cosignature, err));
    return ledger_insert_signature(store, checkpoint->id, &key->public, "witness", clock_utc_ns(),
                                   cosignature, sizeof(cosignature), err);
}

enum status ledger_cosign(struct store *store, const struct ledger_checkpoint *checkpoint,
                          const struct key *key, int64_t seconds, struct error *err)
{
    TRY(store_change_begin(store, err));
    return store_change_end(store, cosign(store, checkpoint, key, seconds, err), err);
}

/* ---- taking a note in ---- */

/* The checkpoint that the note is of. */
static enum status find_noted(struct store *store, const struct note_text *note,
                              struct ledger_checkpoint *ret, struct error *err)
{
    CLEANUP(text_finish) struct text body = {0};
    int64_t id = 0;
    bool same;

    TRY(ledger_find_checkpoint(store, 0, ret, err));
    if (strcmp(ret->origin, note->origin))
        return error_set(err, STATUS_INVALID,
                         "this note is of another log: %s, and the database's is %s", note->origin,
                         ret->origin);
    TRY(store_ask(store, "SELECT coalesce(max(id), 0) FROM checkpoint WHERE log = 1 AND size = ?1",
                  note->note.size, &id, err));
    if (id == 0)
        return error_set(err, STATUS_INVALID,
                         "this note is of a head of %" PRId64
                         " records, and the database has no checkpoint of that size",
                         note->note.size);
    TRY(ledger_find_checkpoint(store, id, ret, err));
    if (!digest_equal(&ret->root, &note->note.root))
        return error_set(err, STATUS_INVALID,
                         "this note has another root than checkpoint %" PRId64
                         ": it is of another copy of the log, or was changed",
                         id);
    text_init(&body);
    append_body(&body, ret);
    same = text_ok(&body) && body.length == note->length &&
           !memcmp(body.data, note->body, note->length);
    return same ? STATUS_OK
                : error_set(err, STATUS_INVALID,
                            "the note's last line is another than that of checkpoint %" PRId64
                            ": what for, when, or of which campaign",
                            id);
}

/* One that is wrong does not keep the others out. */
static enum status __attribute__((format(printf, 2, 3)))
refuse(struct ledger_import *import, const char *format, ...)
{
    va_list arguments;

    if (import->wrong++ > 0)
        return STATUS_OK;
    va_start(arguments, format);
    vsnprintf(import->first_wrong, sizeof(import->first_wrong), format, arguments);
    va_end(arguments);
    return STATUS_OK;
}

static enum status take_line(struct store *store, const struct ledger_checkpoint *checkpoint,
                             const struct text *body, const struct roster *roster,
                             const struct note_line *line, struct ledger_import *import,
                             struct error *err)
{
    const struct roster_key *key = roster_find_line(roster, line);
    const bool cosigned = line->size == COSIGNATURE_SIZE;
    bool stored = false, good;
    char why[80];
    enum status status;

    if (!key) {
        if (import->foreign++ == 0)
            memcpy(import->first_foreign, line->name, sizeof(import->first_foreign));
        return STATUS_OK;
    }
    if (cosigned != key->is_witness)
        return refuse(import, "the roster has %s as %s, and this is %s signature", key->key.name,
                      key->is_witness ? "a witness" : "an author",
                      cosigned ? "a witness's" : "an author's");
    if (cosigned) {
        good = cosignature_verify(key->key.bytes, body->data, body->length, line->signature);
    } else {
        const struct note note = ledger_note_of(checkpoint);

        good = note_verify(&note, key->key.bytes, line->signature);
    }
    if (!good)
        return refuse(import,
                      "the signature of %s is wrong: it is not of this head, or not by that key",
                      key->key.name);
    if (cosigned && cosignature_seconds(line->signature) * INT64_C(1000000000) >
                        clock_utc_ns() + CLOCKS_APART_NS)
        return refuse(import,
                      "the cosignature of %s is of a time more than a minute ahead of this "
                      "machine's clock",
                      key->key.name);
    if (!roster_counts(key,
                       cosigned ? cosignature_seconds(line->signature) * INT64_C(1000000000)
                                : checkpoint->utc_ns,
                       why, sizeof(why)))
        return refuse(import, "the signature of %s does not count: the key %s", key->key.name, why);
    status = ledger_has_signature(store, checkpoint->id, key->key.bytes, line->size, &stored, err);
    if (status == STATUS_OK && !stored)
        status = ledger_insert_signature(store, checkpoint->id, &key->key,
                                         key->is_witness ? "witness" : "author", clock_utc_ns(),
                                         line->signature, line->size, err);
    import->known += stored;
    import->added += !stored;
    return status;
}

static enum status take_lines(struct store *store, const struct ledger_checkpoint *checkpoint,
                              const struct roster *roster, const char *lines,
                              struct ledger_import *import, struct error *err)
{
    struct note_line line;
    CLEANUP(text_finish) struct text body;
    bool good = true;
    size_t count = 0;

    text_init(&body);
    append_body(&body, checkpoint);
    TRY(text_ok(&body) ? ledger_check_root(store, checkpoint, "no signature was stored", err)
                       : error_no_memory(err));
    for (; note_next_line(&lines, &line, &good); count++)
        TRY(take_line(store, checkpoint, &body, roster, &line, import, err));
    if (!good || count == 0)
        return error_set(err, STATUS_INVALID, "%s",
                         good ? "there is no signature in it"
                              : "this is neither a signed note nor lines of signatures");
    return STATUS_OK;
}

enum status ledger_take_note(struct store *store, int64_t id, const struct roster *roster,
                             const char *text, struct ledger_import *ret, struct error *err)
{
    struct ledger_import import = {0};
    struct ledger_checkpoint checkpoint;
    struct note_text note;
    const bool lines_alone = !strncmp(text, NOTE_LINE_MARK, strlen(NOTE_LINE_MARK));
    enum status status;

    TRY(lines_alone ? STATUS_OK : note_read(text, &note, err));
    TRY(store_change_begin(store, err));
    status = lines_alone ? ledger_find_checkpoint(store, id, &checkpoint, err)
                         : find_noted(store, &note, &checkpoint, err);
    if (status == STATUS_OK)
        status =
            take_lines(store, &checkpoint, roster, lines_alone ? text : note.lines, &import, err);
    import.checkpoint = checkpoint.id;
    status = store_change_end(store, status, err);
    if (status == STATUS_OK)
        *ret = import;
    return status;
}

/* ---- asking ---- */

enum status ledger_cosigned(struct store *store, int64_t checkpoint, int64_t *ret,
                            struct error *err)
{
    CLEANUP(statement_end) struct statement statement = {0};
    int64_t newest = 0;
    enum status status;

    TRY(statement_of(store,
                     "SELECT signature FROM signature WHERE checkpoint = ?1 AND length(signature) "
                     "= 72",
                     checkpoint, &statement, err));
    while (statement_next(&statement, &status, err)) {
        const int64_t seconds = cosignature_seconds(sqlite3_column_blob(statement.handle, 0));

        newest = seconds > newest ? seconds : newest;
    }
    *ret = newest;
    return status;
}

enum status ledger_witnesses(struct store *store, int64_t checkpoint, const struct roster *roster,
                             size_t *ret_count, struct text *names, struct error *err)
{
    const struct roster_key *seen[64];
    CLEANUP(statement_end) struct statement statement = {0};
    size_t count = 0;
    enum status status;

    TRY(statement_of(store,
                     "SELECT public_key FROM signature WHERE checkpoint = ?1 AND"
                     " length(signature) = 72 AND length(public_key) = 32 ORDER BY id",
                     checkpoint, &statement, err));
    while (statement_next(&statement, &status, err)) {
        const struct roster_key *key =
            roster_find(roster, sqlite3_column_blob(statement.handle, 0));
        bool is_new = key && key->is_witness && count < sizeof(seen) / sizeof(seen[0]);

        for (size_t i = 0; i < count && is_new; i++)
            is_new = strcmp(seen[i]->key.name, key->key.name) != 0;
        if (!is_new)
            continue;
        text_append_format(names, "%s%s", count ? ", " : "", key->key.name);
        seen[count++] = key;
    }
    *ret_count = count;
    return status;
}

/* The hashes of the first `size` leaves. */
static enum status load_levels(struct store *store, int64_t size, struct merkle_levels *ret,
                               struct error *err)
{
    AUTO_FREE struct digest *leaves = calloc((size_t)size, sizeof(*leaves));
    struct digest *taken;
    CLEANUP(statement_end) struct statement statement = {0};
    int64_t count = 0;
    enum status status;

    if (!leaves)
        return error_no_memory(err);
    TRY(statement_of(store,
                     "SELECT leaf, digest FROM record WHERE log = 1 AND leaf < ?1 ORDER BY leaf",
                     size, &statement, err));
    while (statement_next(&statement, &status, err) &&
           sqlite3_column_int64(statement.handle, 0) == count)
        TRY(statement_read_digest(&statement, 1, &leaves[count++], err));
    TRY(status);
    if (count != size)
        return error_set(err, STATUS_CORRUPT,
                         "%s: a record of the log is missing; run `assay verify %s`", store->path,
                         store_word(store));
    taken = leaves;
    leaves = NULL;
    return merkle_levels_init(ret, taken, (uint64_t)size, err);
}

static enum status append_proof(struct store *store, const struct ledger_checkpoint *checkpoint,
                                int64_t since, struct text *out, struct error *err)
{
    struct digest path[MERKLE_HEIGHT_MAX + 1];
    CLEANUP(merkle_levels_finish) struct merkle_levels levels = {0};

    if (since > checkpoint->size)
        return error_set(err, STATUS_INVALID,
                         "checkpoint %" PRId64 " has %" PRId64 " records, fewer than %" PRId64
                         ": a later one may continue that head",
                         checkpoint->id, checkpoint->size, since);
    TRY(load_levels(store, checkpoint->size, &levels, err));
    witness_append_proof(
        out, since, path,
        merkle_levels_connect(&levels, (uint64_t)since, (uint64_t)checkpoint->size, path));
    return STATUS_OK;
}

enum status ledger_request(struct store *store, const struct ledger_checkpoint *checkpoint,
                           int64_t since, char **ret, struct error *err)
{
    CLEANUP(text_finish) struct text out = {0};
    AUTO_FREE char *note = NULL;

    TRY(ledger_note(store, checkpoint, &note, err));
    text_init(&out);
    if (since > 0)
        TRY(append_proof(store, checkpoint, since, &out, err));
    text_append(&out, note);
    *ret = text_steal(&out);
    return *ret ? STATUS_OK : error_no_memory(err);
}

enum status ledger_plan_checkpoint(struct store *store, int64_t campaign,
                                   struct ledger_checkpoint *ret, struct error *err)
{
    int64_t id = 0;

    TRY(store_ask(store,
                  "SELECT coalesce(min(id), 0) FROM checkpoint WHERE"
                  " campaign = ?1 AND kind = 'plan'",
                  campaign, &id, err));
    if (id == 0)
        return error_set(err, STATUS_NOT_FOUND, "%s: there is no head of that plan", store->path);
    return ledger_find_checkpoint(store, id, ret, err);
}
