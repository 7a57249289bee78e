#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/runner/plan.h"
#include "harness/core/member.h"
#include "harness/core/cleanup.h"
#include "harness/runner/serving_trace.h"

static enum status changed(struct error *err, const char *what, const char *where)
{
    return error_set(err, STATUS_INVALID,
                     "%s%s%s has changed since it was planned: what others may have seen is the "
                     "plan with the old one, so undo the change, or plan again",
                     what, *where ? " " : "", where);
}

static bool is_digest(const struct digest *digest, const json_t *identity, const char *key)
{
    const char *recorded = member_string(identity, key);
    char hex[DIGEST_HEX_SIZE];

    return recorded && !strcmp(digest_hex(digest, hex), recorded);
}

/* The recorded declarations, read anew. */
static enum status check_record(const json_t *record, struct error *err)
{
    const json_t *identity = json_object_get(record, "identity");
    struct protocol protocol;
    CLEANUP(workload_finish) struct workload workload = {0};
    bool same;

    TRY(protocol_from_json(json_object_get(record, "protocol"), &protocol, err));

    same = is_digest(&protocol.digest, identity, "protocol_digest");
    protocol_finish(&protocol);
    if (!same)
        return changed(err, "the recorded protocol", "");
    TRY(workload_from_json(json_object_get(record, "workload"), &workload, err));
    same = is_digest(&workload.digest, identity, "workload_digest");
    return same ? STATUS_OK : changed(err, "the recorded workload", "");
}

/* The files that the declaration was read from: one of those that are here must still be it. */
static enum status check_files(const json_t *origins, const json_t *identity, struct error *err)
{
    const char *other = NULL;

    EACH(origin, origins) {
        const char *path = json_string_value(origin);
        struct workload workload;
        bool same = false;

        if (!path || !strcmp(path, "built-in") || access(path, F_OK) != 0)
            continue;
        if (serving_trace_find(path, &workload, NULL) == STATUS_OK) {
            same = is_digest(&workload.digest, identity, "workload_digest");
            workload_finish(&workload);
        }
        if (same)
            return STATUS_OK;
        other = path;
    }
    return other ? changed(err, "the workload", other) : STATUS_OK;
}

enum status plan_check_cell(struct store *store, int64_t cell, struct error *err)
{
    json_auto_t *record = NULL, *origins = NULL;
    const json_t *identity;
    const char *hex;
    struct digest digest;

    TRY(store_cell_json(store, cell, &record, err));

    identity = json_object_get(record, "identity");
    hex = member_string(identity, "workload_digest");
    TRY(check_record(record, err));
    if ((!hex || !digest_from_hex(hex, &digest)))
        return error_set(err, STATUS_CORRUPT, "a planned cell names no workload");
    TRY(store_declaration_origins(store, &digest, &origins, err));
    return check_files(origins, identity, err);
}
