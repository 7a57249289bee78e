/* Digests of records, and what is committed to in them. */
#include "results/record/record.h"

#include "harness/core/cleanup.h"

#include <stdlib.h>
#include <string.h>

struct digesting {
    struct digest_state state;
    const struct record_salts *salts;
    const char *done; /* what comes before it is in the digest */
    struct record_count count;
};

bool record_member_salt(const struct record_salts *salts, struct record_span path,
                        struct digest *ret)
{
    const char *hex;
    AUTO_FREE char *key = NULL;

    if (salts && salts->has_all) {
        *ret = digest_hmac(&salts->all, path.bytes, path.length);
        return true;
    }
    key = salts && salts->each ? text_format("%.*s", (int)path.length, path.bytes) : NULL;
    hex = key ? json_string_value(json_object_get(salts->each, key)) : NULL;
    return hex && digest_from_hex(hex, ret);
}

bool record_member_name(const struct record_type *type, struct record_span path, char *ret,
                        size_t size)
{
    const bool is_reading = !strcmp(type->name, "readings");
    const char *end = path.bytes + path.length - 2, *begin = end; /* before `"]` */

    while (begin > path.bytes && begin[-1] != '"')
        begin--;
    return (size_t)snprintf(ret, size, "%s%s%.*s", is_reading ? "" : type->name,
                            is_reading ? "" : ".", (int)(end - begin), begin) < size;
}

struct digest record_commitment(const struct digest *salt, struct record_span value)
{
    struct digest_state state;

    digest_init(&state);
    digest_update(&state, salt->bytes, DIGEST_SIZE);
    digest_update(&state, value.bytes, value.length);
    return digest_final(&state);
}

struct digest record_salt(const struct digest *secret, const char *body, size_t length)
{
    return digest_hmac(secret, body, length);
}

static enum status digest_member(void *context, struct record_span path, struct record_span value,
                                 const struct digest *withheld, struct error *err)
{
    static const char before[] = "{\"commitment\":\"", after[] = "\"}";
    struct digesting *digesting = context;
    struct digest salt, commitment;
    char hex[DIGEST_HEX_SIZE];

    if (withheld)
        commitment = *withheld;
    else if (record_member_salt(digesting->salts, path, &salt))
        commitment = record_commitment(&salt, value);
    else
        return error_set(err, STATUS_CORRUPT, "has no salt for its member %.*s", (int)path.length,
                         path.bytes);
    digest_update(&digesting->state, digesting->done, (size_t)(value.bytes - digesting->done));
    digest_update(&digesting->state, before, sizeof(before) - 1);
    digest_update(&digesting->state, digest_hex(&commitment, hex), DIGEST_HEX_SIZE - 1);
    digest_update(&digesting->state, after, sizeof(after) - 1);
    digesting->done = value.bytes + value.length;
    if (withheld)
        digesting->count.withheld++;
    else
        digesting->count.open++;
    return STATUS_OK;
}

enum status record_digest(const struct record_type *type, const char *body, size_t length,
                          const struct record_salts *salts, struct digest *ret,
                          struct record_count *ret_count, struct error *err)
{
    struct digesting digesting = {.salts = salts, .done = body};
    const struct record_visitor visitor = {
        .context = &digesting, .is_exact = ret_count != NULL, .member = digest_member};

    digest_init(&digesting.state);
    digest_update(&digesting.state, "", 1);
    TRY(record_scan(type, body, length, &visitor, err));
    digest_update(&digesting.state, digesting.done, (size_t)(body + length - digesting.done));
    *ret = digest_final(&digesting.state);
    if (ret_count)
        *ret_count = digesting.count;
    return STATUS_OK;
}

/* ---- making them ---- */

static json_t *digest_json(const char *name, const struct digest *digest)
{
    char hex[DIGEST_HEX_SIZE];

    return json_pack("{s:s}", name, digest_hex(digest, hex));
}

json_t *record_reference(const struct digest *digest)
{
    return digest_json("record", digest);
}

json_t *record_blob(const struct digest *digest)
{
    return digest_json("blob", digest);
}
