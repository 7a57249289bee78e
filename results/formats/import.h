/*
 * import - files of other programs imported into the store.
 *
 * One table of formats (import.c): each recognises a file by its beginning and imports it. Memory
 * is bounded by IMPORT_BYTES_MAX and IMPORT_RESULTS_MAX, and every refusal says where (line, or
 * number of the result) and which field.
 */
#ifndef ASSAY_RESULTS_FORMATS_IMPORT_H
#define ASSAY_RESULTS_FORMATS_IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "harness/core/digest.h"
#include "harness/core/status.h"
#include "results/store/store.h"

#define IMPORT_BYTES_MAX ((size_t)64 << 20) /* of a file */
#define IMPORT_RESULTS_MAX 100000           /* in one file */
#define IMPORT_TEXT_MAX 4096                /* bytes of one text in it */

struct import_claims; /* claims.h */

struct import_request {
    const char *path;
    const char *command; /* the command line, for the record */
    const char *tool_version;
    struct digest tool_digest;
};

struct import_outcome {
    json_t *campaigns; /* uids, in the file's order; json_decref it */
    int64_t results;   /* in all of them */
    json_t *left_out;  /* messages on entries without a result, the first hundred, in the file's
                          order; NULL: none. json_decref it */
    int64_t left_out_count;
    bool known; /* the same bytes were imported before; nothing was written */
    const char *program;
};

struct import_format {
    const char *name;
    const char *summary; /* one line, for help */
    /* By the first bytes (up to IMPORT_HEAD_SIZE) of the file. */
    bool (*recognise)(const char *head, size_t length);
    enum status (*take)(struct store *store, const struct import_format *format,
                        const struct import_request *request, struct import_outcome *ret,
                        struct error *err);
    /* For formats whose `take` is import_take_claims. */
    const char *program;
    enum status (*read)(const char *path, const char *bytes, size_t length,
                        struct import_claims *ret, struct error *err);
};

#define IMPORT_HEAD_SIZE 65536

/* By name; NULL: INVALID, which names the nearest, or all. */
const struct import_format *import_format_find(const char *name, struct error *err);

/*
 * Imports a file; `format` NULL: by its beginning. INVALID when it is of no known format or is
 * malformed; NOT_FOUND, DENIED; errors of the store. The same bytes again write nothing.
 */
enum status import_file(struct store *store, const struct import_format *format,
                        const struct import_request *request, struct import_outcome *ret,
                        struct error *err);

#endif
