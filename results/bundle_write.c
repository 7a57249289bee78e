#include "results/bundle_withhold.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/canonical.h"
#include "harness/core/clock.h"
#include "harness/core/text.h"
#include "results/bundle_heads.h"
#include "results/ledger.h"
#include "results/ledger_json.h"
#include "results/merkle_levels.h"
#include "results/note.h"
#include "results/store_internal.h"

struct writer {
    struct store *store;
    const struct bundle_options *options;
    FILE *file;
    struct digest_state sha256;
    struct merkle_levels levels;
    struct ledger_checkpoint head;
    struct bundle_secrets secrets;
    struct bundle_summary summary;
};

static enum status no_memory(struct error *err)
{
    return error_set(err, STATUS_NO_MEMORY, "no memory for the bundle");
}

static enum status put(struct writer *writer, const char *bytes, size_t length, struct error *err)
{
    digest_update(&writer->sha256, bytes, length);
    if (fwrite(bytes, 1, length, writer->file) == length)
        return STATUS_OK;
    return error_set_errno(err, errno, "writing the bundle");
}

/* Writes the object as one line; takes the reference. */
static enum status put_line(struct writer *writer, json_t *object, struct error *err)
{
    char *line = NULL;
    enum status status = object ? canonical_dump(object, &line, err) : no_memory(err);

    json_decref(object);
    if (status == STATUS_OK)
        status = put(writer, line, strlen(line), err);
    if (status == STATUS_OK)
        status = put(writer, "\n", 1, err);
    free(line);
    return status;
}

json_t *bundle_hex_json(const struct digest *digest)
{
    char hex[DIGEST_HEX_SIZE];

    return json_string(digest_hex(digest, hex));
}

json_t *bundle_path_json(const struct digest *path, size_t count)
{
    json_t *ret = json_array();

    for (size_t i = 0; i < count; i++)
        json_array_append_new(ret, bundle_hex_json(&path[i]));
    return ret;
}

/* ---- rows ---- */

/* A column's value as leaves have it. */
static json_t *value_json(sqlite3_stmt *row, int column)
{
    const struct ledger_leaf_value value = ledger_leaf_value_of(sqlite3_column_value(row, column));
    struct text text;
    json_t *ret = NULL;

    text_init(&text);
    ledger_json_append(&text, &value);
    if (text_ok(&text))
        ret = json_loadb(text.data, text.length, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    text_finish(&text);
    return ret;
}

json_t *bundle_base64_json(sqlite3_stmt *row, int column)
{
    const size_t length = (size_t)sqlite3_column_bytes(row, column);
    const size_t capacity = sodium_base64_encoded_len(length, sodium_base64_VARIANT_ORIGINAL);
    char *text = malloc(capacity);
    json_t *ret = NULL;

    if (text)
        ret = json_string(sodium_bin2base64(text, capacity, sqlite3_column_blob(row, column),
                                            length, sodium_base64_VARIANT_ORIGINAL));
    free(text);
    return ret;
}

/* One column of a row: its commitment opened or left closed, its bytes added. */
static enum status add_value(struct writer *writer, const char *table, const char *reading,
                             int64_t leaf, sqlite3_stmt *row, int column, json_t *values,
                             json_t *blobs, struct error *err)
{
    const char *name = sqlite3_column_name(row, column);
    const bool blob = sqlite3_column_type(row, column) == SQLITE_BLOB;
    const bool committed = ledger_is_committed(table, name);
    const void *bytes;
    bool secret;
    struct digest salt;

    if (sqlite3_column_type(row, column) == SQLITE_NULL)
        return STATUS_OK;
    bytes = blob ? sqlite3_column_blob(row, column) : sqlite3_column_text(row, column);
    secret = bytes && bundle_secrets_are_in(&writer->secrets, bytes,
                                            (size_t)sqlite3_column_bytes(row, column));
    if (committed && (secret || bundle_secrets_name(&writer->secrets, table, name, reading) ||
                      bundle_secrets_tell(&writer->secrets, table, name))) {
        writer->summary.withheld++;
        return STATUS_OK;
    }
    if (secret)
        return error_set(err, STATUS_INVALID,
                         "a value to withhold also occurs in %s.%s (leaf %" PRId64
                         "), which cannot be withheld",
                         table, name, leaf);
    if (committed) {
        enum status status = ledger_salt(writer->store, leaf, name, &salt, err);

        if (status != STATUS_OK)
            return status;
        if (json_object_set_new(values, name,
                                json_pack("{s:o, s:o}", "salt", bundle_hex_json(&salt), "value",
                                          value_json(row, column))) < 0)
            return no_memory(err);
    }
    if (blob && json_object_set_new(blobs, name, bundle_base64_json(row, column)) < 0)
        return no_memory(err);
    return STATUS_OK;
}

/* columns: 0 leaf, 1 leaf data, then the row's own */
static enum status row_line(struct writer *writer, const char *table, sqlite3_stmt *row, char **ret,
                            struct error *err)
{
    const int64_t leaf = sqlite3_column_int64(row, 0);
    const char *data = (const char *)sqlite3_column_text(row, 1), *reading = NULL;
    json_t *line = json_object(), *values = json_object(), *blobs = json_object();
    json_t *path = NULL, *parsed = data ? json_loads(data, 0, NULL) : NULL;
    struct digest proof[MERKLE_HEIGHT_MAX];
    enum status status = line && values && blobs && parsed ? STATUS_OK : no_memory(err);
    size_t count;

    for (int i = 2; i < sqlite3_column_count(row) && !strcmp(table, "reading"); i++)
        if (!strcmp(sqlite3_column_name(row, i), "name"))
            reading = (const char *)sqlite3_column_text(row, i);
    for (int i = 2; i < sqlite3_column_count(row) && status == STATUS_OK; i++)
        status = add_value(writer, table, reading, leaf, row, i, values, blobs, err);
    /* A withheld reading could be guessed by its hash. */
    if (!strcmp(table, "reading") && !json_object_get(values, "body") &&
        json_object_del(values, "hash") == 0)
        writer->summary.withheld++;
    if (status == STATUS_OK && leaf >= writer->head.size)
        status = error_set(err, STATUS_INTERNAL, "leaf %" PRId64 " is beyond the head", leaf);
    if (status == STATUS_OK) {
        count = merkle_levels_prove(&writer->levels, (uint64_t)leaf, writer->levels.size, proof);
        path = bundle_path_json(proof, count);
        json_object_set_new(line, "leaf", json_integer(leaf));
        json_object_set(line, "data", parsed);
        json_object_set(line, "path", path);
        if (json_object_size(values) > 0)
            json_object_set(line, "values", values);
        if (json_object_size(blobs) > 0)
            json_object_set(line, "blobs", blobs);
        status = canonical_dump(line, ret, err);
    }
    json_decref(line);
    json_decref(values);
    json_decref(blobs);
    json_decref(path);
    json_decref(parsed);
    return status;
}

/* Lines of a table's rows are collected in temp.bundle_line, in the order of the leaves. */
static enum status gather_table(struct writer *writer, const char *table, sqlite3_stmt *insert,
                                struct error *err)
{
    sqlite3_stmt *rows = NULL;
    struct text sql;
    enum status status;
    int rc;

    text_init(&sql);
    text_append(&sql, "SELECT p.leaf, ");
    status =
        ledger_leaf_call(writer->store->db, "assay_leaf_data", table, "p.leaf", "t.", &sql, err);
    text_append_format(&sql,
                       ", t.* FROM (SELECT * FROM main.%s WHERE %s) t"
                       " CROSS JOIN temp.bundle_place p ON p.table_name = '%s' AND p.key = +",
                       table, bundle_condition(table), table);
    if (status == STATUS_OK)
        status = ledger_leaf_key(writer->store->db, table, "t.", &sql, err);
    if (status == STATUS_OK && !text_ok(&sql))
        status = no_memory(err);
    rc = status == STATUS_OK ? sqlite3_prepare_v2(writer->store->db, sql.data, -1, &rows, NULL)
                             : SQLITE_OK;
    while (status == STATUS_OK && rc == SQLITE_OK && (rc = sqlite3_step(rows)) == SQLITE_ROW) {
        char *line = NULL;

        status = row_line(writer, table, rows, &line, err);
        if (status == STATUS_OK) {
            sqlite3_bind_int64(insert, 1, sqlite3_column_int64(rows, 0));
            sqlite3_bind_text(insert, 2, line, -1, SQLITE_TRANSIENT);
            rc = sqlite3_step(insert);
            rc = rc == SQLITE_DONE ? sqlite3_reset(insert) : rc;
            writer->summary.rows++;
        }
        free(line);
    }
    if (status == STATUS_OK && rc != SQLITE_DONE)
        status = store_error(writer->store, rc, "gathering a bundle", err);
    sqlite3_finalize(rows);
    text_finish(&sql);
    return status;
}

static enum status gather(struct writer *writer, struct error *err)
{
    sqlite3_stmt *insert = NULL;
    enum status status = STATUS_OK;
    int rc = sqlite3_exec(writer->store->db,
                          "DROP TABLE IF EXISTS temp.bundle_line;"
                          "CREATE TEMP TABLE bundle_line (leaf INTEGER PRIMARY KEY, line TEXT)",
                          NULL, NULL, NULL);

    if (rc == SQLITE_OK)
        rc = sqlite3_prepare_v2(writer->store->db, "INSERT INTO temp.bundle_line VALUES (?1, ?2)",
                                -1, &insert, NULL);
    if (rc != SQLITE_OK)
        return store_error(writer->store, rc, "gathering a bundle", err);
    for (const char *const *table = bundle_tables(); *table && status == STATUS_OK; table++)
        status = gather_table(writer, *table, insert, err);
    sqlite3_finalize(insert);
    return status;
}

/* ---- the file ---- */

static enum status load_leaves(struct writer *writer, struct error *err)
{
    struct digest *leaves = calloc((size_t)writer->head.size, sizeof(*leaves));
    sqlite3_stmt *select = NULL;
    int64_t count = 0;
    int rc = sqlite3_prepare_v2(
        writer->store->db, "SELECT leaf, digest FROM main.ledger WHERE leaf < ?1 ORDER BY leaf", -1,
        &select, NULL);

    if (!leaves) {
        sqlite3_finalize(select);
        return no_memory(err);
    }
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_int64(select, 1, writer->head.size);
    while (rc == SQLITE_OK && (rc = sqlite3_step(select)) == SQLITE_ROW) {
        if (sqlite3_column_int64(select, 0) != count ||
            sqlite3_column_bytes(select, 1) != DIGEST_SIZE)
            break;
        memcpy(leaves[count++].bytes, sqlite3_column_blob(select, 1), DIGEST_SIZE);
        rc = SQLITE_OK;
    }
    sqlite3_finalize(select);
    if (rc != SQLITE_DONE || count != writer->head.size) {
        free(leaves);
        return error_set(err, STATUS_CORRUPT,
                         "%s: the ledger has gaps; run `assay verify` to see where",
                         writer->store->path);
    }
    return merkle_levels_init(&writer->levels, leaves, (uint64_t)count, err);
}

static json_t *words_json(const char *const *words, size_t count)
{
    json_t *ret = json_array();

    for (size_t i = 0; i < count; i++)
        json_array_append_new(ret, json_string(words[i]));
    return ret;
}

static enum status put_head(struct writer *writer, struct error *err)
{
    json_t *uids = json_array(), *heads = NULL;
    sqlite3_stmt *select = NULL;
    char *note = NULL;
    int64_t schema = 0;
    enum status status = ledger_note(writer->store, &writer->head, &note, err);

    if (status == STATUS_OK)
        status = bundle_heads_json(writer->store, writer->options, &writer->levels, &writer->head,
                                   &heads, err);

    if (sqlite3_prepare_v2(writer->store->db,
                           "SELECT uid FROM main.campaign WHERE id IN temp.bundle_campaign"
                           " ORDER BY id",
                           -1, &select, NULL) == SQLITE_OK)
        while (sqlite3_step(select) == SQLITE_ROW)
            json_array_append_new(uids, json_string((const char *)sqlite3_column_text(select, 0)));
    sqlite3_finalize(select);
    select = NULL;
    if (sqlite3_prepare_v2(writer->store->db, "PRAGMA user_version", -1, &select, NULL) ==
            SQLITE_OK &&
        sqlite3_step(select) == SQLITE_ROW)
        schema = sqlite3_column_int64(select, 0);
    sqlite3_finalize(select);
    if (status == STATUS_OK)
        status = put_line(
            writer,
            json_pack("{s:i, s:o, s:I, s:O, s:s, s:s, s:o, s:I, s:I, s:s, s:o}", "assay_bundle",
                      BUNDLE_VERSION, "campaigns", json_incref(uids), "created_utc_ns",
                      (json_int_t)clock_utc_ns(), "heads", heads, "note", note, "origin",
                      writer->head.origin, "root", bundle_hex_json(&writer->head.root), "schema",
                      (json_int_t)schema, "size", (json_int_t)writer->head.size, "tool",
                      writer->options->tool_version ? writer->options->tool_version : "?",
                      "withheld",
                      words_json(writer->options->withhold, writer->options->withhold_count)),
            err);
    json_decref(uids);
    json_decref(heads);
    free(note);
    return status;
}

static enum status put_rows(struct writer *writer, struct error *err)
{
    sqlite3_stmt *select = NULL;
    uint64_t done = 0;
    enum status status = STATUS_OK;
    int rc = sqlite3_prepare_v2(
        writer->store->db, "SELECT line FROM temp.bundle_line ORDER BY leaf", -1, &select, NULL);

    while (rc == SQLITE_OK && status == STATUS_OK && (rc = sqlite3_step(select)) == SQLITE_ROW) {
        status = put(writer, (const char *)sqlite3_column_text(select, 0),
                     (size_t)sqlite3_column_bytes(select, 0), err);
        if (status == STATUS_OK)
            status = put(writer, "\n", 1, err);
        if (status == STATUS_OK && writer->options->progress && done++ % 256 == 0 &&
            !writer->options->progress(writer->options->context, done,
                                       (uint64_t)writer->summary.rows))
            status = error_set(err, STATUS_INTERRUPTED, "interrupted");
        rc = SQLITE_OK;
    }
    if (status == STATUS_OK && rc != SQLITE_DONE)
        status = store_error(writer->store, rc, "writing the bundle", err);
    sqlite3_finalize(select);
    return status;
}

/* The selection is signed too: no row can be removed from the bundle. */
static json_t *seal(const struct writer *writer, const struct digest *before)
{
    uint8_t signature[KEY_SIGNATURE_SIZE];
    char hex[DIGEST_HEX_SIZE];
    struct text note;
    json_t *ret;

    text_init(&note);
    text_append_format(&note, BUNDLE_SEAL, digest_hex(before, hex));
    if (writer->options->key && text_ok(&note)) {
        crypto_sign_detached(signature, NULL, (const uint8_t *)note.data, note.length,
                             writer->options->key->secret);
        text_append_char(&note, '\n');
        note_append_signature(&note, &writer->options->key->public, signature);
    }
    ret = writer->options->key && text_ok(&note) ? json_string(note.data) : json_null();
    text_finish(&note);
    return ret;
}

static enum status put_end(struct writer *writer, struct error *err)
{
    struct digest_state so_far = writer->sha256;
    const struct digest before = digest_final(&so_far);

    return put_line(writer,
                    json_pack("{s:I, s:o, s:o}", "rows", (json_int_t)writer->summary.rows, "seal",
                              seal(writer, &before), "sha256", bundle_hex_json(&before)),
                    err);
}

enum status bundle_write(struct store *store, const struct bundle_options *options, FILE *file,
                         struct bundle_summary *ret, struct error *err)
{
    struct writer writer = {.store = store, .options = options, .file = file};
    enum status status = bundle_select(store, options->campaigns, options->campaign_count, err);

    digest_init(&writer.sha256);
    if (status == STATUS_OK)
        status = bundle_secrets_gather(&writer.secrets, store, options, err);
    if (status == STATUS_OK && options->key &&
        bundle_secrets_are_in(&writer.secrets, options->key->public.name,
                              strlen(options->key->public.name)))
        status =
            error_set(err, STATUS_INVALID,
                      "a value to withhold is part of the name of the key that signs, %s; sign "
                      "with a key of another name, or --unsigned",
                      options->key->public.name);
    if (status == STATUS_OK)
        status = ledger_add_checkpoint(store, "request", 0, options->key, &writer.head, err);
    if (status == STATUS_OK)
        status = load_leaves(&writer, err);
    if (status == STATUS_OK)
        status = gather(&writer, err);
    if (status == STATUS_OK)
        status = put_head(&writer, err);
    if (status == STATUS_OK)
        status = put_rows(&writer, err);
    if (status == STATUS_OK)
        status = put_end(&writer, err);
    if (status == STATUS_OK && fflush(file) != 0)
        status = error_set_errno(err, errno, "writing the bundle");
    if (status == STATUS_OK) {
        writer.summary.size = writer.head.size;
        writer.summary.root = writer.head.root;
        writer.summary.sha256 = digest_final(&writer.sha256);
        *ret = writer.summary;
    }
    bundle_secrets_finish(&writer.secrets);
    merkle_levels_finish(&writer.levels);
    return status;
}
