/*
 * ledger_json - a value of a row as it is in the JSON of a leaf (FORMAT.md, "Leaf"). For
 * results/ alone.
 */
#ifndef ASSAY_RESULTS_LEDGER_JSON_H
#define ASSAY_RESULTS_LEDGER_JSON_H

#include "harness/core/text.h"
#include "results/ledger_leaf.h"

#define LEDGER_JSON_INTEGER_MAX 20 /* bytes that an integer takes at most */

/* Writes an integer; returns the position after its last digit. */
char *ledger_json_put_integer(char *at, int64_t value);

/* Appends a value, which is not NULL; the text is marked failed where its bytes are unavailable. */
void ledger_json_append(struct text *out, const struct ledger_leaf_value *value);

#endif
