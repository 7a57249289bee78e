/*
 * ledger - the Merkle log over the records, and its heads. The form is FORMAT.md's.
 *
 * A record is a leaf from the transaction on that stores it, so there is nothing to call when
 * evidence is added. What is here: heads, signatures, time stamps, amendments.
 */
#ifndef ASSAY_RESULTS_LEDGER_H
#define ASSAY_RESULTS_LEDGER_H

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "harness/core/digest.h"
#include "harness/core/status.h"
#include "results/key.h"
#include "results/merkle.h"
#include "results/store.h"

#define LEDGER_ORIGIN_SIZE 64

struct ledger_checkpoint {
    int64_t id;   /* row */
    int64_t size; /* leaves covered: 0 to size - 1 */
    struct digest root;
    int64_t utc_ns;
    char kind[16];            /* "plan", "resume", "end", "request" */
    int64_t campaign;         /* row; 0: of the file */
    char uid[STORE_UID_SIZE]; /* of the campaign; "": none */
    char origin[LEDGER_ORIGIN_SIZE];
};

/*
 * Adds a checkpoint of the whole current log, and the author's signature when `key` is not
 * NULL; one transaction. `campaign` 0: of none. What is new since the last one is checked first
 * (ledger_check.h): CORRUPT names a row that is altered, missing or without a leaf.
 */
enum status ledger_add_checkpoint(struct store *store, const char *kind, int64_t campaign,
                                  const struct key *key, struct ledger_checkpoint *ret,
                                  struct error *err);

/*
 * The same for any number of campaigns: the head says how many records of each type there are of
 * each (ledger_manifest).
 */
enum status ledger_add_head(struct store *store, const char *kind, const int64_t *campaigns,
                            size_t count, const struct key *key, struct ledger_checkpoint *ret,
                            struct error *err);

/* The same within a change. */
enum status ledger_insert_head(struct store *store, const char *kind, const int64_t *campaigns,
                               size_t count, const struct key *key, struct ledger_checkpoint *ret,
                               struct error *err);

/* ---- ledger_manifest.c ---- */

/*
 * {type: {"count": n, "root": hex}}: the records about this campaign alone below leaf `size` of its
 * log, by type, with the tree hash of their digests in the log's order; new object.
 */
enum status ledger_manifest(struct store *store, int64_t campaign, int64_t size, json_t **ret,
                            struct error *err);
/* The same of the records that are about more than one of these campaigns, and about no others. */
enum status ledger_manifest_together(struct store *store, const int64_t *campaigns, size_t count,
                                     int64_t size, json_t **ret, struct error *err);

/* How many campaigns this file's own log has below leaf `size`. */
enum status ledger_count_campaigns(struct store *store, int64_t size, int64_t *ret,
                                   struct error *err);
/* How many of them have the same cells as this one, itself included. */
enum status ledger_count_same(struct store *store, int64_t campaign, int64_t size, int64_t *ret,
                              struct error *err);

/* ---- ledger.c ---- */

/* A checkpoint by row id; 0: the newest. NOT_FOUND says how to make one. */
enum status ledger_find_checkpoint(struct store *store, int64_t id, struct ledger_checkpoint *ret,
                                   struct error *err);

/*
 * Signs a checkpoint once more; `role` is "author" or "witness". The root is computed anew from the
 * leaves before: CORRUPT when it differs, and nothing is signed. INVALID: this key has already
 * signed it.
 */
enum status ledger_add_signature(struct store *store, int64_t checkpoint, const char *role,
                                 const struct key *key, struct error *err);

/* Keeps an RFC 3161 token. INVALID when its imprint is not the checkpoint's root. */
enum status ledger_add_timestamp(struct store *store, int64_t checkpoint, const void *token,
                                 size_t length, struct error *err);

/* The checkpoint as a signed note (note.h), with the signatures it has; heap. */
enum status ledger_note(struct store *store, const struct ledger_checkpoint *checkpoint, char **ret,
                        struct error *err);

/* Tree hash of the first `size` leaves as stored; -1: all. `ret_size` may be NULL. */
enum status ledger_root(struct store *store, int64_t size, int64_t *ret_size, struct digest *ret,
                        struct error *err);

/* ---- amendments ---- */

/* A new row about a result; the measurement itself is never changed. */
enum status ledger_add_amendment(struct store *store, int64_t cell, const char *author,
                                 const char *reason, struct error *err);
/* [{amendment, utc_ns, created, author, reason}] of a cell, oldest first; new array. */
enum status ledger_amendments(struct store *store, int64_t cell, json_t **ret, struct error *err);

#endif
