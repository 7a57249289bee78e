/*
 * ledger_leaf - how a row becomes a leaf, as the SQL function that the ledger's triggers call:
 *
 *     assay_leaf(leaf, table, column, value, column, value ...)    columns sorted by name
 *
 * gives the leaf hash; assay_leaf_data gives the bytes that are hashed. For results/ alone.
 */
#ifndef ASSAY_RESULTS_LEDGER_LEAF_H
#define ASSAY_RESULTS_LEDGER_LEAF_H

#include <stdbool.h>

#include <sqlite3.h>

#include "harness/core/digest.h"
#include "harness/core/status.h"
#include "harness/core/text.h"

/* Makes the functions known to a connection; SQLite's result code. */
int ledger_leaf_register(sqlite3 *db);

/* The salt of a committed value: HMAC-SHA256 of "<leaf>/<column>" under the log's secret. */
struct digest ledger_leaf_salt(const uint8_t secret[32], int64_t leaf, const char *column);

/* Tables that are not in the log. */
bool ledger_is_outside(const char *table);

/*
 * Leaves of many rows of a table, made from a statement's columns instead of by the SQL function,
 * which would be given the names again for every row.
 */
#define LEDGER_LEAF_COLUMNS_MAX 64

struct ledger_leaf_column {
    char *name, *member; /* heap; member: `,"NAME":`, with some zeros behind it */
    size_t member_length;
    bool is_committed;
};

struct ledger_leaf_shape {
    struct ledger_leaf_column columns[LEDGER_LEAF_COLUMNS_MAX]; /* sorted by name */
    int count;
    char *end; /* heap: what follows the columns, with some zeros behind it */
    size_t end_length;
    size_t room; /* most bytes that a row of numbers takes */
};

/*
 * Describes a table of `db`, and appends its columns' names in their order, with ", " between: what
 * a statement must select first. Finish the shape even after a failure.
 */
enum status ledger_leaf_shape_init(struct ledger_leaf_shape *shape, sqlite3 *db, const char *table,
                                   struct text *columns, struct error *err);
void ledger_leaf_shape_finish(struct ledger_leaf_shape *shape);

/* Room to make leaves in, for one connection; destroy takes NULL. NULL: out of memory. */
struct ledger_leaf_maker *ledger_leaf_maker_create(void);
void ledger_leaf_maker_destroy(struct ledger_leaf_maker *maker);

/* A value of a row; bytes belong to SQLite, and are valid until its statement's next step. */
struct ledger_leaf_value {
    int type;   /* SQLITE_INTEGER ... */
    int length; /* of text and bytes */
    union {
        int64_t integer;
        double real;
        const void *bytes; /* not ended by a NUL; NULL with a length: out of memory */
    };
};

/*
 * From a function's argument or a statement's column. The latter is safe on a connection of one
 * thread: no other can change the value (sqlite.org/c3ref/value.html).
 */
struct ledger_leaf_value ledger_leaf_value_of(sqlite3_value *argument);
/* Reads the shape's columns of the statement's current row; `ret` has shape->count. */
void ledger_leaf_read(const struct ledger_leaf_shape *shape, sqlite3_stmt *row,
                      struct ledger_leaf_value *ret);

/*
 * Leaf hash of a row with these values, as leaf number `leaf` of `db`. Returns NULL, or why there
 * is none (static).
 */
const char *ledger_leaf_of_row(struct ledger_leaf_maker *maker,
                               const struct ledger_leaf_shape *shape, int64_t leaf, sqlite3 *db,
                               const struct ledger_leaf_value *values, struct digest *ret);

/*
 * Appends SQL: a call of `function` for a row of `table`, whose columns are those of `db`. `leaf`
 * is an expression; `prefix` is put before each column ("NEW." or "").
 */
enum status ledger_leaf_call(sqlite3 *db, const char *function, const char *table, const char *leaf,
                             const char *prefix, struct text *out, struct error *err);

/* Appends SQL: the row's key as the ledger has it. */
enum status ledger_leaf_key(sqlite3 *db, const char *table, const char *prefix, struct text *out,
                            struct error *err);

/* Appends the names of the primary key's columns, with ", " between. */
enum status ledger_leaf_columns(sqlite3 *db, const char *table, struct text *out,
                                struct error *err);

/*
 * Creates the triggers that FORMAT.md names on every table, replacing existing ones, since a table
 * may have changed; then makes an origin when there is none.
 */
enum status ledger_install(sqlite3 *db, const char *path, struct error *err);

#endif
