#include "results/store_internal.h"

#include <stdlib.h>
#include <string.h>

#include "harness/core/canonical.h"
#include "harness/core/text.h"

enum status store_insert_content(struct store *store, const char *kind, const void *bytes,
                                 size_t length, struct digest *ret, struct error *err)
{
    struct digest digest = digest_bytes(bytes, length);
    struct statement statement;
    enum status status =
        statement_begin(store,
                        "INSERT INTO content (digest, kind, body) VALUES (?1, ?2, ?3)"
                        " ON CONFLICT (digest) DO NOTHING",
                        &statement, err);

    if (status != STATUS_OK)
        return status;
    statement_digest(&statement, &digest);
    statement_text(&statement, kind);
    if (statement.rc == SQLITE_OK) {
        if (length > STORE_VALUE_MAX)
            statement.rc = SQLITE_TOOBIG;
        else if (text_is_utf8(bytes, length))
            statement.rc =
                sqlite3_bind_text(statement.handle, 3, bytes, (int)length, SQLITE_STATIC);
        else
            statement.rc =
                sqlite3_bind_blob(statement.handle, 3, bytes, (int)length, SQLITE_STATIC);
    }
    status = statement_run(&statement, NULL, err);
    if (status == STATUS_OK)
        *ret = digest;
    return status;
}

enum status store_insert_json(struct store *store, const char *kind, const json_t *json,
                              struct digest *ret, struct error *err)
{
    char *canonical = NULL;
    enum status status = canonical_dump(json, &canonical, err);

    if (status == STATUS_OK)
        status = store_insert_content(store, kind, canonical, strlen(canonical), ret, err);
    free(canonical);
    return status;
}

/* Whether a bundle left this text out, so that there is a placeholder. */
static bool is_withheld(struct store *store, const char *hex)
{
    struct statement statement;
    int64_t count = 0;

    if (statement_begin(store,
                        "SELECT count(*) FROM withheld WHERE table_name = 'content' AND key = ?1",
                        &statement, NULL) != STATUS_OK)
        return false;
    statement_text(&statement, hex);
    return statement_single(&statement, &count, NULL) == STATUS_OK && count > 0;
}

enum status store_get_json(struct store *store, const struct digest *digest, json_t **ret,
                           struct error *err)
{
    struct statement statement;
    struct digest found;
    char hex[DIGEST_HEX_SIZE];
    const char *body;
    size_t length;
    bool row = false;
    enum status status =
        statement_begin(store, "SELECT body FROM content WHERE digest = ?1", &statement, err);

    if (status != STATUS_OK)
        return status;
    statement_digest(&statement, digest);
    status = statement_step(&statement, &row, err);
    if (status == STATUS_OK && !row)
        status = error_set(err, STATUS_NOT_FOUND, "%s: nothing with digest %s is stored",
                           store->path, digest_hex(digest, hex));
    if (status == STATUS_OK) {
        body = sqlite3_column_blob(statement.handle, 0);
        length = (size_t)sqlite3_column_bytes(statement.handle, 0);
        found = digest_bytes(body, body ? length : 0);
        if (digest_equal(&found, digest))
            status = canonical_parse(body ? body : "", length, store->path, ret, err);
        else if (is_withheld(store, digest_hex(digest, hex)))
            status = error_set(err, STATUS_UNAVAILABLE,
                               "content %s was withheld by who made the bundle", hex);
        else
            status = error_set(err, STATUS_CORRUPT,
                               "%s: the content with digest %s has been changed", store->path, hex);
    }
    statement_end(&statement);
    return status;
}

enum status store_put_declaration(struct store *store, const struct store_declaration *declaration,
                                  struct digest *ret, struct error *err)
{
    struct statement statement;
    struct digest digest;
    enum status status = store_change_begin(store, err);

    if (status != STATUS_OK)
        return status;
    status = store_insert_json(store, declaration->kind, declaration->json, &digest, err);
    if (status == STATUS_OK)
        status = statement_begin(store,
                                 "INSERT INTO declaration (kind, name, version, digest, origin)"
                                 " VALUES (?1, ?2, ?3, ?4, ?5)"
                                 " ON CONFLICT (digest, kind, name, version, origin) DO NOTHING",
                                 &statement, err);
    if (status == STATUS_OK) {
        statement_text(&statement, declaration->kind);
        statement_text(&statement, declaration->name);
        statement_i64(&statement, declaration->version);
        statement_digest(&statement, &digest);
        statement_text(&statement, declaration->origin);
        status = statement_run(&statement, NULL, err);
    }
    status = store_change_end(store, status, err);
    if (status == STATUS_OK)
        *ret = digest;
    return status;
}
