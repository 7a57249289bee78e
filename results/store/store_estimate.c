#include "results/store/store_internal.h"

#include <stdlib.h>

#include "harness/core/canonical.h"
#include "harness/core/clock.h"

enum status store_add_estimate(struct store *store, int64_t cell, int64_t version,
                               const json_t *json, struct error *err)
{
    struct record_body body;
    enum status status;

    if (!json_is_string(json_object_get(json, "verdict")))
        return error_set(err, STATUS_INVALID, "an estimate has no verdict");
    status = store_change_begin(store, err);
    if (status != STATUS_OK)
        return status;
    body_init(&body, "estimate");
    status = body_cell(store, &body, cell, err);
    body_i64(&body, "version", version);
    body_i64(&body, "created_utc_ns", clock_utc_ns());
    body_json(&body, "body", json_incref((json_t *)(uintptr_t)json));
    status = store_add(store, &body, status, NULL, err);
    return store_change_end(store, status, err);
}

/* What identifies a comparison, as ?1 to ?5. */
static void bind_comparison(struct statement *statement, const char *kind, int64_t a, int64_t b,
                            int64_t version, const char *body)
{
    statement_text(statement, kind);
    statement_i64(statement, a);
    statement_i64(statement, b);
    statement_i64(statement, version);
    statement_text(statement, body);
}

/* {"campaign": ..., "cell": ordinal} */
static enum status put_cell(struct store *store, struct record_body *body, const char *name,
                            int64_t cell, struct error *err)
{
    struct record_body place = {.json = json_object()};
    enum status status = body_cell(store, &place, cell, err);

    body_json(body, name, body_take(&place));
    return status;
}

enum status store_add_comparison(struct store *store, const char *kind, int64_t a, int64_t b,
                                 int64_t version, const char *verdict, const json_t *json,
                                 struct error *err)
{
    struct record_body body;
    enum status status = store_change_begin(store, err);

    if (status != STATUS_OK)
        return status;
    body_init(&body, "comparison");
    if (a)
        status = put_cell(store, &body, "a", a, err);
    if (status == STATUS_OK && b)
        status = put_cell(store, &body, "b", b, err);
    body_i64(&body, "created_utc_ns", clock_utc_ns());
    body_text(&body, "kind", kind);
    body_i64(&body, "version", version);
    body_text(&body, "verdict", verdict);
    body_json(&body, "body", json_incref((json_t *)(uintptr_t)json));
    status = store_add(store, &body, status, NULL, err);
    return store_change_end(store, status, err);
}

static enum status check_finished(struct store *store, int64_t cell, struct error *err)
{
    struct statement statement;
    int64_t finished = 0;
    enum status status = statement_begin(
        store,
        "SELECT coalesce(" CAMPAIGN_STATE("c.campaign") " = 'finished', 0) FROM cell c"
                                                        " WHERE c.id = ?1",
        &statement, err);

    if (status != STATUS_OK)
        return status;
    statement_i64(&statement, cell);
    status = statement_single(&statement, &finished, err);
    if (status == STATUS_OK && !finished)
        status = error_set(err, STATUS_INVALID,
                           "a campaign of theirs is not finished: go on with it first (assay run "
                           "--resume)");
    return status;
}

static enum status is_newest(struct store *store, const char *kind, int64_t a, int64_t b,
                             int64_t version, const char *body, int64_t *ret, struct error *err)
{
    struct statement statement;

    TRY(statement_begin(
        store,
        "SELECT coalesce((SELECT version = ?4 AND body = ?5 FROM comparison WHERE kind = ?1"
        " AND a = ?2 AND b IS nullif(?3, 0) ORDER BY id DESC LIMIT 1), 0)",
        &statement, err));
    bind_comparison(&statement, kind, a, b, version, body);
    return statement_single(&statement, ret, err);
}

enum status store_record_comparison(struct store *store, const char *kind, int64_t a, int64_t b,
                                    int64_t version, const char *verdict, const json_t *json,
                                    struct error *err)
{
    char *body = NULL;
    int64_t known = 0;
    enum status status = canonical_dump(json, &body, err);

    if (status == STATUS_OK)
        status = check_finished(store, a, err);
    if (status == STATUS_OK && b)
        status = check_finished(store, b, err);
    if (status == STATUS_OK)
        status = is_newest(store, kind, a, b, version, body, &known, err);
    free(body);
    if (status == STATUS_OK && !known)
        status = store_add_comparison(store, kind, a, b, version, verdict, json, err);
    return status;
}
