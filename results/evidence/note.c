#include "harness/core/cleanup.h"
#include "results/evidence/note.h"

#include <inttypes.h>
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
    CLEANUP(text_finish) struct text body;

    text_init(&body);
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
