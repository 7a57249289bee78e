/* Each leaf of the ledger against its row, and each row against the ledger. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/core/shortage.h"
#include "results/verify_internal.h"

#define LEAVES_STEP 20000
#define TAKE_LEAF "assay_take_leaf" /* the SQL function that takes the ledger's rows */

const char *verify_key_text(sqlite3_value *key, char ret[VERIFY_KEY_TEXT])
{
    const char *text = (const char *)sqlite3_value_text(key);
    struct text shown;

    text_init(&shown);
    if (text)
        text_append_printable(&shown, text, strlen(text));
    snprintf(ret, VERIFY_KEY_TEXT, "%s", text_ok(&shown) ? shown.data : "");
    text_finish(&shown);
    return ret;
}

static void tell_reading(struct verify_worker *worker, int rc, const char *table, const char *key)
{
    const char *damage = NULL;

    if (rc == SQLITE_NOMEM) /* perhaps ours, of which the connection does not know */
        shortage_note();
    else
        damage = verify_damage(worker->verify, worker->db);

    if (damage)
        verify_findings_add(&worker->findings, VERIFY_WRONG, VERIFY_ROW, table, key,
                            "cannot be read: %s", damage);
}

static void compare_leaf(struct verify_worker *worker, const struct verify_entry *entry,
                         const struct ledger_leaf_value *row)
{
    const struct verify_table *table = entry->table;
    const void *stored;
    struct digest digest;
    char key[VERIFY_KEY_TEXT];
    const char *failure =
        ledger_leaf_of_row(worker->maker, &table->shape, entry->leaf, worker->db, row, &digest);

    if (failure) {
        verify_findings_add(&worker->findings, VERIFY_WRONG, VERIFY_ROW, table->name,
                            verify_key_text(entry->key, key), "cannot be read: %s", failure);
        return;
    }
    stored = sqlite3_value_blob(entry->digest);
    if (!stored || sqlite3_value_bytes(entry->digest) != DIGEST_SIZE ||
        memcmp(stored, digest.bytes, DIGEST_SIZE) != 0)
        verify_findings_add(&worker->findings, VERIFY_WRONG, VERIFY_ROW, table->name,
                            verify_key_text(entry->key, key),
                            "the row is not the one that entered the ledger as leaf %" PRId64,
                            entry->leaf);
    else
        verify_references_note(worker, table, row);
}

static void check_leaf(struct verify_worker *worker, const struct verify_entry *entry)
{
    const struct verify_table *table = entry->table;
    const int64_t leaf = entry->leaf;
    const struct ledger_leaf_value *row = NULL;
    char key[VERIFY_KEY_TEXT];
    int rc;

    if (!table) {
        verify_findings_add(&worker->findings, VERIFY_WRONG, VERIFY_ROW, "ledger", NULL,
                            "leaf %" PRId64 " is of a table that does not exist", leaf);
        return;
    }
    rc = verify_find_row(worker, entry, &row);
    worker->done += rc != SQLITE_MISMATCH;
    if (rc == SQLITE_ROW)
        compare_leaf(worker, entry, row);
    else if (rc == SQLITE_MISMATCH)
        verify_findings_add(&worker->findings, VERIFY_WRONG, VERIFY_ROW, "ledger", NULL,
                            "leaf %" PRId64 " (%s %s) names no row", leaf, table->name,
                            verify_key_text(entry->key, key));
    else if (rc == SQLITE_DONE)
        verify_findings_add(&worker->findings, VERIFY_WRONG, VERIFY_ROW, table->name,
                            verify_key_text(entry->key, key),
                            "the row that entered the ledger as leaf %" PRId64 " is missing", leaf);
    else
        tell_reading(worker, rc, table->name, verify_key_text(entry->key, key));
    verify_leave_row(worker, table);
}

/* Usually the same table follows as after the previous one the last time. */
static const struct verify_table *table_of(struct verify_worker *worker, sqlite3_value *value)
{
    const struct verify_table *before = worker->entry.table, *table;
    const struct verify_table **guess =
        before ? &worker->next[before - worker->verify->tables] : NULL;
    const char *name = (const char *)sqlite3_value_text(value);
    const size_t length = (size_t)sqlite3_value_bytes(value);

    if (guess && *guess && name && (*guess)->name_length == length &&
        memcmp((*guess)->name, name, length) == 0)
        return *guess;
    table = name && strlen(name) == length ? verify_find_table(worker->verify, name) : NULL;
    if (guess)
        *guess = table;
    return table;
}

/*
 * assay_take_leaf(leaf, table_name, key, digest): checks a row of the ledger; 1 when the statement
 * must stop there, which a comparison in the statement would evaluate for every row.
 */
static void take_leaf(sqlite3_context *context, int count, sqlite3_value **columns)
{
    struct verify_worker *worker = sqlite3_user_data(context);
    struct verify_entry *entry = &worker->entry;
    bool ends;

    (void)count;
    entry->leaf = sqlite3_value_int64(columns[0]);
    if (entry->leaf >= worker->end) {
        sqlite3_result_int(context, 1);
        return;
    }
    entry->table = table_of(worker, columns[1]);
    entry->key = columns[2];
    entry->digest = columns[3];
    entry->named.is_read =
        entry->table && verify_read_key(entry->table, entry->key, entry->named.parts);
    check_leaf(worker, entry);
    worker->leaves[worker->leaf_count++] = verify_tree_leaf(worker->verify, entry);
    ends = worker->leaf_count == LEAVES_STEP || verify_stopped(worker->verify);
    sqlite3_result_int(context, ends);
}

/* SQLite's result code. */
static int begin_worker(struct verify_worker *worker)
{
    int rc = SQLITE_OK;

    worker->leaf_count = 0;
    worker->entry.table = NULL;
    if (worker->is_ready)
        return rc;
    verify_references_begin(worker);
    worker->leaves = malloc(LEAVES_STEP * sizeof(*worker->leaves));
    rc = worker->leaves ? verify_cursor_register(worker) : SQLITE_NOMEM;
    if (rc == SQLITE_OK)
        rc = sqlite3_create_function_v2(worker->db, TAKE_LEAF, 4, SQLITE_UTF8 | SQLITE_DIRECTONLY,
                                        worker, take_leaf, NULL, NULL, NULL);
    worker->is_ready = rc == SQLITE_OK;
    return rc;
}

/* The statement gives no row but one at which it must stop: a call is cheaper than a step. */
static void check_leaves(struct verify_worker *worker, int64_t first, int64_t end)
{
    sqlite3_stmt *ledger = NULL;
    int rc = begin_worker(worker);

    if (rc == SQLITE_OK)
        rc = sqlite3_prepare_v2(worker->db,
                                "SELECT 1 FROM ledger WHERE leaf >= ?1 AND " TAKE_LEAF
                                "(leaf, table_name, key, digest) ORDER BY leaf",
                                -1, &ledger, NULL);
    if (rc == SQLITE_OK) {
        sqlite3_bind_int64(ledger, 1, first);
        worker->end = end;
        if (!verify_stopped(worker->verify))
            rc = sqlite3_step(ledger);
    }
    if (rc != SQLITE_OK && rc != SQLITE_DONE && rc != SQLITE_ROW)
        tell_reading(worker, rc, "ledger", NULL);
    sqlite3_finalize(ledger);
}

static void hand_over(struct verify_worker *worker, int64_t first, int64_t end)
{
    (void)first;
    (void)end;
    verify_tree_take(worker->verify, worker->leaves, worker->leaf_count);
    verify_references_take(worker->verify, worker);
}

/* Counts the leaves, whose numbers go from `least` to `most`, and reports where one is missing. */
static void tell_gap(struct verify *verify, int64_t least, int64_t most)
{
    int64_t gap;

    verify->leaves = verify_ask(verify, "SELECT count(*) FROM ledger", 0, 0, VERIFY_TREE);
    verify->summary->leaves = verify->leaves;
    if (least == 0 && most == verify->leaves - 1)
        return;
    gap = verify_ask(verify,
                     "SELECT coalesce((SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM ledger WHERE leaf ="
                     " 0)), (SELECT min(l.leaf) + 1 FROM ledger l WHERE NOT EXISTS (SELECT 1 FROM"
                     " ledger n WHERE n.leaf = l.leaf + 1)))",
                     0, -1, VERIFY_TREE);
    verify_report(verify, VERIFY_WRONG, VERIFY_TREE, "ledger", NULL,
                  "leaf %" PRId64 " is missing: there are %" PRId64 " leaves, numbered %" PRId64
                  " to %" PRId64,
                  gap, verify->leaves, least, most);
    /* Rows with larger numbers are still checked by number. */
    if (most < INT64_MAX && most >= verify->leaves && most < verify->leaves + 1000000)
        verify->leaves = most + 1;
}

enum status verify_rows(struct verify *verify, struct error *err)
{
    enum status status;
    int64_t least, most;
    bool is_plausible;

    least = verify_ask(verify, "SELECT min(leaf) FROM ledger", 0, 0, VERIFY_TREE);
    most = verify_ask(verify, "SELECT max(leaf) FROM ledger", 0, -1, VERIFY_TREE);
    /* Each row takes more bytes in the file than its digest. */
    is_plausible = least == 0 && most < verify->summary->bytes / DIGEST_SIZE;
    if (is_plausible)
        verify->leaves = verify->summary->leaves = most + 1;
    else
        tell_gap(verify, least, most);
    status = verify_tree_begin(verify, err);
    if (status == STATUS_OK)
        status = verify_share(verify, "rows", verify->leaves, LEAVES_STEP, check_leaves, hand_over,
                              &verify->summary->rows, err);
    if (status == STATUS_OK && is_plausible && !verify_stopped(verify) &&
        verify_tree_size(verify) != (uint64_t)verify->leaves)
        tell_gap(verify, least, most);
    return status;
}
