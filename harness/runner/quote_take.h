/* quote_take - has the machine's TPM 2.0 sign a head of the log, and keeps what it signed. */
#ifndef ASSAY_RUNNER_QUOTE_TAKE_H
#define ASSAY_RUNNER_QUOTE_TAKE_H

#include "harness/core/status.h"
#include "results/store/store.h"

/*
 * Quotes PCRs 0 to 9 by tpm2-tools with the root of the campaign's newest head as nonce, under the
 * restricted signing key `key` (a persistent handle, or the file of a context), and adds that as a
 * `dump` (quote.h). UNAVAILABLE: there is no quote, for a reason that the `dump` has, too; what the
 * tools say is on standard error.
 */
enum status quote_take(struct store *store, int64_t campaign, const char *key, struct error *err);

#endif
