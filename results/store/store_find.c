#include "results/store/store_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/shell.h"
#include "harness/core/text.h"

#define CANDIDATES_SHOWN 8

/* Adds the campaigns whose uid begins with `prefix` to `candidates`; counts them. */
static enum status match_uid(struct store *store, const char *prefix, int64_t *ret, int *ret_count,
                             struct text *candidates, struct error *err)
{
    CLEANUP(statement_end) struct statement statement = {0};
    char last[STORE_UID_SIZE + 1];
    enum status status;

    TRY(statement_begin(store,
                        "SELECT id, uid FROM campaign WHERE uid >= ?1"
                        " AND uid < ?2 ORDER BY uid LIMIT 9",
                        &statement, err));
    /* 'g' follows the last hex digit. */
    memcpy(last, prefix, strlen(prefix));
    memcpy(last + strlen(prefix), "g", 2);
    statement_text(&statement, prefix);
    statement_text(&statement, last);
    while (statement_next(&statement, &status, err)) {
        if ((*ret_count)++ == 0)
            *ret = sqlite3_column_int64(statement.handle, 0);
        if (*ret_count <= CANDIDATES_SHOWN)
            text_append_format(candidates, "%s%.16s", *ret_count > 1 ? ", " : "",
                               (const char *)sqlite3_column_text(statement.handle, 1));
        else
            text_append(candidates, " ...");
    }
    return status;
}

static enum status newest(struct store *store, int64_t *ret, struct error *err)
{
    const enum status status = store_ask(
        store,
        "SELECT id FROM (SELECT coalesce((SELECT id FROM campaign g"
        " WHERE NOT " CAMPAIGN_ARCHIVED("g.id") " ORDER BY created_utc_ns DESC, id DESC LIMIT 1),"
                                                " (SELECT id FROM campaign ORDER BY created_utc_ns "
                                                "DESC, id DESC LIMIT 1)) AS id)"
                                                " WHERE id IS NOT NULL",
        0, ret, err);

    if (status == STATUS_NOT_FOUND)
        error_set(err, status,
                  "%s: there are no campaigns in it yet; `assay run first-look --db %s` adds one",
                  store->path, store_word(store));
    return status;
}

enum status store_find_campaign(struct store *store, const char *id, int64_t *ret,
                                struct error *err)
{
    CLEANUP(text_finish) struct text candidates = {0};
    int64_t by_uid = 0, by_row = 0;
    const size_t length = strlen(id);
    int count = 0;
    enum status row = STATUS_NOT_FOUND; /* whether it is a campaign's number */

    if (strcmp(id, "last") == 0)
        return newest(store, ret, err);
    text_init(&candidates);
    if (length >= 4 && length < STORE_UID_SIZE && strspn(id, "0123456789abcdef") == length)
        TRY(match_uid(store, id, &by_uid, &count, &candidates, err));
    if (text_parse_i64(id, &by_row))
        row = store_ask(store, "SELECT id FROM campaign WHERE id = ?1", by_row, &by_row, err);
    if (row != STATUS_NOT_FOUND)
        TRY(row);
    if (count > 1)
        return error_set(err, STATUS_INVALID,
                         "%s: %s is the beginning of several campaigns' ids (%s); give more digits",
                         store->path, id, candidates.data);
    if (count == 1 && row == STATUS_OK && by_row != by_uid)
        return error_set(err, STATUS_INVALID,
                         "%s: %s is both a campaign's number and the beginning of the id %s; give "
                         "more digits of the id",
                         store->path, id, candidates.data);
    if (count == 0 && row != STATUS_OK)
        return error_set(err, STATUS_NOT_FOUND,
                         "%s: there is no campaign %s; `assay results %s%s` lists what there is",
                         store->path, id, store_option(store), store_word(store));
    *ret = count == 1 ? by_uid : by_row;
    return STATUS_OK;
}

/* The campaign's cell with this ordinal; with ordinal 0 its only cell. */
static enum status pick_cell(struct store *store, const char *id, int64_t campaign, int64_t ordinal,
                             int64_t *ret, struct error *err)
{
    struct statement statement;
    int64_t cells = 0;
    enum status status;

    TRY(store_ask(store, "SELECT count(*) FROM cell WHERE campaign = ?1", campaign, &cells, err));
    if (ordinal == 0 && cells != 1)
        return error_set(err, STATUS_INVALID,
                         "%s: campaign %s has %" PRId64 " results; name one, such as %s/1",
                         store->path, id, cells, id);
    TRY(statement_begin(store, "SELECT id FROM cell WHERE campaign = ?1 AND ordinal = ?2",
                        &statement, err));
    statement_i64(&statement, campaign);
    statement_i64(&statement, ordinal ? ordinal : 1);
    status = statement_single(&statement, ret, err);
    if (status == STATUS_NOT_FOUND)
        error_set(err, status, "%s: there is no result %s; the campaign has %" PRId64 " results",
                  store->path, id, cells);
    return status;
}

/* The result that the newest baseline of this name is of. */
static enum status find_baseline(struct store *store, const char *name, int64_t *ret,
                                 struct error *err)
{
    struct statement statement;
    AUTO_FREE char *word = NULL;
    enum status status;

    TRY(statement_begin(store,
                        "SELECT a FROM comparison WHERE kind = 'baseline'"
                        " AND json_extract(body, '$.name') = ?1"
                        " ORDER BY id DESC LIMIT 1",
                        &statement, err));
    statement_text(&statement, name);
    status = statement_single(&statement, ret, err);
    if (status != STATUS_NOT_FOUND)
        return status;
    word = shell_quoted(name);
    return error_set(err, status,
                     "%s: there is no baseline %s; `assay history --baseline %s RESULT --db %s` "
                     "records one",
                     store->path, name, word ? word : "NAME", store_word(store));
}

enum status store_find_cell(struct store *store, const char *id, int64_t *ret, struct error *err)
{
    char campaign_id[STORE_UID_SIZE];
    const char *slash = strchr(id, '/');
    size_t length = slash ? (size_t)(slash - id) : strlen(id);
    int64_t campaign = 0, ordinal = 0;

    if (id[0] == '@')
        return find_baseline(store, id + 1, ret, err);
    if (length >= sizeof(campaign_id) ||
        (slash && (!text_parse_i64(slash + 1, &ordinal) || ordinal < 1)))
        return error_set(err, STATUS_INVALID,
                         "%s is not a result's id; ids look like 9f2c41aa/3 (`assay results %s%s` "
                         "lists them)",
                         id, store_option(store), store_word(store));
    memcpy(campaign_id, id, length);
    campaign_id[length] = '\0';
    TRY(store_find_campaign(store, campaign_id, &campaign, err));
    return pick_cell(store, id, campaign, ordinal, ret, err);
}

enum status store_declaration_origins(struct store *store, const struct digest *digest,
                                      json_t **ret, struct error *err)
{
    CLEANUP(statement_end) struct statement statement = {0};
    json_auto_t *origins = json_array();
    enum status status;

    TRY(statement_begin(store,
                        "SELECT DISTINCT origin FROM declaration WHERE digest = ?1 ORDER BY origin",
                        &statement, err));
    statement_digest(&statement, digest);
    while (statement_next(&statement, &status, err))
        json_array_append_new(origins,
                              json_string((const char *)sqlite3_column_text(statement.handle, 0)));
    TRY(status);
    *ret = json_incref(origins);
    return STATUS_OK;
}
