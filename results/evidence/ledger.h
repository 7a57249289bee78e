/*
 * ledger - heads of the log of records, their signatures and time stamps, and amendments. FORMAT.md
 * defines their form.
 *
 * body_enter enters a record in the log, so there is nothing to call here when evidence is added.
 * Each function below that adds something is one transaction, except ledger_insert_head. Errors of
 * the store are those of store.h.
 */
#ifndef ASSAY_RESULTS_EVIDENCE_LEDGER_H
#define ASSAY_RESULTS_EVIDENCE_LEDGER_H

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "harness/core/digest.h"
#include "harness/core/status.h"
#include "results/evidence/key.h"
#include "results/evidence/note.h"
#include "results/store/store.h"

#define LEDGER_ORIGIN_SIZE 64

struct ledger_checkpoint {
    int64_t id;   /* row */
    int64_t size; /* leaves covered: 0 to size - 1 */
    struct digest root;
    int64_t utc_ns;
    char kind[16];                   /* "plan", "resume", "end", "bundle", "request" */
    int64_t campaign;                /* row; 0: of the file */
    char uid[STORE_UID_SIZE];        /* of the campaign; "": none */
    char origin[LEDGER_ORIGIN_SIZE]; /* name of the log */
};

/*
 * Adds a checkpoint of this file's whole log, and the author's signature when `key` is not NULL.
 * `campaign` 0: of none. `ret` may be NULL. The schema, and the digest of each record since the
 * last checkpoint, are checked first: CORRUPT names what is altered or missing, and nothing is
 * added.
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

/* The same within a change of the caller's (store_change_begin). */
enum status ledger_insert_head(struct store *store, const char *kind, const int64_t *campaigns,
                               size_t count, const struct key *key, struct ledger_checkpoint *ret,
                               struct error *err);

/* ---- ledger_manifest.c ---- */

/*
 * {type: {"count": n, "root": hex}}: the records about this campaign alone below leaf `size` of its
 * log, by type, with the tree hash of their digests in the order of leaves; new object.
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

/*
 * Of each campaign here, by its row as text: {"here", "told"}, how many campaigns with the same
 * cells its log has, it among them: of those here, and by what the head of a bundle says of all (0:
 * it came in none). New.
 */
enum status ledger_same_plans(struct store *store, json_t **ret, struct error *err);
/* What it says of one; NULL: nothing. Borrowed. */
const json_t *ledger_same_plan(const json_t *same_plans, int64_t campaign);

/* ---- ledger.c ---- */

/* A checkpoint by row id; 0: the newest. NOT_FOUND says how to make one. */
enum status ledger_find_checkpoint(struct store *store, int64_t id, struct ledger_checkpoint *ret,
                                   struct error *err);

/*
 * Signs a checkpoint once more; `role` is "author" or "witness". The root is computed again from
 * the records: CORRUPT when it differs, and nothing is signed. INVALID: this key has already signed
 * it.
 */
enum status ledger_add_signature(struct store *store, int64_t checkpoint, const char *role,
                                 const struct key *key, struct error *err);

/* Keeps an RFC 3161 token. INVALID when its imprint is not the checkpoint's root. */
enum status ledger_add_timestamp(struct store *store, int64_t checkpoint, const void *token,
                                 size_t length, struct error *err);

/* What is signed of the checkpoint, whose strings it borrows. */
struct note ledger_note_of(const struct ledger_checkpoint *checkpoint);

/* The checkpoint as a signed note (note.h), with the signatures it has; heap. */
enum status ledger_note(struct store *store, const struct ledger_checkpoint *checkpoint, char **ret,
                        struct error *err);

/*
 * Tree hash of the first `size` records of this file's log, from their bodies; -1: all. `ret_size`
 * may be NULL. NOT_FOUND: there are fewer; CORRUPT: one is altered or missing.
 */
enum status ledger_root(struct store *store, int64_t size, int64_t *ret_size, struct digest *ret,
                        struct error *err);

/* ---- signatures, within a change that has begun ---- */

/* CORRUPT: the records do not give the checkpoint's root; `consequence`: "nothing was signed". */
enum status ledger_check_root(struct store *store, const struct ledger_checkpoint *checkpoint,
                              const char *consequence, struct error *err);
/* Whether the key has a signature of `size` bytes at the checkpoint; 0: of any. */
enum status ledger_has_signature(struct store *store, int64_t checkpoint, const uint8_t *public_key,
                                 size_t size, bool *ret, struct error *err);
/* `role`: "author" or "witness"; `utc_ns`: when it was made or came here, by this machine's clock.
 */
enum status ledger_insert_signature(struct store *store, int64_t checkpoint,
                                    const struct key_public *key, const char *role, int64_t utc_ns,
                                    const uint8_t *signature, size_t size, struct error *err);

/* ---- amendments ---- */

/* Appends a remark about a result, which itself stays as it was. NOT_FOUND: no such cell. */
enum status ledger_add_amendment(struct store *store, int64_t cell, const char *author,
                                 const char *reason, struct error *err);

#endif
