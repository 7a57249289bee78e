/* Each leaf of the ledger against its row, and each row against the ledger. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "results/verify_internal.h"

#define LEAVES_STEP 20000

/* FNV-1a. Names are this version's own, and few. */
static size_t place_of(const char *name)
{
    uint32_t hash = 2166136261;

    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 16777619;
    return (hash ^ hash >> 16) % VERIFY_INDEX_SIZE;
}

static void index_tables(struct verify *verify)
{
    for (size_t i = 0; i < verify->table_count; i++) {
        size_t place = place_of(verify->tables[i].name);

        while (verify->table_index[place])
            place = (place + 1) % VERIFY_INDEX_SIZE;
        verify->table_index[place] = (int16_t)(i + 1);
    }
}

/* NULL: there is none of this name. */
static const struct verify_table *find_table(const struct verify *verify, const char *name)
{
    size_t place = name ? place_of(name) : 0;

    for (; name && verify->table_index[place]; place = (place + 1) % VERIFY_INDEX_SIZE) {
        const struct verify_table *table = &verify->tables[verify->table_index[place] - 1];

        if (!strcmp(table->name, name))
            return table;
    }
    return NULL;
}

/* The key's text for messages; `ret` has 80 bytes. */
static const char *key_text(sqlite3_stmt *select, int column, char *ret)
{
    const char *text = (const char *)sqlite3_column_text(select, column);
    struct text shown;

    text_init(&shown);
    if (text)
        text_append_printable(&shown, text, strlen(text));
    snprintf(ret, 80, "%s", text_ok(&shown) ? shown.data : "");
    text_finish(&shown);
    return ret;
}

/* Whether the bytes are how SQLite writes some integer: no sign but '-', no zero before digits. */
static bool is_plain_integer(const char *at, size_t length)
{
    if (length > 1 && *at == '-')
        at++, length--;
    else if (length == 1 && *at == '0')
        return true;
    return length > 0 && *at >= '1' && *at <= '9';
}

static bool is_lower_hex(const char *at, size_t length)
{
    return length % 2 == 0 && strspn(at, "0123456789abcdef") >= length;
}

/*
 * Binds one part of a composite key, the bytes [at, end), which stay as they are until the
 * statement is reset. False when no value of this type is written so: a key that is found is the
 * row's own.
 */
static bool bind_part(sqlite3_stmt *select, int number, char type, const char *at, const char *end)
{
    size_t length = (size_t)(end - at);
    unsigned char bytes[64];
    char digits[24];
    int64_t value;

    if (type == 'T')
        return sqlite3_bind_text(select, number, at, (int)length, SQLITE_STATIC) == SQLITE_OK;
    if (type == 'B') {
        size_t got = 0;

        return length <= 2 * sizeof(bytes) && is_lower_hex(at, length) &&
               sodium_hex2bin(bytes, sizeof(bytes), at, length, NULL, &got, NULL) == 0 &&
               sqlite3_bind_blob(select, number, bytes, (int)got, SQLITE_TRANSIENT) == SQLITE_OK;
    }
    if (length >= sizeof(digits) || !is_plain_integer(at, length))
        return false;
    memcpy(digits, at, length);
    digits[length] = '\0';
    return text_parse_i64(digits, &value) && sqlite3_bind_int64(select, number, value) == SQLITE_OK;
}

/*
 * Binds the key's parts from ?1 on. Numbers have no '/', so those before a text are split off from
 * the front and those behind it from the end. False: such a key names no row.
 */
static bool bind_key(sqlite3_stmt *select, const struct verify_table *table, sqlite3_stmt *ledger,
                     int column)
{
    const char *at, *end;
    int first = 0, last = table->part_count - 1;

    if (table->in_order)
        return sqlite3_column_type(ledger, column) == SQLITE_INTEGER &&
               sqlite3_bind_int64(select, 1, sqlite3_column_int64(ledger, column)) == SQLITE_OK;
    if (sqlite3_column_type(ledger, column) != SQLITE_TEXT)
        return false;
    at = (const char *)sqlite3_column_text(ledger, column);
    if (!at)
        return false;
    end = at + sqlite3_column_bytes(ledger, column);
    for (; first < last && table->parts[first] != 'T'; first++) {
        const char *slash = memchr(at, '/', (size_t)(end - at));

        if (!slash || !bind_part(select, 1 + first, table->parts[first], at, slash))
            return false;
        at = slash + 1;
    }
    for (; last > first; last--) {
        const char *slash = memrchr(at, '/', (size_t)(end - at));

        if (!slash || !bind_part(select, 1 + last, table->parts[last], slash + 1, end))
            return false;
        end = slash;
    }
    return bind_part(select, 1 + first, table->parts[first], at, end);
}

static void tell_reading(struct verify_worker *worker, const char *table, const char *key)
{
    const char *damage = verify_damage(worker->verify, worker->db);

    if (damage)
        verify_findings_add(&worker->findings, VERIFY_WRONG, VERIFY_ROW, table, key,
                            "cannot be read: %s", damage);
}

/* The table's cursor; NULL after telling why there is none. */
static struct verify_cursor *cursor_of(struct verify_worker *worker,
                                       const struct verify_table *table)
{
    struct verify_cursor *cursor = &worker->cursors[table - worker->verify->tables];

    if (cursor->select ||
        sqlite3_prepare_v3(worker->db, table->select, -1, SQLITE_PREPARE_PERSISTENT,
                           &cursor->select, NULL) == SQLITE_OK)
        return cursor;
    tell_reading(worker, table->name, NULL);
    return NULL;
}

/* Steps; notes the row's key where the table is in key order. */
static int step(struct verify_cursor *cursor, const struct verify_table *table)
{
    int rc = sqlite3_step(cursor->select);

    cursor->on_row = rc == SQLITE_ROW && table->in_order;
    if (cursor->on_row)
        cursor->key = sqlite3_column_int64(cursor->select, table->key_column);
    return rc;
}

/*
 * Goes to the row that a leaf names: SQLITE_ROW; SQLITE_DONE: there is none; SQLITE_MISMATCH: no
 * row has such a key; or an error.
 */
static int go_to_row(struct verify_cursor *cursor, const struct verify_table *table,
                     sqlite3_stmt *ledger)
{
    int64_t key = table->in_order ? sqlite3_column_int64(ledger, 2) : 0;
    int rc;

    if (cursor->on_row && sqlite3_column_type(ledger, 2) == SQLITE_INTEGER) {
        if (key > cursor->key)
            step(cursor, table);
        if (cursor->on_row && cursor->key == key)
            return SQLITE_ROW;
    }
    sqlite3_reset(cursor->select);
    cursor->on_row = false;
    if (!bind_key(cursor->select, table, ledger, 2))
        return SQLITE_MISMATCH;
    rc = step(cursor, table);
    return cursor->on_row && cursor->key != key ? SQLITE_DONE : rc;
}

static void compare_leaf(struct verify_worker *worker, const struct verify_table *table,
                         sqlite3_stmt *row, sqlite3_stmt *ledger)
{
    int64_t leaf = sqlite3_column_int64(ledger, 0);
    const void *stored;
    struct digest digest;
    char key[80];
    const char *failure = ledger_leaf_of_row(worker->maker, &table->shape, leaf, row, &digest);

    if (failure) {
        verify_findings_add(&worker->findings, VERIFY_WRONG, VERIFY_ROW, table->name,
                            key_text(ledger, 2, key), "cannot be read: %s", failure);
        return;
    }
    stored = sqlite3_column_blob(ledger, 3);
    if (!stored || sqlite3_column_bytes(ledger, 3) != DIGEST_SIZE ||
        memcmp(stored, digest.bytes, DIGEST_SIZE) != 0)
        verify_findings_add(
            &worker->findings, VERIFY_WRONG, VERIFY_ROW, table->name, key_text(ledger, 2, key),
            "the row is not the one that entered the ledger as leaf %" PRId64, leaf);
}

/* columns of the ledger: 0 leaf, 1 table_name, 2 key, 3 digest */
static void check_leaf(struct verify_worker *worker, const struct verify_table *table,
                       sqlite3_stmt *ledger)
{
    int64_t leaf = sqlite3_column_int64(ledger, 0);
    struct verify_cursor *cursor;
    char key[80];
    int rc;

    if (!table) {
        verify_findings_add(&worker->findings, VERIFY_WRONG, VERIFY_ROW, "ledger", NULL,
                            "leaf %" PRId64 " is of a table that does not exist", leaf);
        return;
    }
    cursor = cursor_of(worker, table);
    if (!cursor)
        return;
    rc = go_to_row(cursor, table, ledger);
    worker->done += rc != SQLITE_MISMATCH;
    if (rc == SQLITE_ROW)
        compare_leaf(worker, table, cursor->select, ledger);
    else if (rc == SQLITE_MISMATCH)
        verify_findings_add(&worker->findings, VERIFY_WRONG, VERIFY_ROW, "ledger", NULL,
                            "leaf %" PRId64 " (%s %s) names no row", leaf, table->name,
                            key_text(ledger, 2, key));
    else if (rc == SQLITE_DONE)
        verify_findings_add(&worker->findings, VERIFY_WRONG, VERIFY_ROW, table->name,
                            key_text(ledger, 2, key),
                            "the row that entered the ledger as leaf %" PRId64 " is gone", leaf);
    else
        tell_reading(worker, table->name, key_text(ledger, 2, key));
    if (rc != SQLITE_ROW)
        cursor->on_row = false;
    if (!cursor->on_row)
        sqlite3_reset(cursor->select);
}

static void check_leaves(struct verify_worker *worker, int64_t first, int64_t end)
{
    sqlite3_stmt *ledger = NULL;
    int rc = sqlite3_prepare_v2(worker->db,
                                "SELECT leaf, table_name, key, digest FROM ledger"
                                " WHERE leaf >= ?1 AND leaf < ?2 ORDER BY leaf",
                                -1, &ledger, NULL);

    worker->leaf_count = 0;
    if (!worker->leaves)
        worker->leaves = malloc(LEAVES_STEP * sizeof(*worker->leaves));
    if (!worker->leaves)
        rc = SQLITE_NOMEM;
    if (rc == SQLITE_OK) {
        sqlite3_bind_int64(ledger, 1, first);
        sqlite3_bind_int64(ledger, 2, end);
        while (!verify_stopped(worker->verify) && worker->leaf_count < LEAVES_STEP &&
               (rc = sqlite3_step(ledger)) == SQLITE_ROW) {
            const struct verify_table *table =
                find_table(worker->verify, (const char *)sqlite3_column_text(ledger, 1));

            check_leaf(worker, table, ledger);
            worker->leaves[worker->leaf_count++] = verify_tree_leaf(worker->verify, table, ledger);
        }
    }
    if (rc != SQLITE_DONE && rc != SQLITE_ROW)
        tell_reading(worker, "ledger", NULL);
    sqlite3_finalize(ledger);
}

static void hand_over(struct verify_worker *worker, int64_t first, int64_t end)
{
    (void)first;
    (void)end;
    verify_tree_take(worker->verify, worker->leaves, worker->leaf_count);
}

/* Leaves outside 0 .. count - 1, so that no row is looked at twice or not at all. */
static void check_numbers(struct verify *verify)
{
    int64_t least = verify_ask(verify, "SELECT min(leaf) FROM ledger", 0, 0, VERIFY_TREE);
    int64_t most = verify_ask(verify, "SELECT max(leaf) FROM ledger", 0, -1, VERIFY_TREE);
    int64_t gap;

    if (least == 0 && most == verify->leaves - 1)
        return;
    gap = verify_ask(verify,
                     "SELECT coalesce((SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM ledger WHERE leaf ="
                     " 0)), (SELECT min(l.leaf) + 1 FROM ledger l WHERE NOT EXISTS (SELECT 1 FROM"
                     " ledger n WHERE n.leaf = l.leaf + 1)))",
                     0, -1, VERIFY_TREE);
    verify_tell(verify, VERIFY_WRONG, VERIFY_TREE, "ledger", NULL,
                "leaf %" PRId64 " is missing: there are %" PRId64 " leaves, numbered %" PRId64
                " to %" PRId64,
                gap, verify->leaves, least, most);
    /* What has a number beyond is looked at by number all the same. */
    if (most < INT64_MAX && most >= verify->leaves && most < verify->leaves + 1000000)
        verify->leaves = most + 1;
}

enum status verify_rows(struct verify *verify, struct error *err)
{
    enum status status;

    if (!verify->has_ledger) {
        verify_tell(verify, VERIFY_NOTE, VERIFY_ROW, NULL, NULL,
                    "schema version %" PRId64 " has no ledger: whether rows were changed, added or "
                    "taken away cannot be told; any command that writes brings the file up to date",
                    verify->summary->schema_version);
        return STATUS_OK;
    }
    index_tables(verify);
    verify->leaves = verify_ask(verify, "SELECT count(*) FROM ledger", 0, 0, VERIFY_TREE);
    verify->summary->leaves = verify->leaves;
    check_numbers(verify);
    status = verify_tree_begin(verify, err);
    if (status == STATUS_OK)
        status = verify_share(verify, "rows", verify->leaves, LEAVES_STEP, check_leaves, hand_over,
                              &verify->summary->rows, err);
    return status;
}
