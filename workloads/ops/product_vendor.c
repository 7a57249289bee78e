/* The product of the vendor's library, prepared once a shape; product_settle.c has its algorithm.
 */
#include <stdlib.h>

#include "workloads/ops/product_internal.h"

static struct product_matrix matrix_of(const struct op_matrix *matrix)
{
    return (struct product_matrix){.type = matrix->type,
                                   .transpose = matrix->transpose,
                                   .stride = matrix->stride,
                                   .outer_stride = matrix->outer_stride,
                                   .inner_stride = matrix->inner_stride};
}

static struct product_shape shape_of(const struct products *products, const struct op_gemm *gemm)
{
    return (struct product_shape){
        .precision = product_precision(products, gemm),
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
        .bias_type = gemm->bias.buffer ? product_bias_type(gemm) : 0,
        .alpha = gemm->alpha == 0.0f ? 1.0f : gemm->alpha,
    };
}

static bool same_matrix(const struct product_matrix *a, const struct product_matrix *b)
{
    return a->stride == b->stride && a->type == b->type && a->transpose == b->transpose &&
           a->outer_stride == b->outer_stride && a->inner_stride == b->inner_stride;
}

static bool same_shape(const struct product_shape *a, const struct product_shape *b)
{
    return a->m == b->m && a->n == b->n && a->k == b->k && a->precision == b->precision &&
           a->outer == b->outer && a->inner == b->inner && same_matrix(&a->a, &b->a) &&
           same_matrix(&a->b, &b->b) && same_matrix(&a->c, &b->c) && a->add == b->add &&
           a->bias == b->bias && a->bias_type == b->bias_type && a->alpha == b->alpha;
}

/* Only what is asked for is emulated. */
static enum status check_support(const struct products *products, const struct product *product,
                                 struct error *err)
{
    struct product_info info;
    enum status status = device_product_describe(product, &info, err);

    if (status != STATUS_OK || products->emulate || info.support != SUPPORT_EMULATED)
        return status;
    return error_set(err, STATUS_UNSUPPORTED,
                     "%s emulates %s on %s (%s): --emulate measures that, labelled so",
                     info.library, precision_name(product->shape.precision),
                     products->device->info.name, info.method);
}

static enum status add_entry(struct products *products, const struct product_shape *shape,
                             const struct product_operands *operands, struct error *err)
{
    struct product_entry *grown, entry = {.shape = *shape};
    struct product *product = NULL;
    enum status status;

    if (products->sealed)
        return error_set(
            err, STATUS_INTERNAL,
            "a product in %s of (%llu, %llu, %llu) was first asked for while measuring",
            precision_name(shape->precision), (unsigned long long)shape->m,
            (unsigned long long)shape->n, (unsigned long long)shape->k);
    grown = realloc(products->entries, (products->entry_count + 1) * sizeof(*grown));
    if (!grown)
        return error_set(err, STATUS_NO_MEMORY, "matrix product: out of memory");
    products->entries = grown;
    status = product_advise(products->device, shape->precision,
                            device_product_create(products->device, shape, &product, err), err);
    if (status == STATUS_OK)
        status = check_support(products, product, err);
    entry.product = product;
    if (status == STATUS_OK)
        status = product_settle(products, &entry, operands, err);
    if (status != STATUS_OK) {
        device_product_destroy(product);
        return status;
    }
    grown[products->entry_count++] = entry;
    return STATUS_OK;
}

/* A model asks for the same shapes in the same order, so the search begins behind the latest. */
static enum status find_entry(struct products *products, const struct product_shape *shape,
                              const struct product_operands *operands, struct error *err)
{
    enum status status;

    for (size_t i = 0; i < products->entry_count; i++) {
        const size_t at = (products->latest + i) % products->entry_count;

        if (same_shape(&products->entries[at].shape, shape)) {
            products->latest = at;
            return STATUS_OK;
        }
    }
    status = add_entry(products, shape, operands, err);
    if (status == STATUS_OK)
        products->latest = products->entry_count - 1;
    return status;
}

static struct product_operand operand_of(const struct operand *operand)
{
    return (struct product_operand){operand->buffer, operand->offset};
}

enum status product_vendor_run(struct products *products, const struct op_gemm *gemm,
                               struct error *err)
{
    const struct product_shape shape = shape_of(products, gemm);
    const struct product_operands operands = {
        .a = operand_of(&gemm->a.at),
        .b = operand_of(&gemm->b.at),
        .c = operand_of(&gemm->c.at),
        .bias = operand_of(&gemm->bias),
        .d = operand_of(&gemm->d),
    };
    enum status status = find_entry(products, &shape, &operands, err);

    if (status != STATUS_OK)
        return status;
    return device_product_run(products->entries[products->latest].product, &operands, err);
}
