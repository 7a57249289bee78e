/* calibration - what comparing workloads with themselves came to, and how it is stored. */
#ifndef ASSAY_RESULTS_ANALYSIS_CALIBRATION_H
#define ASSAY_RESULTS_ANALYSIS_CALIBRATION_H

#include <stddef.h>

#include <jansson.h>

#include "results/analysis/stored_comparison.h"

/* To be zeroed, but for `rows`. */
struct calibration {
    size_t comparisons, without_numbers;
    size_t paired_different, paired_verdicts; /* interval excludes 1; said faster or slower */
    size_t blocked_different;                 /* the same data as AAAA then BBBB */
    json_t *rows;                             /* an array, one object a comparison */
};

/* Adds the comparison, which was paired, of campaign `uid`. */
void calibration_add(struct calibration *calibration, const char *workload, const char *uid,
                     const struct stored_comparison *comparison,
                     const struct compare_options *options);

/* New object, as it is stored: the counts, the rows, and the members of `clock` (what the machine's
 * clock was like). */
json_t *calibration_json(const struct calibration *calibration, const json_t *clock);

#endif
