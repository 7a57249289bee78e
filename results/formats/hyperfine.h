/* hyperfine - what its JSON (--export-json) says of runs, for import and analysis alike. */
#ifndef ASSAY_RESULTS_FORMATS_HYPERFINE_H
#define ASSAY_RESULTS_FORMATS_HYPERFINE_H

#include <jansson.h>

#include "harness/core/status.h"

/*
 * A name for each of `results` by which it is told from the others: its command; with its
 * parameters in parentheses where the command is there twice; with #1, #2 ... where that is not
 * enough. JSON null for a result without a command. A new array; NULL: no memory.
 */
json_t *hyperfine_names(const json_t *results);

/* INVALID, "WHERE: ...", for a run that failed: a time of such is the time of something else. */
enum status hyperfine_check_runs(const json_t *result, const char *where, struct error *err);

#endif
