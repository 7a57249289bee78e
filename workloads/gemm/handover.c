/* Products by another program: operands in a file, the outputs against the fp64 reference. */
#include <stdlib.h>

#include "harness/core/cleanup.h"
#include "workloads/gemm/products.h"

static void drop(struct products **products)
{
    workload_instance_destroy((struct workload_instance *)*products);
}

/* An instance of the case without a device. */
static enum status lay_out(const struct workload_case *work, struct products **ret,
                           struct error *err)
{
    *ret = calloc(1, work->workload->kind->instance_size);
    if (!*ret)
        return error_no_memory(err);
    (*ret)->base = (struct workload_instance){.kind = work->workload->kind, .work = *work};
    return products_lay_out(*ret, err);
}

enum status products_hand_over(const struct workload_case *work, const uint64_t *secret,
                               const char *path, struct error *err)
{
    CLEANUP(drop) struct products *products = NULL;
    CLEANUP(tensors_close) struct tensors file = {0};
    AUTO_FREE struct tensor *items = NULL;
    size_t count, all;

    TRY(lay_out(work, &products, err));
    count = products->count;
    all = secret ? count : 2 * count;
    items = calloc(all, sizeof(*items));
    if (!items)
        return error_no_memory(err);
    for (size_t i = 0; i < all; i++)
        items[i] = products->items[i % count].arrays[i < count ? GEMM_A : GEMM_B].tensor;
    TRY(tensors_create(path, items, all, &file, err));
    for (size_t i = 0; i < all; i++) {
        const struct product_check check = product_check_of(products, i % count, secret);

        gemm_fill(&file.items[i], i < count ? &check.a : &check.b, i < count ? GEMM_A : GEMM_B);
    }
    return STATUS_OK;
}

/* The reference costs the same whatever the size, so all outputs are looked at as a whole. */
enum status products_judge(const struct workload_handed *handed, struct check_sink *sink,
                           struct error *err)
{
    CLEANUP(drop) struct products *products = NULL;

    TRY(lay_out(handed->work, &products, err));
    for (size_t i = 0; i < products->count; i++) {
        const struct tensor *mine = &products->items[i].arrays[GEMM_C].tensor, *theirs;
        struct product_check check = product_check_of(products, i, handed->secret);

        TRY(tensors_find(handed->outputs, mine->name, mine->type, mine->type, mine->rank,
                         mine->shape, &theirs, err));
        check.c_host = theirs->data;
        TRY(product_check_run(&check, sink, err));
    }
    return STATUS_OK;
}
