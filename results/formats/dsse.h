/*
 * dsse - signed envelopes (Dead Simple Signing Envelope, secure-systems-lab/dsse, version 1).
 *
 * What is signed is "DSSEv1 <length of type> <type> <length of payload> <payload>", so a signature
 * of one type of payload cannot be passed off as one of another. Whoever has a key gives a function
 * that signs; this file knows no keys.
 */
#ifndef ASSAY_RESULTS_FORMATS_DSSE_H
#define ASSAY_RESULTS_FORMATS_DSSE_H

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "harness/core/status.h"

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

#endif
