/*
 * bare_onednn - the yardstick of bench_product and bench_convolution: one primitive of oneDNN with
 * default attributes on the device's own arrays, called in a bare loop.
 */
#ifndef ASSAY_TESTS_BENCH_BARE_ONEDNN_H
#define ASSAY_TESTS_BENCH_BARE_ONEDNN_H

#include "backends/cpu/internal.h"

#define BARE_ARGS 3
#define BARE_BLOCK_FLOPS 1e9 /* a block repeats the operation until it has about so many */

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

/* Nanoseconds of one of `count` executions one behind the other. */
double bare_block(const struct bare *bare, int count);
/* How many executions of so many FLOPs make a block. */
int bare_block_count(double flops);

static inline void *bare_bytes(const struct product_operand *operand)
{
    return ((struct cpu_buffer *)operand->buffer)->bytes;
}

/*
 * A buffer of `count` random numbers of the type, never zeros: bytes for i8, halves and floats near
 * one, for others undefined.
 */
enum status bare_fill(struct device *device, enum dtype type, uint64_t count, struct buffer **ret,
                      struct error *err);

#endif
