/* From a leaf of the ledger to its row: reading the key, and following the table's order. */
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "results/verify_internal.h"

#define STEPS_MAX 4 /* to a row that is near */

_Static_assert(VERIFY_ROWS_MAX <= 32, "a bit for each row in verify_place.taken");

/* Whether the bytes are an integer as SQLite writes it: no sign but '-', no leading zeros. */
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

/* Parses digits, few enough for 63 bits, as most keys are. False: it is something else. */
static bool read_digits(const char *at, size_t length, int64_t *ret)
{
    int64_t number = 0;

    if (length == 0 || length > 18 || (length > 1 && *at == '0'))
        return false;
    for (size_t i = 0; i < length; i++) {
        if (at[i] < '0' || at[i] > '9')
            return false;
        number = number * 10 + (at[i] - '0');
    }
    *ret = number;
    return true;
}

/*
 * Reads one part of a composite key, the bytes [at, end). False when no value of this type is
 * written so: a key that is found is the row's own.
 */
static bool read_part(struct verify_key_part *part, char type, const char *at, const char *end)
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
    if (read_digits(at, length, &part->number))
        return true;
    if (length >= sizeof(digits) || !is_plain_integer(at, length))
        return false;
    memcpy(digits, at, length);
    digits[length] = '\0';
    return text_parse_i64(digits, &part->number);
}

bool verify_read_key(const struct verify_table *table, sqlite3_value *key,
                     struct verify_key_part *parts)
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

static void bind_key(sqlite3_stmt *select, const struct verify_key_part *parts, int count)
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
                       const struct verify_key_part *parts)
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

/* ---- rows read ahead ---- */

/* The bytes of the value into the place's own; false: there is no room. */
static bool keep_bytes(struct verify_place *place, struct ledger_leaf_value *value)
{
    const size_t length = (size_t)value->length;

    if (length == 0)
        return true;
    if (!value->bytes || length > VERIFY_BYTES_AHEAD - place->used)
        return false;
    value->bytes = memmove(place->bytes + place->used, value->bytes, length);
    place->used += length;
    return true;
}

/*
 * assay_read_ahead(column, column ...): 0 when it has appended the row to those that were read, 1
 * when there is no room, and the statement must stop at it.
 */
static void read_ahead(sqlite3_context *context, int count, sqlite3_value **columns)
{
    const struct verify_worker *worker = sqlite3_user_data(context);
    struct verify_place *place = worker->filling;
    struct ledger_leaf_value *row = place->values + place->count * count;
    bool fits = place->count < place->limit;

    for (int i = 0; i < count && fits; i++) {
        row[i] = ledger_leaf_value_of(columns[i]);
        if (row[i].type == SQLITE_TEXT || row[i].type == SQLITE_BLOB)
            fits = keep_bytes(place, &row[i]);
    }
    place->count += fits;
    sqlite3_result_int(context, !fits);
}

int verify_cursor_register(struct verify_worker *worker)
{
    return sqlite3_create_function_v2(worker->db, VERIFY_READ_AHEAD, -1,
                                      SQLITE_UTF8 | SQLITE_DIRECTONLY, worker, read_ahead, NULL,
                                      NULL, NULL);
}

static struct ledger_leaf_value *row_of(const struct verify_place *place,
                                        const struct verify_table *table, int number)
{
    return place->values + number * table->shape.count;
}

static bool is_taken(const struct verify_place *place, int number)
{
    return place->taken >> number & 1;
}

/* Moves a row and its bytes to the end of those that are kept. */
static bool keep_row(struct verify_place *place, const struct verify_table *table, int number)
{
    struct ledger_leaf_value *row = row_of(place, table, place->count);
    bool fits = true;

    memmove(row, row_of(place, table, number), sizeof(*row) * (size_t)table->shape.count);
    for (int i = 0; i < table->shape.count && fits; i++)
        if (row[i].type == SQLITE_TEXT || row[i].type == SQLITE_BLOB)
            fits = keep_bytes(place, &row[i]);
    return fits;
}

/* Drops all rows but the recent ones that no leaf has named. */
static void leave_rows(struct verify_place *place, const struct verify_table *table)
{
    const int count = place->count;
    int number = count > VERIFY_ROWS_BEHIND ? count - VERIFY_ROWS_BEHIND : 0;

    place->count = 0;
    place->used = 0;
    for (; number < count && table->reads_ahead; number++)
        if (!is_taken(place, number))
            place->count += keep_row(place, table, number);
    place->taken = 0;
}

/* SQLITE_ROW, and its values are read, SQLITE_DONE or an error. */
static int step_place(struct verify_worker *worker, struct verify_place *place,
                      const struct verify_table *table)
{
    int rc = SQLITE_DONE;

    if (++place->at < place->count)
        return SQLITE_ROW;
    leave_rows(place, table);
    place->at = place->count;
    place->limit = place->count + place->ahead;
    if (!place->ended) {
        worker->filling = place;
        rc = sqlite3_step(place->select);
        if (rc == SQLITE_ROW)
            ledger_leaf_read(&table->shape, place->select, row_of(place, table, place->count++));
        place->ended = rc != SQLITE_ROW;
    }
    place->on_row = place->at < place->count && table->in_order;
    return place->at < place->count ? SQLITE_ROW : rc;
}

/* Twice as many rows each time that the previous ones were used. */
static void read_more_ahead(struct verify_place *place)
{
    if (place->at + 1 == place->count)
        place->ahead =
            place->ahead < VERIFY_ROWS_AHEAD / 2 ? 2 * place->ahead + 1 : VERIFY_ROWS_AHEAD;
}

/* ---- from leaf to row ---- */

static const struct ledger_leaf_value *take_row(struct verify_place *place,
                                                const struct verify_table *table, int number)
{
    place->taken |= UINT32_C(1) << number;
    return row_of(place, table, number);
}

/* A row shortly before the current one that no leaf has named. NULL: there is none. */
static const struct ledger_leaf_value *look_behind(struct verify_place *place,
                                                   const struct verify_table *table,
                                                   const struct verify_key *key)
{
    for (int number = place->at - 1; number >= 0 && number >= place->at - VERIFY_ROWS_BEHIND;
         number--)
        if (!is_taken(place, number) &&
            compare_key(table, row_of(place, table, number), key->parts) == 0)
            return take_row(place, table, number);
    return NULL;
}

/*
 * Goes forward to the row when it is near; NULL: it is not. A row that a leaf has named is dropped,
 * since no other leaf should name it.
 */
static const struct ledger_leaf_value *walk_to_row(struct verify_worker *worker,
                                                   struct verify_place *place,
                                                   const struct verify_table *table,
                                                   const struct verify_key *key)
{
    for (int steps = 0; place->on_row; steps++) {
        const int order = is_taken(place, place->at)
                              ? -1
                              : compare_key(table, row_of(place, table, place->at), key->parts);

        if (order == 0)
            return take_row(place, table, place->at);
        if (order > 0)
            return look_behind(place, table, key);
        if (steps == STEPS_MAX)
            return NULL;
        read_more_ahead(place);
        step_place(worker, place, table);
    }
    return NULL;
}

/* SQLITE_ROW, and `ret` is the row, SQLITE_DONE or an error. */
static int search_row(struct verify_worker *worker, struct verify_place *place,
                      const struct verify_table *table, const struct verify_key *key,
                      const struct ledger_leaf_value **ret)
{
    int rc, order = 0;

    sqlite3_reset(place->select);
    place->count = place->ahead = 0;
    place->ended = false;
    bind_key(place->select, key->parts, table->in_order ? 1 : table->part_count);
    while ((rc = step_place(worker, place, table)) == SQLITE_ROW && table->in_order &&
           (order = compare_key(table, row_of(place, table, place->at), key->parts)) < 0)
        ;
    if (rc == SQLITE_ROW && order == 0)
        *ret = take_row(place, table, place->at);
    return rc == SQLITE_ROW && order > 0 ? SQLITE_DONE : rc;
}

static int begin_place(struct verify_worker *worker, const struct verify_table *table,
                       struct verify_place *place)
{
    const size_t rows = table->reads_ahead ? VERIFY_ROWS_MAX : 1;

    if (!place->values)
        place->values = malloc(sizeof(*place->values) * (size_t)table->shape.count * rows);
    if (!place->bytes && table->reads_ahead)
        place->bytes = malloc(VERIFY_BYTES_AHEAD);
    if (!place->values || (table->reads_ahead && !place->bytes))
        return SQLITE_NOMEM;
    return sqlite3_prepare_v3(worker->db, table->select, -1, SQLITE_PREPARE_PERSISTENT,
                              &place->select, NULL);
}

int verify_find_row(struct verify_worker *worker, const struct verify_entry *entry,
                    const struct ledger_leaf_value **ret)
{
    const struct verify_table *table = entry->table;
    struct verify_cursor *cursor = &worker->cursors[table - worker->verify->tables];
    struct verify_place *place = NULL;
    int which = cursor->latest, rc;

    if (!entry->named.is_read)
        return SQLITE_MISMATCH;
    for (int i = 0; i < VERIFY_CURSORS; i++) {
        which = (cursor->latest + i) % VERIFY_CURSORS;
        place = &cursor->places[which];
        *ret = walk_to_row(worker, place, table, &entry->named);
        if (*ret) {
            cursor->latest = which;
            return SQLITE_ROW;
        }
    }
    cursor->latest = which;
    if (!place->select && (rc = begin_place(worker, table, place)) != SQLITE_OK)
        return rc;
    return search_row(worker, place, table, &entry->named, ret);
}

void verify_leave_row(struct verify_worker *worker, const struct verify_table *table)
{
    const struct verify_cursor *cursor = &worker->cursors[table - worker->verify->tables];

    if (!table->in_order)
        sqlite3_reset(cursor->places[cursor->latest].select);
}

void verify_cursor_finish(struct verify_cursor *cursor)
{
    for (int i = 0; i < VERIFY_CURSORS; i++) {
        sqlite3_finalize(cursor->places[i].select);
        free(cursor->places[i].values);
        free(cursor->places[i].bytes);
    }
}
