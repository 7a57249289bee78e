/* gemm - what a GEMM is: its checks, its operands, its name. */
#include "backends/operation.h"

#include <inttypes.h>
#include <string.h>

#include "harness/core/text.h"

static enum status refuse(struct error *err, const char *what)
{
    return error_set(err, STATUS_INVALID, "GEMM: %s", what);
}

/* C may be what the sums are kept in, the operands' type, or another type of 16 bits or more. */
static bool result_type_fits(enum precision precision, enum dtype type)
{
    switch (precision) {
    case PRECISION_INT8:
        return type == DTYPE_I32;
    case PRECISION_FP64:
        return type == DTYPE_F64;
    default:
        return type == DTYPE_F32 || type == DTYPE_BF16 || type == DTYPE_F16 ||
               type == precision_dtype(precision);
    }
}

/* The fp8 types with and without FNUZ are different types of the same precision. */
static bool operand_type_fits(enum precision precision, enum dtype type)
{
    switch (precision) {
    case PRECISION_FP8_E4M3:
    case PRECISION_FP8_E5M2:
        /* One of the two operands may be the other kind: gradients are e5m2, weights e4m3. */
        return type == DTYPE_E4M3 || type == DTYPE_E5M2 || type == DTYPE_E4M3_FNUZ ||
               type == DTYPE_E5M2_FNUZ;
    default:
        return type == precision_dtype(precision);
    }
}

/* Elements from the first to after the last of one matrix of the shape's batch. */
static unsigned __int128 matrix_extent(const struct gemm_shape *shape,
                                       const struct gemm_matrix *matrix, uint64_t rows,
                                       uint64_t columns)
{
    const uint64_t lines = matrix->transpose ? columns : rows;
    const uint64_t length = matrix->transpose ? rows : columns;

    return (unsigned __int128)(shape->outer - 1) * matrix->outer_stride +
           (unsigned __int128)(shape->inner - 1) * matrix->inner_stride +
           (unsigned __int128)(lines - 1) * matrix->stride + length;
}

static enum status check(const struct gemm_shape *shape, struct error *err)
{
    const bool integer = shape->precision == PRECISION_INT8;

    if (shape->m == 0 || shape->n == 0 || shape->k == 0)
        return refuse(err, "m, n and k must be at least 1");
    if (shape->a.stride < (shape->a.transpose ? shape->m : shape->k) ||
        shape->b.stride < (shape->b.transpose ? shape->k : shape->n) || shape->c.stride < shape->n)
        return refuse(err, "a stride is shorter than the rows it separates");
    if (shape->c.transpose)
        return refuse(err, "C cannot be transposed; exchange A and B instead");
    if (!operand_type_fits(shape->precision, shape->a.type) ||
        !operand_type_fits(shape->precision, shape->b.type) ||
        !result_type_fits(shape->precision, shape->c.type))
        return error_set(err, STATUS_INVALID, "GEMM: %s x %s to %s is not a GEMM in %s",
                         dtype_name(shape->a.type), dtype_name(shape->b.type),
                         dtype_name(shape->c.type), precision_name(shape->precision));
    if (integer && (shape->alpha != 1.0f || shape->bias || shape->add))
        return refuse(err, "int8 has no alpha, bias or D");
    return STATUS_OK;
}

static enum status complete(struct operation_desc *desc, struct error *err)
{
    struct gemm_shape *shape = &desc->gemm;

    shape->outer = shape->outer != 0 ? shape->outer : 1;
    shape->inner = shape->inner != 0 ? shape->inner : 1;
    shape->alpha = shape->alpha != 0.0f ? shape->alpha : 1.0f;
    return check(shape, err);
}

static void extents(const struct operation_desc *desc, struct operation_extent ret[OPERANDS_MAX])
{
    const struct gemm_shape *shape = &desc->gemm;
    const unsigned __int128 c = matrix_extent(shape, &shape->c, shape->m, shape->n);
    const struct operation_extent all[] = {
        {"A", matrix_extent(shape, &shape->a, shape->m, shape->k), shape->a.type},
        {"B", matrix_extent(shape, &shape->b, shape->k, shape->n), shape->b.type},
        {"C", c, shape->c.type},
        {shape->bias ? "the bias" : NULL, shape->n, shape->bias_type},
        {shape->add ? "D" : NULL, c, shape->c.type},
    };

    memcpy(ret, all, sizeof(all));
}

static void append_matrix(struct text *text, char name, const struct gemm_matrix *matrix,
                          bool batch)
{
    text_append_format(text, " %c=%s%s/%" PRIu64, name, dtype_name(matrix->type),
                       matrix->transpose ? "'" : "", matrix->stride);
    if (batch)
        text_append_format(text, "+%" PRIu64 "+%" PRIu64, matrix->outer_stride,
                           matrix->inner_stride);
}

/* "bf16 64x64x64 a=bf16/64 b=bf16'/64 c=f32/64" */
static char *key(const struct operation_desc *desc)
{
    const struct gemm_shape *shape = &desc->gemm;
    const bool batch = shape->outer * shape->inner > 1;
    struct text text;
    uint32_t alpha;

    memcpy(&alpha, &shape->alpha, sizeof(alpha));
    text_init(&text);
    text_append_format(&text, "%s %" PRIu64 "x%" PRIu64 "x%" PRIu64,
                       precision_name(shape->precision), shape->m, shape->n, shape->k);
    if (batch)
        text_append_format(&text, " x%" PRIu64 "x%" PRIu64, shape->outer, shape->inner);
    append_matrix(&text, 'a', &shape->a, batch);
    append_matrix(&text, 'b', &shape->b, batch);
    append_matrix(&text, 'c', &shape->c, batch);
    if (shape->bias)
        text_append_format(&text, " bias=%s", dtype_name(shape->bias_type));
    if (shape->add)
        text_append(&text, " add");
    if (shape->alpha != 1.0f)
        text_append_format(&text, " alpha=0x%08" PRIx32, alpha);
    return text_steal(&text);
}

static enum dtype sum_type(enum precision precision)
{
    return precision == PRECISION_FP64   ? DTYPE_F64
           : precision == PRECISION_INT8 ? DTYPE_I32
                                         : DTYPE_F32;
}

/* The kind without infinities and negative zero, which some devices have in place of the OCP one.
 */
static enum dtype fnuz_type(enum precision precision)
{
    return precision == PRECISION_FP8_E4M3   ? DTYPE_E4M3_FNUZ
           : precision == PRECISION_FP8_E5M2 ? DTYPE_E5M2_FNUZ
                                             : DTYPE_COUNT;
}

/*
 * A small linear layer: activations (m, k), weights (n, k); results in the order in which a library
 * is asked for them, in the usual type of operands, then in the other.
 */
static bool question(enum precision precision, unsigned number, struct operation_desc *ret,
                     const char **ret_other)
{
    const enum dtype results[] = {sum_type(precision), precision_dtype(precision), DTYPE_BF16};
    const unsigned count = sizeof(results) / sizeof(results[0]);
    const bool other = number >= count;
    const enum dtype type = other ? fnuz_type(precision) : precision_dtype(precision);
    const enum dtype result = results[number % count];
    /* Libraries of block-scaled GEMMs want a k of 128. */
    const uint64_t side = precision == PRECISION_FP4 ? 128 : 64;

    if (number >= 2 * count || type == DTYPE_COUNT)
        return false;
    *ret_other = other ? dtype_name(type) : NULL;
    ret->gemm = (struct gemm_shape){
        .precision = precision,
        .m = side,
        .n = side,
        .k = side,
        .a = {.type = type, .stride = side},
        .b = {.type = type, .stride = side, .transpose = true},
        /* What no GEMM gives is a question asked before. */
        .c = {.type = result_type_fits(precision, result) ? result : results[0], .stride = side},
    };
    return true;
}

const struct operation_kind_ops gemm_kind = {
    .name = "GEMM",
    .weights = -1,
    .complete = complete,
    .extents = extents,
    .key = key,
    .question = question,
};
