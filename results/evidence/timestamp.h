/*
 * timestamp - the content of an RFC 3161 time-stamp token. Its signature is checked by
 * timestamp_authority.h, which needs the authority's certificates.
 */
#ifndef ASSAY_RESULTS_EVIDENCE_TIMESTAMP_H
#define ASSAY_RESULTS_EVIDENCE_TIMESTAMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/core/digest.h"
#include "harness/core/status.h"

#define TIMESTAMP_TIME_SIZE 32

struct timestamp {
    struct digest imprint;          /* SHA-256 that was stamped */
    char time[TIMESTAMP_TIME_SIZE]; /* GeneralizedTime, verbatim: "20261120190000Z" */
    bool is_response;               /* a TimeStampResp around the token */
};

/*
 * Reads a TimeStampToken, or a TimeStampResp that holds one (DER, RFC 3161 section 2.4.2; RFC
 * 5652). INVALID, saying what is wrong, for anything else, and for other digests than SHA-256.
 */
enum status timestamp_read(const void *bytes, size_t length, struct timestamp *ret,
                           struct error *err);

/* INVALID when the token cannot be read or its imprint is not `root`. */
enum status timestamp_check(const void *bytes, size_t length, const struct digest *root,
                            struct error *err);

/* Seconds since 1970; false when its time is none, or not in UTC. */
bool timestamp_seconds(const struct timestamp *timestamp, int64_t *ret);

#endif
