/* Products by another program: operands in a file, the outputs against the fp64 reference. */
#include <stdlib.h>

#include "harness/core/random.h"
#include "workloads/gemm/check.h"

/* Of A: other inputs are another A, while B stays, as in a spot check. */
static uint64_t seed_of(const struct workload_case *work, const uint64_t *secret)
{
    return secret ? work->seed ^ random_at(*secret, 0, 0) : work->seed;
}

static enum status lay_out(const struct workload_case *work, struct gemm_outputs *ret,
                           struct error *err)
{
    const struct workload_kind *kind = work->workload->kind;
    const struct gemm_handover *own = (const struct gemm_handover *)kind->handover;
    struct workload_instance *base = calloc(1, kind->instance_size);
    enum status status;

    if (!base)
        return error_no_memory(err);
    base->kind = kind;
    base->work = *work;
    status = own->lay_out(base, err);
    if (status == STATUS_OK)
        *ret = own->outputs_of(base);
    else
        workload_instance_destroy(base);
    return status;
}

enum status gemm_hand_over(const struct workload_case *work, bool inputs_only,
                           const uint64_t *secret, const char *path, struct error *err)
{
    struct gemm_outputs outputs;
    struct tensors file = {0};
    struct tensor *items = NULL;
    size_t count, all;
    enum status status = lay_out(work, &outputs, err);

    if (status != STATUS_OK)
        return status;
    count = outputs.count;
    all = inputs_only ? count : 2 * count;
    items = calloc(all, sizeof(*items));
    if (!items)
        status = error_no_memory(err);
    for (size_t i = 0; i < all && status == STATUS_OK; i++)
        items[i] = outputs.arrays_of(outputs.base, i % count)[i < count ? GEMM_A : GEMM_B].tensor;
    if (status == STATUS_OK)
        status = tensors_create(path, items, all, &file, err);
    for (size_t i = 0; i < count && status == STATUS_OK; i++) {
        struct gemm_check check = outputs.check_of(outputs.base, i);

        if (!inputs_only)
            gemm_fill(&file.items[count + i], &check.b, GEMM_B);
        check.a.seed = seed_of(work, secret);
        gemm_fill(&file.items[i], &check.a, GEMM_A);
    }
    tensors_close(&file);
    free(items);
    workload_instance_destroy(outputs.base);
    return status;
}

enum status gemm_judge_outputs(const struct workload_case *work, const uint64_t *secret,
                               const struct tensors *handed, int64_t iteration, bool whole,
                               workload_check_fn *report, void *context, struct error *err)
{
    struct gemm_outputs outputs;
    enum status status = lay_out(work, &outputs, err);

    (void)iteration;
    (void)whole; /* the reference costs the same whatever the size */
    if (status != STATUS_OK)
        return status;
    for (size_t i = 0; i < outputs.count && status == STATUS_OK; i++) {
        const struct tensor *mine = &outputs.arrays_of(outputs.base, i)[GEMM_C].tensor, *theirs;
        struct gemm_check check = outputs.check_of(outputs.base, i);

        status = tensors_find(handed, mine->name, mine->type, mine->type, mine->rank, mine->shape,
                              &theirs, err);
        if (status != STATUS_OK)
            break;
        check.c_host = theirs->data;
        check.a.seed = seed_of(work, secret);
        status = gemm_check_one(&check, report, context, err);
    }
    workload_instance_destroy(outputs.base);
    return status;
}
