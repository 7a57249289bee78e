/*
 * store_import - results measured by another program, stored separately from those measured here.
 *
 * An imported file becomes a campaign of its own, with a row of `import` that describes the file;
 * each of its results becomes a cell without trials and a row of `claim`. Readers find both in
 * store_cell_json under "imported". Nothing is analysed: a claim is unverified.
 */
#ifndef ASSAY_RESULTS_STORE_STORE_IMPORT_H
#define ASSAY_RESULTS_STORE_STORE_IMPORT_H

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "harness/core/digest.h"
#include "harness/core/reading.h"
#include "results/store/store.h"

#define STORE_UNKNOWN "unknown" /* precision, scenario that a file does not state */

/* One result as its file states it. Owned by whoever made it; store_claim_finish frees. */
struct store_claim {
    char *workload;               /* name: "llama-bench:pp512" */
    json_t *declaration;          /* what was run: the parameters that make it another workload */
    const char *kind;             /* of workload; static */
    const char *scenario;         /* static; STORE_UNKNOWN */
    const char *precision;        /* static; STORE_UNKNOWN */
    char *device;                 /* as the file names it; NULL: not reported */
    char *backend;                /* "CUDA"; NULL: not reported */
    int64_t batch;                /* -1: not reported */
    int64_t items;                /* units of work of one iteration; 0: not counted */
    const char *item_name;        /* "token"; NULL: not counted */
    double rate;                  /* items a second; 0: not reported */
    double mean_ns;               /* time of an iteration; 0: not reported */
    char *measured;               /* when, as the file writes it; NULL: not reported */
    struct reading_list readings; /* what it declares, and what it lacks with the reason */
    json_t *fields;               /* all of it, as it is in the file */
};
void store_claim_init(struct store_claim *claim);
void store_claim_finish(struct store_claim *claim); /* takes NULL */

struct store_import {
    const char *file; /* its name, as it was given */
    struct digest digest;
    int64_t size;
    const char *format;          /* "llama-bench-json" */
    const char *program;         /* "llama-bench" */
    const char *program_version; /* NULL: not reported */
    const char *command;         /* the command line of the import */
    const char *tool_version;
    struct digest tool_digest;
};

/* Campaign of the import of a file with this digest; NOT_FOUND (no message). */
enum status store_find_import(struct store *store, const struct digest *digest,
                              int64_t *ret_campaign, struct error *err);

/*
 * Stores the file's results in one transaction. INVALID without any; the same digest again is
 * refused by the schema, so ask store_find_import first.
 */
enum status store_add_import(struct store *store, const struct store_import *import,
                             const struct store_claim *claims, size_t count, int64_t *ret_campaign,
                             struct error *err);

#endif
