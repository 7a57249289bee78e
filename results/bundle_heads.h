/* bundle_heads - a bundle's earlier heads, with what shows that its own has grown from them. */
#ifndef ASSAY_RESULTS_BUNDLE_HEADS_H
#define ASSAY_RESULTS_BUNDLE_HEADS_H

#include "results/bundle.h"
#include "results/ledger.h"
#include "results/merkle_levels.h"

/*
 * The "heads" of BUNDLE.md: every checkpoint before `head`, and those that the options ask for.
 * After bundle_select. INVALID: the ledger never had one of those. New array.
 */
enum status bundle_heads_json(struct store *store, const struct bundle_options *options,
                              const struct merkle_levels *levels,
                              const struct ledger_checkpoint *head, json_t **ret,
                              struct error *err);

/* ---- bundle_write.c ---- */

json_t *bundle_hex_json(const struct digest *digest);
json_t *bundle_path_json(const struct digest *path, size_t count);
/* The bytes of a column; NULL: out of memory. */
json_t *bundle_base64_json(struct sqlite3_stmt *row, int column);

#endif
