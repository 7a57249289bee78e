#include "results/evidence/bundle.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "harness/core/canonical.h"
#include "harness/core/cleanup.h"
#include "harness/core/clock.h"
#include "harness/core/text.h"
#include "results/evidence/bundle_proof.h"
#include "results/evidence/bundle_withhold.h"
#include "results/evidence/ledger.h"
#include "results/evidence/note.h"
#include "results/store/store_internal.h"

#define CHUNKS_A_LINE 256

struct writer {
    struct store *store;
    const struct bundle_options *options;
    FILE *file;
    struct digest_state sha256;
    struct ledger_checkpoint head;
    struct bundle_secrets secrets;
    struct bundle_summary summary;
};

static enum status put(struct writer *writer, const char *bytes, size_t length, struct error *err)
{
    if (!writer->file) /* it is tried out */
        return STATUS_OK;
    digest_update(&writer->sha256, bytes, length);
    if (fwrite(bytes, 1, length, writer->file) == length)
        return STATUS_OK;
    return error_set_errno(err, errno, "writing the bundle");
}

/* Writes the object as one line; takes the reference. */
static enum status put_line(struct writer *writer, json_t *object, struct error *err)
{
    json_auto_t *taken = object;
    AUTO_FREE char *line = NULL;

    TRY(taken ? canonical_dump(taken, &line, err) : error_no_memory(err));
    TRY(put(writer, line, strlen(line), err));
    return put(writer, "\n", 1, err);
}

static json_t *hex_json(const struct digest *digest)
{
    char hex[DIGEST_HEX_SIZE];

    return json_string(digest_hex(digest, hex));
}

static json_t *base64_json(sqlite3_stmt *row, int column)
{
    const size_t length = (size_t)sqlite3_column_bytes(row, column);
    const size_t capacity = sodium_base64_encoded_len(length, sodium_base64_VARIANT_ORIGINAL);
    AUTO_FREE char *text = malloc(capacity);
    json_t *ret = NULL;

    if (text)
        ret = json_string(sodium_bin2base64(text, capacity, sqlite3_column_blob(row, column),
                                            length, sodium_base64_VARIANT_ORIGINAL));
    return ret;
}

/* Runs a SELECT of up to one parameter; `take` is called for each row. */
static enum status each_row(struct writer *writer, const char *sql, int64_t parameter,
                            enum status (*take)(struct writer *writer, sqlite3_stmt *row,
                                                struct error *err),
                            struct error *err)
{
    CLEANUP(statement_end) struct statement statement = {0};
    enum status status;

    TRY(statement_begin(writer->store, sql, &statement, err));
    if (sqlite3_bind_parameter_count(statement.handle) > 0)
        statement_i64(&statement, parameter);
    while (statement_next(&statement, &status, err))
        TRY(take(writer, statement.handle, err));
    return status;
}

static enum status run(struct writer *writer, const char *sql, struct error *err)
{
    const int rc = sqlite3_exec(writer->store->db, sql, NULL, NULL, NULL);

    return rc == SQLITE_OK ? STATUS_OK
                           : store_error(writer->store, rc, "choosing what a bundle has", err);
}

/* ---- what belongs to the campaigns ---- */

/* What a record refers to belongs to the bundle, too. */
static enum status add_reference(void *context, bool is_blob, const struct digest *digest,
                                 struct error *err)
{
    struct writer *writer = context;
    struct statement statement;

    if (is_blob)
        TRY(statement_begin(writer->store,
                            "INSERT OR IGNORE INTO temp.bundle_blob (digest) VALUES (?1)",
                            &statement, err));
    else
        TRY(statement_begin(writer->store,
                            "INSERT OR IGNORE INTO temp.bundle_record (id) SELECT id FROM"
                            " main.record WHERE digest = ?1",
                            &statement, err));
    statement_digest(&statement, digest);
    return statement_run(&statement, NULL, err);
}

/* columns: 0 id, 1 type, 2 body. What it refers to came before it. */
static enum status follow(struct writer *writer, sqlite3_stmt *row, struct error *err)
{
    const struct record_visitor visitor = {.context = writer, .reference = add_reference};
    const struct record_type *type = record_type_find((const char *)sqlite3_column_text(row, 1));

    if (!type)
        return error_set(err, STATUS_CORRUPT, "a record is of no type that this assay knows");
    return record_scan(type, (const char *)sqlite3_column_text(row, 2),
                       (size_t)sqlite3_column_bytes(row, 2), &visitor, err);
}

/* Records that are about these campaigns and no others, and what they refer to. */
static enum status choose(struct writer *writer, struct error *err)
{
    const struct bundle_options *options = writer->options;
    CLEANUP(text_finish) struct text sql = {0};
    int64_t known = -1, now = 0;

    text_init(&sql);
    text_append(&sql, "DROP TABLE IF EXISTS temp.bundle_campaign;"
                      "DROP TABLE IF EXISTS temp.bundle_record;"
                      "DROP TABLE IF EXISTS temp.bundle_blob;"
                      "CREATE TEMP TABLE bundle_campaign (id INTEGER PRIMARY KEY);"
                      "CREATE TEMP TABLE bundle_record (id INTEGER PRIMARY KEY, seen INTEGER);"
                      "CREATE TEMP TABLE bundle_blob (digest BLOB PRIMARY KEY, dump INTEGER)"
                      " WITHOUT ROWID;");
    for (size_t i = 0; i < options->campaign_count; i++)
        text_append_format(&sql,
                           "INSERT OR IGNORE INTO temp.bundle_campaign SELECT record FROM"
                           " main.campaign WHERE id = %" PRId64 ";",
                           options->campaigns[i]);
    text_append_format(&sql,
                       "INSERT INTO temp.bundle_record (id) SELECT DISTINCT a.record FROM"
                       " main.about a JOIN main.record r ON r.id = a.record WHERE a.campaign IN"
                       " (SELECT id FROM temp.bundle_campaign) AND r.log = 1 AND r.leaf < %" PRId64
                       " AND NOT EXISTS (SELECT 1 FROM main.about o WHERE o.record = a.record AND"
                       " o.campaign NOT IN (SELECT id FROM temp.bundle_campaign));"
                       "INSERT OR IGNORE INTO temp.bundle_record (id) SELECT id FROM main.record"
                       " WHERE log = 1 AND leaf = 0;",
                       writer->head.size);
    TRY(text_ok(&sql) ? run(writer, sql.data, err) : error_no_memory(err));
    while (now != known) {
        known = now;
        TRY(run(writer, "UPDATE temp.bundle_record SET seen = 0 WHERE seen IS NULL", err));
        TRY(each_row(writer,
                     "SELECT r.id, r.type, r.body FROM temp.bundle_record b JOIN"
                     " main.record r ON r.id = b.id WHERE b.seen = 0",
                     0, follow, err));
        TRY(run(writer, "UPDATE temp.bundle_record SET seen = 1 WHERE seen = 0", err));
        TRY(store_ask(writer->store, "SELECT count(*) FROM temp.bundle_record", 0, &now, err));
    }
    return STATUS_OK;
}

/* ---- what must be left out ---- */

/* columns: 0 type, 1 body */
static enum status gather(struct writer *writer, sqlite3_stmt *row, struct error *err)
{
    return bundle_secrets_gather(
        &writer->secrets, record_type_find((const char *)sqlite3_column_text(row, 0)),
        (const char *)sqlite3_column_text(row, 1), (size_t)sqlite3_column_bytes(row, 1), err);
}

static enum status gather_all(struct writer *writer, struct error *err)
{
    enum status status = each_row(writer,
                                  "SELECT r.type, r.body FROM temp.bundle_record b JOIN main.record"
                                  " r ON r.id = b.id ORDER BY r.id",
                                  0, gather, err);
    bool *dumps = bundle_secrets_dumps(&writer->secrets);

    if (status == STATUS_OK && dumps) {
        status = run(writer,
                     "UPDATE temp.bundle_blob SET dump = 1 WHERE digest IN (SELECT output FROM"
                     " main.dump)",
                     err);
        *dumps = sqlite3_changes(writer->store->db) > 0;
    }
    return status == STATUS_OK ? bundle_secrets_check(&writer->secrets, err) : status;
}

/* ---- lines ---- */
/* The uids of the campaigns that it holds. */
static enum status list_campaigns(struct writer *writer, json_t *uids, struct error *err)
{
    CLEANUP(statement_end) struct statement statement = {0};
    enum status status;

    TRY(statement_begin(writer->store,
                        "SELECT g.uid FROM temp.bundle_campaign b JOIN main.campaign g ON"
                        " g.record = b.id ORDER BY g.id",
                        &statement, err));
    while (statement_next(&statement, &status, err))
        json_array_append_new(uids,
                              json_string((const char *)sqlite3_column_text(statement.handle, 0)));
    return status;
}

static enum status put_head(struct writer *writer, struct error *err)
{
    const struct bundle_options *options = writer->options;
    json_auto_t *uids = json_array(), *words = bundle_secrets_words(&writer->secrets);
    json_auto_t *proof = NULL;
    AUTO_FREE char *note = NULL;

    TRY(bundle_prove(writer->store, options, writer->head.size, &proof, err));
    TRY(ledger_note(writer->store, &writer->head, &note, err));
    if (bundle_secrets_are_in(&writer->secrets, note, strlen(note)))
        return error_set(err, STATUS_INVALID,
                         "a withheld value is also in the name of the key that signs; make a key "
                         "with another name (assay key new --name NAME)");
    TRY(list_campaigns(writer, uids, err));
    return put_line(writer,
                    json_pack("{s:i, s:O, s:I, s:s, s:s, s:O, s:o, s:I, s:s, s:O}", "assay_bundle",
                              BUNDLE_VERSION, "campaigns", uids, "created_utc_ns",
                              (json_int_t)clock_utc_ns(), "note", note, "origin",
                              writer->head.origin, "proof", proof, "root",
                              hex_json(&writer->head.root), "size", (json_int_t)writer->head.size,
                              "tool", options->tool_version, "withheld", words),
                    err);
}

/* columns: 0 body, 1 whether it is withheld by name */
static enum status put_blob(struct writer *writer, sqlite3_stmt *row, struct error *err)
{
    const void *bytes = sqlite3_column_blob(row, 0);
    const size_t length = (size_t)sqlite3_column_bytes(row, 0);
    const bool is_text = sqlite3_column_type(row, 0) == SQLITE_TEXT;

    if (sqlite3_column_int(row, 1) ||
        (bytes && bundle_secrets_are_in(&writer->secrets, bytes, length))) {
        writer->summary.withheld++;
        return STATUS_OK;
    }
    return put_line(writer,
                    is_text ? json_pack("{s:o}", "text", json_stringn(bytes ? bytes : "", length))
                            : json_pack("{s:o}", "base64", base64_json(row, 0)),
                    err);
}

/* columns: 0 leaf, 1 type, 2 salt, 3 body */
static enum status put_record(struct writer *writer, sqlite3_stmt *row, struct error *err)
{
    const struct record_type *type = record_type_find((const char *)sqlite3_column_text(row, 1));
    const void *bytes = sqlite3_column_blob(row, 2);
    struct digest salt;
    json_t *salt_json = NULL, *record;
    AUTO_FREE char *body = NULL;

    if (bytes && sqlite3_column_bytes(row, 2) == DIGEST_SIZE)
        memcpy(salt.bytes, bytes, DIGEST_SIZE);
    else
        bytes = NULL;
    TRY(bundle_withhold(&writer->secrets, type, (const char *)sqlite3_column_text(row, 3),
                        (size_t)sqlite3_column_bytes(row, 3), bytes ? &salt : NULL, &body,
                        &salt_json, &writer->summary.withheld, err));
    record = json_loads(body, 0, NULL);
    writer->summary.records++;
    return put_line(writer,
                    json_pack("{s:I, s:o, s:o}", "leaf", (json_int_t)sqlite3_column_int64(row, 0),
                              "record", record, "salt", salt_json),
                    err);
}

static enum status put_records(struct writer *writer, struct error *err)
{
    return each_row(writer,
                    "SELECT r.leaf, r.type, r.salt, r.body FROM temp.bundle_record b JOIN"
                    " main.record r ON r.id = b.id ORDER BY r.leaf",
                    0, put_record, err);
}

/* Chunks of one series, some at a time. */
struct chunks {
    json_t *array;
    int64_t leaf, first;
    char *name; /* heap */
};

static enum status put_chunks(struct writer *writer, struct chunks *chunks, struct error *err)
{
    json_t *array = chunks->array;

    chunks->array = NULL;
    if (!array)
        return STATUS_OK;
    return put_line(writer,
                    json_pack("{s:o, s:I, s:I, s:s}", "chunks", array, "first",
                              (json_int_t)chunks->first, "leaf", (json_int_t)chunks->leaf, "series",
                              chunks->name),
                    err);
}

/* columns: 0 leaf, 1 name, 2 first, 3 data */
static enum status take_chunk(struct writer *writer, sqlite3_stmt *row, struct chunks *chunks,
                              struct error *err)
{
    const char *name = (const char *)sqlite3_column_text(row, 1);

    if (chunks->array &&
        (json_array_size(chunks->array) == CHUNKS_A_LINE ||
         chunks->leaf != sqlite3_column_int64(row, 0) || strcmp(chunks->name, name) != 0))
        TRY(put_chunks(writer, chunks, err));
    if (!chunks->array) {
        chunks->array = json_array();
        chunks->leaf = sqlite3_column_int64(row, 0);
        chunks->first = sqlite3_column_int64(row, 2);
        free(chunks->name);
        chunks->name = strdup(name);
    }
    if (!chunks->name || json_array_append_new(chunks->array, base64_json(row, 3)) != 0)
        return error_no_memory(err);
    return STATUS_OK;
}

static enum status put_samples(struct writer *writer, struct error *err)
{
    struct chunks chunks = {0};
    sqlite3_stmt *row = NULL;
    enum status status = STATUS_OK;
    uint64_t done = 0;
    int rc = sqlite3_prepare_v2(
        writer->store->db,
        "SELECT r.leaf, s.name, s.first, s.data FROM temp.bundle_record b JOIN main.trial_end e ON"
        " e.record = b.id JOIN main.record r ON r.id = b.id JOIN main.series s ON s.trial = e.trial"
        " ORDER BY r.leaf, s.name, s.first",
        -1, &row, NULL);

    while (rc == SQLITE_OK && status == STATUS_OK && (rc = sqlite3_step(row)) == SQLITE_ROW) {
        status = take_chunk(writer, row, &chunks, err);
        if (status == STATUS_OK && done++ % 1024 == 0 && writer->options->progress &&
            !writer->options->progress(writer->options->context, done, 0))
            status = error_set(err, STATUS_INTERRUPTED, "interrupted");
        rc = SQLITE_OK;
    }
    if (status == STATUS_OK && rc != SQLITE_DONE)
        status = store_error(writer->store, rc, "reading samples", err);
    sqlite3_finalize(row);
    if (status == STATUS_OK)
        status = put_chunks(writer, &chunks, err);
    json_decref(chunks.array);
    free(chunks.name);
    return status;
}

static enum status put_end(struct writer *writer, struct error *err)
{
    struct digest_state state = writer->sha256;
    const struct digest digest = digest_final(&state);
    const struct key *key = writer->options->key;
    uint8_t signature[KEY_SIGNATURE_SIZE];
    char hex[DIGEST_HEX_SIZE];
    struct text seal;
    json_t *json = json_null();
    enum status status = STATUS_OK;

    text_init(&seal);
    if (key) {
        text_append_format(&seal, BUNDLE_SEAL, digest_hex(&digest, hex));
        status = text_ok(&seal) ? key_sign(key, seal.data, seal.length, signature, err)
                                : error_no_memory(err);
        text_append_char(&seal, '\n');
        note_append_signature(&seal, &key->public, signature);
        json = text_ok(&seal) ? json_string(seal.data) : NULL;
    }
    text_finish(&seal);
    if (status != STATUS_OK) {
        json_decref(json);
        return status;
    }
    status = put_line(writer,
                      json_pack("{s:I, s:o, s:o}", "records", (json_int_t)writer->summary.records,
                                "seal", json, "sha256", hex_json(&digest)),
                      err);
    writer->summary.sha256 = digest_final(&writer->sha256);
    return status;
}

/* ---- the whole ---- */

static void finish_trial(struct writer *trial)
{
    bundle_secrets_finish(&trial->secrets);
}

/* Whether there can be such a bundle: no line is written. */
static enum status try_out(const struct writer *writer, struct error *err)
{
    CLEANUP(finish_trial)
    struct writer trial = {
        .store = writer->store, .options = writer->options, .head = writer->head};

    TRY(bundle_secrets_init(&trial.secrets, trial.options, err));
    TRY(choose(&trial, err));
    TRY(gather_all(&trial, err));
    TRY(put_head(&trial, err));
    return trial.options->withhold_count > 0 || trial.secrets.confidential
               ? put_records(&trial, err)
               : STATUS_OK;
}

static enum status insert_heads(struct writer *writer, struct error *err)
{
    const struct bundle_options *options = writer->options;

    TRY(ledger_insert_head(writer->store, "bundle", options->campaigns, options->campaign_count,
                           NULL, NULL, err));
    TRY(ledger_insert_head(writer->store, "request", NULL, 0, options->key, &writer->head, err));
    return try_out(writer, err); /* of a bundle that is refused no head stays */
}

/* Two heads: the first says what there is of each campaign; the second covers it, and is signed. */
static enum status add_heads(struct writer *writer, struct error *err)
{
    const struct bundle_options *options = writer->options;

    for (size_t i = 0; i < options->campaign_count; i++) {
        int64_t log = 0;

        TRY(store_ask(writer->store,
                      "SELECT r.log FROM campaign g JOIN record r ON r.id = g.record"
                      " WHERE g.id = ?1",
                      options->campaigns[i], &log, err));
        if (log != 1)
            return error_set(
                err, STATUS_INVALID,
                "a campaign came in a bundle: it is proven by that bundle, so hand that file on");
    }
    /* In one transaction: no other process's record may come between them. */
    TRY(store_change_begin(writer->store, err));
    return store_change_end(writer->store, insert_heads(writer, err), err);
}

/* All of it, from one snapshot of the store. */
static enum status write_content(struct writer *writer, struct error *err)
{
    TRY(choose(writer, err));
    TRY(gather_all(writer, err));
    TRY(put_head(writer, err));
    TRY(each_row(writer,
                 "SELECT c.body, b.dump FROM temp.bundle_blob b JOIN main.content c ON"
                 " c.digest = b.digest ORDER BY b.digest",
                 0, put_blob, err));
    TRY(put_records(writer, err));
    TRY(put_samples(writer, err));
    return put_end(writer, err);
}

enum status bundle_write(struct store *store, const struct bundle_options *options, FILE *file,
                         struct bundle_summary *ret, struct error *err)
{
    struct writer writer = {.store = store, .options = options, .file = file};
    enum status status = bundle_secrets_init(&writer.secrets, options, err);

    digest_init(&writer.sha256);
    if (status == STATUS_OK)
        status = add_heads(&writer, err);
    if (status == STATUS_OK)
        status = store_snapshot_begin(store, err);
    if (status == STATUS_OK) {
        status = write_content(&writer, err);
        store_snapshot_end(store);
    }
    writer.summary.confidential = writer.secrets.confidential;
    bundle_secrets_finish(&writer.secrets);
    writer.summary.size = writer.head.size;
    writer.summary.root = writer.head.root;
    if (status == STATUS_OK)
        *ret = writer.summary;
    return status;
}
