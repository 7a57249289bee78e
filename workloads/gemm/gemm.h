/*
 * gemm - GEMMs of a linear layer's kind, in any precision; what this folder shares.
 *
 * Per shape C (m, n) = A (m, k) B (k, n): A holds activations, row by row; B weights, as a linear
 * layer keeps them (n, k), or plain (k, n). Operands are made from the seed by position, so the
 * reference needs no copy of them.
 */
#ifndef ASSAY_WORKLOADS_GEMM_GEMM_H
#define ASSAY_WORKLOADS_GEMM_GEMM_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/core/tensors.h"
#include "workloads/ops/gemm.h"
#include "workloads/workload.h"

#define GEMM_SHAPES_MAX 64
#define GEMM_SIDE_MAX ((int64_t)1 << 24)     /* of m, n and k */
#define GEMM_ELEMENTS_MAX ((int64_t)1 << 40) /* of one matrix */
#define GEMM_NORMAL_RANGE 4.0                /* int8: what becomes 127 */

enum gemm_distribution { GEMM_NORMAL, GEMM_UNIFORM };
enum gemm_weights { GEMM_TRANSPOSED, GEMM_PLAIN };
enum gemm_result { GEMM_RESULT_STORAGE, GEMM_RESULT_SUM };

struct gemm_size {
    int64_t m, n, k; /* m for one batch */
};

/* The declaration's section. */
struct gemm_parameters {
    enum gemm_distribution distribution;
    enum gemm_weights weights;
    enum gemm_result result;
    size_t shape_count;
    struct gemm_size shapes[];
};

enum gemm_input { GEMM_A, GEMM_B, GEMM_C, GEMM_ARRAYS };

/* An array of a product: its name, type and shape, and where a device has it (NULL: nowhere). */
struct gemm_array {
    struct tensor tensor;
    struct buffer *buffer;
};

/* The generated operands of one shape. */
struct gemm_data {
    uint64_t seed;
    uint64_t shape; /* its number */
    enum gemm_distribution distribution;
    enum dtype type;
};

/* ---- declare.c ---- */
extern const struct workload_form gemm_form;
enum status gemm_cost(const struct workload_case *work, struct workload_cost *ret,
                      struct error *err);
void gemm_describe(const struct workload *workload, struct text *ret);
/* C's type: that of the sums, or the operands'; bf16 for fp8, which nothing stores sums of. */
enum dtype gemm_result_type(const struct gemm_parameters *parameters, enum precision precision);

/* ---- data.c ---- */
/* Element `index` of an operand before it is stored, and what is stored times this. */
double gemm_exact(const struct gemm_data *data, enum gemm_input operand, uint64_t index);
double gemm_scale(const struct gemm_data *data);
/* As stored, in units of `exact`: rounded, and for i8 quantized. */
double gemm_stored(const struct gemm_data *data, double exact);
/* All of an operand, as it is stored, into memory of its type. */
void gemm_fill(const struct tensor *tensor, const struct gemm_data *data, enum gemm_input input);
/* Uploads `count` elements from element `first` on to where they are stored. */
enum status gemm_upload(const struct gemm_data *data, enum gemm_input operand, uint64_t first,
                        uint64_t count, struct buffer *buffer, struct error *err);

#endif
