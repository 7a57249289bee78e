/*
 * judged - the record of a result that something is decided by.
 *
 * A stored estimate is a statement of whoever made the file. What decides (accept, decide, cost,
 * plan, gate) takes the numbers that this analysis makes of the stored samples; `assay verify`
 * tells by the same functions whether the two agree.
 */
#ifndef ASSAY_RESULTS_ANALYSIS_JUDGED_H
#define ASSAY_RESULTS_ANALYSIS_JUDGED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "harness/core/status.h"
#include "results/store/store.h"

/*
 * Mathematical functions of the C library differ in the last bit from one version and processor to
 * the next. A smaller relative difference counts as none.
 */
#define JUDGED_SAME_WITHIN 1e-9

enum likeness { LIKENESS_SAME_BYTES, LIKENESS_SAME_NUMBERS, LIKENESS_DIFFERENT };

/* Whether two values differ in nothing but rounding, within JUDGED_SAME_WITHIN. */
bool judged_close(const json_t *a, const json_t *b);

/*
 * How like the stored text, of `length` bytes, is to what was made of the samples again. Where they
 * differ, `why` (which may be NULL) names the first difference: CORRUPT.
 */
enum likeness judged_likeness(const char *stored, size_t length, const json_t *again,
                              struct error *why);

/*
 * Makes a stored estimate of a cell again, of all its trials or, where that gives another one and
 * `partly` is set, of those up to the last that it names, as it was made before a resume. The text
 * may claim any version of the analysis: numbers alone count. Findings that follow from facts are
 * left out where facts of the cell are withheld. `ret` is new, NULL where it could not be made;
 * `err` then says why not, else in what the two differ.
 */
enum likeness judged_estimate(struct store *store, int64_t cell, const char *stored, size_t length,
                              bool all, bool partly, json_t **ret, struct error *err);

/*
 * Puts the estimate that this analysis makes of a cell into its record (store_cell_json), where an
 * older one made another. CORRUPT: the stored one says that it is of this analysis, and does not
 * follow from the samples; UNSUPPORTED: it is of a newer analysis, and this one makes another;
 * others as analysis_estimate.
 */
enum status judged_record(struct store *store, int64_t cell, json_t *record, struct error *err);
/* store_cell_json, and that. */
enum status judged_cell_json(struct store *store, int64_t cell, json_t **ret, struct error *err);

/*
 * Stores, beside the older one, the estimate of each result that a judgement names ("a" and "b", or
 * "result" in any part of it) where judged_cell_json replaced it: a judgement is of the newest
 * estimates of its file.
 */
enum status judged_renew(struct store *store, const json_t *judgement, struct error *err);

#endif
