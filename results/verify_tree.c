/* The ledger, leaf by leaf: the tree, its checkpoints, and rows that are not in it. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "results/merkle.h"
#include "results/verify_internal.h"

/*
 * Keys that a table has in the ledger, as hashes under a key drawn for this run. While the first
 * number of the keys ascends along the ledger, as assay writes them, only keys with the same first
 * number must be kept to find duplicates.
 */
struct keys {
    uint64_t *hashes; /* of the current first number, or all */
    size_t count, capacity;
    int64_t first;
    bool rises_not, all;
    size_t twice; /* duplicate keys */
};

struct verify_tree {
    struct verify *verify;
    struct merkle merkle;
    struct keys keys[VERIFY_TABLES_MAX];
    unsigned char hash_key[crypto_shorthash_KEYBYTES];
    sqlite3_stmt *checkpoints; /* by size; the row it is on, if any */
    bool has_checkpoint;
    const struct verify_table *checkpoint, *campaign, *trial;
    int64_t due;           /* the checkpoint of as many leaves as there are now; 0: there is none */
    int64_t head_size;     /* where the expected head was seen */
    int64_t expected_size; /* of the head that the user expects; -1: any */
    bool expects, head_seen;
    struct digest expected;
    bool failed;                     /* out of memory */
    struct verify_findings findings; /* of what was handed over */
};

static uint64_t hash_of(const struct verify_tree *tree, sqlite3_value *key)
{
    unsigned char out[crypto_shorthash_BYTES];
    uint64_t hash;

    if (sqlite3_value_type(key) == SQLITE_INTEGER) {
        int64_t number = sqlite3_value_int64(key);

        crypto_shorthash(out, (const unsigned char *)&number, sizeof(number), tree->hash_key);
    } else {
        const unsigned char *bytes = sqlite3_value_blob(key);

        crypto_shorthash(out, bytes ? bytes : out, bytes ? (size_t)sqlite3_value_bytes(key) : 0,
                         tree->hash_key);
    }
    memcpy(&hash, out, sizeof(hash));
    return hash;
}

static void remember(struct verify_tree *tree, size_t table, uint64_t hash)
{
    struct keys *keys = &tree->keys[table];

    if (keys->count == keys->capacity) {
        size_t capacity = keys->capacity ? keys->capacity * 2 : 256;
        uint64_t *grown = realloc(keys->hashes, capacity * sizeof(*grown));

        if (!grown) {
            tree->failed = true;
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
static bool first_number(const struct verify_entry *entry, int64_t *ret)
{
    const char *text, *slash;
    char digits[24];

    if (entry->named.is_read || entry->table->is_number) {
        *ret =
            entry->named.is_read ? entry->named.parts[0].number : sqlite3_value_int64(entry->key);
        return entry->named.is_read;
    }
    if (sqlite3_value_type(entry->key) != SQLITE_TEXT)
        return false;
    text = (const char *)sqlite3_value_text(entry->key);
    slash = text ? strchr(text, '/') : NULL;
    if (!slash || (size_t)(slash - text) >= sizeof(digits))
        return false;
    memcpy(digits, text, (size_t)(slash - text));
    digits[slash - text] = '\0';
    return text_parse_i64(digits, ret);
}

struct verify_leaf verify_tree_leaf(struct verify *verify, const struct verify_entry *entry)
{
    const struct verify_table *table = entry->table;
    const void *digest = sqlite3_value_blob(entry->digest);
    struct verify_leaf leaf = {.table = -1};

    if (digest && sqlite3_value_bytes(entry->digest) == DIGEST_SIZE)
        memcpy(leaf.digest.bytes, digest, DIGEST_SIZE);
    if (!table)
        return leaf;
    leaf.table = (int16_t)(table - verify->tables);
    leaf.has_number = table->in_order && first_number(entry, &leaf.number);
    if (!table->is_number)
        leaf.key_hash = hash_of(verify->tree, entry->key);
    return leaf;
}

static void note_key(struct verify_tree *tree, const struct verify_leaf *leaf)
{
    const struct verify_table *table = &tree->verify->tables[leaf->table];
    struct keys *keys = &tree->keys[leaf->table];

    if (table->parts[0] != 'I') {
        keys->all = true;
        remember(tree, (size_t)leaf->table, leaf->key_hash);
        return;
    }
    if (keys->rises_not)
        return;
    if (!leaf->has_number ||
        (table->leaves > 1 &&
         (table->is_number ? leaf->number <= keys->first : leaf->number < keys->first))) {
        keys->rises_not = true;
        return;
    }
    if (table->leaves == 1 || leaf->number > keys->first) {
        sort(keys);
        keys->count = 0;
        keys->first = leaf->number;
    }
    if (!table->is_number)
        remember(tree, (size_t)leaf->table, leaf->key_hash);
}

/* All keys of a table. Unreadable rows were reported by the first pass. */
static void collect(struct verify_tree *tree, size_t number)
{
    struct keys *keys = &tree->keys[number];
    sqlite3_stmt *ledger = verify_prepare(tree->verify, tree->verify->db,
                                          "SELECT key FROM ledger WHERE table_name = ?1"
                                          " ORDER BY leaf",
                                          VERIFY_TREE, "ledger");

    keys->count = 0;
    keys->twice = 0;
    if (ledger)
        sqlite3_bind_text(ledger, 1, tree->verify->tables[number].name, -1, SQLITE_STATIC);
    while (ledger && !tree->failed && sqlite3_step(ledger) == SQLITE_ROW)
        remember(tree, number, hash_of(tree, sqlite3_column_value(ledger, 0)));
    sqlite3_finalize(ledger);
    sort(keys);
    keys->all = true;
}

/* ---- checkpoints ---- */

static void next_checkpoint(struct verify_tree *tree)
{
    const int rc = tree->checkpoints ? sqlite3_step(tree->checkpoints) : SQLITE_DONE;
    const char *damage = rc == SQLITE_ROW || rc == SQLITE_DONE
                             ? NULL
                             : verify_damage(tree->verify, tree->verify->db);

    tree->has_checkpoint = rc == SQLITE_ROW;
    if (damage)
        verify_findings_add(&tree->findings, VERIFY_WRONG, VERIFY_TREE, "checkpoint", NULL,
                            "cannot be read: %s", damage);
}

static bool blob_is(sqlite3_stmt *select, int column, const void *bytes, size_t length)
{
    const void *blob = sqlite3_column_blob(select, column);

    return blob && (size_t)sqlite3_column_bytes(select, column) == length &&
           memcmp(blob, bytes, length) == 0;
}

/* A plan's checkpoint covers its campaign and none of its trials; ids ascend along the ledger. */
static void check_plan(struct verify_tree *tree, const char *key)
{
    sqlite3_stmt *row = tree->checkpoints;

    if (sqlite3_column_type(row, 5) == SQLITE_NULL ||
        sqlite3_column_int64(row, 5) > tree->campaign->last)
        verify_findings_add(&tree->findings, VERIFY_WRONG, VERIFY_TREE, "checkpoint", key,
                            "is of a plan, and does not cover a campaign");
    else if (sqlite3_column_type(row, 6) != SQLITE_NULL &&
             sqlite3_column_int64(row, 6) <= tree->trial->last)
        verify_findings_add(&tree->findings, VERIFY_WRONG, VERIFY_TREE, "checkpoint", key,
                            "is of a plan, and covers trial %lld of its campaign already",
                            (long long)sqlite3_column_int64(row, 6));
}

/* columns: 0 id, 1 size, 2 root, 3 frontier, 4 kind, 5 campaign, 6 a plan's first trial */
static void check_checkpoint(struct verify_tree *tree)
{
    struct digest root = merkle_root(&tree->merkle);
    sqlite3_stmt *row = tree->checkpoints;
    char key[24], hex[DIGEST_HEX_SIZE];

    snprintf(key, sizeof(key), "%lld", (long long)sqlite3_column_int64(row, 0));
    tree->due = sqlite3_column_int64(row, 0);
    if (!blob_is(row, 2, root.bytes, DIGEST_SIZE))
        verify_findings_add(&tree->findings, VERIFY_WRONG, VERIFY_TREE, "checkpoint", key,
                            "the first %" PRIu64
                            " leaves give the root %s, not the one stored: the "
                            "ledger was rewritten",
                            tree->merkle.size, digest_hex(&root, hex));
    if (!blob_is(row, 3, tree->merkle.nodes,
                 (size_t)merkle_node_count(tree->merkle.size) * DIGEST_SIZE))
        verify_findings_add(&tree->findings, VERIFY_WRONG, VERIFY_TREE, "checkpoint", key,
                            "its frontier does not follow from the leaves");
    if (blob_is(row, 4, "plan", strlen("plan")))
        check_plan(tree, key);
    tree->verify->summary->checkpoints++;
}

/* Checks all that refers to the head of this many leaves. */
static void check_head(struct verify_tree *tree)
{
    struct digest root;
    bool at_checkpoint = false;

    tree->due = 0;
    while (tree->has_checkpoint &&
           sqlite3_column_int64(tree->checkpoints, 1) <= (int64_t)tree->merkle.size) {
        check_checkpoint(tree);
        at_checkpoint = true;
        next_checkpoint(tree);
    }
    if (!tree->expects || tree->head_seen ||
        (tree->expected_size >= 0
             ? tree->expected_size != (int64_t)tree->merkle.size
             : !at_checkpoint && (int64_t)tree->merkle.size != tree->verify->leaves))
        return;
    root = merkle_root(&tree->merkle);
    tree->head_seen = digest_equal(&root, &tree->expected);
    tree->head_size = (int64_t)tree->merkle.size;
}

/* A checkpoint's own leaf directly follows the leaves that it covers. */
static void check_place(struct verify_tree *tree, const struct verify_leaf *leaf)
{
    char key[24];

    if (tree->due != 0 && leaf->number == tree->due)
        return;
    snprintf(key, sizeof(key), "%lld", (long long)leaf->number);
    verify_findings_add(&tree->findings, VERIFY_WRONG, VERIFY_TREE, "checkpoint", key,
                        "entered the ledger as leaf %" PRIu64
                        ", but states another size: it was not made at the time it states",
                        tree->merkle.size);
}

static enum status parse_head(struct verify_tree *tree, struct error *err)
{
    const char *text = tree->verify->options->expect_head;
    const char *colon = text ? strchr(text, ':') : NULL;
    char size[24] = "";

    tree->expected_size = -1;
    tree->expects = text != NULL;
    if (!text)
        return STATUS_OK;
    if (colon && (size_t)(colon - text) < sizeof(size)) {
        memcpy(size, text, (size_t)(colon - text));
        text = colon + 1;
    }
    if ((colon && (!text_parse_i64(size, &tree->expected_size) || tree->expected_size < 0)) ||
        !digest_from_hex(text, &tree->expected))
        return error_set(
            err, STATUS_INVALID,
            "--expect-head %s: write the root's 64 hex digits, or SIZE:ROOT, as `assay "
            "checkpoint` prints them",
            tree->verify->options->expect_head);
    return STATUS_OK;
}

/* ---- leaf by leaf ---- */

static void take_leaf(struct verify_tree *tree, const struct verify_leaf *leaf)
{
    if (leaf->table >= 0) {
        struct verify_table *table = &tree->verify->tables[leaf->table];

        if (table == tree->checkpoint)
            check_place(tree, leaf);
        if (table->leaves++ == 0)
            table->first = leaf->number;
        note_key(tree, leaf);
        if (table->counted && leaf->number <= table->last) {
            char key[24];

            snprintf(key, sizeof(key), "%lld", (long long)leaf->number);
            verify_findings_add(&tree->findings, VERIFY_WRONG, VERIFY_TREE, table->name, key,
                                "follows row %" PRId64
                                " in the ledger: the order of rows was changed",
                                table->last);
        } else if (table->counted) {
            table->last = leaf->number;
        }
    }
    merkle_add(&tree->merkle, &leaf->digest);
    check_head(tree);
}

void verify_tree_take(struct verify *verify, const struct verify_leaf *leaves, size_t count)
{
    for (size_t i = 0; i < count && !verify_stopped(verify); i++)
        take_leaf(verify->tree, &leaves[i]);
}

uint64_t verify_tree_size(const struct verify *verify)
{
    return verify->tree->merkle.size;
}

enum status verify_tree_begin(struct verify *verify, struct error *err)
{
    struct verify_tree *tree = calloc(1, sizeof(*tree));
    enum status status;

    if (!tree || sodium_init() < 0) {
        free(tree);
        return error_set(err, STATUS_NO_MEMORY, "out of memory");
    }
    tree->verify = verify;
    tree->checkpoint = verify_find_table(verify, "checkpoint");
    tree->campaign = verify_find_table(verify, "campaign");
    tree->trial = verify_find_table(verify, "trial");
    verify->tree = tree;
    randombytes_buf(tree->hash_key, sizeof(tree->hash_key));
    status = parse_head(tree, err);
    if (status != STATUS_OK)
        return status;
    tree->checkpoints = verify_prepare(verify, verify->db,
                                       "SELECT id, size, root, frontier, kind, campaign,"
                                       " CASE kind WHEN 'plan' THEN (SELECT min(t.id) FROM trial t"
                                       " WHERE t.campaign = c.campaign) END"
                                       " FROM checkpoint c ORDER BY size, id",
                                       VERIFY_TREE, "checkpoint");
    next_checkpoint(tree);
    check_head(tree);
    return STATUS_OK;
}

void verify_tree_end(struct verify *verify)
{
    struct verify_tree *tree = verify->tree;

    if (!tree)
        return;
    verify_findings_report(verify, &tree->findings);
    sqlite3_finalize(tree->checkpoints);
    for (size_t i = 0; i < VERIFY_TABLES_MAX; i++)
        free(tree->keys[i].hashes);
    free(tree);
    verify->tree = NULL;
}

static void tell_cut_checkpoints(struct verify_tree *tree)
{
    while (tree->has_checkpoint && !verify_stopped(tree->verify)) {
        char key[24];

        snprintf(key, sizeof(key), "%lld", (long long)sqlite3_column_int64(tree->checkpoints, 0));
        verify_findings_add(
            &tree->findings, VERIFY_WRONG, VERIFY_TREE, "checkpoint", key,
            "covers %lld leaves, there are %" PRIu64 ": the end of the ledger is missing",
            (long long)sqlite3_column_int64(tree->checkpoints, 1), tree->merkle.size);
        next_checkpoint(tree);
    }
}

/* ---- rows against the keys that the ledger has ---- */

/* Names the rows that have no leaf. */
static void name_strangers(struct verify_tree *tree, size_t number)
{
    struct verify_table *table = &tree->verify->tables[number];
    struct keys *keys = &tree->keys[number];
    sqlite3_stmt *rows =
        verify_prepare(tree->verify, tree->verify->db, table->scan, VERIFY_ROW, table->name);
    int64_t reported = 0;

    while (rows && verify_step(tree->verify, rows, VERIFY_ROW, table->name)) {
        uint64_t hash = hash_of(tree, sqlite3_column_value(rows, 0));
        char key[VERIFY_KEY_TEXT];

        if ((keys->count > 0 &&
             bsearch(&hash, keys->hashes, keys->count, sizeof(hash), compare_hashes)) ||
            reported++ >= VERIFY_FINDINGS_MAX)
            continue;
        verify_report(tree->verify, VERIFY_WRONG, VERIFY_ROW, table->name,
                      verify_key_text(sqlite3_column_value(rows, 0), key),
                      "the row is not in the ledger: it was not added by assay");
    }
    sqlite3_finalize(rows);
}

static void compare_table(struct verify_tree *tree, size_t number)
{
    struct verify_table *table = &tree->verify->tables[number];
    struct keys *keys = &tree->keys[number];
    char *sql = text_format("SELECT count(*) FROM %s", table->name);
    int64_t rows;

    if (!sql) {
        tree->failed = true;
        return;
    }
    rows = verify_ask(tree->verify, sql, 0, 0, VERIFY_ROW);
    free(sql);
    if (keys->rises_not)
        collect(tree, number);
    else
        sort(keys);
    if (keys->twice > 0)
        verify_report(tree->verify, VERIFY_WRONG, VERIFY_ROW, table->name, NULL,
                      "%zu rows are in the ledger more than once", keys->twice);
    if (rows == table->leaves && keys->twice == 0)
        return;
    if (!keys->all)
        collect(tree, number);
    name_strangers(tree, number);
}

enum status verify_tree(struct verify *verify, struct error *err)
{
    struct verify_tree *tree = verify->tree;
    char hex[DIGEST_HEX_SIZE];

    tell_cut_checkpoints(tree);
    verify->summary->root = merkle_root(&tree->merkle);
    verify_findings_report(verify, &tree->findings);
    for (size_t i = 0; i < verify->table_count && !tree->failed; i++)
        if (verify_progress(verify, "tree", i, verify->table_count))
            compare_table(tree, i);
    if (tree->expects && !tree->head_seen)
        verify_report(verify, VERIFY_WRONG, VERIFY_HEAD, NULL, NULL,
                      "the expected head %s is not among this ledger's: %s",
                      digest_hex(&tree->expected, hex),
                      tree->expected_size >= 0 && tree->expected_size > (int64_t)tree->merkle.size
                          ? "it is shorter"
                          : "it was rewritten, or is another one");
    else if (tree->expects && tree->head_size < (int64_t)tree->merkle.size)
        verify_report(verify, VERIFY_NOTE, VERIFY_HEAD, NULL, NULL,
                      "the expected head is of the first %" PRId64 " of %" PRIu64
                      " leaves: it does not cover what came later",
                      tree->head_size, tree->merkle.size);
    return tree->failed ? error_set(err, STATUS_NO_MEMORY, "out of memory") : STATUS_OK;
}
