#include "results/evidence/ledger.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/cleanup.h"
#include "harness/core/clock.h"
#include "results/evidence/cosignature.h"
#include "results/evidence/merkle.h"
#include "results/evidence/note.h"
#include "results/store/schema_model.h"
#include "results/store/store_internal.h"
#include "results/evidence/timestamp.h"

/* ---- the tree ---- */

/* The tree of the newest checkpoint of at most `size` leaves; an empty one when there is none. */
static enum status load_frontier(struct store *store, int64_t size, struct merkle *ret,
                                 struct error *err)
{
    CLEANUP(statement_end) struct statement statement = {0};
    const void *bytes;
    int64_t covered;
    size_t length;
    enum status status;

    memset(ret, 0, sizeof(*ret));
    TRY(statement_of(store,
                     "SELECT size, frontier FROM checkpoint WHERE log = 1 AND"
                     " size <= ?1 ORDER BY id DESC LIMIT 1",
                     size, &statement, err));
    if (!statement_next(&statement, &status, err))
        return status;
    covered = sqlite3_column_int64(statement.handle, 0);
    bytes = sqlite3_column_blob(statement.handle, 1);
    length = (size_t)sqlite3_column_bytes(statement.handle, 1);
    if (covered < 1 || !bytes ||
        length != (size_t)merkle_node_count((uint64_t)covered) * DIGEST_SIZE)
        return error_set(err, STATUS_CORRUPT,
                         "%s: a checkpoint has been changed; run `assay verify %s` for details",
                         store->path, store_word(store));
    ret->size = (uint64_t)covered;
    memcpy(ret->nodes, bytes, length);
    return STATUS_OK;
}

/* columns: 0 id, 1 leaf, 2 type, 3 digest, 4 salt, 5 body. The digest, made again from the record.
 */
static enum status check_record(struct store *store, sqlite3_stmt *row, struct digest *ret,
                                struct error *err)
{
    const struct record_type *type = record_type_find((const char *)sqlite3_column_text(row, 2));
    const void *stored = sqlite3_column_blob(row, 3), *salt = sqlite3_column_blob(row, 4);
    const char *body = (const char *)sqlite3_column_text(row, 5);
    struct record_salts salts = {.has_all = salt && sqlite3_column_bytes(row, 4) == DIGEST_SIZE};
    struct error why = ERROR_INIT;

    if (salts.has_all)
        memcpy(salts.all.bytes, salt, DIGEST_SIZE);
    if (type && body && stored && sqlite3_column_bytes(row, 3) == DIGEST_SIZE &&
        record_digest(type, body, (size_t)sqlite3_column_bytes(row, 5), &salts, ret, NULL, &why) ==
            STATUS_OK &&
        memcmp(stored, ret->bytes, DIGEST_SIZE) == 0)
        return STATUS_OK;
    if (why.code == STATUS_NO_MEMORY || sqlite3_errcode(store->db) == SQLITE_NOMEM)
        return error_no_memory(err);
    return error_set(
        err, STATUS_CORRUPT,
        "%s: record %lld has been changed since it was stored%s%s; nothing was signed; run "
        "`assay verify %s`",
        store->path, (long long)sqlite3_column_int64(row, 0), why.message[0] ? ": it " : "",
        why.message, store_word(store));
}

/*
 * Adds the leaves that `tree` lacks, up to `size`. What is to be signed is checked first: the
 * digests are made again from the records.
 */
static enum status add_leaves(struct store *store, int64_t size, struct merkle *tree,
                              struct error *err)
{
    CLEANUP(statement_end) struct statement statement = {0};
    enum status status;

    TRY(statement_of(store,
                     "SELECT id, leaf, type, digest, salt, body FROM record WHERE log = 1 AND"
                     " leaf >= ?1 AND leaf < ?2 ORDER BY leaf",
                     (int64_t)tree->size, &statement, err));
    statement_i64(&statement, size);
    while (statement_next(&statement, &status, err)) {
        struct digest leaf;

        if (sqlite3_column_int64(statement.handle, 1) != (int64_t)tree->size)
            break;
        TRY(check_record(store, statement.handle, &leaf, err));
        merkle_add(tree, &leaf);
    }
    TRY(status);
    if ((int64_t)tree->size != size)
        return error_set(err, STATUS_CORRUPT,
                         "%s: record %" PRIu64
                         " of the log is missing; nothing was signed; run `assay verify %s`",
                         store->path, tree->size, store_word(store));
    return STATUS_OK;
}

static enum status count_leaves(struct store *store, int64_t *ret, struct error *err)
{
    return store_ask(store, "SELECT coalesce(max(leaf) + 1, 0) FROM record WHERE log = 1", 0, ret,
                     err);
}

enum status ledger_root(struct store *store, int64_t size, int64_t *ret_size, struct digest *ret,
                        struct error *err)
{
    struct merkle tree = {0};
    int64_t all = 0;

    TRY(count_leaves(store, &all, err));
    if (size > all)
        return error_set(err, STATUS_NOT_FOUND, "%s: the log has %" PRId64 " records, not %" PRId64,
                         store->path, all, size);
    if (size < 0)
        size = all;
    TRY(add_leaves(store, size, &tree, err));
    if (ret_size)
        *ret_size = size;
    *ret = merkle_root(&tree);
    return STATUS_OK;
}

/* ---- checkpoints ---- */

/* Of a campaign's record. */
static enum status campaign_digest(struct store *store, int64_t campaign, char ret[DIGEST_HEX_SIZE],
                                   struct error *err)
{
    struct record_body body = body_of(store, "campaign", err);
    json_auto_t *reference = NULL;
    const char *digest;

    body_campaign(&body, campaign);
    TRY(body_close(&body));
    reference = body.json;
    digest = json_string_value(json_object_get(json_object_get(reference, "campaign"), "record"));
    snprintf(ret, DIGEST_HEX_SIZE, "%s", digest ? digest : "");
    return STATUS_OK;
}

static void put_manifests(struct record_body *body, const int64_t *campaigns, size_t count,
                          int64_t size)
{
    struct record_body all = body_part_of(body);

    for (size_t i = 0; i < count; i++) {
        json_t *manifest = NULL;
        char hex[DIGEST_HEX_SIZE];

        BODY_TRY(&all, ledger_manifest(body->store, campaigns[i], size, &manifest, body->err));
        BODY_TRY(&all, campaign_digest(body->store, campaigns[i], hex, body->err));
        body_json(&all, hex, manifest);
    }
    body_part(body, "manifest", &all);
}

static void put_together(struct record_body *body, const int64_t *campaigns, size_t count,
                         int64_t size)
{
    json_t *manifest = NULL;

    BODY_TRY(body,
             ledger_manifest_together(body->store, campaigns, count, size, &manifest, body->err));
    body_json(body, "together", manifest);
}

/* So that the head is about each of them. */
static void put_campaigns(struct record_body *body, const int64_t *campaigns, size_t count)
{
    json_t *list = json_array();

    for (size_t i = 0; i < count; i++) {
        struct record_body one = body_part_of(body);

        body_campaign(&one, campaigns[i]);
        BODY_TRY(body, body_close(&one));
        if (json_array_append(list, json_object_get(one.json, "campaign")) != 0)
            BODY_TRY(body, error_no_memory(body->err));
        json_decref(one.json);
    }
    body_json(body, "campaigns", list);
}

/*
 * How many campaigns the log has, whichever are shown later; for a bundle, also how many have the
 * same cells as each of these: a result may be the best of them.
 */
static void put_counts(struct record_body *body, const char *kind, const int64_t *campaigns,
                       size_t count, int64_t size)
{
    struct record_body same;
    int64_t number = 0;

    BODY_TRY(body, ledger_count_campaigns(body->store, size, &number, body->err));
    body_i64(body, "campaigns_in_log", number);
    if (strcmp(kind, "bundle") != 0)
        return;
    same = body_part_of(body);
    for (size_t i = 0; i < count; i++) {
        char hex[DIGEST_HEX_SIZE];

        BODY_TRY(&same, ledger_count_same(body->store, campaigns[i], size, &number, body->err));
        BODY_TRY(&same, campaign_digest(body->store, campaigns[i], hex, body->err));
        body_i64(&same, hex, number);
    }
    body_part(body, "same_cells_in_log", &same);
}

/* Now, and not before the trials of its campaigns: the date may have been set back meanwhile. */
static enum status head_time(struct store *store, const int64_t *campaigns, size_t count,
                             int64_t *ret, struct error *err)
{
    int64_t begun = 0;

    *ret = clock_utc_ns();
    for (size_t i = 0; i < count; i++) {
        TRY(store_ask(store,
                      "SELECT coalesce(max(max(t.started_utc_ns, coalesce(e.ended_utc_ns, 0))), 0)"
                      " FROM trial t LEFT JOIN trial_end e ON e.trial = t.id WHERE t.campaign = ?1",
                      campaigns[i], &begun, err));
        if (begun > *ret)
            *ret = begun;
    }
    return STATUS_OK;
}

static enum status insert_row(struct store *store, const char *kind, const int64_t *campaigns,
                              size_t count, const struct merkle *tree, int64_t *ret,
                              struct error *err)
{
    const struct digest root = merkle_root(tree);
    const int64_t size = (int64_t)tree->size;
    struct record_body body = body_of(store, "checkpoint", err);
    int64_t utc_ns = 0;

    BODY_TRY(&body, head_time(store, campaigns, count, &utc_ns, err));
    body_u64(&body, "size", tree->size);
    body_digest(&body, "root", &root);
    body_i64(&body, "utc_ns", utc_ns);
    body_text(&body, "kind", kind);
    if (count == 1)
        body_campaign(&body, campaigns[0]);
    if (count > 1)
        put_campaigns(&body, campaigns, count);
    if (count > 0) {
        put_counts(&body, kind, campaigns, count, size);
        put_manifests(&body, campaigns, count, size);
    }
    if (count > 1)
        put_together(&body, campaigns, count, size);
    body_bytes(&body, "frontier", tree->nodes, (size_t)merkle_node_count(tree->size) * DIGEST_SIZE);
    body_enter_row(&body, "SELECT id FROM checkpoint WHERE record = ?1", ret);
    return body_close(&body);
}

struct note ledger_note_of(const struct ledger_checkpoint *checkpoint)
{
    return (struct note){.origin = checkpoint->origin,
                         .size = checkpoint->size,
                         .root = checkpoint->root,
                         .kind = checkpoint->kind,
                         .utc_ns = checkpoint->utc_ns,
                         .campaign = checkpoint->uid[0] ? checkpoint->uid : NULL};
}

enum status ledger_insert_signature(struct store *store, int64_t checkpoint,
                                    const struct key_public *key, const char *role, int64_t utc_ns,
                                    const uint8_t *signature, size_t size, struct error *err)
{
    struct record_body body = body_of(store, "signature", err);

    body_checkpoint(&body, checkpoint);
    body_i64(&body, "utc_ns", utc_ns);
    body_text(&body, "role", role);
    body_text(&body, "name", key->name);
    body_bytes(&body, "public_key", key->bytes, KEY_PUBLIC_SIZE);
    body_bytes(&body, "signature", signature, size);
    return body_end(&body);
}

static enum status sign(struct store *store, const struct ledger_checkpoint *checkpoint,
                        const char *role, const struct key *key, struct error *err)
{
    struct note note = ledger_note_of(checkpoint);
    uint8_t signature[KEY_SIGNATURE_SIZE];

    TRY(note_sign(&note, key, signature, err));
    return ledger_insert_signature(store, checkpoint->id, &key->public, role, clock_utc_ns(),
                                   signature, sizeof(signature), err);
}

enum status ledger_insert_head(struct store *store, const char *kind, const int64_t *campaigns,
                               size_t count, const struct key *key, struct ledger_checkpoint *ret,
                               struct error *err)
{
    struct ledger_checkpoint checkpoint;
    struct merkle tree;
    int64_t size = 0, id = 0;
    int scripts;
    const struct embed_file *migrations = store_migrations(&scripts);

    TRY(schema_model_check(store->db, store->path, migrations, scripts, err));
    TRY(count_leaves(store, &size, err));
    TRY(load_frontier(store, size, &tree, err));
    TRY(add_leaves(store, size, &tree, err));
    TRY(insert_row(store, kind, campaigns, count, &tree, &id, err));
    TRY(ledger_find_checkpoint(store, id, &checkpoint, err));
    if (key)
        TRY(sign(store, &checkpoint, "author", key, err));
    if (ret)
        *ret = checkpoint;
    return STATUS_OK;
}

enum status ledger_add_head(struct store *store, const char *kind, const int64_t *campaigns,
                            size_t count, const struct key *key, struct ledger_checkpoint *ret,
                            struct error *err)
{
    struct ledger_checkpoint checkpoint;

    TRY(store_change_begin(store, err));
    TRY(store_change_end(
        store, ledger_insert_head(store, kind, campaigns, count, key, &checkpoint, err), err));
    if (ret)
        *ret = checkpoint;
    return STATUS_OK;
}

enum status ledger_add_checkpoint(struct store *store, const char *kind, int64_t campaign,
                                  const struct key *key, struct ledger_checkpoint *ret,
                                  struct error *err)
{
    return ledger_add_head(store, kind, &campaign, campaign ? 1 : 0, key, ret, err);
}

static void copy_text(sqlite3_stmt *handle, int column, char *ret, size_t size)
{
    const char *text = (const char *)sqlite3_column_text(handle, column);

    snprintf(ret, size, "%s", text ? text : "");
}

enum status ledger_find_checkpoint(struct store *store, int64_t id, struct ledger_checkpoint *ret,
                                   struct error *err)
{
    CLEANUP(statement_end) struct statement statement = {0};
    sqlite3_stmt *row;
    enum status status;

    TRY(statement_of(
        store,
        "SELECT c.id, c.size, c.root, c.utc_ns, c.kind, c.campaign, g.uid, o.name"
        " FROM checkpoint c JOIN log o ON o.id = c.log LEFT JOIN campaign g ON g.id = c.campaign"
        " WHERE c.id = CASE ?1 WHEN 0 THEN (SELECT max(id) FROM checkpoint WHERE log = 1) ELSE ?1"
        " END",
        id, &statement, err));
    if (!statement_next(&statement, &status, err))
        return status != STATUS_OK
                   ? status
                   : error_set(err, STATUS_NOT_FOUND,
                               "%s: there is no such checkpoint; `assay checkpoint --db %s` makes "
                               "one",
                               store->path, store_word(store));
    row = statement.handle;
    *ret = (struct ledger_checkpoint){.id = sqlite3_column_int64(row, 0),
                                      .size = sqlite3_column_int64(row, 1),
                                      .utc_ns = sqlite3_column_int64(row, 3),
                                      .campaign = sqlite3_column_int64(row, 5)};
    copy_text(row, 4, ret->kind, sizeof(ret->kind));
    copy_text(row, 6, ret->uid, sizeof(ret->uid));
    copy_text(row, 7, ret->origin, sizeof(ret->origin));
    return statement_read_digest(&statement, 2, &ret->root, err);
}

/* ---- signatures and time stamps ---- */

enum status ledger_has_signature(struct store *store, int64_t checkpoint, const uint8_t *public_key,
                                 size_t size, bool *ret, struct error *err)
{
    struct statement statement;
    int64_t count = 0;

    TRY(statement_of(store,
                     "SELECT count(*) FROM signature WHERE checkpoint = ?1 AND public_key = ?2"
                     " AND (?3 = 0 OR length(signature) = ?3)",
                     checkpoint, &statement, err));
    statement_blob(&statement, public_key, KEY_PUBLIC_SIZE);
    statement_i64(&statement, (int64_t)size);
    TRY(statement_single(&statement, &count, err));
    *ret = count > 0;
    return STATUS_OK;
}

enum status ledger_check_root(struct store *store, const struct ledger_checkpoint *checkpoint,
                              const char *consequence, struct error *err)
{
    struct digest root;

    TRY(ledger_root(store, checkpoint->size, NULL, &root, err));
    if (!digest_equal(&root, &checkpoint->root))
        return error_set(err, STATUS_CORRUPT,
                         "%s: the log does not give the root of checkpoint %" PRId64
                         ", so %s; run `assay verify %s` for details",
                         store->path, checkpoint->id, consequence, store_word(store));
    return STATUS_OK;
}

static enum status add_signature(struct store *store, int64_t id, const char *role,
                                 const struct key *key, struct error *err)
{
    struct ledger_checkpoint checkpoint;
    bool stored = false;

    TRY(ledger_find_checkpoint(store, id, &checkpoint, err));
    if (!note_is_log_name(checkpoint.origin))
        return error_set(err, STATUS_CORRUPT,
                         "%s: the log's name is not one that assay gives, so the signed "
                         "text could be ambiguous; nothing was signed",
                         store->path);
    TRY(ledger_has_signature(store, checkpoint.id, key->public.bytes, 0, &stored, err));
    if (stored)
        return error_set(err, STATUS_INVALID, "checkpoint %" PRId64 " is signed by %s already",
                         checkpoint.id, key->public.name);
    TRY(ledger_check_root(store, &checkpoint, "nothing was signed", err));
    return sign(store, &checkpoint, role, key, err);
}

enum status ledger_add_signature(struct store *store, int64_t id, const char *role,
                                 const struct key *key, struct error *err)
{
    TRY(store_change_begin(store, err));
    return store_change_end(store, add_signature(store, id, role, key, err), err);
}

enum status ledger_add_timestamp(struct store *store, int64_t id, const void *token, size_t length,
                                 struct error *err)
{
    struct ledger_checkpoint checkpoint;
    struct timestamp timestamp;
    struct record_body body = body_begin(store, "timestamp", err);

    checkpoint.id = 0;
    BODY_TRY(&body, ledger_find_checkpoint(store, id, &checkpoint, err));
    BODY_TRY(&body, timestamp_check(token, length, &checkpoint.root, NULL, &timestamp, err));
    body_checkpoint(&body, checkpoint.id);
    body_i64(&body, "utc_ns", clock_utc_ns());
    body_bytes(&body, "token", token, length);
    return body_end(&body);
}

enum status ledger_note(struct store *store, const struct ledger_checkpoint *checkpoint, char **ret,
                        struct error *err)
{
    struct note note = ledger_note_of(checkpoint);
    CLEANUP(statement_end) struct statement statement = {0};
    CLEANUP(text_finish) struct text out = {0};
    enum status status;

    TRY(statement_of(store,
                     "SELECT name, public_key, signature FROM signature"
                     " WHERE checkpoint = ?1 ORDER BY id",
                     checkpoint->id, &statement, err));
    text_init(&out);
    note_append_body(&out, &note);
    text_append_char(&out, '\n');
    while (statement_next(&statement, &status, err)) {
        struct key_public key = {0};
        const void *bytes = sqlite3_column_blob(statement.handle, 1);
        const void *signature = sqlite3_column_blob(statement.handle, 2);

        if (!bytes || sqlite3_column_bytes(statement.handle, 1) != KEY_PUBLIC_SIZE || !signature ||
            (sqlite3_column_bytes(statement.handle, 2) != KEY_SIGNATURE_SIZE &&
             sqlite3_column_bytes(statement.handle, 2) != COSIGNATURE_SIZE))
            continue;
        copy_text(statement.handle, 0, key.name, sizeof(key.name));
        memcpy(key.bytes, bytes, sizeof(key.bytes));
        if (sqlite3_column_bytes(statement.handle, 2) == COSIGNATURE_SIZE)
            cosignature_append(&out, &key, signature);
        else
            note_append_signature(&out, &key, signature);
    }
    TRY(status);
    *ret = text_steal(&out);
    return *ret ? STATUS_OK : error_no_memory(err);
}

/* ---- amendments ---- */

enum status ledger_add_amendment(struct store *store, int64_t cell, const char *author,
                                 const char *reason, struct error *err)
{
    struct record_body body = body_begin(store, "amendment", err);

    body_cell(&body, cell);
    body_i64(&body, "utc_ns", clock_utc_ns());
    body_text(&body, "author", author);
    body_text(&body, "reason", reason);
    return body_end(&body);
}
