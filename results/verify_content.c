/* Stored digests against what they are digests of. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "harness/core/canonical.h"
#include "results/ledger.h"
#include "results/verify_internal.h"
#include "results/withheld.h"

static bool digest_is(sqlite3_stmt *row, int column, const struct digest *digest)
{
    const void *stored = sqlite3_column_blob(row, column);

    return stored && sqlite3_column_bytes(row, column) == DIGEST_SIZE &&
           memcmp(stored, digest->bytes, DIGEST_SIZE) == 0;
}

static const char *key_of(sqlite3_stmt *row, char ret[24])
{
    snprintf(ret, 24, "%lld", (long long)sqlite3_column_int64(row, 0));
    return ret;
}

/* A statement for a column of the row with this key; NULL: there is none that may be withheld. */
static sqlite3_stmt *prepare_column(struct verify *verify, const char *table_name, const char *key,
                                    const char *column)
{
    const struct verify_table *table =
        verify_find_table(verify->main ? verify->main : verify, table_name);
    sqlite3_stmt *select = NULL;
    unsigned char bytes[DIGEST_SIZE];
    size_t length = 0;
    char *sql;

    if (!table || table->part_count != 1 || !ledger_is_committed(table_name, column))
        return NULL;
    sql = text_format("SELECT %s FROM %s WHERE %s = ?1", column, table->name,
                      table->shape.columns[table->part_columns[0]].name);
    if (sql && sqlite3_prepare_v2(verify->db, sql, -1, &select, NULL) == SQLITE_OK) {
        if (table->is_number)
            sqlite3_bind_text(select, 1, key, -1, SQLITE_TRANSIENT);
        else if (!sodium_hex2bin(bytes, sizeof(bytes), key, strlen(key), NULL, &length, NULL))
            sqlite3_bind_blob(select, 1, bytes, (int)length, SQLITE_TRANSIENT);
    }
    free(sql);
    return select;
}

/* Whether the row has the placeholder; a claim of withholding with another value there is not
 * accepted. */
static bool has_placeholder(struct verify *verify, const char *table, const char *key,
                            sqlite3_stmt *row)
{
    const char *column = (const char *)sqlite3_column_text(row, 0);
    const void *bytes = sqlite3_column_blob(row, 1);
    sqlite3_stmt *select = column && bytes && sqlite3_column_bytes(row, 1) == DIGEST_SIZE
                               ? prepare_column(verify, table, key, column)
                               : NULL;
    struct digest commitment;
    bool found = false;

    if (select && sqlite3_step(select) == SQLITE_ROW) {
        memcpy(commitment.bytes, bytes, DIGEST_SIZE);
        found = withheld_is_placeholder(select, 0, column, &commitment);
    }
    sqlite3_finalize(select);
    return found;
}

/* What a bundle withheld has a placeholder here, which matches no digest. */
bool verify_is_withheld(struct verify *verify, const char *table, const char *key)
{
    sqlite3_stmt *select = NULL;
    bool known = false;

    if (!key ||
        sqlite3_prepare_v2(verify->db,
                           "SELECT column_name, commitment FROM withheld WHERE table_name = ?1"
                           " AND key = ?2",
                           -1, &select, NULL) != SQLITE_OK)
        return false;
    sqlite3_bind_text(select, 1, table, -1, SQLITE_STATIC);
    sqlite3_bind_text(select, 2, key, -1, SQLITE_STATIC);
    while (!known && sqlite3_step(select) == SQLITE_ROW)
        known = has_placeholder(verify, table, key, select);
    sqlite3_finalize(select);
    return known;
}

static void report(struct verify *verify, const char *table, const char *key, const char *message)
{
    if (!verify_is_withheld(verify, table, key))
        verify_report(verify, VERIFY_WRONG, VERIFY_CONTENT, table, key, "%s", message);
}

/* A column as a JSON string, null when it is NULL. */
static void append_text(struct text *out, sqlite3_stmt *row, int column)
{
    const char *bytes = (const char *)sqlite3_column_text(row, column);

    if (bytes)
        canonical_append_string(out, bytes, (size_t)sqlite3_column_bytes(row, column));
    else
        text_append(out, "null");
}

static void check_bodies(struct verify *verify)
{
    sqlite3_stmt *row =
        verify_prepare(verify, verify->db, "SELECT lower(hex(digest)), digest, body FROM content",
                       VERIFY_CONTENT, "content");

    while (row && verify_step(verify, row, VERIFY_CONTENT, "content")) {
        const void *body = sqlite3_column_blob(row, 2);
        struct digest digest =
            digest_bytes(body ? body : "", body ? (size_t)sqlite3_column_bytes(row, 2) : 0);

        if (!digest_is(row, 1, &digest))
            report(verify, "content", (const char *)sqlite3_column_text(row, 0),
                   "its body does not match its digest");
    }
    sqlite3_finalize(row);
}

static void check_readings(struct verify *verify)
{
    sqlite3_stmt *row = verify_prepare(
        verify, verify->db, "SELECT id, hash, name, body FROM reading", VERIFY_CONTENT, "reading");

    while (row && verify_step(verify, row, VERIFY_CONTENT, "reading")) {
        struct digest_state state;
        struct digest digest;
        uint64_t hash = 0;
        char key[24];

        digest_init(&state);
        digest_update(&state, sqlite3_column_blob(row, 2), (size_t)sqlite3_column_bytes(row, 2));
        digest_update(&state, "", 1);
        digest_update(&state, sqlite3_column_blob(row, 3), (size_t)sqlite3_column_bytes(row, 3));
        digest = digest_final(&state);
        for (int i = 0; i < 8; i++)
            hash = hash << 8 | digest.bytes[i];
        if (sqlite3_column_int64(row, 1) != (int64_t)hash)
            report(verify, "reading", key_of(row, key),
                   "its hash is not that of its name and body");
    }
    sqlite3_finalize(row);
}

/* {"name":body,...} of a set of readings, names sorted. False after reporting damage. */
static bool append_set(struct verify *verify, sqlite3_stmt *members, int64_t set, struct text *out)
{
    bool first = true;

    sqlite3_reset(members);
    sqlite3_bind_int64(members, 1, set);
    text_append_char(out, '{');
    while (verify_step(verify, members, VERIFY_CONTENT, "reading_member")) {
        const void *body = sqlite3_column_blob(members, 1);

        if (!first)
            text_append_char(out, ',');
        first = false;
        append_text(out, members, 0);
        text_append_char(out, ':');
        text_append_bytes(out, body ? body : "",
                          body ? (size_t)sqlite3_column_bytes(members, 1) : 0);
    }
    text_append_char(out, '}');
    return text_ok(out);
}

static sqlite3_stmt *prepare_members(struct verify *verify)
{
    return verify_prepare(
        verify, verify->db,
        "SELECT r.name, r.body FROM reading_member m JOIN reading r ON r.id ="
        " m.reading WHERE m.reading_set = ?1 ORDER BY r.name COLLATE BINARY, r.id",
        VERIFY_CONTENT, "reading_member");
}

static void check_sets(struct verify *verify)
{
    sqlite3_stmt *members = prepare_members(verify);
    sqlite3_stmt *row = verify_prepare(verify, verify->db, "SELECT id, digest FROM reading_set",
                                       VERIFY_CONTENT, "reading_set");
    struct text text;

    text_init(&text);
    while (row && members && !verify_stopped(verify) &&
           verify_step(verify, row, VERIFY_CONTENT, "reading_set")) {
        struct digest digest;
        char key[24];

        text_clear(&text);
        if (!append_set(verify, members, sqlite3_column_int64(row, 0), &text))
            break;
        digest = digest_bytes(text.data, text.length);
        if (!digest_is(row, 1, &digest))
            report(verify, "reading_set", key_of(row, key),
                   "its digest is not that of its readings");
    }
    text_finish(&text);
    sqlite3_finalize(row);
    sqlite3_finalize(members);
}

static void check_devices(struct verify *verify)
{
    sqlite3_stmt *members = prepare_members(verify);
    sqlite3_stmt *row = verify_prepare(
        verify, verify->db,
        "SELECT id, digest, readings, backend, device_index, name, simulated, type, uuid, vendor"
        " FROM device",
        VERIFY_CONTENT, "device");
    struct text text;

    text_init(&text);
    while (row && members && verify_step(verify, row, VERIFY_CONTENT, "device")) {
        struct digest digest;
        char key[24];

        text_clear(&text);
        text_append(&text, "{\"backend\":");
        append_text(&text, row, 3);
        text_append_format(
            &text, ",\"device_index\":%lld,\"name\":", (long long)sqlite3_column_int64(row, 4));
        append_text(&text, row, 5);
        text_append(&text, ",\"readings\":");
        if (!append_set(verify, members, sqlite3_column_int64(row, 2), &text))
            break;
        text_append_format(
            &text, ",\"simulated\":%s,\"type\":", sqlite3_column_int64(row, 6) ? "true" : "false");
        append_text(&text, row, 7);
        text_append(&text, ",\"uuid\":");
        append_text(&text, row, 8);
        text_append(&text, ",\"vendor\":");
        append_text(&text, row, 9);
        text_append_char(&text, '}');
        digest = digest_bytes(text.data, text.length);
        if (text_ok(&text) && !digest_is(row, 1, &digest))
            report(verify, "device", key_of(row, key), "its digest does not match its content");
    }
    text_finish(&text);
    sqlite3_finalize(row);
    sqlite3_finalize(members);
}

static void check_components(struct verify *verify)
{
    sqlite3_stmt *row = verify_prepare(verify, verify->db,
                                       "SELECT id, digest, build_id, kind, missing_reason, path,"
                                       " lower(hex(sha256)), size, version, sha256 IS NULL"
                                       " FROM component",
                                       VERIFY_CONTENT, "component");
    static const char *const names[] = {
        "{\"build_id\":", ",\"kind\":", ",\"missing_reason\":", ",\"path\":", ",\"sha256\":"};
    struct text text;

    text_init(&text);
    while (row && verify_step(verify, row, VERIFY_CONTENT, "component")) {
        struct digest digest;
        char key[24];

        text_clear(&text);
        for (int i = 0; i < 5; i++) {
            text_append(&text, names[i]);
            if (i == 4 && sqlite3_column_int(row, 9))
                text_append(&text, "null");
            else
                append_text(&text, row, 2 + i);
        }
        text_append_format(&text,
                           ",\"size\":%lld,\"version\":", (long long)sqlite3_column_int64(row, 7));
        append_text(&text, row, 8);
        text_append_char(&text, '}');
        digest = digest_bytes(text.data, text.length);
        if (text_ok(&text) && !digest_is(row, 1, &digest))
            report(verify, "component", key_of(row, key), "its digest does not match its content");
    }
    text_finish(&text);
    sqlite3_finalize(row);
}

static void check_stacks(struct verify *verify)
{
    sqlite3_stmt *members =
        verify_prepare(verify, verify->db,
                       "SELECT DISTINCT c.digest FROM stack_member m JOIN component c ON c.id ="
                       " m.component WHERE m.stack = ?1 ORDER BY c.digest",
                       VERIFY_CONTENT, "stack_member");
    sqlite3_stmt *row =
        verify_prepare(verify, verify->db, "SELECT id, digest FROM stack", VERIFY_CONTENT, "stack");

    while (row && members && verify_step(verify, row, VERIFY_CONTENT, "stack")) {
        struct digest_state state;
        struct digest digest;
        char key[24];

        sqlite3_reset(members);
        sqlite3_bind_int64(members, 1, sqlite3_column_int64(row, 0));
        digest_init(&state);
        while (verify_step(verify, members, VERIFY_CONTENT, "stack_member"))
            digest_update(&state, sqlite3_column_blob(members, 0),
                          (size_t)sqlite3_column_bytes(members, 0));
        digest = digest_final(&state);
        if (!digest_is(row, 1, &digest))
            report(verify, "stack", key_of(row, key), "its digest is not that of its files");
    }
    sqlite3_finalize(row);
    sqlite3_finalize(members);
}

/* Results measured here cannot have values that a bundle left out. */
static void check_withheld(struct verify *verify)
{
    if (verify_ask(verify, "SELECT count(*) FROM withheld WHERE NOT EXISTS (SELECT 1 FROM bundle)",
                   0, 0, VERIFY_CONTENT) > 0)
        verify_report(verify, VERIFY_WRONG, VERIFY_CONTENT, "withheld", NULL,
                      "names what a bundle withheld, but nothing in this file came from a bundle");
}

enum status verify_content(struct verify *verify, struct error *err)
{
    static void (*const checks[])(struct verify *) = {check_bodies,  check_readings,   check_sets,
                                                      check_devices, check_components, check_stacks,
                                                      check_withheld};

    (void)err;
    for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++)
        if (verify_progress(verify, "contents", i, sizeof(checks) / sizeof(checks[0])))
            checks[i](verify);
    return STATUS_OK;
}
