/*
 * calibration_tally - the results of comparing workloads with themselves, for `calibrate` and, from
 * what it stored, `verify`.
 */
#ifndef ASSAY_CLI_CALIBRATION_TALLY_H
#define ASSAY_CLI_CALIBRATION_TALLY_H

#include <stddef.h>

#include <jansson.h>

#include "harness/runner/ab.h"
#include "protocols/compare.h"

struct calibration_tally {
    size_t comparisons, without_numbers;
    size_t paired_different, paired_verdicts; /* interval excludes 1; said faster or slower */
    size_t blocked_different;                 /* the same data as AAAA then BBBB */
    json_t *rows;                             /* an array, one object a comparison */
};

/* Adds the comparison of campaign `uid`. */
void calibration_tally_add(struct calibration_tally *tally, const char *workload, const char *uid,
                           const struct ab_result *result, const struct compare_options *options);

/* New object: the tally, and the members of `clock` (what the machine's clock was like). */
json_t *calibration_tally_json(const struct calibration_tally *tally, const json_t *clock);

#endif
