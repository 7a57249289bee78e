/*
 * witness - what somebody else does with a head: keeps the largest one of each log that he has
 * seen, and cosigns one that continues it.
 *
 * A request is a note, or, as C2SP tlog-witness has it, a line "old SIZE", the consistency proof
 * from that size to the note's in base64, a hash a line (RFC 6962, section 2.1.2), an empty line,
 * and the note. What has been seen is in a text file, a line a log: "<origin> <size> <root in
 * base64>".
 */
#ifndef ASSAY_RESULTS_EVIDENCE_WITNESS_H
#define ASSAY_RESULTS_EVIDENCE_WITNESS_H

#include <stddef.h>
#include <stdint.h>

#include "harness/core/digest.h"
#include "harness/core/status.h"
#include "harness/core/text.h"
#include "results/evidence/key.h"

struct witness {
    const char *state;                 /* the file; made when it is absent */
    const struct key_public *log_keys; /* one of these must have signed the note */
    size_t log_key_count;              /* 0: anybody or no one */
};

/*
 * Size of the head that is kept of the note's log; 0: none. INVALID: it is no request; CORRUPT: the
 * file is none of these.
 */
enum status witness_kept(const struct witness *witness, const char *request, int64_t *ret,
                         struct error *err);

/*
 * Checks the request, keeps its head and appends the cosignature, as a note's line. INVALID: it is
 * no request; DENIED: its log's signature is missing, or it does not continue the head that is
 * kept, which is kept then; CORRUPT: the file is none of these.
 */
enum status witness_cosign(const struct witness *witness, const char *request,
                           const struct key *key, int64_t seconds, struct text *out,
                           struct error *err);

/* Appends what comes before the note: the old size and the proof. */
void witness_append_proof(struct text *out, int64_t old, const struct digest *path, size_t count);

#endif
