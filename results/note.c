#include "results/note.h"

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
