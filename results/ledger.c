#include "results/ledger.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/clock.h"
#include "results/ledger_check.h"
#include "results/ledger_leaf.h"
#include "results/note.h"
#include "results/store_internal.h"
#include "results/timestamp.h"

/* ---- the tree ---- */

/* The tree of the newest checkpoint of at most `size` leaves; an empty one when there is none. */
static enum status load_frontier(struct store *store, int64_t size, struct merkle *ret,
                                 struct error *err)
{
    struct statement statement;
    bool row = false;
    enum status status = statement_begin(store,
                                         "SELECT size, frontier FROM checkpoint WHERE size <= ?1"
                                         " ORDER BY id DESC LIMIT 1",
                                         &statement, err);

    if (status != STATUS_OK)
        return status;
    memset(ret, 0, sizeof(*ret));
    statement_i64(&statement, size);
    status = statement_step(&statement, &row, err);
    if (status == STATUS_OK && row) {
        int64_t covered = sqlite3_column_int64(statement.handle, 0);
        const void *bytes = sqlite3_column_blob(statement.handle, 1);
        size_t length = (size_t)sqlite3_column_bytes(statement.handle, 1);

        if (covered < 1 || !bytes ||
            length != (size_t)merkle_node_count((uint64_t)covered) * DIGEST_SIZE) {
            status = error_set(err, STATUS_CORRUPT,
                               "%s: a checkpoint has been changed; run "
                               "`assay verify` for details",
                               store->path);
        } else {
            ret->size = (uint64_t)covered;
            memcpy(ret->nodes, bytes, length);
        }
    }
    statement_end(&statement);
    return status;
}

/* Adds the leaves that `tree` lacks, up to `size`. */
static enum status add_leaves(struct store *store, int64_t size, struct merkle *tree,
                              struct error *err)
{
    struct statement statement;
    bool row = false;
    enum status status = statement_begin(store,
                                         "SELECT leaf, digest FROM ledger WHERE leaf >= ?1"
                                         " AND leaf < ?2 ORDER BY leaf",
                                         &statement, err);

    if (status != STATUS_OK)
        return status;
    statement_i64(&statement, (int64_t)tree->size);
    statement_i64(&statement, size);
    while ((status = statement_step(&statement, &row, err)) == STATUS_OK && row) {
        struct digest leaf;
        const void *bytes = sqlite3_column_blob(statement.handle, 1);

        if (sqlite3_column_int64(statement.handle, 0) != (int64_t)tree->size || !bytes ||
            sqlite3_column_bytes(statement.handle, 1) != DIGEST_SIZE)
            break;
        memcpy(leaf.bytes, bytes, DIGEST_SIZE);
        merkle_add(tree, &leaf);
    }
    statement_end(&statement);
    if (status == STATUS_OK && (int64_t)tree->size != size)
        status = error_set(err, STATUS_CORRUPT,
                           "%s: leaf %" PRIu64 " of the ledger is missing; run `assay verify`",
                           store->path, tree->size);
    return status;
}

static enum status count_leaves(struct store *store, int64_t *ret, struct error *err)
{
    struct statement statement;
    enum status status =
        statement_begin(store, "SELECT coalesce(max(leaf) + 1, 0) FROM ledger", &statement, err);

    return status == STATUS_OK ? statement_single(&statement, ret, err) : status;
}

enum status ledger_root(struct store *store, int64_t size, int64_t *ret_size, struct digest *ret,
                        struct error *err)
{
    struct merkle tree = {0};
    int64_t all = 0;
    enum status status = count_leaves(store, &all, err);

    if (status == STATUS_OK && size > all)
        status =
            error_set(err, STATUS_NOT_FOUND, "%s: the ledger has %" PRId64 " leaves, not %" PRId64,
                      store->path, all, size);
    if (size < 0)
        size = all;
    if (status == STATUS_OK)
        status = add_leaves(store, size, &tree, err);
    if (status != STATUS_OK)
        return status;
    if (ret_size)
        *ret_size = size;
    *ret = merkle_root(&tree);
    return STATUS_OK;
}

/* ---- checkpoints ---- */

static enum status insert_row(struct store *store, const char *kind, int64_t campaign,
                              const struct merkle *tree, int64_t *ret, struct error *err)
{
    struct digest root = merkle_root(tree);
    struct statement statement;
    enum status status =
        statement_begin(store,
                        "INSERT INTO checkpoint (size, root, utc_ns, kind, campaign, frontier)"
                        " VALUES (?1, ?2, ?3, ?4, nullif(?5, 0), ?6)",
                        &statement, err);

    if (status != STATUS_OK)
        return status;
    statement_u64(&statement, tree->size);
    statement_digest(&statement, &root);
    statement_i64(&statement, clock_utc_ns());
    statement_text(&statement, kind);
    statement_i64(&statement, campaign);
    statement_blob(&statement, tree->nodes, (size_t)merkle_node_count(tree->size) * DIGEST_SIZE);
    return statement_run(&statement, ret, err);
}

static struct note note_of(const struct ledger_checkpoint *checkpoint)
{
    return (struct note){.origin = checkpoint->origin,
                         .size = checkpoint->size,
                         .root = checkpoint->root,
                         .kind = checkpoint->kind,
                         .utc_ns = checkpoint->utc_ns,
                         .campaign = checkpoint->uid[0] ? checkpoint->uid : NULL};
}

static enum status insert_signature(struct store *store, const struct ledger_checkpoint *checkpoint,
                                    const char *role, const struct key *key, struct error *err)
{
    struct note note = note_of(checkpoint);
    uint8_t signature[KEY_SIGNATURE_SIZE];
    struct statement statement;
    enum status status = note_sign(&note, key, signature, err);

    if (status == STATUS_OK)
        status = statement_begin(store,
                                 "INSERT INTO signature (checkpoint, utc_ns, role, name,"
                                 " public_key, signature) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                                 &statement, err);
    if (status != STATUS_OK)
        return status;
    statement_i64(&statement, checkpoint->id);
    statement_i64(&statement, clock_utc_ns());
    statement_text(&statement, role);
    statement_text(&statement, key->public.name);
    statement_blob(&statement, key->public.bytes, KEY_PUBLIC_SIZE);
    statement_blob(&statement, signature, sizeof(signature));
    return statement_run(&statement, NULL, err);
}

/* As ledger_add_checkpoint, within a change. */
static enum status insert_checkpoint(struct store *store, const char *kind, int64_t campaign,
                                     const struct key *key, struct ledger_checkpoint *ret,
                                     struct error *err)
{
    struct ledger_checkpoint checkpoint;
    struct merkle tree;
    int64_t size = 0, id = 0;
    enum status status = count_leaves(store, &size, err);

    if (status == STATUS_OK)
        status = load_frontier(store, size, &tree, err);
    if (status == STATUS_OK)
        status = ledger_check_new(store, (int64_t)tree.size, size, err);
    if (status == STATUS_OK)
        status = add_leaves(store, size, &tree, err);
    if (status == STATUS_OK)
        status = insert_row(store, kind, campaign, &tree, &id, err);
    if (status == STATUS_OK)
        status = ledger_find_checkpoint(store, id, &checkpoint, err);
    if (status == STATUS_OK && key)
        status = insert_signature(store, &checkpoint, "author", key, err);
    if (status == STATUS_OK)
        *ret = checkpoint;
    return status;
}

enum status ledger_add_checkpoint(struct store *store, const char *kind, int64_t campaign,
                                  const struct key *key, struct ledger_checkpoint *ret,
                                  struct error *err)
{
    struct ledger_checkpoint checkpoint;
    enum status status = store_change_begin(store, err);

    if (status != STATUS_OK)
        return status;
    status = insert_checkpoint(store, kind, campaign, key, &checkpoint, err);
    status = store_change_end(store, status, err);
    if (status == STATUS_OK && ret)
        *ret = checkpoint;
    return status;
}

static void copy_text(sqlite3_stmt *handle, int column, char *ret, size_t size)
{
    const char *text = (const char *)sqlite3_column_text(handle, column);

    snprintf(ret, size, "%s", text ? text : "");
}

enum status ledger_find_checkpoint(struct store *store, int64_t id, struct ledger_checkpoint *ret,
                                   struct error *err)
{
    struct statement statement;
    bool row = false;
    enum status status = statement_begin(
        store,
        "SELECT c.id, c.size, c.root, c.utc_ns, c.kind, c.campaign, g.uid, o.name"
        " FROM checkpoint c CROSS JOIN ledger_origin o LEFT JOIN campaign g ON g.id = c.campaign"
        " WHERE c.id = CASE ?1 WHEN 0 THEN (SELECT max(id) FROM checkpoint) ELSE ?1 END",
        &statement, err);

    if (status != STATUS_OK)
        return status;
    statement_i64(&statement, id);
    status = statement_step(&statement, &row, err);
    if (status == STATUS_OK && !row) {
        status =
            error_set(err, STATUS_NOT_FOUND,
                      "%s: there is no such checkpoint; `assay checkpoint` makes one", store->path);
    } else if (status == STATUS_OK) {
        sqlite3_stmt *handle = statement.handle;
        const void *root = sqlite3_column_blob(handle, 2);

        memset(ret, 0, sizeof(*ret));
        ret->id = sqlite3_column_int64(handle, 0);
        ret->size = sqlite3_column_int64(handle, 1);
        if (root && sqlite3_column_bytes(handle, 2) == DIGEST_SIZE)
            memcpy(ret->root.bytes, root, DIGEST_SIZE);
        ret->utc_ns = sqlite3_column_int64(handle, 3);
        copy_text(handle, 4, ret->kind, sizeof(ret->kind));
        ret->campaign = sqlite3_column_int64(handle, 5);
        copy_text(handle, 6, ret->uid, sizeof(ret->uid));
        copy_text(handle, 7, ret->origin, sizeof(ret->origin));
    }
    statement_end(&statement);
    return status;
}

/* ---- signatures and time stamps ---- */

static enum status check_unsigned(struct store *store, int64_t checkpoint, const struct key *key,
                                  struct error *err)
{
    struct statement statement;
    int64_t count = 0;
    enum status status = statement_begin(store,
                                         "SELECT count(*) FROM signature WHERE checkpoint = ?1"
                                         " AND public_key = ?2",
                                         &statement, err);

    if (status != STATUS_OK)
        return status;
    statement_i64(&statement, checkpoint);
    statement_blob(&statement, key->public.bytes, KEY_PUBLIC_SIZE);
    status = statement_single(&statement, &count, err);
    if (status == STATUS_OK && count > 0)
        status = error_set(err, STATUS_INVALID, "checkpoint %" PRId64 " is signed by %s already",
                           checkpoint, key->public.name);
    return status;
}

static enum status check_root(struct store *store, const struct ledger_checkpoint *checkpoint,
                              struct error *err)
{
    struct digest root;
    enum status status = ledger_root(store, checkpoint->size, NULL, &root, err);

    if (status == STATUS_OK && !digest_equal(&root, &checkpoint->root))
        status = error_set(err, STATUS_CORRUPT,
                           "%s: the ledger does not give the root of checkpoint %" PRId64
                           ", so nothing was signed; run `assay verify` for details",
                           store->path, checkpoint->id);
    return status;
}

enum status ledger_add_signature(struct store *store, int64_t id, const char *role,
                                 const struct key *key, struct error *err)
{
    struct ledger_checkpoint checkpoint;
    enum status status = store_change_begin(store, err);

    if (status != STATUS_OK)
        return status;
    status = ledger_find_checkpoint(store, id, &checkpoint, err);
    if (status == STATUS_OK && !note_is_log_name(checkpoint.origin))
        status = error_set(err, STATUS_CORRUPT,
                           "%s: the ledger's name is not one that assay gives, so the signed "
                           "text could be ambiguous; nothing was signed",
                           store->path);
    if (status == STATUS_OK)
        status = check_unsigned(store, checkpoint.id, key, err);
    if (status == STATUS_OK)
        status = check_root(store, &checkpoint, err);
    if (status == STATUS_OK)
        status = insert_signature(store, &checkpoint, role, key, err);
    return store_change_end(store, status, err);
}

enum status ledger_add_timestamp(struct store *store, int64_t id, const void *token, size_t length,
                                 struct error *err)
{
    struct ledger_checkpoint checkpoint;
    struct statement statement;
    enum status status = store_change_begin(store, err);

    if (status != STATUS_OK)
        return status;
    status = ledger_find_checkpoint(store, id, &checkpoint, err);
    if (status == STATUS_OK)
        status = timestamp_check(token, length, &checkpoint.root, err);
    if (status == STATUS_OK)
        status = statement_begin(store,
                                 "INSERT INTO timestamp_token (checkpoint, utc_ns, token)"
                                 " VALUES (?1, ?2, ?3)",
                                 &statement, err);
    if (status == STATUS_OK) {
        statement_i64(&statement, checkpoint.id);
        statement_i64(&statement, clock_utc_ns());
        statement_blob(&statement, token, length);
        status = statement_run(&statement, NULL, err);
    }
    return store_change_end(store, status, err);
}

enum status ledger_note(struct store *store, const struct ledger_checkpoint *checkpoint, char **ret,
                        struct error *err)
{
    struct note note = note_of(checkpoint);
    struct statement statement;
    struct text out;
    bool row = false;
    char *note_text;
    enum status status = statement_begin(store,
                                         "SELECT name, public_key, signature FROM signature"
                                         " WHERE checkpoint = ?1 ORDER BY id",
                                         &statement, err);

    if (status != STATUS_OK)
        return status;
    statement_i64(&statement, checkpoint->id);
    text_init(&out);
    note_append_body(&out, &note);
    text_append_char(&out, '\n');
    while ((status = statement_step(&statement, &row, err)) == STATUS_OK && row) {
        struct key_public key = {0};
        const void *bytes = sqlite3_column_blob(statement.handle, 1);
        const void *signature = sqlite3_column_blob(statement.handle, 2);

        if (!bytes || sqlite3_column_bytes(statement.handle, 1) != KEY_PUBLIC_SIZE || !signature ||
            sqlite3_column_bytes(statement.handle, 2) != KEY_SIGNATURE_SIZE)
            continue;
        copy_text(statement.handle, 0, key.name, sizeof(key.name));
        memcpy(key.bytes, bytes, sizeof(key.bytes));
        note_append_signature(&out, &key, signature);
    }
    statement_end(&statement);
    note_text = text_steal(&out);
    if (status == STATUS_OK && !note_text)
        status = error_set(err, STATUS_NO_MEMORY, "out of memory");
    if (status == STATUS_OK)
        *ret = note_text;
    else
        free(note_text);
    return status;
}

/* ---- amendments ---- */

enum status ledger_add_amendment(struct store *store, int64_t cell, const char *author,
                                 const char *reason, struct error *err)
{
    struct statement statement;
    enum status status = store_change_begin(store, err);

    if (status != STATUS_OK)
        return status;
    status = statement_begin(store,
                             "INSERT INTO amendment (cell, utc_ns, author, reason)"
                             " VALUES (?1, ?2, ?3, ?4)",
                             &statement, err);
    if (status == STATUS_OK) {
        statement_i64(&statement, cell);
        statement_i64(&statement, clock_utc_ns());
        statement_text(&statement, author);
        statement_text(&statement, reason);
        status = statement_run(&statement, NULL, err);
    }
    return store_change_end(store, status, err);
}

enum status ledger_amendments(struct store *store, int64_t cell, json_t **ret, struct error *err)
{
    struct statement statement;
    enum status status = statement_begin(
        store,
        "SELECT id AS amendment, utc_ns, utc_ns AS \"created:iso\", author, reason FROM amendment"
        " WHERE cell = ?1 ORDER BY id",
        &statement, err);

    if (status != STATUS_OK)
        return status;
    statement_i64(&statement, cell);
    return statement_rows_json(&statement, ret, err);
}

enum status ledger_salt(struct store *store, int64_t leaf, const char *column, struct digest *ret,
                        struct error *err)
{
    struct statement statement;
    bool row = false;
    enum status status =
        statement_begin(store, "SELECT secret FROM ledger_origin WHERE id = 1", &statement, err);

    if (status != STATUS_OK)
        return status;
    status = statement_step(&statement, &row, err);
    if (status == STATUS_OK && (!row || sqlite3_column_bytes(statement.handle, 0) != 32))
        status = error_set(err, STATUS_CORRUPT, "%s: the ledger has no origin", store->path);
    if (status == STATUS_OK)
        *ret = ledger_leaf_salt(sqlite3_column_blob(statement.handle, 0), leaf, column);
    statement_end(&statement);
    return status;
}
