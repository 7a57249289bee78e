#include "results/note.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <sodium.h>

void note_append_body(struct text *out, const struct note *note)
{
    char base64[48];

    sodium_bin2base64(base64, sizeof(base64), note->root.bytes, DIGEST_SIZE,
                      sodium_base64_VARIANT_ORIGINAL);
    text_append_format(out, "%s\n%" PRId64 "\n%s\n%s %" PRId64 " %s\n", note->origin, note->size,
                       base64, note->kind, note->utc_ns, note->campaign ? note->campaign : "-");
}

void note_append_signature(struct text *out, const struct key_public *key,
                           const uint8_t signature[KEY_SIGNATURE_SIZE])
{
    uint8_t bytes[4 + KEY_SIGNATURE_SIZE];
    char base64[96];
    uint32_t id = key_id(key);

    for (int i = 0; i < 4; i++)
        bytes[i] = (uint8_t)(id >> (24 - 8 * i));
    memcpy(bytes + 4, signature, KEY_SIGNATURE_SIZE);
    sodium_bin2base64(base64, sizeof(base64), bytes, sizeof(bytes), sodium_base64_VARIANT_ORIGINAL);
    text_append_format(out, "\xe2\x80\x94 %s %s\n", key->name, base64);
}

enum status note_sign(const struct note *note, const struct key *key,
                      uint8_t ret[KEY_SIGNATURE_SIZE], struct error *err)
{
    struct text body;
    enum status status = STATUS_OK;

    text_init(&body);
    note_append_body(&body, note);
    if (text_ok(&body))
        crypto_sign_detached(ret, NULL, (const uint8_t *)body.data, body.length, key->secret);
    else
        status = error_set(err, STATUS_NO_MEMORY, "out of memory");
    text_finish(&body);
    return status;
}

bool note_verify(const struct note *note, const uint8_t public_key[KEY_PUBLIC_SIZE],
                 const uint8_t signature[KEY_SIGNATURE_SIZE])
{
    struct text body;
    bool good;

    text_init(&body);
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

#define SIGNATURE_MARK "\xe2\x80\x94 " /* an em dash */

/* The 64 bytes that a signature line holds for a key; false when the line is of another key. */
static bool signature_of(const char *line, size_t length, const struct key_public *key,
                         uint8_t ret[KEY_SIGNATURE_SIZE])
{
    static const char mark[] = SIGNATURE_MARK;
    const size_t name = strlen(key->name);
    uint8_t bytes[4 + KEY_SIGNATURE_SIZE];
    const uint32_t id = key_id(key);
    size_t got = 0;

    if (length < strlen(mark) + name + 1 || memcmp(line, mark, strlen(mark)) != 0 ||
        memcmp(line + strlen(mark), key->name, name) != 0 || line[strlen(mark) + name] != ' ')
        return false;
    line += strlen(mark) + name + 1;
    length -= strlen(mark) + name + 1;
    if (!key_base64_decode(line, length, bytes, sizeof(bytes), &got) || got != sizeof(bytes) ||
        bytes[0] != (uint8_t)(id >> 24) || bytes[1] != (uint8_t)(id >> 16) ||
        bytes[2] != (uint8_t)(id >> 8) || bytes[3] != (uint8_t)id)
        return false;
    memcpy(ret, bytes + 4, KEY_SIGNATURE_SIZE);
    return true;
}

/* How many signature lines there are, of any key; -1: something else is among them. */
static int64_t count_signatures(const char *lines)
{
    uint8_t bytes[4 + KEY_SIGNATURE_SIZE];
    int64_t count = 0;

    for (; *lines; count++) {
        const char *end = strchr(lines, '\n'), *name = lines + strlen(SIGNATURE_MARK), *blank;
        size_t got = 0;

        if (!end || strncmp(lines, SIGNATURE_MARK, strlen(SIGNATURE_MARK)) != 0 ||
            !(blank = memchr(name, ' ', (size_t)(end - name))) || blank == name ||
            !key_base64_decode(blank + 1, (size_t)(end - blank - 1), bytes, sizeof(bytes), &got) ||
            got != sizeof(bytes))
            return -1;
        lines = end + 1;
    }
    return count;
}

bool note_text_is_signed(const char *text, size_t length, const struct key_public *key)
{
    uint8_t signature[KEY_SIGNATURE_SIZE];

    if (strnlen(text, length + 1) <= length || text[length] != '\n')
        return false;
    for (const char *at = text + length + 1; *at;) {
        const size_t line = strcspn(at, "\n");

        if (signature_of(at, line, key, signature) &&
            crypto_sign_verify_detached(signature, (const uint8_t *)text, length, key->bytes) == 0)
            return true;
        at += line + (at[line] == '\n');
    }
    return false;
}

bool note_parse(const char *text, struct note_text *ret)
{
    const char *lines[5] = {text};
    char root[64];
    size_t got = 0;
    struct text body;
    bool same;

    memset(ret, 0, sizeof(*ret));
    for (int i = 1; i < 5; i++) {
        lines[i] = strchr(lines[i - 1], '\n');
        if (!lines[i]++)
            return false;
    }
    if (lines[1] - lines[0] > (long)sizeof(ret->origin))
        return false;
    memcpy(ret->origin, text, (size_t)(lines[1] - text - 1));
    if (sscanf(lines[1], "%" SCNd64, &ret->note.size) != 1 || sscanf(lines[2], "%63s", root) != 1 ||
        !key_base64_decode(root, strlen(root), ret->note.root.bytes, DIGEST_SIZE, &got) ||
        got != DIGEST_SIZE ||
        sscanf(lines[3], "%31s %" SCNd64 " %79s", ret->kind, &ret->note.utc_ns, ret->campaign) != 3)
        return false;
    ret->note.origin = ret->origin;
    ret->note.kind = ret->kind;
    ret->note.campaign = strcmp(ret->campaign, "-") ? ret->campaign : NULL;
    ret->body_length = (size_t)(lines[4] - text);
    text_init(&body);
    note_append_body(&body, &ret->note); /* one spelling alone */
    same = text_ok(&body) && body.length == ret->body_length &&
           memcmp(body.data, text, body.length) == 0 && *lines[4] == '\n';
    text_finish(&body);
    ret->signature_count = same ? count_signatures(lines[4] + 1) : -1;
    return same && ret->signature_count >= 0;
}

bool note_is_signed(const char *text, const struct key_public *key)
{
    struct note_text parsed;

    return note_parse(text, &parsed) && note_text_is_signed(text, parsed.body_length, key);
}
