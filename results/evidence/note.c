#include "results/evidence/note.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <sodium.h>

#include "harness/core/cleanup.h"

void note_append_body(struct text *out, const struct note *note)
{
    char base64[48];

    sodium_bin2base64(base64, sizeof(base64), note->root.bytes, DIGEST_SIZE,
                      sodium_base64_VARIANT_ORIGINAL);
    text_append_format(out, "%s\n%" PRId64 "\n%s\n%s %" PRId64 " %s\n", note->origin, note->size,
                       base64, note->kind, note->utc_ns, note->campaign ? note->campaign : "-");
}

void note_append_line(struct text *out, const char *name, uint32_t id, const uint8_t *signature,
                      size_t size)
{
    uint8_t bytes[4 + NOTE_LINE_MAX];
    char base64[4 * NOTE_LINE_MAX / 3 + 16];

    for (int i = 0; i < 4; i++)
        bytes[i] = (uint8_t)(id >> (24 - 8 * i));
    memcpy(bytes + 4, signature, size);
    sodium_bin2base64(base64, sizeof(base64), bytes, 4 + size, sodium_base64_VARIANT_ORIGINAL);
    text_append_format(out, NOTE_LINE_MARK "%s %s\n", name, base64);
}

void note_append_signature(struct text *out, const struct key_public *key,
                           const uint8_t signature[KEY_SIGNATURE_SIZE])
{
    note_append_line(out, key->name, key_id(key), signature, KEY_SIGNATURE_SIZE);
}

enum status note_sign(const struct note *note, const struct key *key,
                      uint8_t ret[KEY_SIGNATURE_SIZE], struct error *err)
{
    CLEANUP(text_finish) struct text body = TEXT_INIT;

    note_append_body(&body, note);
    if (text_ok(&body))
        TRY(key_sign(key, body.data, body.length, ret, err));
    else
        return error_no_memory(err);
    return STATUS_OK;
}

bool note_verify(const struct note *note, const uint8_t public_key[KEY_PUBLIC_SIZE],
                 const uint8_t signature[KEY_SIGNATURE_SIZE])
{
    struct text body = TEXT_INIT;
    bool good;

    note_append_body(&body, note);
    good = text_ok(&body) && crypto_sign_verify_detached(signature, (const uint8_t *)body.data,
                                                         body.length, public_key) == 0;
    text_finish(&body);
    return good;
}

bool note_is_log_name(const char *name)
{
    static const char mark[] = "assay-log/";
    const size_t length = strlen(mark);

    return !strncmp(name, mark, length) && strlen(name) == length + 32 &&
           strspn(name + length, "0123456789abcdef") == 32;
}

/* ---- reading one ---- */

static enum status no_note(struct error *err, const char *why)
{
    return error_set(err, STATUS_INVALID, "this is not a signed note of a checkpoint: %s", why);
}

/* The next line of the body, without its end; false: it ends, or the line is too long. */
static bool next_line(const char **at, char *ret, size_t size)
{
    const char *end = strchr(*at, '\n');

    if (!end || (size_t)(end - *at) >= size)
        return false;
    memcpy(ret, *at, (size_t)(end - *at));
    ret[end - *at] = '\0';
    *at = end + 1;
    return true;
}

enum status note_read(const char *text, struct note_text *ret, struct error *err)
{
    struct note_text note = {.body = text};
    char size[24], root[64], last[160], rest = 0;
    const char *at = text;
    size_t got = 0;
    struct text body = TEXT_INIT;
    bool same;

    if (!next_line(&at, note.origin, sizeof(note.origin)) || !next_line(&at, size, sizeof(size)) ||
        !next_line(&at, root, sizeof(root)) || !next_line(&at, last, sizeof(last)) || *at != '\n')
        return no_note(err, "it does not have four lines and an empty one");
    note.length = (size_t)(at - text);
    note.lines = at + 1;
    if (!note_is_log_name(note.origin))
        return no_note(err, "its first line is not the name of a log of assay");
    if (!text_parse_i64(size, &note.note.size) || note.note.size < 1 ||
        !key_base64_decode(root, strlen(root), note.note.root.bytes, DIGEST_SIZE, &got) ||
        got != DIGEST_SIZE ||
        sscanf(last, "%31s %" SCNd64 " %79s%c", note.kind, &note.note.utc_ns, note.campaign,
               &rest) != 3)
        return no_note(err, "its second to fourth lines are not size, root, and kind and time");
    *ret = note;
    ret->note.origin = ret->origin;
    ret->note.kind = ret->kind;
    ret->note.campaign = strcmp(ret->campaign, "-") ? ret->campaign : NULL;
    note_append_body(&body, &ret->note);
    same = text_ok(&body) && body.length == note.length && !memcmp(body.data, text, note.length);
    text_finish(&body);
    return same ? STATUS_OK : no_note(err, "a number or a blank is spelled otherwise than in one");
}

static bool parse_line(const char *line, size_t length, struct note_line *ret)
{
    static const char mark[] = NOTE_LINE_MARK;
    const char *name = line + strlen(mark), *blank;
    uint8_t bytes[4 + NOTE_LINE_MAX];
    size_t got = 0;

    if (length < strlen(mark) || memcmp(line, mark, strlen(mark)) != 0)
        return false;
    length -= strlen(mark);
    blank = memchr(name, ' ', length);
    if (!blank || blank == name || blank - name > KEY_NAME_MAX ||
        !text_is_utf8(name, (size_t)(blank - name)) ||
        !key_base64_decode(blank + 1, length - (size_t)(blank + 1 - name), bytes, sizeof(bytes),
                           &got) ||
        got < 5)
        return false;
    memcpy(ret->name, name, (size_t)(blank - name));
    ret->name[blank - name] = '\0';
    ret->id =
        (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
    ret->size = got - 4;
    memcpy(ret->signature, bytes + 4, ret->size);
    return true;
}

bool note_next_line(const char **at, struct note_line *ret, bool *ret_good)
{
    const char *end = strchr(*at, '\n');

    *ret_good = true;
    if (!**at)
        return false;
    *ret_good = end && parse_line(*at, (size_t)(end - *at), ret);
    if (*ret_good)
        *at = end + 1;
    return *ret_good;
}

int64_t note_count_lines(const char *lines)
{
    struct note_line line;
    int64_t count = 0;
    bool good = true;

    while (note_next_line(&lines, &line, &good))
        count++;
    return good ? count : -1;
}

bool note_text_is_signed(const char *text, size_t length, const struct key_public *key)
{
    struct note_line line;
    const char *at;
    bool good;

    if (strnlen(text, length + 1) <= length || text[length] != '\n')
        return false;
    at = text + length + 1;
    while (note_next_line(&at, &line, &good))
        if (line.size == KEY_SIGNATURE_SIZE && line.id == key_id(key) &&
            !strcmp(line.name, key->name) &&
            crypto_sign_verify_detached(line.signature, (const uint8_t *)text, length,
                                        key->bytes) == 0)
            return true;
    return false;
}
