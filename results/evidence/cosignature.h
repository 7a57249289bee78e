/*
 * cosignature - what a witness adds to a signed note (C2SP tlog-cosignature): that at some time it
 * saw this head, and that it continues the last one of the same log that it had seen.
 *
 * The signature is Ed25519 over
 *
 *     cosignature/v1
 *     time <seconds since 1970, decimal>
 *     <the note's body>
 *
 * and is written in a line of the note as the id of the key (key_cosigner_id), the seconds as eight
 * bytes, big-endian, and the signature.
 */
#ifndef ASSAY_RESULTS_EVIDENCE_COSIGNATURE_H
#define ASSAY_RESULTS_EVIDENCE_COSIGNATURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/core/status.h"
#include "harness/core/text.h"
#include "results/evidence/key.h"

#define COSIGNATURE_SIZE 72 /* bytes: the seconds and the signature */

enum status cosignature_make(const struct key *key, const char *body, size_t length,
                             int64_t seconds, uint8_t ret[COSIGNATURE_SIZE], struct error *err);
bool cosignature_verify(const uint8_t public_key[KEY_PUBLIC_SIZE], const char *body, size_t length,
                        const uint8_t cosignature[COSIGNATURE_SIZE]);
/* Negative: later than any clock. */
int64_t cosignature_seconds(const uint8_t cosignature[COSIGNATURE_SIZE]);

/* Appends it as a note's line. */
void cosignature_append(struct text *out, const struct key_public *key,
                        const uint8_t cosignature[COSIGNATURE_SIZE]);

#endif
