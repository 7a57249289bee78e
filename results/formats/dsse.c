#include "results/formats/dsse.h"

#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "harness/core/cleanup.h"
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
