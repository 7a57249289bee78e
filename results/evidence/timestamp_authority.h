/*
 * timestamp_authority - who signed an RFC 3161 time stamp. The CMS signature and the chain of
 * certificates are checked by `openssl ts -verify`, a child process with a time limit: hostile
 * ASN.1 stays out of this process, and the user can repeat the call. The chain is judged as of the
 * stamped time, since certificates expire and evidence remains.
 */
#ifndef ASSAY_RESULTS_EVIDENCE_TIMESTAMP_AUTHORITY_H
#define ASSAY_RESULTS_EVIDENCE_TIMESTAMP_AUTHORITY_H

#include "results/evidence/timestamp.h"

/*
 * Whether the token is of `root` (timestamp_check) and signed by an authority with a chain to one
 * of the certificates in `ca_file` (PEM); fills `ret`. INVALID: not so. UNAVAILABLE: there is no
 * openssl. `ca_file` NULL: the signature is not checked, and `ret_checked` is false.
 */
enum status timestamp_verify(const void *bytes, size_t length, const struct digest *root,
                             const char *ca_file, struct timestamp *ret, bool *ret_checked,
                             struct error *err);

#endif
