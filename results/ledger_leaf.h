/*
 * ledger_leaf - how a row becomes a leaf, as the SQL function that the ledger's triggers call:
 *
 *     assay_leaf(leaf, table, column, value, column, value ...)    columns sorted by name
 *
 * gives the leaf hash; assay_leaf_data gives the bytes that are hashed. Triggers of files that have
 * leaves of form 2 call it assay_leaf_2, so that a program that knows form 1 alone, and has the
 * file open while it is brought forward, fails instead of entering a wrong leaf. For results/
 * alone.
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
 * Appends SQL: a call of `function` for a row of `table`, whose columns are those of `db`. `leaf`
 * is an expression; `prefix` stands before each column ("NEW." or "").
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
 * Puts a trigger that enters new rows on every table that has none, and renews those whose table
 * has changed; then, when there is no origin yet, makes one and enters all rows that are there.
 */
enum status ledger_install(sqlite3 *db, const char *path, struct error *err);

#endif
