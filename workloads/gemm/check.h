/*
 * check - a product C (m, n) = A (m, k) B (k, n) on a device against fp64, whatever A and B are
 * made of: matrices, or the patches and filters of a convolution. The questions asked and their
 * bounds are at the head of compare.c.
 *
 * In a product of `groups` groups each column belongs to one, n / groups neighbours each, and is
 * summed over that group's k elements of a row.
 */
#ifndef ASSAY_WORKLOADS_GEMM_CHECK_H
#define ASSAY_WORKLOADS_GEMM_CHECK_H

#include "workloads/gemm/gemm.h"

struct gemm_check {
    const char *subject; /* "gemm": begins messages */
    enum precision precision;
    enum implementation implementation; /* our own text keeps closer bounds */
    struct gemm_data a, b; /* how operands are made; A's seed is another one in a spot check */
    uint64_t m, n, k;
    uint64_t groups;
    struct buffer *c;      /* row by row, n elements each */
    const uint8_t *c_host; /* the same in memory in its place; NULL: it is on a device */
    enum dtype result_type;
    const char *output, *output_exact; /* names of the two checks */
    /* A row of A before it was rounded: groups * k elements. Called from one thread. */
    void (*row)(const struct gemm_check *check, uint64_t row, double *ret);
    /* Uploads what that row is made of, as it is stored. */
    enum status (*upload_row)(const struct gemm_check *check, uint64_t row, struct error *err);
    /* A column of B: k elements. Called from several threads. */
    void (*column)(const struct gemm_check *check, uint64_t column, double *ret);
    const void *context; /* theirs */
};

/* Compares drawn rows of one product, and reports both checks (check.c). */
enum status gemm_check_one(const struct gemm_check *check, workload_check_fn *report, void *context,
                           struct error *err);

/* workload_kind.tolerance: at 1 an output of zeros would pass, so it is less. */
double gemm_tolerance(const struct workload_case *work, const char *output, const char *metric);

/* A kind's instance as its checks see it, and whoever makes or takes its arrays. */
struct gemm_outputs {
    struct workload_instance *base;
    size_t count;
    uint64_t *unchecked; /* iterations since the outputs were poisoned; 0 again when all passed */
    enum status (*iterate)(struct workload_instance *base, struct error *err);
    struct gemm_check (*check_of)(const struct workload_instance *base, size_t index);
    struct gemm_array *(*arrays_of)(struct workload_instance *base, size_t index);
    /* A layer's nodes, from its arrays' names to its output's (workloads/onnx/write.h). */
    void (*put_nodes)(struct workload_instance *base, size_t index, struct text *graph);
};

/*
 * Waits for what was enqueued, and checks all of an instance's outputs. They hold NaN (or -1) until
 * an iteration writes them, at the start and again after each check; so what is compared was
 * written since, in the warmup or the window when they lie between. Where nothing ran since, one
 * iteration does.
 */
enum status gemm_outputs_verify(const struct gemm_outputs *outputs, workload_check_fn *report,
                                void *context, struct error *err);

/*
 * workload_kind.spot_check, of all of an instance's outputs: for one iteration a few rows of A are
 * made from another seed, and hold NaN (or -1) in C; then they are compared in the columns drawn.
 * One check is reported for each output, of the elements against stored operands. On CHECK_FAILED,
 * too, A is as before and C as an iteration writes it.
 *
 * The reference costs at most about 2^18 elements of B in all, but a row and a column of each
 * output at least.
 */
enum status gemm_outputs_spot_check(const struct gemm_outputs *outputs, uint64_t secret,
                                    workload_check_fn *report, void *context, struct error *err);

/* ---- data.c ---- */

/* What a kind calls its arrays, and how many layers it has: of several, "a[2]". */
struct gemm_names {
    const char *names[GEMM_ARRAYS];
    size_t layers;
};
struct tensor gemm_tensor(const struct gemm_names *names, size_t array, size_t layer,
                          enum dtype type, size_t rank, const uint64_t *shape);
/* Allocates the arrays of all layers, and fills the operands; without B, which frameworks have in
 * their model, where one runs them. */
enum status gemm_allocate(const struct gemm_outputs *outputs, struct error *err);
void gemm_arrays_free(struct gemm_array arrays[GEMM_ARRAYS]);

/* ---- framework.c ---- */

/* Prepares the case's framework, which then runs all layers. UNSUPPORTED, INVALID: why it does not.
 */
enum status gemm_take_framework(const struct gemm_outputs *outputs, struct error *err);

/* ---- handover.c ---- */

/* A kind's work by other programs; its hooks are GEMM_HANDOVER. */
struct gemm_handover {
    struct workload_handover hooks; /* first */
    /* Types, and sizes and names of all layers, of an instance of zeros but for its base, without a
     * device; workload_instance_destroy releases it. */
    enum status (*lay_out)(struct workload_instance *base, struct error *err);
    struct gemm_outputs (*outputs_of)(struct workload_instance *base);
};
enum status gemm_hand_over(const struct workload_case *work, bool inputs_only,
                           const uint64_t *secret, const char *path, struct error *err);
enum status gemm_judge_outputs(const struct workload_case *work, const uint64_t *secret,
                               const struct tensors *handed, int64_t iteration, bool whole,
                               workload_check_fn *report, void *context, struct error *err);
#define GEMM_HANDOVER                                                                              \
    {                                                                                              \
        gemm_hand_over, gemm_judge_outputs                                                         \
    }

/* verify.c */
extern const struct gemm_handover gemm_handover;

#endif
