/*
 * bare_onednn - the yardstick of bench_gemm and bench_convolution: one primitive of oneDNN with
 * default attributes on the device's own arrays, called in a bare loop.
 */
#ifndef ASSAY_TESTS_BENCH_BARE_ONEDNN_H
#define ASSAY_TESTS_BENCH_BARE_ONEDNN_H

#include "backends/cpu/internal.h"

#define BARE_ARGS 3
#define BARE_BLOCK_FLOPS 1e9 /* a block repeats the operation up to about this many */

struct bare {
    const struct onednn *dnnl;
    struct dnnl_primitive *primitive;
    struct assay_dnnl_exec_arg args[BARE_ARGS];
    void *own; /* an array of the yardstick's, heap; NULL: none */
};

/* The library's number for operands of a precision, and for what they are summed in. */
unsigned bare_operand_type(enum precision precision);
unsigned bare_sum_type(enum precision precision);

/* Argument `index` (ASSAY_DNNL_ARG_...) lies in `bytes`. */
enum status bare_argument(struct bare *bare, int index, int name,
                          const struct assay_dnnl_memory_desc *layout, void *bytes,
                          struct error *err);
/* Makes the primitive. */
enum status bare_primitive(struct bare *bare, const struct dnnl_primitive_desc *desc,
                           struct error *err);
void bare_finish(struct bare *bare);

/* What is compared with a bare primitive: the same operation through us. */
struct bare_rival {
    const char *name, *algorithm; /* as printed */
    enum precision precision;
    double flops; /* of one run */
    enum status (*run)(void *operation, struct error *err);
    void *operation;
};

/*
 * Runs either side once, then blocks of each in turns, and prints a line a pair: name, precision,
 * algorithm, nanoseconds of one run through us, and of a bare one.
 */
enum status bare_take_turns(const struct bare *bare, const struct bare_rival *rival, long pairs,
                            struct error *err);

static inline void *bare_bytes(const struct operand *operand)
{
    return ((struct cpu_buffer *)operand->buffer)->bytes;
}

/*
 * A buffer of `count` random numbers of the type, never zeros: bytes for i8, halves and floats near
 * one, for others undefined.
 */
enum status bare_fill(struct device *device, enum dtype type, uint64_t count, struct buffer **ret,
                      struct error *err);

/* A program's main after its arguments: `run` on cpu:0. Gives its exit status, reports failures. */
int bare_main(const char *program,
              enum status (*run)(struct device *device, const void *arguments, struct error *err),
              const void *arguments);

#endif
