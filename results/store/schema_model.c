#include "results/store/schema_model.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/shell.h"
#include "harness/core/text.h"
#include "results/record/record.h"
#include "results/store/store_internal.h"

#define NAME_MAX_SHOWN 80 /* bytes of a foreign name in a message */

int schema_image_open(sqlite3 **ret)
{
    unsigned char *bytes = sqlite3_malloc64(schema_image_size);
    const unsigned char *from = schema_image_bytes;
    const int rc = bytes ? sqlite3_open(":memory:", ret) : SQLITE_NOMEM;

    if (rc != SQLITE_OK) {
        sqlite3_free(bytes);
        return rc;
    }
    memset(bytes, 0, schema_image_size);
    for (const struct schema_piece *piece = schema_image; piece->length > 0; piece++) {
        memcpy(bytes + piece->at, from, piece->length);
        from += piece->length;
    }
    return sqlite3_deserialize(*ret, "main", bytes, (sqlite3_int64)schema_image_size,
                               (sqlite3_int64)schema_image_size,
                               SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE);
}

/* Its pages, into an empty database. */
static int copy_image(sqlite3 *db)
{
    sqlite3 *image = NULL;
    int rc = schema_image_open(&image);
    sqlite3_backup *backup =
        rc == SQLITE_OK ? sqlite3_backup_init(db, "main", image, "main") : NULL;

    if (backup) {
        sqlite3_backup_step(backup, -1);
        rc = sqlite3_backup_finish(backup);
    } else if (rc == SQLITE_OK) {
        rc = sqlite3_errcode(db);
    }
    sqlite3_close(image);
    return rc;
}

enum status schema_model_create(const struct embed_file *scripts, int version, sqlite3 **ret,
                                struct error *err)
{
    int newest;
    const bool is_newest = scripts == store_migrations(&newest) && version == newest;
    sqlite3 *model = NULL;
    enum status status = STATUS_OK;

    if (sqlite3_open_v2(":memory:", &model,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                        NULL) != SQLITE_OK ||
        record_register(model) != SQLITE_OK || (is_newest && copy_image(model) != SQLITE_OK))
        status = error_no_memory(err);
    if (status == STATUS_OK && !is_newest)
        status = schema_script_run(model, scripts, version, err);
    if (status == STATUS_OK)
        *ret = model;
    else
        sqlite3_close(model);
    return status;
}

/* ---- row by row ---- */

/* Types are compared too: the schema table accepts a BLOB where text belongs. */
static const char objects_sql[] =
    "SELECT CAST(type AS TEXT), CAST(name AS TEXT), typeof(type) || typeof(name) ||"
    " typeof(tbl_name) || typeof(sql) || char(10) || coalesce(type, '') || char(10) ||"
    " coalesce(name, '') || char(10) || coalesce(tbl_name, '') || char(10) || coalesce(sql, '')"
    " FROM sqlite_schema ORDER BY 1, 2, 3";

static const char *column_text(sqlite3_stmt *row, int column)
{
    const char *text = (const char *)sqlite3_column_text(row, column);

    return text ? text : "";
}

/* By type and name, as the statement sorts them. */
static int compare_order(sqlite3_stmt *ours, sqlite3_stmt *theirs)
{
    const int order = strcmp(column_text(ours, 0), column_text(theirs, 0));

    return order != 0 ? order : strcmp(column_text(ours, 1), column_text(theirs, 1));
}

static bool is_same(sqlite3_stmt *ours, sqlite3_stmt *theirs)
{
    const char *one = column_text(ours, 2), *two = column_text(theirs, 2);
    const int length = sqlite3_column_bytes(ours, 2);

    return length == sqlite3_column_bytes(theirs, 2) && memcmp(one, two, (size_t)length) == 0;
}

static void tell(sqlite3_stmt *row, enum schema_fault fault, schema_differs_fn *differs,
                 void *context)
{
    differs(context, &(struct schema_difference){column_text(row, 0), column_text(row, 1), fault});
}

int schema_model_compare(sqlite3 *db, sqlite3 *model, schema_differs_fn *differs, void *context,
                         sqlite3 **ret_db)
{
    sqlite3_stmt *ours = NULL, *theirs = NULL;
    int our_rc = sqlite3_prepare_v2(model, objects_sql, -1, &ours, NULL);
    int their_rc = sqlite3_prepare_v2(db, objects_sql, -1, &theirs, NULL);

    if (our_rc == SQLITE_OK && their_rc == SQLITE_OK) {
        our_rc = sqlite3_step(ours);
        their_rc = sqlite3_step(theirs);
    }
    while ((our_rc == SQLITE_ROW || our_rc == SQLITE_DONE) &&
           (their_rc == SQLITE_ROW || their_rc == SQLITE_DONE) &&
           (our_rc == SQLITE_ROW || their_rc == SQLITE_ROW)) {
        const int order = our_rc != SQLITE_ROW     ? 1
                          : their_rc != SQLITE_ROW ? -1
                                                   : compare_order(ours, theirs);

        if (order < 0)
            tell(ours, SCHEMA_MISSING, differs, context);
        else if (order > 0)
            tell(theirs, SCHEMA_FOREIGN, differs, context);
        else if (!is_same(ours, theirs))
            tell(ours, SCHEMA_CHANGED, differs, context);
        if (order <= 0)
            our_rc = sqlite3_step(ours);
        if (order >= 0)
            their_rc = sqlite3_step(theirs);
    }
    sqlite3_finalize(ours);
    sqlite3_finalize(theirs);
    if (ret_db)
        *ret_db = our_rc != SQLITE_DONE ? model : db;
    return our_rc != SQLITE_DONE ? our_rc : their_rc != SQLITE_DONE ? their_rc : SQLITE_OK;
}

/* ---- all at once ---- */

int schema_model_digest(sqlite3 *db, struct digest *ret)
{
    sqlite3_stmt *rows = NULL;
    struct digest_state state;
    int rc = sqlite3_prepare_v2(db, objects_sql, -1, &rows, NULL);

    digest_init(&state);
    while ((rc == SQLITE_OK || rc == SQLITE_ROW) && (rc = sqlite3_step(rows)) == SQLITE_ROW) {
        for (int i = 0; i < 3; i++) {
            const char *text = column_text(rows, i);
            const int length = sqlite3_column_bytes(rows, i);

            digest_update(&state, &length, sizeof(length));
            digest_update(&state, text, (size_t)length);
        }
    }
    if (rc == SQLITE_DONE)
        *ret = digest_final(&state);
    sqlite3_finalize(rows);
    return rc == SQLITE_DONE ? SQLITE_OK : rc;
}

/*
 * Digests of what each version's scripts make, by version from 1 on. A schema without one here, or
 * with another, is compared row by row with a fresh model, which takes some 20 ms and decides.
 */
static const char *const known[] = {
    "b8aed97035941775df98be5f0a7c7eca488037f7a1389d06ca176311575ce240",
    "711b0ba850f141b7fed7f42dfa227fc4c1f785150c3a04c5f36fb76c8edd74bd",
};

bool schema_model_is_known(const struct digest *digest, int version)
{
    char hex[DIGEST_HEX_SIZE];

    return version >= 1 && (size_t)version <= sizeof(known) / sizeof(known[0]) &&
           strcmp(digest_hex(digest, hex), known[version - 1]) == 0;
}

struct tally {
    int64_t count;
    char first[3 * NAME_MAX_SHOWN];
};

static void count_difference(void *context, const struct schema_difference *difference)
{
    static const char *const says[] = {
        [SCHEMA_MISSING] = "is missing",
        [SCHEMA_CHANGED] = "is not the one that assay makes",
        [SCHEMA_FOREIGN] = "does not belong there",
    };
    struct tally *tally = context;
    CLEANUP(text_finish) struct text name = TEXT_INIT;

    if (tally->count++ > 0)
        return;
    text_append_printable(&name, difference->type, strnlen(difference->type, NAME_MAX_SHOWN));
    text_append_char(&name, ' ');
    text_append_printable(&name, difference->name, strnlen(difference->name, NAME_MAX_SHOWN));
    snprintf(tally->first, sizeof(tally->first), "%.*s %s", 2 * NAME_MAX_SHOWN,
             text_ok(&name) ? name.data : "object", says[difference->fault]);
}

static enum status failed(sqlite3 *db, const char *path, struct error *err)
{
    if ((sqlite3_errcode(db) & 0xff) == SQLITE_NOMEM)
        return error_no_memory(err);
    return error_set(err, STATUS_CORRUPT, "%s: the schema cannot be read: %s", path,
                     sqlite3_errmsg(db));
}

/* Row by row. */
static enum status compare(sqlite3 *db, const char *path, const struct embed_file *scripts,
                           int version, struct error *err)
{
    struct tally tally = {0};
    sqlite3 *model = NULL, *unread = NULL;
    char more[48] = "", *word;
    enum status status = schema_model_create(scripts, version, &model, err);

    if (status != STATUS_OK)
        return error_prefix(err, "%s", path);
    if (schema_model_compare(db, model, count_difference, &tally, &unread) != SQLITE_OK)
        status = failed(unread, path, err);
    sqlite3_close(model);
    if (status != STATUS_OK || tally.count == 0)
        return status;
    if (tally.count > 1)
        snprintf(more, sizeof(more), ", and %" PRId64 " more", tally.count - 1);
    word = shell_quoted(path);
    error_set(err, STATUS_CORRUPT,
              "%s: its schema is not the one that assay makes: the %s%s; another program "
              "changed it, so it is neither read nor written to (`assay verify %s` tells "
              "all that differs); take a copy from before, or make the schema what it was",
              path, tally.first, more, word ? word : "FILE");
    free(word);
    return STATUS_CORRUPT;
}

enum status schema_model_check(sqlite3 *db, const char *path, const struct embed_file *scripts,
                               int version, struct error *err)
{
    struct digest digest;

    if (schema_model_digest(db, &digest) != SQLITE_OK)
        return failed(db, path, err);
    return schema_model_is_known(&digest, version) ? STATUS_OK
                                                   : compare(db, path, scripts, version, err);
}
