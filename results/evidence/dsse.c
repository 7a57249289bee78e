#include "results/evidence/dsse.h"

#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "harness/core/cleanup.h"
#include "harness/core/member.h"
#include "harness/core/text.h"

char *dsse_pae(const char *type, const void *payload, size_t length, size_t *ret_length)
{
    struct text text = TEXT_INIT;

    text_append_format(&text, "DSSEv1 %zu %s %zu ", strlen(type), type, length);
    text_append_bytes(&text, payload, length);
    *ret_length = text.length;
    return text_steal(&text);
}

static json_t *base64(const void *bytes, size_t length)
{
    size_t size = sodium_base64_encoded_len(length, sodium_base64_VARIANT_ORIGINAL);
    AUTO_FREE char *text = malloc(size);
    json_t *json = NULL;

    if (text)
        json = json_string(
            sodium_bin2base64(text, size, bytes, length, sodium_base64_VARIANT_ORIGINAL));
    return json;
}

enum status dsse_sign(const char *type, const void *payload, size_t length,
                      const struct dsse_signer *signer, json_t **ret, struct error *err)
{
    uint8_t signature[DSSE_SIGNATURE_MAX];
    size_t signature_length = 0, pae_length = 0;
    AUTO_FREE char *pae = dsse_pae(type, payload, length, &pae_length);
    json_t *envelope;

    if (!pae)
        return error_no_memory(err);
    TRY(signer->sign(signer->context, pae, pae_length, signature, &signature_length, err));
    envelope = json_pack("{s:s, s:o, s:[{s:s, s:o}]}", "payloadType", type, "payload",
                         base64(payload, length), "signatures", "keyid", signer->key_id, "sig",
                         base64(signature, signature_length));
    if (!envelope)
        return error_no_memory(err);
    *ret = envelope;
    return STATUS_OK;
}

/* The bytes that a member has in base64, heap and NUL-terminated; NULL: none. */
static char *decode(const json_t *object, const char *name, size_t *ret_length)
{
    const char *text = member_text(object, name);
    const size_t length = strlen(text);
    AUTO_FREE char *bytes = calloc(length + 1, 1);
    char *decoded = NULL;

    if (bytes && key_base64_decode(text, length, bytes, length, ret_length)) {
        bytes[*ret_length] = '\0';
        decoded = bytes;
        bytes = NULL;
    }
    return decoded;
}

static bool is_signed(const json_t *envelope, const char *type, const char *payload, size_t length,
                      const struct key_public *key)
{
    size_t signed_length = 0;
    AUTO_FREE char *pae = dsse_pae(type, payload, length, &signed_length);

    EACH(signature, json_object_get(envelope, "signatures")) {
        size_t size = 0;
        AUTO_FREE char *bytes = decode(signature, "sig", &size);

        if (pae && bytes && size == KEY_SIGNATURE_SIZE &&
            crypto_sign_verify_detached((const uint8_t *)bytes, (const uint8_t *)pae, signed_length,
                                        key->bytes) == 0)
            return true;
    }
    return false;
}

enum status dsse_open(const json_t *envelope, const char *type, const struct key_public *key,
                      char **ret, size_t *ret_length, struct error *err)
{
    size_t length = 0;
    AUTO_FREE char *payload = NULL;

    if (strcmp(member_text(envelope, "payloadType"), type) != 0)
        return error_set(err, STATUS_INVALID, "it is no signed envelope (DSSE) of the type %s",
                         type);
    payload = decode(envelope, "payload", &length);
    if (!payload)
        return error_set(err, STATUS_INVALID, "its payload is not in base64");
    if (key && !is_signed(envelope, type, payload, length, key))
        return error_set(err, STATUS_INVALID, "it has no good signature by the key %s", key->name);
    *ret = payload;
    *ret_length = length;
    payload = NULL;
    return STATUS_OK;
}
