/*
 * packed - matrices of weights in few bits (data/format.h): made on the device by position, and
 * their products with few rows; kernels/packed.h.
 */
#ifndef ASSAY_WORKLOADS_OPS_PACKED_H
#define ASSAY_WORKLOADS_OPS_PACKED_H

#include "workloads/data/format.h"
#include "workloads/ops/ops.h"

/*
 * Numbers by position: mean + step * (s - 131070), s the sum of the four 16-bit parts of
 * random_keyed(key, position), which is nearly normal (Irwin, Hall, Biometrika 19 (1927)). f32,
 * each operation rounded by itself, so a device makes the same bits.
 */
struct op_law {
    uint64_t key;
    float mean, step;
};
/* Of this deviation. */
struct op_law op_law_of(uint64_t seed, uint64_t stream, double mean, double deviation);
float op_law_number(const struct op_law *law, uint64_t position);

/* Element (o, i) is number o * inputs + i; the law's mean is 0. */
struct op_packed {
    const struct format *format; /* NULL: not such a matrix */
    uint64_t cols;               /* inputs of a scale's block; 0: all of an output's */
    uint64_t inputs, outputs;
    struct op_law law;
    struct buffer *codes, *scales; /* `scales` holds a byte at least */
};

/* Whether the texts can have it: inputs are a multiple of 32, and of a block's. */
bool op_packed_divides(uint64_t cols, uint64_t inputs);
/* Bytes of the codes, and of the scales. */
uint64_t op_packed_code_bytes(const struct op_packed *packed);
uint64_t op_packed_scale_bytes(const struct op_packed *packed);

/*
 * The numbers of outputs [first, first + count) as ret[i * count + o - first]: those of the law, or
 * with `decoded` what is left of them by the format. On the host, from nothing but the law.
 */
void op_packed_numbers(const struct op_packed *packed, uint64_t first, uint64_t count, bool decoded,
                       float *ret);

/*
 * Compiles the texts for matrices of a format, with blocks of `cols` inputs, and for products with
 * so many rows, of `most` inputs at most.
 */
enum status ops_packed(struct ops *ops, const struct format *format, uint64_t cols, uint64_t rows,
                       uint64_t most, struct error *err);
/* Makes codes and scales in their buffers. Enqueues, as all that follow. */
enum status op_packed_make(struct ops *ops, const struct op_packed *packed, struct error *err);
/* `count` numbers of the law, rounded to the storage type. */
enum status op_packed_fill(struct ops *ops, struct operand y, uint64_t count,
                           const struct op_law *law, struct error *err);
/* y (rows, outputs) = x W^T + bias + d; bias and d are left out when their buffer is NULL. */
struct op_packed_product {
    uint64_t rows; /* those of ops_packed at most */
    struct operand x, bias, d, y;
    bool same_x; /* as the product before, with nothing else in between */
};
enum status op_packed_product(struct ops *ops, const struct op_packed *packed,
                              const struct op_packed_product *op, struct error *err);

#endif
