/*
 * frame - what verification, spot check, recheck and the judgement of what was handed over have in
 * common, for the hooks of kinds; workload.h has what their callers call.
 */
#ifndef ASSAY_WORKLOADS_CHECK_FRAME_H
#define ASSAY_WORKLOADS_CHECK_FRAME_H

#include "workloads/check/compare.h"
#include "workloads/fingerprint.h"

/* An array that an iteration writes: rows of `columns` elements, `stride` elements apart. */
struct check_output {
    struct buffer *buffer; /* NULL: it lies in memory, at `data` */
    const void *data;
    enum dtype type;
    uint64_t first; /* element of the buffer */
    uint64_t rows, columns, stride;
};

/* One iteration, waited for. */
enum status check_iterate(struct workload_instance *instance, struct error *err);
/*
 * The same of the iteration that is checked, timed: from an empty queue until a byte of the result,
 * at `offset` of `output`, has been read back, which what is computed only when it is read cannot
 * put off. Into instance->checked_ns, without the time in which this process's threads waited for a
 * processor: on a busy machine each check may take as long as fifty iterations of a sample.
 */
enum status check_iterate_timed(struct workload_instance *instance, struct buffer *output,
                                uint64_t offset, struct error *err);
/* The two ends of it, where the iteration is none of the kind's own. */
enum status check_time_begin(struct workload_instance *instance, struct error *err);
enum status check_time_end(struct workload_instance *instance, struct buffer *output,
                           uint64_t offset, struct error *err);
/* The latest iteration's outputs are complete; one runs where none has since the last check. */
enum status check_settle(struct workload_instance *instance, struct error *err);

/*
 * `columns` elements of row `row`, as f32. Of a device f32, bf16 and f16, in memory any type of
 * data/element.h. Blocks.
 */
enum status check_output_row(const struct check_output *output, uint64_t row, float *ret,
                             struct error *err);
/* Counts elements that are not finite numbers, and all that were looked at, into `check`. */
void check_count_live(const float *values, uint64_t count, struct workload_check *check);

/* What a recheck compares. */
struct recheck {
    const char *expected; /* of the other trial; NULL: there is none yet */
    struct fingerprint fingerprint;
    struct workload_recheck *ret; /* `compared` counts what was added */
};
/* Adds an output on a device. */
enum status recheck_add(struct recheck *recheck, const struct check_output *output,
                        struct error *err);
/* Compares what was added, if it was not before: into `ret`. */
enum status recheck_conclude(struct recheck *recheck, struct error *err);

#endif
