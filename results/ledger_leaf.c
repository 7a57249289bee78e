#include "results/ledger_leaf.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "harness/core/canonical.h"
#include "results/ledger.h"

/*
 * Columns that may have to be withheld from somebody who is given a part of the database, and
 * digests that would let the withheld value be guessed. They enter a leaf as a salted commitment,
 * in leaves of this form and later ones. Sorted by table.
 */
static const struct {
    const char *table, *column;
    int form;
} committed[] = {
    {"amendment", "author", 1},   {"amendment", "reason", 1},
    {"campaign", "command", 1},   {"campaign_event", "detail", 1},
    {"claim", "body", 2},         {"comparison", "body", 1},
    {"component", "digest", 1},   {"component", "missing_reason", 2},
    {"component", "path", 1},     {"content", "body", 1},
    {"declaration", "origin", 1}, {"device", "digest", 1},
    {"device", "name", 1},        {"device", "uuid", 1},
    {"dump", "message", 2},       {"import", "file", 2},
    {"import", "sha256", 2},      {"ledger_origin", "secret", 1},
    {"reading", "body", 1},       {"reading", "hash", 1},
    {"reading_set", "digest", 1}, {"stack", "digest", 1},
    {"telemetry", "message", 2},  {"trial_end", "facts", 1},
    {"trial_end", "message", 1},
};

#define NEWEST_FORM 2

#define COMMITTED (sizeof(committed) / sizeof(committed[0]))

/* The first column of the table in `committed`, which is sorted; COMMITTED when it has none. */
static size_t first_committed(const char *table)
{
    size_t i = 0;

    while (i < COMMITTED && strcmp(committed[i].table, table) != 0)
        i++;
    return i;
}

static bool is_committed_from(size_t first, const char *table, const char *column, int form)
{
    for (size_t i = first; i < COMMITTED && !strcmp(committed[i].table, table); i++)
        if (strcmp(committed[i].column, column) == 0)
            return committed[i].form <= form;
    return false;
}

bool ledger_is_committed(const char *table, const char *column)
{
    return is_committed_from(first_committed(table), table, column, NEWEST_FORM);
}

bool ledger_is_outside(const char *table)
{
    return strcmp(table, "ledger") == 0 || strncmp(table, "sqlite_", 7) == 0;
}

struct digest ledger_leaf_salt(const uint8_t secret[32], int64_t leaf, const char *column)
{
    crypto_auth_hmacsha256_state state;
    struct digest salt;
    char place[24];
    int length = snprintf(place, sizeof(place), "%" PRId64 "/", leaf);

    crypto_auth_hmacsha256_init(&state, secret, 32);
    crypto_auth_hmacsha256_update(&state, (const uint8_t *)place, (size_t)length);
    crypto_auth_hmacsha256_update(&state, (const uint8_t *)column, strlen(column));
    crypto_auth_hmacsha256_final(&state, salt.bytes);
    return salt;
}

/* ---- the SQL functions ---- */

/* What a connection keeps for its leaves. */
struct leaf_maker {
    struct text json, value;
    /* HMAC-SHA256 (RFC 2104) under the log's secret, after the key's block. */
    struct digest_state inner, outer;
    bool has_secret, has_form;
    int64_t second_form; /* first leaf of form 2; INT64_MAX: there is none */
};

static void destroy_maker(void *context)
{
    struct leaf_maker *maker = context;

    text_finish(&maker->json);
    text_finish(&maker->value);
    sodium_memzero(maker, sizeof(*maker));
    free(maker);
}

static void set_secret(struct leaf_maker *maker, const uint8_t secret[32])
{
    uint8_t inner[64], outer[64];

    for (size_t i = 0; i < sizeof(inner); i++) {
        inner[i] = (i < 32 ? secret[i] : 0) ^ 0x36;
        outer[i] = (i < 32 ? secret[i] : 0) ^ 0x5c;
    }
    digest_init(&maker->inner);
    digest_update(&maker->inner, inner, sizeof(inner));
    digest_init(&maker->outer);
    digest_update(&maker->outer, outer, sizeof(outer));
    sodium_memzero(inner, sizeof(inner));
    sodium_memzero(outer, sizeof(outer));
    maker->has_secret = true;
}

/* The secret as it stands in this very database; asked once a connection and origin. */
static bool load_secret(sqlite3 *db, struct leaf_maker *maker)
{
    sqlite3_stmt *select = NULL;

    if (sqlite3_prepare_v2(db, "SELECT secret FROM main.ledger_origin WHERE id = 1", -1, &select,
                           NULL) == SQLITE_OK &&
        sqlite3_step(select) == SQLITE_ROW && sqlite3_column_bytes(select, 0) == 32)
        set_secret(maker, sqlite3_column_blob(select, 0));
    sqlite3_finalize(select);
    return maker->has_secret;
}

/* Learns where form 2 begins; asked once a connection. A file before schema 7 has no such table. */
static bool load_form(sqlite3 *db, struct leaf_maker *maker)
{
    sqlite3_stmt *select = NULL;
    int rc = sqlite3_prepare_v2(db, "SELECT first_leaf FROM main.leaf_form WHERE form = 2", -1,
                                &select, NULL);

    maker->second_form = INT64_MAX;
    if (rc == SQLITE_OK && (rc = sqlite3_step(select)) == SQLITE_ROW)
        maker->second_form = sqlite3_column_int64(select, 0);
    sqlite3_finalize(select);
    maker->has_form = rc == SQLITE_ROW || rc == SQLITE_DONE || rc == SQLITE_ERROR;
    return maker->has_form;
}

static char *put_integer(char *end, int64_t value)
{
    uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;

    do
        *--end = (char)('0' + rest % 10);
    while (rest /= 10);
    if (value < 0)
        *--end = '-';
    return end;
}

static void append_integer(struct text *out, int64_t value)
{
    char digits[24], *const end = digits + sizeof(digits);
    const char *begin = put_integer(end, value);

    text_append_bytes(out, begin, (size_t)(end - begin));
}

static void append_bytes_value(struct text *out, const void *bytes, int length)
{
    const struct digest digest = digest_bytes(bytes ? bytes : "", bytes ? (size_t)length : 0);
    char hex[DIGEST_HEX_SIZE];

    text_append(out, "{\"bytes\":");
    append_integer(out, length);
    text_append(out, ",\"sha256\":\"");
    text_append_bytes(out, digest_hex(&digest, hex), 2 * DIGEST_SIZE);
    text_append(out, "\"}");
}

static void append_value(struct text *out, sqlite3_value *value)
{
    const void *bytes;
    uint64_t bits;
    double real;

    switch (sqlite3_value_type(value)) {
    case SQLITE_INTEGER:
        append_integer(out, sqlite3_value_int64(value));
        break;
    case SQLITE_FLOAT:
        real = sqlite3_value_double(value);
        memcpy(&bits, &real, sizeof(bits));
        text_append_format(out, "{\"ieee754\":\"%016" PRIx64 "\"}", bits);
        break;
    case SQLITE_TEXT:
        bytes = sqlite3_value_text(value);
        if (bytes)
            canonical_append_string(out, bytes, (size_t)sqlite3_value_bytes(value));
        else
            out->failed = true;
        break;
    default:
        bytes = sqlite3_value_blob(value);
        if (!bytes && sqlite3_value_bytes(value) > 0)
            out->failed = true;
        append_bytes_value(out, bytes, sqlite3_value_bytes(value));
    }
}

static struct digest salt_of(const struct leaf_maker *maker, int64_t leaf, const char *column)
{
    struct digest_state inner = maker->inner, outer = maker->outer;
    char digits[24], *const end = digits + sizeof(digits);
    const char *begin = put_integer(end, leaf);
    struct digest digest;

    digest_update(&inner, begin, (size_t)(end - begin));
    digest_update(&inner, "/", 1);
    digest_update(&inner, column, strlen(column));
    digest = digest_final(&inner);
    digest_update(&outer, digest.bytes, DIGEST_SIZE);
    return digest_final(&outer);
}

static bool append_commitment(struct leaf_maker *maker, sqlite3 *db, int64_t leaf,
                              const char *column, sqlite3_value *value)
{
    struct digest_state state;
    struct digest digest;
    char hex[DIGEST_HEX_SIZE];

    if (!maker->has_secret && !load_secret(db, maker))
        return false;
    text_clear(&maker->value);
    append_value(&maker->value, value);
    if (!text_ok(&maker->value)) {
        maker->json.failed = true;
        return true;
    }
    digest = salt_of(maker, leaf, column);
    digest_init(&state);
    digest_update(&state, digest.bytes, DIGEST_SIZE);
    digest_update(&state, maker->value.data, maker->value.length);
    digest = digest_final(&state);
    text_append(&maker->json, "{\"commitment\":\"");
    text_append_bytes(&maker->json, digest_hex(&digest, hex), 2 * DIGEST_SIZE);
    text_append(&maker->json, "\"}");
    return true;
}

/* What one row of much text has taken is not kept for the next. */
#define KEPT_MAX 65536

static void begin_text(struct text *text)
{
    if (text->capacity > KEPT_MAX) {
        text_finish(text);
        text_init(text);
    }
    text_clear(text);
}

/* The leaf's data in maker->json; false when the call has been answered with an error. */
static bool make_data(sqlite3_context *context, int count, sqlite3_value **values,
                      struct leaf_maker *maker)
{
    const char *table = (const char *)sqlite3_value_text(values[1]);
    const size_t committed_from = table ? first_committed(table) : 0;
    int64_t leaf = sqlite3_value_int64(values[0]);
    bool first = true;
    int form;

    /* Where the row that begins a form is being entered, what was known is out of date. */
    if ((!maker->has_form || (table && !strcmp(table, "leaf_form"))) &&
        !load_form(sqlite3_context_db_handle(context), maker)) {
        sqlite3_result_error(context, "the form of the ledger's leaves cannot be read", -1);
        return false;
    }
    form = leaf >= maker->second_form ? 2 : 1;
    begin_text(&maker->json);
    begin_text(&maker->value);
    text_append(&maker->json, "{\"row\":{");
    for (int i = 2; i + 1 < count && table; i += 2) {
        const char *column = (const char *)sqlite3_value_text(values[i]);

        if (!column || sqlite3_value_type(values[i + 1]) == SQLITE_NULL)
            continue;
        text_append(&maker->json, first ? "\"" : ",\"");
        text_append(&maker->json, column);
        text_append(&maker->json, "\":");
        first = false;
        if (!is_committed_from(committed_from, table, column, form)) {
            append_value(&maker->json, values[i + 1]);
        } else if (!append_commitment(maker, sqlite3_context_db_handle(context), leaf, column,
                                      values[i + 1])) {
            sqlite3_result_error(context, "the ledger has no origin", -1);
            return false;
        }
    }
    text_append(&maker->json, "},\"table\":\"");
    text_append(&maker->json, table ? table : "");
    text_append(&maker->json, "\"}");
    if (text_ok(&maker->json) && text_ok(&maker->value) && table)
        return true;
    sqlite3_result_error_nomem(context);
    return false;
}

static void leaf_hash(sqlite3_context *context, int count, sqlite3_value **values)
{
    struct leaf_maker *maker = sqlite3_user_data(context);
    struct digest digest;

    if (count < 2 || !make_data(context, count, values, maker))
        return;
    digest = merkle_leaf(maker->json.data, maker->json.length);
    sqlite3_result_blob(context, digest.bytes, DIGEST_SIZE, SQLITE_TRANSIENT);
}

static void leaf_data(sqlite3_context *context, int count, sqlite3_value **values)
{
    struct leaf_maker *maker = sqlite3_user_data(context);

    if (count >= 2 && make_data(context, count, values, maker))
        sqlite3_result_text(context, maker->json.data, (int)maker->json.length, SQLITE_TRANSIENT);
}

static int register_one(sqlite3 *db, const char *name,
                        void (*function)(sqlite3_context *, int, sqlite3_value **))
{
    struct leaf_maker *maker = calloc(1, sizeof(*maker));

    if (!maker)
        return SQLITE_NOMEM;
    text_init(&maker->json);
    text_init(&maker->value);
    return sqlite3_create_function_v2(db, name, -1, SQLITE_UTF8 | SQLITE_INNOCUOUS, maker, function,
                                      NULL, NULL, destroy_maker);
}

int ledger_leaf_register(sqlite3 *db)
{
    int rc = register_one(db, "assay_leaf", leaf_hash);

    if (rc == SQLITE_OK)
        rc = register_one(db, "assay_leaf_2", leaf_hash);
    return rc == SQLITE_OK ? register_one(db, "assay_leaf_data", leaf_data) : rc;
}

/* ---- the SQL that calls them ---- */

static enum status no_memory(struct error *err)
{
    return error_set(err, STATUS_NO_MEMORY, "out of memory");
}

static enum status failed(sqlite3 *db, struct error *err)
{
    return error_set(err, sqlite3_errcode(db) == SQLITE_NOMEM ? STATUS_NO_MEMORY : STATUS_IO,
                     "reading the schema: %s", sqlite3_errmsg(db));
}

/* Calls `each` with every row of pragma_table_info(table), ordered as asked. */
static enum status each_column(sqlite3 *db, const char *sql, const char *table, sqlite3_stmt **ret,
                               struct error *err)
{
    if (sqlite3_prepare_v2(db, sql, -1, ret, NULL) != SQLITE_OK ||
        sqlite3_bind_text(*ret, 1, table, -1, SQLITE_STATIC) != SQLITE_OK) {
        sqlite3_finalize(*ret);
        *ret = NULL;
        return failed(db, err);
    }
    return STATUS_OK;
}

enum status ledger_leaf_call(sqlite3 *db, const char *function, const char *table, const char *leaf,
                             const char *prefix, struct text *out, struct error *err)
{
    sqlite3_stmt *columns;
    int rc;
    enum status status =
        each_column(db, "SELECT name FROM pragma_table_info(?1) ORDER BY name COLLATE BINARY",
                    table, &columns, err);

    if (status != STATUS_OK)
        return status;
    text_append_format(out, "%s(%s, '%s'", function, leaf, table);
    while ((rc = sqlite3_step(columns)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(columns, 0);

        text_append_format(out, ", '%s', %s%s", name ? name : "", prefix, name ? name : "");
    }
    text_append_char(out, ')');
    if (rc != SQLITE_DONE)
        status = failed(db, err);
    sqlite3_finalize(columns);
    return status == STATUS_OK && !text_ok(out) ? no_memory(err) : status;
}

enum status ledger_leaf_key(sqlite3 *db, const char *table, const char *prefix, struct text *out,
                            struct error *err)
{
    sqlite3_stmt *columns;
    int rc, count = 0;
    enum status status =
        each_column(db, "SELECT name, type FROM pragma_table_info(?1) WHERE pk > 0 ORDER BY pk",
                    table, &columns, err);

    if (status != STATUS_OK)
        return status;
    while ((rc = sqlite3_step(columns)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(columns, 0);
        const char *type = (const char *)sqlite3_column_text(columns, 1);
        bool blob = type && strcmp(type, "BLOB") == 0;

        text_append_format(out, "%s%s%s%s%s", count++ ? " || '/' || " : "",
                           blob ? "lower(hex(" : "", prefix, name ? name : "", blob ? "))" : "");
    }
    if (rc != SQLITE_DONE)
        status = failed(db, err);
    else if (count == 0)
        status = error_set(err, STATUS_INTERNAL, "table %s has no primary key", table);
    sqlite3_finalize(columns);
    return status == STATUS_OK && !text_ok(out) ? no_memory(err) : status;
}

enum status ledger_leaf_columns(sqlite3 *db, const char *table, struct text *out, struct error *err)
{
    sqlite3_stmt *columns;
    int rc, count = 0;
    enum status status =
        each_column(db, "SELECT name FROM pragma_table_info(?1) WHERE pk > 0 ORDER BY pk", table,
                    &columns, err);

    if (status != STATUS_OK)
        return status;
    while ((rc = sqlite3_step(columns)) == SQLITE_ROW)
        text_append_format(out, "%s%s", count++ ? ", " : "", sqlite3_column_text(columns, 0));
    if (rc != SQLITE_DONE)
        status = failed(db, err);
    sqlite3_finalize(columns);
    return status == STATUS_OK && !text_ok(out) ? no_memory(err) : status;
}
