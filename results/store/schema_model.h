/*
 * schema_model - what the schema of a database must be, and where that of a file differs. For
 * results/ alone.
 */
#ifndef ASSAY_RESULTS_STORE_SCHEMA_MODEL_H
#define ASSAY_RESULTS_STORE_SCHEMA_MODEL_H

#include <stdbool.h>

#include <sqlite3.h>

#include "harness/core/digest.h"
#include "harness/core/embed.h"
#include "harness/core/status.h"

/*
 * Runs the first `version` scripts and store_install_triggers in an empty database. NO_MEMORY,
 * INTERNAL.
 */
enum status schema_script_run(sqlite3 *db, const struct embed_file *scripts, int version,
                              struct error *err);

/*
 * What they make of a file, which takes long: written by make_schema when assay is built, as the
 * pieces of the file that are not zeros, one after the other. The last piece has length 0.
 */
struct schema_piece {
    size_t at, length;
};
extern const struct schema_piece schema_image[];
extern const unsigned char schema_image_bytes[];
extern const size_t schema_image_size;

/*
 * An empty database of the newest schema in memory, which is slower than others there where much is
 * entered. SQLite's result code; the caller closes it, whatever that is.
 */
int schema_image_open(sqlite3 **ret);

/*
 * An empty database in memory of schema version `version`, as schema_script_run makes it; the
 * caller closes it. NO_MEMORY, INTERNAL.
 */
enum status schema_model_create(const struct embed_file *scripts, int version, sqlite3 **ret,
                                struct error *err);

/* A row of sqlite_schema that is not as it should be. */
struct schema_difference {
    const char *type, *name; /* as in the row, any bytes of a hostile file; "" for NULL */
    enum schema_fault { SCHEMA_MISSING, SCHEMA_CHANGED, SCHEMA_FOREIGN } fault;
};
typedef void schema_differs_fn(void *context, const struct schema_difference *difference);

/*
 * Compares the rows of sqlite_schema, each with its types and bytes, and calls `differs` for each
 * that is missing, changed or foreign in `db`; rows that are there twice are foreign. Returns
 * SQLite's result code, SQLITE_OK when all rows could be read; `ret_db` (may be NULL): the
 * connection that failed.
 */
int schema_model_compare(sqlite3 *db, sqlite3 *model, schema_differs_fn *differs, void *context,
                         sqlite3 **ret_db);

/* SHA-256 of the same rows, sorted. SQLite's result code. */
int schema_model_digest(sqlite3 *db, struct digest *ret);
/* Whether it is that of the version's schema, as this file knows it without making a model. */
bool schema_model_is_known(const struct digest *digest, int version);

/*
 * Both at once, in about a millisecond. CORRUPT: the schema differs, or cannot be read; `err` names
 * the first object and how many there are, after `path`. NO_MEMORY.
 */
enum status schema_model_check(sqlite3 *db, const char *path, const struct embed_file *scripts,
                               int version, struct error *err);

#endif
