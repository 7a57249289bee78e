/* ledger_witness - cosignatures of the log's heads: taken in, and asked for with a proof. */
#ifndef ASSAY_RESULTS_EVIDENCE_LEDGER_WITNESS_H
#define ASSAY_RESULTS_EVIDENCE_LEDGER_WITNESS_H

#include <stddef.h>
#include <stdint.h>

#include "harness/core/status.h"
#include "harness/core/text.h"
#include "results/evidence/ledger.h"
#include "results/evidence/roster.h"

/*
 * Signs a checkpoint as a witness, at this time. The root is computed again from the records:
 * CORRUPT when it differs, and nothing is signed. INVALID: this key has cosigned it already.
 */
enum status ledger_cosign(struct store *store, const struct ledger_checkpoint *checkpoint,
                          const struct key *key, int64_t seconds, struct error *err);

/* What became of the lines of a note. */
struct ledger_import {
    int64_t checkpoint;
    size_t added, known; /* signatures stored now; those that were here before */
    size_t foreign;      /* of keys that the roster does not have: they cannot be checked */
    size_t wrong;        /* not by their key, not of this head, or of a key that does not count */
    char first_foreign[KEY_NAME_MAX + 1], first_wrong[256]; /* whose, and what is wrong */
};

/*
 * Takes in the signatures of a note, or of its lines alone, which are of `checkpoint` then (0: the
 * newest). Each is checked with the roster's key, and stored when this key has none of its form at
 * that checkpoint. INVALID: the note is of another log, or of a head that this one never had, or it
 * has no signatures; NOT_FOUND.
 */
enum status ledger_take_note(struct store *store, int64_t checkpoint, const struct roster *roster,
                             const char *text, struct ledger_import *ret, struct error *err);

/* The newest time of a stored cosignature of the checkpoint, in seconds; 0: there is none. */
enum status ledger_cosigned(struct store *store, int64_t checkpoint, int64_t *ret,
                            struct error *err);

/* Whose cosignatures of the checkpoint are stored: witnesses of the roster, each name once. */
enum status ledger_witnesses(struct store *store, int64_t checkpoint, const struct roster *roster,
                             size_t *ret_count, struct text *names, struct error *err);

/*
 * The checkpoint as a signed note, and before it the proof that it continues the head of `since`
 * leaves, as a witness takes it (witness.h); 0: the note alone. INVALID: it is smaller than that.
 */
enum status ledger_request(struct store *store, const struct ledger_checkpoint *checkpoint,
                           int64_t since, char **ret, struct error *err);

/* The head of a campaign's plan; NOT_FOUND. */
enum status ledger_plan_checkpoint(struct store *store, int64_t campaign,
                                   struct ledger_checkpoint *ret, struct error *err);

#endif
