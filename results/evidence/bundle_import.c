#include "results/evidence/bundle.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/canonical.h"
#include "harness/core/cleanup.h"
#include "harness/core/clock.h"
#include "harness/core/file.h"
#include "harness/core/member.h"
#include "harness/core/text.h"
#include "results/evidence/bundle_proof.h"
#include "results/evidence/note.h"
#include "results/store/store_internal.h"

struct importer {
    struct store *store;
    const char *path;
    struct bundle_import *summary;
    bool is_known;  /* all campaigns are here */
    json_t *lacked; /* then, {type: how many records} that are not; else NULL */
    int64_t log, last_leaf;
    size_t shown; /* campaigns whose records have come */
    struct merkle_part part;
    struct digest_state received; /* of what is entered */
    bool (*progress)(void *context, uint64_t done, uint64_t total);
    void *context;
};

static enum status bad_line(const struct importer *importer, const struct bundle_line *line,
                            struct error *err, const char *what)
{
    return error_set(err, STATUS_CORRUPT, "%s:%" PRIu64 ": %s", importer->path, line->number, what);
}

/* ---- before the first record ---- */

/* The row of a campaign that the first line names; NOT_FOUND. */
static enum status find_campaign(const struct importer *importer, const struct bundle_head *head,
                                 size_t index, int64_t *ret, struct error *err)
{
    struct statement statement;

    TRY(statement_begin(importer->store, "SELECT id FROM campaign WHERE uid = ?1", &statement,
                        err));
    statement_text(&statement, json_string_value(json_array_get(head->campaigns, index)));
    return statement_single(&statement, ret, err);
}

static enum status count_known(struct importer *importer, const struct bundle_head *head,
                               struct error *err)
{
    const size_t count = json_array_size(head->campaigns);

    importer->summary->campaigns = (int64_t)count;
    for (size_t i = 0; i < count; i++) {
        int64_t row;
        const enum status status = find_campaign(importer, head, i, &row, err);

        if (status != STATUS_NOT_FOUND)
            TRY(status);
        importer->summary->known += status == STATUS_OK;
    }
    importer->is_known = importer->summary->known == (int64_t)count;
    importer->lacked = importer->is_known ? json_object() : NULL;
    if (importer->summary->known > 0 && !importer->is_known)
        return error_set(
            err, STATUS_INVALID,
            "%s: %lld of its campaigns are here already and %lld are not; ask for a bundle of "
            "those that are not",
            importer->path, (long long)importer->summary->known,
            (long long)count - (long long)importer->summary->known);
    return STATUS_OK;
}

static enum status open_log(struct importer *importer, const struct bundle_head *head,
                            struct error *err)
{
    struct statement statement;

    if (!note_is_log_name(head->origin))
        return error_set(err, STATUS_CORRUPT, "%s: its origin is not a name that assay gives a log",
                         importer->path);
    TRY(statement_begin(importer->store,
                        "INSERT INTO log (name) VALUES (?1) ON CONFLICT DO NOTHING", &statement,
                        err));
    statement_text(&statement, head->origin);
    TRY(statement_run(&statement, NULL, err));
    TRY(statement_begin(importer->store, "SELECT id FROM log WHERE name = ?1", &statement, err));
    statement_text(&statement, head->origin);
    TRY(statement_single(&statement, &importer->log, err));
    if (importer->log == 1)
        return error_set(err, STATUS_INVALID,
                         "%s: is of this very database's log, which has not these campaigns",
                         importer->path);
    return STATUS_OK;
}

/* ---- lines ---- */

/* {"text": ...} or {"base64": ...} */
static enum status take_blob(struct importer *importer, const struct bundle_line *line,
                             struct error *err)
{
    const json_t *text = json_object_get(line->json, "text"),
                 *base64 = json_object_get(line->json, "base64");
    AUTO_FREE unsigned char *bytes = NULL;
    size_t length = 0;
    struct digest digest;

    if (json_object_size(line->json) != 1)
        return bad_line(importer, line, err, "is not a line that bundles have");
    if (text)
        return store_insert_content(importer->store, json_string_value(text),
                                    json_string_length(text), &digest, err);
    bytes = malloc(json_string_length(base64) + 1);
    if (!bytes)
        return error_no_memory(err);
    if (!key_base64_decode(json_string_value(base64), json_string_length(base64), bytes,
                           json_string_length(base64) + 1, &length) ||
        text_is_utf8((const char *)bytes, length))
        return bad_line(importer, line, err, "its bytes cannot be read, or are text");
    return store_insert_content(importer->store, bytes, length, &digest, err);
}

/* What a record refers to and the bundle does not have was withheld. */
static enum status note_blob(void *context, const struct digest *digest, struct error *err)
{
    struct importer *importer = context;
    struct statement statement;

    TRY(statement_begin(importer->store,
                        "INSERT INTO content (digest) VALUES (?1) ON CONFLICT DO NOTHING",
                        &statement, err));
    statement_digest(&statement, digest);
    TRY(statement_run(&statement, NULL, err));
    importer->summary->blobs_withheld += sqlite3_changes(importer->store->db) > 0;
    return STATUS_OK;
}

/* {"all": hex} or {path: hex, ...}, or null. `ret_each` is heap. */
static bool read_salt(const json_t *salt, struct record_salts *ret, char **ret_each)
{
    const char *hex = json_string_value(salt);

    *ret = (struct record_salts){.has_all = hex != NULL};
    *ret_each = NULL;
    if (hex)
        return digest_from_hex(hex, &ret->all);
    if (json_is_object(salt)) {
        ret->each = salt;
        return canonical_dump(salt, ret_each, NULL) == STATUS_OK;
    }
    return json_is_null(salt);
}

/* Whether another bundle of this log brought the record. */
static enum status find_known(struct importer *importer, const struct bundle_line *line,
                              int64_t leaf, const struct digest *digest, bool *ret,
                              struct error *err)
{
    CLEANUP(statement_end) struct statement statement = {0};
    bool is_same = true;
    enum status status;

    TRY(statement_of(importer->store,
                     "SELECT log = ?1 AND leaf = ?2 AND digest = ?3 FROM record"
                     " WHERE digest = ?3 OR (log = ?1 AND leaf = ?2)",
                     importer->log, &statement, err));
    statement_i64(&statement, leaf);
    statement_digest(&statement, digest);
    *ret = false;
    while (statement_next(&statement, &status, err)) {
        *ret = true;
        is_same = is_same && sqlite3_column_int(statement.handle, 0);
    }
    TRY(status);
    return is_same ? STATUS_OK
                   : bad_line(importer, line, err,
                              "its record is elsewhere in the log, or another is in its place, by "
                              "what is here already");
}

/* The list of campaigns in the first line is that of the records. */
static enum status check_listed(struct importer *importer, const struct bundle_head *head,
                                const struct bundle_line *line, struct record_span uid,
                                struct error *err)
{
    const char *told = json_string_value(json_array_get(head->campaigns, importer->shown++));

    return told && uid.length == strlen(told) + 2 && *uid.bytes == '"' &&
                   !memcmp(uid.bytes + 1, told, strlen(told))
               ? STATUS_OK
               : bad_line(importer, line, err,
                          "its campaign is not the one that the first line names here");
}

/* Counts a record of known campaigns that is not here. */
static enum status count_lacked(struct importer *importer, const struct record_type *type,
                                const struct digest *digest, struct error *err)
{
    CLEANUP(statement_end) struct statement statement = {0};
    const json_int_t known = member_integer(importer->lacked, type->name);
    bool row = false;

    TRY(statement_begin(importer->store, "SELECT 1 FROM record WHERE digest = ?1", &statement,
                        err));
    statement_digest(&statement, digest);
    TRY(statement_step(&statement, &row, err));
    if (!row && json_object_set_new(importer->lacked, type->name, json_integer(known + 1)) != 0)
        return error_no_memory(err);
    return STATUS_OK;
}

/* Heads come with each bundle; all else says something of the campaigns that nobody here would see.
 */
static enum status refuse_later(const struct importer *importer, struct error *err)
{
    CLEANUP(text_finish) struct text types = {0};
    json_t *count;
    const char *type;

    text_init(&types);
    json_object_foreach(importer->lacked, type, count)
    {
        if (strcmp(type, "checkpoint") != 0)
            text_append_format(&types, "%s%s (%lld)", types.length ? ", " : "", type,
                               (long long)json_integer_value(count));
    }
    if (!text_ok(&types))
        return error_no_memory(err);
    if (types.length > 0)
        return error_set(err, STATUS_INVALID,
                         "%s: its campaigns came in an earlier bundle, and these records of them "
                         "did not: %s. Nothing is added to a campaign that is here: import it "
                         "into another database to see them",
                         importer->path, types.data);
    return STATUS_OK;
}

static enum status enter(struct importer *importer, const struct bundle_line *line,
                         const struct record_type *type, int64_t leaf, struct error *err)
{
    struct record_row row = {.log = importer->log,
                             .leaf = leaf,
                             .type = type,
                             .body = line->record,
                             .length = line->record_length,
                             .keep_body = true,
                             .blob = note_blob,
                             .context = importer};
    struct record_salts salts;
    AUTO_FREE char *each = NULL;
    bool known = false;
    enum status status;

    if (!read_salt(json_object_get(line->json, "salt"), &salts, &each))
        return bad_line(importer, line, err, "its salt cannot be read");
    status = record_digest(type, row.body, row.length, &salts, &row.digest, NULL, err);
    if (status != STATUS_OK && err)
        error_prefix(err, "%s:%" PRIu64 ": record %" PRId64, importer->path, line->number, leaf);
    TRY(status);
    if (importer->is_known)
        return count_lacked(importer, type, &row.digest, err);
    row.salt = salts.has_all ? &salts.all : NULL;
    row.salts = each;
    if (!merkle_part_add(&importer->part, 0, (uint64_t)leaf, &row.digest))
        return error_no_memory(err);
    TRY(find_known(importer, line, leaf, &row.digest, &known, err));
    if (known)
        return STATUS_OK;
    status = store_enter_record(importer->store, &row, NULL, err);
    /* A function of SQL that its body makes fail: malformed JSON, a path that is none. */
    if (status != STATUS_OK && sqlite3_errcode(importer->store->db) == SQLITE_ERROR)
        status = error_set(err, STATUS_CORRUPT, "does not have the members of its type");
    if (status != STATUS_OK && err)
        error_prefix(err, "%s:%" PRIu64 ": record %" PRId64, importer->path, line->number, leaf);
    importer->summary->records += status == STATUS_OK;
    bundle_receive(&importer->received, &row);
    return status;
}

static const struct record_type *type_of(struct record_span type)
{
    char name[32] = "";

    if (type.length > 2)
        snprintf(name, sizeof(name), "%.*s", (int)type.length - 2, type.bytes + 1);
    return record_type_find(name);
}

static enum status take_record(struct importer *importer, const struct bundle_head *head,
                               const struct bundle_line *line, struct error *err)
{
    const json_t *number = json_object_get(line->json, "leaf");
    const int64_t leaf = json_integer_value(number);
    const struct record_span record = {line->record, line->record_length};
    const struct record_type *type;

    if (json_object_size(line->json) != 3 || !json_is_integer(number) ||
        !json_object_get(line->json, "salt"))
        return bad_line(importer, line, err, "is not a line that bundles have");
    if (leaf <= importer->last_leaf || leaf >= head->size)
        return bad_line(importer, line, err, "its record is not in the order of the log");
    type = type_of(record_find(record, "type"));
    if (!type)
        return bad_line(importer, line, err,
                        "is a record of a type that this assay does not know; a newer one may");
    importer->last_leaf = leaf;
    if (!strcmp(type->name, "campaign"))
        TRY(check_listed(importer, head, line, record_find(record, "uid"), err));
    return enter(importer, line, type, leaf, err);
}

static enum status insert_chunk(struct importer *importer, const struct bundle_line *line,
                                int64_t trial, const char *name, const json_t *base64,
                                int64_t *first, struct error *err)
{
    uint8_t bytes[SERIES_ENCODED_MAX + 1];
    int64_t values[SERIES_CHUNK_MAX];
    struct store_chunk chunk = {.first = *first, .bytes = bytes};
    size_t count = 0;
    enum status status;

    if (!json_is_string(base64) ||
        !key_base64_decode(json_string_value(base64), json_string_length(base64), bytes,
                           sizeof(bytes), &chunk.length))
        return bad_line(importer, line, err, "its samples cannot be read");
    status = series_decode(bytes, chunk.length, values, &count, &chunk.facts, err);
    if (status != STATUS_OK) {
        if (err)
            error_prefix(err, "%s:%" PRIu64, importer->path, line->number);
        return status;
    }
    chunk.count = (int64_t)count;
    *first += chunk.count;
    return store_insert_chunk(importer->store, trial, name, &chunk, err);
}

/* {"chunks": [base64, ...], "first": ..., "leaf": ..., "series": name}: of the trial that this
 * record ends */
static enum status take_series(struct importer *importer, const struct bundle_line *line,
                               struct error *err)
{
    const json_t *chunks = json_object_get(line->json, "chunks");
    const char *name = member_string(line->json, "series");
    int64_t first = member_integer(line->json, "first"), trial = 0;
    struct statement statement;
    enum status status;

    if (json_object_size(line->json) != 4 || !name || !json_is_array(chunks) ||
        !json_is_integer(json_object_get(line->json, "first")) ||
        !json_is_integer(json_object_get(line->json, "leaf")))
        return bad_line(importer, line, err, "is not a line that bundles have");
    TRY(statement_of(importer->store,
                     "SELECT e.trial FROM record r JOIN trial_end e ON e.record = r.id"
                     " WHERE r.log = ?1 AND r.leaf = ?2",
                     importer->log, &statement, err));
    statement_i64(&statement, member_integer(line->json, "leaf"));
    status = statement_single(&statement, &trial, err);
    if (status == STATUS_NOT_FOUND)
        return bad_line(importer, line, err, "its samples are of no trial");
    for (size_t i = 0; i < json_array_size(chunks) && status == STATUS_OK; i++)
        status = insert_chunk(importer, line, trial, name, json_array_get(chunks, i), &first, err);
    if (status != STATUS_OK &&
        sqlite3_extended_errcode(importer->store->db) == SQLITE_CONSTRAINT_UNIQUE)
        return bad_line(importer, line, err, "its samples are there already");
    return status;
}

static enum status take_line(void *context, const struct bundle_head *head,
                             const struct bundle_line *line, struct error *err)
{
    struct importer *importer = context;

    if (line->number == 2) {
        TRY(count_known(importer, head, err));
        if (!importer->is_known)
            TRY(open_log(importer, head, err));
    }
    if (line->record)
        return take_record(importer, head, line, err);
    if (importer->is_known)
        return STATUS_OK;
    if (json_object_get(line->json, "series"))
        return take_series(importer, line, err);
    return take_blob(importer, line, err);
}

/* ---- after the last ---- */

static enum status check_root(struct importer *importer, const struct bundle_head *head,
                              struct error *err)
{
    struct digest root;
    uint64_t missing = 0;
    const enum status status = bundle_proof_nodes(head->proof, &importer->part, err);

    if (status != STATUS_OK)
        error_prefix(err, "%s", importer->path);
    TRY(status);
    if (!merkle_part_fits(&importer->part, (uint64_t)head->size, &missing))
        return error_set(err, STATUS_CORRUPT,
                         "%s: what is proven of record %" PRIu64
                         " of its log overlaps, or is beyond the end: something was put in",
                         importer->path, missing);
    if (!merkle_part_root(&importer->part, (uint64_t)head->size, &root, &missing))
        return error_set(err, STATUS_CORRUPT,
                         "%s: record %" PRIu64 " of its log is neither in it nor proven to be "
                         "another's: it was left out",
                         importer->path, missing);
    return digest_equal(&root, &head->root)
               ? STATUS_OK
               : error_set(err, STATUS_CORRUPT,
                           "%s: its records do not lead to its root: one was changed, or put in",
                           importer->path);
}

/* The blobs that are not here, so that none can be taken out later. */
static enum status find_withheld(struct store *store, json_t *list, struct error *err)
{
    CLEANUP(statement_end) struct statement statement = {0};
    enum status status;

    TRY(statement_begin(store,
                        "SELECT lower(hex(digest)) FROM content WHERE body IS NULL"
                        " ORDER BY digest",
                        &statement, err));
    while (statement_next(&statement, &status, err))
        if (json_array_append_new(
                list, json_string((const char *)sqlite3_column_text(statement.handle, 0))) != 0)
            return error_no_memory(err);
    return status;
}

static enum status add_origin(struct importer *importer, const struct bundle_head *head,
                              struct error *err)
{
    struct record_body body = body_of(importer->store, "bundle", err);
    struct digest received;
    json_t *withheld = json_array();

    body_content(&body, "proof", head->proof, NULL);
    if (importer->shown != json_array_size(head->campaigns))
        BODY_TRY(&body,
                 error_set(err, STATUS_CORRUPT, "%s: names %zu campaigns and has %zu of them",
                           importer->path, json_array_size(head->campaigns), importer->shown));
    body_i64(&body, "imported_utc_ns", clock_utc_ns());
    body_text(&body, "file", file_base_name(importer->path));
    body_digest(&body, "sha256", &head->sha256);
    body_text(&body, "origin", head->origin);
    body_i64(&body, "size", head->size);
    body_digest(&body, "root", &head->root);
    body_text(&body, "note", head->note);
    received = digest_final(&importer->received);
    body_digest(&body, "received", &received);
    body_json(&body, "campaigns", json_incref(head->campaigns));
    BODY_TRY(&body, find_withheld(importer->store, withheld, err));
    body_json(&body, "withheld", withheld);
    return body_end(&body);
}

static bool on_progress(void *context, uint64_t done, uint64_t total)
{
    const struct importer *importer = context;

    return !importer->progress || importer->progress(importer->context, done, total);
}

static enum status take_all(struct importer *importer, struct bundle_head *head, struct error *err)
{
    TRY(bundle_read(importer->path, head, importer, take_line, on_progress, err));
    if (importer->is_known) {
        TRY(refuse_later(importer, err));
    } else {
        TRY(check_root(importer, head, err));
        TRY(add_origin(importer, head, err));
    }
    return find_campaign(importer, head, 0, &importer->summary->campaign, err);
}

enum status bundle_import(struct store *store, const char *path,
                          bool (*progress)(void *context, uint64_t done, uint64_t total),
                          void *context, struct bundle_import *ret, struct bundle_head *ret_head,
                          struct error *err)
{
    struct bundle_import summary = {0};
    struct importer importer = {.store = store,
                                .path = path,
                                .summary = &summary,
                                .last_leaf = -1,
                                .progress = progress,
                                .context = context};
    struct bundle_head head = {0};
    enum status status;

    TRY(store_change_begin(store, err));
    digest_init(&importer.received);
    status = store_change_end(store, take_all(&importer, &head, err), err);
    json_decref(importer.lacked);
    merkle_part_finish(&importer.part);
    if (status == STATUS_OK)
        *ret = summary;
    if (status == STATUS_OK && ret_head)
        *ret_head = head;
    else
        bundle_head_finish(&head);
    return status;
}
