/* bundle_proof - what shows that records are in their log. */
#ifndef ASSAY_RESULTS_EVIDENCE_BUNDLE_PROOF_H
#define ASSAY_RESULTS_EVIDENCE_BUNDLE_PROOF_H

#include "results/evidence/bundle.h"
#include "results/evidence/merkle_part.h"

/*
 * {"heads": [{root, size}], "nodes": [[level, index, hash]]} (BUNDLE.md): of the records in the
 * table temp.bundle_record, under the head of `size` records. INVALID: the log never had a head of
 * options->since.
 */
enum status bundle_prove(struct store *store, const struct bundle_options *options, int64_t size,
                         json_t **ret, struct error *err);

/*
 * Takes a record that came in a bundle into the digest that is the member `received` of the
 * bundle's record (FORMAT.md): its body and its salts.
 */
struct record_row;
void bundle_receive(struct digest_state *received, const struct record_row *row);

/* Adds the proof's nodes to `part`. CORRUPT: they are none; NO_MEMORY. */
enum status bundle_proof_nodes(const json_t *proof, struct merkle_part *part, struct error *err);

#endif
