#include "results/ledger_leaf.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "results/ledger.h"
#include "results/ledger_json.h"

/*
 * Columns that may have to be withheld from somebody who is given a part of the database, and
 * digests that would let the withheld value be guessed. They enter a leaf as a salted commitment.
 * Sorted by table.
 */
static const struct {
    const char *table, *column;
} committed[] = {
    {"amendment", "author"},     {"amendment", "reason"},
    {"campaign", "command"},     {"campaign_event", "detail"},
    {"claim", "body"},           {"comparison", "body"},
    {"component", "digest"},     {"component", "missing_reason"},
    {"component", "path"},       {"content", "body"},
    {"declaration", "origin"},   {"device", "digest"},
    {"device", "name"},          {"device", "uuid"},
    {"device", "vendor"},        {"dump", "message"},
    {"import", "file"},          {"import", "sha256"},
    {"ledger_origin", "secret"}, {"reading", "body"},
    {"reading", "hash"},         {"reading_set", "digest"},
    {"stack", "digest"},         {"telemetry", "message"},
    {"trial_end", "facts"},      {"trial_end", "message"},
};

#define COMMITTED (sizeof(committed) / sizeof(committed[0]))

/* The first column of the table in `committed`, which is sorted; COMMITTED when it has none. */
static size_t first_committed(const char *table)
{
    size_t i = 0;

    while (i < COMMITTED && strcmp(committed[i].table, table) != 0)
        i++;
    return i;
}

static bool is_committed(size_t first, const char *table, const char *column)
{
    for (size_t i = first; i < COMMITTED && !strcmp(committed[i].table, table); i++)
        if (strcmp(committed[i].column, column) == 0)
            return true;
    return false;
}

bool ledger_is_committed(const char *table, const char *column)
{
    return is_committed(first_committed(table), table, column);
}

bool ledger_committed_at(size_t i, const char **ret_table, const char **ret_column)
{
    if (i >= COMMITTED)
        return false;
    *ret_table = committed[i].table;
    *ret_column = committed[i].column;
    return true;
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
struct ledger_leaf_maker {
    struct text json, value;
    /* HMAC-SHA256 (RFC 2104) under the log's secret, after the key's block. */
    struct digest_state inner, outer;
    bool has_secret;
};

static void destroy_maker(void *context)
{
    struct ledger_leaf_maker *maker = context;

    text_finish(&maker->json);
    text_finish(&maker->value);
    sodium_memzero(maker, sizeof(*maker));
    free(maker);
}

static void set_secret(struct ledger_leaf_maker *maker, const uint8_t secret[32])
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

/* The secret stored in this database; read once per connection and origin. */
static bool load_secret(sqlite3 *db, struct ledger_leaf_maker *maker)
{
    sqlite3_stmt *select = NULL;

    if (sqlite3_prepare_v2(db, "SELECT secret FROM main.ledger_origin WHERE id = 1", -1, &select,
                           NULL) == SQLITE_OK &&
        sqlite3_step(select) == SQLITE_ROW && sqlite3_column_bytes(select, 0) == 32)
        set_secret(maker, sqlite3_column_blob(select, 0));
    sqlite3_finalize(select);
    return maker->has_secret;
}

static const char no_origin[] = "the ledger has no origin";

struct ledger_leaf_value ledger_leaf_value_of(sqlite3_value *argument)
{
    struct ledger_leaf_value value = {.type = sqlite3_value_type(argument)};

    if (value.type == SQLITE_INTEGER) {
        value.integer = sqlite3_value_int64(argument);
    } else if (value.type == SQLITE_FLOAT) {
        value.real = sqlite3_value_double(argument);
    } else if (value.type != SQLITE_NULL) {
        /* In this order: the former converts any text to UTF-8, the latter returns it without a
         * copy. */
        value.length = sqlite3_value_bytes(argument);
        value.bytes = sqlite3_value_blob(argument);
    }
    return value;
}

/* The memory of a row with much text is not kept for the next one. */
#define KEPT_MAX 65536

static void begin_text(struct text *text)
{
    if (text->capacity > KEPT_MAX) {
        text_finish(text);
        text_init(text);
    }
    text_clear(text);
}

static struct digest salt_of(const struct ledger_leaf_maker *maker, int64_t leaf,
                             const char *column)
{
    struct digest_state inner = maker->inner, outer = maker->outer;
    char digits[LEDGER_JSON_INTEGER_MAX];
    struct digest digest;

    digest_update(&inner, digits, (size_t)(ledger_json_put_integer(digits, leaf) - digits));
    digest_update(&inner, "/", 1);
    digest_update(&inner, column, strlen(column));
    digest = digest_final(&inner);
    digest_update(&outer, digest.bytes, DIGEST_SIZE);
    return digest_final(&outer);
}

static bool append_commitment(struct ledger_leaf_maker *maker, sqlite3 *db, int64_t leaf,
                              const char *column, const struct ledger_leaf_value *value)
{
    struct digest_state state;
    struct digest digest;
    char hex[DIGEST_HEX_SIZE];

    if (!maker->has_secret && !load_secret(db, maker))
        return false;
    begin_text(&maker->value);
    ledger_json_append(&maker->value, value);
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

/* The leaf's data in maker->json; false when the call has been answered with an error. */
static bool make_data(sqlite3_context *context, int count, sqlite3_value **values,
                      struct ledger_leaf_maker *maker)
{
    const char *table = (const char *)sqlite3_value_text(values[1]);
    const size_t committed_from = table ? first_committed(table) : 0;
    int64_t leaf = sqlite3_value_int64(values[0]);
    bool first = true;

    begin_text(&maker->json);
    text_append(&maker->json, "{\"row\":{");
    for (int i = 2; i + 1 < count && table; i += 2) {
        const char *column = (const char *)sqlite3_value_text(values[i]);
        const struct ledger_leaf_value value = ledger_leaf_value_of(values[i + 1]);

        if (!column || value.type == SQLITE_NULL)
            continue;
        text_append(&maker->json, first ? "\"" : ",\"");
        text_append(&maker->json, column);
        text_append(&maker->json, "\":");
        first = false;
        if (!is_committed(committed_from, table, column)) {
            ledger_json_append(&maker->json, &value);
        } else if (!append_commitment(maker, sqlite3_context_db_handle(context), leaf, column,
                                      &value)) {
            sqlite3_result_error(context, no_origin, -1);
            return false;
        }
    }
    text_append(&maker->json, "},\"table\":\"");
    text_append(&maker->json, table ? table : "");
    text_append(&maker->json, "\"}");
    if (text_ok(&maker->json) && table)
        return true;
    sqlite3_result_error_nomem(context);
    return false;
}

static void leaf_hash(sqlite3_context *context, int count, sqlite3_value **values)
{
    struct ledger_leaf_maker *maker = sqlite3_user_data(context);
    struct digest digest;

    if (count < 2 || !make_data(context, count, values, maker))
        return;
    digest = merkle_leaf(maker->json.data, maker->json.length);
    sqlite3_result_blob(context, digest.bytes, DIGEST_SIZE, SQLITE_TRANSIENT);
}

static void leaf_data(sqlite3_context *context, int count, sqlite3_value **values)
{
    struct ledger_leaf_maker *maker = sqlite3_user_data(context);

    if (count >= 2 && make_data(context, count, values, maker))
        sqlite3_result_text(context, maker->json.data, (int)maker->json.length, SQLITE_TRANSIENT);
}

static struct ledger_leaf_maker *create_maker(void)
{
    struct ledger_leaf_maker *maker = calloc(1, sizeof(*maker));

    if (maker) {
        text_init(&maker->json);
        text_init(&maker->value);
    }
    return maker;
}

static int register_one(sqlite3 *db, const char *name,
                        void (*function)(sqlite3_context *, int, sqlite3_value **))
{
    struct ledger_leaf_maker *maker = create_maker();

    if (!maker)
        return SQLITE_NOMEM;
    return sqlite3_create_function_v2(db, name, -1, SQLITE_UTF8 | SQLITE_INNOCUOUS, maker, function,
                                      NULL, NULL, destroy_maker);
}

int ledger_leaf_register(sqlite3 *db)
{
    int rc = register_one(db, "assay_leaf", leaf_hash);

    return rc == SQLITE_OK ? register_one(db, "assay_leaf_data", leaf_data) : rc;
}

/* ---- many rows of a table, without the SQL function ---- */

struct ledger_leaf_maker *ledger_leaf_maker_create(void)
{
    return create_maker();
}

void ledger_leaf_maker_destroy(struct ledger_leaf_maker *maker)
{
    if (maker)
        destroy_maker(maker);
}

/* Bytes that may be read past a text's end, and be overwritten past its copy's end. */
#define PADDING 16

static char *padded(const char *format, const char *name)
{
    struct text text;
    char *room;

    text_init(&text);
    text_append_format(&text, format, name);
    room = text_reserve(&text, PADDING);
    if (room)
        memset(room, 0, PADDING);
    return text_steal(&text);
}

enum status ledger_leaf_shape_init(struct ledger_leaf_shape *shape, sqlite3 *db, const char *table,
                                   struct text *columns, struct error *err)
{
    const size_t committed_from = first_committed(table);
    sqlite3_stmt *select = NULL;
    enum status status = STATUS_OK;
    int rc = sqlite3_prepare_v2(
        db, "SELECT name FROM pragma_table_info(?1) ORDER BY name COLLATE BINARY", -1, &select,
        NULL);

    *shape = (struct ledger_leaf_shape){.end = padded("},\"table\":\"%s\"}", table)};
    shape->end_length = shape->end ? strlen(shape->end) : 0;
    shape->room = shape->end_length + PADDING;
    if (rc == SQLITE_OK)
        rc = sqlite3_bind_text(select, 1, table, -1, SQLITE_STATIC);
    while (rc == SQLITE_OK && (rc = sqlite3_step(select)) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(select, 0);
        struct ledger_leaf_column *column = &shape->columns[shape->count];

        if (!name || shape->count == LEDGER_LEAF_COLUMNS_MAX)
            break;
        column->member = padded(",\"%s\":", name);
        column->member_length = column->member ? strlen(column->member) : 0;
        shape->room += column->member_length + LEDGER_JSON_INTEGER_MAX;
        column->name = strdup(name);
        column->is_committed = is_committed(committed_from, table, name);
        shape->count++;
        text_append_format(columns, "%s%s", shape->count > 1 ? ", " : "", name);
        rc = column->member && column->name ? SQLITE_OK : SQLITE_NOMEM;
    }
    sqlite3_finalize(select);
    if (rc == SQLITE_NOMEM || !shape->end || !text_ok(columns))
        status = error_set(err, STATUS_NO_MEMORY, "out of memory");
    else if (rc != SQLITE_DONE)
        status = error_set(err, STATUS_INTERNAL, "reading the columns of %s", table);
    return status;
}

void ledger_leaf_shape_finish(struct ledger_leaf_shape *shape)
{
    for (int i = 0; i < shape->count; i++) {
        free(shape->columns[i].member);
        free(shape->columns[i].name);
    }
    free(shape->end);
    *shape = (struct ledger_leaf_shape){0};
}

void ledger_leaf_read(const struct ledger_leaf_shape *shape, sqlite3_stmt *row,
                      struct ledger_leaf_value *ret)
{
    for (int i = 0; i < shape->count; i++)
        ret[i] = ledger_leaf_value_of(sqlite3_column_value(row, i));
}

/* Copies more than asked for: `bytes` is followed by PADDING, and so is the destination. */
static char *put_padded(char *at, const char *bytes, size_t length)
{
    size_t done = 0;

    do {
        memcpy(at + done, bytes + done, PADDING);
        done += PADDING;
    } while (done < length);
    return at + length;
}

const char *ledger_leaf_of_row(struct ledger_leaf_maker *maker,
                               const struct ledger_leaf_shape *shape, int64_t leaf, sqlite3 *db,
                               const struct ledger_leaf_value *values, struct digest *ret)
{
    struct text *json = &maker->json;
    bool first = true;
    char *at;

    begin_text(json);
    text_append_bytes(json, "\0{\"row\":{", 9); /* a leaf is hashed with a prefix byte 0 */
    at = text_reserve(json, shape->room);
    for (int i = 0; i < shape->count && at; i++) {
        const struct ledger_leaf_column *column = &shape->columns[i];

        if (values[i].type == SQLITE_NULL)
            continue;
        at = put_padded(at, column->member + first, column->member_length - first);
        first = false;
        if (values[i].type == SQLITE_INTEGER && !column->is_committed) {
            at = ledger_json_put_integer(at, values[i].integer);
            continue;
        }
        text_extend_to(json, at);
        if (!column->is_committed)
            ledger_json_append(json, &values[i]);
        else if (!append_commitment(maker, db, leaf, column->name, &values[i]))
            return no_origin;
        at = text_reserve(json, shape->room);
    }
    if (at)
        text_extend_to(json, put_padded(at, shape->end, shape->end_length));
    if (!text_reserve(json, DIGEST_PADDING))
        return "out of memory";
    *ret = digest_padded((uint8_t *)json->data, json->length);
    return NULL;
}
