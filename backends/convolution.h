/*
 * convolution - the vendor library's convolution: shapes, and the calls on a device, which check
 * and then go to its hooks (device_ops, backend.h, which includes this).
 */
#ifndef ASSAY_BACKENDS_CONVOLUTION_H
#define ASSAY_BACKENDS_CONVOLUTION_H

#include <stdbool.h>
#include <stdint.h>

#include "backends/gemm.h"

/*
 * A forward 2-D convolution of a batch of images, as networks have it:
 * output[b, y, x, f] = sum over r, s, c of weights[f, r, s, c]
 *     * input[b, y stride_y + r dilation_y - pad_y, x stride_x + s dilation_x - pad_x, g C + c]
 * where C = channels / groups, g = f / (filters / groups), and input beyond its edge is 0.
 * Channels lie last, without gaps, and weights as (filter, row, column, channel). `precision` is
 * what is computed in, as in struct gemm_shape, and sums are kept as there. What is asked for is
 * this sum: a library's FFT or Winograd forms, whose errors have other bounds, are not used.
 */
struct convolution_shape {
    enum precision precision;
    enum dtype type;        /* of input and weights */
    enum dtype result_type; /* of the output: type, or what sums are kept in; f32 for int8, too */
    uint64_t batch, height, width, channels; /* of the input */
    uint64_t filters, kernel_height, kernel_width;
    uint64_t stride_y, stride_x, dilation_y, dilation_x, groups; /* 0 counts as 1 */
    uint64_t pad_y, pad_x;                                       /* on either side */
};

/* Height and width of the output, 0 where the kernel is larger than the padded image. */
uint64_t convolution_out_height(const struct convolution_shape *shape);
uint64_t convolution_out_width(const struct convolution_shape *shape);

/* What will run, for provenance. */
struct convolution_info {
    struct gemm_info library;
    char weights[GEMM_WORD_MAX]; /* how the library reads them: "as given", or what was done */
    uint64_t weights_bytes;      /* of its own copy; 0: it reads the caller's */
};

/* Implementations embed this as their first member; the wrapper fills it when create has succeeded.
 */
struct convolution {
    struct device *device;
    struct convolution_shape shape; /* with the 0s that count as 1 filled in */
    bool has_weights;
};

bool device_has_convolutions(const struct device *device);
/*
 * UNSUPPORTED: the device has no vendor convolution, or the library does not do this one. INVALID:
 * nothing in a dimension, groups that do not divide channels and filters, a kernel that no padded
 * image holds, a dimension beyond 2^31, types that do not belong to the precision.
 */
enum status device_convolution_create(struct device *device, const struct convolution_shape *shape,
                                      struct convolution **ret, struct error *err);
void device_convolution_destroy(struct convolution *convolution); /* takes NULL */
/* Before the first run. Waits. INVALID and INTERNAL as for run. */
enum status device_convolution_set_weights(struct convolution *convolution,
                                           const struct gemm_operand *weights, struct error *err);
/*
 * Enqueues. INVALID: an operand exceeds its buffer. INTERNAL: a buffer of another device, or no
 * weights were set.
 */
enum status device_convolution_run(struct convolution *convolution,
                                   const struct gemm_operand *input,
                                   const struct gemm_operand *output, struct error *err);
enum status device_convolution_describe(const struct convolution *convolution,
                                        struct convolution_info *ret, struct error *err);
/* Lets the convolution take algorithm `index` of library.algorithms, as device_gemm_select. */
enum status device_convolution_select(struct convolution *convolution, uint32_t index,
                                      struct error *err);
/*
 * Asks the library for a small convolution in the precision (8 x 8 x 64, 64 filters of 3 x 3), the
 * output as it is summed, then in the operands' type. Fills `ret` as device_gemm_support does.
 */
void device_convolution_support(struct device *device, enum precision precision,
                                struct convolution_info *ret);

#endif
