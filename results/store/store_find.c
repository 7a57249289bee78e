#include "results/store/store_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/shell.h"
#include "harness/core/text.h"

#define CANDIDATES_SHOWN 8

/* Adds the campaigns whose uid begins with `prefix` to `candidates`; counts them. */
static enum status match_uid(struct store *store, const char *prefix, int64_t *ret, int *ret_count,
                             struct text *candidates, struct error *err)
{
    struct statement statement;
    char last[STORE_UID_SIZE + 1];
    bool row = false;
    enum status status = statement_begin(store,
                                         "SELECT id, uid FROM campaign WHERE uid >= ?1"
                                         " AND uid < ?2 ORDER BY uid LIMIT 9",
                                         &statement, err);

    if (status != STATUS_OK)
        return status;
    /* 'g' follows the last hex digit. */
    memcpy(last, prefix, strlen(prefix));
    memcpy(last + strlen(prefix), "g", 2);
    statement_text(&statement, prefix);
    statement_text(&statement, last);
    while ((status = statement_step(&statement, &row, err)) == STATUS_OK && row) {
        if ((*ret_count)++ == 0)
            *ret = sqlite3_column_int64(statement.handle, 0);
        if (*ret_count <= CANDIDATES_SHOWN)
            text_append_format(candidates, "%s%.16s", *ret_count > 1 ? ", " : "",
                               (const char *)sqlite3_column_text(statement.handle, 1));
        else
            text_append(candidates, " ...");
    }
    statement_end(&statement);
    return status;
}

static enum status newest(struct store *store, int64_t *ret, struct error *err)
{
    struct statement statement;
    enum status status = statement_begin(
        store,
        "SELECT id FROM (SELECT coalesce((SELECT id FROM campaign g"
        " WHERE NOT " CAMPAIGN_ARCHIVED("g.id") " ORDER BY created_utc_ns DESC, id DESC LIMIT 1),"
                                                " (SELECT id FROM campaign ORDER BY created_utc_ns "
                                                "DESC, id DESC LIMIT 1)) AS id)"
                                                " WHERE id IS NOT NULL",
        &statement, err);

    if (status == STATUS_OK)
        status = statement_single(&statement, ret, err);
    if (status == STATUS_NOT_FOUND)
        error_set(err, status,
                  "%s: there are no campaigns in it yet; `assay run first-look --db %s` adds one",
                  store->path, store_word(store));
    return status;
}

static enum status has_campaign(struct store *store, int64_t id, struct error *err)
{
    struct statement statement;
    int64_t found;

    TRY(statement_begin(store, "SELECT id FROM campaign WHERE id = ?1", &statement, err));
    statement_i64(&statement, id);
    return statement_single(&statement, &found, err);
}

enum status store_find_campaign(struct store *store, const char *id, int64_t *ret,
                                struct error *err)
{
    struct text candidates;
    int64_t by_uid = 0, by_row = 0;
    size_t length = strlen(id);
    int count = 0;
    bool is_row = false;
    enum status status = STATUS_OK;

    if (strcmp(id, "last") == 0)
        return newest(store, ret, err);
    text_init(&candidates);
    if (length >= 4 && length < STORE_UID_SIZE && strspn(id, "0123456789abcdef") == length)
        status = match_uid(store, id, &by_uid, &count, &candidates, err);
    if (status == STATUS_OK && text_parse_i64(id, &by_row)) {
        status = has_campaign(store, by_row, err);
        is_row = status == STATUS_OK;
        if (status == STATUS_NOT_FOUND)
            status = STATUS_OK;
    }
    if (status != STATUS_OK)
        goto done;
    if (count > 1)
        status = error_set(err, STATUS_INVALID,
                           "%s: %s is the beginning of several campaigns' ids (%s); give more "
                           "digits",
                           store->path, id, candidates.data);
    else if (count == 1 && is_row && by_row != by_uid)
        status = error_set(err, STATUS_INVALID,
                           "%s: %s is both a campaign's number and the beginning of the id %s; "
                           "give more digits of the id",
                           store->path, id, candidates.data);
    else if (count == 0 && !is_row)
        status = error_set(err, STATUS_NOT_FOUND,
                           "%s: there is no campaign %s; `assay results %s%s` lists what there is",
                           store->path, id, store_option(store), store_word(store));
    else
        *ret = count == 1 ? by_uid : by_row;
done:
    text_finish(&candidates);
    return status;
}

/* The campaign's cell with this ordinal; with ordinal 0 its only cell. */
static enum status pick_cell(struct store *store, const char *id, int64_t campaign, int64_t ordinal,
                             int64_t *ret, struct error *err)
{
    struct statement statement;
    int64_t cells = 0, found = 0;
    enum status status =
        statement_begin(store, "SELECT count(*) FROM cell WHERE campaign = ?1", &statement, err);

    if (status != STATUS_OK)
        return status;
    statement_i64(&statement, campaign);
    status = statement_single(&statement, &cells, err);
    if (status == STATUS_OK && ordinal == 0 && cells != 1)
        return error_set(err, STATUS_INVALID,
                         "%s: campaign %s has %" PRId64 " results; name one, such as %s/1",
                         store->path, id, cells, id);
    if (status == STATUS_OK)
        status = statement_begin(store, "SELECT id FROM cell WHERE campaign = ?1 AND ordinal = ?2",
                                 &statement, err);
    if (status != STATUS_OK)
        return status;
    statement_i64(&statement, campaign);
    statement_i64(&statement, ordinal ? ordinal : 1);
    status = statement_single(&statement, &found, err);
    if (status == STATUS_NOT_FOUND)
        error_set(err, status, "%s: there is no result %s; the campaign has %" PRId64 " results",
                  store->path, id, cells);
    if (status == STATUS_OK)
        *ret = found;
    return status;
}

/* The result that the newest baseline of this name is of. */
static enum status find_baseline(struct store *store, const char *name, int64_t *ret,
                                 struct error *err)
{
    struct statement statement;
    enum status status = statement_begin(store,
                                         "SELECT a FROM comparison WHERE kind = 'baseline'"
                                         " AND json_extract(body, '$.name') = ?1"
                                         " ORDER BY id DESC LIMIT 1",
                                         &statement, err);

    if (status != STATUS_OK)
        return status;
    statement_text(&statement, name);
    status = statement_single(&statement, ret, err);
    if (status == STATUS_NOT_FOUND) {
        char *word = shell_quoted(name);

        error_set(err, status,
                  "%s: there is no baseline %s; `assay history --baseline %s RESULT --db %s` "
                  "records one",
                  store->path, name, word ? word : "NAME", store_word(store));
        free(word);
    }
    return status;
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
    struct statement statement;
    json_t *origins = NULL;
    bool row = false;
    enum status status = statement_begin(
        store, "SELECT DISTINCT origin FROM declaration WHERE digest = ?1 ORDER BY origin",
        &statement, err);

    if (status != STATUS_OK)
        return status;
    statement_digest(&statement, digest);
    origins = json_array();
    while ((status = statement_step(&statement, &row, err)) == STATUS_OK && row)
        json_array_append_new(origins,
                              json_string((const char *)sqlite3_column_text(statement.handle, 0)));
    statement_end(&statement);
    if (status == STATUS_OK)
        *ret = origins;
    else
        json_decref(origins);
    return status;
}

enum status store_find_result(struct store *store, const char *id, int64_t *ret, char **ret_id,
                              struct error *err)
{
    struct store_filter filter = {.cell = 0};
    json_auto_t *rows = NULL;
    const char *own;

    TRY(store_find_cell(store, id, &filter.cell, err));
    TRY(store_list_results(store, &filter, &rows, err));
    own = json_string_value(json_object_get(json_array_get(rows, 0), "id"));
    *ret_id = own ? text_format("%s", own) : NULL;
    *ret = filter.cell;
    return *ret_id ? STATUS_OK : error_no_memory(err);
}
