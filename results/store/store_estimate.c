#include "results/store/store_internal.h"

#include <stdlib.h>

#include "harness/core/canonical.h"
#include "harness/core/cleanup.h"
#include "harness/core/clock.h"

enum status store_add_estimate(struct store *store, int64_t cell, int64_t version,
                               const json_t *json, struct error *err)
{
    struct record_body body;

    if (!json_is_string(json_object_get(json, "verdict")))
        return error_set(err, STATUS_INVALID, "an estimate has no verdict");
    body = body_begin(store, "estimate", err);
    body_cell(&body, cell);
    body_i64(&body, "version", version);
    body_i64(&body, "created_utc_ns", clock_utc_ns());
    body_json(&body, "body", json_incref((json_t *)(uintptr_t)json));
    return body_end(&body);
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
static void put_cell(struct record_body *body, const char *name, int64_t cell)
{
    struct record_body place = body_part_of(body);

    body_cell(&place, cell);
    body_part(body, name, &place);
}

enum status store_add_comparison(struct store *store, const char *kind, int64_t a, int64_t b,
                                 int64_t version, const char *verdict, const json_t *json,
                                 struct error *err)
{
    struct record_body body = body_begin(store, "comparison", err);

    if (a)
        put_cell(&body, "a", a);
    if (b)
        put_cell(&body, "b", b);
    body_i64(&body, "created_utc_ns", clock_utc_ns());
    body_text(&body, "kind", kind);
    body_i64(&body, "version", version);
    body_text(&body, "verdict", verdict);
    body_json(&body, "body", json_incref((json_t *)(uintptr_t)json));
    return body_end(&body);
}

static enum status check_finished(struct store *store, int64_t cell, struct error *err)
{
    int64_t finished = 0;

    TRY(store_ask(store,
                  "SELECT coalesce(" CAMPAIGN_STATE("c.campaign") " = 'finished', 0) FROM cell c"
                                                                  " WHERE c.id = ?1",
                  cell, &finished, err));
    return finished ? STATUS_OK
                    : error_set(err, STATUS_INVALID,
                                "a campaign of theirs is not finished: go on with it first (assay "
                                "run --resume)");
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
    AUTO_FREE char *body = NULL;
    int64_t known = 0;

    TRY(canonical_dump(json, &body, err));
    TRY(check_finished(store, a, err));
    if (b)
        TRY(check_finished(store, b, err));
    TRY(is_newest(store, kind, a, b, version, body, &known, err));
    return known ? STATUS_OK : store_add_comparison(store, kind, a, b, version, verdict, json, err);
}
