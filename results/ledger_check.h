/* ledger_check - what a new head would sign, checked before it is. For results/ledger.c alone. */
#ifndef ASSAY_RESULTS_LEDGER_CHECK_H
#define ASSAY_RESULTS_LEDGER_CHECK_H

#include "results/store_internal.h"

/*
 * Checks the schema, that each leaf from `from` to `end` - 1 has its row and is its hash, and that
 * there are as many rows as leaves; within a change. CORRUPT names the first row that is altered,
 * missing or without a leaf. Takes time for the new leaves, and for counting all rows: some 0.2 s
 * for a file of 100 MB.
 */
enum status ledger_check_new(struct store *store, int64_t from, int64_t end, struct error *err);

#endif
