/*
 * convolution - forward 2-D convolutions, channels last; what this folder shares.
 *
 * output[b, y, x, f] = sum over r, s, c of
 *     input[b, y * stride + r * dilation - padding, x * stride + s * dilation - padding, g * C + c]
 *     * weights[f, r, s, c]
 * with C = channels / groups and g = f / (filters / groups): what networks call a convolution (it
 * is a correlation). Input beyond its edge is 0. As a product: one row of A (m, k) a pixel of the
 * output, one column of B (k, n) a filter, k = kernel * kernel * C.
 *
 * Operands are made from the seed by position, as those of gemm/ are.
 */
#ifndef ASSAY_WORKLOADS_CONVOLUTION_CONVOLUTION_H
#define ASSAY_WORKLOADS_CONVOLUTION_CONVOLUTION_H

#include <stdbool.h>
#include <stdint.h>

#include "workloads/gemm/products.h"
#include "workloads/ops/operations.h"
#include "workloads/workload.h"

#define CONVOLUTION_SHAPES_MAX 64
#define CONVOLUTION_SIDE_MAX ((int64_t)1 << 16)     /* of an image, of channels and filters */
#define CONVOLUTION_KERNEL_MAX 255                  /* of kernel, stride, padding and dilation */
#define CONVOLUTION_ELEMENTS_MAX ((int64_t)1 << 30) /* of one image, its output or the weights */
#define CONVOLUTION_PIXELS_MAX ((int64_t)1 << 31)   /* of the output, for a batch */

enum convolution_layout { CONVOLUTION_NHWC };

struct convolution_layer_shape {
    int64_t height, width, channels; /* of the input */
    int64_t filters, kernel, stride, padding, dilation, groups;
};

/* The declaration's section. */
struct convolution_parameters {
    enum gemm_distribution distribution;
    enum gemm_result result; /* the output in the operands' type, or as it is summed */
    size_t shape_count;
    struct convolution_layer_shape shapes[];
};

struct convolution_portable;

struct convolution_instance {
    struct products products;
    struct convolution_portable *portable; /* NULL in the vendor implementation */
    struct operations *operations;         /* one a product; NULL in the portable implementation */
};

/* ---- declare.c ---- */
extern const struct workload_form convolution_form;
enum status convolution_cost(const struct workload_case *work, struct workload_cost *ret,
                             struct error *err);
void convolution_describe(const struct workload *workload, struct text *ret);
/* What one declared shape is for a batch. */
struct convolution_shape convolution_shape_of(const struct convolution_layer_shape *shape,
                                              enum precision precision, enum dtype type,
                                              enum dtype result_type, int64_t batch);

/* ---- portable.c: our own text, with the tile of the GEMM, whose inner loop it has ---- */
/* In `ret` also on failure. */
enum status convolution_portable_create(struct device *device, const struct workload_case *work,
                                        enum dtype type, enum dtype result_type,
                                        struct convolution_portable **ret, struct error *err);
void convolution_portable_destroy(struct convolution_portable *portable); /* takes NULL */
enum status convolution_portable_run(struct convolution_portable *portable,
                                     const struct convolution_shape *shape,
                                     const struct gemm_array arrays[GEMM_ARRAYS],
                                     struct error *err);
size_t convolution_portable_artifacts(struct convolution_portable *portable,
                                      struct module_artifact *ret, size_t capacity);
json_t *convolution_portable_choices(const struct convolution_portable *portable);

/* The candidates and tile of the portable implementation's choice, into `facts`. */
void convolution_portable_facts(const struct convolution_portable *portable, json_t *facts);

#endif
