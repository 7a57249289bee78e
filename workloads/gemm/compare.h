/*
 * compare - some rows and columns of a product on a device against fp64: for check.c and
 * spot_check.c. The questions asked and their bounds are at the head of compare.c.
 */
#ifndef ASSAY_WORKLOADS_GEMM_COMPARE_H
#define ASSAY_WORKLOADS_GEMM_COMPARE_H

#include "workloads/gemm/products.h"

struct gemm_bounds {
    double any;       /* of the sums, in sum |a b| */
    double chance;    /* of the sums, in |ab| */
    double operands;  /* cut off from each operand by the unit, of its size */
    double result;    /* of C, in |c| */
    double underflow; /* of C */
};

/* Of one column of C, or of all: the worst element, and sums of squares against exact operands. */
struct gemm_outcome {
    double worst; /* error in units of its bound */
    uint64_t row, column;
    double got, expected;
    double zeros; /* the worst error that zeros would have, in units of its bound */
    double error2, norm2, bound2;
};

/* What is checked of one product. */
struct gemm_comparison {
    struct product_check check;
    struct gemm_bounds bounds;
    uint64_t *rows, *columns; /* their numbers, ascending */
    uint64_t row_count, column_count;
    double *stored, *exact;        /* of A: row_count * groups * k */
    double *got;                   /* row_count * column_count, in units of exact operands */
    struct gemm_outcome *outcomes; /* of each column */
};

/* One number out of each of `count` stripes of 0 .. total - 1; heap, NULL: no memory. */
uint64_t *gemm_draw(uint64_t total, uint64_t count, uint64_t seed, uint64_t stream);
/* How many of `each` make `work`, at least `least` and, above all, at most `most`. */
uint64_t gemm_share(uint64_t work, uint64_t each, uint64_t least, uint64_t most);

/*
 * What the chosen rows and columns need, which become its own (NULL: NO_MEMORY).
 * gemm_comparison_finish in any case, of zeros, too.
 */
enum status gemm_comparison_prepare(struct gemm_comparison *task, struct error *err);
void gemm_comparison_finish(struct gemm_comparison *task);
/* Over all chosen elements as they are now. What a device or the memory says, not what is wrong. */
enum status gemm_comparison_run(struct gemm_comparison *task, struct gemm_outcome *ret,
                                struct error *err);

/* JSON has no infinity and no NaN: the largest number for both. */
double gemm_reportable(double error);
/* The answer to the first question; its text is borrowed. */
struct workload_check gemm_answer(const struct gemm_comparison *task,
                                  const struct gemm_outcome *all);
/* Reports the answer; fails, naming the worst element, where it is not `passed`. */
void gemm_judge(const struct gemm_comparison *task, const struct gemm_outcome *all,
                struct check_sink *sink);

#endif
