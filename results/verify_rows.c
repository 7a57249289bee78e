/* Each leaf of the ledger against its row, and each row against the ledger. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "results/verify_internal.h"

#define LEAVES_STEP 20000
#define STEPS_MAX 4 /* to a row that is near */

/* The key's text for messages; `ret` has 80 bytes. */
static const char *key_text(sqlite3_value *key, char *ret)
{
    const char *text = (const char *)sqlite3_value_text(key);
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

/* One part of a key, as the ledger tells it. */
struct part {
    char type; /* 'I', 'T' or 'B' */
    int64_t number;
    const char *text; /* 'T': the ledger's own; 'B': `bytes` */
    size_t length;
    char bytes[64];
};

/*
 * Reads one part of a composite key, the bytes [at, end). False when no value of this type is
 * written so: a key that is found is the row's own.
 */
static bool read_part(struct part *part, char type, const char *at, const char *end)
{
    size_t length = (size_t)(end - at);
    char digits[24];

    part->type = type;
    part->text = type == 'T' ? at : part->bytes;
    part->length = length;
    if (type == 'T')
        return true;
    if (type == 'B')
        return length <= 2 * sizeof(part->bytes) && is_lower_hex(at, length) &&
               sodium_hex2bin((unsigned char *)part->bytes, sizeof(part->bytes), at, length, NULL,
                              &part->length, NULL) == 0;
    if (length >= sizeof(digits) || !is_plain_integer(at, length))
        return false;
    memcpy(digits, at, length);
    digits[length] = '\0';
    return text_parse_i64(digits, &part->number);
}

/*
 * Reads the key's parts. Numbers have no '/', so those before a text are split off from the front
 * and those behind it from the end. False: such a key names no row.
 */
static bool read_key(const struct verify_table *table, sqlite3_value *key, struct part *parts)
{
    const char *at, *end;
    int first = 0, last = table->part_count - 1;

    if (table->is_number) {
        parts[0].type = 'I';
        parts[0].number = sqlite3_value_int64(key);
        return sqlite3_value_type(key) == SQLITE_INTEGER;
    }
    if (sqlite3_value_type(key) != SQLITE_TEXT)
        return false;
    at = (const char *)sqlite3_value_text(key);
    if (!at)
        return false;
    end = at + sqlite3_value_bytes(key);
    for (; first < last && table->parts[first] != 'T'; first++) {
        const char *slash = memchr(at, '/', (size_t)(end - at));

        if (!slash || !read_part(&parts[first], table->parts[first], at, slash))
            return false;
        at = slash + 1;
    }
    for (; last > first; last--) {
        const char *slash = memrchr(at, '/', (size_t)(end - at));

        if (!slash || !read_part(&parts[last], table->parts[last], slash + 1, end))
            return false;
        end = slash;
    }
    return read_part(&parts[first], table->parts[first], at, end);
}

static void bind_key(sqlite3_stmt *select, const struct part *parts, int count)
{
    for (int i = 0; i < count; i++) {
        if (parts[i].type == 'I')
            sqlite3_bind_int64(select, 1 + i, parts[i].number);
        else if (parts[i].type == 'T')
            sqlite3_bind_text(select, 1 + i, parts[i].text, (int)parts[i].length, SQLITE_TRANSIENT);
        else
            sqlite3_bind_blob(select, 1 + i, parts[i].text, (int)parts[i].length, SQLITE_TRANSIENT);
    }
}

/* The row's key against the one asked for, in the table's order: below, equal or above 0. */
static int compare_key(const struct verify_table *table, const struct ledger_leaf_value *row,
                       const struct part *parts)
{
    int order = 0;

    for (int i = 0; i < table->part_count && order == 0; i++) {
        const struct ledger_leaf_value *value = &row[table->part_columns[i]];

        if (parts[i].type == 'I') {
            const int64_t number = value->type == SQLITE_INTEGER ? value->integer : 0;

            order = number < parts[i].number ? -1 : number > parts[i].number;
        } else {
            const bool is_text = value->type == SQLITE_TEXT || value->type == SQLITE_BLOB;
            const size_t length = is_text && value->bytes ? (size_t)value->length : 0;
            const size_t shared = length < parts[i].length ? length : parts[i].length;

            order = shared > 0 ? memcmp(value->bytes, parts[i].text, shared) : 0;
            if (order == 0)
                order = length < parts[i].length ? -1 : length > parts[i].length;
        }
    }
    return order;
}

static void tell_reading(struct verify_worker *worker, const char *table, const char *key)
{
    const char *damage = verify_damage(worker->verify, worker->db);

    if (damage)
        verify_findings_add(&worker->findings, VERIFY_WRONG, VERIFY_ROW, table, key,
                            "cannot be read: %s", damage);
}

/* SQLITE_ROW, and its values are read, SQLITE_DONE or an error. */
static int step_place(struct verify_place *place, const struct verify_table *table)
{
    const int rc = sqlite3_step(place->select);

    place->on_row = rc == SQLITE_ROW && table->in_order;
    place->taken = false;
    if (rc == SQLITE_ROW)
        ledger_leaf_read(&table->shape, place->select, place->values);
    return rc;
}

/*
 * Goes forward to the row when it is near; false: it is not, or not behind. A row that a leaf has
 * named is left behind, since no other leaf should name it.
 */
static bool walk_to_row(struct verify_place *place, const struct verify_table *table,
                        const struct part *parts)
{
    for (int steps = 0; place->on_row; steps++) {
        const int order = place->taken ? -1 : compare_key(table, place->values, parts);

        if (order >= 0 || steps == STEPS_MAX) {
            place->taken = order == 0;
            return order == 0;
        }
        step_place(place, table);
    }
    return false;
}

/* SQLITE_ROW, SQLITE_DONE or an error. */
static int search_row(struct verify_place *place, const struct verify_table *table,
                      const struct part *parts)
{
    int rc, order = 0;

    sqlite3_reset(place->select);
    bind_key(place->select, parts, table->in_order ? 1 : table->part_count);
    while ((rc = step_place(place, table)) == SQLITE_ROW && table->in_order &&
           (order = compare_key(table, place->values, parts)) < 0)
        ;
    place->taken = order == 0;
    return rc == SQLITE_ROW && order > 0 ? SQLITE_DONE : rc;
}

static int begin_place(struct verify_worker *worker, const struct verify_table *table,
                       struct verify_place *place)
{
    if (!place->values)
        place->values = malloc(sizeof(*place->values) * (size_t)table->shape.count);
    if (!place->values)
        return SQLITE_NOMEM;
    return sqlite3_prepare_v3(worker->db, table->select, -1, SQLITE_PREPARE_PERSISTENT,
                              &place->select, NULL);
}

/*
 * Goes to the row that a leaf names: SQLITE_ROW, and `ret` stands on it; SQLITE_DONE: there is
 * none; SQLITE_MISMATCH: no row has such a key; or an error. `ret` may be NULL but for the first.
 */
static int go_to_row(struct verify_worker *worker, const struct verify_entry *entry,
                     struct verify_place **ret)
{
    const struct verify_table *table = entry->table;
    struct verify_cursor *cursor = &worker->cursors[table - worker->verify->tables];
    struct part parts[VERIFY_KEY_PARTS_MAX];
    int which = cursor->latest, rc;

    *ret = NULL;
    if (!read_key(table, entry->key, parts))
        return SQLITE_MISMATCH;
    for (int i = 0; i < VERIFY_CURSORS; i++) {
        which = (cursor->latest + i) % VERIFY_CURSORS;
        *ret = &cursor->places[which];
        if (walk_to_row(*ret, table, parts)) {
            cursor->latest = which;
            return SQLITE_ROW;
        }
    }
    cursor->latest = which;
    if (!(*ret)->select && (rc = begin_place(worker, table, *ret)) != SQLITE_OK) {
        *ret = NULL;
        return rc;
    }
    return search_row(*ret, table, parts);
}

static void compare_leaf(struct verify_worker *worker, const struct verify_entry *entry,
                         const struct ledger_leaf_value *row)
{
    const struct verify_table *table = entry->table;
    const void *stored;
    struct digest digest;
    char key[80];
    const char *failure =
        ledger_leaf_of_row(worker->maker, &table->shape, entry->leaf, worker->db, row, &digest);

    if (failure) {
        verify_findings_add(&worker->findings, VERIFY_WRONG, VERIFY_ROW, table->name,
                            key_text(entry->key, key), "cannot be read: %s", failure);
        return;
    }
    stored = sqlite3_value_blob(entry->digest);
    if (!stored || sqlite3_value_bytes(entry->digest) != DIGEST_SIZE ||
        memcmp(stored, digest.bytes, DIGEST_SIZE) != 0)
        verify_findings_add(
            &worker->findings, VERIFY_WRONG, VERIFY_ROW, table->name, key_text(entry->key, key),
            "the row is not the one that entered the ledger as leaf %" PRId64, entry->leaf);
    else
        verify_references_note(worker, table, row);
}

static void check_leaf(struct verify_worker *worker, const struct verify_entry *entry)
{
    const struct verify_table *table = entry->table;
    const int64_t leaf = entry->leaf;
    struct verify_place *place = NULL;
    char key[80];
    int rc;

    if (!table) {
        verify_findings_add(&worker->findings, VERIFY_WRONG, VERIFY_ROW, "ledger", NULL,
                            "leaf %" PRId64 " is of a table that does not exist", leaf);
        return;
    }
    rc = go_to_row(worker, entry, &place);
    worker->done += rc != SQLITE_MISMATCH;
    if (rc == SQLITE_ROW)
        compare_leaf(worker, entry, place->values);
    else if (rc == SQLITE_MISMATCH)
        verify_findings_add(&worker->findings, VERIFY_WRONG, VERIFY_ROW, "ledger", NULL,
                            "leaf %" PRId64 " (%s %s) names no row", leaf, table->name,
                            key_text(entry->key, key));
    else if (rc == SQLITE_DONE)
        verify_findings_add(&worker->findings, VERIFY_WRONG, VERIFY_ROW, table->name,
                            key_text(entry->key, key),
                            "the row that entered the ledger as leaf %" PRId64 " is gone", leaf);
    else
        tell_reading(worker, table->name, key_text(entry->key, key));
    if (place && !table->in_order)
        sqlite3_reset(place->select);
}

/* The ledger's row on which the statement stands; the table is mostly that of the one `before`. */
static struct verify_entry read_entry(struct verify_worker *worker, sqlite3_stmt *ledger,
                                      const struct verify_table *before)
{
    struct verify_entry entry = {.leaf = sqlite3_column_int64(ledger, 0),
                                 .key = sqlite3_column_value(ledger, 2),
                                 .digest = sqlite3_column_value(ledger, 3)};
    sqlite3_value *value = sqlite3_column_value(ledger, 1);
    const char *name = (const char *)sqlite3_value_text(value);

    if (!name || strlen(name) != (size_t)sqlite3_value_bytes(value))
        return entry;
    entry.table =
        before && !strcmp(before->name, name) ? before : verify_find_table(worker->verify, name);
    return entry;
}

static void check_leaves(struct verify_worker *worker, int64_t first, int64_t end)
{
    struct verify_entry entry = {0};
    sqlite3_stmt *ledger = NULL;
    int rc = sqlite3_prepare_v2(worker->db,
                                "SELECT leaf, table_name, key, digest FROM ledger"
                                " WHERE leaf >= ?1 AND leaf < ?2 ORDER BY leaf",
                                -1, &ledger, NULL);

    worker->leaf_count = 0;
    if (!worker->leaves) {
        worker->leaves = malloc(LEAVES_STEP * sizeof(*worker->leaves));
        verify_references_begin(worker);
    }
    if (!worker->leaves)
        rc = SQLITE_NOMEM;
    if (rc == SQLITE_OK) {
        sqlite3_bind_int64(ledger, 1, first);
        sqlite3_bind_int64(ledger, 2, end);
        while (!verify_stopped(worker->verify) && worker->leaf_count < LEAVES_STEP &&
               (rc = sqlite3_step(ledger)) == SQLITE_ROW) {
            entry = read_entry(worker, ledger, entry.table);
            check_leaf(worker, &entry);
            worker->leaves[worker->leaf_count++] = verify_tree_leaf(worker->verify, &entry);
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
    verify_references_take(worker->verify, worker);
}

/* Counts the leaves, whose numbers go from `least` to `most`, and tells where one is missing. */
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
    int64_t least, most;
    bool is_plausible;

    if (!verify->has_ledger) {
        verify_tell(verify, VERIFY_NOTE, VERIFY_ROW, NULL, NULL,
                    "schema version %" PRId64 " has no ledger: whether rows were changed, added or "
                    "taken away cannot be told; any command that writes brings the file up to date",
                    verify->summary->schema_version);
        return STATUS_OK;
    }
    least = verify_ask(verify, "SELECT min(leaf) FROM ledger", 0, 0, VERIFY_TREE);
    most = verify_ask(verify, "SELECT max(leaf) FROM ledger", 0, -1, VERIFY_TREE);
    /* Each of them takes more than its digest in the file. */
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
