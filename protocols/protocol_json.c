/* A protocol's JSON form, whose canonical digest is its identity, and the way back. */
#include "harness/core/canonical.h"
#include "harness/core/cleanup.h"
#include "protocols/protocol_clauses.h"

enum status protocol_seal(struct protocol *protocol, struct error *err)
{
    json_auto_t *json = type_to_json(&protocol_type, protocol);
    struct digest digest;

    if (!json)
        return error_no_memory(err);
    TRY(canonical_digest(json, &digest, err));
    json_decref(protocol->json);
    protocol->json = json_incref(json);
    protocol->digest = digest;
    return STATUS_OK;
}

#define ORIGIN "stored protocol"

/* A member that this version does not know would silently not be obeyed. */
static enum status check_known(const struct protocol *protocol, const json_t *json,
                               struct error *err)
{
    struct digest digest;

    TRY(canonical_digest(json, &digest, err));
    if (digest_equal(&digest, &protocol->digest))
        return STATUS_OK;
    return error_set(err, STATUS_INVALID,
                     ORIGIN " \"%s\" has clauses that this version of assay does not know; use the "
                            "version that stored it",
                     protocol->name);
}

enum status protocol_from_json(const json_t *json, struct protocol *ret, struct error *err)
{
    CLEANUP(protocol_finish) struct protocol protocol = {0};
    const char *wrong;

    if (!json_is_object(json))
        return error_set(err, STATUS_INVALID, ORIGIN ": no JSON object");
    wrong = type_read(&protocol_type, json, &protocol);
    if (wrong == type_no_memory)
        return error_no_memory(err);
    if (wrong)
        return error_set(err, STATUS_INVALID, ORIGIN ": member \"%s\" is missing or not valid",
                         wrong);
    TRY(protocol_check(&protocol, NULL, ORIGIN, err));
    TRY(protocol_seal(&protocol, err));
    TRY(check_known(&protocol, json, err));
    *ret = protocol;
    protocol = (struct protocol){0};
    return STATUS_OK;
}
