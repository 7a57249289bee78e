/*
 * products - what the kinds have in common that multiply: C (m, n) = A (m, k) B (k, n), of
 * matrices, or of the patches and filters of a convolution. The questions asked of C and their
 * bounds are at the head of checks.c.
 *
 * In a product of `groups` groups each column belongs to one, n / groups neighbours each, and is
 * summed over that group's k elements of a row.
 */
#ifndef ASSAY_WORKLOADS_GEMM_PRODUCTS_H
#define ASSAY_WORKLOADS_GEMM_PRODUCTS_H

#include "harness/core/text.h"
#include "workloads/check/frame.h"
#include "workloads/gemm/gemm.h"

/* One product. */
struct product {
    uint64_t m, n, k, groups;
    struct gemm_array arrays[GEMM_ARRAYS]; /* C row by row, n elements each */
};

struct product_check;
struct product_family;

/* A kind's instance begins with it. */
struct products {
    struct workload_instance base;
    const struct product_family *family;
    enum gemm_distribution distribution;
    enum dtype operand_type, result_type;
    struct product *items;
    size_t count;
};

/* What sets one kind of products apart from the others; its `handover` is the first member. */
struct product_family {
    struct workload_handover hooks; /* PRODUCTS_HANDOVER */
    const char *names[GEMM_ARRAYS]; /* of the arrays; of several products "a[2]" */
    /* Fills distribution, types and count, from the case alone. */
    void (*declare)(struct products *products);
    /* Fills the sizes of product `index` and sets its arrays by product_array_set. */
    void (*shape)(struct products *products, size_t index);
    /* With the arrays allocated, before any product runs. NULL: nothing to do. */
    enum status (*prepare)(struct products *products, size_t index, struct error *err);
    enum status (*run)(struct products *products, size_t index, struct error *err);
    /* A row of A before it was rounded: groups * k elements. Called from one thread. */
    void (*row)(const struct product_check *check, uint64_t row, double *ret);
    /* Uploads what that row is made of, as it is stored. */
    enum status (*upload_row)(const struct product_check *check, uint64_t row, struct error *err);
    /* A column of B: k elements. Called from several threads. */
    void (*column)(const struct product_check *check, uint64_t column, double *ret);
    /* A product's nodes, from its arrays' names to its output's (workloads/onnx/write.h). */
    void (*put_nodes)(const struct products *products, size_t index, struct text *graph);
};

/* The kind of gemm.c. */
struct gemm_instance {
    struct products products;
    struct gemms *gemms; /* NULL: a framework runs them */
};

/* ---- products.c ---- */

/* Types, sizes and names, of an instance of zeros but for its base, without a device. */
enum status products_lay_out(struct products *products, struct error *err);
/* Names and shapes anew, after a type has changed; frees the arrays. */
void products_shape(struct products *products);
/* Of products_shape: type and shape of an array of product `index`. */
void product_array_set(struct products *products, size_t index, enum gemm_input array, size_t rank,
                       const uint64_t *shape);
/*
 * Allocates the arrays, fills the operands (without B where a framework has it in its model), and
 * runs each product once, so that no compiler and no library's search runs in a timed window.
 */
enum status products_prepare(struct products *products, struct error *err);
void products_finish(struct products *products);
/* {"framework": ...} of a case that a framework runs; new. */
json_t *products_framework_facts(const struct products *products);

/* workload_kind.iterate and workload_checks.resume: every C holds NaN (or -1) until an iteration
 * writes it. */
enum status products_iterate(struct workload_instance *base, struct error *err);
struct buffer *products_result(struct workload_instance *base);
enum status products_resume(struct workload_instance *base, struct error *err);

/* ---- checks.c ---- */

/* A product to be compared, and how its operands are made. */
struct product_check {
    const struct products *products;
    const struct product *product;
    struct gemm_data a, b; /* A's seed is another one with a secret */
    const uint8_t *c_host; /* C in memory; NULL: it is on the device */
};

/* Of product `index`; `secret` draws another A, while B stays, which libraries may keep. */
struct product_check product_check_of(const struct products *products, size_t index,
                                      const uint64_t *secret);
/* Compares drawn rows of one product, and reports both checks. */
enum status product_check_run(const struct product_check *check, struct check_sink *sink,
                              struct error *err);

/*
 * Outputs hold NaN (or -1) until an iteration writes them, at the start and again after each check;
 * so what is compared was written since, in the warmup or the window when they lie between.
 *
 * In a spot check, for one iteration, a few rows of A are made from another seed, and hold NaN (or
 * -1) in C; then they are compared in the columns drawn. One check is reported for each output, of
 * the elements against stored operands. The reference costs at most about 2^18 elements of B in
 * all, but a row and a column of each output at least.
 */
extern const struct workload_checks products_checks;

/* ---- framework.c ---- */

/* Prepares the case's framework, which then runs all products. UNSUPPORTED, INVALID: why it does
 * not. */
enum status products_take_framework(struct products *products, struct error *err);

/* ---- handover.c ---- */

enum status products_hand_over(const struct workload_case *work, const uint64_t *secret,
                               const char *path, struct error *err);
enum status products_judge(const struct workload_handed *handed, struct check_sink *sink,
                           struct error *err);
#define PRODUCTS_HANDOVER                                                                          \
    {                                                                                              \
        products_hand_over, products_judge                                                         \
    }

#endif
