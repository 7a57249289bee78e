/* The GEMM of the vendor's library, prepared once a shape. */
#include "workloads/ops/gemm_internal.h"

static struct gemm_matrix matrix_of(const struct op_matrix *matrix)
{
    return (struct gemm_matrix){.type = matrix->type,
                                .transpose = matrix->transpose,
                                .stride = matrix->stride,
                                .outer_stride = matrix->outer_stride,
                                .inner_stride = matrix->inner_stride};
}

static struct gemm_shape shape_of(const struct gemms *gemms, const struct op_gemm *gemm)
{
    return (struct gemm_shape){
        .precision = gemm_precision(gemms, gemm),
        .m = gemm->m,
        .n = gemm->n,
        .k = gemm->k,
        .outer = gemm->outer ? gemm->outer : 1,
        .inner = gemm->inner ? gemm->inner : 1,
        .a = matrix_of(&gemm->a),
        .b = matrix_of(&gemm->b),
        .c = matrix_of(&gemm->c),
        .constant_b = gemm->constant_b,
        .add = gemm->d.buffer != NULL,
        .bias = gemm->bias.buffer != NULL,
        .bias_type = gemm->bias.buffer ? gemm_bias_type(gemm) : 0,
        .alpha = gemm->alpha == 0.0f ? 1.0f : gemm->alpha,
    };
}

static bool same_matrix(const struct gemm_matrix *a, const struct gemm_matrix *b)
{
    return a->stride == b->stride && a->type == b->type && a->transpose == b->transpose &&
           a->outer_stride == b->outer_stride && a->inner_stride == b->inner_stride;
}

static bool same_shape(const struct gemm_shape *a, const struct gemm_shape *b)
{
    return a->m == b->m && a->n == b->n && a->k == b->k && a->precision == b->precision &&
           a->outer == b->outer && a->inner == b->inner && same_matrix(&a->a, &b->a) &&
           same_matrix(&a->b, &b->b) && same_matrix(&a->c, &b->c) &&
           a->constant_b == b->constant_b && a->add == b->add && a->bias == b->bias &&
           a->bias_type == b->bias_type && a->alpha == b->alpha;
}

/* A model asks for the same shapes in the same order, so the search begins after the latest. */
static enum status find_entry(struct gemms *gemms, const struct gemm_shape *shape,
                              struct error *err)
{
    const struct operation_desc desc = {.kind = OPERATION_GEMM, .gemm = *shape};
    const struct operations *operations = gemms->operations;

    for (size_t i = 0; i < operations->count; i++) {
        const size_t at = (gemms->latest + i) % operations->count;

        if (same_shape(&operations->items[at].operation->desc.gemm, shape)) {
            gemms->latest = at;
            return STATUS_OK;
        }
    }
    TRY(gemm_advise(gemms->device, shape->precision, operations_add(gemms->operations, &desc, err),
                    err));
    gemms->latest = operations->count - 1;
    return STATUS_OK;
}

enum status gemm_vendor_run(struct gemms *gemms, const struct op_gemm *gemm, struct error *err)
{
    const struct gemm_shape shape = shape_of(gemms, gemm);
    const union operands operands = {
        .gemm = {
            .a = gemm->a.at, .b = gemm->b.at, .c = gemm->c.at, .bias = gemm->bias, .d = gemm->d}};

    TRY(find_entry(gemms, &shape, err));
    return operations_run(gemms->operations, gemms->latest, &operands, err);
}
