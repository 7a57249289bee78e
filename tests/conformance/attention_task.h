/*
 * attention_task - operands of attention drawn at random, on the device and in fp64, and the
 * reference: each result, and its error bound on the device.
 */
#ifndef ASSAY_TESTS_CONFORMANCE_ATTENTION_TASK_H
#define ASSAY_TESTS_CONFORMANCE_ATTENTION_TASK_H

#include "tests/conformance/conformance.h"
#include "tests/conformance/reference.h"

enum attention_array { Q, K, V, O, D_O, D_Q, D_K, D_V, ARRAYS };

/* One of the arrays: (batch, heads, length, head_size) in fp64, and its place on the device. */
struct attention_heads {
    struct attention_strides strides;
    uint64_t offset, count; /* of the buffer, in elements */
    double *values, *bound; /* by (b, h, t, i); bound: of the device's error */
    uint16_t *bits;
    struct buffer *buffer;
};

struct attention_task {
    struct attention_shape shape;
    struct attention_heads arrays[ARRAYS];
    double *p, *p_bound, *ds, *ds_bound; /* one head's */
    double *statistics, *statistics_bound;
    struct buffer *statistics_buffer;
};

/*
 * Draws what goes in. Heads lie inside the rows of a common projection, as transformers have them,
 * or each by itself. attention_task_finish frees all of it.
 */
struct attention_task attention_task_make(struct conformance *c,
                                          const struct attention_shape *shape, bool projection);
void attention_task_finish(struct attention_task *task);

/* Fills values and bounds of the statistics and of every result, by the shape's scale. */
void attention_task_reference(struct attention_task *task);

/* For each array: the place of element `index` of (b, h, t, i) in its buffer. */
uint64_t attention_task_elements(const struct attention_task *task);
uint64_t attention_task_place(const struct attention_task *task,
                              const struct attention_heads *array, uint64_t index);
const struct small_float *attention_task_format(const struct attention_task *task);

#endif
