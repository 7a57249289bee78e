/* The ledger from its first leaf to its last: the tree, its checkpoints, rows that are not in it.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "results/verify_internal.h"

#define PROGRESS_STEP 65536

/*
 * Keys that a table has in the ledger, as hashes under a key drawn for this run. While the first
 * number of the keys rises along the ledger, as it does in what assay writes, those with the same
 * first number are all that must be kept to find a key that comes twice.
 */
struct keys {
    uint64_t *hashes; /* of the current first number, or all */
    size_t count, capacity;
    int64_t first;
    bool rises_not, all;
    size_t twice; /* keys that had come before */
};

struct scan {
    struct verify *verify;
    struct merkle tree;
    struct keys keys[VERIFY_TABLES_MAX];
    unsigned char hash_key[crypto_shorthash_KEYBYTES];
    sqlite3_stmt *checkpoints; /* by size; the row it stands on, if any */
    bool has_checkpoint;
    int64_t expected_size; /* of the head that the user expects; -1: any */
    bool expects, head_seen;
    struct digest expected;
    int64_t expected_at;
    bool failed; /* out of memory */
};

static uint64_t hash_of(struct scan *scan, sqlite3_stmt *select, int column)
{
    unsigned char out[crypto_shorthash_BYTES];
    uint64_t hash;

    if (sqlite3_column_type(select, column) == SQLITE_INTEGER) {
        int64_t number = sqlite3_column_int64(select, column);

        crypto_shorthash(out, (const unsigned char *)&number, sizeof(number), scan->hash_key);
    } else {
        const unsigned char *bytes = sqlite3_column_blob(select, column);

        crypto_shorthash(out, bytes ? bytes : out,
                         bytes ? (size_t)sqlite3_column_bytes(select, column) : 0, scan->hash_key);
    }
    memcpy(&hash, out, sizeof(hash));
    return hash;
}

static void remember(struct scan *scan, size_t table, uint64_t hash)
{
    struct keys *keys = &scan->keys[table];

    if (keys->count == keys->capacity) {
        size_t capacity = keys->capacity ? keys->capacity * 2 : 256;
        uint64_t *grown = realloc(keys->hashes, capacity * sizeof(*grown));

        if (!grown) {
            scan->failed = true;
            return;
        }
        keys->hashes = grown;
        keys->capacity = capacity;
    }
    keys->hashes[keys->count++] = hash;
}

static int compare_hashes(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

static void sort(struct keys *keys)
{
    if (keys->count > 1)
        qsort(keys->hashes, keys->count, sizeof(*keys->hashes), compare_hashes);
    for (size_t i = 1; i < keys->count; i++)
        keys->twice += keys->hashes[i] == keys->hashes[i - 1];
}

/* The number that a key begins with; false when it begins with none. */
static bool first_number(const struct verify_table *table, sqlite3_stmt *ledger, int column,
                         int64_t *ret)
{
    const char *text, *slash;
    char digits[24];

    if (table->in_order) {
        *ret = sqlite3_column_int64(ledger, column);
        return sqlite3_column_type(ledger, column) == SQLITE_INTEGER;
    }
    if (sqlite3_column_type(ledger, column) != SQLITE_TEXT)
        return false;
    text = (const char *)sqlite3_column_text(ledger, column);
    slash = text ? strchr(text, '/') : NULL;
    if (!slash || (size_t)(slash - text) >= sizeof(digits))
        return false;
    memcpy(digits, text, (size_t)(slash - text));
    digits[slash - text] = '\0';
    return text_parse_i64(digits, ret);
}

static void note_key(struct scan *scan, size_t number, sqlite3_stmt *ledger, int column)
{
    const struct verify_table *table = &scan->verify->tables[number];
    struct keys *keys = &scan->keys[number];
    int64_t first;

    if (table->parts[0] != 'I') {
        keys->all = true;
        remember(scan, number, hash_of(scan, ledger, column));
        return;
    }
    if (keys->rises_not)
        return;
    if (!first_number(table, ledger, column, &first) ||
        (table->leaves > 1 && (table->in_order ? first <= keys->first : first < keys->first))) {
        keys->rises_not = true;
        return;
    }
    if (table->leaves == 1 || first > keys->first) {
        sort(keys);
        keys->count = 0;
        keys->first = first;
    }
    if (!table->in_order)
        remember(scan, number, hash_of(scan, ledger, column));
}

/* All keys of a table. What cannot be read has been told by the first reading. */
static void collect(struct scan *scan, size_t number)
{
    struct keys *keys = &scan->keys[number];
    sqlite3_stmt *ledger = verify_prepare(scan->verify, scan->verify->db,
                                          "SELECT key FROM ledger WHERE table_name = ?1"
                                          " ORDER BY leaf",
                                          VERIFY_TREE, "ledger");

    keys->count = 0;
    keys->twice = 0;
    if (ledger)
        sqlite3_bind_text(ledger, 1, scan->verify->tables[number].name, -1, SQLITE_STATIC);
    while (ledger && !scan->failed && sqlite3_step(ledger) == SQLITE_ROW)
        remember(scan, number, hash_of(scan, ledger, 0));
    sqlite3_finalize(ledger);
    sort(keys);
    keys->all = true;
}

/* ---- checkpoints ---- */

static void next_checkpoint(struct scan *scan)
{
    scan->has_checkpoint = scan->checkpoints &&
                           verify_step(scan->verify, scan->checkpoints, VERIFY_TREE, "checkpoint");
}

static bool blob_is(sqlite3_stmt *select, int column, const void *bytes, size_t length)
{
    const void *blob = sqlite3_column_blob(select, column);

    return blob && (size_t)sqlite3_column_bytes(select, column) == length &&
           memcmp(blob, bytes, length) == 0;
}

/* columns: 0 id, 1 size, 2 root, 3 frontier, 4 kind, 5 utc_ns */
static void check_checkpoint(struct scan *scan)
{
    struct digest root = merkle_root(&scan->tree);
    sqlite3_stmt *row = scan->checkpoints;
    char key[24], hex[DIGEST_HEX_SIZE];

    snprintf(key, sizeof(key), "%lld", (long long)sqlite3_column_int64(row, 0));
    if (!blob_is(row, 2, root.bytes, DIGEST_SIZE))
        verify_tell(scan->verify, VERIFY_WRONG, VERIFY_TREE, "checkpoint", key,
                    "the first %" PRIu64 " leaves come to the root %s, not to the one stored: the "
                    "ledger was rewritten",
                    scan->tree.size, digest_hex(&root, hex));
    if (!blob_is(row, 3, scan->tree.nodes,
                 (size_t)merkle_node_count(scan->tree.size) * DIGEST_SIZE))
        verify_tell(scan->verify, VERIFY_WRONG, VERIFY_TREE, "checkpoint", key,
                    "its frontier does not follow from the leaves");
    if (blob_is(row, 4, "migration", strlen("migration")))
        verify_tell(scan->verify, VERIFY_NOTE, VERIFY_ROW, NULL, NULL,
                    "the first %" PRIu64 " rows are older than the ledger and entered it as they "
                    "were found later; what happened to them before is not covered",
                    scan->tree.size);
    scan->verify->summary->checkpoints++;
}

/* Whatever refers to the head of this many leaves. */
static void check_head(struct scan *scan)
{
    struct digest root;
    bool at_checkpoint = false;

    while (scan->has_checkpoint &&
           sqlite3_column_int64(scan->checkpoints, 1) <= (int64_t)scan->tree.size) {
        check_checkpoint(scan);
        at_checkpoint = true;
        next_checkpoint(scan);
    }
    if (!scan->expects || scan->head_seen ||
        (scan->expected_size >= 0
             ? scan->expected_size != (int64_t)scan->tree.size
             : !at_checkpoint && (int64_t)scan->tree.size != scan->verify->leaves))
        return;
    root = merkle_root(&scan->tree);
    scan->head_seen = digest_equal(&root, &scan->expected);
    scan->expected_at = (int64_t)scan->tree.size;
}

static enum status parse_head(struct scan *scan, struct error *err)
{
    const char *text = scan->verify->options->expect_head;
    const char *colon = text ? strchr(text, ':') : NULL;
    char size[24] = "";

    scan->expected_size = -1;
    scan->expects = text != NULL;
    if (!text)
        return STATUS_OK;
    if (colon && (size_t)(colon - text) < sizeof(size)) {
        memcpy(size, text, (size_t)(colon - text));
        text = colon + 1;
    }
    if ((colon && !text_parse_i64(size, &scan->expected_size)) || scan->expected_size < -1 ||
        !digest_from_hex(text, &scan->expected))
        return error_set(
            err, STATUS_INVALID,
            "--expect-head %s: write the root's 64 hex digits, or SIZE:ROOT, as `assay "
            "checkpoint` prints them",
            scan->verify->options->expect_head);
    return STATUS_OK;
}

/* ---- the scan ---- */

static void scan_leaf(struct scan *scan, sqlite3_stmt *ledger)
{
    struct verify *verify = scan->verify;
    struct verify_table *table =
        verify_find_table(verify, (const char *)sqlite3_column_text(ledger, 1));
    const void *digest = sqlite3_column_blob(ledger, 3);
    struct digest leaf = {{0}};

    if (table) {
        table->leaves++;
        note_key(scan, (size_t)(table - verify->tables), ledger, 2);
        if (table->counted && sqlite3_column_int64(ledger, 2) <= table->last) {
            char key[24];

            snprintf(key, sizeof(key), "%lld", (long long)sqlite3_column_int64(ledger, 2));
            verify_tell(verify, VERIFY_WRONG, VERIFY_TREE, table->name, key,
                        "stands in the ledger behind row %" PRId64
                        ": rows were put in another order",
                        table->last);
        } else if (table->counted) {
            table->last = sqlite3_column_int64(ledger, 2);
        }
    }
    if (digest && sqlite3_column_bytes(ledger, 3) == DIGEST_SIZE)
        memcpy(leaf.bytes, digest, DIGEST_SIZE);
    merkle_add(&scan->tree, &leaf);
}

static void scan_ledger(struct scan *scan)
{
    struct verify *verify = scan->verify;
    sqlite3_stmt *ledger = verify_prepare(verify, verify->db,
                                          "SELECT leaf, table_name, key, digest FROM ledger"
                                          " ORDER BY leaf",
                                          VERIFY_TREE, "ledger");

    scan->checkpoints = verify_prepare(verify, verify->db,
                                       "SELECT id, size, root, frontier, kind, utc_ns FROM"
                                       " checkpoint ORDER BY size, id",
                                       VERIFY_TREE, "checkpoint");
    next_checkpoint(scan);
    check_head(scan);
    verify_progress(verify, "tree", 0, (uint64_t)verify->leaves);
    while (ledger && !verify_stopped(verify) &&
           verify_step(verify, ledger, VERIFY_TREE, "ledger")) {
        scan_leaf(scan, ledger);
        check_head(scan);
        if (scan->tree.size % PROGRESS_STEP == 0)
            verify_progress(verify, "tree", scan->tree.size, (uint64_t)verify->leaves);
    }
    while (scan->has_checkpoint && !verify_stopped(verify)) {
        char key[24];

        snprintf(key, sizeof(key), "%lld", (long long)sqlite3_column_int64(scan->checkpoints, 0));
        verify_tell(verify, VERIFY_WRONG, VERIFY_TREE, "checkpoint", key,
                    "covers %lld leaves, there are %" PRIu64 ": the end of the ledger was cut off",
                    (long long)sqlite3_column_int64(scan->checkpoints, 1), scan->tree.size);
        next_checkpoint(scan);
    }
    sqlite3_finalize(ledger);
    sqlite3_finalize(scan->checkpoints);
    verify->summary->root = merkle_root(&scan->tree);
}

/* ---- rows against the keys that the ledger has ---- */

static const char *text_of(sqlite3_stmt *select, int column, char *ret, size_t size)
{
    const char *text = (const char *)sqlite3_column_text(select, column);
    struct text shown;

    text_init(&shown);
    text_append_printable(&shown, text ? text : "", text ? strlen(text) : 0);
    snprintf(ret, size, "%s", text_ok(&shown) ? shown.data : "");
    text_finish(&shown);
    return ret;
}

/* Names the rows that have no leaf. */
static void name_strangers(struct scan *scan, size_t number)
{
    struct verify_table *table = &scan->verify->tables[number];
    struct keys *keys = &scan->keys[number];
    sqlite3_stmt *rows =
        verify_prepare(scan->verify, scan->verify->db, table->scan, VERIFY_ROW, table->name);
    int64_t told = 0;

    while (rows && verify_step(scan->verify, rows, VERIFY_ROW, table->name)) {
        uint64_t hash = hash_of(scan, rows, 0);
        char key[80];

        if ((keys->count > 0 &&
             bsearch(&hash, keys->hashes, keys->count, sizeof(hash), compare_hashes)) ||
            told++ >= VERIFY_FINDINGS_MAX)
            continue;
        verify_tell(scan->verify, VERIFY_WRONG, VERIFY_ROW, table->name,
                    text_of(rows, 0, key, sizeof(key)),
                    "the row is not in the ledger: it was added by something else than assay");
    }
    sqlite3_finalize(rows);
}

static void compare_table(struct scan *scan, size_t number)
{
    struct verify_table *table = &scan->verify->tables[number];
    struct keys *keys = &scan->keys[number];
    char *sql = text_format("SELECT count(*) FROM %s NOT INDEXED", table->name);
    int64_t rows;

    if (!sql) {
        scan->failed = true;
        return;
    }
    rows = verify_ask(scan->verify, sql, 0, 0, VERIFY_ROW);
    free(sql);
    if (keys->rises_not)
        collect(scan, number);
    else
        sort(keys);
    if (keys->twice > 0)
        verify_tell(scan->verify, VERIFY_WRONG, VERIFY_ROW, table->name, NULL,
                    "%zu rows stand in the ledger more than once", keys->twice);
    if (rows == table->leaves && keys->twice == 0)
        return;
    if (!keys->all)
        collect(scan, number);
    name_strangers(scan, number);
}

enum status verify_tree(struct verify *verify, struct error *err)
{
    struct scan *scan;
    enum status status;
    char hex[DIGEST_HEX_SIZE];

    if (!verify->has_ledger)
        return verify->options->expect_head
                   ? (verify_tell(verify, VERIFY_WRONG, VERIFY_HEAD, NULL, NULL,
                                  "a head is expected, and this file has no ledger"),
                      STATUS_OK)
                   : STATUS_OK;
    scan = calloc(1, sizeof(*scan));
    if (!scan || sodium_init() < 0) {
        free(scan);
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    }
    scan->verify = verify;
    randombytes_buf(scan->hash_key, sizeof(scan->hash_key));
    status = parse_head(scan, err);
    if (status == STATUS_OK) {
        scan_ledger(scan);
        for (size_t i = 0; i < verify->table_count && !scan->failed && !verify_stopped(verify); i++)
            compare_table(scan, i);
    }
    if (status == STATUS_OK && scan->expects && !scan->head_seen)
        verify_tell(verify, VERIFY_WRONG, VERIFY_HEAD, NULL, NULL,
                    "the expected head %s is not among this ledger's: %s",
                    digest_hex(&scan->expected, hex),
                    scan->expected_size >= 0 && scan->expected_size > (int64_t)scan->tree.size
                        ? "it is shorter"
                        : "it was rewritten, or is another one");
    if (scan->failed)
        status = error_set(err, STATUS_NO_MEMORY, "out of memory");
    for (size_t i = 0; i < VERIFY_TABLES_MAX; i++)
        free(scan->keys[i].hashes);
    free(scan);
    return status;
}
