/* Records: made, entered in the log, and shown in the tables (record/projection.sql). */
#include "results/store/store_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "harness/core/canonical.h"
#include "harness/core/cleanup.h"
#include "harness/core/text.h"

/* ---- bodies ---- */

struct record_body body_of(struct store *store, const char *type, struct error *err)
{
    return (struct record_body){.store = store, .type = type, .json = json_object(), .err = err};
}

struct record_body body_part_of(const struct record_body *whole)
{
    struct record_body part = body_of(whole->store, whole->type, whole->err);

    part.status = whole->status;
    return part;
}

void body_change(struct record_body *body)
{
    BODY_TRY(body, store_change_begin(body->store, body->err));
    body->in_change = body->status == STATUS_OK;
}

struct record_body body_begin(struct store *store, const char *type, struct error *err)
{
    struct record_body body = body_of(store, type, err);

    body_change(&body);
    return body;
}

void body_json(struct record_body *body, const char *name, json_t *value)
{
    if (body->status != STATUS_OK)
        json_decref(value);
    else if (json_object_set_new(body->json, name, value) < 0)
        body->status = error_no_memory(body->err);
}

void body_text(struct record_body *body, const char *name, const char *value)
{
    AUTO_FREE char *clean = value ? store_clean_text(value) : NULL;

    if (value)
        body_json(body, name, clean ? json_string(clean) : NULL);
}

void body_i64(struct record_body *body, const char *name, int64_t value)
{
    body_json(body, name, json_integer(value));
}

static void check_count(struct record_body *body, uint64_t value)
{
    if (value > INT64_MAX)
        BODY_TRY(body, error_set(body->err, STATUS_INVALID,
                                 "%s: a number of a %s does not fit into 64 bits",
                                 body->store->path, body->type));
}

void body_u64(struct record_body *body, const char *name, uint64_t value)
{
    check_count(body, value);
    body_i64(body, name, (int64_t)value);
}

void body_struct(struct record_body *body, const struct type *type, const void *record)
{
    json_auto_t *members = type_to_json(type, record);
    const char *name;
    json_t *value;

    for (const struct member *m = type->members; m < type->members + type->count; m++)
        if (m->kind == MEMBER_COUNT && !(m->flags & MEMBER_FROM_0))
            check_count(body, *(const uint64_t *)((const char *)record + m->offset));
    if (!members)
        body_json(body, type->what, NULL);
    json_object_foreach(members, name, value) if (!json_is_null(value))
        body_json(body, name, json_incref(value));
}

void body_known(struct record_body *body, const char *name, int64_t value)
{
    if (value >= 0)
        body_i64(body, name, value);
}

void body_u64_text(struct record_body *body, const char *name, uint64_t value)
{
    char digits[24];

    snprintf(digits, sizeof(digits), "%" PRIu64, value);
    body_text(body, name, digits);
}

void body_digest(struct record_body *body, const char *name, const struct digest *digest)
{
    char hex[DIGEST_HEX_SIZE];

    body_text(body, name, digest_hex(digest, hex));
}

void body_bytes(struct record_body *body, const char *name, const void *bytes, size_t length)
{
    AUTO_FREE char *hex = malloc(2 * length + 1);

    if (hex)
        sodium_bin2hex(hex, 2 * length + 1, bytes, length);
    body_json(body, name, hex ? json_string(hex) : NULL);
}

void body_blob(struct record_body *body, const char *name, const struct digest *digest)
{
    body_json(body, name, record_blob(digest));
}

static void body_reference(struct record_body *body, const char *name, const struct digest *digest)
{
    body_json(body, name, record_reference(digest));
}

void body_content(struct record_body *body, const char *name, const json_t *json,
                  struct digest *ret)
{
    struct digest digest = {{0}};

    BODY_TRY(body, store_insert_json(body->store, json, &digest, body->err));
    body_blob(body, name, &digest);
    if (ret)
        *ret = digest;
}

static json_t *take_part(struct record_body *body, struct record_body *part)
{
    json_t *json = part->json;

    part->json = NULL;
    BODY_TRY(body, part->status);
    return json;
}

void body_part(struct record_body *body, const char *name, struct record_body *part)
{
    body_json(body, name, take_part(body, part));
}

void body_append(struct record_body *body, const char *array, struct record_body *part)
{
    json_auto_t *json = take_part(body, part);

    if (!json_object_get(body->json, array))
        body_json(body, array, json_array());
    if (body->status == STATUS_OK &&
        json_array_append(json_object_get(body->json, array), json) != 0)
        body->status = error_no_memory(body->err);
}

void body_record(struct record_body *body, const char *name, struct record_body *own)
{
    struct store_record record = {0};

    body_enter(own, &record);
    BODY_TRY(body, own->status);
    body_reference(body, name, &record.digest);
}

/* Most often they are as they were before, so they are a record of their own. */
void body_readings(struct record_body *body, const char *name, const json_t *readings)
{
    struct record_body own = body_part_of(body);

    own.type = "readings";
    body_json(&own, "readings", json_incref((json_t *)(uintptr_t)readings));
    if (json_object_size(readings) == 0)
        body_log(&own);
    body_record(body, name, &own);
}

void body_log(struct record_body *body)
{
    struct statement statement;
    bool row = false;

    BODY_TRY(body, statement_begin(body->store, "SELECT name FROM log WHERE id = 1", &statement,
                                   body->err));
    if (body->status != STATUS_OK)
        return;
    body->status = statement_step(&statement, &row, body->err);
    if (row)
        body_text(body, "log", (const char *)sqlite3_column_text(statement.handle, 0));
    statement_end(&statement);
}

/* The reference to a row's record, by a SELECT of its digest; its second column, where it has one,
 * is the number of the cell. */
static void refer(struct record_body *body, const char *name, const char *sql, int64_t row)
{
    struct statement statement;
    struct digest digest = {{0}};
    bool found = false;

    BODY_TRY(body, statement_begin(body->store, sql, &statement, body->err));
    if (body->status != STATUS_OK)
        return;
    statement_i64(&statement, row);
    body->status = statement_step(&statement, &found, body->err);
    if (!found)
        BODY_TRY(body, error_set(body->err, STATUS_NOT_FOUND, "%s: there is no %s %" PRId64,
                                 body->store->path, name, row));
    BODY_TRY(body, statement_read_digest(&statement, 0, &digest, body->err));
    body_reference(body, name, &digest);
    if (sqlite3_column_count(statement.handle) > 1)
        body_i64(body, "cell", sqlite3_column_int64(statement.handle, 1));
    statement_end(&statement);
}

void body_campaign(struct record_body *body, int64_t campaign)
{
    refer(body, "campaign",
          "SELECT r.digest FROM campaign g JOIN record r ON r.id = g.record WHERE g.id = ?1",
          campaign);
}

void body_cell(struct record_body *body, int64_t cell)
{
    refer(body, "campaign",
          "SELECT r.digest, c.ordinal FROM cell c JOIN campaign g ON g.id = c.campaign"
          " JOIN record r ON r.id = g.record WHERE c.id = ?1",
          cell);
}

void body_trial(struct record_body *body, int64_t trial)
{
    refer(body, "begin",
          "SELECT r.digest FROM trial t JOIN record r ON r.id = t.record WHERE t.id = ?1", trial);
}

void body_device(struct record_body *body, int64_t device)
{
    refer(body, "device",
          "SELECT r.digest FROM device d JOIN record r ON r.id = d.record WHERE d.id = ?1", device);
}

void body_checkpoint(struct record_body *body, int64_t checkpoint)
{
    refer(body, "checkpoint",
          "SELECT r.digest FROM checkpoint c JOIN record r ON r.id = c.record WHERE c.id = ?1",
          checkpoint);
}

/* ---- blobs ---- */

enum status store_insert_content(struct store *store, const void *bytes, size_t length,
                                 struct digest *ret, struct error *err)
{
    struct digest digest = digest_bytes(bytes, length);
    struct statement statement;

    TRY(statement_begin(store,
                        "INSERT INTO content (digest, body) VALUES (?1, ?2)"
                        " ON CONFLICT (digest) DO UPDATE SET body = excluded.body"
                        " WHERE content.body IS NULL",
                        &statement, err));
    statement_digest(&statement, &digest);
    if (length > STORE_VALUE_MAX)
        statement.rc = SQLITE_TOOBIG;
    else if (statement.rc == SQLITE_OK && text_is_utf8(bytes, length))
        statement.rc = sqlite3_bind_text(statement.handle, 2, bytes, (int)length, SQLITE_STATIC);
    else if (statement.rc == SQLITE_OK)
        statement.rc = sqlite3_bind_blob(statement.handle, 2, bytes, (int)length, SQLITE_STATIC);
    TRY(statement_run(&statement, NULL, err));
    *ret = digest;
    return STATUS_OK;
}

enum status store_insert_json(struct store *store, const json_t *json, struct digest *ret,
                              struct error *err)
{
    AUTO_FREE char *canonical = NULL;

    TRY(canonical_dump(json, &canonical, err));
    return store_insert_content(store, canonical, strlen(canonical), ret, err);
}

enum status store_get_json(struct store *store, const struct digest *digest, json_t **ret,
                           struct error *err)
{
    CLEANUP(statement_end) struct statement statement = {0};
    struct digest found;
    char hex[DIGEST_HEX_SIZE];
    const char *body;
    size_t length;
    bool row = false;

    TRY(statement_begin(store, "SELECT body FROM content WHERE digest = ?1", &statement, err));
    statement_digest(&statement, digest);
    digest_hex(digest, hex);
    TRY(statement_step(&statement, &row, err));
    if (!row)
        return error_set(err, STATUS_NOT_FOUND, "%s: nothing with digest %s is stored", store->path,
                         hex);
    if (sqlite3_column_type(statement.handle, 0) == SQLITE_NULL)
        return error_set(err, STATUS_UNAVAILABLE, "content %s was withheld by who made the bundle",
                         hex);
    body = sqlite3_column_blob(statement.handle, 0);
    length = (size_t)sqlite3_column_bytes(statement.handle, 0);
    found = digest_bytes(body, body ? length : 0);
    if (!digest_equal(&found, digest))
        return error_set(err, STATUS_CORRUPT, "%s: the content with digest %s has been changed",
                         store->path, hex);
    return canonical_parse(body ? body : "", length, store->path, ret, err);
}

/* ---- entering a record ---- */

static enum status find_record(struct store *store, const struct digest *digest, int64_t *ret,
                               struct error *err)
{
    struct statement statement;

    TRY(statement_begin(store, "SELECT id FROM record WHERE digest = ?1", &statement, err));
    statement_digest(&statement, digest);
    return statement_single(&statement, ret, err);
}

static enum status insert_record(struct store *store, const struct record_row *row, int64_t *ret,
                                 struct error *err)
{
    struct statement statement;

    TRY(statement_begin(store,
                        "INSERT INTO record (id, log, leaf, type, digest, salt, body)"
                        " VALUES (nullif(?1, 0), ?2, ?3, ?4, ?5, ?6, ?7)",
                        &statement, err));
    statement_i64(&statement, row->id);
    statement_i64(&statement, row->log);
    statement_i64(&statement, row->leaf);
    statement_text(&statement, row->type->name);
    statement_digest(&statement, &row->digest);
    if (row->salt)
        statement_digest(&statement, row->salt);
    else
        statement_text(&statement, row->salts); /* NULL: none */
    if (row->length > STORE_VALUE_MAX)
        statement.rc = SQLITE_TOOBIG;
    else if (statement.rc == SQLITE_OK)
        statement.rc = sqlite3_bind_text(statement.handle, 7, row->keep_body ? row->body : "",
                                         row->keep_body ? (int)row->length : 0, SQLITE_STATIC);
    return statement_run(&statement, ret, err);
}

#define MEMBERS_MAX 40

struct members {
    struct named {
        struct record_span name, value;
    } items[MEMBERS_MAX];
    size_t count;
};

/* A record that is entered: its row, its members, and the element of one that a statement is for.
 */
struct relating {
    struct store *store;
    const struct record_row *row;
    int64_t record;
    struct members members, parts; /* parts: of the element */
    struct named element;
    int64_t position; /* of the element */
};

static enum status take_member(struct members *members, struct record_span name,
                               struct record_span value, struct error *err)
{
    if (members->count == MEMBERS_MAX)
        return error_set(err, STATUS_CORRUPT, "has more than %d members", MEMBERS_MAX);
    members->items[members->count++] = (struct named){name, value};
    return STATUS_OK;
}

static enum status take_top(void *context, struct record_span name, struct record_span value,
                            struct error *err)
{
    return take_member(&((struct relating *)context)->members, name, value, err);
}

/* This record is about a campaign. */
static enum status add_about(struct relating *relating, int64_t campaign, struct error *err)
{
    struct statement statement;

    TRY(statement_begin(relating->store, "INSERT OR IGNORE INTO about VALUES (?1, ?2)", &statement,
                        err));
    statement_i64(&statement, campaign);
    statement_i64(&statement, relating->record);
    return statement_run(&statement, NULL, err);
}

/* What this record refers to must be here, and is about the same campaigns. */
static enum status relate(void *context, bool is_blob, const struct digest *digest,
                          struct error *err)
{
    struct relating *relating = context;
    const struct record_row *entered = relating->row;
    CLEANUP(statement_end) struct statement statement = {0};
    char hex[DIGEST_HEX_SIZE];
    bool found = false;
    enum status status;

    if (is_blob)
        return entered->blob ? entered->blob(entered->context, digest, err) : STATUS_OK;
    TRY(statement_begin(relating->store,
                        "SELECT a.campaign FROM record r LEFT JOIN about a ON a.record = r.id"
                        " WHERE r.digest = ?1",
                        &statement, err));
    statement_digest(&statement, digest);
    while (statement_next(&statement, &status, err)) {
        found = true;
        if (sqlite3_column_type(statement.handle, 0) != SQLITE_NULL)
            TRY(add_about(relating, sqlite3_column_int64(statement.handle, 0), err));
    }
    TRY(status);
    return found ? STATUS_OK
                 : error_set(err, STATUS_CORRUPT,
                             "refers to the record %s, which is not here before it",
                             digest_hex(digest, hex));
}

static const struct record_span *find_member(const struct members *members, const char *name,
                                             size_t length)
{
    for (size_t i = 0; i < members->count; i++)
        if (members->items[i].name.length == length &&
            !memcmp(members->items[i].name.bytes, name, length))
            return &members->items[i].value;
    return NULL;
}

static int bind_key(sqlite3_stmt *handle, int parameter, const struct relating *relating)
{
    const struct record_span name = relating->element.name; /* without its quotes */

    if (!name.bytes)
        return sqlite3_bind_int64(handle, parameter, relating->position);
    return record_bind(handle, parameter, &(struct record_span){name.bytes - 1, name.length + 2});
}

static int bind_member(sqlite3_stmt *handle, int parameter, const struct relating *relating)
{
    static const char part[] = "_each_";
    const char *name = sqlite3_bind_parameter_name(handle, parameter) + 1;
    const struct record_span *value;

    if (!strcmp(name, "_record"))
        return sqlite3_bind_int64(handle, parameter, relating->record);
    if (!strcmp(name, "_key"))
        return bind_key(handle, parameter, relating);
    if (!strcmp(name, "_each"))
        value = &relating->element.value;
    else if (!strncmp(name, part, sizeof(part) - 1))
        value = find_member(&relating->parts, name + sizeof(part) - 1,
                            strlen(name) - (sizeof(part) - 1));
    else
        value = find_member(&relating->members, name, strlen(name));
    return value ? record_bind(handle, parameter, value) : SQLITE_OK; /* NULL */
}

static enum status run_statement(struct relating *relating, const char *sql, struct error *err)
{
    struct statement statement;
    int parameters;

    TRY(statement_begin(relating->store, sql, &statement, err));
    parameters = sqlite3_bind_parameter_count(statement.handle);
    for (int i = 1; i <= parameters && statement.rc == SQLITE_OK; i++)
        statement.rc = bind_member(statement.handle, i, relating);
    return statement_run(&statement, NULL, err);
}

/* For each element of a member, where the statement is of one. */
static enum status run_projection(struct relating *relating, const char *sql, struct error *err)
{
    const char *name = sql + strlen(RECORD_EACH), *begin;
    const struct record_span *value;
    struct record_walk walk, parts;
    struct record_span part, of_part;

    if (strncmp(sql, RECORD_EACH, strlen(RECORD_EACH)) != 0)
        return run_statement(relating, sql, err);
    begin = name + strcspn(name, "\n");
    value = find_member(&relating->members, name, (size_t)(begin - name));
    walk = value ? record_walk_begin(*value) : (struct record_walk){0};
    for (relating->position = 0;
         record_walk_next(&walk, &relating->element.name, &relating->element.value);
         relating->position++) {
        relating->parts.count = 0;
        parts = record_walk_begin(relating->element.value);
        while (parts.is_object && record_walk_next(&parts, &part, &of_part))
            TRY(take_member(&relating->parts, part, of_part, err));
        TRY(run_statement(relating, begin + 1, err));
    }
    return STATUS_OK;
}

enum status store_enter_record(struct store *store, const struct record_row *row, int64_t *ret,
                               struct error *err)
{
    struct relating relating; /* members are set up to their count */
    const struct record_visitor visitor = {
        .context = &relating, .top = take_top, .reference = relate};
    const char *sql;
    int64_t shown;

    relating.store = store;
    relating.row = row;
    relating.members.count = 0;
    TRY(insert_record(store, row, &relating.record, err));
    if (!strcmp(row->type->name, "campaign"))
        TRY(add_about(&relating, relating.record, err));
    TRY(record_scan(row->type, row->body, row->length, &visitor, err));
    shown = sqlite3_total_changes64(store->db);
    for (size_t i = 0; (sql = record_projection(row->type, i)); i++)
        TRY(run_projection(&relating, sql, err));
    if (record_projection(row->type, 0) && !row->type->is_shared &&
        sqlite3_total_changes64(store->db) == shown)
        return error_set(err, STATUS_CORRUPT,
                         "is of something that is not here: no table can show it");
    if (ret)
        *ret = relating.record;
    return STATUS_OK;
}

/* The secret of this file's own log. */
static enum status load_secret(struct store *store, struct digest *ret, struct error *err)
{
    CLEANUP(statement_end) struct statement statement = {0};
    bool row = false;

    if (!store->has_secret) {
        TRY(statement_begin(store, "SELECT secret FROM log WHERE id = 1", &statement, err));
        TRY(statement_step(&statement, &row, err));
        if (!row || statement_read_digest(&statement, 0, &store->secret, NULL) != STATUS_OK)
            return error_set(err, STATUS_CORRUPT, "%s: its log has no secret: `assay verify %s`",
                             store->path, store_word(store));
        store->has_secret = true;
    }
    *ret = store->secret;
    return STATUS_OK;
}

static enum status append_text(struct store *store, const struct record_type *type,
                               const char *text, struct store_record *ret, struct error *err)
{
    struct record_row row = {
        .log = 1, .type = type, .body = text, .length = strlen(text), .keep_body = true};
    struct record_salts salts = {.has_all = *type->committed != '\0'};
    struct digest secret;
    enum status known = STATUS_NOT_FOUND;

    if (salts.has_all) {
        TRY(load_secret(store, &secret, err));
        salts.all = record_salt(&secret, text, row.length);
        row.salt = &salts.all;
    }
    TRY(record_digest(type, text, row.length, &salts, &row.digest, NULL, err));
    if (type->is_shared)
        known = find_record(store, &row.digest, &row.id, err);
    if (known == STATUS_NOT_FOUND) {
        TRY(store_ask(store, "SELECT coalesce(max(leaf) + 1, 0) FROM record WHERE log = 1", 0,
                      &row.leaf, err));
        known = store_enter_record(store, &row, &row.id, err);
    }
    if (known == STATUS_OK && ret)
        *ret = (struct store_record){.id = row.id, .digest = row.digest};
    return known;
}

void body_enter(struct record_body *body, struct store_record *ret)
{
    AUTO_FREE char *text = NULL;
    json_auto_t *json = NULL;

    body_text(body, "type", body->type);
    json = body->json;
    body->json = NULL;
    BODY_TRY(body, canonical_dump(json, &text, body->err));
    BODY_TRY(body, append_text(body->store, record_type_find(body->type), text, ret, body->err));
}

void body_enter_row(struct record_body *body, const char *sql, int64_t *ret)
{
    struct store_record record = {0};

    body_enter(body, &record);
    BODY_TRY(body, store_ask(body->store, sql, record.id, ret, body->err));
}

enum status body_close(struct record_body *body)
{
    if (body->in_change)
        body->status = store_change_end(body->store, body->status, body->err);
    body->in_change = false;
    if (body->status != STATUS_OK) {
        json_decref(body->json);
        body->json = NULL;
    }
    return body->status;
}

enum status body_end(struct record_body *body)
{
    body_enter(body, NULL);
    return body_close(body);
}
