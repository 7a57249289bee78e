/* compare - device results against the fp64 reference, and the report of it. */
#ifndef ASSAY_WORKLOADS_CHECK_COMPARE_H
#define ASSAY_WORKLOADS_CHECK_COMPARE_H

#include "workloads/workload.h"

/* Sums of one output, and its worst element. Zeroed to begin with. */
struct comparison {
    double error_squares, expected_squares, largest; /* largest absolute difference */
    uint64_t count, at;                              /* elements, and where the worst one is */
    double got, expected;
};

void comparison_add(struct comparison *comparison, const float *got, const double *expected,
                    uint64_t count);

/* sqrt(sum (got - expected)^2 / sum expected^2): the metric "normalised_rms". */
double comparison_normalised_rms(const struct comparison *comparison);

/*
 * Where errors are concentrated: of 64 neighbours at a time (the last 64 of `count` among them; all
 * where there are fewer), the largest sqrt(mean (got - expected)^2 / (mean expected^2 of them +
 * that of all)). A wrong tile is detected here, however small a part of all it is. Infinity where
 * there is a NaN.
 */
double comparison_worst_block(const float *got, const double *expected, uint64_t count,
                              uint64_t *ret_at);
/* Times the tolerance of a whole array's normalised_rms, what a block's error may be. */
#define COMPARISON_BLOCK_FACTOR 3.0

/* The worst block of several arrays. Zeroed to begin with. */
struct block_finding {
    double error;
    uint64_t compared, at;
    char name[64]; /* of the array */
};
void block_finding_add(struct block_finding *finding, const char *name, const float *got,
                       const double *expected, uint64_t count);

/* Where checks go, and what became of them. */
struct check_sink {
    workload_check_fn *report; /* NULL: no report */
    void *context;
    enum status status;   /* CHECK_FAILED after the first failure */
    struct error failure; /* its message */
};

/* Reports a check, `passed` among it. One that failed is to be followed by check_sink_fail. */
void check_sink_put(struct check_sink *sink, const struct workload_check *check);
/* What is wrong: which output, where, got and expected. The first counts. */
void check_sink_fail(struct check_sink *sink, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Reports a comparison by normalised_rms; a NaN fails. */
void check_sink_compare(struct check_sink *sink, const char *output,
                        const struct comparison *comparison, double tolerance, const char *reason);

/* Reports the worst block; `tolerance` is that of the arrays' normalised_rms. */
void check_sink_blocks(struct check_sink *sink, const char *output,
                       const struct block_finding *finding, double tolerance);

/* Reports any check; `detail` is part of the message when it failed (error <= tolerance is false).
 */
void check_sink_report(struct check_sink *sink, struct workload_check check, const char *detail);

#endif
