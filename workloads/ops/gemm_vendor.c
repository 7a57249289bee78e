/* The GEMM of the vendor's library, prepared once a shape; gemm_autotune.c has its algorithm.
 */
#include <stdlib.h>

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
           same_matrix(&a->b, &b->b) && same_matrix(&a->c, &b->c) && a->add == b->add &&
           a->bias == b->bias && a->bias_type == b->bias_type && a->alpha == b->alpha;
}

/* Only what is asked for is emulated. */
static enum status check_support(const struct gemms *gemms, const struct gemm *gemm,
                                 struct error *err)
{
    struct gemm_info info;
    enum status status = device_gemm_describe(gemm, &info, err);

    if (status != STATUS_OK || gemms->emulate || info.support != SUPPORT_EMULATED)
        return status;
    return error_set(
        err, STATUS_UNSUPPORTED, "%s emulates %s on %s (%s): --emulate measures that, labelled so",
        info.library, precision_name(gemm->shape.precision), gemms->device->info.name, info.method);
}

static enum status add_entry(struct gemms *gemms, const struct gemm_shape *shape,
                             const struct gemm_operands *operands, struct error *err)
{
    struct gemm_entry *grown, entry = {.shape = *shape};
    struct gemm *gemm = NULL;
    enum status status;

    if (gemms->sealed)
        return error_set(err, STATUS_INTERNAL,
                         "a GEMM in %s of (%llu, %llu, %llu) was first asked for while measuring",
                         precision_name(shape->precision), (unsigned long long)shape->m,
                         (unsigned long long)shape->n, (unsigned long long)shape->k);
    grown = realloc(gemms->entries, (gemms->entry_count + 1) * sizeof(*grown));
    if (!grown)
        return error_set(err, STATUS_NO_MEMORY, "GEMM: out of memory");
    gemms->entries = grown;
    status = gemm_advise(gemms->device, shape->precision,
                         device_gemm_create(gemms->device, shape, &gemm, err), err);
    if (status == STATUS_OK)
        status = check_support(gemms, gemm, err);
    entry.gemm = gemm;
    if (status == STATUS_OK)
        status = gemm_autotune(gemms, &entry, operands, err);
    if (status != STATUS_OK) {
        device_gemm_destroy(gemm);
        return status;
    }
    grown[gemms->entry_count++] = entry;
    return STATUS_OK;
}

/* A model asks for the same shapes in the same order, so the search begins after the latest. */
static enum status find_entry(struct gemms *gemms, const struct gemm_shape *shape,
                              const struct gemm_operands *operands, struct error *err)
{
    enum status status;

    for (size_t i = 0; i < gemms->entry_count; i++) {
        const size_t at = (gemms->latest + i) % gemms->entry_count;

        if (same_shape(&gemms->entries[at].shape, shape)) {
            gemms->latest = at;
            return STATUS_OK;
        }
    }
    status = add_entry(gemms, shape, operands, err);
    if (status == STATUS_OK)
        gemms->latest = gemms->entry_count - 1;
    return status;
}

static struct gemm_operand operand_of(const struct operand *operand)
{
    return (struct gemm_operand){operand->buffer, operand->offset};
}

enum status gemm_vendor_run(struct gemms *gemms, const struct op_gemm *gemm, struct error *err)
{
    const struct gemm_shape shape = shape_of(gemms, gemm);
    const struct gemm_operands operands = {
        .a = operand_of(&gemm->a.at),
        .b = operand_of(&gemm->b.at),
        .c = operand_of(&gemm->c.at),
        .bias = operand_of(&gemm->bias),
        .d = operand_of(&gemm->d),
    };
    enum status status = find_entry(gemms, &shape, &operands, err);

    if (status != STATUS_OK)
        return status;
    return device_gemm_run(gemms->entries[gemms->latest].gemm, &operands, err);
}
