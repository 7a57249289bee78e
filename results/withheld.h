/* withheld - placeholders in a row for values that the row's bundle left out (FORMAT.md). */
#ifndef ASSAY_RESULTS_WITHHELD_H
#define ASSAY_RESULTS_WITHHELD_H

#include <stdbool.h>

#include <sqlite3.h>

#include "harness/core/digest.h"

/* Binds the placeholder of a column; it is the same for the same commitment. */
void withheld_bind(sqlite3_stmt *statement, int number, const char *column, bool is_blob,
                   const struct digest *commitment);

/* Whether a row's value is that placeholder. */
bool withheld_is_placeholder(sqlite3_stmt *row, int number, const char *column,
                             const struct digest *commitment);

#endif
