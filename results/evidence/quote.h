/*
 * quote - what a TPM 2.0 signed with a key that never leaves it: a nonce, its clock, and the values
 * of PCRs (TCG TPM 2.0 Library, part 2, TPMS_ATTEST; part 1, "Clock"), as `assay run --quote` keeps
 * it: lines "<name> <base64>", of attest (TPMS_ATTEST), signature (DER of ECDSA, or RSASSA, over
 * SHA-256), key (PEM), pcrs (the values of the quoted PCRs one after the other), and possibly log
 * (TCG PC Client Platform Firmware Profile, 10.2: the events of the boot that lead to these
 * values).
 *
 * Each may be hostile.
 */
#ifndef ASSAY_RESULTS_EVIDENCE_QUOTE_H
#define ASSAY_RESULTS_EVIDENCE_QUOTE_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/core/digest.h"
#include "harness/core/status.h"

#define QUOTE_TOOL "tpm2_quote" /* of the records `dump` that have one */

struct quote {
    struct digest nonce;
    struct digest key; /* SHA-256 of the signer's SubjectPublicKeyInfo, DER */
    int64_t clock_ms;  /* of the TPM, running while it has power */
    uint32_t resets;   /* how many times the machine was started */
    bool has_log;      /* which leads to the PCRs */
};

/*
 * Reads and checks one: signature, form, PCRs, log. Whose key it is, and which nonce it should
 * have, is for the caller. INVALID, saying what is wrong.
 */
enum status quote_read(const char *text, struct quote *ret, struct error *err);

/* SHA-256 of the public key in a PEM file, as above. NOT_FOUND ...; INVALID. */
enum status quote_key_read(const char *path, struct digest *ret, struct error *err);

#endif
