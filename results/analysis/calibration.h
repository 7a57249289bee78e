/* calibration - what comparing workloads with themselves came to, and how it is stored. */
#ifndef ASSAY_RESULTS_ANALYSIS_CALIBRATION_H
#define ASSAY_RESULTS_ANALYSIS_CALIBRATION_H

#include <stddef.h>

#include "results/analysis/stored_comparison.h"

/* A comparison of a workload with itself. */
struct calibration_row {
    char *workload, *campaign; /* heap */
    double margin;
    char *reason; /* why there are no numbers, heap; NULL: there are */
    double ratio, sd_log;
    bool differs, blocked_differs; /* blocked: the same data as AAAA then BBBB */
    const char *verdict;
};

/* To be zeroed; calibration_type is its JSON, as it is stored, and frees it. */
struct calibration {
    /* What no file can reproduce: this machine's clock, and what a sample costs here. */
    int64_t clock_resolution_ns;
    double clock_read_ns, sample_overhead_ns;
    size_t comparisons, without_numbers;
    size_t paired_different, paired_verdicts; /* interval excludes 1; said faster or slower */
    size_t blocked_different;
    struct calibration_row *rows; /* heap */
};
extern const struct type calibration_type;

/* Adds the comparison, which was paired, of campaign `uid`. NO_MEMORY. */
enum status calibration_add(struct calibration *calibration, const char *workload, const char *uid,
                            const struct stored_comparison *comparison,
                            const struct compare_options *options, struct error *err);

#endif
