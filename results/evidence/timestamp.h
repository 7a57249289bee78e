/*
 * timestamp - RFC 3161 time-stamp tokens: what they say, and who signed them; by libcrypto.
 *
 * A token may be hostile: it is INVALID where libcrypto cannot decode it whole, or does not accept
 * signature, chain, purpose or times. Memory that libcrypto lacks looks the same, and is counted
 * (shortage.h) once verify_watch_memory() was called.
 */
#ifndef ASSAY_RESULTS_EVIDENCE_TIMESTAMP_H
#define ASSAY_RESULTS_EVIDENCE_TIMESTAMP_H

#include <stddef.h>
#include <stdint.h>

#include "harness/core/digest.h"
#include "harness/core/status.h"

#define TIMESTAMP_TIME_SIZE 32

struct timestamp {
    struct digest imprint;          /* SHA-256 that was stamped */
    char time[TIMESTAMP_TIME_SIZE]; /* GeneralizedTime, verbatim: "20261120190000Z" */
    int64_t seconds;                /* the same since 1970 */
};

#define TIMESTAMP_MAX (1 << 20) /* bytes of a token; they have some thousand */

/*
 * Reads a TimeStampToken, or a TimeStampResp that holds one (RFC 3161 section 2.4.2; RFC 5652), and
 * checks it: of `root` (NULL: of any), and signed by an authority that has a certificate for time
 * stamping alone with a chain to one of those in `ca_file` (PEM; NULL: the signature is not
 * checked). The chain is judged as of the stamped time, since certificates expire and evidence
 * remains: what `openssl ts -verify -attime` does. INVALID, saying what is wrong, also for other
 * digests than SHA-256 and for a time that is none or not in UTC.
 */
enum status timestamp_check(const void *bytes, size_t length, const struct digest *root,
                            const char *ca_file, struct timestamp *ret, struct error *err);

#endif
