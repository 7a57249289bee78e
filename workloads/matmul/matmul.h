/*
 * matmul - matrix products of a linear layer's kind, in any precision; what this folder shares.
 *
 * Per shape C (m, n) = A (m, k) B (k, n): A holds activations, row by row; B weights, as a linear
 * layer keeps them (n, k), or plain (k, n). Operands are made from the seed by position, so the
 * reference needs no copy of them.
 */
#ifndef ASSAY_WORKLOADS_MATMUL_MATMUL_H
#define ASSAY_WORKLOADS_MATMUL_MATMUL_H

#include <stdbool.h>
#include <stdint.h>

#include "workloads/ops/product.h"
#include "workloads/workload.h"

#define MATMUL_SHAPES_MAX 64
#define MATMUL_SIDE_MAX ((int64_t)1 << 24)     /* of m, n and k */
#define MATMUL_ELEMENTS_MAX ((int64_t)1 << 40) /* of one matrix */
#define MATMUL_NORMAL_RANGE 4.0                /* int8: what becomes 127 */

enum matmul_distribution { MATMUL_NORMAL, MATMUL_UNIFORM };
enum matmul_weights { MATMUL_TRANSPOSED, MATMUL_PLAIN };
enum matmul_result { MATMUL_RESULT_STORAGE, MATMUL_RESULT_SUM };

struct matmul_shape {
    int64_t m, n, k; /* m for one batch */
};

/* The declaration's section. */
struct matmul_parameters {
    enum matmul_distribution distribution;
    enum matmul_weights weights;
    enum matmul_result result;
    size_t shape_count;
    struct matmul_shape shapes[];
};

enum matmul_operand { MATMUL_A, MATMUL_B };

/* The generated operands of one shape. */
struct matmul_data {
    uint64_t seed;
    uint64_t shape; /* its number */
    enum matmul_distribution distribution;
    enum dtype type;
};

/* One shape on the device. */
struct matmul_layer {
    uint64_t m, n, k; /* m times batch */
    struct buffer *a, *b, *c;
    char output[32];       /* "c" or "c[2]": of the check against stored operands */
    char output_exact[48]; /* "c unrounded" */
};

struct matmul_instance {
    struct workload_instance base;
    struct products *products;
    const struct matmul_parameters *parameters;
    enum dtype operand_type, result_type;
    struct matmul_layer *layers;
    size_t layer_count;
    uint64_t unchecked; /* iterations since the outputs were poisoned */
};

/* ---- declare.c ---- */
enum status matmul_load(struct workload *workload, const char *origin, const char *yaml,
                        size_t length, struct error *err);
enum status matmul_cost(const struct workload_case *work, struct workload_cost *ret,
                        struct error *err);
void matmul_describe(const struct workload *workload, struct text *ret);
/* C's type: that of the sums, or the operands'; bf16 for fp8, which nothing stores sums of. */
enum dtype matmul_result_type(const struct matmul_parameters *parameters, enum precision precision);

/* ---- data.c ---- */
/* Element `index` of an operand before it is stored, and what is stored times this. */
double matmul_exact(const struct matmul_data *data, enum matmul_operand operand, uint64_t index);
double matmul_scale(const struct matmul_data *data);
/* As stored, in units of `exact`: rounded, and for i8 quantized. */
double matmul_stored(const struct matmul_data *data, double exact);
/* Uploads `count` elements from the first. */
enum status matmul_upload(const struct matmul_data *data, enum matmul_operand operand,
                          uint64_t count, struct buffer *buffer, struct error *err);
/* Every byte 0xff: NaN in every floating point type. */
enum status matmul_poison(struct buffer *buffer, struct error *err);

/* ---- matmul.c, verify.c ---- */
struct matmul_data matmul_data_of(const struct matmul_instance *instance, size_t layer);
enum status matmul_iterate(struct workload_instance *base, struct error *err);
enum status matmul_verify(struct workload_instance *base, workload_check_fn *report, void *context,
                          struct error *err);

#endif
