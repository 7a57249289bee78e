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

#include "workloads/gemm/check.h"
#include "workloads/gemm/gemm.h"
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

/* One convolution on the device. */
struct convolution_layer {
    struct convolution_shape shape;
    uint64_t out_height, out_width;
    struct gemm_array arrays[GEMM_ARRAYS]; /* "input", "weights", "output", or "input[2]" ... */
    char output_exact[GEMM_EXACT_MAX];
};

struct convolution_portable;

struct convolution_instance {
    struct workload_instance base;
    const struct convolution_parameters *parameters;
    enum dtype operand_type, result_type;
    struct convolution_portable *portable; /* NULL in the vendor implementation */
    struct convolution_layer *layers;
    size_t layer_count;
    struct operations *operations; /* one a layer; NULL in the portable implementation */
    uint64_t unchecked;            /* iterations since the outputs were poisoned */
};

/* ---- declare.c ---- */
enum status convolution_load(struct workload *workload, const char *origin, const char *yaml,
                             size_t length, struct error *err);
enum status convolution_cost(const struct workload_case *work, struct workload_cost *ret,
                             struct error *err);
void convolution_describe(const struct workload *workload, struct text *ret);
/* What one declared shape is for a batch. */
struct convolution_shape convolution_shape_of(const struct convolution_layer_shape *shape,
                                              enum precision precision, enum dtype type,
                                              enum dtype result_type, int64_t batch);

/* ---- portable.c: our own text, with the tile of the GEMM, whose inner loop it has ---- */
enum status convolution_portable_create(struct device *device, const struct workload_case *work,
                                        enum dtype type, enum dtype result_type,
                                        struct convolution_portable **ret, struct error *err);
void convolution_portable_destroy(struct convolution_portable *portable); /* takes NULL */
enum status convolution_portable_run(struct convolution_portable *portable,
                                     const struct convolution_layer *layer, struct error *err);
size_t convolution_portable_artifacts(struct convolution_portable *portable,
                                      struct module_artifact *ret, size_t capacity);
json_t *convolution_portable_choices(const struct convolution_portable *portable);

/* ---- facts.c ---- */
/* As gemms_facts of ops/gemm.h, with each convolution in `gemms`. New object. */
json_t *convolution_facts(const struct convolution_instance *instance);
/* The candidates and tile of the portable implementation's choice, into `facts`. */
void convolution_portable_facts(const struct convolution_portable *portable, json_t *facts);

/* ---- convolution.c, verify.c ---- */
extern const struct gemm_handover convolution_handover;
enum status convolution_lay_out(struct workload_instance *base, struct error *err);
enum status convolution_iterate(struct workload_instance *base, struct error *err);
enum status convolution_verify(struct workload_instance *base, workload_check_fn *report,
                               void *context, struct error *err);
enum status convolution_spot_check(struct workload_instance *base, uint64_t secret,
                                   workload_check_fn *report, void *context, struct error *err);

#endif
