#include "results/store_internal.h"

#include <stdlib.h>

#include "harness/core/canonical.h"
#include "harness/core/clock.h"

enum status store_add_estimate(struct store *store, int64_t cell, int64_t version,
                               const json_t *json, struct error *err)
{
    const char *verdict = json_string_value(json_object_get(json, "verdict"));
    struct statement statement;
    char *body = NULL;
    enum status status;

    if (!verdict)
        return error_set(err, STATUS_INVALID, "an estimate has no verdict");
    status = canonical_dump(json, &body, err);
    if (status != STATUS_OK)
        return status;
    status = store_change_begin(store, err);
    if (status == STATUS_OK) {
        status = statement_begin(store,
                                 "INSERT INTO estimate (cell, version, created_utc_ns, verdict,"
                                 " body) VALUES (?1, ?2, ?3, ?4, ?5)",
                                 &statement, err);
        if (status == STATUS_OK) {
            statement_i64(&statement, cell);
            statement_i64(&statement, version);
            statement_i64(&statement, clock_utc_ns());
            statement_text(&statement, verdict);
            statement_text(&statement, body);
            status = statement_run(&statement, NULL, err);
        }
        status = store_change_end(store, status, err);
    }
    free(body);
    return status;
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

static enum status insert_comparison(struct store *store, const char *kind, int64_t a, int64_t b,
                                     int64_t version, const char *verdict, const char *body,
                                     struct error *err)
{
    struct statement statement;
    enum status status = statement_begin(
        store,
        "INSERT INTO comparison (kind, a, b, version, body, verdict, created_utc_ns)"
        " VALUES (?1, nullif(?2, 0), nullif(?3, 0), ?4, ?5, ?6, ?7)",
        &statement, err);

    if (status != STATUS_OK)
        return status;
    bind_comparison(&statement, kind, a, b, version, body);
    statement_text(&statement, verdict);
    statement_i64(&statement, clock_utc_ns());
    return statement_run(&statement, NULL, err);
}

static enum status add_body(struct store *store, const char *kind, int64_t a, int64_t b,
                            int64_t version, const char *verdict, const char *body,
                            struct error *err)
{
    enum status status = store_change_begin(store, err);

    if (status == STATUS_OK) {
        status = insert_comparison(store, kind, a, b, version, verdict, body, err);
        status = store_change_end(store, status, err);
    }
    return status;
}

enum status store_add_comparison(struct store *store, const char *kind, int64_t a, int64_t b,
                                 int64_t version, const char *verdict, const json_t *json,
                                 struct error *err)
{
    char *body = NULL;
    enum status status = canonical_dump(json, &body, err);

    if (status == STATUS_OK)
        status = add_body(store, kind, a, b, version, verdict, body, err);
    free(body);
    return status;
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
    enum status status = statement_begin(
        store,
        "SELECT coalesce((SELECT version = ?4 AND body = ?5 FROM comparison WHERE kind = ?1"
        " AND a = ?2 AND b = ?3 ORDER BY id DESC LIMIT 1), 0)",
        &statement, err);

    if (status != STATUS_OK)
        return status;
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
    if (status == STATUS_OK)
        status = check_finished(store, b, err);
    if (status == STATUS_OK)
        status = is_newest(store, kind, a, b, version, body, &known, err);
    if (status == STATUS_OK && !known)
        status = add_body(store, kind, a, b, version, verdict, body, err);
    free(body);
    return status;
}
