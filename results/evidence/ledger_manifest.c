/* What there is of campaigns: how many records of each type, and which. */
#include <stdio.h>
#include <string.h>

#include "harness/core/text.h"
#include "harness/core/cleanup.h"
#include "results/evidence/ledger.h"
#include "results/evidence/merkle.h"
#include "results/store/store_internal.h"

/* Ends the group of records of one type: how many, and their tree's hash. */
static bool end_group(json_t *manifest, const char *type, const struct merkle *tree)
{
    const struct digest root = merkle_root(tree);
    char hex[DIGEST_HEX_SIZE];

    return tree->size == 0 ||
           json_object_set_new(manifest, type,
                               json_pack("{s:I, s:s}", "count", (json_int_t)tree->size, "root",
                                         digest_hex(&root, hex))) == 0;
}

/* The manifest of the records that a statement gives as (type, digest), by type; ends it. */
static enum status read_manifest(struct statement *statement, json_t **ret, struct error *err)
{
    struct merkle tree = {0};
    char type[32] = "";
    json_auto_t *manifest = json_object();
    bool row = false, made = manifest != NULL;
    enum status status = STATUS_OK;

    while (made && (status = statement_step(statement, &row, err)) == STATUS_OK && row) {
        const char *next = (const char *)sqlite3_column_text(statement->handle, 0);
        const void *bytes = sqlite3_column_blob(statement->handle, 1);
        struct digest digest = {{0}};

        if (strcmp(type, next ? next : "") != 0) {
            made = end_group(manifest, type, &tree);
            snprintf(type, sizeof(type), "%s", next ? next : "");
            memset(&tree, 0, sizeof(tree));
        }
        if (bytes && sqlite3_column_bytes(statement->handle, 1) == DIGEST_SIZE)
            memcpy(digest.bytes, bytes, DIGEST_SIZE);
        merkle_add(&tree, &digest);
    }
    statement_end(statement);
    made = made && end_group(manifest, type, &tree);
    TRY(status);
    if (!made)
        return error_no_memory(err);
    *ret = json_incref(manifest);
    return STATUS_OK;
}

enum status ledger_manifest(struct store *store, int64_t campaign, int64_t size, json_t **ret,
                            struct error *err)
{
    struct statement statement;
    /* CROSS JOIN: from the campaign on, whose records are few of its log. */

    TRY(statement_begin(
        store,
        "SELECT r.type, r.digest FROM campaign g CROSS JOIN about a ON a.campaign ="
        " g.record CROSS JOIN record r ON r.id = a.record WHERE g.id = ?1 AND r.log ="
        " (SELECT log FROM record WHERE id = g.record) AND r.leaf < ?2 AND NOT"
        " EXISTS (SELECT 1 FROM about o WHERE o.record = a.record AND o.campaign <>"
        " a.campaign) ORDER BY r.type, r.leaf",
        &statement, err));
    statement_i64(&statement, campaign);
    statement_i64(&statement, size);
    return read_manifest(&statement, ret, err);
}

enum status ledger_manifest_together(struct store *store, const int64_t *campaigns, size_t count,
                                     int64_t size, json_t **ret, struct error *err)
{
    struct statement statement;
    CLEANUP(text_finish) struct text rows;

    text_init(&rows);
    for (size_t i = 0; i < count; i++)
        text_append_format(&rows, "%s%lld", i ? "," : "[", (long long)campaigns[i]);
    text_append_char(&rows, ']');
    TRY(text_ok(&rows)
            ? statement_begin(
                  store,
                  "WITH these (record, log) AS MATERIALIZED (SELECT DISTINCT g.record, r.log FROM"
                  " json_each(?1) j JOIN campaign g ON g.id = j.value JOIN record r ON r.id ="
                  " g.record) SELECT r.type, r.digest FROM (SELECT a.record FROM these t JOIN"
                  " about a ON a.campaign = t.record GROUP BY a.record HAVING count(*) > 1) m"
                  " CROSS JOIN record r ON r.id = m.record WHERE r.log = (SELECT log FROM these) "
                  "AND"
                  " r.leaf < ?2 AND NOT EXISTS (SELECT 1 FROM about o WHERE o.record = r.id"
                  " AND o.campaign NOT IN (SELECT record FROM these)) ORDER BY r.type, r.leaf",
                  &statement, err)
            : error_no_memory(err));
    statement_text(&statement, rows.data);
    statement_i64(&statement, size);
    TRY(read_manifest(&statement, ret, err));
    return STATUS_OK;
}

enum status ledger_count_campaigns(struct store *store, int64_t size, int64_t *ret,
                                   struct error *err)
{
    return store_ask(store,
                     "SELECT count(*) FROM campaign g JOIN record r ON r.id ="
                     " g.record WHERE r.log = 1 AND r.leaf < ?1",
                     size, ret, err);
}

enum status ledger_count_same(struct store *store, int64_t campaign, int64_t size, int64_t *ret,
                              struct error *err)
{
    struct statement statement;

    TRY(statement_of(store,
                     "SELECT count(*) FROM campaign g JOIN record r ON r.id = g.record WHERE"
                     " r.log = 1 AND r.leaf < ?2 AND " CAMPAIGN_CELLS(
                         "g") " = (SELECT " CAMPAIGN_CELLS("o") " FROM campaign o WHERE o.id = ?1)",
                     campaign, &statement, err));
    statement_i64(&statement, size);
    return statement_single(&statement, ret, err);
}

enum status ledger_same_plans(struct store *store, json_t **ret, struct error *err)
{
    json_auto_t *all = json_object();
    struct statement statement;
    enum status status = STATUS_OK;

    TRY(statement_begin(store,
                        SAME_PLAN_WITH "SELECT g.id, " SAME_PLAN_HERE("g.id") ", " SAME_PLAN_TOLD(
                            "r.digest") " FROM campaign g JOIN record r ON r.id = g.record",
                        &statement, err));
    while (statement_next(&statement, &status, err))
        json_object_set_new(all, (const char *)sqlite3_column_text(statement.handle, 0),
                            json_pack("{s:I, s:I}", "here",
                                      (json_int_t)sqlite3_column_int64(statement.handle, 1), "told",
                                      (json_int_t)sqlite3_column_int64(statement.handle, 2)));
    TRY(status);
    if (!all)
        return error_no_memory(err);
    *ret = json_incref(all);
    return STATUS_OK;
}

const json_t *ledger_same_plan(const json_t *same_plans, int64_t campaign)
{
    char key[24];

    snprintf(key, sizeof(key), "%lld", (long long)campaign);
    return json_object_get(same_plans, key);
}
