/* bundle_proof - what shows that records are in their log. For results/bundle_*.c alone. */
#ifndef ASSAY_RESULTS_BUNDLE_PROOF_H
#define ASSAY_RESULTS_BUNDLE_PROOF_H

#include "results/bundle.h"

/*
 * {"heads": [{root, size}], "nodes": [[level, index, hash]]} (BUNDLE.md): of the records in the
 * table temp.bundle_record, under the head of `size` records. INVALID: the log never had a head of
 * options->since.
 */
enum status bundle_prove(struct store *store, const struct bundle_options *options, int64_t size,
                         json_t **ret, struct error *err);

#endif
