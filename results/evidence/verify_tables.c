/*
 * The tables are made again from the records, in a database of their own, and compared row by row
 * (of a file that was just made so that database has none of them); then the blobs against what
 * refers to them.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/canonical.h"
#include "harness/core/shortage.h"
#include "results/evidence/bundle_proof.h"
#include "results/evidence/verify_internal.h"

#define KEY_COLUMNS_MAX 4
#define PROGRESS_EVERY 1024

/* Tables that are evidence themselves, or belong to it; the others follow from the records. */
static bool is_evidence(const char *table)
{
    return !strcmp(table, "record") || !strcmp(table, "log") || !strcmp(table, "content") ||
           !strcmp(table, "series");
}

/* ---- making them again ---- */

struct wanting {
    struct verify *verify;
    sqlite3_stmt *want;
    bool is_own;
    struct digest_state received; /* of the records of other logs since the last of the own one */
};

static enum status want_blob(void *context, const struct digest *digest, struct error *err)
{
    struct wanting *wanting = context;
    int rc;

    sqlite3_bind_blob(wanting->want, 1, digest->bytes, DIGEST_SIZE, SQLITE_STATIC);
    sqlite3_bind_int(wanting->want, 2, wanting->is_own);
    rc = sqlite3_step(wanting->want);
    sqlite3_reset(wanting->want);
    return rc == SQLITE_DONE ? STATUS_OK : error_no_memory(err);
}

static enum status want(void *context, bool is_blob, const struct digest *digest, struct error *err)
{
    return is_blob ? want_blob(context, digest, err) : STATUS_OK;
}

/* A record of a bundle names what came with it, so that nothing of that can be withheld since. */
static enum status check_received(struct wanting *wanting, const struct record_row *record,
                                  struct error *err)
{
    const struct digest received = digest_final(&wanting->received);
    char hex[DIGEST_HEX_SIZE];
    const char *told;
    json_auto_t *body = NULL;

    digest_init(&wanting->received);
    if (strcmp(record->type->name, "bundle") != 0)
        return STATUS_OK;
    canonical_parse(record->body, record->length, "bundle", &body, NULL);
    told = json_string_value(json_object_get(body, "received"));
    if (!told || strcmp(told, digest_hex(&received, hex)) != 0)
        return error_set(
            err, STATUS_CORRUPT,
            "the records that came with it have changed since it was imported: something "
            "was withheld since, or changed");
    return STATUS_OK;
}

/* columns: 0 id, 1 log, 2 leaf, 3 type, 4 digest, 5 body, 6 salt */
static enum status enter(struct store *store, struct wanting *wanting, sqlite3_stmt *row,
                         struct error *err)
{
    const void *digest = sqlite3_column_blob(row, 4);
    const struct record_visitor blobs = {.context = wanting, .reference = want};
    struct digest salt;
    enum status status;
    struct record_row record = {.id = sqlite3_column_int64(row, 0),
                                .log = sqlite3_column_int64(row, 1),
                                .leaf = sqlite3_column_int64(row, 2),
                                .type = record_type_find(text_at(row, 3)),
                                .body = text_at(row, 5),
                                .length = (size_t)sqlite3_column_bytes(row, 5),
                                .blob = want_blob,
                                .context = wanting};

    if (!record.type || !digest || sqlite3_column_bytes(row, 4) != DIGEST_SIZE)
        return error_set(err, STATUS_CORRUPT, "cannot be read");
    memcpy(record.digest.bytes, digest, DIGEST_SIZE);
    wanting->is_own = record.log == 1;
    status = wanting->verify->options->just_made
                 ? record_scan(record.type, record.body, record.length, &blobs, err)
                 : store_enter_record(store, &record, NULL, err);
    if (status == STATUS_OK && wanting->is_own)
        return check_received(wanting, &record, err);
    if (sqlite3_column_type(row, 6) == SQLITE_BLOB && sqlite3_column_bytes(row, 6) == DIGEST_SIZE) {
        memcpy(salt.bytes, sqlite3_column_blob(row, 6), DIGEST_SIZE);
        record.salt = &salt;
    } else {
        record.salts = text_at(row, 6);
    }
    bundle_receive(&wanting->received, &record);
    return status;
}

/* Those that serve queries of people, which the statements of projection.sql do without. */
static int drop_indices(sqlite3 *model)
{
    sqlite3_stmt *names = NULL;
    char *drops = NULL;
    int rc = sqlite3_prepare_v2(model,
                                "SELECT group_concat('DROP INDEX ' || name, ';') FROM"
                                " sqlite_schema WHERE type = 'index' AND sql IS NOT NULL AND"
                                " name <> 'about_by_record'",
                                -1, &names, NULL);

    if (rc == SQLITE_OK && sqlite3_step(names) == SQLITE_ROW)
        drops = strdup(text_at(names, 0));
    sqlite3_finalize(names);
    rc = drops ? sqlite3_exec(model, drops, NULL, NULL, NULL) : SQLITE_NOMEM;
    free(drops);
    return rc;
}

static enum status enter_all(struct verify *verify, struct store *store, struct error *err)
{
    struct wanting wanting = {.verify = verify};
    const int64_t total = verify_ask(verify, "SELECT count(*) FROM record", 0, 0, VERIFY_ROW);
    int64_t done = 0;
    int reported = 0;
    sqlite3_stmt *row;
    enum status status = STATUS_OK;

    if (drop_indices(verify->model) != SQLITE_OK ||
        sqlite3_exec(
            verify->model,
            "PRAGMA foreign_keys=OFF; PRAGMA synchronous=OFF; PRAGMA journal_mode=OFF;"
            "CREATE TEMP TABLE wanted (digest BLOB PRIMARY KEY, own INTEGER) WITHOUT ROWID;"
            "BEGIN",
            NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(verify->model,
                           "INSERT INTO temp.wanted VALUES (?1, ?2) ON CONFLICT DO UPDATE SET own ="
                           " max(own, excluded.own)",
                           -1, &wanting.want, NULL) != SQLITE_OK)
        return error_no_memory(err);
    digest_init(&wanting.received);
    row = verify_prepare(verify, verify->db,
                         "SELECT id, log, leaf, type, digest, body, salt FROM record ORDER BY id",
                         VERIFY_ROW, "record");
    while (row && verify_step(verify, row, VERIFY_ROW, "record")) {
        struct error why = ERROR_INIT;
        char key[24];

        if (done++ % PROGRESS_EVERY == 0 &&
            !verify_progress(verify, "tables", (uint64_t)done, (uint64_t)total))
            break;
        status = enter(store, &wanting, row, &why);
        if (status == STATUS_NO_MEMORY) {
            if (err)
                *err = why;
            break;
        }
        if (status != STATUS_OK && reported++ < VERIFY_FINDINGS_MAX)
            VERIFY_REPORT(verify, RECORD_NOT_ENTERED, key_of(row, key), why.message);
        status = STATUS_OK;
    }
    sqlite3_finalize(row);
    sqlite3_finalize(wanting.want);
    sqlite3_exec(verify->model, "COMMIT", NULL, NULL, NULL);
    return status;
}

/* ---- comparing them ---- */

struct comparing {
    struct verify *verify;
    const char *table;
    int keys[KEY_COLUMNS_MAX];
    int key_count;
    sqlite3_stmt *here, *again;
    bool has_here, has_again;
    int reported;
};

static int compare_values(sqlite3_value *a, sqlite3_value *b)
{
    const int type = sqlite3_value_type(a);
    int order;

    if (type != sqlite3_value_type(b))
        return type < sqlite3_value_type(b) ? -1 : 1;
    if (type == SQLITE_INTEGER) {
        const int64_t x = sqlite3_value_int64(a), y = sqlite3_value_int64(b);

        return x < y ? -1 : x > y;
    }
    if (type == SQLITE_FLOAT) {
        const double x = sqlite3_value_double(a), y = sqlite3_value_double(b);

        return memcmp(&x, &y, sizeof(x)) == 0 ? 0 : x < y ? -1 : 1;
    }
    if (type != SQLITE_NULL) {
        const void *x = sqlite3_value_blob(a), *y = sqlite3_value_blob(b);
        const int length = sqlite3_value_bytes(a), other = sqlite3_value_bytes(b);
        const int least = length < other ? length : other;

        order = least > 0 ? memcmp(x, y, (size_t)least) : 0;
        return order ? order : (length > other) - (length < other);
    }
    return 0;
}

static int compare_keys(const struct comparing *comparing)
{
    for (int i = 0; i < comparing->key_count; i++) {
        const int column = comparing->keys[i];
        const int order = compare_values(sqlite3_column_value(comparing->here, column),
                                         sqlite3_column_value(comparing->again, column));

        if (order)
            return order;
    }
    return 0;
}

static void append_key(const struct comparing *comparing, sqlite3_stmt *row, struct text *out)
{
    for (int i = 0; i < comparing->key_count; i++) {
        const int column = comparing->keys[i];

        if (i > 0)
            text_append_char(out, '/');
        if (sqlite3_column_type(row, column) == SQLITE_BLOB) {
            const unsigned char *bytes = sqlite3_column_blob(row, column);

            for (int k = 0; k < sqlite3_column_bytes(row, column) && k < DIGEST_SIZE; k++)
                text_append_format(out, "%02x", bytes[k]);
        } else {
            const char *text = text_at(row, column);

            text_append_printable(out, text, strnlen(text, VERIFY_KEY_TEXT));
        }
    }
}

static void tell(struct comparing *comparing, sqlite3_stmt *row, enum verify_rule_code rule,
                 const char *column)
{
    struct text key;

    if (comparing->reported++ >= VERIFY_FINDINGS_MAX)
        return;
    text_init(&key);
    append_key(comparing, row, &key);
    verify_report(comparing->verify, rule, VERIFY_ROW, comparing->table, key.data,
                  verify_rules[rule].message, column);
    text_finish(&key);
}

static void compare_row(struct comparing *comparing)
{
    const int count = sqlite3_column_count(comparing->again);

    for (int i = 0; i < count; i++)
        if (compare_values(sqlite3_column_value(comparing->here, i),
                           sqlite3_column_value(comparing->again, i)) != 0) {
            tell(comparing, comparing->here, VERIFY_RULE_ROW_DIFFERS,
                 sqlite3_column_name(comparing->again, i));
            return;
        }
}

static void step_here(struct comparing *comparing)
{
    comparing->has_here =
        verify_step(comparing->verify, comparing->here, VERIFY_ROW, comparing->table);
}

static void step_again(struct comparing *comparing)
{
    comparing->has_again = sqlite3_step(comparing->again) == SQLITE_ROW;
}

/* The table in the order of its key, whatever indices there are. Heap; NULL: out of memory. */
static char *read_key_columns(struct comparing *comparing)
{
    sqlite3_stmt *columns = NULL;
    struct text sql;

    text_init(&sql);
    text_append_format(&sql, "SELECT * FROM %s NOT INDEXED ORDER BY ", comparing->table);

    if (sqlite3_prepare_v2(comparing->verify->model,
                           "SELECT cid FROM pragma_table_info(?1) WHERE pk > 0 ORDER BY pk", -1,
                           &columns, NULL) == SQLITE_OK) {
        sqlite3_bind_text(columns, 1, comparing->table, -1, SQLITE_STATIC);
        while (comparing->key_count < KEY_COLUMNS_MAX && sqlite3_step(columns) == SQLITE_ROW) {
            text_append_format(&sql, "%s%d", comparing->key_count ? ", " : "",
                               sqlite3_column_int(columns, 0) + 1);
            comparing->keys[comparing->key_count++] = sqlite3_column_int(columns, 0);
        }
    }
    sqlite3_finalize(columns);
    return text_steal(&sql);
}

static void compare_table(struct verify *verify, const char *table)
{
    struct comparing comparing = {.verify = verify, .table = table};
    char *sql = read_key_columns(&comparing);

    if (!sql) {
        shortage_note();
        return;
    }
    comparing.here = verify_prepare(verify, verify->db, sql, VERIFY_ROW, table);
    sqlite3_prepare_v2(verify->model, sql, -1, &comparing.again, NULL);
    free(sql);
    if (comparing.here && comparing.again) {
        step_here(&comparing);
        step_again(&comparing);
    }
    while ((comparing.has_here || comparing.has_again) && !verify_stopped(verify)) {
        const int order = !comparing.has_here    ? 1
                          : !comparing.has_again ? -1
                                                 : compare_keys(&comparing);

        if (order < 0)
            tell(&comparing, comparing.here, VERIFY_RULE_ROW_FOREIGN, NULL);
        else if (order > 0)
            tell(&comparing, comparing.again, VERIFY_RULE_ROW_MISSING, NULL);
        else
            compare_row(&comparing);
        if (order <= 0)
            step_here(&comparing);
        if (order >= 0)
            step_again(&comparing);
    }
    sqlite3_finalize(comparing.here);
    sqlite3_finalize(comparing.again);
}

/* ---- blobs ---- */

/* Whether a bundle came without this blob. */
static bool came_without(struct verify *verify, const char *hex)
{
    sqlite3_stmt *row =
        verify_prepare(verify, verify->db,
                       "SELECT 1 FROM record r, json_each(r.body, '$.withheld') w WHERE r.type ="
                       " 'bundle' AND r.log = 1 AND w.value = ?1",
                       VERIFY_CONTENT, "content");
    bool found = false;

    if (row && sqlite3_bind_text(row, 1, hex, -1, SQLITE_STATIC) == SQLITE_OK)
        found = verify_step(verify, row, VERIFY_CONTENT, "content");
    sqlite3_finalize(row);
    return found;
}

/* columns: 0 digest, 1 body */
static void check_blob(struct verify *verify, sqlite3_stmt *row, sqlite3_stmt *wanted)
{
    const void *stored = sqlite3_column_blob(row, 0), *body = sqlite3_column_blob(row, 1);
    const bool withheld = sqlite3_column_type(row, 1) == SQLITE_NULL;
    struct digest digest = {{0}}, found;
    char key[DIGEST_HEX_SIZE];
    size_t length;
    bool is_wanted;
    int own;

    if (stored && sqlite3_column_bytes(row, 0) == DIGEST_SIZE)
        memcpy(digest.bytes, stored, DIGEST_SIZE);
    digest_hex(&digest, key);
    sqlite3_bind_blob(wanted, 1, digest.bytes, DIGEST_SIZE, SQLITE_STATIC);
    is_wanted = sqlite3_step(wanted) == SQLITE_ROW;
    own = is_wanted ? sqlite3_column_int(wanted, 0) : 0;
    sqlite3_reset(wanted);
    length = body ? (size_t)sqlite3_column_bytes(row, 1) : 0;
    found = digest_bytes(body ? body : "", length);
    if (!is_wanted)
        VERIFY_REPORT(verify, BLOB_FOREIGN, key);
    else if (withheld && own)
        VERIFY_REPORT(verify, BLOB_EMPTY, key);
    else if (withheld && !came_without(verify, key))
        VERIFY_REPORT(verify, BLOB_EMPTY_UNTOLD, key);
    else if (withheld)
        VERIFY_REPORT(verify, BLOB_WITHHELD, key);
    else if (!digest_equal(&found, &digest))
        VERIFY_REPORT(verify, BLOB_DIGEST, key);
    else if (sqlite3_column_type(row, 1) !=
             (text_is_utf8(body ? body : "", length) ? SQLITE_TEXT : SQLITE_BLOB))
        VERIFY_REPORT(verify, BLOB_TYPE, key);
}

static void check_blobs(struct verify *verify)
{
    sqlite3_stmt *row =
        verify_prepare(verify, verify->db, "SELECT digest, body FROM content NOT INDEXED",
                       VERIFY_CONTENT, "content");
    sqlite3_stmt *wanted = NULL, *missing = NULL, *find = NULL;
    char key[DIGEST_HEX_SIZE];

    sqlite3_prepare_v2(verify->model, "SELECT own FROM temp.wanted WHERE digest = ?1", -1, &wanted,
                       NULL);
    while (row && wanted && !verify_stopped(verify) &&
           verify_step(verify, row, VERIFY_CONTENT, "content"))
        check_blob(verify, row, wanted);
    sqlite3_finalize(row);
    sqlite3_finalize(wanted);
    sqlite3_prepare_v2(verify->model, "SELECT digest FROM temp.wanted", -1, &missing, NULL);
    find = verify_prepare(verify, verify->db, "SELECT 1 FROM content WHERE digest = ?1",
                          VERIFY_CONTENT, "content");
    while (missing && find && sqlite3_step(missing) == SQLITE_ROW) {
        struct digest digest;

        memcpy(digest.bytes, sqlite3_column_blob(missing, 0), DIGEST_SIZE);
        sqlite3_bind_blob(find, 1, digest.bytes, DIGEST_SIZE, SQLITE_STATIC);
        if (!verify_step(verify, find, VERIFY_CONTENT, "content"))
            VERIFY_REPORT(verify, BLOB_MISSING, digest_hex(&digest, key));
        sqlite3_reset(find);
    }
    sqlite3_finalize(missing);
    sqlite3_finalize(find);
}

enum status verify_tables(struct verify *verify, struct error *err)
{
    struct store *store = calloc(1, sizeof(*store));
    sqlite3_stmt *tables = NULL;
    enum status status;

    if (!store)
        return error_no_memory(err);
    store->db = verify->model;
    status = enter_all(verify, store, err);
    for (size_t i = 0; i < store->slot_count; i++)
        sqlite3_finalize(store->slots[i].handle);
    free(store);
    if (status != STATUS_OK || verify_stopped(verify))
        return status;
    sqlite3_prepare_v2(verify->model,
                       "SELECT name FROM main.sqlite_schema WHERE type = 'table' ORDER BY rowid",
                       -1, &tables, NULL);
    while (tables && sqlite3_step(tables) == SQLITE_ROW)
        if (!is_evidence(text_at(tables, 0)))
            compare_table(verify, text_at(tables, 0));
    sqlite3_finalize(tables);
    check_blobs(verify);
    return STATUS_OK;
}
