/*
 * dsse - signed envelopes (Dead Simple Signing Envelope, secure-systems-lab/dsse, version 1).
 *
 * What is signed is "DSSEv1 <length of type> <type> <length of payload> <payload>", so a signature
 * of one type of payload cannot be passed off as one of another. Whoever signs gives a function
 * that does; what is opened is signed with Ed25519.
 */
#ifndef ASSAY_RESULTS_EVIDENCE_DSSE_H
#define ASSAY_RESULTS_EVIDENCE_DSSE_H

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "harness/core/status.h"
#include "results/evidence/key.h"

#define DSSE_SIGNATURE_MAX 512 /* bytes */

struct dsse_signer {
    const char *key_id; /* a hint for the verifier */
    /* Signs `length` bytes; `ret` has DSSE_SIGNATURE_MAX bytes of room. */
    enum status (*sign)(void *context, const void *bytes, size_t length, uint8_t *ret,
                        size_t *ret_length, struct error *err);
    void *context;
};

/* The bytes that are signed, heap; NULL when out of memory. */
char *dsse_pae(const char *type, const void *payload, size_t length, size_t *ret_length);

/* {"payloadType", "payload" (base64), "signatures": [{"keyid", "sig"}]}; new object. */
enum status dsse_sign(const char *type, const void *payload, size_t length,
                      const struct dsse_signer *signer, json_t **ret, struct error *err);

/*
 * What is in an envelope of this type, heap and NUL-terminated, of which one signature is good
 * under `key` (NULL: signatures are not checked). INVALID, with what is wrong.
 */
enum status dsse_open(const json_t *envelope, const char *type, const struct key_public *key,
                      char **ret, size_t *ret_length, struct error *err);

#endif
