#include "results/bundle_importer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/clock.h"
#include "harness/core/text.h"
#include "results/bundle.h"

/* Heads of another ledger: they stay in the bundle's note. */
static const char *const left_out[] = {"checkpoint", "signature", "timestamp_token"};

static enum status find_table(struct bundle_importer *importer, const char *name,
                              struct bundle_table **ret, struct error *err)
{
    struct bundle_table *table;

    for (size_t i = 0; i < importer->table_count; i++)
        if (!strcmp(importer->tables[i].name, name)) {
            *ret = &importer->tables[i];
            return STATUS_OK;
        }
    if (!bundle_condition(name) || importer->table_count == BUNDLE_TABLES_MAX || strlen(name) > 63)
        return error_set(err, STATUS_CORRUPT,
                         "%s: has rows of a table that bundles do not carry; a newer assay may",
                         importer->path);
    table = &importer->tables[importer->table_count++];
    snprintf(table->name, sizeof(table->name), "%s", name);
    *ret = table;
    return bundle_table_prepare(importer->store, table, err);
}

/* ---- rows ---- */

static enum status bad_row(const struct bundle_importer *importer, const struct bundle_row *row,
                           struct error *err)
{
    return error_set(err, STATUS_CORRUPT,
                     "%s: leaf %" PRId64
                     " (%s) cannot be taken in: a value is not of the form that "
                     "its column has, or it refers to a row that is not in the bundle",
                     importer->path, row->leaf, row->table);
}

static enum status duplicate_key(const struct bundle_importer *importer,
                                 const struct bundle_row *row, struct error *err)
{
    return error_set(err, STATUS_CORRUPT,
                     "%s: leaf %" PRId64
                     " (%s) cannot be taken in: a row of this key is there already",
                     importer->path, row->leaf, row->table);
}

/* A row that is here already, by what makes it the same; 0: none. */
static int64_t find_shared(struct bundle_importer *importer, struct bundle_table *table,
                           const struct bundle_row *row)
{
    int64_t id = 0;

    if (!table->find)
        return 0;
    sqlite3_reset(table->find);
    for (int p = 0; table->same[p]; p++)
        for (int i = 0; i < table->column_count; i++)
            if (!strcmp(table->columns[i].name, table->same[p]) &&
                bundle_bind_value(importer, table, i, row, table->find, p + 1) != STATUS_OK)
                return 0;
    if (sqlite3_step(table->find) == SQLITE_ROW)
        id = sqlite3_column_int64(table->find, 0);
    sqlite3_reset(table->find);
    return id;
}

static bool is_taken(struct bundle_table *table, int64_t id)
{
    bool taken;

    sqlite3_reset(table->taken);
    sqlite3_bind_int64(table->taken, 1, id);
    taken = sqlite3_step(table->taken) == SQLITE_ROW;
    sqlite3_reset(table->taken);
    return taken;
}

/* The row's key here, where it is one column: its number, or a digest in hex. */
static bool key_here(struct bundle_importer *importer, const struct bundle_table *table, int64_t id,
                     const struct bundle_row *row, char ret[DIGEST_HEX_SIZE])
{
    const char *column = table->key >= 0 ? table->columns[table->key].name : "";
    const json_t *value = json_object_get(row->row, column);
    unsigned char *bytes = NULL;
    size_t length = 0;
    bool known = true;

    if (id == 0 && json_is_integer(value)) /* another row's number */
        known = bundle_recall(importer, table->columns[table->key].parent,
                              json_integer_value(value), &id);
    if (id > 0) {
        snprintf(ret, DIGEST_HEX_SIZE, "%" PRId64, id);
        return known;
    }
    known = bundle_decode(json_object_get(row->blobs, column), &bytes, &length) &&
            length <= DIGEST_SIZE;
    if (known)
        sodium_bin2hex(ret, DIGEST_HEX_SIZE, bytes, length);
    free(bytes);
    return known;
}

static enum status note_withheld(struct bundle_importer *importer, const struct bundle_table *table,
                                 int64_t id, const struct bundle_row *row, struct error *err)
{
    char key[DIGEST_HEX_SIZE];

    for (int i = 0; i < table->column_count; i++) {
        if (!importer->is_withheld[i])
            continue;
        if (!key_here(importer, table, id, row, key))
            return bad_row(importer, row, err);
        sqlite3_reset(importer->withhold);
        sqlite3_bind_text(importer->withhold, 1, table->name, -1, SQLITE_STATIC);
        sqlite3_bind_text(importer->withhold, 2, key, -1, SQLITE_TRANSIENT);
        sqlite3_bind_text(importer->withhold, 3, table->columns[i].name, -1, SQLITE_STATIC);
        sqlite3_bind_blob(importer->withhold, 4, importer->commitments[i].bytes, DIGEST_SIZE,
                          SQLITE_TRANSIENT);
        if (sqlite3_step(importer->withhold) != SQLITE_DONE)
            return bundle_failed(importer->store, err);
    }
    return STATUS_OK;
}

static enum status insert_row(struct bundle_importer *importer, struct bundle_table *table,
                              const struct bundle_row *row, struct error *err)
{
    const int64_t there = table->id >= 0 ? json_integer_value(json_object_get(row->row, "id")) : 0;
    int64_t here = find_shared(importer, table, row);
    enum status status = STATUS_OK;

    if (there != 0 && bundle_recall(importer, table->name, there, &(int64_t){0}))
        return duplicate_key(importer, row, err);
    if (here != 0)
        return bundle_remember(importer, table->name, there, here, err);
    sqlite3_reset(table->insert);
    sqlite3_clear_bindings(table->insert);
    for (int i = 0; i < table->column_count && status == STATUS_OK; i++)
        if (i != table->id)
            status = bundle_bind_value(importer, table, i, row, table->insert, i + 1);
    if (status != STATUS_OK)
        return status == STATUS_NO_MEMORY ? error_set(err, status, "no memory for a bundle")
                                          : bad_row(importer, row, err);
    /* The number that it had, where that is free: then estimates are the very same bytes. */
    if (table->id >= 0 && there > 0 && !is_taken(table, there))
        sqlite3_bind_int64(table->insert, table->id + 1, there);
    if (!strcmp(table->name, "estimate"))
        status = bundle_renumber_estimate(importer, table, row, err);
    if (status == STATUS_OK && sqlite3_step(table->insert) != SQLITE_DONE)
        status = bundle_failed(importer->store, err);
    sqlite3_reset(table->insert);
    if (status != STATUS_OK)
        return status;
    /* Of what is stored once under its own digest, the row that was here stays. */
    if (sqlite3_changes(importer->store->db) == 0)
        return table->is_shared ? STATUS_OK : duplicate_key(importer, row, err);
    importer->summary->rows++;
    if (table->id >= 0) {
        here = sqlite3_last_insert_rowid(importer->store->db);
        /* The ledger's trigger inserts, too; SQLite reports the outer row's number afterwards. */
        status = bundle_remember(importer, table->name, there, here, err);
    }
    return status == STATUS_OK ? note_withheld(importer, table, here, row, err) : status;
}

static enum status take_row(void *context, const struct bundle_row *row, struct error *err)
{
    struct bundle_importer *importer = context;
    struct bundle_table *table = NULL;
    enum status status;

    if (json_array_size(importer->new_uids) == 0)
        return STATUS_OK;
    for (size_t i = 0; i < sizeof(left_out) / sizeof(left_out[0]); i++)
        if (!strcmp(row->table, left_out[i]))
            return STATUS_OK;
    status = find_table(importer, row->table, &table, err);
    return status == STATUS_OK ? insert_row(importer, table, row, err) : status;
}

/* ---- the whole ---- */

static enum status take_head(void *context, const struct bundle_head *head, struct error *err)
{
    struct bundle_importer *importer = context;
    size_t known = 0;

    importer->origin = text_format("%s", head->origin);
    importer->note = text_format("%s", head->note);
    importer->size = head->size;
    importer->root = head->root;
    importer->new_uids = json_array();
    if (!importer->origin || !importer->note || !importer->new_uids)
        return error_set(err, STATUS_NO_MEMORY, "no memory for a bundle");
    if (json_array_size(head->campaigns) == 0)
        return error_set(err, STATUS_CORRUPT, "%s: has no campaign", importer->path);
    snprintf(importer->first_uid, sizeof(importer->first_uid), "%s",
             json_string_value(json_array_get(head->campaigns, 0)));
    for (size_t i = 0; i < json_array_size(head->campaigns); i++) {
        sqlite3_stmt *select = NULL;
        bool here;

        if (bundle_prepare(importer->store, "SELECT 1 FROM campaign WHERE uid = ?1", &select,
                           err) != STATUS_OK)
            return STATUS_IO;
        sqlite3_bind_text(select, 1, json_string_value(json_array_get(head->campaigns, i)), -1,
                          SQLITE_STATIC);
        here = sqlite3_step(select) == SQLITE_ROW;
        sqlite3_finalize(select);
        known += here;
        if (!here)
            json_array_append(importer->new_uids, json_array_get(head->campaigns, i));
    }
    importer->summary->campaigns = (int64_t)json_array_size(head->campaigns);
    importer->summary->known = (int64_t)known;
    if (known > 0 && json_array_size(importer->new_uids) > 0)
        return error_set(err, STATUS_INVALID,
                         "%s: %zu of its campaigns are here already and %zu are not; ask for a "
                         "bundle of those that are not",
                         importer->path, known, json_array_size(importer->new_uids));
    return importer->outer && importer->outer->head
               ? importer->outer->head(importer->outer->context, head, err)
               : STATUS_OK;
}

static void on_found(void *context, const struct verify_finding *finding)
{
    struct bundle_importer *importer = context;

    if (finding->level == VERIFY_WRONG)
        importer->summary->wrong++;
    if (importer->outer && importer->outer->found)
        importer->outer->found(importer->outer->context, finding);
}

static bool on_progress(void *context, uint64_t done, uint64_t total)
{
    struct bundle_importer *importer = context;

    return !importer->outer || !importer->outer->progress ||
           importer->outer->progress(importer->outer->context, done, total);
}

static enum status add_origins(struct bundle_importer *importer, const struct digest *sha256,
                               struct error *err)
{
    const char *slash = strrchr(importer->path, '/');
    enum status status = STATUS_OK;

    for (size_t i = 0; i < json_array_size(importer->new_uids) && status == STATUS_OK; i++) {
        struct statement statement;

        status = statement_begin(
            importer->store,
            "INSERT INTO bundle (imported_utc_ns, file, sha256, origin, size, root, note, campaign)"
            " SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, id FROM campaign WHERE uid = ?8",
            &statement, err);
        if (status != STATUS_OK)
            break;
        statement_i64(&statement, clock_utc_ns());
        statement_text(&statement, slash ? slash + 1 : importer->path);
        statement_digest(&statement, sha256);
        statement_text(&statement, importer->origin);
        statement_i64(&statement, importer->size);
        statement_digest(&statement, &importer->root);
        statement_text(&statement, importer->note);
        statement_text(&statement, json_string_value(json_array_get(importer->new_uids, i)));
        status = statement_run(&statement, NULL, err);
        if (status == STATUS_OK && sqlite3_changes(importer->store->db) != 1)
            status =
                error_set(err, STATUS_CORRUPT, "%s: has no row of its campaign %.8s...",
                          importer->path, json_string_value(json_array_get(importer->new_uids, i)));
    }
    return status;
}

static enum status find_first(struct bundle_importer *importer, struct error *err)
{
    struct statement statement;
    enum status status =
        statement_begin(importer->store, "SELECT id FROM campaign WHERE uid = ?1", &statement, err);

    if (status != STATUS_OK)
        return status;
    statement_text(&statement, importer->first_uid);
    return statement_single(&statement, &importer->summary->campaign, err);
}

static void finish(struct bundle_importer *importer)
{
    for (size_t i = 0; i < importer->table_count; i++) {
        bundle_table_finish(&importer->tables[i]);
    }
    sqlite3_finalize(importer->remember);
    sqlite3_finalize(importer->recall);
    sqlite3_finalize(importer->withhold);
    sqlite3_exec(importer->store->db, "DROP TABLE IF EXISTS temp.bundle_map", NULL, NULL, NULL);
    free(importer->origin);
    free(importer->note);
    json_decref(importer->new_uids);
}

static enum status run(struct bundle_importer *importer, const struct verify_options *options,
                       struct error *err)
{
    const struct bundle_visitor visitor = {
        .context = importer,
        .head = take_head,
        .row = take_row,
        .found = on_found,
        .progress = on_progress,
    };
    struct digest sha256;
    enum status status = STATUS_OK;

    if (sqlite3_exec(importer->store->db,
                     "DROP TABLE IF EXISTS temp.bundle_map;"
                     "CREATE TEMP TABLE bundle_map (table_name TEXT, there INTEGER, here INTEGER,"
                     " PRIMARY KEY (table_name, there)) WITHOUT ROWID",
                     NULL, NULL, NULL) != SQLITE_OK)
        return bundle_failed(importer->store, err);
    status = bundle_prepare(importer->store,
                            "INSERT OR REPLACE INTO temp.bundle_map VALUES (?1, ?2, ?3)",
                            &importer->remember, err);
    if (status == STATUS_OK)
        status =
            bundle_prepare(importer->store,
                           "SELECT here FROM temp.bundle_map WHERE table_name = ?1 AND there = ?2",
                           &importer->recall, err);
    if (status == STATUS_OK)
        status = bundle_prepare(importer->store,
                                "INSERT OR IGNORE INTO main.withheld VALUES (?1, ?2, ?3, ?4)",
                                &importer->withhold, err);
    if (status == STATUS_OK)
        status = bundle_read(importer->path, &visitor, options, &sha256, err);
    if (status == STATUS_OK && importer->summary->wrong > 0)
        return error_set(err, STATUS_CORRUPT, "%s: verification failed, so nothing was imported",
                         importer->path);
    if (status == STATUS_OK)
        status = add_origins(importer, &sha256, err);
    return status == STATUS_OK ? find_first(importer, err) : status;
}

enum status bundle_import(struct store *store, const char *path, const struct bundle_visitor *found,
                          const struct verify_options *options, struct bundle_import *ret,
                          struct error *err)
{
    struct bundle_import summary = {0};
    struct bundle_importer *importer = calloc(1, sizeof(*importer));
    enum status status;

    if (!importer)
        return error_set(err, STATUS_NO_MEMORY, "no memory for a bundle");
    importer->store = store;
    importer->path = path;
    importer->outer = found;
    importer->summary = &summary;
    status = store_change_begin(store, err);
    if (status == STATUS_OK) {
        status = run(importer, options, err);
        finish(importer);
        status = store_change_end(store, status, err);
    }
    free(importer);
    *ret = summary;
    return status;
}
