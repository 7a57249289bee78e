/*
 * bundle - campaigns in one file for handing over: every row of evidence that belongs to them, each
 * with the proof that it is in the ledger it came from, under one signed checkpoint. BUNDLE.md
 * specifies the form.
 *
 * Values can be withheld (a host's name, a serial number): their rows keep a salted commitment, so
 * the proofs hold and the value cannot be guessed.
 */
#ifndef ASSAY_RESULTS_BUNDLE_H
#define ASSAY_RESULTS_BUNDLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <sqlite3.h>

#include "harness/core/digest.h"
#include "harness/core/status.h"
#include "results/key.h"
#include "results/store.h"
#include "results/verify.h"

#define BUNDLE_VERSION 1
#define BUNDLE_SEAL "assay-bundle/1\n%s\n" /* what a seal signs: SHA-256 of all lines before */

/* ---- bundle_select.c: what belongs to a campaign ---- */

/*
 * Fills the connection's table temp.bundle_place (table_name, key, leaf) with every row of the
 * campaigns (rows of `campaign`) and all that they refer to.
 */
enum status bundle_select(struct store *store, const int64_t *campaigns, size_t count,
                          struct error *err);
/* The tables that a bundle carries, NULL-terminated; the rest are of the file, not of a campaign.
 */
const char *const *bundle_tables(void);
/* SQL: which rows of `table` belong to the campaigns in temp.bundle_campaign; NULL: none. */
const char *bundle_condition(const char *table);

/* ---- bundle_write.c ---- */

struct bundle_options {
    const int64_t *campaigns; /* rows */
    size_t campaign_count;
    /*
     * What to withhold: a reading's name or pattern with '*' ("host.name", "device.uuid"), or
     * TABLE.COLUMN of a column that is committed ("campaign.command").
     */
    const char *const *withhold;
    size_t withhold_count;
    /*
     * Heads that somebody kept, "SIZE:ROOT" as --expect-head takes them: the bundle shows that its
     * own has grown from them. Those of checkpoints are shown without being asked for.
     */
    const char *const *since;
    size_t since_count;
    const struct key *key; /* signs the bundle's checkpoint; NULL: no one does */
    const char *tool_version;
    void *context; /* of progress */
    /* May be NULL. Returning false stops: INTERRUPTED. */
    bool (*progress)(void *context, uint64_t done, uint64_t total);
};

struct bundle_summary {
    int64_t rows, withheld; /* rows written; values withheld */
    int64_t size;           /* leaves of the ledger that the head covers */
    struct digest root;
    struct digest sha256; /* of the file */
};

/*
 * Makes a checkpoint of the ledger and writes the bundle. INVALID: an entry of `withhold` names
 * nothing, a withheld value also occurs where it cannot be withheld (the message says where), or
 * the ledger never had a head of `since`.
 */
enum status bundle_write(struct store *store, const struct bundle_options *options, FILE *file,
                         struct bundle_summary *ret, struct error *err);

/* ---- bundle_read.c ---- */

/* True when this is a regular file that begins as a bundle does. */
bool bundle_recognise(const char *path);

/* What a bundle's first line says. Strings are heap. */
struct bundle_head {
    char *origin, *note, *tool;
    int64_t created_utc_ns, size, schema;
    struct digest root;
    json_t *campaigns; /* uids */
    json_t *withheld;  /* words */
};
void bundle_head_finish(struct bundle_head *head);

/* One row. `data` is the leaf's; `values` and `blobs` may be NULL. Borrowed. */
struct bundle_row {
    int64_t leaf;
    const char *table;
    const json_t *row;    /* data.row: column to value */
    const json_t *values; /* of committed columns: {"salt", "value"} */
    const json_t *blobs;  /* base64 */
};

struct bundle_visitor {
    void *context;
    /* Both may be NULL; an error ends the reading. bundle_import calls `head`, not `row`. */
    enum status (*head)(void *context, const struct bundle_head *head, struct error *err);
    enum status (*row)(void *context, const struct bundle_row *row, struct error *err);
    /* What fails a check. A finding is not an error: reading continues. */
    void (*found)(void *context, const struct verify_finding *finding);
    bool (*progress)(void *context, uint64_t done, uint64_t total); /* bytes; NULL: none */
};

/*
 * Reads a bundle and checks it: the file's own digest, each row's proof against the head, each
 * value against its commitment, each BLOB against its digest, signatures of the head, earlier
 * heads, and that campaigns were planned before they ran. Rows whose proof does not hold are not
 * visited. What is damaged or truncated is a finding, with its line. CORRUPT: it is no bundle at
 * all, or one of a newer version.
 */
enum status bundle_read(const char *path, const struct bundle_visitor *visitor,
                        const struct verify_options *options, struct digest *ret_sha256,
                        struct error *err);

/* The bytes (heap) of one of a row's blobs. False: it is no base64, or memory is out. */
bool bundle_decode(const json_t *base64, unsigned char **ret, size_t *ret_length);

/* ---- bundle_import.c ---- */

struct bundle_import {
    int64_t campaigns, known; /* imported; of them, here before */
    int64_t campaign;         /* row here of the first of them */
    int64_t rows;
    int64_t wrong; /* findings; not 0: nothing was imported */
};

/*
 * Imports a bundle in one transaction: rows get new numbers where theirs are in use, what is
 * content-addressed is stored once, and each campaign keeps its origin (table `bundle`). A campaign
 * whose uid is here already is not changed. Any finding of bundle_read rejects the whole bundle:
 * see `wrong`.
 */
enum status bundle_import(struct store *store, const char *path, const struct bundle_visitor *found,
                          const struct verify_options *options, struct bundle_import *ret,
                          struct error *err);

/* ---- bundle_verify.c ---- */

/*
 * As verify_file, of a bundle: what bundle_read checks, then the rows imported into a temporary
 * database, with all that verify_file checks there (completeness, estimates recomputed). Leaves,
 * root and origin in `ret` are those of the ledger that the bundle came from.
 */
enum status bundle_verify(const char *path, const struct verify_options *options,
                          struct verify_summary *ret, struct error *err);

#endif
