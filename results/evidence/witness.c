#include "results/evidence/witness.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <sodium.h>

#include "harness/core/cleanup.h"
#include "harness/core/file.h"
#include "results/evidence/cosignature.h"
#include "results/evidence/merkle.h"
#include "results/evidence/note.h"

#define STATE_MAX (1 << 24)
#define OLD "old "

/* ---- requests ---- */

struct request {
    bool has_proof;
    int64_t old;
    struct digest path[MERKLE_HEIGHT_MAX + 1];
    size_t path_length;
    struct note_text note;
};

void witness_append_proof(struct text *out, int64_t old, const struct digest *path, size_t count)
{
    char base64[48];

    text_append_format(out, OLD "%" PRId64 "\n", old);
    for (size_t i = 0; i < count; i++) {
        sodium_bin2base64(base64, sizeof(base64), path[i].bytes, DIGEST_SIZE,
                          sodium_base64_VARIANT_ORIGINAL);
        text_append_format(out, "%s\n", base64);
    }
    text_append_char(out, '\n');
}

/* The lines before the note. */
static enum status read_proof(const char **at, struct request *request, struct error *err)
{
    const char *line = *at + strlen(OLD);
    char digits[24] = "";
    size_t length = strcspn(line, "\n"), got;

    request->has_proof = true;
    if (length < sizeof(digits))
        memcpy(digits, line, length);
    if (!text_parse_i64(digits, &request->old) || request->old < 0)
        return error_set(err, STATUS_INVALID, "after \"old\" comes the size of an earlier head");
    for (line += length + (line[length] == '\n'); *line && *line != '\n';
         line += length + (line[length] == '\n')) {
        length = strcspn(line, "\n");
        if (request->path_length == MERKLE_HEIGHT_MAX + 1 ||
            !key_base64_decode(line, length, request->path[request->path_length].bytes, DIGEST_SIZE,
                               &got) ||
            got != DIGEST_SIZE)
            return error_set(err, STATUS_INVALID,
                             "after \"old %" PRId64 "\" come hashes in base64 and an empty line",
                             request->old);
        request->path_length++;
    }
    *at = line + (*line == '\n');
    return STATUS_OK;
}

static enum status read_request(const char *text, struct request *ret, struct error *err)
{
    memset(ret, 0, sizeof(*ret));
    if (!strncmp(text, OLD, strlen(OLD)))
        TRY(read_proof(&text, ret, err));
    return note_read(text, &ret->note, err);
}

/* ---- what has been seen ---- */

/* The newest head of a log. */
struct kept {
    int64_t size; /* 0: none */
    struct digest root;
};

static enum status bad_state(const char *path, struct error *err)
{
    return error_set(err, STATUS_CORRUPT,
                     "%s: is not the file in which a witness keeps what it has seen; nothing was "
                     "signed",
                     path);
}

/* Splits a line "<origin> <size> <root>". */
static bool parse_line(const char *line, size_t length, char origin[64], struct kept *ret)
{
    char copy[160], size[24], root[64], rest;
    size_t got = 0;

    if (length >= sizeof(copy))
        return false;
    memcpy(copy, line, length);
    copy[length] = '\0';
    return sscanf(copy, "%63s %23s %63s%c", origin, size, root, &rest) == 3 &&
           text_parse_i64(size, &ret->size) && ret->size > 0 &&
           key_base64_decode(root, strlen(root), ret->root.bytes, DIGEST_SIZE, &got) &&
           got == DIGEST_SIZE;
}

/* The file, heap; "" where there is none. `rest`: its lines of other logs; NULL: not asked for. */
static enum status read_state(const char *path, const char *origin, struct kept *ret,
                              struct text *rest, struct error *err)
{
    struct error reason = ERROR_INIT;
    AUTO_FREE char *bytes = NULL;
    size_t length = 0;
    enum status status = file_read(path, STATE_MAX, &bytes, &length, &reason);

    memset(ret, 0, sizeof(*ret));
    if (status == STATUS_NOT_FOUND)
        return STATUS_OK;
    if (status != STATUS_OK)
        return error_set(err, status, "%s", reason.message);
    if (strlen(bytes) != length)
        return bad_state(path, err);
    for (const char *at = bytes; *at;) {
        const size_t line = strcspn(at, "\n");
        struct kept kept;
        char name[64];

        if (at[line] != '\n' || !parse_line(at, line, name, &kept))
            return bad_state(path, err);
        if (!strcmp(name, origin))
            *ret = kept;
        else if (rest)
            text_append_bytes(rest, at, line + 1);
        at += line + 1;
    }
    return STATUS_OK;
}

static enum status write_state(const char *path, const struct note *note, struct text *rest,
                               struct error *err)
{
    char base64[48];

    sodium_bin2base64(base64, sizeof(base64), note->root.bytes, DIGEST_SIZE,
                      sodium_base64_VARIANT_ORIGINAL);
    text_append_format(rest, "%s %" PRId64 " %s\n", note->origin, note->size, base64);
    if (!text_ok(rest))
        return error_no_memory(err);
    return file_write_atomic(path, rest->data, rest->length, 0600, err);
}

/* One witness at a time: the file itself is replaced, so the lock is on one beside it. */
static enum status lock_state(const char *path, int *ret, struct error *err)
{
    AUTO_FREE char *name = text_format("%s.lock", path);
    enum status status = STATUS_OK;
    int fd;

    if (!name)
        return error_no_memory(err);
    fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || flock(fd, LOCK_EX) != 0) {
        status = error_set_errno(err, errno, "%s", name);
        if (fd >= 0)
            close(fd);
    } else {
        *ret = fd;
    }
    return status;
}

/* ---- judging ---- */

static enum status check_log(const struct witness *witness, const struct note_text *note,
                             struct error *err)
{
    const char *at = note->lines;
    struct note_line line;
    bool good = true;

    while (note_next_line(&at, &line, &good)) {
        for (size_t i = 0; i < witness->log_key_count; i++) {
            const struct key_public *key = &witness->log_keys[i];

            if (line.size == KEY_SIGNATURE_SIZE && line.id == key_id(key) &&
                !strcmp(line.name, key->name) &&
                note_verify(&note->note, key->bytes, line.signature))
                return STATUS_OK;
        }
    }
    if (!good)
        return error_set(err, STATUS_INVALID, "after the note's empty line come signatures");
    if (witness->log_key_count == 0)
        return STATUS_OK;
    return error_set(
        err, STATUS_DENIED, "the note is not signed by the log's key %s%s; nothing was cosigned",
        witness->log_keys[0].name, witness->log_key_count > 1 ? " or another that you named" : "");
}

static enum status check_grown(const struct request *request, const struct kept *kept,
                               struct error *err)
{
    const struct note *note = &request->note.note;

    if (kept->size == 0)
        return STATUS_OK;
    if (note->size < kept->size)
        return error_set(err, STATUS_DENIED,
                         "this head has %" PRId64 " records, and one of %" PRId64
                         " was seen before: it is an old one, or a part of the log was taken back",
                         note->size, kept->size);
    if (note->size == kept->size && digest_equal(&note->root, &kept->root))
        return STATUS_OK;
    if (note->size == kept->size)
        return error_set(err, STATUS_DENIED,
                         "a head of as many records (%" PRId64
                         ") with another root was seen before: there are two logs of this name, "
                         "or it was rewritten",
                         kept->size);
    if (!request->has_proof || request->old != kept->size)
        return error_set(err, STATUS_DENIED,
                         "that this head continues the one of %" PRId64
                         " records that was seen before is not shown: ask for the note of `assay "
                         "checkpoint export --since %" PRId64 "`",
                         kept->size, kept->size);
    if (!merkle_connects((uint64_t)kept->size, &kept->root, (uint64_t)note->size, &note->root,
                         request->path, request->path_length))
        return error_set(err, STATUS_DENIED,
                         "this head does not continue the one of %" PRId64
                         " records that was seen before: the log was rewritten, or the proof is of "
                         "another",
                         kept->size);
    return STATUS_OK;
}

enum status witness_kept(const struct witness *witness, const char *text, int64_t *ret,
                         struct error *err)
{
    struct request request;
    struct kept kept;

    TRY(read_request(text, &request, err));
    TRY(read_state(witness->state, request.note.note.origin, &kept, NULL, err));
    *ret = kept.size;
    return STATUS_OK;
}

/* While nobody else has the state. */
static enum status cosign(const struct witness *witness, const struct request *request,
                          const struct key *key, int64_t seconds, struct text *out,
                          struct error *err)
{
    uint8_t cosignature[COSIGNATURE_SIZE];
    CLEANUP(text_finish) struct text rest = {0};
    struct kept kept;

    text_init(&rest);
    TRY(read_state(witness->state, request->note.note.origin, &kept, &rest, err));
    TRY(check_grown(request, &kept, err));
    TRY(cosignature_make(key, request->note.body, request->note.length, seconds, cosignature, err));
    /* Kept before anybody gets the cosignature: it must never be given for two that differ. */
    TRY(write_state(witness->state, &request->note.note, &rest, err));
    cosignature_append(out, &key->public, cosignature);
    return STATUS_OK;
}

enum status witness_cosign(const struct witness *witness, const char *text, const struct key *key,
                           int64_t seconds, struct text *out, struct error *err)
{
    struct request request;
    int lock = -1;
    enum status status;

    TRY(read_request(text, &request, err));
    TRY(check_log(witness, &request.note, err));
    TRY(lock_state(witness->state, &lock, err));
    status = cosign(witness, &request, key, seconds, out, err);
    close(lock);
    return status;
}
