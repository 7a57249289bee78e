/*
 * Results as an in-toto Statement v1 (in-toto/attestation, spec/v1). Each subject is a result; its
 * digest is the SHA-256 of the line that `assay export jsonl` writes for it, without the newline.
 * The predicate, PREDICATE_TYPE, has a row a result: what was measured on what, the estimate, and
 * every attempt with its end. results/formats/README.md lists its keys.
 */
#include "results/formats/export.h"

#include <stdlib.h>
#include <string.h>

#include "harness/core/canonical.h"
#include "harness/core/cleanup.h"
#include "harness/core/digest.h"
#include "harness/core/member.h"

#define STATEMENT_TYPE "https://in-toto.io/Statement/v1"
#define PREDICATE_TYPE "urn:assay:predicate:results:1"
#define PAYLOAD_TYPE "application/vnd.in-toto+json"

static json_t *attempts(const json_t *record)
{
    static const char *const names[] = {"sequence", "attempt",        "status",
                                        "message",  "started_utc_ns", "ended_utc_ns"};
    json_t *list = json_array();

    EACH(trial, json_object_get(record, "trials")) {
        json_t *attempt = json_object();

        for (size_t k = 0; k < sizeof(names) / sizeof(names[0]); k++)
            json_object_set(attempt, names[k], json_object_get(trial, names[k]));
        json_array_append_new(list, attempt);
    }
    return list;
}

static json_t *describe(const json_t *record, const json_t *row, const char *urn)
{
    const json_t *identity = json_object_get(record, "identity");
    const json_t *campaign = json_object_get(record, "campaign");
    json_t *json = json_pack(
        "{s:s, s:o, s:o, s:o, s:O?, s:O?, s:O?, s:O?, s:O?, s:O?, s:O?, s:o}", "urn", urn, "row",
        json_deep_copy(row), "identity", json_deep_copy(identity), "device",
        json_deep_copy(json_object_get(record, "device")), "cost", json_object_get(record, "cost"),
        "estimate", json_object_get(record, "estimate"), "imported",
        json_object_get(record, "imported"), "command", json_object_get(campaign, "command"),
        "plan_digest", json_object_get(campaign, "plan_digest"), "tool_version",
        json_object_get(campaign, "tool_version"), "tool_digest",
        json_object_get(campaign, "tool_digest"), "attempts", attempts(record));
    json_t *copy = json_object_get(json, "row");

    /* Row numbers mean nothing outside the database. */
    json_object_del(copy, "cell");
    json_object_del(copy, "campaign");
    json_object_del(json_object_get(json, "device"), "id");
    return json;
}

static enum status add_result(struct store *store, int64_t cell, json_t *subjects, json_t *results,
                              struct error *err)
{
    struct export_request one = {.cells = &cell, .count = 1};
    char hex[DIGEST_HEX_SIZE];
    AUTO_FREE char *line = NULL, *urn = NULL;
    json_auto_t *record = NULL, *rows = NULL;
    struct digest digest;

    TRY(export_record_line(store, cell, &line, &record, err));
    TRY(export_rows(store, &one, &rows, err));
    urn = export_result_urn(record);
    digest = digest_bytes(line, strlen(line));
    if (!urn ||
        json_array_append_new(subjects, json_pack("{s:s, s:{s:s}}", "name", urn, "digest", "sha256",
                                                  digest_hex(&digest, hex))) < 0 ||
        json_array_append_new(results, describe(record, json_array_get(rows, 0), urn)) < 0)
        return error_no_memory(err);
    return STATUS_OK;
}

enum status export_intoto(struct store *store, const struct export_request *request, FILE *file,
                          struct error *err)
{
    json_auto_t *subjects = json_array(), *results = json_array(), *statement = NULL;
    json_t *envelope;
    AUTO_FREE char *payload = NULL;

    for (size_t i = 0; i < request->count; i++)
        TRY(add_result(store, request->cells[i], subjects, results, err));
    statement = json_pack("{s:s, s:O, s:s, s:{s:O}}", "_type", STATEMENT_TYPE, "subject", subjects,
                          "predicateType", PREDICATE_TYPE, "predicate", "results", results);
    if (!statement || !request->signer)
        return export_put_json(json_incref(statement), JSON_INDENT(2), file, err);
    TRY(canonical_dump(statement, &payload, err));
    TRY(dsse_sign(PAYLOAD_TYPE, payload, strlen(payload), request->signer, &envelope, err));
    return export_put_json(envelope, JSON_INDENT(2), file, err);
}
